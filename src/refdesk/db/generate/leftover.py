"""What no rule understood: what forbids an answer, what is only told, and how it is said."""

from __future__ import annotations

import re
from typing import Final

from refdesk.db.generate.items import Item
from refdesk.db.generate.plan import Plan
from refdesk.db.schema import ModelSet

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
_TABLES: Final = 8
_COLUMNS: Final = 6
"""How many are named where a question is refused."""
_HARMLESS: Final = frozenset({"or", "and", "of", "by", "with", "stop", "desc", "asc", "distinct"})
"""Words that may be left over; any other concept that is means that the answer would be wrong."""


def weigh(plan: Plan, left: list[Item]) -> tuple[list[Item], list[Item]]:
    """Part what was not understood into what forbids an answer, and what is to be told."""
    serious, light = [], []
    for item in left:
        if item.concept in _HARMLESS:
            before = plan.items.before(item, skip=False)
            of_thing = item.concept == "by" and before is not None and bool(before.models)
            if item.concept == "or" or of_thing:  # "members by loans"; "written by" only ties
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
        tied = before is not None and (before.models or before.text.lower() in _AUXILIARIES)
        if said is None and tied:
            return True  # "the films stored", "films that are lent": a condition
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


def not_understood(text: str, items: list[Item], models: ModelSet) -> str:
    words = [item for item in items if not item.small]
    return f"not understood: {listed(words) or repr(text[:80])}; {askable(models)}"


def askable(models: ModelSet) -> str:
    """Return what may be asked about: tables and their columns, by label and name."""
    held = [
        f"{_called(each.id, each.label, each.synonyms)} "
        f"({_first([_called(c.name, c.label, ()) for c in each.columns], _COLUMNS)})"
        for each in models.models[:_TABLES]
    ]
    return f"ask about what the tables hold: {_first(held, _TABLES, len(models)) or 'none'}"


def _called(name: str, label: str | None, synonyms: tuple[str, ...]) -> str:
    said = label or next(iter(synonyms), None)
    return name if said is None or said == name else f"{said} {name}"


def _first(names: list[str], most: int, whole: int | None = None) -> str:
    more = (len(names) if whole is None else whole) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def listed(items: list[Item]) -> str:
    said = [item.text.strip() for item in items]
    joined: list[str] = []
    for previous, item, word in zip([None, *items], items, said, strict=False):
        if previous is not None and item.begin == previous.stop and joined:
            joined[-1] += word  # Chinese words come by the character
        else:
            joined.append(word)
    return ", ".join(repr(word) for word in dict.fromkeys(joined[:12]))
