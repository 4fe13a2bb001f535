"""The configuration as it may be shown: plain values in the schema's order, secrets masked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, SecretStr

from refdesk.config.layers import Path
from refdesk.config.schema import Config
from refdesk.config.secrets import KeyRef, is_secret_name, mask, mask_url
from refdesk.masking import MASK


def leaves(config: Config) -> Iterator[tuple[Path, Any]]:
    """Yield every value that is no mapping, or an empty one, with its path."""
    yield from _leaves(config, ())


def _leaves(value: Any, at: Path) -> Iterator[tuple[Path, Any]]:
    inner = _children(value)
    if not inner:
        yield at, value
    for key, below in inner.items():
        yield from _leaves(below, (*at, key))


def _children(value: Any) -> dict[str, Any]:
    if isinstance(value, BaseModel):
        known = {name: getattr(value, name) for name in type(value).model_fields}
        return {**known, **(value.model_extra or {})}
    return {str(key): inner for key, inner in value.items()} if isinstance(value, Mapping) else {}


def shown(config: Config, secrets: frozenset[Path] = frozenset()) -> dict[str, Any]:
    """
    Return the effective configuration as plain values, secrets masked.

    Args:
        secrets: Further paths to mask: what came from the environment or a file by reference.
    """
    tree: dict[str, Any] = _shown(config, (), secrets)
    return tree


def _shown(value: Any, at: Path, secrets: frozenset[Path]) -> Any:
    match value:
        case SecretStr():
            return mask(value.get_secret_value())
        case KeyRef(path=None, literal=literal):
            return mask(literal.get_secret_value()) if literal else MASK
        case KeyRef(path=path):
            return f"${{file:{path}}}"
        case str() if at in secrets or _named_secret(at):
            return mask(value)
        case str():
            return mask_url(value)
        case BaseModel() | Mapping():
            return {
                key: _shown(inner, (*at, key), secrets) for key, inner in _children(value).items()
            }
        case list() | tuple() if at == ("store", "key") and len(value) == 1:
            return _shown(value[0], at, secrets)
        case list() | tuple():
            return [_shown(inner, (*at, str(i)), secrets) for i, inner in enumerate(value)]
    return value


def _named_secret(at: Path) -> bool:
    """Whether the names on the way tell of a secret; the schema's own are SecretStr already."""
    if at[:1] == ("engines",):
        return any(is_secret_name(key) or key in ("headers", "cookies") for key in at[2:])
    if at[:1] == ("vectors",):
        return any(is_secret_name(key) for key in at[1:])
    return at[:1] == ("collections",) and any(is_secret_name(key) for key in at[2:])
