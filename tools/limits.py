"""
The bounds on what comes from outside, read from the code: settings, and constants.

A constant counts if its name says that it is a bound (``MAX_…``, ``MOST_…``, ``LONGEST_…``,
``LINGER_…`` or ``…_TIMEOUT_S``); its docstring says what it bounds and what happens beyond it.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

import refdesk
from refdesk.config.schema import Config
from refdesk.config.shape import shape

ROOT: Final = Path(refdesk.__file__).parent
_NAME: Final = re.compile(r"_?(?:MAX|MOST|LONGEST|LINGER)(?:_\w+)?|_?\w*_TIMEOUT_S|KEEP_ALIVE_S")
_SETTING: Final = re.compile(
    r"max_|_timeout|budget_ms|concurrency|memory_limit|\blimits\.|timeout_s|_bytes|retention|cache_ttl"
)
_INSIDE: Final = ("cli", "demo", "testing", "answering")
"""Packages whose bounds concern this machine's own user only."""
_UNITS: Final = {"S": "s", "MS": "ms", "BYTES": "bytes", "CHARS": "characters"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """A constant that bounds something."""

    place: str
    """The file, below the package."""
    name: str
    value: Any
    about: str
    """Its docstring; empty: it has none."""


def bounds() -> Iterator[Bound]:
    """Yield the constants of the package that are bounds, in the order of their files."""
    for path in sorted(ROOT.rglob("*.py")):
        place = path.relative_to(ROOT)
        if place.parts[0] in _INSIDE:
            continue
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for statement, following in zip(body, [*body[1:], None], strict=True):
            if not isinstance(statement, ast.AnnAssign) or not isinstance(
                statement.target, ast.Name
            ):
                continue
            name = statement.target.id
            if not _NAME.fullmatch(name):
                continue
            module = importlib.import_module(
                ".".join(["refdesk", *place.with_suffix("").parts]).removesuffix(".__init__")
            )
            value = getattr(module, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            yield Bound(place=str(place), name=name, value=value, about=_docstring(following))


def _docstring(statement: ast.stmt | None) -> str:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        text = statement.value.value
        return " ".join(text.split()) if isinstance(text, str) else ""
    return ""


def constants_table() -> str:
    """
    Return the table of constants.

    Raises:
        ValueError: One has no docstring; it names all of them.
    """
    # A private one without a docstring tunes what is inside, and bounds nothing foreign.
    found = [each for each in bounds() if each.about or not each.name.startswith("_")]
    if silent := [f"{each.place}: {each.name}" for each in found if not each.about]:
        listed = "\n".join(silent)
        raise ValueError(f"say below each what it bounds, and what happens beyond it:\n{listed}")
    rows = ["| bound | value | where |", "| --- | --- | --- |"]
    rows += [f"| {_cell(each.about)} | {_value(each)} | `{each.place}` |" for each in found]
    return "\n".join(rows) + "\n"


def settings_table() -> str:
    """Return the table of settings that bound something."""
    rows = ["| setting | default | what it bounds |", "| --- | --- | --- |"]
    rows += [
        f"| `{path}` | {default} | {_cell(about)} |" for path, default, about in _settings(Config)
    ]
    return "\n".join(rows) + "\n"


def _settings(model: type[BaseModel], path: str = "") -> Iterator[tuple[str, str, str]]:
    for name, info in model.model_fields.items():
        here = f"{path}{name}"
        inner = shape(info.annotation)
        below = inner.model or (shape(inner.entry).model if inner.entry is not None else None)
        if below is not None:
            yield from _settings(below, f"{here}." if inner.model else f"{here}.NAME.")
        elif _SETTING.search(here):
            default = "unset" if info.default is None else f"`{info.default}`"
            yield here, default, info.description or ""


def _value(bound: Bound) -> str:
    value, last = bound.value, bound.name.rpartition("_")[2]
    if last == "BYTES" and value % 1024 == 0:
        size, unit = value, "bytes"
        for unit in ("KiB", "MiB", "GiB"):
            size //= 1024
            if size % 1024 or unit == "GiB":
                break
        return f"{size:,} {unit}"
    shown = f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return f"{shown} {_UNITS.get(last, '')}".rstrip()


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("``", "`")
