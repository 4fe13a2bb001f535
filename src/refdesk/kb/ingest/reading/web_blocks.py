"""The blocks of text that a web page shows, and those of them that belong to a text of the page."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Final

from refdesk.kb.ingest.reading.package import local

_SILENT = frozenset(
    {
        "script", "style", "noscript", "template", "head", "title", "textarea", "select", "option",
        "datalist",
    }
)  # fmt: skip
ROUND = frozenset({"nav", "header", "footer", "aside", "form", "button", "dialog", "menu"})
"""Elements round the main text of a page."""
_INLINE = frozenset(
    {
        "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i",
        "ins", "kbd", "label", "mark", "q", "rp", "rt", "ruby", "s", "samp", "small", "span",
        "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
    }
)  # fmt: skip
_WORD = re.compile(r"[^\W_]+")
_SHARE = 0.8
"""An element with this part of what was kept is what the main text is in."""
_MAX_WORK: Final = 5_000_000_000
"""Characters looked through for lost blocks of a web page; beyond it none is put back."""
_SHORT = 20
"""Fewer letters than this may stand anywhere by chance."""
_NEAR = 2000


@dataclass(kw_only=True)
class Block:
    """Text without a break, the element that it is in, and how many of its letters are links."""

    element: Any
    text: str = ""
    linked: int = 0


def blocks_of(tree: Any, *, without: frozenset[str] = frozenset()) -> list[Block]:
    """Return the blocks of text that are shown, in order, without those in some elements."""
    blocks = [Block(element=tree)]

    def add(text: str | None, linked: bool) -> None:
        blocks[-1].text += text or ""
        blocks[-1].linked += len(_letters(text or "")) if linked else 0

    def take(element: Any, linked: bool) -> None:
        is_block = local(element) not in _INLINE
        if is_block:
            blocks.append(Block(element=element))
        linked = linked or local(element) == "a"
        add(element.text, linked)
        for each in element:
            name = local(each)
            if name and name not in _SILENT and name not in without:
                take(each, linked)
                if name not in _INLINE:
                    blocks.append(Block(element=element))
            add(each.tail, linked)

    take(tree, False)
    for block in blocks:
        block.text = " ".join(block.text.split())
    return [block for block in blocks if block.text]


def visible(tree: Any, *, without: frozenset[str] = frozenset()) -> str:
    """Return all text that is shown, a line for each block."""
    return "\n".join(block.text for block in blocks_of(tree, without=without))


def completed(text: str, blocks: list[Block]) -> str:
    """
    Return a text of a page with the blocks that it lacks, where they stand on the page.

    Lists of links, and what is outside the element that most of the text is from, are left out.

    Args:
        text: Markdown of the main text.
        blocks: The page's.
    """
    words = f" {_words(text)} "
    places = [at for at, char in enumerate(text) if char.isalnum()]
    stream = "".join(text[at] for at in places)
    if len(blocks) * len(stream) > _MAX_WORK:
        return text
    at, kept = 0, 0
    weights: dict[Any, int] = defaultdict(int)
    lacking: list[tuple[int, Block]] = []
    for block in blocks:
        letters = _letters(block.text)
        found = stream.find(letters, at, at + _NEAR if len(letters) < _SHORT else None)
        is_short = len(letters) < _SHORT
        if f" {_words(block.text)} " not in words if is_short else letters not in stream:
            if letters and 2 * block.linked < len(letters):
                lacking.append((at, block))
            continue
        at = max(at, found + len(letters)) if found >= 0 else at
        kept += len(letters)
        for each in (block.element, *block.element.iterancestors()):
            weights[each] += len(letters)
    inside = {each for each, weight in weights.items() if weight >= _SHARE * kept}
    main = max(inside, key=lambda each: sum(1 for _ in each.iterancestors()), default=None)
    for at, block in reversed(lacking):
        if main is not None and main in (block.element, *block.element.iterancestors()):
            end = text.find("\n\n", places[at - 1]) if at else 0
            end = len(text) if end < 0 else end
            text = f"{text[:end]}\n\n{block.text}\n\n{text[end:].lstrip()}"
    return text.strip()


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))
