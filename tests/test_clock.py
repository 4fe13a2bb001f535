"""What day it is."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from refdesk.clock import now
from refdesk.errors import ConfigError


def test_a_fixed_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """REFDESK_NOW fixes the clock; without a zone it is UTC."""
    monkeypatch.setenv("REFDESK_NOW", "2026-03-15T12:00:00+01:00")
    assert now() == datetime(2026, 3, 15, 11, tzinfo=UTC)
    monkeypatch.setenv("REFDESK_NOW", "2026-03-15")
    assert now() == datetime(2026, 3, 15, tzinfo=UTC)


def test_the_systems_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it, it is now, and has a zone."""
    monkeypatch.delenv("REFDESK_NOW", raising=False)
    assert now().tzinfo is not None


def test_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no time is named."""
    monkeypatch.setenv("REFDESK_NOW", "yesterday")
    with pytest.raises(ConfigError, match="'yesterday'"):
        now()
