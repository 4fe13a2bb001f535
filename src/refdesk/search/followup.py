"""
Questions that live on the one before: "and of Spain?", "what about 2023?", "那西班牙呢？".

A rule puts the new part into the old question only where exactly one place fits it and both are
of one kind: years, days, versions, countries and cities, or names behind the same preposition.
A reply that doubts or repeats ("are you sure?", "check again") asks the old question once more,
with its correction behind it where no place is certain.  Everything else stays as it was said.
"""

from __future__ import annotations

import re
from typing import Final

from refdesk.search._corrections import Correction, read_correction
from refdesk.search._places import PLACES

_MOST_CHARS: Final = 300
"""Longer texts are no follow-up, and no frame for one."""

_ENGLISH: Final = re.compile(
    r"(?:(?:and|but|ok(?:ay)?|so|then|now)[,\s]++)?"
    r"(?P<lead>what\s+about|how\s+about|same\s+for|and)?\s*+"
    r"(?P<prep>(?:of|in|for|at|on|from|with|to|by|about|since|during)\b)?\s*+"
    r"(?P<new>[^\s?!,;:][^?!,;:\n]{0,60}?)\s*+[?.!]*+",
    re.IGNORECASE,
)
_CHINESE: Final = re.compile(
    r"(?P<lead>那么|那麼|那|换成|換成|再看)?\s*+[，,]?\s*+(?P<new>[^\s，,。？?！!的呢]{1,16})"
    r"(?P<end>的?呢|的话呢|怎么样呢)?\s*+[？?。！!]*+"
)

_YEAR: Final = re.compile(r"(?<![\w.])(?:1[89]|20|21)\d{2}(?=年|(?!\w|[.-]\d))")
_ONE_YEAR: Final = re.compile(r"(?:1[89]|20|21)\d{2}年?")
_VERSION: Final = re.compile(r"(?<![\w.])v?\d{1,4}(?:\.\d{1,4}){1,3}(?![\w.]*\d)")
_DAY: Final = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|(?:this|next|last)\s+(?:week|weekend|month|year|"
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday))\b",
    re.IGNORECASE,
)
_HAN_DAY: Final = re.compile(
    "今天|明天|后天|昨天|前天|今年|去年|明年|前年"
    "|这周|本周|下周|上周|本月|这个月|上个月|下个月|周末"
)
_OTHER_TIME: Final = re.compile(
    r"\b(?:now|current(?:ly)?|latest|recent(?:ly)?|so\s+far|ago|century|decade)\b"
    r"|现在|目前|最新|最近",
    re.IGNORECASE,
)
_PLACE: Final = re.compile(
    r"(?:\b(?:"
    + "|".join(sorted((re.escape(p) for p in PLACES if p.isascii()), key=len, reverse=True))
    + r")\b)|(?:"
    + "|".join(sorted((p for p in PLACES if not p.isascii()), key=len, reverse=True))
    + r")",
    re.IGNORECASE,
)
_CAPITAL: Final = r"(?:[A-Z]|[a-z][A-Z])[\w&'-]*"
_NAMES: Final = rf"{_CAPITAL}(?:\s+(?:{_CAPITAL}|\d{{1,3}}\b))*"
_NAME: Final = re.compile(rf"(?<!^)(?<![.!?]\s)\b{_NAMES}")
_PRONOUN: Final = re.compile(
    r"\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers|this|that|these|those|there|"
    r"the\s+(?:same|other|first|second|last|former|latter)|one)\b"
    r"|它|他们|她们|他的|她的|其中|这个|那个|这些|那些|上面|前者|后者|第一个|第二个",
    re.IGNORECASE,
)
_LEAD: Final = re.compile(
    r"\s*(?:(?:and|but|or|what\s+about|how\s+about|how\s+so|since\s+when|more|else)\b"
    r"|(?:why|why\s+not|where|when|who)\W*$|还有|那|为什么呢|然后|再|换成)",
    re.IGNORECASE,
)
_ASKS: Final = re.compile(
    r"(?:who|what|when|where|which|whose|why|how|is|are|was|were|does|do|did|has|have|can|will)\b"
    r"|.{0,20}(?:谁|什么|多少|哪|何时|怎么|为什么|几)",
    re.IGNORECASE,
)
_NO_FRAME: Final = re.compile(
    r"\W*(?:thanks?(?: you)?|thx|ok(?:ay)?|great|nice|cool|good|perfect|got it|i see|yes|no|hi|"
    r"hello|hey|谢谢|谢了|好的|好|明白了?|知道了|嗯|是的|不是|你好)"
    r"(?:\s+(?:a lot|so much|very much|again))?\W*",
    re.IGNORECASE,
)


def is_frame(text: str) -> bool:
    """Whether a question could go on from this text; a word of thanks, or a doubt, is none."""
    return not _NO_FRAME.fullmatch(text) and read_correction(text) is None


def is_reply(text: str) -> bool:
    """Whether a text asks nothing without the question before it ("check again")."""
    correction = read_correction(text)
    return correction is not None and not correction.says


def is_followup(text: str) -> bool:
    """Whether a text looks as if it needs the one before it to be understood."""
    if len(text) > _MOST_CHARS:
        return False
    if read_correction(text) is not None:
        return True
    if _LEAD.match(text) or re.search(r"呢\s*+[？?。]?+\s*+$", text):
        return True
    return len(text) <= 120 and _PRONOUN.search(text) is not None


