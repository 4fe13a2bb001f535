"""
Names in the configuration that must exist elsewhere in it.  Pure, on the plain tree.

What is not of its type is passed over here: the schema tells of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final

from refdesk.config.layers import Path

Found = tuple[Path, str]
"""Where, and a sentence's end that the key begins: ``is 'x', but …``."""

COLLECTION_NAME: Final = re.compile(r"[^\W_][\w.-]{0,63}\Z")

_STEP = re.compile(r"mcp:([^.]+)\.(.+)")


def did_you_mean(name: str, known: list[str]) -> str:
    """Return the end of a sentence that lists what is known, and the nearest to the name."""
    listed = ", ".join(known) or "none"
    close = get_close_matches(name.lower(), {k.lower(): k for k in known}, n=1)
    near = next((k for k in known if close and k.lower() == close[0]), None)
    return f"known: {listed}" + (f"; did you mean {near!r}?" if near else "")


def find_faults(tree: Mapping[str, Any]) -> list[Found]:
    """Return all references to names that do not exist, and names given twice."""
    return [
        *_models(tree),
        *_engines(tree),
        *_steps(tree),
        *_names(tree),
    ]


def _entries(tree: Mapping[str, Any], section: str) -> dict[str, Any]:
    found = tree.get(section)
    return found if isinstance(found, dict) else {}


def _text(tree: Any, *path: str) -> str | None:
    for key in path:
        if not isinstance(tree, Mapping):
            return None
        tree = tree.get(key)
    return tree if isinstance(tree, str) else None


def _unknown(path: Path, kind: str, name: str, known: list[str]) -> Found:
    return path, f"is {name!r}, but no {kind} is called that; {did_you_mean(name, known)}"


def _models(tree: Mapping[str, Any]) -> Iterator[Found]:
    upstreams, models = _entries(tree, "upstreams"), _entries(tree, "models")
    owners: dict[str, str] = {}
    for name, entry in models.items():
        upstream = _text(entry, "upstream")
        if upstream and upstream not in upstreams:
            yield _unknown(("models", name, "upstream"), "upstream", upstream, list(upstreams))
        aliases = entry.get("aliases") if isinstance(entry, Mapping) else None
        for place, alias in enumerate([aliases] if isinstance(aliases, str) else aliases or ()):
            if not isinstance(alias, str):
                continue
            at = ("models", name, "aliases", str(place))
            if alias in owners:
                yield at, f"is {alias!r}, which models.{owners[alias]} has already; take one out"
            elif alias in models and alias != name:
                yield at, f"is {alias!r}, which is a model of its own; take it out or rename one"
            owners.setdefault(alias, name)
    default = _text(tree, "default_model")
    if default and default not in models:
        yield _unknown(("default_model",), "model", default, list(models))


def collections_named(tree: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """
    Yield the collections that are named and not configured, and where.

    They are no faults: a collection may have been made by command, which the store knows.
    """
    configured = _entries(tree, "collections")
    for path in _engine_places(tree):
        kind, colon, name = (_text(tree, *path) or "").partition(":")
        if kind == "kb" and colon and name not in configured:
            yield path, name
    search = tree.get("search")
    kb = search.get("kb") if isinstance(search, Mapping) else None
    chosen = kb.get("collections") if isinstance(kb, Mapping) else None
    for place, name in enumerate(chosen if isinstance(chosen, (list, tuple)) else ()):
        if isinstance(name, str) and name not in configured:
            yield ("search", "kb", "collections", str(place)), name


def _engine_places(tree: Mapping[str, Any]) -> list[Path]:
    """Return where an engine can be named."""
    return [
        ("gateway", "search", "default_engine"),
        ("search", "web", "engine"),
        *(("upstreams", name, "search", "engine") for name in _entries(tree, "upstreams")),
        *(("models", name, "search", "engine") for name in _entries(tree, "models")),
    ]


def _engines(tree: Mapping[str, Any]) -> Iterator[Found]:
    configured = tree.get("engines")
    engines = list(configured) if isinstance(configured, dict) else ["ddgs"]
    known = [
        *engines,
        *(f"kb:{name}" for name in _entries(tree, "collections")),
        *(f"db:{name}" for name in _entries(tree, "databases")),
    ]
    for path in _engine_places(tree):
        name = _text(tree, *path)
        if name and name not in known and not name.startswith("kb:"):
            yield _unknown(path, "engine", name, known)


def _steps(tree: Mapping[str, Any]) -> Iterator[Found]:
    for step, who in _entries(tree, "uses").items():
        if not isinstance(who, str):
            continue
        path = ("uses", step)
        if who == "disabled" and step != "search":
            yield path, "is 'disabled', which only uses.search can be; write builtin"
        if who.startswith("mcp:"):
            match = _STEP.fullmatch(who)
            servers = list(_entries(tree, "mcp_servers"))
            if not match:
                yield path, f"is {who!r}; write mcp:<server>.<tool>"
            elif match[1] not in servers:
                yield _unknown(path, "MCP server", match[1], servers)


def _names(tree: Mapping[str, Any]) -> Iterator[Found]:
    for section in ("upstreams", "models", "engines", "collections", "databases", "mcp_servers"):
        for name in _entries(tree, section):
            if not name or name != name.strip() or not name.isprintable():
                text = "is empty, or has white space at its ends or a control character; rename it"
                yield (section, name), text
            elif section == "engines" and (name.startswith(("kb:", "db:")) or "/" in name):
                yield (section, name), "is no name for an engine: no kb:, db: or / in it; rename it"
            elif section == "collections" and not COLLECTION_NAME.match(name):
                text = (
                    "is no name for a collection: a letter or digit, then at most 63 letters,"
                    " digits, points, dashes and underscores; rename it"
                )
                yield (section, name), text
