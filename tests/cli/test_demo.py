"""``refdesk demo``: what it takes."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from refdesk.cli import app
from refdesk.demo import run
from refdesk.demo.run import QUESTION, Wishes
from refdesk.errors import RefdeskError


@pytest.mark.parametrize(
    ("args", "wishes"),
    [
        ([], Wishes()),
        (["--once", "Who?"], Wishes(once=True, question="Who?")),
        (["  "], Wishes(question=QUESTION)),
        (
            ["--model", "m", "--base-url", "http://x", "--port", "0"],
            Wishes(model="m", base_url="http://x", port=0),
        ),
    ],
)
def test_wishes(args: list[str], wishes: Wishes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every option reaches the demo, and its status is the command's."""
    asked: list[Wishes] = []

    def fake(given: Wishes, **_: Any) -> int:
        asked.append(given)
        return 1

    monkeypatch.setattr(run, "run", fake)
    assert CliRunner().invoke(app, ["demo", *args]).exit_code == 1
    assert asked == [wishes]


def test_error_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes wrong is a sentence on stderr, with status 1."""

    def fails(*_: Any, **__: Any) -> int:
        raise RefdeskError("there is no model to ask")

    monkeypatch.setattr(run, "run", fails)
    result = CliRunner().invoke(app, ["demo"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "there is no model to ask\n"


def test_port_out_of_range() -> None:
    """A port that cannot be is a usage error."""
    assert CliRunner().invoke(app, ["demo", "--port", "70000"]).exit_code == 2
