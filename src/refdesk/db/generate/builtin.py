"""
From a question to a query by rules, without a model.

Each rule takes what it understands out of the question.  What no rule understood decides: a word
that may limit the answer (a name, an amount, a negation, a superlative) means a refusal, since an
answer without it would be wrong; a lesser word is told in a notice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime, tzinfo
from typing import Any, Final

from refdesk.db.dsl import (
    Call,
    Condition,
    Constant,
    Field,
    Group,
    GroupBy,
    Join,
    Order,
    Query,
    Selected,
    Source,
)
from refdesk.db.dsl.lint import lint
from refdesk.db.generate.counting import REMEDY, count_once
from refdesk.db.generate.filters import read_filters
from refdesk.db.generate.groups import drop_own_group, read_asked
from refdesk.db.generate.items import Item, Items, items_of
from refdesk.db.generate.joins import Joins
from refdesk.db.generate.lexicon import CHANGES
from refdesk.db.generate.numerals import read_number
from refdesk.db.generate.plan import Plan
from refdesk.db.generate.ratios import finish_ratio, read_mean_count, read_ratio
from refdesk.db.generate.schema_words import Samples
from refdesk.db.generate.shape import read_shape
from refdesk.db.generate.shown import read_columns, read_having
from refdesk.db.generate.spans import read_span
from refdesk.db.generate.subject import subject_of
from refdesk.db.generate.vocabulary import vocabulary
from refdesk.db.schema import Model, ModelSet

MAX_QUESTION_CHARS: Final = 500
_CHANGES: Final = re.compile(CHANGES, re.IGNORECASE)
_PARTICIPLE: Final = re.compile(
    r"[a-z]{3,}ed|written|taken|taught|given|held|sold|bought|paid|sent|won|done|seen|spent",
)
"""Verbs that tie two things together, "students enrolled in each course", and seldom say more."""
_MAX_UNKNOWN: Final = 1
_MIN_KNOWN: Final = 3
_LIMITING: Final = frozenset(
    {
        "and",
        "what",
        "which",
        "whose",
        "how",
        "with",
        "of",
        "in",
        "from",
        "for",
        "by",
        "at",
        "on",
        "to",
    }
    | {"has", "have", "having", "is", "are", "was", "were", "that", "who", "the", "a", "an"}
)
"""What stands before a word that says which rows are meant."""
_AUXILIARIES: Final = frozenset(
    {"have", "has", "had", "having", "were", "was", "are", "is", "been", "be", "not", "who"}
    | {"that", "they", "get", "never", "don't", "haven't"}
)
_HARMLESS: Final = frozenset({"or", "and", "of", "by", "with", "stop", "desc", "asc", "distinct"})
"""Words that may be left over; any other concept that is means that the answer would be wrong."""

_OPINION: Final = re.compile(
    r"^\s*(?:why|how (?:do|does|did|can|could|should|would|to|is|are|has|have)|should|explain"
    r"|is there a (?:meaning|way))\b|为什么|如何|怎么|怎样",
    re.IGNORECASE,
)

_ASIDES: Final = re.compile(
    # Spans of time include both their ends anyway, and what is joined follows from the relations.
    r"[,(]?\s*\b(?:inclusive of|including) (?:both |the )?"
    r"(?:\d+ \w+ ago|today(?:'s date)?|(?:both )?(?:start and end dates?|ends))\)?"
    r"|\s*\(inclusive\)"
    r"|(?<=last week)[\s,(]*(?:exclusive of|excluding|not including) the current week\)?"
    r"|(?<=last month)[\s,(]*(?:exclusive of|excluding|not including) the current month\)?"
    r"|,?\s*\b(?:by|based on) (?:(?:doing|performing|using) )?(?:an? )?"
    r"(?:(?:left|inner|right|outer) )*join(?:ing)?\b[^.?!]*",
    re.IGNORECASE,
)
_ROUNDED: Final = re.compile(
    r",?\s*\b(?:rounded|round(?: (?:it|them|the result|the answer))?) (?:off )?to "
    r"(?:the nearest )?(?P<digits>\d|one|two|three) decimals?(?: places?| points?)?",
    re.IGNORECASE,
)
_VARIES: Final = re.compile(
    r"how (?:does|do|did) (?P<what>.+?) (?:vary|differ|change) (?:by|across|among|between|per|for)"
    r"(?: (?:the|each|different|various|all))* (?P<by>.+)",
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
    samples: Samples | None = None,
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
    text = _asked_plainly(" ".join(question.split()))
    if refusal := _refusal(text):
        return Generated(refused=refusal)
    known = vocabulary(models, samples or {})
    items = items_of(text, known.words, now)
    subject = subject_of(items, models)
    if subject is None:
        return Generated(refused=_not_understood(text, list(items), models))
    mentions = tuple(
        {each.id: each for each in _mentioned(items) if each.id != subject.id}.values()
    )
    joins = Joins(subject=subject, ways=known.ways, mentions=mentions)
    plan = Plan(items=items, models=models, subject=subject, joins=joins, ways=known.ways)
    ratio = read_ratio(plan)
    read_mean_count(plan)
    read_span(plan)
    read_shape(plan)
    read_filters(plan)
    if ratio is not None and (problem := finish_ratio(plan, ratio)):
        return Generated(refused=f"{ratio.item.text!r} cannot be made here: {problem}")
    for item in items:
        read_having(plan, item)
    drop_own_group(plan)
    read_asked(plan)
    read_columns(plan)
    for item in items:
        if item.models and not item.used:
            item.used = _belongs(plan, item)
    wheres = _wheres(plan)
    left = [item for item in items if not item.used and not item.small]
    serious, light = _weigh(plan, left)
    if serious:
        return Generated(refused=_not_understood(text, serious, models))
    if twice := count_once(plan):
        return Generated(refused=f"{text!r} would count rows of {twice!r} more than once; {REMEDY}")
    notices = list(plan.notices)
    _round(plan, question)
    if light:
        notices.append(f"not understood, and passed over: {_listed(light)}")
    _show_order(plan)
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


def _asked_plainly(text: str) -> str:
    """ "How does the price vary by brand" asks for the price per brand."""
    text = _ROUNDED.sub("", _ASIDES.sub("", text))
    if varied := _VARIES.match(text):
        return f"{varied['what']} per {varied['by']}"
    return text


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


def _round(plan: Plan, question: str) -> None:
    """Round the figures, where that is asked for."""
    if not (said := _ROUNDED.search(question)):
        return
    digits = read_number(said["digits"])
    for figures in (plan.aggregates, plan.figures):
        figures[:] = [
            (value, alias)
            if getattr(value, "name", "") == "COUNT"
            else (Call(name="ROUND", args=(value, Constant(value=digits))), alias)
            for value, alias in figures
        ]


def _show_order(plan: Plan) -> None:
    """Show what rows are ordered by, where each is shown once and would lose it otherwise."""
    once = plan.distinct or plan.joins.repeats(plan.subject)
    if not once or not plan.shown or plan.keys or plan.aggregates:
        return
    for value, _ in plan.orders:
        column = plan.subject.column(value.name) if isinstance(value, Field) else None
        if column is None or value != plan.field(plan.subject, column):
            continue
        if (plan.subject, column) not in plan.shown:
            plan.shown.append((plan.subject, column))


def _mentioned(items: Items) -> list[Model]:
    """Return the models that the question names with words that name nothing else."""
    found = []
    for item in items:
        heaviest = max((each.weight for each in item.models), default=0)
        as_column = max((each.weight for each in item.columns), default=0)
        if heaviest > as_column and not item.values:
            found += [each.model for each in item.models if each.weight == heaviest][:1]
    return found


def _belongs(plan: Plan, item: Item) -> bool:
    """Whether a model's name says no more than that there are such rows, which a join sees to."""
    if plan.named(item) or any(each.model in plan.joins for each in item.models):
        return True
    model = plan.model(item)
    before, link = plan.items.before(item), plan.items.before(item, skip=False)
    if model is None or (before is not None and before.concept == "not"):
        return False
    if link is not None and (link.concept == "and" or link.text.lower() in {"their", "its"}):
        return False  # one more thing that is asked for
    if link is not None and (link.columns or link.models) and not link.values:
        return False  # "enrolled students" is one name, and "states border" a deed
    plan.join(model)
    return True


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
    before, after = plan.items.before(item, skip=False), plan.items.after(item, skip=False)
    if _PARTICIPLE.fullmatch(item.text):
        said = plan.items.after(item)
        while said is not None and said.concept == "stop" and not said.columns:
            said = plan.items.after(said)
        if said is not None and not said.models and plan.place(said) in plan.shown:
            return True  # "who have declared a minor": a condition, and none was made of it
        # "closed shops" are some of the shops; "shops owned by" are not.
        adjective = after is not None and bool(after.models or after.columns)
        verb = before is not None and bool(
            before.models or before.columns or before.text.lower() in _AUXILIARIES
        )
        return adjective and not verb
    if before is not None and (before.unknown or before.text.lower() in _LIMITING):
        return True
    if before is not None and (before.models or before.columns or before.values):
        return True
    return after is not None and bool(
        after.models or after.columns or after.unknown or after.text.lower() == "of"
    )


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


def _query(plan: Plan, wheres: tuple[Condition, ...], limit: int) -> Query:
    select = [
        *(Selected(value=value, alias=alias) for value, alias in plan.keys),
        *(Selected(value=value, alias=alias) for value, alias in plan.aggregates),
        *(Selected(value=plan.field(*place)) for place in plan.shown),
        *(Selected(value=value, alias=alias) for value, alias in plan.figures),
    ]
    if not select and plan.joins.steps:
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
                kind="left" if plan.outer else "inner",
            )
            for step in plan.joins.steps.values()
        ),
        distinct=plan.distinct
        or (plan.joins.repeats(plan.subject) and not plan.keys and not plan.aggregates),
        limit=plan.limit or (None if plan.aggregates and not plan.keys else limit),
    )
    whole: Query = query if plan.joins.steps else _unprefixed(query)
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
    found: list[list[Condition]] = []
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
