"""
What clients of the search API send, read into searches.  No I/O.

``/v1/search`` takes what the search APIs of Perplexity and LiteLLM take; what of it cannot be done
here is told in a notice.  Values that make no sense are a WireError (400) that names the field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from refdesk.errors import WireError
from refdesk.search.options import BadOption, read_request
from refdesk.wires.bounds import check_bounds

MAX_QUERIES: Final = 10
"""Queries in one request to ``/v1/search``; more are refused (400)."""
MAX_RESULTS: Final = 100
"""Results that a request to ``/v1/search`` may ask for; more are refused (400)."""
_DEFAULT_RESULTS: Final = 10
_SHOWN_CHARS: Final = 80
_NAMED: Final = 20
"""Unused fields that are named, each in a notice."""

_KNOWN: Final = frozenset(
    {
        "query",
        "max_results",
        "search_domain_filter",
        "country",
        "search_recency_filter",
        "search_language_filter",
        "store",
        # What LiteLLM and Perplexity's clients send along, and what says nothing here.
        "model",
        "search_tool_name",
        "search_provider",
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What a client wants: searches, each as `refdesk.search.Searcher` takes it."""

    requests: tuple[Mapping[str, Any], ...]
    store: bool = True
    """Whether the search may be recorded."""
    notices: tuple[str, ...] = ()


def read_search(body: bytes, *, engine: str | None = None) -> Asked:
    """
    Read the body of ``/v1/search``.

    Args:
        body: As it came.
        engine: The engine that the path names.

    Raises:
        WireError: It is no JSON object, or a value cannot be.
    """
    given = read_object(body)
    queries = _queries(given.get("query"))
    limit = _limit(given.get("max_results"))
    sites, blocked = split_domains(_texts(given, "search_domain_filter"))
    languages = _texts(given, "search_language_filter")
    unused = [name for name, value in given.items() if name not in _KNOWN and value is not None]
    notices = [f"{name[:_SHOWN_CHARS]} is not used here" for name in unused[:_NAMED]]
    if len(unused) > _NAMED:
        notices.append(f"{len(unused) - _NAMED} further fields are not used here")
    if len(languages) > 1:
        notices.append(
            f"search_language_filter has {len(languages)} languages; the first, {languages[0]!r},"
            " is used"
        )
    shared = {
        "type": "web",
        "source": "user",
        "limit": limit,
        "engine": engine,
        "sites": sites or None,
        "blocked_sites": blocked or None,
        "time_range": given.get("search_recency_filter"),
        "language": languages[0] if languages else None,
        "country": given.get("country"),
    }
    requests = tuple({**shared, "query": query} for query in queries)
    check(requests, {"time_range": "search_recency_filter", "language": "search_language_filter"})
    return Asked(requests=requests, store=_store(given), notices=tuple(notices))


def read_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object that a body is, or raise WireError (400)."""
    check_bounds(body)
    try:
        given = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise WireError(
            f"the body is not JSON ({str(exc)[:200]}); send an object such as "
            '{"query": "who maintains httpx"}'
        ) from None
    if not isinstance(given, dict):
        raise WireError(
            f"the body is {_kind(given)}, not an object; send one such as "
            '{"query": "who maintains httpx"}'
        )
    return given


def check(requests: Sequence[Mapping[str, Any]], spellings: Mapping[str, str]) -> None:
    """Raise WireError (400) for the first request with a value that cannot be."""
    for request in requests:
        try:
            read_request(request)
        except BadOption as exc:
            message = str(exc)
            for ours, theirs in spellings.items():
                message = message.replace(ours, theirs)
            raise WireError(message, param=message.split(" ", 1)[0]) from None


def split_domains(entries: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the domains to search in, and those to leave out, which are written ``-domain``."""
    allowed = tuple(entry for entry in entries if not entry.startswith("-"))
    return allowed, tuple(entry[1:].strip() for entry in entries if entry.startswith("-"))


def _queries(value: Any) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(t, str) for t in texts):
        raise WireError(
            f"query is {_shown(value)}; send a text, or a list of up to {MAX_QUERIES} texts",
            param="query",
        )
    if len(texts) > MAX_QUERIES:
        raise WireError(
            f"query has {len(texts)} texts; send up to {MAX_QUERIES} at once", param="query"
        )
    if not all(text.strip() for text in texts):
        raise WireError("query is empty; say what to look for", param="query")
    return list(dict.fromkeys(text.strip() for text in texts))


def _limit(value: Any) -> int:
    if value is None:
        return _DEFAULT_RESULTS
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_RESULTS:
        raise WireError(
            f"max_results is {_shown(value)}; send a whole number from 1 to {MAX_RESULTS}",
            param="max_results",
        )
    return value


def _texts(given: Mapping[str, Any], name: str) -> list[str]:
    value = given.get(name)
    texts = [value] if isinstance(value, str) else value or []
    if not isinstance(texts, list) or not all(isinstance(t, str) and t.strip(" -") for t in texts):
        raise WireError(f"{name} is {_shown(value)}; send a list of texts", param=name)
    return [text.strip() for text in texts]


def _store(given: Mapping[str, Any]) -> bool:
    value = given.get("store")
    if value is not None and not isinstance(value, bool):
        raise WireError(f"store is {_shown(value)}; send true or false", param="store")
    return value is not False


def _shown(value: object) -> str:
    text = "missing, or null" if value is None else repr(value)
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


def _kind(value: object) -> str:
    names = {"list": "a list", "str": "a text", "NoneType": "null", "bool": "a truth value"}
    return names.get(type(value).__name__, "a number")
