"""
What a caller asks for, read into a request: every value checked, every name known.

Options are accepted in snake_case and camelCase.  None is unset.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, Final, get_args

from refdesk.errors import RefdeskError
from refdesk.kb.metadata import BadMetadata, check_filter
from refdesk.types import SearchRequest, SourceType, TimeRange

RequestLike = SearchRequest | Mapping[str, Any]
"""A request, or a mapping with its fields as keys."""

MAX_COLLECTIONS: Final = 100
"""Collections of one search; more are refused."""
MAX_LISTED: Final = 1_000
"""Entries of any other list of a search, such as sites, models or conditions; more are refused."""
MAX_ENTRY_CHARS: Final = 2_048
"""Characters of a name, or of a text in such a list; a longer one is refused."""
MAX_QUERY_CHARS: Final = 100_000
"""Characters of a question; a longer one is refused.  Each source cuts one for itself, too."""
MAX_COUNT: Final = 1_000_000
"""The largest number of results that a search may ask for; a larger one is refused."""

_NAMES: Final = tuple(each.name for each in fields(SearchRequest) if each.name != "defaults")
_ALIASES: Final = {"top_n": "rerank_top_n", "rerank": "rerank_top_n"}
_ONLY_FOR: Final = {
    "web": (
        "engine",
        "sites",
        "blocked_sites",
        "time_range",
        "language",
        "country",
        "safe",
        "keywords",
    ),
    "kb": ("collections", "threshold", "graph", "metadata"),
    "db": ("database", "models", "wheres", "orders", "select"),
}
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8})*")
_SHOWN_CHARS: Final = 80


class BadOption(RefdeskError):
    """An option that a search cannot have; the sentence names the value and the remedy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """A request, and what is to be said about its options."""

    request: SearchRequest
    notices: tuple[str, ...] = ()


def read_request(given: RequestLike, *, default_top_n: int = 10) -> Reading:
    """
    Read one request.

    Args:
        given: The request, or a mapping.
        default_top_n: How many items a rerank keeps that does not say it.

    Raises:
        BadOption: It is no request, an option is unknown, or a value cannot be.
    """
    options: dict[str, Any] = {}
    for key, value in _pairs(given):
        name = _name_of(key)
        if value is None:
            continue
        if name == "rerank_top_n":
            value = _top_n(_snake(key), value, default_top_n)
            if value is None:
                continue
        if name in options:
            raise BadOption(f"{key!r} is given twice, in two spellings; leave one out")
        options[name] = _READERS[name](name, value)
    if not options.get("query"):
        raise BadOption("the query is empty; say what to look for")
    request = SearchRequest(**options)
    return Reading(request=request, notices=_foreign(request))


def _pairs(given: RequestLike) -> list[tuple[str, Any]]:
    if isinstance(given, SearchRequest):
        return [(name, getattr(given, name)) for name in _NAMES]
    if isinstance(given, Mapping):
        return list(given.items())
    raise BadOption(
        f"a search is a SearchRequest or a mapping with a query; this is {_kind(given)}"
    )


