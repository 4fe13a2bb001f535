"""
The user's words without what clients wrap round them.

What looks like a secret is cut out, since a query leaves the house.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_MOST_CHARS: Final = 512 * 1024
"""Characters of a user's texts that are looked at for a query; the rest is not asked."""

_MARKER: Final = re.compile(r"Perform a web search for the query:\s*", re.IGNORECASE)
"""What Claude Code (2.1.197) and DeepSeek's harness write before the query."""

# Blocks that clients put into user messages and that no user wrote: Claude Code's reminders and
# command echoes, Codex's environment, instructions and context, attached files of several clients.
_WRAPPERS: Final = (
    r"system[-_]reminder|environment_context|user_instructions|environment_details|INSTRUCTIONS"
    r"|instructions|context|attachments?|attached_files?|documents?|files?|file_contents?"
    r"|command-(?:name|message|args|contents)|local-command-(?:stdout|stderr|caveat)|bash-(?:input"
    r"|stdout|stderr)|ide_(?:opened_file|selection)|turn_aborted|skill|sources?|search_results"
)
_BLOCK: Final = re.compile(
    rf"<(?P<tag>{_WRAPPERS})\b[^<>]*>.*?(?:</(?P=tag)\s*>|\Z)", re.DOTALL | re.IGNORECASE
)
_NOTE: Final = re.compile(r"\[Image[^\]\n]{0,80}\]|# AGENTS\.md instructions for .*\Z", re.DOTALL)

_SECRETS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    (
        "a private key",
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY"
            r".*?(?:END [A-Z0-9 ]{0,40}PRIVATE KEY-----|\Z)",
            re.DOTALL,
        ),
    ),
    ("a bearer token", re.compile(r"\b(?:Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{12,}", re.IGNORECASE)),
    (
        "a JSON web token",
        # What ends the run is looked at once, and not from each place where a token could begin.
        re.compile(
            r"(?<![\w-])(?=[\w-]*+\.[\w-]{4})(?P<kept>[\w-]*?)"
            r"\beyJ[\w-]{8,}+\.[\w-]{4,}+(?:\.[\w-]*+)?"
        ),
    ),
    (
        "an API key",
        re.compile(
            r"\b(?:(?:sk|pk|rk|ak|key|tvly|rdk|xai|gsk|hf|npm|pypi|glpat|dop_v1|shpat|pplx|r8|ghp|gho"
            r"|ghu|ghs|ghr|github_pat|xox[a-z]|whsec|jina|fc|api)[-_](?=[\w.-]{0,100}?\d)|SG\.|AKIA|ASIA"
            r"|AIza|ya29\.)[A-Za-z0-9_.-]{14,}"
        ),
    ),
    (
        "a password",
        re.compile(
            r"\b(?:password|passwd|pwd|secret|token|api[-_ ]?key|access[-_ ]?key)\b[\"']?\s*[:=]\s*"
            r"[\"']?[^\s\"',;]{6,}",
            re.IGNORECASE,
        ),
    ),
    ("credentials in a URL", re.compile(r"(?<=://)[^\s/@:]+:[^\s/@]+@")),
    ("a long key", re.compile(r"(?<![\w/.-])(?=\w*\d)(?=\w*[A-Za-z])[A-Fa-f0-9]{32,}(?![\w-])")),
    (
        "a long key",
        re.compile(
            r"(?<![\w/+-])(?=[\w+/-]*\d)(?=[\w+/-]*[a-z])(?=[\w+/-]*[A-Z])[A-Za-z0-9_+/-]{32,}={0,2}"
            r"(?![\w/+-])",
            re.ASCII,
        ),
    ),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractedQuery:
    """The query (empty where the user said nothing to search for), and what was cut out of it."""

    text: str
    removed: tuple[str, ...] = ()
    said: str = ""
    """What the user said, where ``text`` is a follow-up made complete; else empty."""
    unresolved: bool = False
    """Whether it looks like a follow-up that no rule could complete."""
    notices: tuple[str, ...] = ()


def extract_query(user_texts: Sequence[str], max_chars: int) -> ExtractedQuery:
    """
    Return what to ask.

    Args:
        user_texts: The text parts of the last user message that has any.
        max_chars: Cut to this many characters, at the end of a word where there is one.
    """
    text = ""
    for part in user_texts:
        if match := _MARKER.search(part):
            text = part[match.end() :]
            break
    else:
        text = " ".join(_NOTE.sub(" ", _BLOCK.sub(" ", part)) for part in _bounded(user_texts))
    text, removed = cut_secrets(text[:_MOST_CHARS])
    text = text.lstrip()[: 20 * max_chars + 1000]  # enough to fill the query
    if not text.isprintable():
        text = "".join([" " if _invisible(char) else char for char in text])
    return ExtractedQuery(text=shorten(" ".join(text.split()), max_chars), removed=removed)


def _bounded(texts: Sequence[str]) -> Iterator[str]:
    """Yield the texts up to `_MOST_CHARS` characters in all."""
    room = _MOST_CHARS
    for text in texts:
        if room <= 0:
            return
        yield text[:room]
        room -= len(text)


def cut_secrets(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the text without what looks like a secret, and what kinds were cut out."""
    removed: list[str] = []
    for name, pattern in _SECRETS:
        text, count = pattern.subn(_blank, text)
        if count and name not in removed:
            removed.append(name)
    return text, tuple(removed)


def _blank(secret: re.Match[str]) -> str:
    return secret.groupdict(default="").get("kept", "") + " "


def shorten(text: str, max_chars: int) -> str:
    """Cut a text to so many characters: at a word's end, and never inside a visible character."""
    if len(text) <= max_chars:
        return text
    end = max_chars
    while end > 0 and _joins(text[end - 1], text[end]):
        end -= 1
    if flags := _flags_before(text, max_chars):
        # Flags are pairs of letters, told apart only by counting from the first.
        end = max_chars - flags % 2
    end = end or max_chars  # one letter under hundreds of marks is better cut than dropped
    head = text[:end]
    space = head.rfind(" ")
    # Chinese has no spaces, and a single long word is better cut than dropped.
    if text[end] != " " and space > max_chars // 2:
        head = head[:space]
    return head.rstrip()


def _flags_before(text: str, end: int) -> int:
    start = end
    while start > 0 and "\U0001f1e6" <= text[start - 1] <= "\U0001f1ff":
        start -= 1
    return end - start if "\U0001f1e6" <= text[end] <= "\U0001f1ff" else 0


def _invisible(char: str) -> bool:
    category = unicodedata.category(char)
    # Joiners are part of emoji and of several scripts.
    return category == "Cc" or (category == "Cf" and char not in "\u200c\u200d")


def _joins(before: str, after: str) -> bool:
    """Whether a cut between these two would fall inside a visible character (UAX 29, roughly)."""
    return (
        unicodedata.category(after) in ("Mn", "Mc", "Me")
        or after in "\u200c\u200d"
        or before == "\u200d"
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or ("\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff")
        or "\U000e0020" <= after <= "\U000e007f"
        or "\u1160" <= after <= "\u11ff"
    )
