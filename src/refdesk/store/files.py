"""
The files of an embedded store: made for their owner alone, and refused when damaged.
"""

from __future__ import annotations

import os
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from refdesk.errors import StoreError
from refdesk.store.sealing import StoreKey

_SMALL: Final = 64 * 1024 * 1024
"""Up to this size every page is looked at on opening (0.1 s); above it, after a crash only."""


def make_folder(path: Path) -> None:
    """Make a folder with mode 0700, parents too; one that is there stays as it is."""
    if path.is_dir():
        return
    try:
        path.mkdir(parents=True, mode=0o700)
        path.chmod(0o700)  # whatever the umask says
    except OSError as exc:
        raise _not_writable(path, exc) from exc


def make_file(path: Path) -> None:
    """Make an empty file with mode 0600; one that is there stays as it is."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except OSError as exc:
        raise _not_writable(path, exc) from exc


def read_or_make_key(path: Path, *, may_make: bool) -> StoreKey | None:
    """
    Return the key of a key file; make one with mode 0600 if there is none and that is allowed.

    Raises:
        StoreError: The file cannot be read or written, or holds no key.
    """
    try:
        return StoreKey.parse(path.read_text(encoding="ascii", errors="replace"))
    except FileNotFoundError:
        if not may_make:
            return None
    except StoreError as exc:
        raise StoreError(f"{path}: {exc}") from None
    except OSError as exc:
        raise StoreError(f"the store key {path} cannot be read: {exc.strerror}") from exc
    key = StoreKey.generate()
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(key.text())
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)  # whole or not there at all, also after a power cut
    except OSError as exc:
        raise _not_writable(path, exc) from exc
    return key


def check_sqlite(path: Path) -> None:
    """
    Look whether the file is a whole database, and put it into WAL mode.

    Raises:
        StoreError: It is damaged, or no database; the message has the command to recover it.
    """
    try:
        with closing(sqlite3.connect(path, timeout=5, isolation_level=None)) as connection:
            if path.stat().st_size <= _SMALL or _looks_torn(path):
                found = connection.execute("PRAGMA quick_check(1)").fetchone()
                if found is not None and found[0] != "ok":
                    raise damaged(path, str(found[0]).splitlines()[-1])
            connection.execute("PRAGMA journal_mode=WAL")
    except sqlite3.OperationalError as exc:
        raise StoreError(
            f"the store {path} cannot be opened: {exc}; look whether the disk is full, the folder"
            " is writable, and no other program holds the file"
        ) from exc
    except sqlite3.DatabaseError as exc:
        raise damaged(path, str(exc)) from exc


def _looks_torn(path: Path) -> bool:
    if path.with_name(path.name + "-wal").exists():
        return True  # somebody has it open, or did not end well
    with path.open("rb") as file:
        head = file.read(100)
    page = int.from_bytes(head[16:18], "big")
    page = 65536 if page == 1 else page
    return int.from_bytes(head[28:32], "big") * page != path.stat().st_size


def damaged(path: Path, said: str) -> StoreError:
    """Return the error that says how to get a damaged store back."""
    # Not `.recover`, which the shell of Debian 12 cannot do; `.dump` goes on after an error, but
    # says ROLLBACK at its end then.
    old, new = shlex.quote(str(path)), shlex.quote(f"{path}.recovered")
    extra = f"{shlex.quote(f'{path}-wal')} {shlex.quote(f'{path}-shm')}"
    return StoreError(
        f"the store {path} is damaged: {said}.  Put a backup in its place, or save what can be"
        f" read: sqlite3 {old} .dump | sed 's/^ROLLBACK;.*/COMMIT;/' | sqlite3 {new} &&"
        f" rm -f {extra} && mv {new} {old}"
    )


def _not_writable(path: Path, exc: OSError) -> StoreError:
    return StoreError(
        f"{path} cannot be made: {exc.strerror}; make its folder writable, or set data_dir to"
        " another"
    )
