"""What the words of a question may mean in one schema, and how its models belong together."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from refdesk.db.generate.identifiers import Names
from refdesk.db.generate.relations import Ways
from refdesk.db.generate.schema_words import Samples, SchemaWords
from refdesk.db.schema import ModelSet

_KEPT: Final = 32


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """A schema made ready for questions; it takes milliseconds to make, so it is kept."""

    models: ModelSet
    samples: Samples
    words: SchemaWords
    ways: Ways


def vocabulary(models: ModelSet, samples: Samples) -> Vocabulary:
    """Return the vocabulary of models and sampled values, made anew where one has changed."""
    for each in _kept:
        if each.models == models and each.samples == samples:
            return each
    names = Names(models)
    kept = {model: dict(columns) for model, columns in samples.items()}
    ways = Ways(models, names)
    made = Vocabulary(models, kept, SchemaWords(models, kept, names, ways), ways)
    _kept.appendleft(made)
    return made


_kept: Final[deque[Vocabulary]] = deque(maxlen=_KEPT)
