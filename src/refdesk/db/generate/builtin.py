"""
From a question to a query by rules, without a model.

Each rule takes what it understands out of the question.  What no rule understood decides: a word
that may limit the answer (a name, an amount, a negation, a superlative) means a refusal, since an
answer without it would be wrong; a lesser word is told in a notice.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo

from refdesk.db.dsl import Call, Constant, Query
from refdesk.db.dsl.lint import lint
from refdesk.db.generate.building import build_query, conditions_of
from refdesk.db.generate.compared import read_compared
from refdesk.db.generate.counting import REMEDY, count_once, shared_key
from refdesk.db.generate.filters import read_filters
from refdesk.db.generate.groups import read_asked
from refdesk.db.generate.items import Item, Items, items_of
from refdesk.db.generate.joins import Joins, NoWay
from refdesk.db.generate.kept import keep_groups
from refdesk.db.generate.leftover import listed, not_understood, weigh
from refdesk.db.generate.mean_counts import read_mean_count
from refdesk.db.generate.plan import Plan
from refdesk.db.generate.ratio_sides import read_ratio
from refdesk.db.generate.ratios import finish_ratio
from refdesk.db.generate.schema_words import Samples
from refdesk.db.generate.shape import read_shape
from refdesk.db.generate.shown import read_columns, read_having
from refdesk.db.generate.spans import read_span
from refdesk.db.generate.subject import subject_of
from refdesk.db.generate.vocabulary import vocabulary
from refdesk.db.generate.wording import asked_plainly, digits_of, refusal_of
from refdesk.db.schema import Model, ModelSet


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
    text = asked_plainly(" ".join(question.split()))
    if refusal := refusal_of(text, models):
        return Generated(refused=refusal)
    known = vocabulary(models, samples or {})
    items = items_of(text, known.words, now)
    subject = subject_of(items, models)
    if subject is None:
        return Generated(refused=not_understood(text, list(items), models))
    mentions = tuple(
        {each.id: each for each in _mentioned(items) if each.id != subject.id}.values()
    )
    joins = Joins(subject=subject, ways=known.ways, mentions=mentions)
    plan = Plan(items=items, models=models, subject=subject, joins=joins, ways=known.ways)
    try:
        return _made(plan, text, question, limit)
    except NoWay as error:
        return Generated(refused=f"{text!r} speaks of more than can be joined: {error}")


def _made(plan: Plan, text: str, question: str, limit: int) -> Generated:
    """Read all of a question whose subject is known."""
    items, models, _subject = plan.items, plan.models, plan.subject
    ratio = read_ratio(plan)
    read_mean_count(plan)
    read_span(plan)
    read_compared(plan)
    read_shape(plan)
    read_filters(plan)
    if ratio is not None and (problem := finish_ratio(plan, ratio)):
        return Generated(refused=f"{ratio.item.text!r} cannot be made here: {problem}")
    for item in items:
        read_having(plan, item)
    read_asked(plan)
    read_columns(plan)
    for item in items:
        if item.models and not item.used:
            item.used = _belongs(plan, item)
    wheres = conditions_of(plan)
    left = [item for item in items if not item.used and not item.small]
    serious, light = weigh(plan, left)
    if serious:
        return Generated(refused=not_understood(text, serious, models))
    if plan.asks_who and plan.aggregates and not (plan.entities and (plan.orders or plan.havings)):
        return Generated(
            refused=f"{text!r} asks who, and only a figure was understood; say whose rows are meant"
        )
    if plan.asks_who and light:
        return Generated(refused=not_understood(text, light, models))  # who did what
    if plan.havings and not plan.keys:
        return Generated(refused=f"{text!r} limits groups, and nothing says what is grouped by")
    wheres = keep_groups(plan, wheres)
    if shared := shared_key(plan):
        return Generated(
            refused=f"{text!r} groups by {shared!r}, which several of its tables have; {REMEDY}"
        )
    if twice := count_once(plan):
        return Generated(refused=f"{text!r} would count rows of {twice!r} more than once; {REMEDY}")
    notices = list(plan.notices)
    notices += _referring(plan)
    _round(plan, question)
    if light:
        notices.append(f"not understood, and passed over: {listed(light)}")
    query = build_query(plan, wheres, limit)
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


def _referring(plan: Plan) -> list[str]:
    """Tell which words were taken for a column that refers to rows that nothing is known of."""
    found = []
    for item in plan.items:
        place = plan.place(item)
        if item.used and place is not None and plan.refers(item):
            found.append(
                f"{item.text!r} was taken for {place[1].name!r} of {place[0].id!r}; "
                "the rows that it refers to are not among the tables that may be asked about"
            )
    return found


def _round(plan: Plan, question: str) -> None:
    """Round the figures, where that is asked for."""
    digits = digits_of(question)
    if digits is None:
        return
    for figures in (plan.aggregates, plan.figures):
        figures[:] = [
            (value, alias)
            if getattr(value, "name", "") == "COUNT"
            else (Call(name="ROUND", args=(value, Constant(value=digits))), alias)
            for value, alias in figures
        ]


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
    model = plan.model(item)
    before, link = plan.items.before(item), plan.items.before(item, skip=False)
    more = link is not None and (link.concept == "and" or link.text.lower() in {"their", "its"})
    if plan.named(item) or (model is not None and model in plan.joins and not more):
        plan.needed.update([model.id] if model is not None else [])
        return True
    if model is None or more or (before is not None and before.concept == "not"):
        return False  # one more thing that is asked for
    if link is not None and (link.columns or link.models) and not link.values:
        return False  # "enrolled students" is one name, and "states border" a deed
    plan.join(model)
    plan.needed.add(model.id)
    return True
