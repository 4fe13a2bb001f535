"""Passages on a terminal: where each stands, and how it begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from refdesk.cli.output import out

if TYPE_CHECKING:
    from refdesk.types import ResultItem

_SNIPPET_CHARS: Final = 300


def print_passages(items: Sequence[ResultItem]) -> None:
    """Print what a search found, in its order."""
    from rich.style import Style
    from rich.text import Text

    from refdesk.cli._table import printable

    width = len(str(len(items)))
    for item in items:
        head = Text(f"{item.index:>{width}}. ", style="dim")
        head.append(printable(item.title), Style(bold=True))
        if item.score is not None:
            head.append(f"  {item.score:.2f}", Style(dim=True))
        out().print(head)
        where = [str(part) for part in item.metadata.get("heading") or ()]
        if item.metadata.get("page"):
            where.insert(0, f"page {item.metadata['page']}")
        margin = " " * (width + 2)
        if where:
            out().print(Text(margin + printable(" › ".join(where)), style="dim"))
        text = " ".join(item.content.split())
        cut = text if len(text) <= _SNIPPET_CHARS else text[: _SNIPPET_CHARS - 1] + "…"
        out().print(Text(margin + printable(cut)))
