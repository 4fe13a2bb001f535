"""
What happens to results between the engine and whoever asked: filtered, cleaned, each page once.

A domain entry is a host, optionally with a path: ``example.com`` takes in its subdomains,
``example.com/blog`` what lies below that path, ``example.com/*/news`` any one way there.  Case
does not count; a host may be written in its own script or in punycode.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import unquote, urlsplit

from refdesk.http import normal_url, web_url
from refdesk.types import ResultItem

_UNFIT: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_HOST: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")
_SCHEME: Final = re.compile(r"https?://", re.IGNORECASE)
_SHOWN_CHARS: Final = 80


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """A domain entry, read: ``host`` in ASCII, ``path`` empty or from its first slash."""

    host: str
    path: str = ""

    def covers(self, host: str, path: str) -> bool:
        """Whether a page lies here, given its ASCII host and its lower-case unquoted path."""
        if host != self.host and not host.endswith("." + self.host):
            return False
        return not self.path or _below(path, self.path.split("*"))

    def __str__(self) -> str:
        """Write it as engines understand it: up to the first ``*``."""
        return self.host + self.path.partition("*")[0].rstrip("/")


@dataclass(frozen=True, kw_only=True, slots=True)
class Domains:
    """Where results may come from."""

    allowed: tuple[Site, ...] | None = None
    """Only these; None: anywhere; empty: nowhere."""
    blocked: tuple[Site, ...] = ()
    notices: tuple[str, ...] = ()
    """What was wrong with entries, in sentences."""

    def permit(self, url: str) -> bool:
        """Whether a result with this URL may be shown."""
        if self.allowed is None and not self.blocked:
            return True
        try:
            parts = urlsplit(url)
            host = _ascii(parts.hostname or "")
        except ValueError:
            return False
        path = unquote(parts.path).lower()
        if any(site.covers(host, path) for site in self.blocked):
            return False
        return self.allowed is None or any(site.covers(host, path) for site in self.allowed)


def read_domains(allowed: Sequence[str], blocked: Sequence[str]) -> Domains:
    """
    Read the domain entries that a client gave.

    An entry that makes no sense is left out, with a notice.  If that leaves nothing of the allowed
    ones, nothing is allowed: a limit that was asked for never turns into none.
    """
    notices: list[str] = []
    allow = _read("allowed", allowed, notices)
    block = _read("blocked", blocked, notices)
    return Domains(
        allowed=allow if allowed else None, blocked=block, notices=tuple(dict.fromkeys(notices))
    )


def tidy(items: Iterable[ResultItem], domains: Domains, limit: int) -> tuple[ResultItem, ...]:
    """
    Return the items that may be shown, cleaned, each page once, in their order.

    The first of several items for one page stays.  Whatever the engine sent, the text is valid
    UTF-8 without control characters, every URL is a web URL, and there are at most ``limit``.
    """
    seen: set[str] = set()
    kept: list[ResultItem] = []
    for item in items:
        if len(kept) >= limit:
            break
        link = web_url(item.url)
        if link is None or _SURROGATE.search(link):
            continue
        url = normal_url(link)
        if url in seen or not domains.permit(link):
            continue
        seen.add(url)
        kept.append(_cleaned(item if link == item.url else replace(item, url=link)))
    return tuple(kept)


def clean(text: str) -> str:
    """Return text without control characters, lone surrogates replaced."""
    if text.isprintable() or not _UNFIT.search(text):
        return text
    return _UNFIT.sub("", _SURROGATE.sub("\ufffd", text))


def _cleaned(item: ResultItem) -> ResultItem:
    title = clean(item.title).strip() or urlsplit(item.url).hostname or item.url
    content = clean(item.content)
    published = clean(item.published) if item.published else None
    if (title, content, published) == (item.title, item.content, item.published):
        return item
    return replace(item, title=title, content=content, published=published)


def _read(kind: str, entries: Sequence[str], notices: list[str]) -> tuple[Site, ...]:
    sites: dict[Site, None] = {}
    for entry in entries:
        shown = clean(entry)[:_SHOWN_CHARS]
        text = _SCHEME.sub("", entry.strip(), count=1).removeprefix("*.")
        host, slash, path = text.partition("/")
        site = _site(host, slash + path)
        if site is None:
            notices.append(
                f"the {kind} domain {shown!r} is no domain and was left out; write it as "
                "example.com or example.com/path, with * in the path only"
            )
            continue
        if text != entry.strip():
            notices.append(
                f"the {kind} domain {shown!r} was read as {str(site)!r}: "
                "subdomains are included, and no scheme is needed"
            )
        sites[site] = None
    return tuple(sites)


def _site(host: str, path: str) -> Site | None:
    try:
        ascii_host = _ascii(host)
    except ValueError:
        return None
    if not _HOST.fullmatch(ascii_host) or len(ascii_host) > 253:
        return None
    if re.search(r"[\s?#\\]", path) or len(path) > 1024:
        return None
    return Site(host=ascii_host, path=unquote(path).lower().rstrip("/"))


def _ascii(host: str) -> str:
    """Return a host in lower-case ASCII; ValueError if it cannot be one."""
    host = host.lower().removesuffix(".")
    if host.isascii():
        return host
    return host.encode("idna").decode("ascii").lower()


def _below(path: str, parts: list[str]) -> bool:
    """
    Whether a path begins with these parts, with anything between them, and ends one at a segment.

    No regular expression: the pattern is the client's, and many stars would make one backtrack.
    """
    first, *others = parts
    if not others:
        return path.startswith(first) and _ends_segment(path, len(first))
    if not path.startswith(first):
        return False
    at = len(first)
    for part in others[:-1]:
        found = path.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    last = others[-1]
    while (found := path.find(last, at)) >= 0:
        if not last or _ends_segment(path, found + len(last)):
            return True
        at = found + 1
    return False


def _ends_segment(path: str, at: int) -> bool:
    return at == len(path) or path[at] == "/" or path[at - 1 : at] == "/"
