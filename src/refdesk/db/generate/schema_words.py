"""What the words of a question may mean in a schema: models, columns, values."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from refdesk.db.generate.identifiers import Names
from refdesk.db.generate.lexicon import (
    ABBREVIATIONS,
    CONCEPTS,
    COUNTRIES,
    STATES,
    SYNONYMS,
    TRANSLATIONS,
    VALUE_TRANSLATIONS,
    Concept,
)
from refdesk.db.generate.relations import Ways
from refdesk.db.generate.tokens import identifier_words, phrase
from refdesk.db.schema import Column, Model, ModelSet

Phrase = tuple[str, ...]
Samples = Mapping[str, Mapping[str, Sequence[object]]]
"""Values found in columns, by model id and column name."""

_DATE_ENDS: Final = {"at", "on", "date", "time", "datetime", "timestamp", "day", "ts"}
_SAID_OF: Final = {
    "success": "successful",
    "fail": "failed",
    "failure": "failed",
    "cancel": "cancelled",
    "complete": "completed",
    "approve": "approved",
    "reject": "rejected",
}
"""What rows with such a value are called."""
_UNITS: Final = frozenset(
    [
        "mile",
        "km",
        "kilometer",
        "meter",
        "metre",
        "cm",
        "mm",
        "kg",
        "gram",
        "pound",
        "lb",
        "ms",
        "second",
        "minute",
        "hour",
        "hr",
        "day",
        "usd",
        "eur",
        "dollar",
        "percent",
        "pct",
        "degree",
        "sqft",
    ]
)
_OPPOSITES: Final[dict[Phrase, str]] = {
    ("open",): "closed",
    ("active",): "inactive",
    ("available",): "unavailable",
    ("paid",): "unpaid",
    ("enabled",): "disabled",
    ("public",): "private",
    ("verified",): "unverified",
    ("married",): "single",
}
_DONE: Final = {
    "sale": "sold",
    "payment": "paid",
    "purchase": "bought",
    "order": "ordered",
    "ship": "shipped",
    "delivery": "delivered",
    "termination": "terminated",
    "registration": "registered",
    "approval": "approved",
    "appr": "approved",
    "publication": "published",
    "release": "released",
    "creation": "created",
    "return": "returned",
}
"""What was done on a date that is called after the deed."""
_HAN_DATE: Final = re.compile("(?:日期|时间|年份|日)$")
_NO_NOUN: Final = frozenset(
    {"daily", "weekly", "monthly", "yearly", "hourly", "history", "log", "info", "data", "table"}
    | {"record", "detail", "list", "made", "received", "sent"}
)
_COUNT_WORDS: Final = {"number", "count", "num", "total"}


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelName:
    """The words name a model."""

    model: Model
    weight: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnName:
    """The words name a column; the higher the weight, the more exactly."""

    model: Model
    column: Column
    weight: int
    refers: bool = False
    """Whether they name the rows that it refers to, of a table that is not in sight."""
    opposite: bool = False
    """Whether they say that what the column tells is not so: "closed" for ``is_open``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Value:
    """The words are a value that a column holds."""

    model: Model
    column: Column
    value: str


Meaning = ModelName | ColumnName | Value | str
"""What words may mean; a text is a `Concept`."""


