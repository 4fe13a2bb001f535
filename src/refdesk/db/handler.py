"""
Database search: a question made into a query, run under the asker's rights, its rows to be cited.

Permission is put in where the query is compiled, from the request's identity; whoever made the
query, rules, an assistant, a tool or a caller, cannot leave it out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Any, Final, Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from refdesk import clock
from refdesk.config.library import LibrarySection
from refdesk.db.databases import Database, Databases
from refdesk.db.dsl import Condition, Field, Query, QueryError, Selected, Star, Statement
from refdesk.db.dsl.compile import count_of
from refdesk.db.dsl.parse import parse_conditions, parse_orders, parse_select
from refdesk.db.dsl.translate import has_aggregate
from refdesk.db.dsl.types import Identity
from refdesk.db.dsl.write import to_document
from refdesk.db.execute import ExecutionFailed, Rows
from refdesk.db.gate import Refused, write
from refdesk.db.generate import Generated, generate
from refdesk.db.generate.delegate import generate_by_delegate
from refdesk.db.reading import Scope, compile_for
from refdesk.db.results import RECORD, items_of
from refdesk.db.schema import Model, ModelSet
from refdesk.errors import ConfigError, DelegateError, RefdeskError, UnknownName
from refdesk.types import SearchRequest, SearchResult, SearchType
from refdesk.uses import BUILTIN, Uses

_LIMIT: Final = 20
_MOST: Final = 1000
"""How many rows a request over HTTP or a command may ask for."""


class Traced(Protocol):
    """Whoever is told what is done, such as a search's trace."""

    def log(self, level: Any, message: str, **details: Any) -> Any:
        """Note something."""
        ...


class Asker(Protocol):
    """What a search knows besides its request: the library's context is one."""

    @property
    def identity(self) -> Identity | None:
        """Who asks."""
        ...

    @property
    def trace(self) -> Traced:
        """Told what is done."""
        ...

    @property
    def delegates(self) -> Any:
        """Whoever calls assistants and tools; handed on, and not looked into."""
        ...


