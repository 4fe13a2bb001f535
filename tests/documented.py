"""The pages of the documentation, their blocks, and what a command line in them must be."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import typer

from recorded import ROOT
from refdesk.cli import app

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


_BLOCK = re.compile(
    r'^(?P<indent> *)```(?P<language>\w+)(?: title="(?P<title>[^"\n]+)")?[^\n]*\n'
    r"(?P<text>.*?)^(?P=indent)```",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block."""

    page: str
    line: int
    language: str
    title: str
    """The file of an example that it is; empty for most."""
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page, those in lists without their indentation."""
    text = page.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(text):
        yield Block(
            page=str(page.relative_to(ROOT)),
            line=text.count("\n", 0, match.start()) + 1,
            language=match["language"],
            title=match["title"] or "",
            text=re.sub(rf"^{match['indent']}", "", match["text"], flags=re.MULTILINE),
        )


def check_command(words: list[str]) -> None:
    """Fail unless the command line knows these commands and options."""
    command: Any = typer.main.get_command(app)
    context = command.make_context("refdesk", [], resilient_parsing=True)
    while words and hasattr(command, "get_command") and not words[0].startswith("-"):
        inner = command.get_command(context, words[0])
        assert inner is not None, words
        command, words = inner, words[1:]
    known = {option for param in command.params for option in [*param.opts, *param.secondary_opts]}
    for word in words:
        if word.startswith("-") and word not in ("-", "--help", "--version"):
            assert word.partition("=")[0] in known, word


@cache
def tool(name: str) -> ModuleType:
    """Return a script of ``tools`` as a module."""
    folder = str(ROOT / "tools")
    if folder not in sys.path:
        sys.path.append(folder)
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
