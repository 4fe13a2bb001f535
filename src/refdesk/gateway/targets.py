"""Which upstream a request goes to: names, aliases, addresses, and what is known of each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import translate
from typing import Final

from refdesk.config.schema import Config, ModelEntry, UpstreamEntry, WireName
from refdesk.config.schema import SearchSwitch as ConfiguredSwitch
from refdesk.errors import WireError
from refdesk.gateway.exchange import Terms
from refdesk.gateway.places import Place, build_places, head_of, headers_set, unfetchable
from refdesk.gateway.route import Decision, SearchSwitch, decide
from refdesk.providers import Verdict, accepts_tool, capability, kept
from refdesk.upstream import Origin
from refdesk.uses import Uses
from refdesk.wires.base import Wire

_VARIANT: Final = re.compile(r"\[[^\[\]]*\]$")
"""A suffix such as ``[1m]``: a long-context variant in the client's words."""

ONLINE: Final = ":online"
"""What follows a model's name where each user turn is to be searched, declared or not."""

_PATTERN: Final = re.compile(r"[*?\[]")
"""What makes an alias a pattern of `fnmatch`."""

MAX_NAME_CHARS: Final = 256
"""Characters of a model's name as clients send it; a longer one is refused (400)."""
_REMEMBERED_NAMES: Final = 512


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """How a model is reached on one wire."""

    origin: Origin
    line: bytes
    """The request line up to the path's end: ``POST /v1/messages``."""
    head: bytes
    """The rest of the request line, host, login and the headers of the configuration."""
    terms: Terms


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """A model as clients name it, and where it is served."""

    name: str
    upstream: str
    provider: str
    model: str
    """The name the upstream knows."""
    wires: tuple[str, ...]
    ways: Mapping[str, Way]
    """By wire name, for the wires that the upstream speaks and we serve."""
    set_headers: frozenset[bytes]
    """Names of headers that the configuration sets, in lower case."""

    def way(self, wire: str) -> Way:
        """Return the way on a wire, or raise WireError (400) naming what the upstream speaks."""
        try:
            return self.ways[wire]
        except KeyError:
            raise WireError(
                f"the model {self.name!r} is served by the upstream {self.upstream!r}, which "
                f"speaks {' and '.join(self.wires)}, not {wire}; send the request on that wire, or "
                f"add {wire!r} to the upstream's `wire` if it speaks it",
                param="model",
            ) from None


@dataclass(slots=True)
class Targets:
    """
    All models that can be asked for.

    A name is looked up as an entry, then as an alias (first match in file order), then without a
    variant such as ``[1m]``, and is `default_model`'s where nothing matches.  A name that ends in
    ``:online`` and is not configured so is looked up without it: that model, always searched for.
    """

    by_name: dict[str, Target]
    listed: dict[str, Target]
    """Every name that can be asked for and is no pattern: entries, then their aliases."""
    places: dict[str, Place]
    """Every upstream, by its name."""
    _aliases: list[tuple[str, re.Pattern[str], Target]]
    _default: Target | None
    _shared: bool = False
    """Whether several processes answer, each with a memory of its own."""
    _known: dict[str, Target | None] = field(default_factory=dict)

    def find(self, name: str) -> Target:
        """
        Return the target of a model name.

        Raises:
            WireError: No model has the name (404), or it is too long for one (400).
        """
        try:
            target = self._known[name]
        except KeyError:
            if len(name) > MAX_NAME_CHARS:
                raise WireError(
                    f"the model's name has {len(name)} characters; send one of up to "
                    f"{MAX_NAME_CHARS}",
                    param="model",
                ) from None
            target = self._look_up(name) or self._stand_in(name)
            if len(self._known) >= _REMEMBERED_NAMES:
                # Names that a client makes up must not keep out those that are in use.
                self._known.clear()
            self._known[name] = target
        if target is None:
            known = ", ".join(list(self.by_name)[:20]) or "none"
            raise WireError(
                f"no model is called {name[:200]!r}; known: {known}. Add it under `models:`, as an "
                "alias of one, or set `default_model`",
                status=404,
                param="model",
            )
        return target

    def names(self, name: str) -> bool:
        """Return whether a model has this name, without `default_model`'s standing in."""
        return self._look_up(name) is not None

    def unfetchable(self, target: Target) -> str:
        """Return why an answer of a model cannot be fetched later (Responses), else an empty
        string."""
        return unfetchable(self.places, target.upstream, shared=self._shared)

    def _look_up(self, name: str) -> Target | None:
        bare = _VARIANT.sub("", name)
        if not bare.endswith(ONLINE):
            return self._find(name) or self._find(bare)
        if target := self.by_name.get(name) or self._find(bare, ending=ONLINE):
            return target
        plain = bare.removesuffix(ONLINE)
        return online(self._find(plain) or self._find(_VARIANT.sub("", plain)))

    def _stand_in(self, name: str) -> Target | None:
        searched = _VARIANT.sub("", name).endswith(ONLINE)
        return online(self._default) if searched else self._default

    def _find(self, name: str, *, ending: str = "") -> Target | None:
        """Return the entry of a name, or the first of its aliases that has this ending."""
        if target := self.by_name.get(name):
            return target
        for alias, pattern, target in self._aliases:
            if alias.endswith(ending) and pattern.match(name):
                return target
        return None


