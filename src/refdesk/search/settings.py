"""
The configuration of a search, laid together from its layers.

Later layers win: system < global < assistant < hook < request.  A key that is absent or null is
unset and leaves what is below; zero, false and an empty list are values and override it.  Lists
are replaced as a whole.  Layers are never changed, and every value knows which one set it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pydantic import ValidationError

from refdesk.config.faults import schema_faults
from refdesk.config.fields import Section
from refdesk.config.layers import dotted
from refdesk.config.library import LibrarySection, UsesSection
from refdesk.errors import ConfigError
from refdesk.uses import SearchUses

LayerName = Literal["system", "global", "assistant", "hook", "request"]

LAYERS: Final[tuple[LayerName, ...]] = ("system", "global", "assistant", "hook", "request")
"""From the lowest to the highest."""

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])([A-Z])")


class _Tree(Section):
    """What a layer may hold."""

    search: LibrarySection = LibrarySection()
    uses: UsesSection = UsesSection()


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingsLayer:
    """
    One source of settings.

    The tree is as in the configuration file: ``search`` and ``uses``, whose keys are accepted in
    snake_case and camelCase.
    """

    name: LayerName
    tree: Mapping[str, Any]
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where values were written, by dotted key (``refdesk.yaml:12:3``), where that is known."""

    @classmethod
    def of_config(
        cls,
        search: LibrarySection,
        uses: UsesSection,
        *,
        origins: Mapping[str, object] | None = None,
    ) -> SettingsLayer:
        """
        Return the global layer: what the configuration file and its own layers set.

        Args:
            search: The section of the configuration; what it has by default stays unset.
            uses: Likewise.
            origins: Where values were set, by dotted key, as `refdesk.config.load` tells it.
        """
        return cls(
            name="global",
            tree={
                "search": search.model_dump(exclude_unset=True),
                "uses": uses.model_dump(exclude_unset=True),
            },
            origins={key: str(origin) for key, origin in (origins or {}).items()},
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchSettings:
    """The settings of one search; without arguments the system's defaults."""

    search: LibrarySection = field(default_factory=LibrarySection)
    uses: SearchUses = field(default_factory=SearchUses)

    @staticmethod
    def resolve(*layers: SettingsLayer) -> Resolved:
        """
        Lay the layers over each other, whatever order they are given in.

        Of two layers of one name the later given one wins.  ``uses.search: disabled`` of a hook
        holds even against a request, while a hook cannot lift what a request has disabled.

        Raises:
            ConfigError: A key is unknown, or a value cannot be; a line each, which names the layer.
        """
        ordered = sorted(layers, key=lambda layer: LAYERS.index(layer.name))
        faults: list[str] = []
        values: dict[str, Any] = {}
        origins: dict[str, str] = {}
        sticky: str | None = None
        for layer in ordered:
            for path, value in _read(layer, faults):
                key = dotted(path)
                values[key] = value
                origins[key] = layer.origins.get(key, layer.name)
                if key == "uses.search" and layer.name == "hook":
                    sticky = origins[key] if value.strip() == "disabled" else None
        if faults:
            raise ConfigError("\n".join(faults))
        if sticky:
            values["uses.search"], origins["uses.search"] = "disabled", sticky
        return Resolved(
            values=SearchSettings(
                search=LibrarySection.model_validate(_section(values, "search")),
                uses=SearchUses.read(_section(values, "uses")),
            ),
            origins={dotted(path): origins.get(dotted(path), "system") for path in _KEYS},
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolved:
    """Settings that hold, and where each of them was set."""

    values: SearchSettings
    origins: Mapping[str, str]
    """By dotted key, for every key: a layer's name, or the place where it was written."""


def _read(layer: SettingsLayer, faults: list[str]) -> list[tuple[tuple[str, ...], Any]]:
    """Return the values that a layer sets, checked; what is wrong goes to the faults."""
    found: list[str] = []
    tree = _snake(layer.tree, (), found)
    read: list[tuple[tuple[str, ...], Any]] = []
    try:
        given = _Tree.model_validate(tree).model_dump(exclude_unset=True)
    except ValidationError as exc:
        wrong = schema_faults(exc, _Tree, tree, hidden=lambda _: False)
        found += [f"{dotted(path)}: {text}" if path else text for path, text in wrong]
    else:
        read = list(_leaves(given, ()))
    found += _wrong_uses(tree.get("uses"))
    faults.extend(f"{layer.name}: {text}" for text in found)
    return read


def _snake(value: Any, at: tuple[str, ...], faults: list[str]) -> Any:
    """Return a tree with its keys in snake_case; one key written both ways is a fault."""
    if not isinstance(value, Mapping):
        return value
    tree: dict[str, Any] = {}
    for written, inner in value.items():
        key = _CAMEL.sub(lambda match: f"_{match[1].lower()}", str(written))
        if key in tree and tree[key] is not None and inner is not None:
            faults.append(f"{dotted((*at, key))}: is given twice; leave one of the two out")
        if key not in tree or inner is not None:
            tree[key] = _snake(inner, (*at, key), faults)
    return tree


def _wrong_uses(uses: Any) -> Iterator[str]:
    """Yield what is wrong with the steps, each for itself; unknown ones are told elsewhere."""
    for step in UsesSection.model_fields if isinstance(uses, Mapping) else ():
        try:
            if isinstance(text := uses.get(step), str):
                SearchUses.read({step: text})
        except ConfigError as exc:
            yield str(exc)


def _leaves(tree: Mapping[str, Any], at: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*at, key))
        else:
            yield (*at, key), value


def _section(values: Mapping[str, Any], under: str) -> dict[str, Any]:
    """Return the tree of one section from its values by dotted key."""
    tree: dict[str, Any] = {}
    for key, value in values.items():
        top, *parents, leaf = key.split(".")
        if top == under:
            node = tree
            for parent in parents:
                node = node.setdefault(parent, {})
            node[leaf] = value
    return tree


_KEYS: Final = tuple(path for path, _ in _leaves(_Tree().model_dump(), ()))
