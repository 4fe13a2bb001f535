"""
Model files, ``*.mod.yaml``: what a table and its columns mean, written down.

    name: Order
    table: {name: orders}              # or: table: orders
    columns:
      - {name: id, type: ID, label: Number}
      - {name: status, type: enum, option: [open, paid], description: Where it stands}
    relations:
      customer: {type: hasOne, model: customer, key: id, foreign: customer_id}
    permission: {rows: [{field: owner_id, "=": "{user.id}"}], hidden: [note]}

The id of ``models/shop/order.mod.yaml`` is ``order``, unless the file has an ``id``; a folder
``assistants/<name>/models`` makes it ``agents.<name>.order``.  A file may hold several models, as a
list or under ``models``.
"""

from __future__ import annotations

import glob
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from ruamel.yaml import YAML

from refdesk.config.yaml_tree import parse as parse_yaml
from refdesk.db.schema import Column, Model, ModelSet, Relation
from refdesk.errors import ConfigError

_SUFFIXES: Final = (".mod.yaml", ".mod.yml", ".mod.yao", ".yaml", ".yml")
MAX_FILES: Final = 1000
"""Model files of one database; more are a fault of the configuration."""


def _listed(value: Any) -> Any:
    """Take one word for a list of one; enumerations may be ``{label, value}``."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list):
        return [each.get("value") if isinstance(each, dict) else each for each in value]
    return value


def _table(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


_Words = Annotated[tuple[str, ...], BeforeValidator(_listed)]
_Values = Annotated[tuple[str | int | float | bool, ...], BeforeValidator(_listed)]


class _Written(BaseModel):
    # Members of the host platform's own (index, length, crypt, …) say nothing about a search.
    model_config = ConfigDict(extra="ignore", frozen=True, coerce_numbers_to_str=True)


class _Column(_Written):
    name: str = Field(min_length=1)
    type: str = "string"
    label: str | None = None
    description: str | None = Field(
        default=None, validation_alias=AliasChoices("description", "comment")
    )
    synonyms: _Words = ()
    enum: _Values = Field(default=(), validation_alias=AliasChoices("enum", "option", "options"))
    nullable: bool = True
    primary: bool = False
    private: bool = False
    hidden: bool = False


class _Relation(_Written):
    type: str = "one"
    model: str
    key: str
    foreign: str


class _Table(_Written):
    name: str = Field(min_length=1)
    db_schema: str | None = Field(default=None, validation_alias=AliasChoices("schema"))
    comment: str | None = None


class _Permission(_Written):
    rows: tuple[dict[str, Any], ...] = ()
    hidden: _Words = ()


class _Model(_Written):
    id: str | None = None
    name: str | None = None
    label: str | None = None
    description: str | None = None
    synonyms: _Words = ()
    table: Annotated[_Table, BeforeValidator(_table)]
    columns: tuple[_Column, ...] = Field(min_length=1)
    relations: dict[str, _Relation] = {}
    permission: _Permission = _Permission()


def load_models(patterns: Iterable[Path | str]) -> ModelSet:
    """
    Read model files.

    Args:
        patterns: Files, folders, or patterns such as ``models/*.mod.yaml``.

    Raises:
        ConfigError: A file is missing or wrong, or two models have one id; it names the file.
    """
    models: dict[str, tuple[Model, Path]] = {}
    for path in _files(patterns):
        for model in read_models(_text(path), path):
            if model.id in models:
                raise ConfigError(
                    f"{path}: the model {model.id!r} is in {models[model.id][1]} too; give one "
                    "another id"
                )
            models[model.id] = (model, path)
    found = ModelSet(tuple(model for model, _ in models.values()))
    for model, path in models.values():
        _check_relations(model, found, path)
    return found


def read_models(text: str, path: Path) -> tuple[Model, ...]:
    """Read the text of one model file, or raise ConfigError, which names the file and the line."""
    tree = parse_yaml(text)
    if tree.faults:
        fault = tree.faults[0]
        raise ConfigError(f"{path}:{fault.line}:{fault.column}: {fault.text}")
    value = tree.value
    listed = value.get("models") if isinstance(value, dict) and "models" in value else value
    documents = listed if isinstance(listed, list) else [listed]
    models = []
    for document in documents:
        try:
            written = _Model.model_validate(document)
        except ValidationError as exc:
            error = exc.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, error["loc"])) or "the file"
            raise ConfigError(f"{path}: {where}: {error['msg']}") from None
        models.append(_model(written, path, alone=len(documents) == 1))
    return tuple(models)


def dump_models(models: ModelSet) -> str:
    """Return models as the text of one model file."""
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.width = 100
    out = io.StringIO()
    yaml.dump({"models": [_document(model) for model in models]}, out)
    return out.getvalue()


def _files(patterns: Iterable[Path | str]) -> list[Path]:
    found: list[Path] = []
    for pattern in patterns:
        path = Path(pattern)
        if path.is_dir():
            matches = sorted(each for each in path.rglob("*") if each.name.endswith(_SUFFIXES[:3]))
        elif path.is_file():
            matches = [path]
        else:
            matches = sorted(Path(each) for each in glob.glob(str(path), recursive=True))  # noqa: PTH207
        if not matches:
            raise ConfigError(f"there is no model file {str(pattern)!r}; write one, or `reflect`")
        found += [each for each in matches if each not in found]
    if len(found) > MAX_FILES:
        raise ConfigError(f"{len(found)} model files are more than {MAX_FILES}; name fewer")
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"the model file {path} cannot be read: {type(exc).__name__}") from None


def _model(written: _Model, path: Path, *, alone: bool) -> Model:
    permission = written.permission
    columns = tuple(
        Column(
            name=each.name,
            type=each.type,
            label=each.label,
            description=each.description,
            synonyms=each.synonyms,
            enum=each.enum,
            nullable=each.nullable,
            primary=each.primary or each.type.lower() == "id",
            private=each.private,
        )
        for each in written.columns
    )
    hidden = (*permission.hidden, *(each.name for each in written.columns if each.hidden))
    return Model(
        id=written.id or (_id_of(path) if alone else written.table.name),
        table=written.table.name,
        schema=written.table.db_schema,
        columns=columns,
        label=written.label or written.name,
        description=written.description or written.table.comment,
        synonyms=written.synonyms,
        relations=tuple(
            Relation(
                name=name,
                model=each.model,
                # As the seed has it: `key` is the other model's column, `foreign` is this one's.
                column=each.foreign,
                foreign=each.key,
                kind=_kind(each.type),
            )
            for name, each in written.relations.items()
        ),
        rows=permission.rows,
        hidden=hidden,
    )


def _kind(type_: str) -> Literal["one", "many"]:
    return "many" if "many" in type_.lower() else "one"


def _id_of(path: Path) -> str:
    name = path.name
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    match path.parts:
        case [*_, "assistants", assistant, "models", _]:
            return f"agents.{assistant}.{name}"
    return name


def _check_relations(model: Model, models: ModelSet, path: Path) -> None:
    for each in model.relations:
        other = models.get(each.model)
        if model.column(each.column) is None:
            raise ConfigError(f"{path}: relation {each.name!r}: no column {each.column!r} here")
        if other is not None and other.column(each.foreign) is None:
            raise ConfigError(
                f"{path}: relation {each.name!r}: {each.model!r} has no column {each.foreign!r}"
            )


def _document(model: Model) -> Mapping[str, Any]:
    table: Any = model.table
    if model.schema:
        table = {"name": model.table, "schema": model.schema}
    document = {
        "id": model.id,
        "table": table,
        "label": model.label,
        "description": model.description,
        "synonyms": list(model.synonyms),
        "columns": [_column(each) for each in model.columns],
        "relations": {
            each.name: {
                "type": each.kind,
                "model": each.model,
                "key": each.foreign,
                "foreign": each.column,
            }
            for each in model.relations
        },
        "permission": {
            key: value
            for key, value in (
                ("rows", [dict(each) for each in model.rows]),
                ("hidden", list(model.hidden)),
            )
            if value
        },
    }
    return {key: value for key, value in document.items() if value}


def _column(column: Column) -> dict[str, Any]:
    document: dict[str, Any] = {"name": column.name, "type": column.type}
    for key in ("label", "description"):
        if getattr(column, key):
            document[key] = getattr(column, key)
    for key in ("synonyms", "enum"):
        if getattr(column, key):
            document[key] = list(getattr(column, key))
    if not column.nullable:
        document["nullable"] = False
    for key in ("primary", "private"):
        if getattr(column, key):
            document[key] = True
    return document
