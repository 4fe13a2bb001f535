"""Who searches: the whole decision, as a table."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from refdesk.gateway.route import Capability, Route, SearchSwitch, Switch, decide

ROUTES = {
    ("on", "hosted"): Route.GATEWAY,
    ("on", "elsewhere"): Route.GATEWAY,
    ("on", "no"): Route.GATEWAY,
    ("off", "hosted"): Route.HOSTED,
    ("off", "elsewhere"): Route.PASS,
    ("off", "no"): Route.PASS,
    ("default", "hosted"): Route.HOSTED,
    ("default", "elsewhere"): Route.GATEWAY,
    ("default", "no"): Route.GATEWAY,
}


@pytest.mark.parametrize(("switch", "capability"), ROUTES)
@pytest.mark.parametrize("layer", ["model", "upstream"])
def test_table(switch: Switch, capability: Capability, layer: str) -> None:
    """The switch, wherever it is set, over the capability; the layer is named with a reason."""
    setting = SearchSwitch(enabled=switch)
    decision = decide(
        model=setting if layer == "model" else None,
        upstream=setting if layer == "upstream" else None,
        capability=capability,
    )
    assert decision.route is ROUTES[switch, capability]
    assert decision.layer == ("capability" if switch == "default" else layer)
    assert decision.why


def test_the_table_is_whole() -> None:
    """Every switch meets every capability."""
    assert set(ROUTES) == set(product(get_args(Switch), get_args(Capability)))


def test_model_replaces_upstream_as_a_whole() -> None:
    """A model's object hides all of its upstream's, the engine included."""
    upstream = SearchSwitch(enabled="off", engine="theirs", mode="loop")
    decision = decide(model=SearchSwitch(engine="ours"), upstream=upstream, capability="no")
    assert (decision.route, decision.engine, decision.engine_layer, decision.mode) == (
        Route.GATEWAY,
        "ours",
        "model",
        None,
    )


def test_an_empty_object_is_none() -> None:
    """Set, but saying nothing, it leaves the word to the next layer."""
    upstream = SearchSwitch(enabled="off", engine="theirs")
    decision = decide(model=SearchSwitch(), upstream=upstream, capability="no")
    assert (decision.route, decision.layer, decision.engine) == (Route.PASS, "upstream", "theirs")
