"""Small databases, to be asked about; see more_questions.yaml."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from db.generate.shop import NOW, holds
from refdesk.db.dsl.compile import compile as compile_query
from refdesk.db.dsl.parse import parse
from refdesk.db.dsl.types import Query
from refdesk.db.dsl.write import to_document
from refdesk.db.generate import Generated, generate
from refdesk.db.model_files import load_models
from refdesk.db.permission import Permission
from refdesk.db.reflection import reflect
from refdesk.db.schema import ModelSet

_FOLDER = Path(__file__).parent
_LABELS = {
    "books": "书", "members": "会员", "loans": "借阅", "books.title": "书名",
    "books.author": "作者",
    "books.genre": "体裁", "books.published_year": "出版年份", "books.pages": "页数",
    "books.copies": "册数", "members.name": "姓名", "members.city": "城市",
    "members.joined_on": "加入日期", "members.is_student": "学生", "loans.loaned_on": "借阅日期",
    "loans.due_on": "应还日期", "loans.returned_on": "归还日期", "loans.fine": "罚款",
}  # fmt: skip


class Database:
    """A database in memory, its models as reflected, and the values of its text columns."""

    def __init__(self, name: str, labels: dict[str, str]) -> None:
        self.engine = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
        with self.engine.begin() as connection:
            for statement in (_FOLDER / f"{name}.sql").read_text(encoding="utf-8").split(";\n"):
                connection.exec_driver_sql(statement)
        written = _FOLDER / f"{name}.mod.yaml"
        self.models = (
            load_models([written])
            if written.exists()
            else ModelSet(
                tuple(
                    replace(
                        model,
                        synonyms=tuple(filter(None, [labels.get(model.table)])),
                        columns=tuple(
                            replace(each, label=labels.get(f"{model.table}.{each.name}"))
                            for each in model.columns
                        ),
                    )
                    for model in reflect(self.engine)
                )
            )
        )
        self.samples = {
            model.id: {
                each.name: tuple(
                    row[0] for row in self.rows(f"SELECT DISTINCT {each.name} FROM {model.table}")
                )
                for each in model.columns
                if each.kind == "text"
            }
            for model in self.models
        }

    def ask(self, question: str, models: ModelSet | None = None) -> Generated:
        """What is made of a question, to all models or to some."""
        asked = self.models if models is None else models
        return generate(question, asked, now=NOW, samples=self.samples, limit=1000)

    def rows(self, query: str | Query) -> list[tuple[Any, ...]]:
        """The rows of SQL, or of a query as it is compiled."""
        with self.engine.connect() as connection:
            if isinstance(query, str):
                return [tuple(row) for row in connection.exec_driver_sql(query)]
            statement = compile_query(
                query, self.models, "sqlite", permission=Permission(), now=NOW
            )
            return [tuple(row) for row in connection.execute(statement)]


def check(name: str, question: str, sql: str, *, ordered: bool = False) -> Generated:
    """Assert that the rows of a question's answer are those of the SQL."""
    database = databases()[name]
    made = database.ask(question)
    assert made.query is not None, made.refused
    assert parse(to_document(made.query)) == made.query
    found, wanted = database.rows(made.query), database.rows(sql)
    assert holds(found, wanted, ordered=ordered), (to_document(made.query), found)
    return made


@cache
def databases() -> dict[str, Database]:
    """Return all, by name."""
    labels = {"library": _LABELS}
    names = ("firm", "library", "clinic", "films", "yard", "market", "school", "store")
    return {name: Database(name, labels.get(name, {})) for name in names}
