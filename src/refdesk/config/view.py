"""The configuration as it may be shown: plain values in the schema's order, secrets masked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, SecretStr

from refdesk.config.layers import Path
from refdesk.config.schema import Config
from refdesk.config.secrets import KeyRef, hide_url, is_secret_name, mask
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


def shown(
    config: Config,
    secrets: frozenset[Path] = frozenset(),
    *,
    is_safe: Callable[[Path], bool] = lambda _: False,
) -> dict[str, Any]:
    """
    Return the effective configuration as plain values, secrets masked.

    A value is shown where it is known to be none.  What belongs to a plugin is known by the plugin
    alone: a misspelt ``api_keyy`` may hold a key as well.

    Args:
        config: The configuration.
        secrets: Further paths to mask: what came from the environment or a file by reference.
        is_safe: Tells of the path of a plugin's option whether its value may be shown.
    """
    view = _View(secrets, is_safe)
    tree: dict[str, Any] = view.of(config, ())
    return tree


class _View:
    def __init__(self, secrets: frozenset[Path], is_safe: Callable[[Path], bool]) -> None:
        self._secrets = secrets
        self._is_safe = is_safe

    def of(self, value: Any, at: Path) -> Any:
        """Return a value as it may be shown."""
        match value:
            case None:
                return None
            case SecretStr():
                return mask(value.get_secret_value())
            case KeyRef(path=None, literal=literal):
                return mask(literal.get_secret_value()) if literal else MASK
            case KeyRef(path=path):
                return f"${{file:{path}}}"
            case BaseModel() | Mapping():
                return {key: self.of(inner, (*at, key)) for key, inner in _children(value).items()}
            case list() | tuple() if at == ("store", "key") and len(value) == 1:
                return self.of(value[0], at)
            case list() | tuple():
                return [self.of(inner, (*at, str(i))) for i, inner in enumerate(value)]
            case _ if at in self._secrets or self._may_be_secret(at):
                return mask(str(value))
            case str():
                return hide_url(value)
        return value

    def _may_be_secret(self, at: Path) -> bool:
        """Whether a plain value may be one; the schema's own secrets are SecretStr already."""
        if at[:1] == ("mcp_servers",) and at[2:3] == ("args",):
            return True
        option = plugin_option(at)
        return option is not None and (
            any(is_secret_name(key) for key in option) or not self._is_safe(at)
        )


def plugin_option(at: Path) -> Path | None:
    """Return the part of a path that is a plugin's own option; None where the schema has it."""
    match at:
        case ("engines", _, key, *_) if key != "type":
            return at[2:]
        case ("vectors", key, *_) if key != "type":
            return at[1:]
        case ("collections", _, "embedder", key, *_) if key != "type":
            return at[3:]
    return None