def follow(frame: str, text: str) -> str | None:
    """
    Return the question that a follow-up means, or None where no rule is certain.

    Args:
        frame: The question before it, itself complete.
        text: What the user says now.
    """
    if max(len(frame), len(text)) > _MOST_CHARS:
        return None
    text = text.strip()
    correction = read_correction(text)
    if correction is not None:
        return _corrected(frame, correction)
    return _followed(frame, text)


def _corrected(frame: str, correction: Correction) -> str:
    """Return the old question with what a reply puts right."""
    says, aside = correction.says, correction.instead_of
    if not says:
        return frame
    if aside and frame.lower().count(aside.lower()) == 1:
        at = frame.lower().index(aside.lower())
        return frame[:at] + says + frame[at + len(aside) :]
    lead = f"那{says}呢" if _has_han(says) else f"and {says}"
    if followed := _followed(frame, lead):
        return followed
    if _ASKS.match(says):
        return says
    return f"{frame.rstrip(' ?？!。.')} {says}"


def _followed(frame: str, text: str) -> str | None:
    if _has_han(text):
        match = _CHINESE.fullmatch(text)
        if not match or not (match["end"] or match["lead"]):
            return None
        return _put(frame, match["new"].strip(), prep="")
    match = _ENGLISH.fullmatch(text)
    if not match or not (match["lead"] or text.lower().startswith(("and ", "but "))):
        return None
    return _put(frame, match["new"].strip(), prep=(match["prep"] or "").lower())


def _put(frame: str, new: str, prep: str) -> str | None:
    if _PRONOUN.fullmatch(new):
        return None
    if _ONE_YEAR.fullmatch(new):
        return _put_year(frame, new, prep)
    if _DAY.fullmatch(new) or _HAN_DAY.fullmatch(new):
        return _put_day(frame, new)
    if _VERSION.fullmatch(new):
        return _replace_only(_VERSION, frame, new)
    if _PLACE.fullmatch(new):
        return _put_place(frame, new, prep)
    # In Chinese nothing tells a name from another noun: 那比亚迪呢 from 那市盈率呢.
    return None if _has_han(new) else _put_name(frame, new, prep)


def _put_year(frame: str, new: str, prep: str) -> str | None:
    digits = new.rstrip("年")
    if made := _replace_only(_YEAR, frame, digits):
        return made
    if any(pattern.search(frame) for pattern in (_YEAR, _DAY, _HAN_DAY, _OTHER_TIME)):
        return None
    if _has_han(frame):
        return f"{digits}年{frame}"
    return _append(frame, f"{prep if prep in ('since', 'during') else 'in'} {digits}")


def _put_day(frame: str, new: str) -> str | None:
    pattern = _HAN_DAY if _has_han(new) else _DAY
    if _has_han(new) != _has_han(frame):
        return None
    if made := _replace_only(pattern, frame, new):
        return made
    if any(one.search(frame) for one in (_YEAR, _DAY, _HAN_DAY, _OTHER_TIME)):
        return None
    return f"{new}{frame}" if _has_han(new) else _append(frame, new)


def _put_place(frame: str, new: str, prep: str) -> str | None:
    if _has_han(new) != _has_han(frame):
        return None
    if prep and len(list(_PLACE.finditer(frame))) > 1:
        # "from Berlin to Rome", "and to Paris?": the preposition tells which one is meant.
        behind = re.compile(rf"(?<=\b{prep}\s){_PLACE.pattern}", re.IGNORECASE)
        return _replace_only(behind, frame, new)
    return _replace_only(_PLACE, frame, new)


def _put_name(frame: str, new: str, prep: str) -> str | None:
    """Put one proper noun for another of as many words, where the old question has just one."""
    new = re.sub(r"^(?:the|an?)\s+", "", new, flags=re.IGNORECASE)
    if not re.fullmatch(_NAMES, new):
        return None
    names = [match for match in _NAME.finditer(frame) if not _is_common(frame, match)]
    if prep:
        names = [one for one in names if frame[: one.start()].lower().endswith(f" {prep} ")]
    if len(names) != 1:
        return None
    old = names[0]
    same_length = len(old[0].split()) == len(new.split())
    if _PLACE.fullmatch(old[0]) or not (same_length or prep):
        return None
    return frame[: old.start()] + new + frame[old.end() :]


def _is_common(frame: str, name: re.Match[str]) -> bool:
    """Whether it is no name though it is written large: I, or an acronym behind an article."""
    return name[0] == "I" or (
        re.fullmatch("[A-Z]{2,5}", name[0]) is not None
        and re.search(r"\b(?:the|an?) $", frame[: name.start()], re.IGNORECASE) is not None
    )


def _replace_only(pattern: re.Pattern[str], frame: str, new: str) -> str | None:
    found = list(pattern.finditer(frame))
    if len(found) != 1:
        return None
    return frame[: found[0].start()] + new + frame[found[0].end() :]


def _append(frame: str, more: str) -> str:
    body = frame.rstrip(" ?!.")
    return f"{body} {more}{'?' if frame.rstrip().endswith('?') else ''}"


def _has_han(text: str) -> bool:
    return any("\u4e00" <= char <= "\u9fff" for char in text)