class SchemaWords:
    """The phrases of a schema, and those that mean the same anywhere."""

    def __init__(self, models: ModelSet, samples: Samples, names: Names, ways: Ways) -> None:
        self._phrases: dict[Phrase, list[Meaning]] = defaultdict(list)
        self._names = names
        self._ways = ways
        model_prefix = _shared([names.table(model.table) for model in models])
        heads = [_table_head(names.table(model.table)) for model in models]
        for model, head in zip(models, heads, strict=True):
            self._add_model(model, model_prefix)
            if heads.count(head) == 1:
                self._add(head, ModelName(model=model, weight=2))
            self._add_columns(model, model_prefix)
            for column in model.columns:
                if column.kind == "text" and not column.private:
                    self._add_values(model, column, samples.get(model.id, {}).get(column.name, ()))
        self._add_synonyms()
        self.longest = max((len(each) for each in (*self._phrases, *_concepts())), default=1)

    def __getitem__(self, words: Phrase) -> tuple[Meaning, ...]:
        concept = _concepts().get(words)
        if len(words) == 2 and concept is None and words not in self._phrases:
            words = ("".join(words),)  # "check-ins" of ``checkin``
        return (*self._phrases.get(words, ()), *((concept,) if concept else ()))

    def _add(self, words: Phrase, meaning: Meaning) -> None:
        if words and meaning not in self._phrases[words]:
            self._phrases[words].append(meaning)

    def _add_model(self, model: Model, prefix: int) -> None:
        names = {model.id.rsplit(".", 1)[-1], model.table, *model.synonyms}
        if model.label:
            names.add(model.label)
        for name in names:
            words = identifier_words(name) if name.isascii() and " " not in name else phrase(name)
            self._add(words, ModelName(model=model, weight=4))
        words = self._names.table(model.table)
        self._add(_spelled(words[prefix:] or words), ModelName(model=model, weight=3))

    def _add_columns(self, model: Model, model_prefix: int) -> None:
        own = set(self._names.table(model.table)) | set(identifier_words(model.id))
        named = [(column, self._names.column(model.id, column.name)) for column in model.columns]
        prefix = _shared([words for _, words in named])
        tied = {step.relation.column for step in self._ways.of(model)}
        tied |= {key.name for key in (self._ways.key(model),) if key is not None}
        dates = [each for each in model.columns if each.kind in {"date", "datetime"}]
        if len(dates) == 1:
            for said in (("date",), (*_table_head(self._names.table(model.table)), "date")):
                self._add(said, ColumnName(model=model, column=dates[0], weight=2))
        for column, words in named:
            self._add(
                identifier_words(column.name), ColumnName(model=model, column=column, weight=4)
            )
            if column.kind == "boolean" or words[0] in {"is", "has"}:
                self._add_truth(model, column, words[1:] if len(words) > 1 else words)
            phrases = list(_column_phrases(column, words, prefix, own))
            for said, weight in phrases:
                self._add(said, ColumnName(model=model, column=column, weight=weight))
            if len(words) > 1 and words[-1] == "id" and column.name not in tied:
                said = _spelled(words[:-1])
                self._add(said, ColumnName(model=model, column=column, weight=3, refers=True))
            table = self._names.table(model.table)
            for name in {_spelled(table[model_prefix:] or table), _table_head(table)}:
                for said, weight in phrases:
                    if said and weight > 1 and said[: len(name)] != name:
                        self._add(
                            (*name, *said), ColumnName(model=model, column=column, weight=weight)
                        )
        if (key := self._ways.key(model)) is not None:
            self._add(("id",), ColumnName(model=model, column=key, weight=2))
            for name in (
                self._names.table(model.table)[model_prefix:],
                _table_head(self._names.table(model.table)),
            ):
                self._add((*_spelled(name), "id"), ColumnName(model=model, column=key, weight=5))

    def _add_truth(self, model: Model, column: Column, words: Phrase) -> None:
        self._add(words, ColumnName(model=model, column=column, weight=3))
        if opposite := _OPPOSITES.get(words):
            self._add((opposite,), ColumnName(model=model, column=column, weight=3, opposite=True))

    def _add_values(self, model: Model, column: Column, sampled: Iterable[object]) -> None:
        for value in (*column.enum, *sampled):
            if isinstance(value, str) and 0 < len(value) <= 80:
                words = phrase(value)
                # A number or a single letter is no value by itself: it is an amount, or noise.
                if len(words) == 1 and (len(value) < 2 or words[0].isdigit()):
                    continue
                self._add(words, Value(model=model, column=column, value=value))
                if words[-1] in _SAID_OF:
                    said = (*words[:-1], _SAID_OF[words[-1]])
                    self._add(said, Value(model=model, column=column, value=value))
                for others in COUNTRIES:
                    if value in others:
                        for other in others:
                            self._add(phrase(other), Value(model=model, column=column, value=value))
                if value in STATES and "state" in column.name.lower():
                    said = phrase(STATES[value])
                    self._add(said, Value(model=model, column=column, value=value))

    def _add_synonyms(self) -> None:
        known = {words: list(meanings) for words, meanings in self._phrases.items()}
        for group in SYNONYMS:
            for word in group:
                for meaning in known.get((word,), ()):
                    if isinstance(meaning, ColumnName) and meaning.weight > 2:
                        for other in group - {word}:
                            if (other,) not in known:
                                self._add((other,), _weaker(meaning))
                    elif isinstance(meaning, ModelName):
                        for other in group - {word}:
                            if (other,) not in known:
                                self._add((other,), ModelName(model=meaning.model, weight=1))
        known = {words: list(meanings) for words, meanings in self._phrases.items()}
        for table, kinds in (
            (TRANSLATIONS, (ModelName, ColumnName)),
            (VALUE_TRANSLATIONS, (Value,)),
        ):
            for said, english in table.items():
                for meaning in known.get(phrase(english), ()):
                    if isinstance(meaning, kinds):
                        self._add(tuple(said), meaning)


