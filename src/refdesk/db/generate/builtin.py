"""
From a question to a query by rules, without a model.

Each rule takes what it understands out of the question.  What no rule understood decides: a word
that may limit the answer (a name, an amount, a negation, a superlative) means a refusal, since an
answer without it would be wrong; a lesser word is told in a notice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime, tzinfo
from typing import Any, Final

from refdesk.db.dsl import (
    Call,
    Comparison,
    Condition,
    Field,
    Group,
    GroupBy,
    Join,
    Order,
    Query,
    Selected,
    Source,
    Star,
)
from refdesk.db.dsl.lint import lint
from refdesk.db.generate.filters import read_filters
from refdesk.db.generate.items import Item, items_of
from refdesk.db.generate.lexicon import CHANGES
from refdesk.db.generate.plan import Plan
from refdesk.db.generate.schema_words import Samples, SchemaWords
from refdesk.db.generate.shape import read_columns, read_shape
from refdesk.db.generate.subject import key_column, subject_of
from refdesk.db.schema import ModelSet

MAX_QUESTION_CHARS: Final = 500
_CHANGES: Final = re.compile(CHANGES, re.IGNORECASE)
_PARTICIPLE: Final = re.compile(
    r"[a-z]{3,}ed|written|taken|taught|given|held|sold|bought|paid|sent|won|done|seen|spent",
)
"""Verbs that tie two things together, "students enrolled in each course", and seldom say more."""
_MAX_UNKNOWN: Final = 1
_MIN_KNOWN: Final = 3
_LIMITING: Final = frozenset(
    {"what", "which", "whose", "how", "with", "of", "in", "from", "for", "by", "at", "on", "to"}
    | {"has", "have", "having", "is", "are", "was", "were", "that", "who", "the", "a", "an"}
)
"""What stands before a word that says which rows are meant."""
_HARMLESS: Final = frozenset({"or", "and", "of", "by", "with", "stop", "desc", "asc", "distinct"})
"""Words that may be left over; any other concept that is means that the answer would be wrong."""

_OPINION: Final = re.compile(
    r"^\s*(?:why|how (?:do|does|did|can|could|should|would|to|is|are|has|have)|should|explain"
    r"|is there a (?:meaning|way))\b|为什么|如何|怎么|怎样",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Generated:
    """
    What became of a question: a query, or the reason there is none.

    ``understood`` are the question's own words that the query stands for.  ``notices`` say what
    was passed over or taken to mean something.
    """

    query: Query | None = None
    notices: tuple[str, ...] = ()
    understood: tuple[str, ...] = ()
    refused: str | None = None
    attempts: int = 1


def generate(
    question: str,
    models: ModelSet,
    *,
    now: datetime,
    timezone: tzinfo | None = None,
    samples: Samples | Mapping[str, Mapping[str, tuple[str, ...]]] | None = None,
    limit: int = 20,
) -> Generated:
    """
    Make a query of a question.

    Args:
        question: In English or Chinese.
        models: What may be asked about; hidden columns are out of it already.
        now: The time, with its zone.
        timezone: Whose days are meant; that of ``now`` where it is None.
        samples: Values found in columns, by model id and column name.
        limit: How many rows to return where the question does not say.
    """
    if timezone is not None:
        now = now.astimezone(timezone)
    text = " ".join(question.split())
    if refusal := _refusal(text):
        return Generated(refused=refusal)
    items = items_of(text, SchemaWords(models, samples or {}), now)
    subject = subject_of(items, models)
    if subject is None:
        return Generated(refused=_not_understood(text, list(items), models))
    plan = Plan(items=items, models=models, subject=subject)
    read_shape(plan)
    read_filters(plan)
    read_columns(plan)
    for item in items:
        if item.models and not item.used and any(plan.near(each.model) for each in item.models):
            item.used = _belongs(plan, item)
    wheres = _wheres(plan)
    left = [item for item in items if not item.used and not item.small]
    serious, light = _weigh(plan, left)
    if serious:
        return Generated(refused=_not_understood(text, serious, models))
    if plan.fans_out and any(_sums_up(each) for each, _ in plan.aggregates):
        return Generated(
            refused=f"{text!r} would count rows of {subject.id!r} more than once; "
            "ask for the sum and for the other table's part in two questions"
        )
    notices = list(plan.notices)
    if light:
        notices.append(f"not understood, and passed over: {_listed(light)}")
    if plan.fans_out and not _count_rows_once(plan):
        return Generated(
            refused=f"{text!r} would count rows of {subject.id!r} more than once, "
            "and nothing tells them apart; declare its primary key"
        )
    query = _query(plan, wheres, limit)
    selected = [each.value for each in query.select]
    if query.distinct and selected and any(o.value not in selected for o in query.orders):
        return Generated(
            refused=f"{text!r} orders by what is not shown, and shows each row once; "
            "ask for the column it is ordered by as well"
        )
    if wrong := [each for each in lint(query, models) if each.severity == "error"]:
        # Rules that fit one by one may not fit together; that is no answer either.
        return Generated(refused=f"{text!r} asks for what one query cannot say: {wrong[0].message}")
    return Generated(
        query=query,
        notices=tuple(dict.fromkeys(notices)),
        understood=tuple(item.text.strip() for item in items if item.used),
    )


def _refusal(text: str) -> str | None:
    if not text:
        return "the question is empty; ask what the tables hold"
    if len(text) > MAX_QUESTION_CHARS:
        return (
            f"the question has {len(text)} characters; "
            f"at most {MAX_QUESTION_CHARS} can be understood, so ask more shortly"
        )
    if change := _CHANGES.search(text):
        return (
            f"{change[0].strip(' .;,:!?')!r} asks for a change; "
            "a search only reads, so ask what there is"
        )
    if opinion := _OPINION.search(text):
        return (
            f"{opinion[0].strip()!r} asks for more than tables hold; ask for rows, counts or sums"
        )
    return None


def _belongs(plan: Plan, item: Item) -> bool:
    """Whether a model's name adds nothing: it is the subject, or is joined already."""
    return plan.named(item) or any(each.model.id in plan.joins for each in item.models)


