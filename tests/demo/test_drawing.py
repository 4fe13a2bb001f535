"""How the demo looks."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from refdesk.demo.choose import Model
from refdesk.demo.conversation import Heard, Question
from refdesk.demo.drawing import Drawing, plain
from refdesk.demo.paste import pastes
from refdesk.store import RequestRecord, SearchItem
from refdesk.types import Attempt

SMALL = Model(name="smollm2-135m", base_url="http://x", wire="messages", small=True)


def drawn(width: int = 80, *, terminal: bool = False) -> tuple[Drawing, io.StringIO]:
    output = io.StringIO()
    console = Console(file=output, width=width, force_terminal=terminal, color_system=None)
    return Drawing(console), output


@given(st.text(max_size=400), st.integers(min_value=1, max_value=7), st.integers(40, 100))
def test_text_is_wrapped(text: str, cut: int, width: int) -> None:
    """Whatever the model writes, however it is cut: all words are there, within the width."""
    drawing, output = drawn(width)
    for start in range(0, len(text), cut):
        drawing.text(text[start : start + cut])
    drawing.sources([], Heard())
    answer = output.getvalue().rpartition("\nSources")[0]
    shown = "".join(plain(char) if char != "\n" else char for char in text)
    assert answer.split() == shown.split()
    for line in answer.split("\n"):
        assert cell_len(line) <= min(width, 80) or len(line.split()) == 1


def test_eighty_columns() -> None:
    """On 80 columns nothing is wider, except what is to be copied."""
    drawing, output = drawn(120)
    record = RequestRecord(
        id="req_1",
        time=datetime(2026, 11, 30, tzinfo=UTC),
        wire="messages",
        query="a question " * 20,
        results=3,
        attempts=(
            Attempt(engine="ddgs", outcome="unreachable", calls=1, duration_s=0.2),
            Attempt(engine="offline", outcome="ok", calls=1, duration_s=0.01),
        ),
        injected_chars=1234,
        first_byte_ms=1500,
        notices=("something that is long to tell, " * 6,),
    )
    heard = Heard(cited=["https://a.example/"], blocks=["text"], total_s=2.5)
    items = [
        SearchItem(title="T" * 100, url="https://a.example/", snippet=""),
        SearchItem(
            title="[bold]not markup[/bold]", url="https://b.example/" + "u" * 99, snippet=""
        ),
    ]
    drawing.title()
    drawing.setting(SMALL, "http://127.0.0.1:8484", 1.2)
    drawing.question(Question(text="why? " * 40, model="m", wire="chat"))
    drawing.head(Heard(search="gateway; engine=offline; results=3"))
    drawing.text("An answer.")
    drawing.sources(items, heard)
    drawing.steps(record, heard)
    drawing.note("n " * 60)
    drawing.failure("f " * 60)
    shown = output.getvalue()
    assert max(map(len, shown.splitlines())) <= 80
    assert "TTT…  cited" in shown
    assert "[bold]not markup[/bold]\n" in shown
    assert "no answer: unreachable" in shown
    assert "1,234 characters" in shown
    assert "0.01 s" in shown


@pytest.mark.parametrize("terminal", [True, False])
def test_waiting(terminal: bool) -> None:
    """A terminal gets a spinner that can be ended early; elsewhere one plain line says it."""
    drawing, output = drawn(terminal=terminal)
    with drawing.waiting("looking") as done:
        done()
        drawing.note("found")
    assert "looking" in output.getvalue()
    assert ("\x1b[?25h" in output.getvalue()) is terminal


@given(st.text())
def test_plain(text: str) -> None:
    """No control character gets to the terminal."""
    assert plain(text).isprintable() or not any(ord(c) < 32 or ord(c) == 127 for c in plain(text))


@pytest.mark.parametrize(
    ("wire", "clients"),
    [
        ("messages", ["Claude Code", "Anthropic SDK"]),
        ("responses", ["Codex, in ~/.codex/config.toml", "OpenAI SDK, and what is built on it"]),
        ("chat", ["OpenAI SDK, and what is built on it"]),
    ],
)
def test_pastes_fit_the_wire(wire: str, clients: list[str]) -> None:
    """Only clients that speak the model's wire are shown, each line whole, to be copied."""
    model = Model(name="a model", base_url="http://x", wire=wire)  # type: ignore[arg-type]
    lines = list(pastes(model, "http://127.0.0.1:8484"))
    assert [paste.client for paste in lines] == clients
    drawing, output = drawn(40)
    drawing.stays(lines, small=False)
    assert "http://127.0.0.1:8484" in output.getvalue()
    assert "2,048" not in output.getvalue()


def test_small_model_is_honest() -> None:
    """With the small model it is said that Claude Code and Codex need another one."""
    drawing, output = drawn()
    drawing.stays(list(pastes(SMALL, "http://127.0.0.1:8484")), small=True)
    assert "too few for what Claude Code and Codex" in output.getvalue()
    assert "claude --model smollm2-135m" in output.getvalue()
    assert 'wire_api = "responses"' in output.getvalue()
