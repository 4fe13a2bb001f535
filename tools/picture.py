"""
Draw the picture of the demo for the README, from its real output.

Runs ``refdesk demo --once`` and writes ``docs/images/demo.svg``.  GitHub shows an SVG without its
web fonts, so that a font every system has is named instead.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from refdesk.demo.run import QUESTION, Wishes, run

PICTURE = Path(__file__).parent.parent / "docs/images/demo.svg"
COLUMNS = 80
_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_FACES = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_THEME = TerminalTheme(
    (16, 20, 28),
    (216, 222, 233),
    [
        (59, 66, 82), (224, 108, 117), (152, 195, 121), (229, 192, 123),
        (97, 175, 239), (198, 120, 221), (86, 182, 194), (216, 222, 233),
    ],
)  # fmt: skip


class _Terminal(Console):
    """A console whose spinners, gone by the end, are not drawn at all."""

    def status(self, *_: object, **__: object) -> Any:
        """Return a spinner that shows nothing."""
        spinner = MagicMock()
        spinner.__enter__.return_value = spinner
        return spinner


def draw(question: str) -> str:
    """Run the demo and return the picture."""
    console = _Terminal(
        record=True,
        width=COLUMNS,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        highlight=False,
    )
    console.print(Text("$ ", style="green") + Text("make demo", style="bold") + "\n")
    status = run(Wishes(question=question, once=True), env=os.environ, console=console)
    if status:
        print(console.export_text(), file=sys.stderr)
        raise SystemExit("the demo gave no answer with sources; there is nothing to show")
    return finished(console.export_svg(title="make demo", theme=_THEME, unique_id="demo"))


def finished(svg: str) -> str:
    """Return rich's picture without what GitHub does not load, and with what screen readers say."""
    svg = _FACES.sub("", svg)
    svg = re.sub(r"font-family: ?[^;]*Fira Code[^;]*;", f"font-family: {_FONT};", svg)
    label = 'role="img" aria-label="The demo: question, answer with sources, every step"'
    return svg.replace("<svg ", f"<svg {label} ", 1)


def main() -> None:
    """Draw it and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument("--to", type=Path, default=PICTURE)
    args = parser.parse_args()
    svg = draw(args.question)
    args.to.parent.mkdir(parents=True, exist_ok=True)
    args.to.write_text(svg, encoding="utf-8")
    print(f"{args.to}: {len(svg):,} characters", file=sys.stderr)


if __name__ == "__main__":
    main()
