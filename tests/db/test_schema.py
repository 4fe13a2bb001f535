"""Models and their look-up; models from files; models from databases."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from refdesk.db.model_files import dump_models, load_models, read_models
from refdesk.db.reflection import reflect, reflect_duckdb
from refdesk.db.schema import Column, Kind, Model, ModelSet, Relation, kind_of
from refdesk.errors import ConfigError

ORDER = Model(
    id="agents.bot.order",
    table="Orders",
    schema="sales",
    columns=(Column(name="id"), Column(name="Id"), Column(name="total", type="decimal(10,2)")),
)
PRODUCT = Model(id="product", table="products", columns=(Column(name="id"),))
MODELS = ModelSet((ORDER, PRODUCT))

FILE = """
name: Order
label: Orders
table: {name: orders, comment: What was sold}
columns:
  - {name: id, type: ID, label: Number}
  - {name: status, type: enum, option: [open, paid], description: Where it stands}
  - {name: level, type: integer, enum: [{label: Low, value: 1}, {label: High, value: 2}]}
  - {name: customer_id, type: integer, nullable: false, index: true}
  - {name: email, private: true, synonyms: [mail, 邮箱]}
  - {name: note, type: text, hidden: true}
relations:
  customer: {type: hasOne, model: customer, key: id, foreign: customer_id}
permission:
  rows: [{field: customer_id, "=": "{user.id}"}]
option: {timestamps: true}
"""


BROKEN_RELATION = """
table: t
columns: [{name: id}]
relations: {a: {type: hasOne, model: b, key: id, foreign: nope}}
"""


@pytest.mark.parametrize(
    ("type_", "kind"),
    [
        ("VARCHAR(20)", "text"),
        ("ID", "integer"),
        ("int unsigned", "integer"),
        ("unsigned bigint", "integer"),
        ("double precision", "number"),
        ("NUMERIC(10, 2)", "number"),
        ("timestamp without time zone", "datetime"),
        ("TIMESTAMP WITH TIME ZONE", "datetime"),
        ("time", "time"),
        ("jsonb", "json"),
        ("bytea", "other"),
        ("", "other"),
    ],
)
def test_kinds_of_types(type_: str, kind: Kind) -> None:
    """A type of any database is one of a few kinds."""
    assert kind_of(type_) == kind


def test_models_are_found_by_any_of_their_names() -> None:
    """An id after $, a table, a table with its schema, or the id; case does not count."""
    for name in ("$agents.bot.order", "Orders", "orders", "sales.Orders", "agents.bot.order"):
        assert MODELS.find(name) is ORDER
    assert MODELS.find("$Orders") is None
    assert MODELS.get("product") is PRODUCT
    assert MODELS.nearest("prodct") == ("product",)
    assert MODELS.only(["products", "nothing"]).ids == ("product",)


def test_columns_that_differ_by_case() -> None:
    """Where two names differ by case, the case counts; elsewhere it does not."""
    assert ORDER.column("TOTAL") is ORDER.columns[2]
    assert ORDER.column("Id") is ORDER.columns[1]
    assert ORDER.column("ID") is None


def test_two_models_with_one_id_are_an_error() -> None:
    """An id means one model."""
    with pytest.raises(ValueError, match="two models have the id 'product'"):
        ModelSet((PRODUCT, PRODUCT))


def test_a_model_file_says_it_all(tmp_path: Path) -> None:
    """Labels, enumerations, relations, row rules, private and hidden columns are read."""
    (model,) = read_models(FILE, tmp_path / "models" / "order.mod.yaml")
    assert (model.id, model.table, model.label) == ("order", "orders", "Orders")
    assert model.description == "What was sold"
    assert model.primary_key == ("id",)
    assert model.columns[1].enum == ("open", "paid")
    assert model.columns[2].enum == (1, 2)
    assert not model.columns[3].nullable
    assert model.columns[4].private
    assert model.columns[4].synonyms == ("mail", "邮箱")
    assert model.hidden == ("note",)
    assert model.rows == ({"field": "customer_id", "=": "{user.id}"},)
    assert model.relations == (
        Relation(name="customer", model="customer", column="customer_id", foreign="id"),
    )


def test_an_assistants_own_models(tmp_path: Path) -> None:
    """The folder of an assistant is in the ids of its models; patterns and folders are followed."""
    folder = tmp_path / "assistants" / "bot" / "models"
    folder.mkdir(parents=True)
    (folder / "order.mod.yaml").write_text("table: t\ncolumns: [{name: id}]\n")
    (tmp_path / "product.mod.yaml").write_text("table: p\ncolumns: [{name: id}]\n")
    assert load_models([folder]).ids == ("agents.bot.order",)
    assert load_models([tmp_path / "*.mod.yaml"]).ids == ("product",)
    assert set(load_models([tmp_path]).ids) == {"agents.bot.order", "product"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("table: t\ncolumns: []\n", "columns"),
        ("columns: [{name: id}]\n", "table"),
        ("table: t\ncolumns: [{label: x}]\n", r"columns\.0\.name"),
        ("table: [\n", r"x\.mod\.yaml:\d+:\d+"),
        ("- 3\n", "x.mod.yaml"),
        (
            BROKEN_RELATION,
            "no column 'nope'",
        ),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, text: str, says: str) -> None:
    """What is wrong with a model file is said with the file's name and the place."""
    path = tmp_path / "x.mod.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=says):
        load_models([path])


def test_a_missing_file_and_an_id_twice(tmp_path: Path) -> None:
    """A pattern that finds nothing and an id in two files are errors."""
    with pytest.raises(ConfigError, match="no model file"):
        load_models([tmp_path / "*.mod.yaml"])
    for name in ("a", "b"):
        (tmp_path / f"{name}.mod.yaml").write_text("id: x\ntable: t\ncolumns: [{name: id}]\n")
    with pytest.raises(ConfigError, match=r"'x'.*too"):
        load_models([tmp_path])


SHOP = (
    "create table customers (id integer primary key, name varchar(40) not null, born date)",
    """create table orders (id integer primary key, total decimal(10,2), paid boolean,
       made_at timestamp, customer_id integer references customers(id))""",
    "create view dear as select * from orders where total > 100",
)


def test_a_database_is_reflected(tmp_path: Path) -> None:
    """Tables and views, types and keys, and relations from both sides; a model file holds them."""
    engine = sa.create_engine("sqlite://", poolclass=sa.pool.StaticPool)
    with engine.begin() as connection:
        for each in SHOP:
            connection.exec_driver_sql(each)
    found = reflect(engine)
    engine.dispose()
    assert found.ids == ("customers", "dear", "orders")
    orders = found.get("orders")
    assert orders is not None
    assert [each.kind for each in orders.columns] == [
        "integer",
        "number",
        "boolean",
        "datetime",
        "integer",
    ]
    assert orders.primary_key == ("id",)
    assert orders.relations == (
        Relation(name="customers", model="customers", column="customer_id", foreign="id"),
    )
    assert found.models[0].relations[0].kind == "many"
    path = tmp_path / "all.mod.yaml"
    path.write_text(dump_models(found))
    assert load_models([path]) == found


def test_duckdb_is_reflected() -> None:
    """DuckDB's own tables say the same."""
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect(":memory:")
    for each in SHOP:
        connection.execute(each)
    found = reflect_duckdb(connection)
    connection.close()
    orders = found.get("orders")
    assert orders is not None
    assert set(found.ids) == {"customers", "orders", "dear"}
    assert [each.kind for each in orders.columns][:4] == [
        "integer",
        "number",
        "boolean",
        "datetime",
    ]
    assert orders.relations[0].foreign == "id"
