"""Rules about models, and how a verdict is reached from them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal

from refdesk.errors import ConfigError
from refdesk.registry import Registry
from refdesk.wires.base import Kept, SearchTool

WireName = Literal["messages", "chat", "responses", "gemini"]
Capability = Literal["hosted", "elsewhere", "no"]
Service = Literal[
    "embeddings",
    "counts",
    "compaction",
    "stored_responses",
    "stored_completions",
    "files",
    "batches",
    "message_batches",
]
"""What an endpoint may have beside answering models' requests; ``stored_…``: answers it keeps."""

PROVIDERS: Registry[Provider] = Registry(
    "provider", "refdesk.providers", fits=lambda plugin: isinstance(plugin, Provider)
)

NOT_OPENAI: Final = Kept(ids=r"(?!ws_[0-9a-f]{40,}$).*")
"""Ids of search calls that are not of OpenAI's form, where a provider's own form is not known."""

_VENDOR: Final = re.compile(r"^(?:[a-z0-9_.-]+/)+")
_VARIANT_BACKWARDS: Final = re.compile(r"(?:[a-z0-9_-]++:|\][a-z0-9]++\[)*+")
"""``:online`` and ``[1m]`` at the end of a name, which is read from there."""
_DATE: Final = re.compile(r"[-@](?:20\d{6}|20\d\d-\d\d-\d\d|latest)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """Models of a provider that search by themselves on one wire."""

    wire: WireName
    models: str
    """A regular expression that the whole normal id must match."""
    evidence: str
    """What says so, and when it was read."""
    tools: str = ".*"
    """The types of a declared tool that the evidence covers, as a regular expression."""
    domains: str = ".*"
    """Of those, the types whose domain lists the provider keeps to; empty: none."""
    always: bool = False
    """They search on every request, declared or not."""

    def lacks(self, tool: SearchTool) -> str:
        """Return what the provider is not known to do of a declaration; empty where it does all."""
        if self.always:
            return ""
        if not re.fullmatch(self.tools, tool.type):
            return f"nothing shows that it takes the tool {tool.type!r} ({self.evidence})"
        listed = tool.allowed_domains or tool.blocked_domains
        if listed and not re.fullmatch(self.domains, tool.type):
            return f"it is not known to keep to the domain lists of {tool.type!r}"
        return ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Provider:
    """A provider's rules."""

    name: str
    hosted: tuple[Rule, ...] = ()
    families: tuple[Rule, ...] = ()
    """
    Newer models of a family whose known ones search: nothing is known of them, and they are taken
    to do what their family does.
    """
    refuses_tool_on: dict[WireName, str] = field(default_factory=dict)
    """Wires on which a declared search tool is an error (outside ``hosted``), with the evidence."""
    kept: dict[WireName, Kept] = field(default_factory=dict)
    """On the wires of ``hosted``, the marks in a history that are this provider's own."""
    lacks: dict[Service, str] = field(default_factory=dict)
    """What it is known not to have, with the evidence; all else is tried."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a model can do, the layer that said so, and the evidence."""

    capability: Capability
    source: str
    evidence: str
    rule: Rule | None = None
    """The rule that said ``hosted``; None where something else did."""


def normal_model(model: str) -> str:
    """
    Return the id that rules match: lower-case, without vendor prefix, variant and date.

    ``Anthropic/Claude-Sonnet-4-5-20250929[1m]`` is ``claude-sonnet-4-5``.
    """
    name = model.strip().lower()
    variant = _VARIANT_BACKWARDS.match(name[::-1])
    name = name[: len(name) - variant.end()] if variant else name
    name = _VENDOR.sub("", name)
    return _DATE.sub("", name)


def capability(provider: str, wire: WireName, model: str, metadata: bool | None) -> Verdict:
    """
    Return what a model can do by itself.

    Args:
        provider: The name of a provider plugin; an unknown or broken one has no rules.
        wire: The wire that the upstream is spoken to on.
        model: The id that the upstream knows.
        metadata: ``capabilities.web_search`` of the model's entry, where it is set.
    """
    if metadata is False:
        return Verdict(capability="no", source="metadata", evidence="web_search: false")
    rules = _provider(provider)
    if not rules.hosted and rules.name != "compatible":
        return Verdict(
            capability="no", source="provider", evidence=f"no rule for provider {provider!r}"
        )
    wires = {rule.wire for rule in rules.hosted}
    if metadata is True:
        if wires and wire not in wires:
            return Verdict(
                capability="elsewhere",
                source="metadata",
                evidence=f"web_search: true, but {provider} searches on {', '.join(sorted(wires))}",
            )
        return Verdict(capability="hosted", source="metadata", evidence="web_search: true")
    name = normal_model(model)
    matching = [rule for rule in rules.hosted if re.fullmatch(rule.models, name)]
    for rule in matching:
        if rule.wire == wire:
            return Verdict(
                capability="hosted", source=f"rule of {provider}", evidence=rule.evidence, rule=rule
            )
    if not matching:
        kin = [rule for rule in rules.families if re.fullmatch(rule.models, name)]
        for rule in sorted(kin, key=lambda each: each.wire != wire)[:1]:
            return Verdict(
                capability="hosted" if rule.wire == wire else "elsewhere",
                source=f"family of {provider}",
                evidence=f"{name!r} is not known; by family, on {rule.wire}: {rule.evidence}",
                # What is known of the tool holds for the family's known models.
                rule=next((each for each in rules.hosted if each.wire == wire), None),
            )
    if matching:
        return Verdict(
            capability="elsewhere",
            source=f"rule of {provider}",
            evidence=f"on {matching[0].wire}: {matching[0].evidence}",
        )
    return Verdict(
        capability="no", source="no rule", evidence=f"nothing is known of {name!r} at {provider}"
    )


def accepts_tool(
    provider: str,
    wire: WireName,
    model: str,
    *,
    configured: bool | None,
    metadata: bool | None,
) -> tuple[bool, str]:
    """
    Return whether an upstream takes a declared search tool without an error, and who says so.

    Args:
        provider: The name of a provider plugin.
        wire: The wire that the upstream is spoken to on.
        model: The id that the upstream knows.
        configured: ``accepts_search_tool`` of the upstream.
        metadata: ``capabilities.web_search`` of the model.
    """
    if configured is not None:
        return configured, f"accepts_search_tool: {str(configured).lower()}"
    if metadata is False:
        return False, "capabilities.web_search: false"
    rules = _provider(provider)
    if capability(provider, wire, model, metadata).capability == "hosted":
        return True, "the model searches by itself"
    if evidence := rules.refuses_tool_on.get(wire):
        return False, evidence
    return True, "nothing says that it does not"


def kept(provider: str, wire: WireName, *, metadata: bool | None) -> Kept | None:
    """
    Return which marks of hosted search in a history an upstream made itself; None: none.

    Args:
        provider: The name of a provider plugin.
        wire: The wire that the upstream is spoken to on.
        metadata: ``capabilities.web_search`` of the model; true at a ``compatible`` upstream, a
            relay, says that it searches, and so that all of them may be its own.
    """
    rules = _provider(provider)
    if metadata is False:
        return None
    if rules.name == "compatible":
        return Kept() if metadata else None
    return rules.kept.get(wire)


def lacks(provider: str, service: Service) -> str:
    """Return the evidence that a provider does not have something, else an empty string."""
    return _provider(provider).lacks.get(service, "")


def _provider(name: str) -> Provider:
    try:
        return PROVIDERS.get(name)
    except ConfigError:
        return Provider(name=name)
