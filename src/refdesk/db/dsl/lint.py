"""
The linter: all that is wrong with a document, each finding with a code, its path and its place.

    E001 not JSON, or no object     E002 expression       E003 unknown member, or a bad value of one
    E100 select missing, E101 invalid    E110 from missing, E111 invalid    E120 where
    E130 order    E140 group    E150 having without groups, E151 invalid    E160 union
    E170 join key, E171 foreign, E172 from    E180 raw SQL    E190 sub-query, or nested too deep

A document without errors compiles for the models, the rights and the dialect it was linted for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, cast

from refdesk.db.dsl.compile import compile_whole
from refdesk.db.dsl.parse import parse
from refdesk.db.dsl.places import Places, find_places
from refdesk.db.dsl.sources import NoRules, Rules
from refdesk.db.dsl.types import Condition, Diagnostic, Identity, Query, QueryError
from refdesk.db.dsl.values import Dialect
from refdesk.db.schema import ModelSet

MAX_TEXT: Final = 1_000_000
"""How long a document's text may be, in characters."""


def lint(
    document: Mapping[str, Any] | str | Query,
    models: ModelSet | None = None,
    *,
    permission: Rules | None = None,
    identity: Identity | None = None,
    dialect: Dialect = "sqlite",
    preset: tuple[Condition, ...] = (),
    parameters: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> list[Diagnostic]:
    """
    Return the findings about a document; none: it is right.

    Args:
        document: A mapping, a query, or JSON text; findings about text say where in it.
        models: What it may use; None checks the form alone.
        permission: The rules of the database: hidden columns are unknown ones.
        identity: The asker's claims.
        dialect: For which database.
        preset: Conditions of the request.
        parameters: The values of ``?:name``.
        now: The moment that counts as now.
    """
    places: Places | None = None
    if isinstance(document, str):
        loaded = _load(document)
        if isinstance(loaded, Diagnostic):
            return [loaded]
        places, document = find_places(document), cast("dict[str, Any]", loaded)
    found: list[Diagnostic] = []
    try:
        query = document if isinstance(document, Query) else parse(document)
        if models is not None:
            compile_whole(
                query,
                models,
                dialect,
                permission=permission or NoRules(models=models),
                identity=identity,
                preset=preset,
                parameters=parameters,
                now=now,
            )
    except QueryError as exc:
        found = list(exc.diagnostics)
    return [places.placed(each) for each in found] if places else found


def _load(text: str) -> Any:
    """Return the document of a text, or the finding that it is none."""
    if len(text) > MAX_TEXT:
        return _broken(f"the document has {len(text)} characters; at most {MAX_TEXT} are read")
    try:
        loaded = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as exc:
        message = f"this is no JSON: {exc.msg}, line {exc.lineno}, column {exc.colno}"
        return find_places("").placed_at(_broken(message), text, exc.pos)
    except RecursionError:
        return _broken("the document is nested too deep to be read")
    except ValueError as exc:
        return _broken(f"this is no JSON: {str(exc)[:200]}")
    if not isinstance(loaded, dict):
        return _broken("a query is an object with select and from")
    return loaded


def _broken(message: str) -> Diagnostic:
    return Diagnostic(code="E001", message=message, path="")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a member written twice: two readers would disagree about which one counts."""
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the member {key[:60]!r} is there twice")
            seen.add(key)
    return found


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")
