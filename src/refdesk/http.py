"""Requests and answers as plain values, for what is written and read without doing the call."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit, urlunsplit

MAX_URL_CHARS: Final = 2048
"""Longer links are no links anybody clicks; browsers and stores cut them too."""

_NOT_IN_URL: Final = re.compile(
    r"[\x00-\x20\x7f-\x9f<>\"`\\\u200b-\u200f\u202a-\u202e\u2066-\u2069]"
)
_BROKEN: Final = re.compile(r"[\t\r\n]")
_TO_ENCODE: Final = re.compile(r"[ <>\"`\\]")
_TO_MEND: Final = re.compile(r"[\t\r\n <>\"`\\]")
_AUTHORITY: Final = re.compile(r"[^/?#]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpRequest:
    """One outbound request.  Header names are lower-case; the URL is complete, query included."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = field(default=b"", repr=False)

    def __repr__(self) -> str:
        # A URL may carry a key in its query, and a header may be one.
        return f"HttpRequest({self.method} {self.url.split('?', 1)[0]})"


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpResponse:
    """One whole answer, decoded from its transfer and content encodings."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = field(default=b"", repr=False)

    def header(self, name: str) -> str | None:
        """Return the first value of a header, by its lower-case name."""
        for key, value in self.headers:
            if key == name:
                return value
        return None


_TRACKING: Final = re.compile(r"^(utm_\w+|gclid|fbclid|msclkid|yclid|mc_[ce]id|igshid|ref_src)$")


def normal_url(url: str) -> str:
    """
    Return the form of a URL under which two spellings of one page are equal.

    Lower-case scheme and host, no default port, no fragment, no tracking parameters, no trailing
    slash.  Made for comparing; what is shown is the URL as found.  One that is too long for
    `is_web_url` stays as it is.
    """
    return _normal_url(url) if len(url) <= MAX_URL_CHARS else url.strip()


# The same URLs come by several times on their way through a request, and on later ones.
@lru_cache(maxsize=2048)
def _normal_url(url: str) -> str:
    try:
        parts = urlsplit(url.strip())
        host = (parts.hostname or "").removesuffix(".")
        port = f":{parts.port}" if parts.port not in (None, 80, 443) else ""
    except ValueError:
        return url.strip()
    query = "&".join(
        pair for pair in parts.query.split("&") if pair and not _TRACKING.match(pair.split("=")[0])
    )
    return urlunsplit((parts.scheme.lower(), host + port, parts.path.rstrip("/"), query, ""))


def is_web_url(url: str) -> bool:
    """Whether this is an http or https URL with a host and no user name, fit for a link."""
    return len(url) <= MAX_URL_CHARS and _is_web_url(url)


@lru_cache(maxsize=2048)
def _is_web_url(url: str) -> bool:
    if _NOT_IN_URL.search(url):
        return False
    try:
        parts = urlsplit(url)
        web = parts.scheme.lower() in ("http", "https")
        return web and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return False


def web_url(url: str) -> str | None:
    """
    Return a URL as a link can hold it; None if it is none, as `is_web_url` says.

    Spaces, quotes, angle brackets and backslashes behind the host are percent-encoded; line breaks
    and tabs are left out, as browsers do.  All else stays as it was found.
    """
    url = url.strip()
    if _TO_MEND.search(url):
        url = _BROKEN.sub("", url)
        scheme, separator, rest = url.partition("://")
        host = _AUTHORITY.match(rest)
        assert host is not None, "it matches nothing as well"
        behind = _TO_ENCODE.sub(lambda char: f"%{ord(char[0]):02X}", rest[host.end() :])
        url = f"{scheme}{separator}{host[0]}{behind}"
    return url if is_web_url(url) else None
