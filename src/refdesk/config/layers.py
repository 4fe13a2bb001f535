"""
Layers of configuration, laid over each other.  Pure; every value keeps the place it came from.

A later layer wins.  Mappings are merged key by key, everything else is replaced as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

LayerName = Literal["default", "file", "saved", "environment", "flag"]

Path = tuple[str, ...]
"""The keys that lead to a value; places in lists are written in digits."""

_PLAIN: Final = re.compile(r"[^\s.\"]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """Where a value was set.  Lines and columns are counted from 1."""

    layer: LayerName
    file: str | None = None
    line: int | None = None
    column: int | None = None
    name: str | None = None
    """The environment variable."""

    def __str__(self) -> str:
        match self.layer:
            case "file" if self.line:
                return f"{self.file}:{self.line}:{self.column}"
            case "file":
                return self.file or "the file"
            case "environment":
                return f"environment {self.name}" if self.name else "environment"
            case "saved":
                return "saved in the console"
            case "flag":
                return "command line"
            case _:
                return "default"


@dataclass(frozen=True, kw_only=True, slots=True)
class Layer:
    """One source of values, as a tree, with the places where the keys were written."""

    name: LayerName
    tree: Mapping[str, Any]
    origins: Mapping[Path, Origin] = field(default_factory=dict)

    def origin(self, path: Path) -> Origin:
        """Return where that value was written, or where the nearest key above it was."""
        for length in range(len(path), -1, -1):
            if found := self.origins.get(path[:length]):
                return found
        return Origin(layer=self.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Merged:
    """All layers in one tree, with the origin of every key in it."""

    tree: dict[str, Any]
    origins: dict[Path, Origin]

    def origin(self, path: Path) -> Origin:
        """Return where that value was set, or where the nearest key above it was."""
        for length in range(len(path), -1, -1):
            if found := self.origins.get(path[:length]):
                return found
        return Origin(layer="default")


def merge(layers: list[Layer]) -> Merged:
    """Lay the layers over each other, the first one lowest.  The layers themselves stay as is."""
    merged = Merged(tree={}, origins={})
    for layer in layers:
        if root := layer.origins.get(()):
            merged.origins.setdefault((), root)
        _lay(merged.tree, layer.tree, (), layer, merged.origins)
    return merged


def _lay(
    below: dict[str, Any],
    above: Mapping[str, Any],
    at: Path,
    layer: Layer,
    origins: dict[Path, Origin],
) -> None:
    for key, value in above.items():
        path = (*at, key)
        old = below.get(key)
        if isinstance(value, Mapping) and isinstance(old, dict):
            _lay(old, value, path, layer, origins)
            continue
        if key in below:
            for stale in [known for known in origins if known[: len(path)] == path]:
                del origins[stale]
        below[key] = _copy(value)
        origins[path] = layer.origin(path)
        for inner in _paths(value, path):
            origins[inner] = layer.origin(inner)


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copy(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_copy(inner) for inner in value]
    return value


def _paths(value: Any, at: Path) -> Iterator[Path]:
    for path, _ in walk(value, at):
        if path != at:
            yield path


def walk(value: Any, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every value of a tree with its path, containers before what they hold."""
    yield at, value
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from walk(inner, (*at, str(key)))
    elif isinstance(value, (list, tuple)):
        for place, inner in enumerate(value):
            yield from walk(inner, (*at, str(place)))


def dotted(path: Path) -> str:
    """Write a path as one key: ``models."gpt-4.1".upstream``."""
    return ".".join(
        key if _PLAIN.fullmatch(key) else msgspec.json.encode(key).decode() for key in path
    )