class NotAnswered(RefdeskError):
    """A database search that ends without rows; the sentence is its result's error."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Preset:
    """What a request adds to whatever query is made of its question."""

    wheres: tuple[Condition, ...] = ()
    orders: tuple[Any, ...] = ()
    select: tuple[Selected, ...] = ()


class DatabaseHandler:
    """
    Searches of the type ``db``.

    Args:
        databases: The databases.
        config: The section ``search``.
        querydsl: Who makes queries of questions.
        now: What time it is.
    """

    type: SearchType = "db"

    def __init__(
        self,
        databases: Databases,
        *,
        config: LibrarySection,
        querydsl: Uses = BUILTIN,
        now: Callable[[], datetime] = clock.now,
    ) -> None:
        self.databases = databases
        self._now = now
        self.configure(config, querydsl)

    def configure(self, config: LibrarySection, querydsl: Uses) -> None:
        """Take in a new configuration; searches under way end under the old one."""
        self._config = config
        self._querydsl = querydsl

    async def search(self, request: SearchRequest, *, context: Asker) -> SearchResult:
        """Answer a question with rows; why it has none is the result's error."""
        blank = SearchResult(type="db", query=request.query, source=request.source)
        try:
            scope, notices = await self.scope(request.database, request.models, context.identity)
            blank = replace(blank, engine=f"db:{scope.database.name}", notices=notices)
            if not request.query.strip():
                raise NotAnswered("query is required")
            preset = _read_preset(request)
            limit = min(request.limit or _LIMIT, scope.database.runner.bounds.rows)
            made = await self._generated(request, scope, limit, context)
            blank = replace(blank, notices=(*notices, *made.notices))
            if made.query is None:
                return replace(blank, error=made.refused)
            context.trace.log("debug", "Query made", by=str(self._querydsl))
            return await self._found(blank, made.query, scope, preset, limit)
        except NotAnswered as error:
            return replace(blank, error=str(error))
        except QueryError as error:
            return replace(blank, error=f"QueryDSL generation failed: {error}")
        except (ExecutionFailed, Refused) as error:
            return replace(blank, error=f"query execution failed: {error}")

    async def ask(
        self, query: Query, scope: Scope, *, limit: int = _LIMIT, question: str = ""
    ) -> SearchResult:
        """
        Run a query that somebody wrote, under the same rules as one made of a question.

        Raises:
            RefdeskError: It cannot be, or was not run.
        """
        blank = SearchResult(type="db", query=question, engine=f"db:{scope.database.name}")
        return await self._found(blank, query, scope, Preset(), limit)

    async def scope(
        self,
        database: str | None,
        models: Sequence[str] | None,
        identity: Identity | None,
    ) -> tuple[Scope, tuple[str, ...]]:
        """
        Return what a search may read, and what is to be said of it.

        Args:
            database: Its name; None where there is only one, or only one has these models.
            models: The models that may be read; None: all that the configuration allows.
            identity: Who asks.

        Raises:
            RefdeskError: There is no such database or model, or they cannot be read.
        """
        chosen = await self._chosen(database, models)
        known, permission = await chosen.models()
        wanted = tuple(models or self._config.db.models)
        found = known.only(wanted) if wanted else known
        unknown = [name for name in wanted if known.get(name) is None and known.find(name) is None]
        said = tuple(_unknown_model(name, known, chosen.name) for name in unknown)
        if not len(found):
            raise NotAnswered(
                "no valid models found: " + ("; ".join(said) or f"{chosen.name!r} has no tables")
            )
        now = self._now()
        scope = Scope(
            database=chosen,
            models=found,
            permission=permission,
            identity=identity,
            now=now.astimezone(_zone(self._config.db.timezone, now)),
        )
        return scope, said

    async def _chosen(self, name: str | None, models: Sequence[str] | None) -> Database:
        if name is not None:
            try:
                return self.databases.get(name)
            except UnknownName as error:
                raise NotAnswered(str(error)) from None
        if not len(self.databases):
            raise NotAnswered("no database is configured; add one under `databases`")
        if len(self.databases) == 1:
            return next(iter(self.databases))
        wanted = tuple(models or self._config.db.models)
        if not wanted:
            raise NotAnswered(
                "no models specified: name a database "
                f"({', '.join(self.databases.names)}), or models of one"
            )
        having = [each for each in self.databases if len((await _known(each)).only(wanted))]
        if len(having) == 1:
            return having[0]
        names = ", ".join(each.name for each in having) or "none"
        raise NotAnswered(
            f"the models {', '.join(wanted)} are of {names} of the databases "
            f"{', '.join(self.databases.names)}; name the database"
        )

    async def _generated(
        self, request: SearchRequest, scope: Scope, limit: int, context: Asker
    ) -> Generated:
        visible = scope.visible
        now = self._now()
        zone = _zone(self._config.db.timezone, now)
        samples = await scope.database.samples.of(scope.models, scope.permission, scope.identity)
        if not self._querydsl.delegated:
            return generate(
                request.query, visible, now=now, timezone=zone, samples=samples, limit=limit
            )
        strict = self._config.querydsl.strict
        try:
            return await generate_by_delegate(
                request.query,
                visible,
                delegate=context.delegates,
                target=self._querydsl,
                now=now,
                timezone=zone,
                samples=samples,
                limit=limit,
            )
        except DelegateError as error:
            if strict:
                raise NotAnswered(f"QueryDSL generation failed: {error}") from None
            return Generated(query=None, notices=(f"QueryDSL generation failed: {error}",))

    async def _found(
        self, blank: SearchResult, query: Query, scope: Scope, preset: Preset, limit: int
    ) -> SearchResult:
        asked = _merged(query, preset)
        model = _primary(asked, scope.models)
        wider = asked.limit is None or (isinstance(asked.limit, int) and asked.limit >= limit)
        # One row more than is given tells whether there are more.
        open_ended = replace(asked, limit=None) if wider and not asked.paged else asked
        marked = _with_record(open_ended, model, scope)
        database = scope.database
        statement = compile_for(marked, scope, preset=preset.wheres, limit_cap=limit + 1)
        tables = scope.tables
        rows: Rows = await database.runner.run(
            write(statement, database.dialect, tables=tables), max_rows=limit + 1, now=scope.now
        )
        more = len(rows.rows) > limit
        shown = rows.rows[:limit]
        first = _offset(asked) + 1
        notices = list(blank.notices)
        if more:
            total = await _count(statement, scope, tables)
            of = f"of {total}" if total is not None else "of more"
            notices.append(
                f"rows {first} to {first + limit - 1} {of} are given; {_remedy(limit, database)}"
            )
        if rows.cut and not more:
            notices.append(_cut_notice(rows.cut, database))
        return replace(
            blank,
            items=tuple(items_of(shown, model, first=first)),
            total=len(shown),
            dsl=to_document(asked),
            notices=tuple(notices),
        )


