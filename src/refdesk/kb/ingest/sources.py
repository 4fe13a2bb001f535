"""
What is to be added: files, folders, pages of the web, and bytes that somebody sent.

A source's key says which document it is; it is shown, and compared, and never a place to write to.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, urljoin, urlsplit

from refdesk.errors import EngineError
from refdesk.fetch import Fetcher
from refdesk.fetch.fetcher import Redirected
from refdesk.http import HttpRequest, HttpResponse
from refdesk.store.passages import SourceKind

MAX_PAGE_BYTES: Final = 64 * 1024 * 1024
"""Bytes of a page that is added by its address; a larger one is refused."""
FETCH_S: Final = 60.0
_REDIRECTS: Final = 5
MAX_URL_CHARS: Final = 4_096
"""Characters of a page's address; a longer one is refused."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """One document to be."""

    key: str
    kind: SourceKind
    path: Path | None = None
    """Where its bytes are; None for a URL."""
    size: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Skipped:
    """Something that is no document, and why."""

    key: str
    reason: str
    failed: bool = False
    """Whether it was named by whoever called, and should have been there."""


def is_url(text: str) -> bool:
    """Whether this is the address of a page and not a path."""
    return text.lower().startswith(("http://", "https://"))


def key_of(path: Path) -> str:
    """Return the key of a file: its absolute path, as text that can be stored."""
    absolute = os.path.abspath(path)  # noqa: PTH100 - links are not resolved
    return os.fsencode(absolute).decode("utf-8", "replace")


def upload_key(name: str) -> str:
    """Return the key of something sent under a name: the name without folders and controls."""
    last = PurePosixPath(name.replace("\\", "/").rstrip("/")).name
    kept = "".join(char for char in last if char.isprintable()).strip()
    plain = kept.encode("utf-8", "replace").decode()
    return plain[:255] if plain not in ("", ".", "..") else "unnamed"


def sources_of(given: Iterable[str | Path]) -> Iterator[Source | Skipped]:
    """
    Yield the sources behind paths and URLs: folders give what is in them, sorted by name.

    Names that start with a dot are skipped, and so is what is no plain file; links in a folder
    are not followed, since they may lead anywhere.
    """
    seen: set[str] = set()
    for one in given:
        if isinstance(one, str) and is_url(one):
            found: Iterable[Source | Skipped] = [_page(one)]
        else:
            found = _named(Path(one))
        for each in found:
            if each.key not in seen:
                seen.add(each.key)
                yield each


def _page(url: str) -> Source | Skipped:
    userinfo, at, _ = url.partition("://")[2].partition("/")[0].rpartition("@")
    if at:
        # It would stand in the store, in reports and in answers: neither kept nor repeated.
        plain = url.replace(f"{userinfo}@", "", 1)
        why = "its address holds a user name or password; a page that wants one is to be saved"
        return Skipped(key=plain[:MAX_URL_CHARS], reason=f"{why} and added as a file", failed=True)
    if len(url) > MAX_URL_CHARS:
        why = f"its address has {len(url)} characters, and {MAX_URL_CHARS} are allowed"
        return Skipped(key=url[:MAX_URL_CHARS], reason=why, failed=True)
    return Source(key=url, kind="url")


def _named(path: Path) -> Iterator[Source | Skipped]:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as exc:
        why = exc.strerror if isinstance(exc, OSError) else "the name holds a NUL"
        yield Skipped(key=key_of(path), reason=f"it cannot be opened ({why})", failed=True)
        return
    if not stat.S_ISDIR(mode):
        yield _file(path, os.stat(path))  # noqa: PTH116
        return
    if _dotted(path.name):
        yield Skipped(key=key_of(path), reason="its name starts with a dot")
        return
    yield from _folder(path)


def _folder(path: Path) -> Iterator[Source | Skipped]:
    try:
        with os.scandir(path) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
    except OSError as exc:
        yield Skipped(key=key_of(path), reason=f"it cannot be opened ({exc.strerror})", failed=True)
        return
    for entry in inside:
        at = Path(entry.path)
        if _dotted(entry.name):
            yield Skipped(key=key_of(at), reason="its name starts with a dot")
        elif entry.is_symlink():
            yield Skipped(key=key_of(at), reason="it is a link, and those are not followed")
        elif entry.is_dir():
            yield from _folder(at)
        else:
            yield _file(at, entry.stat(follow_symlinks=False))


def _file(path: Path, found: os.stat_result) -> Source | Skipped:
    if _dotted(path.name):
        return Skipped(key=key_of(path), reason="its name starts with a dot")
    if not stat.S_ISREG(found.st_mode):
        return Skipped(key=key_of(path), reason="it is no plain file")
    return Source(key=key_of(path), kind="path", path=path, size=found.st_size)


def _dotted(name: str) -> bool:
    return name.startswith(".") and name not in (".", "..")


async def fetched(fetcher: Fetcher, url: str) -> HttpResponse:
    """
    Return a page of the public web, after at most five redirects, each of them checked.

    Raises:
        EngineError: There is none; the message says why.
    """
    at = url
    for _ in range(_REDIRECTS + 1):
        request = HttpRequest(method="GET", url=at, headers=(("accept", "text/html,*/*;q=0.8"),))
        try:
            answer = await fetcher.send(
                request, timeout_s=FETCH_S, max_bytes=MAX_PAGE_BYTES, public_only=True
            )
        except Redirected as exc:
            if not exc.location:
                raise
            at = urljoin(at, exc.location)
            continue
        if not 200 <= answer.status < 300:
            raise EngineError(
                f"{urlsplit(at).hostname} answered {answer.status}; open the address in a browser"
                " to see what it wants",
                outcome="upstream_down",
            )
        return answer
    raise EngineError(
        f"{urlsplit(url).hostname} leads from address to address, more than {_REDIRECTS} times",
        outcome="upstream_down",
    )


def name_of(key: str, kind: SourceKind) -> str:
    """Return the file name that a key ends with, for its suffix."""
    path = unquote(urlsplit(key).path) if kind == "url" else key
    return PurePosixPath(path.replace("\\", "/")).name
