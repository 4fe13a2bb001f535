"""The tutorial and the examples run as they are, offline, and print what they say."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from recorded import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
_BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each in an empty folder, where nothing may be left behind."""
    monkeypatch.chdir(tmp_path)
    for name in ("REFDESK_DATA_DIR", "REFDESK_CONFIG"):
        monkeypatch.delenv(name, raising=False)


def test_tutorial(tmp_path: Path) -> None:
    """Every Python block of the tutorial runs after the one before, and prints what is below it."""
    blocks = _BLOCK.findall((ROOT / "docs/tutorial/library.md").read_text(encoding="utf-8"))
    shared: dict[str, Any] = {"__name__": "tutorial"}
    printed = compared = None
    for number, (language, text) in enumerate(blocks):
        if language == "python":
            told = io.StringIO()
            with contextlib.redirect_stdout(told):
                exec(compile(text, f"library.md, block {number}", "exec"), shared)
            printed = told.getvalue()
        elif language == "text":
            assert printed == text
            compared = number
    assert compared is not None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An example runs, prints something on stdout alone, and leaves nothing behind."""
    runpy.run_path(str(path), run_name="__main__")
    said = capsys.readouterr()
    assert said.out.strip()
    assert said.err == ""
    assert list(tmp_path.iterdir()) == []


def test_all_are_listed() -> None:
    """The list of examples has each of them, and no other."""
    listed = re.findall(r"^\| `(\w+\.py)`", (ROOT / "examples/README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == [path.name for path in EXAMPLES]


def test_cited_example(capsys: pytest.CaptureFixture[str]) -> None:
    """The streamed answer is shown whole, with its source linked and what is unknown told."""
    runpy.run_path(str(ROOT / "examples/cite.py"), run_name="__main__")
    link = "[[1]](https://docs.python.org/3/whatsnew/3.14.html)"
    assert capsys.readouterr().out.splitlines() == [
        f"Python 3.14 came out on 7 October 2025{link}, and 1 < 2. Nobody knows more [ref_042].",
        "cited: ['ref_001']",
        "unknown: ['ref_042']",
    ]
