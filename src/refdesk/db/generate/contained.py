"""Rules for text that is contained: "whose name starts with", "with … in the description"."""

from __future__ import annotations

from typing import Final

from refdesk.db.generate.items import Item
from refdesk.db.generate.plan import Place, Plan

_FILLERS: Final = frozenset({"the", "letter", "letters", "word", "words", "phrase", "text", "a"})
_WITH: Final = frozenset({"with", "having", "has", "have", "whose", "where", "includes", "and"})


def read_contained(plan: Plan) -> None:
    last: Place | None = None
    for item in plan.items:
        if item.used or item.concept not in {"contains", "starts", "ends"}:
            continue
        words, end = _run(plan, item)
        if not words:
            continue
        before = plan.items.before(item)
        place = plan.place(before)
        negation = plan.items.before(item, skip=False)
        if place is None and negation is not None and negation.concept == "not":
            before = plan.items.before(negation)
            place = plan.place(before)
        if before is not None and before.concept in {"or", "and"} and last is not None:
            place, before = last, item  # "starts with J or ends with Z": of the same column
        if place is None or place[1].kind != "text":
            following = plan.items.after(end)
            place = plan.place(following)
            before = following
        if before is None or place is None or place[1].kind != "text":
            continue
        last = place
        _match(plan, item, place, " ".join(words))
        before.used = True
    for item in plan.items:  # "with bluetooth in the description"
        place = plan.place(item)
        if item.used or place is None or place[1].kind != "text":
            continue
        link = plan.items.before(item, skip=False)
        if link is not None and link.text.lower() in {"the", "its", "their"}:
            link = plan.items.before(link, skip=False)
        word = plan.items.before(link, skip=False) if link is not None else None
        if link is None or word is None or link.text.lower() != "in":
            continue
        if word.used or not (word.unknown or word.quoted):
            continue
        if any(each.column.name == place[1].name for each in word.values):
            continue
        lead = plan.items.before(word, skip=False)
        if lead is None or lead.text.lower() not in _WITH:
            continue
        word.used = item.used = True
        _match(plan, item, place, word.quoted or word.text)


def _run(plan: Plan, item: Item) -> tuple[list[str], Item]:
    """Return what is contained: what is quoted, else the unknown words that follow."""
    following = plan.items.after(item)
    while following is not None and following.text.lower() in _FILLERS:
        following.used, following = True, plan.items.after(following)
    if following is None:
        return [], item
    if following.quoted is not None:
        following.used = True
        return [following.quoted], following
    words, end = [], item
    while following is not None and not following.used and following.unknown:
        words.append(following.text)
        following.used = True
        end = following
        following = plan.items.after(following, skip=False)
    return words, end


def _match(plan: Plan, item: Item, place: Place, text: str) -> None:
    before = plan.items.before(item, skip=False)
    negative = before is not None and before.concept == "not"
    if negative and before is not None:
        before.used = True
    # The wildcards of LIKE mean themselves in what a person writes.
    pattern = text.replace("%", "").replace("_", " ") if "%" in text else text
    if item.concept == "starts":
        pattern = f"{pattern}%"
    elif item.concept == "ends":
        pattern = f"%{pattern}"
    else:
        pattern = f"%{pattern}%"
    plan.compare(item, place, "not like" if negative else "like", pattern)
