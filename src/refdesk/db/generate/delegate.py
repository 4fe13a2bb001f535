"""
From a question to a query by an assistant, or by a tool of an MCP server.

It has three attempts in all; what is wrong with an answer is told with the next.  Its query is
only a proposal: the linter looks at it here, and permission and compiler do later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Any, Final, Protocol

from refdesk.db.dsl import Diagnostic, Query, QueryError
from refdesk.db.dsl.lint import lint
from refdesk.db.dsl.parse import parse
from refdesk.db.generate.answers import read_answer
from refdesk.db.generate.builtin import Generated
from refdesk.db.generate.prompt import (
    ANSWER_SCHEMA,
    INSTRUCTIONS,
    moment_for,
    retry_for,
    schema_for,
)
from refdesk.db.schema import ModelSet
from refdesk.errors import DelegateError, RefdeskError
from refdesk.uses import Uses

ATTEMPTS: Final = 3
TIMEOUT_S: Final = 30.0


class Delegate(Protocol):
    """Whoever calls assistants and tools."""

    async def call(self, target: Uses, payload: Mapping[str, Any], *, timeout_s: float) -> Any:
        """Do the step and return its answer: text, or what its JSON holds."""
        ...


async def generate_by_delegate(
    question: str,
    models: ModelSet,
    *,
    delegate: Delegate | None,
    target: Uses,
    now: datetime,
    timezone: tzinfo | None = None,
    samples: Mapping[str, Mapping[str, Sequence[object]]] | None = None,
    limit: int = 20,
    timeout_s: float = TIMEOUT_S,
) -> Generated:
    """
    Have a query made of a question.

    Args:
        question: As it was asked.
        models: What may be asked about; hidden columns are out of it already.
        delegate: Whoever calls the target; None where nobody can.
        target: The assistant or the tool.
        now: The time, with its zone.
        timezone: Whose days are meant; that of ``now`` where it is None.
        samples: Values that the asker may see, by model id and column name.
        limit: How many rows to return where the answer does not say.
        timeout_s: How long one attempt may take.

    Raises:
        DelegateError: It cannot be asked, it failed, or none of its answers can be used.
    """
    if delegate is None:
        raise DelegateError(f"nobody here can call {str(target)!r}; set uses.querydsl to builtin")
    payload = _payload(
        target, question, models, samples or {}, now.astimezone(timezone or now.tzinfo), limit
    )
    wrong: Sequence[Diagnostic | str] = ()
    for attempt in range(1, ATTEMPTS + 1):
        if wrong:
            payload = {**payload, "retry": retry_for(attempt, wrong)}
        answer = read_answer(await _asked(delegate, target, payload, timeout_s))
        if answer.refused is not None:
            return Generated(refused=answer.refused, notices=answer.warnings, attempts=attempt)
        if answer.document is None:
            wrong = (answer.unread or "the answer holds no query",)
            continue
        query, wrong = _checked(answer.document, models)
        if query is not None:
            return Generated(
                query=_limited(query, limit), notices=answer.warnings, attempts=attempt
            )
    raise DelegateError(
        f"{str(target)!r} gave no query that can be used in {ATTEMPTS} attempts: {wrong[0]}"
    )


def _payload(
    target: Uses,
    question: str,
    models: ModelSet,
    samples: Mapping[str, Mapping[str, Sequence[object]]],
    now: datetime,
    limit: int,
) -> dict[str, Any]:
    """Return what is sent; a tool's arguments may be checked, so it gets only the named ones."""
    asked = {"query": question, "models": list(models.ids), "limit": limit}
    schema = schema_for(models, samples)
    if target.kind == "mcp":
        return {**asked, "extra": {"schema": schema, "now": moment_for(now)}}
    return {
        **asked,
        "schema": schema,
        "now": moment_for(now),
        "instructions": INSTRUCTIONS,
        "answer_schema": ANSWER_SCHEMA,
    }


async def _asked(
    delegate: Delegate, target: Uses, payload: Mapping[str, Any], timeout_s: float
) -> Any:
    try:
        async with asyncio.timeout(timeout_s):
            return await delegate.call(target, payload, timeout_s=timeout_s)
    except TimeoutError:
        raise DelegateError(
            f"{str(target)!r} gave no answer within {timeout_s:g} s; "
            "make it faster, or set uses.querydsl to builtin"
        ) from None
    except DelegateError:
        raise
    except RefdeskError as error:
        raise DelegateError(f"{str(target)!r} failed: {error}") from error
    except Exception as error:
        # Its message may hold anything; its kind is enough to know where to look.
        raise DelegateError(f"{str(target)!r} failed with {type(error).__name__}") from error


def _checked(
    document: Mapping[str, Any], models: ModelSet
) -> tuple[Query | None, Sequence[Diagnostic | str]]:
    try:
        query = parse(document)
    except QueryError as error:
        return None, error.diagnostics
    wrong = [each for each in lint(query, models) if each.severity == "error"]
    return (None, wrong) if wrong else (query, ())


def _limited(query: Query, limit: int) -> Query:
    if query.limit is not None or query.paged or query.first:
        return query
    return replace(query, limit=limit)
