"""Which engines are asked, and in what order."""

from __future__ import annotations

import pytest

from refdesk.errors import SearchError
from refdesk.testing.fakes import FakeEngine
from refdesk.web.select import Choice, order

ENGINES = {
    engine.name: engine
    for engine in (
        FakeEngine("low", priority=1),
        FakeEngine("high", priority=9),
        FakeEngine("other", priority=5),
        FakeEngine("twin", priority=5),
        FakeEngine("off", priority=99, enabled=False),
    )
}


def choose(
    named: str | None = None, default: str | None = None, resting: tuple[str, ...] = ()
) -> Choice:
    return order(ENGINES, named=named, default=default, ready=lambda name: name not in resting)


@pytest.mark.parametrize(
    ("named", "default", "resting", "names", "said"),
    [
        (None, None, (), "high other twin low", ""),
        ("low", None, (), "low high other twin", ""),
        (None, "twin", (), "twin high other low", ""),
        ("low", "twin", (), "low high other twin", ""),
        ("gone", "twin", (), "twin high other low", "no engine is called 'gone'"),
        ("gone", None, (), "high other twin low", "no engine is called 'gone'"),
        ("off", "twin", (), "twin high other low", "'off', which the model or upstream names, is"),
        ("low", "twin", ("low",), "twin high other", "'low', which the model or upstream names, r"),
        (None, "off", (), "high other twin low", "'off', which default_engine names, is disabled"),
        (None, None, ("high", "twin"), "other low", ""),
        ("gone", "gone", (), "high other twin low", "no engine is called 'gone'"),
    ],
)
def test_order(
    named: str | None, default: str | None, resting: tuple[str, ...], names: str, said: str
) -> None:
    """Named, else default, else highest priority; the others follow by priority."""
    choice = choose(named, default, resting)
    assert [engine.name for engine in choice.engines] == names.split()
    assert len(choice.notices) == bool(said)
    assert said in "".join(choice.notices)
    assert set(choice.resting) == set(resting)


def test_a_near_miss_is_named() -> None:
    """A misspelt engine is told with the one that was probably meant."""
    assert "did you mean 'other'" in choose("othr").notices[0]


def test_all_rest() -> None:
    """When every enabled engine rests, the error says which is back first, and when."""
    waits = {"low": 90.0, "high": 12.4, "other": None, "twin": 13.0}
    with pytest.raises(SearchError, match=r"'high', in 12 s") as caught:
        order(ENGINES, named=None, default=None, ready=lambda _: False, back_in_s=waits.get)
    assert caught.value.reason == "engine_resting"


def test_all_rest_for_good() -> None:
    """When nothing comes back by itself, the error says that the configuration must change."""
    with pytest.raises(SearchError, match="until the configuration changes"):
        order(ENGINES, named=None, default=None, ready=lambda _: False)


@pytest.mark.parametrize("engines", [{}, {"off": ENGINES["off"]}])
def test_no_engine(engines: dict[str, FakeEngine]) -> None:
    """None configured, or all disabled: that is its own reason."""
    with pytest.raises(SearchError) as caught:
        order(engines, named=None, default=None, ready=lambda _: True)
    assert caught.value.reason == "no_engine"
