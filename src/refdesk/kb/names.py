"""
Names found by their form, for graphs without a model.

It knows no meanings: capitalised words, acronyms, titles in quotes, Chinese names that end in what
they are.  `NOTICE` says so to whoever asks for such a graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from refdesk.kb.facts import MAX_NAME_CHARS, MAX_PER_CHUNK, Facts
from refdesk.store.graph import EntityFact, RelationFact, folded

NOTICE: Final = (
    "the graph was built without a model: names by their form, linked where they share a sentence"
)
PREDICATE: Final = "mentioned with"
"""All that is known of two names that share a sentence."""

_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[\"'“(]?\w)|(?<=[。！？；])|\n\s*\n|\n(?=[#|*-])")
_WORD: Final = r"[^\W\d_a-z][\w’'&-]*"
"""A word that begins with a letter which is no small Latin one."""
_NAME: Final = re.compile(
    rf"{_WORD}(?:(?:\s(?:of|the|for|de|van|von|der|la|al|du))*\s(?:{_WORD}|\d+(?:\.\d+)*)(?!\w))*"
)
_QUOTED: Final = re.compile(r"[《「『“]([^《》「」『』“”\n]{2,30})[》」』”]")
_HAN_NAME: Final = re.compile(
    r"[\u4e00-\u9fff]{2,12}?(?:公司|集团|大学|学院|研究所|委员会|银行|医院|法院|协会|基金会|部门"
    r"|项目|计划|条例|会议|战争|省|市|县|区|州|国)"
)
_HAN_START: Final = re.compile(
    r"^(?:位于|来自|属于|以及|成为|由于|关于|对于|在|是|和|与|及|由|于|的|了|从|向|到|为|被)+"
)
_STARTERS: Final = frozenset(
    """
    a an the this that these those it its he she they we you i his her their our your my there here
    in on at by for from with to of as and or but if when where while after before since although
    however because so then thus also not no yes all any each some many most both such what who
    whom whose which why how is are was were be been do does did has have had can could will would
    shall should may might must use see note example
    """.split()  # noqa: SIM905 - a table of words is read as one
)
"""Words that begin sentences and no names."""


class BuiltinExtractor:
    """
    Finds names by their form: capitalised words, acronyms, titles in quotes, Chinese names that
    end in what they are.  Those that share a sentence are linked, without saying how.
    """

    async def extract(self, text: str, *, types: Sequence[str]) -> Facts:
        """Return what the text names; ``types`` are beyond it and have no say."""
        return builtin_facts(text)


def builtin_facts(text: str) -> Facts:
    """Return the names in a text, and which of them share a sentence."""
    entities: dict[str, EntityFact] = {}
    relations: dict[tuple[str, str], RelationFact] = {}
    for sentence in _SENTENCE.split(text):
        here: dict[str, str] = {}
        for name in _names(sentence):
            key = folded(name)
            if key not in entities and len(entities) >= MAX_PER_CHUNK:
                continue
            entities.setdefault(key, EntityFact(name=name, type="Name"))
            here.setdefault(key, name)
        keys = list(here)
        # A list of names is linked in its order; all with all would be a knot that says nothing.
        for left, right in pairwise(keys):
            relations.setdefault(
                (left, right),
                RelationFact(
                    subject=entities[left].name,
                    predicate=PREDICATE,
                    object=entities[right].name,
                ),
            )
    return Facts(entities=tuple(entities.values()), relations=tuple(relations.values()))


def _names(sentence: str) -> Iterator[str]:
    found = [(match.start(1), match[1]) for match in _QUOTED.finditer(sentence)]
    found += [
        (match.start(), _HAN_START.sub("", match[0])) for match in _HAN_NAME.finditer(sentence)
    ]
    found += [
        (match.start(), _latin(match[0], opens=not sentence[: match.start()].strip()))
        for match in _NAME.finditer(sentence)
        if not any(char >= "\u2e80" for char in match[0])
    ]
    for _, name in sorted(found):
        name = name.strip(" '’&-")
        if 2 <= len(name) <= MAX_NAME_CHARS:
            yield name


def _latin(name: str, *, opens: bool) -> str:
    words = name.split()
    while words and (words[0].casefold() in _STARTERS or not words[0][0].isupper()):
        words.pop(0)
        opens = False
    # A single capitalised word that opens a sentence is capitalised for that reason.
    if (
        opens
        and len(words) == 1
        and not any(char.isupper() or char.isdigit() for char in words[0][1:])
    ):
        return ""
    name = " ".join(words)
    # "University of California" is one name, "Ann Lee of Acme Corp" begins with one.
    before, of, _ = name.partition(" of ")
    if of and " " in before:
        name = before
    return re.sub(r"['’]s?$", "", name)
