"""
The XML-like elements that stand in a text as blocks.

A block opens at the start of a line, or right behind another block.  Elements inside a sentence,
and everything in a fenced block of code, belong to the sentence and are not found here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_LINE_START: Final = re.compile(r"(?:\A|\n)[ \t]*+(<|```)")
_TAG: Final = re.compile(r"<([A-Za-z][\w.:-]{0,80}+)(\s[^<>]{0,2000}+)?>")
_SPACE: Final = re.compile(r"[ \t]*+")
_MOST_BLOCKS: Final = 256
"""Elements of one text that are told apart; the rest of it is taken as plain text."""
_MOST_UNCLOSED: Final = 32
"""Names of elements in one text that may lack a closing tag; likewise."""

_HTML: Final = frozenset(
    {
        *("a", "abbr", "address", "area", "article", "aside", "audio", "b", "base", "bdi", "bdo"),
        *("blockquote", "body", "br", "button", "canvas", "caption", "center", "circle", "cite"),
        *("code", "col", "colgroup", "data", "datalist", "dd", "del", "details", "dfn", "dialog"),
        *("div", "dl", "dt", "em", "embed", "fieldset", "figcaption", "figure", "font", "footer"),
        *("form", "frame", "g", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hgroup"),
        *("hr", "html", "i", "iframe", "img", "input", "ins", "kbd", "label", "legend", "li"),
        *("line", "link", "main", "map", "mark", "math", "menu", "meta", "meter", "nav"),
        *("noscript", "object", "ol", "optgroup", "option", "output", "p", "param", "path"),
        *("picture", "pre", "progress", "q", "rect", "rp", "rt", "ruby", "s", "samp", "script"),
        *("search", "section", "select", "slot", "small", "span", "strike", "strong", "style"),
        *("sub", "summary", "sup", "svg", "table", "tbody", "td", "template", "text", "textarea"),
        *("tfoot", "th", "thead", "time", "title", "tr", "track", "tt", "u", "ul", "use", "var"),
        *("video", "wbr"),
    }
)
"""Elements of HTML (Living Standard, 2026) and of common SVG: rich text is a user's as well."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """An element, from its opening to its closing tag, without the white space round it."""

    name: str
    inner: str = ""
    start: int
    end: int
    closed: bool = True
    """False for a tag that is never closed; the block is then the tag alone."""
    attributes: bool = False
    ends_line: bool = True
    """Nothing but white space, or another block, follows on its last line."""

    @property
    def is_html(self) -> bool:
        """Whether the name is one of HTML's or SVG's."""
        return self.name.lower() in _HTML

    @property
    def spans_lines(self) -> bool:
        """Whether the content goes over several lines."""
        return "\n" in self.inner


def find_blocks(text: str) -> Iterator[Block]:
    """
    Yield the outermost blocks of a text, in order.

    The time is linear in the length of the text, whatever it holds: closed elements are passed over
    as a whole, and only a bounded number of names may lack a closing tag.
    """
    at = 0
    block: Block | None = None
    unclosed: set[str] = set()
    for _ in range(_MOST_BLOCKS):
        tag = _TAG.match(text, _skip_space(text, at)) if block and block.closed else None
        while tag is None:
            start = _next_start(text, at)
            if start < 0:
                return
            tag = _TAG.match(text, start)
            at = start + 1
        block = _element(text, tag, unclosed)
        yield block
        if len(unclosed) > _MOST_UNCLOSED:
            return
        at = block.end


def _next_start(text: str, at: int) -> int:
    """Return where the next line begins with ``<``, outside fences; -1 where none does."""
    while opening := _LINE_START.search(text, at):
        if opening[1] == "<":
            return opening.start(1)
        fence = text.find("\n```", opening.end())
        # A fence that is never closed hides nothing.
        at = opening.end() if fence < 0 else fence + 4
    return -1


def _element(text: str, tag: re.Match[str], unclosed: set[str]) -> Block:
    name, attributes = tag[1], tag[2] or ""
    start, end = tag.span()
    if attributes.endswith("/"):
        return Block(name=name, start=start, end=end, attributes=True, ends_line=_ends(text, end))
    close = -1 if name in unclosed else _closing(text, name, end)
    if close < 0:
        unclosed.add(name)
        return Block(name=name, start=start, end=end, closed=False, ends_line=_ends(text, end))
    last = text.index(">", close) + 1
    return Block(
        name=name,
        inner=text[end:close],
        start=start,
        end=last,
        attributes=bool(attributes.strip()),
        ends_line=_ends(text, last),
    )


def _closing(text: str, name: str, at: int) -> int:
    closing = f"</{name}"
    while (at := text.find(closing, at)) >= 0:
        if text.startswith(">", _skip_space(text, at + len(closing))):
            return at
        at += len(closing)
    return -1


def _ends(text: str, at: int) -> bool:
    at = _skip_space(text, at)
    return at == len(text) or text[at] in "\r\n<"


def _skip_space(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]
