"""Which engines rest, why, and until when."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest

from refdesk.testing.fakes import FakeClock
from refdesk.web.health import Health

NOON = datetime(2026, 3, 15, 12, 0, tzinfo=UTC)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def health(clock: FakeClock) -> Health:
    return Health(clock=clock, now=lambda: NOON + timedelta(seconds=clock.now - 1000.0))


@pytest.mark.parametrize(
    ("outcome", "retry_after_s", "rest_s"),
    [
        ("no_credit", None, 6 * 3600),
        ("rate_limited", None, 30),
        ("rate_limited", 5.0, 5),
        ("rate_limited", -1.0, 1),
        ("rate_limited", 0.0, 1),
        ("rate_limited", 9_999_999_999.0, 3600),
        ("rate_limited", math.inf, 3600),
        ("rate_limited", math.nan, 30),
    ],
)
def test_rests_at_once(
    health: Health, clock: FakeClock, outcome: str, retry_after_s: float | None, rest_s: float
) -> None:
    """What a vendor says in so many words rests it at once, for a clamped time."""
    health.record("main", outcome, retry_after_s=retry_after_s)
    assert not health.ready("main")
    assert health.back_in_s("main") == rest_s
    condition = health.condition("main")
    assert (condition.state, condition.reason) == ("resting", outcome)
    assert condition.until == NOON + timedelta(seconds=rest_s)
    clock.advance(rest_s)
    assert health.ready("main")
    assert health.condition("main").until is None


def test_bad_key_rests_until_the_configuration_changes(health: Health, clock: FakeClock) -> None:
    """Time does not mend a wrong key; a new configuration may."""
    health.record("main", "bad_key")
    clock.advance(10**9)
    assert not health.ready("main")
    assert health.back_in_s("main") is None
    assert health.condition("main").until is None
    health.configure({"main": None})
    assert health.ready("main")


@pytest.mark.parametrize("outcome", ["upstream_down", "unreachable", "timeout", "parse_error"])
def test_chance_faults_count_only_in_a_row(health: Health, clock: FakeClock, outcome: str) -> None:
    """Three in a row rest an engine for 30 s, each further one doubles it, up to ten minutes."""
    for _ in range(2):
        health.record("main", outcome)
        assert health.ready("main")
    health.record("main", "ok")
    for _ in range(3):
        assert health.ready("main")
        health.record("main", outcome)
    for rest_s in (30, 60, 120, 240, 480, 600, 600):
        assert health.back_in_s("main") == rest_s
        clock.advance(rest_s)
        assert health.ready("main")
        health.record("main", outcome)
    health.record("main", "ok")
    assert health.ready("main")
    assert health.condition("main").faults_in_a_row == 0


def test_those_in_flight_do_not_lengthen_a_rest(health: Health) -> None:
    """Sixty-four searches that fail together are one fault, not an exponent."""
    for _ in range(64):
        health.record("main", "timeout")
    assert health.back_in_s("main") == 30


@pytest.mark.parametrize(
    "outcome",
    ["ok", "empty", "bad_request", "too_large", "unsupported_param", "cancelled", "blocked"],
)
def test_never_a_reason_to_rest(health: Health, outcome: str) -> None:
    """What says nothing about the engine's state never rests it, however often it comes."""
    for _ in range(20):
        health.record("main", outcome)
    assert health.ready("main")


def test_a_late_success_does_not_end_a_rate_limit(health: Health) -> None:
    """A call that began before the limit was hit proves nothing about it."""
    health.record("main", "rate_limited", retry_after_s=60)
    health.record("main", "ok")
    assert health.back_in_s("main") == 60


def test_the_longer_rest_stays(health: Health) -> None:
    """A rate limit on top of spent credit does not bring the engine back sooner."""
    health.record("main", "no_credit")
    health.record("main", "rate_limited", retry_after_s=1)
    assert health.condition("main").reason == "no_credit"
    health.record("main", "bad_key")
    assert health.condition("main").reason == "bad_key"


def test_daily_limit(clock: FakeClock) -> None:
    """Beyond its daily limit an engine rests until midnight UTC, wherever the clock stands."""
    used = {"main": 9}
    health = Health(clock=clock, now=lambda: NOON, used_today=lambda name: used.get(name, 0))
    health.configure({"main": 10, "own": None})
    assert health.ready("main")
    used["main"] = 10
    assert not health.ready("main")
    assert health.ready("own")
    assert health.back_in_s("main") == 12 * 3600
    condition = health.condition("main")
    assert condition.reason == "daily_limit"
    assert condition.until == datetime(2026, 3, 16, tzinfo=UTC)


def test_a_limit_of_nothing(clock: FakeClock) -> None:
    """A daily limit of 0 is a limit."""
    health = Health(clock=clock, now=lambda: NOON, used_today=lambda _: 0)
    health.configure({"main": 0})
    assert not health.ready("main")


def test_new_settings_end_every_rest(health: Health) -> None:
    """What was known of an engine does not outlive its settings; what is gone is dropped."""
    for name in ("changed", "same", "gone"):
        health.record(name, "no_credit")
    health.configure({"changed": None, "same": None}, changed=["changed"])
    assert health.ready("changed")
    assert not health.ready("same")
    assert [condition.state for condition in health.snapshot(["changed", "same", "gone"])] == [
        "ready",
        "resting",
        "ready",
    ]


def test_forget(health: Health) -> None:
    """A call made on purpose that went well lets an engine start afresh."""
    health.record("main", "bad_key")
    health.forget("main")
    assert health.ready("main")
