"""``refdesk db``: what a database may be asked, and asking it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from refdesk.cli.options import ConfigOption, IdentityOption, JsonOption, config_path, read_identity
from refdesk.cli.output import FAILURE, PROBLEMS, out, print_json, put, say

if TYPE_CHECKING:
    from refdesk.config import Config
    from refdesk.db.databases import Databases
    from refdesk.db.dsl import Diagnostic, Query
    from refdesk.db.handler import DatabaseHandler
    from refdesk.db.reading import Scope
    from refdesk.types import SearchResult

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Ask a database, and see what it may be asked."
)

DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database", help="The database.", show_default="the only one of the configuration"
    ),
]
ModelOption = Annotated[
    list[str] | None,
    typer.Option("--model", help="Look at this model; may be repeated.", show_default=False),
]
FileArgument = Annotated[
    str, typer.Argument(help="A file with a query as JSON; - reads it here.", show_default=False)
]


@app.command()
def models(
    database: DatabaseOption = None,
    reflect: Annotated[
        bool,
        typer.Option(
            "--reflect", help="Read the database's own schema, and print it as a model file."
        ),
    ] = False,
    identity: IdentityOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """List what may be asked about, as the asker may know it."""
    who = read_identity(identity)

    async def show(handler: DatabaseHandler) -> None:
        from refdesk.db.reading import describe

        if reflect:
            from refdesk.db.model_files import dump_models

            name = _only(handler.databases, database)
            found = await handler.databases.get(name).reflect()
            if json:
                print_json({"database": name, "models": describe(found)})
            else:
                put(dump_models(found), end="")
            return
        scope = await _scope(handler, database, None, who)
        if json:
            name = scope.database.name
            print_json({"database": name, "models": describe(scope.visible)})
            return
        _print_models(scope)

    _run(config, show)


@app.command()
def lint(
    file: FileArgument,
    database: DatabaseOption = None,
    identity: IdentityOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Say what is wrong with a query.  Exit status 3 if something is."""
    who, text = read_identity(identity), _text(file)

    async def check(handler: DatabaseHandler) -> bool:
        from refdesk.db.reading import lint_for

        scope = await _scope(handler, database, None, who)
        found = lint_for(text, scope)
        wrong = any(each.severity == "error" for each in found)
        if json:
            print_json({"valid": not wrong, "diagnostics": _plain(found)})
        else:
            for each in found:
                put(str(each))
        return wrong

    if _run(config, check):
        raise typer.Exit(PROBLEMS)


