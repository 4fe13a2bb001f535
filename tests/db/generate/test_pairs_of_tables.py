"""Any two tables that belong together, asked about in the same words, against SQL by their ways."""

from __future__ import annotations

from itertools import pairwise, permutations

import pytest

from db.generate.more import Database, databases
from db.generate.shop import holds
from refdesk.db.generate.subject import is_amount
from refdesk.db.schema import ModelSet

NAMES = ("market", "school", "clinic", "firm", "films")
BARE = {"people": "person"}
LEAST = 4
"""How many answers each schema gives at least, so that refusing all of them is no success."""


def _ways(models: ModelSet, start: str, goal: str) -> list[list[tuple[str, str, bool]]]:
    """Return the shortest ways from a table to another: table, condition, whether many."""
    edges: dict[str, list[tuple[str, str, bool]]] = {}
    for model in models:
        for each in model.relations:
            if each.kind == "one":
                equal = f"{model.id}.{each.column} = {each.model}.{each.foreign}"
                edges.setdefault(model.id, []).append((each.model, equal, False))
                edges.setdefault(each.model, []).append((model.id, equal, True))
    rim = [(start, [], {start})]
    while rim:
        rim = [
            (step[0], [*way, step], seen | {step[0]})
            for at, way, seen in rim
            for step in edges.get(at, ())
            if step[0] not in seen
        ]
        if found := [way for at, way, _ in rim if at == goal]:
            return found
    return []


def _pairs(database: Database) -> list[tuple[str, str, str]]:
    """Return pairs of tables with one way between them, and the joins along it, from the second."""
    found = []
    ids = [each.id for each in database.models if len(each.primary_key) == 1]
    for counted, owner in permutations(ids, 2):
        ways = _ways(database.models, owner, counted)
        if len(ways) == 1 and not any(not a[2] and b[2] for a, b in pairwise(ways[0])):
            joins = " ".join(f"LEFT JOIN {table} ON {on}" for table, on, _ in ways[0])
            found.append((counted, owner, joins))
    return found


def _answers(database: Database, question: str, sql: str) -> int:
    made = database.ask(question)
    if made.query is None:
        return 0
    found = database.rows(made.query)
    assert holds(found, database.rows(sql), ordered=False), question
    return 1


@pytest.mark.parametrize("name", NAMES)
def test_counts(name):
    """So many of one for each of the other, in three ways to ask for it, and those without any."""
    database, answered = databases()[name], 0
    for counted, owner, joins in _pairs(database):
        many, one = counted.replace("_", " "), BARE.get(owner, owner[:-1]).replace("_", " ")
        group = f"FROM {owner} {joins} GROUP BY {owner}.id"
        counts = f"SELECT {owner}.id, count(DISTINCT {counted}.id) {group}"
        for question in (
            f"number of {many} per {one}",
            f"how many {many} does each {one} have",
            f"{owner.replace('_', ' ')} with their number of {many}",
        ):
            answered += _answers(database, question, counts)
        without = f"SELECT {owner}.id {group} HAVING count({counted}.id) = 0"
        answered += _answers(database, f"{owner.replace('_', ' ')} without {many}", without)
    assert answered >= LEAST


@pytest.mark.parametrize("name", NAMES)
def test_sums(name):
    """What the rows of one come to for each of the other: each row once, 0 for no row."""
    database, answered = databases()[name], 0
    columns = [each.name for model in database.models for each in model.columns]
    for counted, owner, joins in _pairs(database):
        model = database.models.get(counted)
        assert model is not None
        for column in model.columns:
            if not is_amount(column) or columns.count(column.name) > 1:
                continue
            word, one = column.name.replace("_", " "), BARE.get(owner, owner[:-1])
            sql = (
                f"SELECT id, total(value) FROM (SELECT DISTINCT {owner}.id AS id, {counted}.id,"
                f' {counted}."{column.name}" AS value FROM {owner} {joins}) GROUP BY id'
            )
            question = f"total {word} of {counted.replace('_', ' ')} per {one.replace('_', ' ')}"
            answered += _answers(database, question, sql)
    assert answered >= LEAST


@pytest.mark.parametrize("name", NAMES)
def test_values_and_their_negation(name):
    """Rows with a value and rows without it are all of them, alone and for each of the other."""
    database, answered = databases()[name], 0
    for counted, owner, joins in _pairs(database):
        model = database.models.get(counted)
        assert model is not None
        for column in model.columns:
            values = [each for each in database.samples[counted].get(column.name, ()) if each]
            if column.name in {"name", "title", "email", "sku"} or column.kind != "text":
                continue
            for value in values[:2]:
                for said, equal in (
                    (f"number of {value} {counted} per", "="),
                    (f"number of {counted} that are not {value} per", "IS NOT"),
                ):
                    case = f"CASE WHEN {counted}.{column.name} {equal} '{value}' THEN 1 END"
                    sql = (
                        f"SELECT {owner}.id, count(DISTINCT {case} * {counted}.id)"
                        f" FROM {owner} {joins} GROUP BY {owner}.id"
                    )
                    one = BARE.get(owner, owner[:-1]).replace("_", " ")
                    answered += _answers(database, f"{said.replace('_', ' ')} {one}", sql)
    assert answered >= LEAST
