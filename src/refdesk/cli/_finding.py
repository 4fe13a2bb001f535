"""What `doctor` finds: one thing looked at, how it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from refdesk.cli._table import printable
from refdesk.cli.output import out

Level = Literal["ok", "warning", "problem"]

_MARKS: Final[dict[Level, tuple[str, str]]] = {
    "ok": ("✓", "green"),
    "warning": ("!", "yellow"),
    "problem": ("✗", "bold red"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One line of the doctor's.  No text of it holds a key."""

    area: str
    """What kind of thing was looked at: config, store, engine, upstream, …"""
    name: str = ""
    level: Level
    text: str
    remedy: str = ""


def print_findings(findings: Iterable[Finding]) -> None:
    """Print a line for each, marked."""
    from rich.text import Text

    for finding in findings:
        mark, style = _MARKS[finding.level]
        what = f"{finding.area} {finding.name}".rstrip()
        line = Text(mark, style=style).append(f" {printable(what)}: ", "default")
        line.append(printable(finding.text), "default")
        if finding.remedy:
            line.append(f"; {printable(finding.remedy)}", "bold")
        out().print(line)
