"""Questions in English and Chinese to schemas that no rule was written for."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from db.generate.more import databases
from db.generate.shop import holds
from refdesk.db.dsl.parse import parse
from refdesk.db.dsl.write import to_document

QUESTIONS = YAML(typ="safe").load(
    (Path(__file__).parent / "more_questions.yaml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", QUESTIONS, ids=[each["ask"] for each in QUESTIONS])
def test_question(case):
    """The rows are those of the SQL, and what is told; without SQL, the question is refused."""
    database = databases()[case["of"]]
    made = database.ask(case["ask"])
    if not case["sql"]:
        assert made.query is None
        return
    assert made.query is not None, made.refused
    assert case.get("notice", "") in " ".join(made.notices)
    assert parse(to_document(made.query)) == made.query
    found, wanted = database.rows(made.query), database.rows(case["sql"])
    assert holds(found, wanted, ordered=case.get("ordered", False)), to_document(made.query)