def online(target: Target | None) -> Target | None:
    """Return a model for which each user turn is searched, whatever its entry says."""
    if target is None:
        return None
    ways = {
        wire: replace(way, terms=replace(way.terms, always=True))
        for wire, way in target.ways.items()
    }
    return replace(target, ways=ways)


def build_targets(config: Config, wires: Mapping[str, Wire]) -> Targets:
    """Work out every model's address and terms once, so that requests only look up."""
    by_name: dict[str, Target] = {}
    plain: dict[str, Target] = {}
    aliases: list[tuple[str, re.Pattern[str], Target]] = []
    for name, model in config.models.items():
        target = _target(name, model, config, wires)
        by_name[name] = target
        plain |= {alias: target for alias in model.aliases if not _PATTERN.search(alias)}
        aliases += [(alias, re.compile(translate(alias)), target) for alias in model.aliases]
    default = by_name.get(config.default_model) if config.default_model else None
    listed = by_name | {alias: it for alias, it in plain.items() if alias not in by_name}
    return Targets(
        by_name,
        listed,
        build_places(config),
        aliases,
        default,
        _shared=config.server.workers > 1,
    )


def explain(
    name: str, model: ModelEntry, upstream: UpstreamEntry, wire: WireName
) -> tuple[Decision, Verdict]:
    """Return who searches for a model on a wire, and what is known of the model's own search."""
    verdict = capability(
        upstream.provider, wire, model.model or name, model.capabilities.web_search
    )
    decision = decide(
        model=_switch(model.search),
        upstream=_switch(upstream.search),
        capability=verdict.capability,
    )
    return decision, verdict


def _switch(search: ConfiguredSwitch | None) -> SearchSwitch | None:
    if search is None:
        return None
    enabled = search.enabled if "enabled" in search.model_fields_set else None
    return SearchSwitch(enabled=enabled, engine=search.engine, mode=search.mode)


def _target(name: str, model: ModelEntry, config: Config, wires: Mapping[str, Wire]) -> Target:
    upstream = config.upstreams[model.upstream]
    return Target(
        name=name,
        upstream=model.upstream,
        provider=upstream.provider,
        model=model.model or name,
        wires=upstream.wire,
        ways={
            wire: _way(name, model, upstream, wire, wires[wire].PATH, config)
            for wire in upstream.wire
            if wire in wires
        },
        set_headers=headers_set(upstream),
    )


def _way(
    name: str,
    model: ModelEntry,
    upstream: UpstreamEntry,
    wire: WireName,
    path: str,
    config: Config,
) -> Way:
    origin, prefix = Origin.parse(upstream.base_url)
    decision, verdict = explain(name, model, upstream, wire)
    accepts, source = accepts_tool(
        upstream.provider,
        wire,
        model.model or name,
        configured=upstream.accepts_search_tool,
        metadata=model.capabilities.web_search,
    )
    search = config.gateway.search
    return Way(
        origin=origin,
        line=f"POST {prefix or '/v1'}{path}".encode("latin-1"),
        head=head_of(upstream, wire),
        terms=Terms(
            decision=decision,
            mode=decision.mode or search.mode,
            accepts_tool=accepts,
            accepts_source=source,
            kept=kept(upstream.provider, wire, metadata=model.capabilities.web_search),
            always=model.search is not None and model.search.declare == "always",
            keeps_threads=upstream.provider == "anthropic",
            rule=verdict.rule,
            max_query_chars=search.max_query_chars,
            completes=Uses.parse(config.uses.search).delegated,
            max_injected_chars=search.max_injected_chars,
            max_snippet_chars=search.max_snippet_chars,
            pages=search.pages_per_query,
        ),
    )
