"""Citations in an answer that is JSON: only what stands inside of its strings is read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from refdesk.wires.citations import CitationFinder, Cited

_INSIDE: Final = re.compile(r'[^"\\]+')
_OUTSIDE: Final = re.compile(r'[^"]+')
_NOT_A_LINE_END: Final = re.compile(r"[^\n]")


class JsonStrings:
    """
    Blank everything in a JSON text but the inside of its strings; lengths and lines stay.

    Outside of strings ``[1]`` is a list.  A text that does not begin as an object or an array is
    returned as it is: the model did not do as it was told.
    """

    def __init__(self) -> None:
        self._is_json: bool | None = None
        self._inside = False
        self._escaped = False

    def feed(self, text: str) -> str:
        """Take the next piece of the text; return it blanked."""
        if self._is_json is None and (start := text.lstrip()):
            self._is_json = start.startswith(("{", "["))
        if not self._is_json:
            return text
        out: list[str] = []
        at = 0
        while at < len(text):
            if self._escaped:
                self._escaped = False
                out.append(" ")
                at += 1
            elif match := (_INSIDE if self._inside else _OUTSIDE).match(text, at):
                out.append(match[0] if self._inside else _NOT_A_LINE_END.sub(" ", match[0]))
                at = match.end()
            elif text[at] == "\\":
                self._escaped = True
                out.append(" ")
                at += 1
            else:
                self._inside = not self._inside
                out.append('"')
                at += 1
        return "".join(out)


class JsonCitationFinder(CitationFinder):
    """Find citations inside the strings of a JSON text that arrives in pieces."""

    def __init__(self, urls: Sequence[str]) -> None:
        super().__init__(urls)
        self._strings = JsonStrings()

    def feed(self, text: str) -> list[Cited]:
        """Take the next piece; return the citations that are certain by now, in order."""
        return super().feed(self._strings.feed(text))


def finder(urls: Sequence[str], *, as_json: bool) -> CitationFinder:
    """Return what finds citations in an answer; ``as_json`` where it was asked for as JSON."""
    return JsonCitationFinder(urls) if as_json else CitationFinder(urls)