def _read_preset(request: SearchRequest) -> Preset:
    try:
        return Preset(
            wheres=parse_conditions([dict(each) for each in request.wheres]),
            orders=parse_orders(list(request.orders)),
            select=parse_select(list(request.select)),
        )
    except QueryError as error:
        raise NotAnswered(f"the request's own conditions cannot be read: {error}") from None


def _merged(query: Query, preset: Preset) -> Query:
    select = query.select
    if preset.select:
        kept = [each for each in select if each not in preset.select]
        select = (*preset.select, *(each for each in kept if not isinstance(each.value, Star)))
    return replace(query, select=select, orders=(*preset.orders, *query.orders))


def _primary(query: Query, models: ModelSet) -> Model:
    """Return the model that rows are said to be of: the one that is read first."""
    source = query.source
    while source.name is None and source.query is not None:
        source = source.query.source
    found = models.find(source.name or "")
    if found is None:
        named = (source.name or "")[:80]
        raise NotAnswered(
            f"QueryDSL generation failed: there is no model {named!r} here; "
            f"there are {', '.join(models.ids)}"
        )
    return found


def _with_record(query: Query, model: Model, scope: Scope) -> Query:
    """Ask for the record's id besides, where each row is one record."""
    plain = (
        not (query.groups or query.havings or query.joins or query.unions or query.distinct)
        and query.source.query is None
    )
    key = model.primary_key
    if not plain or len(key) != 1 or key[0].lower() in scope.permission.hidden(model.id):
        return query
    if any(has_aggregate(each.value) for each in query.select):
        return query
    column = Selected(value=Field(name=key[0], source=query.source.alias), alias=RECORD)
    select = query.select or (Selected(value=Star()),)
    return replace(query, select=(*select, column))


def _offset(query: Query) -> int:
    if isinstance(query.page, int):
        size = query.pagesize if isinstance(query.pagesize, int) else _LIMIT
        return max(0, query.page - 1) * size
    return query.offset if isinstance(query.offset, int) else 0


async def _count(statement: Statement, scope: Scope, tables: set[str]) -> int | None:
    database = scope.database
    try:
        rows = await database.runner.run(
            write(count_of(statement), database.dialect, tables=tables), now=scope.now
        )
    except (ExecutionFailed, Refused):
        return None  # what was found is good without it
    value = rows.rows[0]["total"] if rows.rows else None
    return value if isinstance(value, int) else None


def _remedy(limit: int, database: Database) -> str:
    """Return how to come to the rows that a limit left out."""
    bound = database.runner.bounds.rows
    if limit < min(bound, _MOST):
        return "ask for a higher limit, or for less at once"
    if limit == bound < _MOST:
        return (
            f"{bound} is databases.{database.name}.limits.rows; "
            "ask for less at once, or for a count or a sum, or raise it"
        )
    return (
        f"{limit} rows are the most that one search gives; "
        "ask for less at once, with a condition, or for a count or a sum"
    )


def _cut_notice(cut: str, database: Database) -> str:
    bounds = database.runner.bounds
    if cut == "cells":
        return f"values of more than {bounds.cell_chars} characters are cut"
    what = f"{bounds.rows} rows" if cut == "rows" else f"{bounds.bytes} bytes"
    return (
        f"only the first {what} were read; ask for less, "
        f"or raise databases.{database.name}.limits.{cut}"
    )


def _unknown_model(name: str, known: ModelSet, database: str) -> str:
    near = known.nearest(name)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{database!r} has no model {name[:80]!r}{hint}"


async def _known(database: Database) -> ModelSet:
    try:
        return (await database.models())[0]
    except RefdeskError:
        return ModelSet()


def _zone(name: str | None, now: datetime) -> tzinfo:
    if name is None:
        assert now.tzinfo is not None
        return now.tzinfo
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise ConfigError(
            f"search.db.timezone is {name!r}, which is no time zone; write one such as "
            "Europe/Berlin"
        ) from None
