"""
Faults of a configuration: where, which key, what was found, what would be right.

No fault shows a secret, nor what came from the environment or a file by reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from refdesk.config.layers import Origin, Path, dotted
from refdesk.config.references import did_you_mean
from refdesk.config.secrets import hide_url, is_secret_name
from refdesk.config.shape import at, fields


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One thing that is wrong."""

    origin: Origin
    path: Path
    text: str

    def __str__(self) -> str:
        key = f"{dotted(self.path)}: " if self.path else ""
        return f"{self.origin}: {key}{self.text}"


def in_order(faults: list[Fault]) -> list[Fault]:
    """Return the faults as they stand in the file, the others behind; one for each key."""
    seen: set[tuple[Path, str]] = set()
    ordered = sorted(
        faults,
        key=lambda f: (f.origin.layer != "file", f.origin.line or 0, f.origin.column or 0),
    )
    return [
        fault
        for fault in ordered
        if (fault.path, fault.text) not in seen and not seen.add((fault.path, fault.text))  # type: ignore[func-returns-value]
    ]


def schema_faults(
    error: ValidationError,
    model: type[BaseModel],
    tree: Any,
    *,
    hidden: Callable[[Path], bool],
) -> list[tuple[Path, str]]:
    """
    Say what a validation found, with paths into the tree.

    Args:
        error: What pydantic raised for ``model`` and ``tree``.
        hidden: Tells of a path whether its value must not be shown.
    """
    found: dict[Path, str] = {}
    for detail in error.errors(include_url=False, include_input=False):
        kind = detail["type"]
        path, value = _locate(detail["loc"], tree, kind)
        if kind == "extra_forbidden":
            text = _unknown_key(path, model)
        elif kind == "missing":
            field = at_field(model, path)
            text = f"is missing; write it: {field}" if field else "is missing; write it"
        else:
            text = _wrong_value(path, value, dict(detail), hidden)
        found.setdefault(path, text)
    return list(found.items())


def at_field(model: type[BaseModel], path: Path) -> str | None:
    """Return the description of the field at a path."""
    parent = at(model, path[:-1])
    info = parent.model.model_fields.get(path[-1]) if parent and parent.model else None
    return info.description if info else None


def _locate(loc: tuple[int | str, ...], tree: Any, kind: str) -> tuple[Path, Any]:
    path: list[str] = []
    for part in loc:
        if isinstance(tree, Mapping) and str(part) in tree:
            tree = tree[str(part)]
        elif isinstance(tree, (list, tuple)) and isinstance(part, int) and part < len(tree):
            tree = tree[part]
        else:
            # What follows is pydantic's own (a branch of a union), or the key that is missing.
            if kind == "missing":
                path.append(str(loc[-1]))
            break
        path.append(str(part))
    return tuple(path), tree


def _unknown_key(path: Path, model: type[BaseModel]) -> str:
    parent = at(model, path[:-1])
    keys = parent.keys if parent else []
    text = f"is an unknown key; {did_you_mean(path[-1], keys)}"
    if not get_close_matches(path[-1], keys, n=1):
        elsewhere = [dotted(where) for where, _, _ in fields(model) if where[-1] == path[-1]]
        if elsewhere:
            text += f"; it belongs to {' or '.join(elsewhere[:3])}"
    return text


_RIGHT = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text (put it in quotes)",
    "dict": "a mapping of keys to values",
    "model": "a mapping of keys to values",
    "tuple": "a list",
    "list": "a list",
    "finite": "a finite number",
}


def _wrong_value(
    path: Path, value: Any, detail: dict[str, Any], hidden: Callable[[Path], bool]
) -> str:
    kind, context = detail["type"], detail.get("ctx") or {}
    found = "holds a value that is not shown here" if hidden(path) else f"is {show(value)}"
    if path == ("version",):
        return f"{found}, an unknown version; this Refdesk reads version 1"
    match kind:
        case "value_error":
            said = str(context.get("error", detail["msg"]))
            return f"{found}, but {said}" if said.startswith("should") else said
        case "literal_error":
            allowed = str(context.get("expected", ""))
            names = [name.strip(" '") for name in allowed.replace(" or ", ", ").split(",")]
            close = get_close_matches(value.lower(), names, n=1) if isinstance(value, str) else []
            near = f"; did you mean {close[0]!r}?" if close and not hidden(path) else ""
            return f"{found}; allowed: {', '.join(names)}{near}"
        case "greater_than_equal":
            return f"{found}; should be at least {context['ge']}"
        case "less_than_equal":
            return f"{found}; should be at most {context['le']}"
        case "string_too_short" | "too_short":
            return "is empty; should hold something, or be left out"
        case "string_too_long" | "too_long":
            unit = "characters" if kind == "string_too_long" else "entries"
            return f"{found}; should have at most {context['max_length']} {unit}"
    right = _RIGHT.get(kind.split("_", 1)[0])
    return f"{found}; should be {right}" if right else f"{found}; {detail['msg']}"


def show(value: Any) -> str:
    """Return a value as it may stand in a message: short, and without keys inside of URLs."""
    match value:
        case None:
            return "empty"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value) if abs(value) < 1e15 else "a very large number"
        case str():
            text = hide_url(value)
            return repr(text if len(text) <= 60 else f"{text[:57]}…")
        case Mapping():
            return "a mapping"
        case list() | tuple():
            return "a list"
    return "something else"


def is_hidden(path: Path, model: type[BaseModel]) -> bool:
    """Whether the value at a path is a secret, by the schema or by the names on the way."""
    shape = at(model, path)
    return bool(
        (shape and shape.secret)
        or any(is_secret_name(key) or key in ("headers", "env", "args") for key in path)
    )
