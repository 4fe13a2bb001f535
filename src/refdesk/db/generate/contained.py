"""Rules for text that is contained: "whose name starts with", "with … in the description"."""

from __future__ import annotations

import re
from typing import Final

from refdesk.db.generate.items import Item
from refdesk.db.generate.plan import Place, Plan

_FILLERS: Final = frozenset({"the", "letter", "letters", "word", "words", "phrase", "text", "a"})
_WITH: Final = frozenset({"with", "having", "has", "have", "whose", "where", "includes", "and"})
_WORD: Final = re.compile(r"\s*([^\s,;:?!，。；：？！、\u3400-\u9fff]+|[\u3400-\u9fff])")
"""One word as it is written, with its signs; Chinese comes by the character."""


def read_contained(plan: Plan) -> None:
    last: Place | None = None
    for item in plan.items:
        if item.used or item.concept not in {"contains", "starts", "ends"}:
            continue
        text, end = _run(plan, item)
        if not text:
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
        _match(plan, item, place, text)
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


def _run(plan: Plan, item: Item) -> tuple[str, Item]:
    """Return what is contained: what is quoted, else the unknown words that follow, as written."""
    last = item
    while (filler := plan.items.after(last, skip=False)) is not None:
        if filler.text.lower() not in _FILLERS or _is_letter(plan, filler):
            break
        filler.used, last = True, filler
    following = plan.items.after(last)
    if following is not None and following.quoted is not None:
        following.used = True
        return following.quoted, following
    begin = stop = last.stop
    while (word := _WORD.match(plan.items.text, stop)) is not None:
        inside = [each for each in plan.items if word.start(1) <= each.begin < word.end(1)]
        if not all(_is_text(plan, each) for each in inside) or (begin < stop and not inside):
            break
        begin = word.start(1) if begin == stop else begin
        stop = max(word.end(1), *(each.stop for each in inside), 0)
        for each in inside:
            each.used, last = True, each
        if not all(each.unknown for each in inside):
            break
    return plan.items.text[begin:stop].rstrip("."), last


def _is_letter(plan: Plan, item: Item) -> bool:
    """Whether an "a" is a letter that is looked for: nothing follows that it could stand before."""
    following = plan.items.after(item, skip=False)
    noun = following is not None and (following.unknown or following.quoted or following.values)
    filler = following is not None and following.text.lower() in _FILLERS
    return item.text.lower() == "a" and not (noun or filler)


def _is_text(plan: Plan, item: Item) -> bool:
    """Whether a word may be looked for as it is: it is no word of the question's own."""
    if _is_letter(plan, item):
        return True
    if item.used or item.models or item.columns or item.concept:
        return False
    number = item.amount is not None
    if item.top or (item.amount is not None and item.amount.op is not None):
        return False
    noun = plan.items.after(item, skip=False)
    return not (number and noun is not None and (noun.models or noun.columns))  # "5 products"


def _match(plan: Plan, item: Item, place: Place, text: str) -> None:
    before = plan.items.before(item, skip=False)
    negative = before is not None and before.concept == "not"
    if negative and before is not None:
        before.used = True
    pattern = re.sub(r"([\\%_])", r"\\\1", text)  # what a person writes means itself
    if item.concept == "starts":
        pattern = f"{pattern}%"
    elif item.concept == "ends":
        pattern = f"%{pattern}"
    else:
        pattern = f"%{pattern}%"
    plan.compare(item, place, "not like" if negative else "like", pattern)
