"""Damaged files."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from refdesk.errors import StoreError
from refdesk.store import Store, files


@pytest.fixture
def filled(sqlite_place, make) -> Path:
    """A database file with some pages in it, closed in peace."""
    with sqlite_place.open() as store:
        for number in range(300):
            store.writer.offer(make.request(number, query="words " * 40))
    path: Path = sqlite_place.data_dir / "refdesk.db"
    assert path.stat().st_size > 100_000
    return path


def _half(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def _noise(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * 40_000)


def _text(path: Path) -> None:
    path.write_text("this is no database, " * 1000)


@pytest.mark.parametrize("damage", [_half, _noise, _text])
def test_refused(filled: Path, sqlite_place, damage) -> None:
    """A damaged file is refused with the command that saves what can be read; it stays as it is."""
    damage(filled)
    before = filled.read_bytes()
    with pytest.raises(StoreError, match=r"is damaged: .*sqlite3 .* \.dump \|"):
        sqlite_place.open()
    assert filled.read_bytes() == before


def test_half_of_a_large_file(filled: Path, monkeypatch: pytest.MonkeyPatch, sqlite_place) -> None:
    """A large file is not read through on every start, but half of one is still noticed."""
    monkeypatch.setattr(files, "_SMALL", 0)
    sqlite_place.open().close()
    _half(filled)
    with pytest.raises(StoreError, match="is damaged"):
        sqlite_place.open()


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="the sqlite3 shell is not installed")
def test_recovery(filled: Path, sqlite_place) -> None:
    """The command in the message works: the file is whole again, with what could be read."""
    with filled.open("r+b") as file:  # pages of rows only, near the end
        file.seek(filled.stat().st_size - 8 * 4096)
        file.write(b"\xa5" * 8 * 4096)
    with pytest.raises(StoreError) as caught:
        sqlite_place.open()
    command = str(caught.value).split("save what can be read: ")[1]
    subprocess.run(command, shell=True, check=True, capture_output=True, timeout=30)
    with sqlite_place.open() as store:
        assert 100 < len(store.requests.after(0, limit=1000)) < 300


def test_empty_file(sqlite_place) -> None:
    """An empty file is a new store."""
    sqlite_place.data_dir.mkdir()
    (sqlite_place.data_dir / "refdesk.db").touch()
    with sqlite_place.open() as store:
        assert store.upgraded_from is None


def test_key_file_draft_left_behind(tmp_path: Path) -> None:
    """A draft of a key file that a crash left behind is no hindrance."""
    (tmp_path / f"store.key.{os.getpid()}.new").write_text("half a k")
    with Store.open(f"sqlite:///{tmp_path / 'refdesk.db'}") as store:
        assert len(store.sealer.key_id) == 8
