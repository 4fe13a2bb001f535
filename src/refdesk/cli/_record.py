"""
The decision record of a model: who searches for it on each wire, and which layer said so.

It is made from what the gateway itself goes by, so that it cannot say anything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import translate
from typing import Any, Final

from refdesk.config import Loaded
from refdesk.config.layers import dotted
from refdesk.config.schema import Config, SearchSwitch, WireName
from refdesk.errors import SearchError
from refdesk.gateway.app import WIRES
from refdesk.gateway.exchange import route_for
from refdesk.gateway.route import Decision, Route
from refdesk.gateway.targets import ONLINE, Target, build_targets, explain
from refdesk.providers import Verdict, accepts_tool
from refdesk.web.engines import BaseEngine
from refdesk.web.select import order
from refdesk.wires.base import SearchTool

_VARIANT: Final = re.compile(r"\[[^\[\]]*\]$")


def decision_record(
    loaded: Loaded, name: str, engines: Mapping[str, BaseEngine], only: str | None = None
) -> dict[str, Any]:
    """
    Return all that decides about a search for that model, with the layer behind each value.

    Args:
        loaded: The configuration, with the places where its values were set.
        name: The model as a client would name it.
        engines: The engines whose options are well.
        only: This wire alone; by default all that the upstream speaks.

    Raises:
        WireError: There is no such model, or its upstream does not speak that wire.
    """
    config = loaded.config
    target = build_targets(config, WIRES).find(name)
    if only is not None and only not in target.wires:
        target.way(only)
    return {
        "asked": name,
        "matched": matched(config, name, target.name),
        "declare": _declare(loaded, name, target),
        "model": target.name,
        "upstream": target.upstream,
        "provider": target.provider,
        "upstream_model": target.model,
        "base_url": config.upstreams[target.upstream].base_url,
        "wires": [
            _on_wire(loaded, target, wire, engines)
            for wire in config.upstreams[target.upstream].wire
            if only in (None, wire)
        ],
    }


def matched(config: Config, name: str, entry: str) -> str:
    """Return how a client's name led to an entry, in words."""
    for text in _readings(name):
        aside = "" if text == name else f", {name.removeprefix(text)!r} set aside"
        if text == entry:
            return f"the entry of that name{aside}"
        if text not in config.models and (found := _first_alias(config, text)):
            alias, owner = found
            if owner == entry:
                return f"the alias {alias!r} of {entry!r}{aside}"
    return f"default_model: {entry}"


def _readings(name: str) -> dict[str, None]:
    """Return what a name is looked up as, in this order."""
    bare = _VARIANT.sub("", name)
    plain = bare.removesuffix(ONLINE)
    longer = (bare,) if plain != bare else (name, bare)
    return dict.fromkeys((*longer, plain, _VARIANT.sub("", plain)))


def _first_alias(config: Config, text: str) -> tuple[str, str] | None:
    """Return the first alias that matches, and its entry."""
    ending = ONLINE if text.endswith(ONLINE) else ""
    for entry, model in config.models.items():
        for alias in model.aliases:
            if alias.endswith(ending) and re.match(translate(alias), text):
                return alias, entry
    return None


def _declare(loaded: Loaded, name: str, target: Target) -> dict[str, str]:
    """Return which requests are searched for: those that declare it, or each user turn."""
    path = ("models", target.name, "search", "declare")
    search = loaded.config.models[target.name].search
    if search is not None and search.declare == "always":
        return {"value": "always", "source": f"{dotted(path)}, {_place(loaded, path)}"}
    if any(way.terms.always for way in target.ways.values()):
        return {"value": "always", "source": f"the name {name!r}"}
    return {"value": "client", "source": f"{dotted(path)}, {_place(loaded, path)}"}


