"""
Replies that ask the last question once more: "are you sure?", "check again", 不对，再查一下.

A reply is read clause by clause.  Clauses that doubt or repeat say nothing new; what is left is the
correction.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_MOST_CHARS: Final = 120
"""A longer reply to an answer says something of its own."""

_CLAUSE_END: Final = re.compile(
    r"(?<![,.;:!?])[,.;:!?\n]++(?=\s|\Z|[^\x00-\x7f])|[\n，。；：！？…—]++"
)


def _phrases(listed: str) -> frozenset[str]:
    return frozenset(" ".join(phrase.split()) for phrase in listed.split(","))


_DOUBTS: Final = _phrases(
    """
    wrong, not right, not quite, not true, incorrect, false, really, you sure, are you sure, are
    you certain, are you really sure, are you sure about that, are you sure about this, are you
    sure about it, are you sure of that, is that right, is that correct, is that true, is this
    right, is this correct, is that so, is that accurate, is this accurate, is that still true,
    is it true, is that up to date, is it correct, that is wrong, that's wrong, that is not
    right, that's not right, this is wrong, that's not true, that is not true, that's incorrect,
    that is incorrect, that can't be right, that cannot be right, that doesn't sound right, it's
    wrong, that's outdated, that is outdated, that's old, that is old, this is outdated, you are
    wrong, you're wrong, i don't think so, i do not think so, i doubt it, i doubt that, i don't
    believe you, i don't believe it, i don't believe that,
    不对, 不对吧, 不是吧, 错, 错了, 你错了, 不正确, 不准确, 有误, 你说错了, 确定吗, 你确定,
    你确定吗, 您确定吗, 真的吗, 真的假的, 是吗, 对吗, 是真的吗, 我不信, 我觉得不对,
    好像不对, 这不对, 这是错的, 这个不对, 不太对, 确定是这样吗
    """
)
_REPEATS: Final = _phrases(
    """
    again, once more, one more time, retry, try again, check, check again, check it, check that,
    check this, check it again, check that again, recheck, double check, double-check, double
    check that, double-check that, re-check, double check it, double-check it, check once more,
    look again, look it up again, look it up, look that up, look that up again, search again,
    search once more, search for it again, search for that again, verify, verify that, verify
    it, verify this, confirm, confirm that, confirm it, do it again, redo, redo it, fact check,
    fact-check, fact check that, fact-check that, do that again,
    再查, 再查一下, 再查一次, 再查一遍, 再查查, 再搜, 再搜一下, 再搜一次, 再搜搜, 重新查,
    重新查一下, 重新搜索, 重新搜索一下, 重新搜一下, 重查, 重搜, 再看看, 再看一下, 再试,
    再试一次, 再试试, 再确认, 再确认一下, 确认一下, 核实一下, 查一下, 核对一下, 再核实一下,
    再检查一下, 检查一下, 再检查, 再来一次, 再来一遍, 再找找, 再找一下
    """
)
_ONCE_MORE: Final = _DOUBTS | _REPEATS
_SURE: Final = re.compile(
    r"(?:are )?(?:you|u) (?:(?:absolutely|really|quite|very|completely|100%) )?"
    r"(?:sure|certain|positive)(?: (?:about|of|that|it's|it is|this is) .{1,60})?"
    r"|(?:你|您)?(?:真的)?确定(?:.{1,20}吗)?",
)
"""A doubt that may repeat what is doubted."""
_HAN_REPEAT: Final = re.compile(
    "(?:你|您)?(?:再|重新)(?:查证|查|搜索|搜|找|确认|核实|核对|检查|验证|看|试)[查搜找看试]?(?:一下|一次|一遍)?"
)
_OPENERS: Final = _phrases(
    "no, nope, no no, wait, sorry, but, well, hmm, ok, okay, please, actually, thanks, hey, "
    "不, 不是, 等等, 抱歉, 嗯, 但是, 请, 好的, 谢谢"
)
_DENIALS: Final = _phrases("no, nope, no no, 不, 不是")
"""Clauses that lead to a correction, and are none alone; those that deny may lead alone."""
_SHORT: Final = 6
"""So many words, or twice as many Han signs, has a correction that only a denial leads to."""
_POLITE: Final = re.compile(
    r"(?:(?:please|can you|could you|would you|now|then|and|but|so|no|well|wait|actually|sorry)\b"
    r"|请你?|麻烦你?|你能|能不能|能|可以|帮我|给我|那就|那)[ ]*+",
    re.IGNORECASE,
)
_TAIL: Final = re.compile(r"(?:[ ](?:please|for me|then|now)|吧|嘛|呢|好吗|可以吗|行吗|啊)\Z")
_FOR: Final = re.compile(r"[ ](?:but[ ]|(?=(?:for|in|of|on|at|from|with|about)\b))")

_MEANT: Final = re.compile(
    r"(?:i (?:mean|meant|was asking (?:about|for)|am asking (?:about|for)|said)\b"
    r"|我(?:说|指|问|想问)的是|我是说|我的意思是)[ ]*+",
    re.IGNORECASE,
)
_IS: Final = re.compile(
    r"(?:(?:it's|it is|it was|should be|it should be|make it|rather|instead|actually)\b"
    r"|应该是|应当是|而是|是|改成|换成)[ ]*+",
    re.IGNORECASE,
)
_NOT: Final = re.compile(r"(?:not[ ](?!only|all|sure|every)|不是|并非)[ ]*+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Correction:
    """A reply to an answer."""

    says: str = ""
    """What it says that is new; empty where it only doubts or repeats."""
    instead_of: str = ""
    """What of the old question it puts aside: "not the company"."""


def read_correction(text: str) -> Correction | None:
    """Return what a reply to an answer puts right; None for a text that is no such reply."""
    text = text.strip(" \t\n\"'“”‘’").replace("’", "'")
    if len(text) > _MOST_CHARS:
        return None
    sure = denied = False
    says: list[str] = []
    aside: list[str] = []
    for clause in filter(None, map(str.strip, _CLAUSE_END.split(text))):
        plain = _plain(clause)
        if plain in _OPENERS:
            denied = denied or (clause.lower().split()[0] in _DENIALS and not says)
        elif plain in _DOUBTS and says:
            return None  # The doubt is about what this reply itself says.
        elif plain in _ONCE_MORE or _SURE.fullmatch(plain):
            sure = True
        elif repeat := _HAN_REPEAT.match(plain):
            sure = True
            says.append(plain[repeat.end() :].removesuffix("的"))
        elif (at := _FOR.search(plain)) and plain[: at.start()] in _ONCE_MORE:
            sure = True
            says.append(plain[at.end() :])
        elif meant := _MEANT.match(clause):
            sure = True
            says.append(clause[meant.end() :])
        elif found := _NOT.match(clause):
            denied = denied or not says
            aside.append(clause[found.end() :])
        else:
            says.append(clause)
    if not sure and not (denied and says and _is_short(says)):
        return None
    if says and (found := _IS.match(says[0])):
        says[0] = says[0][found.end() :]
    return Correction(", ".join(filter(None, says)), aside[0] if len(aside) == 1 else "")


def _is_short(says: list[str]) -> bool:
    said = " ".join(says)
    return len(said.split()) <= _SHORT and (said.isascii() or len(said) <= 2 * _SHORT)


def _plain(clause: str) -> str:
    plain = " ".join(clause.lower().split())
    for _ in range(3):
        if plain in _ONCE_MORE:
            break
        plain = _TAIL.sub("", plain)
        if (found := _POLITE.match(plain)) and found.end() < len(plain):
            plain = plain[found.end() :]
    return plain
