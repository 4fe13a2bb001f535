"""
Who searches for a request: a pure function of a few facts.

Model over upstream over capability; each answer comes with the layer that gave it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

Switch = Literal["on", "off", "default"]
Capability = Literal["hosted", "elsewhere", "no"]
"""
What the model can do by itself: search on this wire; search, but not on this wire or not in a way
we can use; not search at all.
"""


class Route(Enum):
    """Who searches."""

    PASS = "pass"  # noqa: S105
    """Nobody here: the request goes on as it is."""
    HOSTED = "hosted"
    """The provider, in the model call."""
    GATEWAY = "gateway"
    """We do, in the model's stead."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchSwitch:
    """A ``search:`` object of a model or an upstream; absent parts are None."""

    enabled: Switch | None = None
    engine: str | None = None
    mode: Literal["inject", "loop", "auto"] | None = None

    @property
    def is_set(self) -> bool:
        """An empty object counts as none."""
        return any(part is not None for part in (self.enabled, self.engine, self.mode))


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """Who searches, which layer said so, and why, in a sentence."""

    route: Route
    layer: Literal["model", "upstream", "capability"]
    why: str
    engine: str | None = None
    """The engine that the model or the upstream names."""
    engine_layer: Literal["model", "upstream"] | None = None
    mode: Literal["inject", "loop", "auto"] | None = None


def decide(
    *, model: SearchSwitch | None, upstream: SearchSwitch | None, capability: Capability
) -> Decision:
    """
    Decide who searches when a client declares search.

    A model's object replaces its upstream's as a whole; an empty one is unset.
    """
    layer: Literal["model", "upstream", "capability"] = "capability"
    switch = SearchSwitch()
    engine_layer: Literal["model", "upstream"] | None = None
    if model is not None and model.is_set:
        layer, switch = "model", model
        engine_layer = "model" if model.engine else None
    elif upstream is not None and upstream.is_set:
        layer, switch = "upstream", upstream
        engine_layer = "upstream" if upstream.engine else None
    enabled = switch.enabled or "default"
    if enabled == "default":
        layer = "capability"
    route, why = _by_switch(enabled, capability)
    return Decision(
        route=route,
        layer=layer,
        why=why,
        engine=switch.engine,
        engine_layer=engine_layer,
        mode=switch.mode,
    )


def _by_switch(enabled: Switch, capability: Capability) -> tuple[Route, str]:
    match enabled, capability:
        case "on", _:
            return Route.GATEWAY, "gateway search is switched on"
        case "off", "hosted":
            return Route.HOSTED, "gateway search is switched off; the model searches by itself"
        case "off", _:
            return Route.PASS, "gateway search is switched off"
        case _, "hosted":
            return Route.HOSTED, "the model searches by itself on this wire"
        case _, "elsewhere":
            return Route.GATEWAY, "the provider can search, but not on this wire"
    return Route.GATEWAY, "the model cannot search by itself"