def _on_wire(
    loaded: Loaded, target: Target, wire: WireName, engines: Mapping[str, BaseEngine]
) -> dict[str, Any]:
    config = loaded.config
    model, upstream = config.models[target.name], config.upstreams[target.upstream]
    decision, verdict = explain(target.name, model, upstream, wire)
    accepts, source = accepts_tool(
        upstream.provider,
        wire,
        target.model,
        configured=upstream.accepts_search_tool,
        metadata=model.capabilities.web_search,
    )
    return {
        "wire": wire,
        "served": wire in target.ways,
        "route": decision.route.value,
        "layer": decision.layer,
        "reason": decision.why,
        "undeclared": _undeclared(target, wire),
        "layers": list(_layers(loaded, target, decision, verdict)),
        "capability": {
            "verdict": verdict.capability,
            "source": verdict.source,
            "evidence": verdict.evidence,
        },
        "engine": _engine(config, decision, engines),
        "mode": _mode(loaded, decision),
        "accepts_search_tool": {"value": accepts, "source": source},
    }


def _undeclared(target: Target, wire: WireName) -> dict[str, str] | None:
    """Return who searches for a user turn that declares no search; None where nobody does."""
    way = target.ways.get(wire)
    if way is None or not way.terms.always:
        return None
    route, why = route_for(way.terms, SearchTool(declared=False))
    return {"route": route.value, "reason": why or way.terms.decision.why}


def _layers(
    loaded: Loaded, target: Target, decision: Decision, verdict: Verdict
) -> Iterator[dict[str, Any]]:
    """Yield model, upstream and capability with what each says, whether or not it counts."""
    config = loaded.config
    above = ""
    for layer, at, search in (
        ("model", ("models", target.name, "search"), config.models[target.name].search),
        (
            "upstream",
            ("upstreams", target.upstream, "search"),
            config.upstreams[target.upstream].search,
        ),
    ):
        value = _said(search)
        yield {
            "layer": layer,
            "value": value,
            "set_at": {key: _place(loaded, (*at, key)) for key in value},
            "decides": decision.layer == layer,
            "note": _note(value, above),
        }
        if value and not above:
            above = layer
    yield {
        "layer": "capability",
        "value": verdict.capability,
        "set_at": verdict.source,
        "decides": decision.layer == "capability",
        "note": "" if decision.layer == "capability" else f"overridden by {decision.layer}",
    }


def _said(search: SearchSwitch | None) -> dict[str, str]:
    if search is None:
        return {}
    said = {"enabled": search.enabled, "engine": search.engine, "mode": search.mode}
    return {key: value for key, value in said.items() if value and key in search.model_fields_set}


def _note(value: Mapping[str, str], above: str) -> str:
    if not value:
        return "unset"
    if above:
        return f"overridden as a whole by {above}"
    if value.get("enabled", "default") == "default":
        return "leaves the route to the capability"
    return ""


def _place(loaded: Loaded, path: tuple[str, ...]) -> str:
    return str(loaded.origins.get(dotted(path), "default"))


def _engine(
    config: Config, decision: Decision, engines: Mapping[str, BaseEngine]
) -> dict[str, Any] | None:
    if decision.route is not Route.GATEWAY:
        return None
    default = config.gateway.search.default_engine
    try:
        choice = order(engines, named=decision.engine, default=default, ready=lambda _: True)
    except SearchError as exc:
        return {"name": None, "why": str(exc), "fallbacks": [], "notices": []}
    first, *rest = choice.engines
    if first.name == decision.engine:
        why = f"named by the {decision.engine_layer}"
    elif first.name == default:
        why = "gateway.search.default_engine"
    else:
        why = f"the highest priority ({first.options.priority})"
    return {
        "name": first.name,
        "type": config.engine_entries[first.name].type,
        "why": why,
        "fallbacks": [engine.name for engine in rest],
        "notices": list(choice.notices),
    }


def _mode(loaded: Loaded, decision: Decision) -> dict[str, str] | None:
    if decision.route is not Route.GATEWAY:
        return None
    if decision.mode is not None:
        return {"value": decision.mode, "source": "the search object that counts"}
    key = "gateway.search.mode"
    return {
        "value": loaded.config.gateway.search.mode,
        "source": f"{key}, {_place(loaded, tuple(key.split('.')))}",
    }
