"""
Bounds of the values that documents carry and that searches filter by.

A filter becomes one condition in the vector store, and a document's values stand beside each of its
passages, so both are checked before any work begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from refdesk.errors import RefdeskError

MAX_KEYS: Final = 64
"""Keys of a filter, or of a document's metadata at each level; more are refused."""
MAX_VALUES: Final = 1_000
"""Values of a filter or of a document's metadata, all keys together; more are refused."""
MAX_VALUE_BYTES: Final = 2_048
"""Bytes of one key or one value, in UTF-8; a longer one is refused."""
MAX_FILTER_BYTES: Final = 65_536
"""Bytes of a filter in UTF-8: each value with its key; a larger filter is refused."""
MAX_METADATA_BYTES: Final = 16_384
"""Bytes of a document's metadata in UTF-8: each value with its key; more are refused."""
MAX_METADATA_DEPTH: Final = 4
"""Levels of lists and mappings in a document's metadata, itself the first; deeper: refused."""

_SHOWN_CHARS: Final = 80

Scalar = str | int | float | bool


class BadMetadata(RefdeskError):
    """Values beyond the bounds, or of a kind that cannot be compared."""


def check_filter(given: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return a filter with each key's value as a scalar or a list of scalars.

    Raises:
        BadMetadata: It has too many keys or values, or one is too large or of another kind.
    """
    _check_keys("metadata", given)
    read: dict[str, Any] = {}
    for key, value in given.items():
        _check_key("metadata", key)
        values = _values(value)
        if values is None:
            if not isinstance(value, Scalar):
                raise BadMetadata(_no_value(key, value))
            read[key] = value
            continue
        for each in values:
            if not isinstance(each, Scalar):
                raise BadMetadata(_no_value(key, each))
        read[key] = list(values)
    _check_sizes("metadata", read, most=MAX_FILTER_BYTES)
    return read


def check_metadata(given: Mapping[str, Any], *, name: str = "metadata") -> None:
    """
    Check the values that documents are added with, or others that are kept as JSON.

    Args:
        given: The values.
        name: What they are called in messages.

    Raises:
        BadMetadata: There are too many keys or values, one is too large, or they nest too deep.
    """
    _check_nesting(name, given, MAX_METADATA_DEPTH)
    _check_sizes(name, given, most=MAX_METADATA_BYTES)


def _check_nesting(name: str, value: Any, levels: int) -> None:
    inside: Sequence[Any] | None = _values(value)
    if isinstance(value, Mapping):
        _check_keys(name, value)
        for key in value:
            _check_key(name, key)
        inside = list(value.values())
    if inside is None:
        return
    if not levels:
        raise BadMetadata(
            f"{name} has lists and mappings more than {MAX_METADATA_DEPTH} deep in each other;"
            " give flatter values"
        )
    if len(inside) > MAX_VALUES:
        raise BadMetadata(_too_many(name, len(inside)))
    for each in inside:
        _check_nesting(name, each, levels - 1)


def _check_keys(name: str, given: Mapping[str, Any]) -> None:
    if len(given) > MAX_KEYS:
        raise BadMetadata(f"{name} has {len(given)} keys; give up to {MAX_KEYS}")


def _check_key(name: str, key: object) -> None:
    if not isinstance(key, str):
        raise BadMetadata(f"{name} has a key that is {_kind(key)}; give a mapping of names")
    if (size := _bytes(key)) > MAX_VALUE_BYTES:
        raise BadMetadata(
            f"{name} has a key of {size} bytes; a key may have up to {MAX_VALUE_BYTES}"
        )


def _check_sizes(name: str, given: Mapping[str, Any], *, most: int) -> None:
    count = total = 0
    for path, value in _leaves(given):
        count += 1
        size = _bytes(value)
        total += size + _bytes(path)
        if size > MAX_VALUE_BYTES:
            raise BadMetadata(
                f"{name}.{path[:_SHOWN_CHARS]} has a value of {size} bytes; a value may have up to"
                f" {MAX_VALUE_BYTES}"
            )
    if count > MAX_VALUES:
        raise BadMetadata(_too_many(name, count))
    if total > most:
        raise BadMetadata(f"{name} has {total} bytes; give up to {most}, each value with its key")


def _leaves(given: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each scalar with the path of its key; an empty list or mapping is one."""
    for key, value in given.items():
        path = f"{above}{key}"
        waiting = [value]
        while waiting:
            each = waiting.pop()
            if isinstance(each, Mapping) and each:
                yield from _leaves(each, f"{path}.")
            elif inside := _values(each):
                waiting.extend(inside)
            else:
                yield path, each


def _values(value: Any) -> Sequence[Any] | None:
    """Return the members of a list; None for what is no list."""
    if isinstance(value, (list, tuple)):
        return value
    return list(value) if isinstance(value, (set, frozenset)) else None


def _bytes(value: Any) -> int:
    """Return the size of a scalar; what is no text, about as it is written."""
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, int):
        return value.bit_length() // 3 + 1
    return 8


def _too_many(name: str, count: int) -> str:
    return f"{name} has {count} values; give up to {MAX_VALUES}, all keys together"


def _no_value(key: str, value: Any) -> str:
    return (
        f"metadata.{key[:_SHOWN_CHARS]} holds {_kind(value)}, which equals no value of a document;"
        " give a text, a number, true or false, or a list of these"
    )


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {"dict": "a mapping", "list": "a list in a list", "tuple": "a list in a list"}
    return names.get(type(value).__name__, f"a {type(value).__name__}")