def _weigh(plan: Plan, left: list[Item]) -> tuple[list[Item], list[Item]]:
    """Part what was not understood into what forbids an answer, and what is to be told."""
    serious, light = [], []
    for item in left:
        if item.concept in _HARMLESS:
            if item.concept == "or":
                serious.append(item)
            elif item.concept == "distinct":
                light.append(item)
        elif item.unknown and not _limits(plan, item):
            light.append(item)
        else:
            serious.append(item)
    words = [item for item in light if item.unknown and not _PARTICIPLE.fullmatch(item.text)]
    known = [item for item in plan.items if item.used]
    if len(words) > _MAX_UNKNOWN or (words and len(known) < _MIN_KNOWN):
        return [*serious, *words], []
    return serious, light


def _limits(plan: Plan, item: Item) -> bool:
    """Whether an unknown word is likely to say which rows, or what of them, are asked for."""
    if item.text[:1].isupper() and item.begin > 0:
        return True
    if item.text.isdigit() or not item.text.isascii():
        return True
    if _PARTICIPLE.fullmatch(item.text):
        return False
    before, after = plan.items.before(item, skip=False), plan.items.after(item, skip=False)
    if before is not None and (before.unknown or before.text.lower() in _LIMITING):
        return True
    return after is not None and bool(
        after.models or after.columns or after.unknown or after.text.lower() == "of"
    )


def _sums_up(expression: object) -> bool:
    return getattr(expression, "name", "") in {"SUM", "AVG"}


def _not_understood(text: str, items: list[Item], models: ModelSet) -> str:
    words = [item for item in items if not item.small]
    known = ", ".join(models.ids[:8]) or "none"
    return (
        f"not understood: {_listed(words) or repr(text[:80])}; "
        f"ask about what the models hold: {known}"
    )


def _listed(items: list[Item]) -> str:
    said = [item.text.strip() for item in items]
    joined: list[str] = []
    for previous, item, word in zip([None, *items], items, said, strict=False):
        if previous is not None and item.begin == previous.stop and joined:
            joined[-1] += word  # Chinese words come by the character
        else:
            joined.append(word)
    return ", ".join(repr(word) for word in dict.fromkeys(joined[:12]))


def _count_rows_once(plan: Plan) -> bool:
    """Count the subject's rows by their key, as a join repeats them; return whether it has one."""
    key = key_column(plan.subject)
    for at, (call, alias) in enumerate(plan.aggregates):
        if call == Call(name="COUNT", args=(Star(),)):
            if key is None:
                return False
            value = plan.field(plan.subject, key)
            plan.aggregates[at] = (Call(name="COUNT", args=(value,), distinct=True), alias)
    return True


def _query(plan: Plan, wheres: tuple[Condition, ...], limit: int) -> Query:
    select = [
        *(Selected(value=value, alias=alias) for value, alias in plan.keys),
        *(Selected(value=value, alias=alias) for value, alias in plan.aggregates),
        *(Selected(value=plan.field(*place)) for place in plan.shown),
    ]
    if not select and plan.joins:
        select = [
            Selected(value=plan.field(plan.subject, column)) for column in plan.subject.columns
        ]
    query = Query(
        source=Source(name=f"${plan.subject.id}"),
        select=tuple(select),
        wheres=wheres,
        groups=tuple(GroupBy(value=Field(name=a) if a else v) for v, a in plan.keys),
        havings=tuple(plan.havings),
        orders=tuple(
            Order(value=value, descending=down) for value, down in dict.fromkeys(plan.orders)
        ),
        joins=tuple(
            Join(
                source=Source(name=f"${step.target.id}"),
                key=Field(name=step.relation.foreign, source=f"${step.target.id}"),
                foreign=Field(name=step.relation.column, source=f"${step.source.id}"),
            )
            for step in plan.joins.values()
        ),
        distinct=plan.distinct or (plan.fans_out and not plan.keys and not plan.aggregates),
        limit=plan.limit or (None if plan.aggregates and not plan.keys else limit),
    )
    whole: Query = query if plan.joins else _unprefixed(query)
    return whole


def _unprefixed(node: Any) -> Any:
    """Return a part of a query with its fields' sources left out, as one model needs none."""
    if isinstance(node, tuple):
        return tuple(_unprefixed(each) for each in node)
    if isinstance(node, Field):
        return replace(node, source=None)
    if is_dataclass(node) and not isinstance(node, type | Source):
        return replace(
            node, **{each.name: _unprefixed(getattr(node, each.name)) for each in fields(node)}
        )
    return node


def _wheres(plan: Plan) -> tuple[Condition, ...]:
    """Return the conditions, those with "or" between them in one group of their own."""
    found: list[list[Comparison]] = []
    previous: Item | None = None
    for condition, item in sorted(plan.wheres, key=lambda pair: pair[1].begin):
        between = plan.items.between(previous, item) if previous and previous is not item else []
        either = [each for each in between if each.concept == "or" and not each.used]
        if either and found:
            either[0].used = True
            found[-1].append(replace(condition, either=True))
        else:
            found.append([condition])
        previous = item
    return tuple(each[0] if len(each) == 1 else Group(wheres=tuple(each)) for each in found)
