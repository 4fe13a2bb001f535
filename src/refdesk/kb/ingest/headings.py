"""Markdown's headings: where each section of a text begins, and what stands above it.  Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MAX_HEADING_CHARS: Final = 200
"""Characters of a heading that the passages below it repeat; a longer one is cut there."""

FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
"""The line that opens a block of code, and the one that closes it."""
_UNDERLINE: Final = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_MARKUP: Final = re.compile(r"\\(?=[^\w\s])|[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")
_MARKUP_FACTOR: Final = 4
"""The most that a heading grows by its markup."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A part of a text, half-open, and the headings above it."""

    start: int
    end: int
    heading: tuple[str, ...] = ()


def lines_of(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where each line begins and ends, without its line end."""
    while start < end:
        stop = text.find("\n", start, end)
        if stop < 0:
            stop = end
        yield start, stop
        start = stop + 1


def sections(text: str) -> list[Section]:
    """Return the sections of a text; a heading with nothing under it goes with what follows."""
    path: list[tuple[int, str]] = []
    found: list[Section] = []
    start, bare, fence = 0, True, ""
    before: tuple[int, str] | None = None

    def close(at: int) -> None:
        nonlocal start
        if at > start:
            heading = tuple(name for _, name in path if name)
            found.append(Section(start=start, end=at, heading=heading))
        start = at

    for at, stop in lines_of(text, _front_matter(text), len(text)):
        line = text[at:stop]
        mark = FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
            before = None
            continue
        level, name, where = 0, "", at
        if mark:
            fence = mark[1]
        elif heading := _heading(line):
            level, name = heading
        elif before and (under := _UNDERLINE.match(line)):
            level, name, where = (1 if under[1][0] == "=" else 2), before[1], before[0]
        if level:
            # Alone it says too little.
            if not bare:
                close(where)
            path = [one for one in path if one[0] < level] + [(level, _repeated(name))]
            bare, before = True, None
        else:
            solid = line.strip()
            if solid:
                bare = False
            usable = solid and not mark and solid[0] not in "|>-*+#"
            before = (at, solid) if usable else None
    close(len(text))
    return found


def plain(name: str) -> str:
    """Return a line of Markdown without the marks of emphasis and code."""
    return _MARKUP.sub("", name).strip()


def _heading(line: str) -> tuple[int, str] | None:
    """Return level and text of a heading with number signs; by hand, which is linear."""
    unindented = line.lstrip(" ")
    rest = unindented.lstrip("#")
    level = len(unindented) - len(rest)
    if len(line) - len(unindented) > 3 or not 1 <= level <= 6 or rest[:1] not in ("", " ", "\t"):
        return None
    name = rest.strip(" \t")
    unclosed = name.rstrip("#")
    if unclosed != name and unclosed[-1:] in ("", " ", "\t"):
        name = unclosed.rstrip(" \t")
    return level, name


def _repeated(name: str) -> str:
    """Return a heading as passages repeat it."""
    name = plain(name[: _MARKUP_FACTOR * MAX_HEADING_CHARS])
    if len(name) <= MAX_HEADING_CHARS:
        return name
    return name[: MAX_HEADING_CHARS - 1].rstrip() + "…"


def _front_matter(text: str) -> int:
    if not text.startswith("---\n"):
        return 0
    end = text.find("\n---\n", 3, 10_000)
    return end + 5 if end > 0 else 0
