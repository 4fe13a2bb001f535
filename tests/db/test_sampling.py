"""Values of columns: whose they are, and how often they are looked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from db.kinds import opened
from refdesk.db.execute import Runner
from refdesk.db.gate import Written
from refdesk.db.permission import read_permission
from refdesk.db.sampling import KEPT_S, Samples
from refdesk.db.schema import Column, Model, ModelSet

CITIES = Model(id="cities", table="cities", columns=(Column(name="city"), Column(name="mayor")))
ORDERS = Model(
    id="orders",
    table="orders",
    columns=(
        Column(name="owner", type="integer"),
        Column(name="status"),
        Column(name="note"),
        Column(name="code", private=True),
    ),
)
MODELS = ModelSet((CITIES, ORDERS))
PERMISSION = read_permission(
    {
        "orders": {
            "rows": [{"field": "owner", "=": "{user.id}"}],
            "hidden": ["note"],
        }
    },
    MODELS,
)


class Watched(Runner):
    """Tells what it was asked to run."""

    def __init__(self, url: str) -> None:
        super().__init__("shop", url)
        self.asked: list[str] = []

    async def run(self, statement: Written, **options: object) -> object:  # type: ignore[override]
        """Run it, and remember it."""
        self.asked.append(statement.sql)
        return await super().run(statement, **options)  # type: ignore[arg-type]


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Watched]:
    """Orders of two people, and the cities."""
    with opened("sqlite", tmp_path) as database:
        database.execute(
            "create table cities (city text, mayor text)",
            "create table orders (owner integer, status text, note text, code text)",
            "insert into cities values ('Berlin', 'Ann'), ('Paris', null)",
            "insert into orders values (1, 'paid', 'n1', 'c1'), (2, 'open', 'n2', 'c2')",
        )
        runner = Watched(database.url)
        yield runner
        runner.close()


async def test_each_asker_has_the_values_of_the_own_rows(runner: Watched) -> None:
    """A value of a row, or column, that may not be seen is none; a private one is none either."""
    samples = Samples(runner)
    cities = {"city": ("Berlin", "Paris"), "mayor": ("Ann",)}
    for identity, status in (({"id": 1}, "paid"), ({"id": 2}, "open")):
        assert await samples.of(MODELS, PERMISSION, identity) == {
            "cities": cities,
            "orders": {"status": (status,)},
        }
    assert await samples.of(MODELS, PERMISSION, None) == {"cities": cities}


async def test_what_all_see_is_looked_for_once(runner: Watched) -> None:
    """A table without rules is read once for all askers, and anew when its values are old."""
    now = 0.0
    samples = Samples(runner, clock=lambda: now)
    for identity in ({"id": 1}, {"id": 2}, {"id": 1}):
        await samples.of(MODELS, PERMISSION, identity)
    assert [("cities" in each) for each in runner.asked].count(True) == 1
    assert len(runner.asked) == 3
    now = KEPT_S + 1
    await samples.of(MODELS, PERMISSION, {"id": 1})
    assert len(runner.asked) == 5