def best(meanings: Iterable[Meaning], model: Model) -> ColumnName | None:
    """Return the column of a model that is meant most exactly; None for none, or for two alike."""
    found = sorted(
        (each for each in meanings if isinstance(each, ColumnName) and each.model.id == model.id),
        key=lambda each: -each.weight,
    )
    if len(found) > 1 and found[0].weight == found[1].weight:
        return None
    return found[0] if found else None


def _column_phrases(
    column: Column, words: Phrase, prefix: int, own: set[str]
) -> Iterator[tuple[Phrase, int]]:
    yield words, 4
    for said in (column.label, *column.synonyms):
        if said:
            yield phrase(said), 4
    short = _spelled(words[prefix:] or words)
    yield short, 3
    if len(words) == 2 and words[-1] not in {"id", "name", "code"}:
        yield ("".join(words),), 2
    if len(short) > 1 and short[-1] in _UNITS and column.kind in {"integer", "number"}:
        yield short[:-1], 3
    yield _spelled(words), 3
    if len(short) > 1 and short[0] in own:
        short = short[1:]
        yield short, 3
    if column.kind == "boolean" and short[0] in {"is", "has", "was", "can", "are"}:
        yield short[1:], 3
    ordinal = words[-1] == "number"  # a house number counts nothing
    counts = {short[0], short[-1]} & _COUNT_WORDS and not ordinal
    if column.kind in {"integer", "number"} and counts:
        counted = tuple(word for word in short if word not in _COUNT_WORDS | {"of"})
        yield counted, 3
        yield ("number", "of", *counted), 4
    if column.label and (stem := _HAN_DATE.sub("", column.label)) != column.label and stem:
        yield phrase(stem), 2
    if column.kind in {"date", "datetime"}:
        whole = [word for word in _spelled(words) if word not in _DATE_ENDS]
        for noun, past in _DONE.items():
            if whole == [noun]:
                yield (past,), 3
        verb = short[2:] if short[:2] == ("date", "of") and len(short) > 2 else short
        while len(verb) > 1 and verb[-1] in _DATE_ENDS:
            verb = verb[:-1]
        if verb[0] not in _DATE_ENDS:
            yield verb, 3
            if verb[-1] in {"birth", "birthday", "born"}:
                yield from ((("born",), 3), (("birthday",), 3), (("birth", "date"), 3))
            yield (*verb, "date"), 3
            yield (_stem(verb[0]), *verb[1:]), 2
            yield (_past(verb[0]), *verb[1:]), 2
        return
    if len(short) == 1 and column.kind == "text" and short[0] not in {"name", "id", "code"}:
        yield (*short, "name"), 2
    if len(short) > 1 and short[-1] not in {"id", "code", "key", "name", "number", "type"}:
        yield short[-1:], 2
    if len(short) > 1 and short[-1] in {"name", "type", "code", "number"}:
        yield short[:-1], 1


def _table_head(words: Phrase) -> Phrase:
    """Return the noun in a table's name: ``wallet_transactions_daily`` holds transactions."""
    left = _spelled(words)
    while len(left) > 1 and left[-1] in _NO_NOUN:
        left = left[:-1]
    return left[-1:]


def _weaker(meaning: ColumnName) -> ColumnName:
    return replace(meaning, weight=1)


def _spelled(words: Phrase) -> Phrase:
    return tuple(ABBREVIATIONS.get(word, word) for word in words)


def _stem(verb: str) -> str:
    return verb[:-1] if verb.endswith("ed") and verb[-3] in "sv" else verb.removesuffix("ed")


def _past(verb: str) -> str:
    return verb if verb.endswith("ed") else f"{verb.removesuffix('e')}ed"


def _shared(names: Sequence[Phrase]) -> int:
    """Return how many words all the names begin with, where they are no more than a prefix."""
    if len(names) < 3:
        return 0
    count = 0
    for words in zip(*names, strict=False):
        if len(set(words)) > 1:
            break
        count += 1
    return count


@cache
def _concepts() -> Mapping[Phrase, Concept]:
    found: dict[Phrase, Concept] = {}
    for concept, phrases in CONCEPTS.items():
        for said in phrases.split("|"):
            found.setdefault(phrase(said.strip()), concept)
    return found
