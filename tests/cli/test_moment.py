"""Points in time on a command line: spans, dates, times, and everything else refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import typer
from hypothesis import example, given
from hypothesis import strategies as st

from refdesk.cli._moment import moment


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is noon, two hours east of Greenwich."""
    monkeypatch.setenv("REFDESK_NOW", "2026-11-30T12:00:00+02:00")


@pytest.mark.parametrize(
    ("text", "ahead", "told"),
    [
        ("30m", False, "2026-11-30T09:30:00"),
        ("90 s", True, "2026-11-30T10:01:30"),
        ("2H", False, "2026-11-30T08:00:00"),
        ("1w", True, "2026-12-07T10:00:00"),
        ("2026-11-30", False, "2026-11-29T22:00:00"),
        (" 2026-11-30T12:00 ", False, "2026-11-30T10:00:00"),
        ("2026-11-30T12:00Z", False, "2026-11-30T12:00:00"),
        ("2026-11-30T12:00+09:00", True, "2026-11-30T03:00:00"),
    ],
)
def test_read(text: str, ahead: bool, told: str) -> None:
    """Spans count from now, in either direction; without a zone it is the clock's."""
    assert moment(text, "--since", ahead=ahead) == datetime.fromisoformat(told).replace(tzinfo=UTC)


@given(st.text(max_size=30), st.booleans())
@example("999999w", False)
@example("0001-01-01", False)
@example("9999-12-31T23:59-12:00", True)
def test_any_text(text: str, ahead: bool) -> None:
    """Any text is a moment with a zone, or a usage error that names it."""
    refused = None
    try:
        assert moment(text, "--since", ahead=ahead).tzinfo is UTC
    except typer.BadParameter as exc:
        refused = exc
    if refused is not None:
        assert repr(text[:60]) in refused.message
        assert refused.param_hint == "--since"
