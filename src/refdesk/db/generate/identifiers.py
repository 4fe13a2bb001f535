"""
The words in the names of tables and columns, also where they run together: ``sbcustname``.

Databases that fold case leave no mark between words.  Such a name is cut only where all of it is
made of words that names often have, or that other names of the same schema have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from refdesk.db.generate.lexicon import ABBREVIATIONS, SYNONYMS
from refdesk.db.generate.tokens import identifier_words
from refdesk.db.schema import ModelSet

_COMMON: Final = (
    "account active activity address amount arrival author average balance batch begin birth board "
    "book branch budget business by campus car card category cited citing city class close code "
    "color comment company contact content cost count country course created credit currency "
    "current custom customer daily data date datetime day delivery department departure "
    "description detail discount district doctor document due duration email employee end entry "
    "event exchange fare fee file final first flag flight full gender grade group hire hour id "
    "image index invoice is item job join journal key keyword label last latitude level line "
    "link list location log login longitude low high member message method minute mode model "
    "modified month name number on open order owner page paper parent password patient pay payment "
    "percent period person phone place plan position postal post price product project provider "
    "purchase quantity rank rate rating reason record ref reference region registration release "
    "report review role room row salary sale sales school score season section sector seller "
    "serial service session settlement share shares shipping size source staff start state status "
    "stock stop store str street string student subject summary supplier symbol tag target task "
    "tax team term text ticker time timestamp title to token total transaction type unit update "
    "updated url user value vendor venue version visit volume week weight word work year zip"
)
_LEAST_RUN: Final = 6


class Names:
    """
    The names of a schema, as words.

    Args:
        models: Whose tables and columns they are.
    """

    def __init__(self, models: ModelSet) -> None:
        known = {*_COMMON.split(), *ABBREVIATIONS, *ABBREVIATIONS.values()}
        known |= {word for group in SYNONYMS for word in group}
        for model in models:
            known.update(identifier_words(model.table))
            for column in model.columns:
                parts = identifier_words(column.name)
                known.update(parts if len(parts) > 1 else ())
        self._known = frozenset(word for word in known if len(word) > 1)
        self._tables = self._cut([model.table for model in models])
        self._columns = {
            model.id: self._cut([each.name for each in model.columns]) for model in models
        }

    def table(self, name: str) -> tuple[str, ...]:
        """Return the words of a table's name."""
        return self._tables[name]

    def column(self, model_id: str, name: str) -> tuple[str, ...]:
        """Return the words of a column's name, without what all of its table's begin with."""
        return self._columns[model_id][name]

    def _cut(self, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
        shared = self._prefix(names)
        return {
            name: tuple(self._words(name.lower()[len(shared) :] if shared else name))
            for name in names
        }

    def _prefix(self, names: Sequence[str]) -> str:
        """Return what all of some run-together names begin with, where the rest is words."""
        if len(names) < 3 or any("_" in name or name.lower() != name for name in names):
            return ""
        first, last = min(names), max(names)
        same = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), None)
        shared = first[:same]
        rests = [name[len(shared) :] for name in names]
        good = sum(rest in self._known or _pieces(rest, self._known) is not None for rest in rests)
        return shared if len(shared) > 1 and all(rests) and good * 2 > len(rests) else ""

    def _words(self, name: str) -> Iterable[str]:
        for word in identifier_words(name):
            pieces = None
            if len(word) >= _LEAST_RUN and word not in self._known and word.isascii():
                pieces = _pieces(word, self._known)
            yield from pieces or (word,)


def _pieces(text: str, known: frozenset[str]) -> tuple[str, ...] | None:
    """Return the fewest known words that a text is made of, or None."""
    best: list[tuple[str, ...] | None] = [()] + [None] * len(text)
    for end in range(2, len(text) + 1):
        for begin in range(end - 1):
            before, word = best[begin], text[begin:end]
            if before is None or word not in known:
                continue
            found = best[end]
            if found is None or len(before) + 1 < len(found):
                best[end] = (*before, word)
    return best[-1]