def _name_of(key: object) -> str:
    name = _snake(key)
    name = _ALIASES.get(name, name)
    if name in _NAMES:
        return name
    close = get_close_matches(name, [*_NAMES, *_ALIASES], n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise BadOption(
        f"there is no search option {_shown(key)}; known: {', '.join(_NAMES)}, rerank{hint}"
    )


def _snake(key: object) -> str:
    if not isinstance(key, str):
        return ""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", key).lower()


def _foreign(request: SearchRequest) -> tuple[str, ...]:
    unset = SearchRequest(query="")
    return tuple(
        f"{name} is an option of {kind} search; {request.type} search does not use it"
        for kind, names in _ONLY_FOR.items()
        if kind != request.type
        for name in names
        if getattr(request, name) != getattr(unset, name)
    )


def _top_n(spelling: str, value: Any, default: int) -> Any:
    if spelling != "rerank":
        return value
    if isinstance(value, bool):
        return default if value else None
    if not isinstance(value, Mapping):
        return value
    unknown = [key for key in value if _snake(key) != "top_n"]
    if unknown:
        raise BadOption(f"rerank has no option {_shown(unknown[0])}; known: top_n")
    wanted = [number for number in value.values() if number is not None]
    return wanted[0] if wanted else default


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise BadOption(f"{name} is {_shown(value)}; give a text")
    text = value.strip()
    if not text and name != "query":
        raise BadOption(f"{name} is empty; leave it out or name one")
    most = MAX_QUERY_CHARS if name == "query" else MAX_ENTRY_CHARS
    if len(text) > most:
        raise BadOption(f"{name} has {len(text)} characters; give up to {most}")
    return text


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadOption(f"{name} is {_shown(value)}; give a whole number of at least 1")
    if value > MAX_COUNT:
        raise BadOption(f"{name} is {_shown(value)}; give up to {MAX_COUNT}")
    return value


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadOption(f"{name} is {_shown(value)}; give true or false")
    return value


def _share(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise BadOption(f"{name} is {_shown(value)}; give a number from 0 to 1")
    return float(value)


def _texts(name: str, value: Any) -> tuple[str, ...]:
    texts = (value,) if isinstance(value, str) else value
    if not isinstance(texts, (list, tuple, set, frozenset)):
        raise BadOption(f"{name} is {_shown(value)}; give a list of texts")
    _check_count(name, texts)
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise BadOption(f"{name} holds {_shown(text)}; give a list of texts")
        if len(text) > MAX_ENTRY_CHARS:
            raise BadOption(
                f"{name} holds a text of {len(text)} characters; give up to {MAX_ENTRY_CHARS}"
            )
    return tuple(text.strip() for text in texts)


def _check_count(name: str, listed: Collection[Any]) -> None:
    most = MAX_COLLECTIONS if name == "collections" else MAX_LISTED
    if len(listed) > most:
        raise BadOption(f"{name} has {len(listed)} entries; give up to {most}")


def _mapping(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        # What is in it may be nobody's business, so only its kind is said.
        raise BadOption(f"{name} is {_kind(value)}; give a mapping of names to values")
    return dict(value)


def _filter(name: str, value: Any) -> dict[str, Any]:
    try:
        return check_filter(_mapping(name, value))
    except BadMetadata as exc:
        raise BadOption(str(exc)) from None


def _wheres(name: str, value: Any) -> tuple[Mapping[str, Any], ...]:
    conditions = [value] if isinstance(value, Mapping) else value
    if not isinstance(conditions, (list, tuple)) or not all(
        isinstance(condition, Mapping) for condition in conditions
    ):
        raise BadOption(f"{name} is {_shown(value)}; give a list of QueryDSL conditions")
    _check_count(name, conditions)
    return tuple(dict(condition) for condition in conditions)


def _orders(name: str, value: Any) -> tuple[Any, ...]:
    orders = [value] if isinstance(value, (str, Mapping)) else value
    if not isinstance(orders, (list, tuple)) or not all(
        isinstance(order, (str, Mapping)) for order in orders
    ):
        raise BadOption(f"{name} is {_shown(value)}; give a list such as ['name desc']")
    _check_count(name, orders)
    return tuple(orders)


def _one_of(*known: str) -> Callable[[str, Any], str]:
    def read(name: str, value: Any) -> str:
        if value not in known:
            raise BadOption(f"{name} is {_shown(value)}; give one of {', '.join(known)}")
        return str(value)

    return read


def _language(name: str, value: Any) -> str:
    text = _text(name, value).lower().replace("_", "-")
    if not _LANGUAGE.fullmatch(text):
        raise BadOption(f"{name} is {_shown(value)}; give a code such as en or zh-hans")
    return text


def _country(name: str, value: Any) -> str:
    text = _text(name, value).upper()
    if not re.fullmatch("[A-Z]{2}", text):
        raise BadOption(f"{name} is {_shown(value)}; give two letters, such as DE")
    return text


_READERS: Final[dict[str, Callable[[str, Any], Any]]] = {
    "query": _text,
    "type": _text,
    "limit": _count,
    "source": _one_of(*get_args(SourceType)),
    "engine": _text,
    "sites": _texts,
    "blocked_sites": _texts,
    "time_range": _one_of(*get_args(TimeRange)),
    "language": _language,
    "country": _country,
    "safe": _flag,
    "collections": _texts,
    "threshold": _share,
    "graph": _flag,
    "metadata": _filter,
    "database": _text,
    "models": _texts,
    "wheres": _wheres,
    "orders": _orders,
    "select": _texts,
    "rerank_top_n": _count,
    "keywords": _flag,
    "identity": _mapping,
}


class _Short(reprlib.Repr):
    """Writes the beginning of a value, however large it is and however deep it goes."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = 4 * _SHOWN_CHARS

    def repr_int(self, value: int, level: int) -> str:
        # Python refuses to write out a number of more than 4,300 digits.
        return repr(value) if value.bit_length() < 1000 else "a very large number"


_SHORT: Final = _Short()


def _shown(value: object) -> str:
    text = _SHORT.repr(value)
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


def _kind(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
