"""
What looks like a secret, cut out of a text that leaves the house.

A secret is told by its shape and by what stands before it.  The hash of a commit or an image, names
made of words, and words about secrets are no secrets and stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

_TOKEN: Final = re.compile(r"[A-Za-z0-9_+/.~-]{12,}+={0,2}+")
_MOST_TOKEN: Final = 4096
"""A longer run of letters and digits is cut out of a query, whatever it holds."""

_VENDOR: Final = re.compile(
    r"(?:sk|pk|rk|ak|key|tvly|rdk|xai|gsk|hf|npm|pypi|glpat|dop_v1|shpat|pplx|r8|ghp|gho|ghu|ghs|ghr"
    r"|github_pat|xox[a-z]|whsec|jina|fc|api)[-_]|SG\.|AIza|ya29\."
)
"""How the keys of well-known vendors begin."""
_LEAST_KEY: Final = 14
_AWS: Final = re.compile(r"(?:AKIA|ASIA)(?=[A-Z]*+[0-9])[A-Z0-9]{14,}+")
_JWT: Final = "eyJ"
"""How the header of a JSON web token begins: `{"` in base64url."""
_SCHEME: Final = re.compile(r"\b(?:Bearer|Basic)\s\s?\Z", re.IGNORECASE)
_NAMED: Final = re.compile(
    r"\b(?:password|passwd|pwd|secret|token|api[-_ ]?key|access[-_ ]?key)\b[\"']?[ \t]{0,8}+[:=]"
    r"[ \t]{0,8}+(?P<quote>[\"']?)(?P<value>[^\s\"',;]{6,4096}+)",
    re.IGNORECASE,
)
_IN_URL: Final = re.compile(r"(?<=://)[^\s/@:]{1,256}+:([^\s/@]{1,256}+)@")
_KEY_BEGIN: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----")
_KEY_END: Final = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----")
_KEY_LINES: Final = re.compile(r"(?:\s++[A-Za-z0-9+/=]{16,}+(?!\S))*+")

_HEX: Final = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_HASH_CHARS: Final = frozenset({32, 40, 56, 64, 96, 128})
"""The lengths of MD5, SHA-1 and SHA-2 in hexadecimal digits."""
_HASH_WORDS: Final = frozenset(
    {
        *("blake2", "blake3", "blob", "checksum", "checksums", "commit", "commits", "digest"),
        *("docker", "fingerprint", "git", "hash", "hashes", "image", "integrity", "md5", "rev"),
        *("revision", "sha", "sha1", "sha224", "sha256", "sha384", "sha512", "tag", "tree"),
    }
)
_KEY_WORDS: Final = frozenset(
    {
        *("api", "key", "keys", "password", "private", "secret", "secrets", "token", "tokens"),
    }
)
_WORD: Final = re.compile(r"[A-Za-z0-9]++")
_BEFORE_CHARS: Final = 100
_BEHIND_CHARS: Final = 16

_CAMEL: Final = re.compile(r"[A-Z]++(?![a-z])|[A-Z]?+[a-z]++|[A-Z]")
_SIGNS: Final = frozenset("!#$%^&*?+~|@\\")
_STAND_INS: Final = frozenset(
    {
        *("bearer", "changeme", "default", "example", "expired", "invalid", "missing"),
        *("mypassword", "optional", "password", "placeholder", "required", "secret", "string"),
        *("undefined", "username", "yourpassword"),
    }
)
"""What stands for a secret in examples."""


@dataclass(frozen=True, slots=True)
class _Cut:
    start: int
    end: int
    what: str


def cut_secrets(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the text without what looks like a secret, and what kinds were cut out."""
    kept: list[str] = []
    removed: dict[str, None] = {}
    at = 0
    for cut in sorted(_cuts(text), key=lambda one: (one.start, -one.end)):
        if cut.end <= at:
            continue
        kept.append(text[at : max(at, cut.start)])
        at = cut.end
        removed[cut.what] = None
    return " ".join((*kept, text[at:])), tuple(removed)


