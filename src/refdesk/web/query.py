"""A query made fit for an engine, and what the engine could not do with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, cast, get_args

from refdesk.types import WebQuery
from refdesk.web.engines import BaseEngine, Option
from refdesk.web.filters import clean

_CANNOT: Final[dict[Option, str]] = {
    "time_range": "cannot limit by time range",
    "dates": "cannot limit by date",
    "language": "cannot choose a language",
    "country": "cannot take the user's country into account",
    "context_size": "cannot choose how much text it gives",
    "safe": "cannot filter for safe search",
}
"""All options but the domains, which are applied to the results whatever the engine does."""


def normal_text(text: str) -> str:
    """Return a query's text on one line, white space folded, fit for UTF-8."""
    return " ".join(clean(text.replace("\x00", " ")).split())


def without_options(query: WebQuery) -> WebQuery:
    """Return a query without what a vendor may refuse; domains stay, since they bind."""
    return replace(
        query,
        time_range=None,
        since=None,
        until=None,
        language=None,
        location=None,
        context_size=None,
        safe=None,
    )


def wanted_options(query: WebQuery) -> frozenset[Option]:
    """Return which options this query makes use of."""
    wanted: dict[Option, bool] = {
        "sites": bool(query.sites),
        "blocked_sites": bool(query.blocked_sites),
        "time_range": query.time_range is not None,
        "dates": query.since is not None or query.until is not None,
        "language": query.language is not None,
        "country": query.country is not None,
        "context_size": query.context_size is not None,
        "safe": query.safe is not None,
    }
    return frozenset(option for option, is_wanted in wanted.items() if is_wanted)


def not_honoured(
    query: WebQuery, engine: BaseEngine, engine_type: str, dropped: Iterable[str]
) -> tuple[str, ...]:
    """Return a notice for each option that neither the engine nor the filters could honour."""
    wanted = wanted_options(query)
    place = query.location
    finer = place is not None and (place.city or place.region)
    missed = {cast(Option, name) for name in dropped if name in get_args(Option)}
    missed |= wanted - engine.honours
    words = [words for option, words in _CANNOT.items() if option in wanted and option in missed]
    # None of the engines takes more than a country.
    if finer and "country" not in wanted:
        words.append("cannot take the user's city or region into account")
    elif finer and "country" not in missed:
        words.append("takes the user's country into account, and not the city or region")
    return tuple(f"engine {engine.name!r} ({engine_type}) {each}" for each in words)
