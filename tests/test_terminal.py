"""What steers a terminal is taken out of text, and nothing else."""

from __future__ import annotations

import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style
from rich.text import Text

from refdesk.terminal import console, harmless, harmless_json

OURS = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;[^;\x1b]*;[^\x1b]*\x1b\\")
"""Colours, and links."""


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\x1b[31mred\x1b[0m", "a[31mred[0m"),
        ("\x1b]0;title\x07b", "]0;titleb"),
        ("\x9b2Jc\x85\x7f", "2Jc"),
        ("x\ry\bz", "xyz"),
        ("\u202egnp.exe\u2066", "gnp.exe"),
        ("in\u200bvisible\ufeff\u00ad", "invisible"),
        ("tag\U000e0041\U000e007f", "tag"),
        ("half \ud83d", "half "),
        ("lines\n\tstay", "lines\n\tstay"),
        ("नमस्ते 👨\u200d👩\u200d👧 é 日本", "नमस्ते 👨\u200d👩\u200d👧 é 日本"),
    ],
)
def test_harmless(text: str, left: str) -> None:
    """Controls, directions, tags and halves go; joiners, marks and lines stay."""
    assert harmless(text) == left


@given(st.text())
def test_json_means_the_same(text: str) -> None:
    """What steers is escaped in JSON, so that a program reads it as it was."""
    data = json.dumps({text: [text]}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    if any("\ud800" <= char <= "\udfff" for char in text):
        return
    escaped = harmless_json(data)

    assert json.loads(escaped) == json.loads(data)
    assert harmless(escaped.decode()) == escaped.decode()


def test_a_console_writes_only_its_own_sequences() -> None:
    """Neither a text nor a link brings one along, in a table, a line or a tree."""
    written = io.StringIO()
    drawn = console(file=written, force_terminal=True, width=60, highlight=False)
    hostile = "a\x1b[2J\x1b]8;;https://evil.example\x1b\\b\x9b31m\u202ec"

    drawn.print(Text(hostile, Style(bold=True, color="red")))
    drawn.print(hostile, markup=False)
    drawn.print(Text("link", Style(link="https://a.example/\x1b\\\x1b[2J")))
    drawn.print(Text("good", Style(link="https://a.example/x")))

    left = OURS.sub("", written.getvalue())
    assert harmless(left) == left
    assert "https://evil.example" not in "".join(OURS.findall(written.getvalue()))
    assert "https://a.example/x" in written.getvalue()