@app.command("compile")
def compile_(
    file: FileArgument,
    database: DatabaseOption = None,
    identity: IdentityOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Print a query as the database is asked it: SQL, with the values beside it."""
    who, text = read_identity(identity), _text(file)

    async def show(handler: DatabaseHandler) -> bool:
        from refdesk.db.dsl import QueryError
        from refdesk.db.gate import write
        from refdesk.db.reading import compile_for

        scope = await _scope(handler, database, None, who)
        try:
            query = _query(text)
            statement = compile_for(query, scope)
        except QueryError as error:
            for each in error.diagnostics:
                say(str(each))
            return False
        written = write(statement, scope.database.dialect)
        if json:
            print_json({"sql": written.sql, "params": dict(written.params)})
        else:
            put(written.sql)
            for name, value in written.params.items():
                put(f"  {name} = {value!r}")
        return True

    if not _run(config, show):
        raise typer.Exit(FAILURE)


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="What to ask.", show_default=False)],
    database: DatabaseOption = None,
    model: ModelOption = None,
    limit: Annotated[
        int | None, typer.Option(min=1, max=1000, help="The most rows.", show_default="20")
    ] = None,
    identity: IdentityOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """
    Ask in plain words, and print the rows and the query that gave them.

    Exit status 1 if it could not be answered; 0 if it could, also with no row.
    """
    if not question.strip():
        raise typer.BadParameter("it is empty: there is nothing to ask", param_hint="QUESTION")
    who = read_identity(identity)
    result = _asked(config, question, database, model, limit, who)
    if json:
        from refdesk.search.emit import result_json

        shown = result_json(result)
        print_json(shown | {"error": result.error, "notices": list(result.notices)})
    else:
        _print_rows(result)
    for notice in result.notices if not json else ():
        say(f"note: {notice}")
    if result.error is not None:
        if not json:
            say(result.error)
        raise typer.Exit(FAILURE)


def _asked(
    config: Path | None,
    question: str,
    database: str | None,
    model: list[str] | None,
    limit: int | None,
    who: dict[str, Any] | None,
) -> SearchResult:
    from refdesk.cli._store import store_if_well
    from refdesk.desk.parts import open_parts

    loaded = _config(config)
    _only_or_none(loaded.databases, database)
    store = store_if_well(loaded)

    async def run() -> SearchResult:
        async with AsyncExitStack() as stack:
            parts = await open_parts(loaded, stack, store=store, engines=lambda _: {})
            return await parts.searcher.search(
                {
                    "query": question,
                    "type": "db",
                    "source": "user",
                    "database": database,
                    "models": model or None,
                    "limit": limit,
                },
                identity=who,
            )

    try:
        return asyncio.run(run())
    finally:
        if store is not None:
            store.close()


def _run(config: Path | None, job: Callable[[DatabaseHandler], Awaitable[Any]]) -> Any:
    from refdesk.db.databases import Databases
    from refdesk.db.handler import DatabaseHandler

    loaded = _config(config)
    databases = Databases(loaded.databases)

    async def run() -> Any:
        return await job(DatabaseHandler(databases, config=loaded.search))

    try:
        return asyncio.run(run())
    finally:
        databases.close()


def _config(config: Path | None) -> Config:
    from refdesk.cli.check import read_checked

    return read_checked(config_path(config)).config


async def _scope(
    handler: DatabaseHandler,
    database: str | None,
    chosen: list[str] | None,
    who: dict[str, Any] | None,
) -> Scope:
    name = _only(handler.databases, database)
    # Looking at a database is not bound to what is searched by default.
    known, _ = await handler.databases.get(name).models()
    scope, notices = await handler.scope(name, chosen or known.ids, who)
    for notice in notices:
        say(f"note: {notice}")
    return scope


def _only(databases: Databases, named: str | None) -> str:
    _only_or_none(dict.fromkeys(databases.names), named)
    return named or databases.names[0]


def _only_or_none(databases: Any, named: str | None) -> None:
    names = ", ".join(databases) or "none"
    if named is not None and named not in databases:
        from refdesk.errors import UnknownName

        raise UnknownName("database", named, databases)
    if named is None and len(databases) != 1:
        raise typer.BadParameter(
            f"name one of the databases of the configuration: {names}", param_hint="--database"
        )


def _text(file: str) -> str:
    try:
        if file == "-":
            return sys.stdin.read()
        return Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"{file!r}: {error.strerror}", param_hint="FILE") from None
    except UnicodeDecodeError:
        raise typer.BadParameter(f"{file!r} is not UTF-8 text", param_hint="FILE") from None


def _query(text: str) -> Query:
    import msgspec

    from refdesk.db.dsl.parse import parse

    try:
        document = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise typer.BadParameter(f"it is not JSON: {error}", param_hint="FILE") from None
    return parse(document)


def _plain(found: list[Diagnostic]) -> Any:
    import msgspec

    return msgspec.to_builtins(found)


def _print_models(scope: Scope) -> None:
    from rich.text import Text

    from refdesk.cli._table import printable

    for model in scope.visible:
        head = Text(printable(model.id), style="bold")
        if model.label:
            head.append(f"  {printable(model.label)}", style="dim")
        out().print(head)
        for column in model.columns:
            line = Text(f"  {printable(column.name)}")
            line.append(f"  {column.type}", style="dim")
            if column.label or column.description:
                said = printable(" - ".join(filter(None, (column.label, column.description))))
                line.append(f"  {said}", style="dim")
            out().print(line)
        for relation in model.relations:
            said = f"  {relation.column} is {relation.model}.{relation.foreign}"
            out().print(Text(printable(said), style="dim"))


def _print_rows(result: SearchResult) -> None:
    import msgspec

    from refdesk.cli._table import print_columns, printable

    rows = [item.data or {} for item in result.items]
    if rows:
        names = list(rows[0])
        cells = [["" if row[name] is None else str(row[name]) for name in names] for row in rows]
        print_columns(
            tuple(printable(name.upper()) for name in names),
            [tuple(printable(" ".join(cell.split())[:60]) for cell in row) for row in cells],
        )
    if result.dsl is not None:
        said = msgspec.json.encode(result.dsl, enc_hook=str).decode()
        say(f"query: {printable(said)}")
    if result.error is None:
        number = {0: "no rows", 1: "1 row"}.get(len(rows), f"{len(rows)} rows")
        say(f"{number} in {result.duration_ms / 1000:.2f} s")
