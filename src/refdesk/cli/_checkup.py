"""The doctor's look at this machine: store, folder, keys, clock.  Nothing is made or changed."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from refdesk import clock
from refdesk.cli._finding import Finding
from refdesk.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from refdesk.config import Config
    from refdesk.store import Store

_ROOM: Final = 200 * 1024 * 1024
_SKEW: Final = timedelta(minutes=2)
_LOOK_BACK: Final = timedelta(hours=24)
_LOOK_AT: Final = 500
# The notice that `gateway.app` writes when an upstream refuses a request with a search tool.
_REFUSED: Final = re.compile(
    r"the upstream '([^'\n]+)' answered (\d+) to a request with a search tool"
)


def look_at_store(config: Config) -> tuple[Store | None, Finding]:
    """Open the store, if there is one, and ask it for a sign of life."""
    from refdesk.cli._store import existing_store
    from refdesk.config.secrets import mask_url
    from refdesk.store.tables import SCHEMA

    try:
        store = existing_store(config)
        if store is None:
            where = mask_url(config.store.url.removeprefix("sqlite:///"))
            text = f"there is none at {where} yet; the first start makes it"
            return None, Finding(area="store", level="ok", text=text)
        store.check()
    except StoreError as exc:
        # Its message has the remedy.
        return None, Finding(area="store", level="problem", text=str(exc))
    return store, Finding(area="store", level="ok", text=f"{store.name} answers, schema {SCHEMA}")


def look_at_folder(config: Config) -> Iterator[Finding]:
    """Look whether the data folder is its owner's alone, and can be written."""
    folder = Path(config.data_dir)
    embedded = config.store.url.startswith("sqlite")
    if not folder.exists():
        if embedded:
            yield _folder_to_be(folder)
        return
    yield from _private(folder, "data_dir", "700")
    if embedded and not os.access(folder, os.W_OK | os.X_OK):
        yield Finding(
            area="data_dir",
            level="problem",
            text=f"{folder} cannot be written",
            remedy="give it to the user that serves, or set data_dir to another folder",
        )
    elif embedded and (free := shutil.disk_usage(folder).free) < _ROOM:
        yield Finding(
            area="data_dir",
            level="warning",
            text=f"the disk of {folder} has {free // 2**20} MiB left",
            remedy="make room, or lower privacy.retention_days",
        )


def look_at_keys(config: Config, store: Store | None) -> Iterator[Finding]:
    """Look at the files of the store key, and at who may come in."""
    from refdesk.application import key_required

    for ref in config.store.key:
        # One that is named and is not there, the configuration has told.
        if ref.path is not None and ref.path.exists():
            yield from _private(ref.path, "store.key", "600")
    host = config.server.host
    if not key_required(config):
        if host not in ("127.0.0.1", "::1", "localhost"):
            yield Finding(
                area="auth",
                level="warning",
                text=f"whoever reaches {host} may use this gateway, and the keys of its upstreams",
                remedy="set auth.required to true",
            )
        return
    now = datetime.now(UTC)  # as the server has it, whatever REFDESK_NOW says
    keys = store.keys.list() if store is not None else []
    valid = sum(key.is_valid(now) for key in keys)
    if valid:
        text = f"clients need a key; {valid} valid"
        yield Finding(area="auth", level="ok", text=text)
    else:
        yield Finding(
            area="auth",
            level="warning",
            text="clients need a key, and there is none that is valid",
            remedy="make one: refdesk keys create",
        )


def look_at_clock(told: list[datetime]) -> Finding:
    """
    Look whether the clock is right.

    Args:
        told: The time by the servers that were asked.
    """
    if os.environ.get("REFDESK_NOW"):
        try:
            text = f"REFDESK_NOW holds it at {clock.now().isoformat()}"
        except ConfigError as exc:
            return Finding(area="clock", level="problem", text=str(exc))
        return Finding(area="clock", level="warning", text=text, remedy="unset it outside of tests")
    now = clock.now()
    skews = sorted(now - moment for moment in told)
    if skews and abs(skew := skews[len(skews) // 2]) > _SKEW:
        way = "ahead of" if skew > timedelta() else "behind"
        return Finding(
            area="clock",
            level="problem",
            text=f"it is {abs(skew).total_seconds():.0f} s {way} the servers asked",
            remedy="set it right (timedatectl set-ntp true)",
        )
    agrees = ", as the servers asked have it" if skews else ""
    return Finding(area="clock", level="ok", text=f"{now:%Y-%m-%d %H:%M:%S %z}{agrees}")


def look_at_log(store: Store) -> Iterator[Finding]:
    """Look which upstreams refused a declared search tool of late."""
    seen: set[str] = set()
    for logged in store.requests.list(limit=_LOOK_AT, since=clock.now() - _LOOK_BACK):
        for match in filter(None, map(_REFUSED.search, logged.record.notices)):
            if match[1] in seen:
                continue
            seen.add(match[1])
            at = logged.record.time.astimezone(clock.now().tzinfo)
            yield Finding(
                area="upstream",
                name=match[1],
                level="warning",
                text=f"it answered {match[2]} to a request with a search tool at {at:%H:%M:%S}",
                remedy=f"if it takes none, set upstreams.{match[1]}.accepts_search_tool to false",
            )


def _private(path: Path, area: str, mode: str) -> Iterator[Finding]:
    try:
        found = stat.S_IMODE(path.stat().st_mode)
    except OSError as exc:
        yield Finding(
            area=area,
            level="problem",
            text=f"{path} cannot be looked at ({exc.strerror})",
            remedy="run this as the user that serves",
        )
        return
    if found & 0o077:
        yield Finding(
            area=area,
            level="warning",
            text=f"{path} is open to others (mode {found:04o})",
            remedy=f"chmod {mode} {path}",
        )
    else:
        yield Finding(area=area, level="ok", text=f"{path} is its owner's alone (mode {found:04o})")


def _folder_to_be(folder: Path) -> Finding:
    above = next(parent for parent in folder.absolute().parents if parent.exists())
    if above.is_dir() and os.access(above, os.W_OK | os.X_OK):
        return Finding(area="data_dir", level="ok", text=f"{folder} is made on first start")
    return Finding(
        area="data_dir",
        level="problem",
        text=f"{folder} cannot be made: {above} cannot be written",
        remedy="make it writable, or set data_dir to another folder",
    )
