"""A query made fit for an engine, and what the engine could not do with it."""

from __future__ import annotations

from datetime import date

from refdesk.testing.fakes import FakeEngine
from refdesk.types import Location, WebQuery
from refdesk.web.query import normal_text, not_honoured, wanted_options, without_options

FULL = WebQuery(
    text="x",
    sites=("a.com",),
    blocked_sites=("b.com",),
    time_range="week",
    since=date(2026, 1, 1),
    language="de",
    location=Location(country="de"),
    context_size="low",
    safe=False,
)


def test_normal_text() -> None:
    """White space is folded, what cannot be sent is taken out."""
    assert normal_text("  a\x00b \n\t c\ud800 \ufeff") == "a b c\ufffd"
    assert normal_text(" \x00\n") == ""


def test_wanted_options() -> None:
    """Every option in use is named, and none that is not; ``safe: false`` is a wish, too."""
    assert len(wanted_options(FULL)) == 8
    assert wanted_options(WebQuery(text="x", location=Location(city="Rome"))) == frozenset()


def test_without_options() -> None:
    """Domains stay, since they bind; all else goes."""
    assert wanted_options(without_options(FULL)) == {"sites", "blocked_sites"}


def test_not_honoured() -> None:
    """Each option an engine cannot honour, or did not, is one sentence; domains are none."""
    engine = FakeEngine("main")
    assert len(not_honoured(FULL, engine, "serper", ())) == 6
    engine.honours = frozenset({"time_range", "dates", "language", "country", "safe"})
    query = WebQuery(text="x", time_range="week", language="de")
    assert not_honoured(query, engine, "serper", ()) == ()
    assert not_honoured(query, engine, "serper", ("time_range", "safe", "odd", "sites")) == (
        "engine 'main' (serper) cannot limit by time range",
    )