def _cuts(text: str) -> Iterator[_Cut]:
    yield from _private_keys(text)
    for match in _IN_URL.finditer(text):
        if not _is_stand_in(match[1]):
            yield _Cut(match.start(), match.end(), "credentials in a URL")
    for match in _NAMED.finditer(text):
        if _is_given(text, match):
            quoted = len(match["quote"]) if text.startswith(match["quote"], match.end()) else 0
            yield _Cut(match.start(), match.end() + quoted, "a password")
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        token = match[0].rstrip(".")
        scheme = _SCHEME.search(text, max(0, start - 9), start)
        if scheme and not _is_words(token):
            yield _Cut(scheme.start(), end, "a bearer token")
        elif what := _kind_of(text, start, token):
            yield _Cut(start, start + len(token), what)


def _private_keys(text: str) -> Iterator[_Cut]:
    ends = [match.end() for match in _KEY_END.finditer(text)]
    for begin in _KEY_BEGIN.finditer(text):
        while ends and ends[0] <= begin.end():
            ends.pop(0)
        # Without an end the lines of the key are cut; a sentence about the line above is not.
        end = ends[0] if ends else _KEY_LINES.match(text, begin.end()).end()  # type: ignore[union-attr]
        if end > begin.end():
            yield _Cut(begin.start(), end, "a private key")


def _kind_of(text: str, start: int, token: str) -> str:
    """Return what kind of secret a run of letters and signs is; empty where it is none."""
    if len(token) > _MOST_TOKEN:
        return "a long key"
    if _is_jwt(token):
        return "a JSON web token"
    if _AWS.match(token):
        return "an API key"
    vendor = _VENDOR.match(token)
    if vendor and len(token) - vendor.end() >= _LEAST_KEY and not _is_words(token[vendor.end() :]):
        return "an API key"
    if len(token) < 32 or "//" in token:
        return ""
    if _HEX.fullmatch(token):
        return "" if token.isdigit() or _is_hash(text, start, token) else "a long key"
    mixed = token.lower() != token != token.upper() and any(map(str.isdigit, token))
    if not mixed or token.lower().startswith(("sha1-", "sha256-", "sha384-", "sha512-")):
        return ""
    return "" if _is_words(token) else "a long key"


def _is_jwt(token: str) -> bool:
    """Whether a header of eleven letters or more stands before a dot and a payload."""
    for header, payload in pairwise(token.split(".")):
        at = header.find(_JWT)
        starts = at == 0 or (at > 0 and not header[at - 1].isalnum())
        if starts and len(header) - at > 10 and len(payload) > 3:
            return True
    return False


def _is_hash(text: str, start: int, token: str) -> bool:
    """Whether the words round a hexadecimal number call it a hash, and no key."""
    if len(token) not in _HASH_CHARS:
        return False
    before = [word.lower() for word in _WORD.findall(text[max(0, start - _BEFORE_CHARS) : start])]
    end = start + len(token)
    behind = [word.lower() for word in _WORD.findall(text[end : end + _BEHIND_CHARS])]
    if _KEY_WORDS.intersection(before[-3:]):
        return False
    return not _HASH_WORDS.isdisjoint((*before, *behind))


def _is_given(text: str, match: re.Match[str]) -> bool:
    """Whether what stands behind ``password:`` is one, and not a word of the sentence."""
    value = match["value"].rstrip(").?!")
    if _is_stand_in(value):
        return False
    if match["quote"] or any(map(str.isdigit, value)) or not _SIGNS.isdisjoint(value):
        return True
    start, end = match.span()
    own = text[max(0, start - 8) : start].rstrip().lower().endswith(("my", "our"))
    last = not text[end : end + _BEFORE_CHARS].partition("\n")[0].strip(" .?!")
    return "=" in match[0] or (own and last)


def _is_stand_in(value: str) -> bool:
    return value.lower() in _STAND_INS or value[:1] in "<${%*[" or len(set(value)) <= 2


def _is_words(token: str) -> bool:
    """
    Whether a run of letters and signs is a name: words, versions, dates, parts of a path.

    At least 85 percent of its letters then stand in words of three letters or more, and at most a
    quarter of it are digits, those of dates and versions not counted.
    """
    parts = [
        part for part in re.split(r"[-_+/.~=]", token) if not (part.isdigit() and len(part) < 5)
    ]
    plain = "".join(parts)
    letters = sum(map(str.isalpha, plain))
    worded = sum(len(word) for part in parts for word in _CAMEL.findall(part) if len(word) > 2)
    return worded >= 0.85 * letters and len(plain) - letters <= 0.25 * len(plain)
