"""The databases of a configuration: what each may be asked, by whom, over what connection."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from refdesk.config.library import DatabaseEntry
from refdesk.db.dsl.values import Dialect
from refdesk.db.execute import Bounds, Runner
from refdesk.db.model_files import load_models
from refdesk.db.permission import Permission, read_permission
from refdesk.db.reflection import reflect, reflect_duckdb
from refdesk.db.sampling import Samples
from refdesk.db.schema import ModelSet
from refdesk.errors import ConfigError, RefdeskError, UnknownName

REFLECTED_S: Final = 300.0
"""How long a schema that was read from a database is held to be right, in seconds."""
_REFLECT: Final = "reflect"


class Database:
    """
    A database that may be asked.

    Args:
        name: What the configuration calls it.
        entry: What the configuration says of it.
        clock: A monotonic clock, in seconds.

    Raises:
        ConfigError: Its URL is of no database that can be asked.
    """

    def __init__(
        self, name: str, entry: DatabaseEntry, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.name = name
        self.entry = entry
        limits = entry.limits
        self.runner = Runner(
            name, entry.url, Bounds(rows=limits.rows, bytes=limits.bytes, seconds=limits.seconds)
        )
        self.samples = Samples(self.runner, clock=clock)
        self._clock = clock
        self._known: tuple[ModelSet, Permission] | None = None
        self._read_at = 0.0
        self._reading = asyncio.Lock()

    @property
    def dialect(self) -> Dialect:
        """Its kind, such as ``sqlite``."""
        return self.runner.dialect

    @property
    def reflected(self) -> bool:
        """Whether its models come from the database itself."""
        return self.entry.models == (_REFLECT,)

    async def models(self) -> tuple[ModelSet, Permission]:
        """
        Return its models and who may see what of them.

        Raises:
            RefdeskError: They cannot be read; the sentence says why.
        """
        async with self._reading:
            fresh = not self.reflected or self._clock() - self._read_at < REFLECTED_S
            if self._known is None or not fresh:
                self._known = await self.runner.call(lambda _: self._read())
                self._read_at = self._clock()
            return self._known

    async def reflect(self) -> ModelSet:
        """Return the models that the database itself has, whatever the configuration says."""
        return await self.runner.call(lambda _: self._reflected())

    def close(self) -> None:
        """Let go of all connections."""
        self.runner.close()

    def _read(self) -> tuple[ModelSet, Permission]:
        if self.reflected:
            models = self._reflected()
        else:
            models = load_models([Path(pattern) for pattern in self.entry.models])
        try:
            return models, read_permission(self.entry.permission, models)
        except ConfigError as error:
            raise ConfigError(f"databases.{self.name}.permission: {error}") from None

    def _reflected(self) -> ModelSet:
        try:
            if self.dialect == "duckdb":
                with contextlib.closing(self.runner.connect()) as connection:
                    return reflect_duckdb(connection)
            engine = self.runner.engine()
            try:
                return reflect(engine)
            finally:
                engine.dispose()
        except RefdeskError:
            raise
        except Exception as error:
            # Its message may hold the URL.
            raise ConfigError(
                f"the schema of the database {self.name!r} could not be read "
                f"({type(error).__name__}); see that it runs, and that databases.{self.name}.url "
                "is right"
            ) from None


class Databases:
    """
    All databases of a configuration, by name.

    Raises:
        ConfigError: A database's URL is of no database that can be asked.
    """

    def __init__(self, entries: Mapping[str, DatabaseEntry]) -> None:
        self._all = {name: Database(name, entry) for name, entry in entries.items()}

    def __iter__(self) -> Iterator[Database]:
        return iter(self._all.values())

    def __len__(self) -> int:
        return len(self._all)

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, in the order of the configuration."""
        return tuple(self._all)

    def get(self, name: str) -> Database:
        """Return the database of that name, or raise UnknownName, which lists the known ones."""
        try:
            return self._all[name]
        except KeyError:
            raise UnknownName("database", name, self._all) from None

    def configure(self, entries: Mapping[str, DatabaseEntry]) -> None:
        """
        Take in a new configuration; databases that are as they were keep their connections.

        Raises:
            ConfigError: It is wrong; all stays as it was.
        """
        changed = {
            name: Database(name, entry)
            for name, entry in entries.items()
            if name not in self._all or self._all[name].entry != entry
        }
        gone = [each for name, each in self._all.items() if name in changed or name not in entries]
        self._all = {name: changed.get(name) or self._all[name] for name in entries}
        for database in gone:
            database.close()

    def close(self) -> None:
        """Let go of all connections."""
        for database in self:
            database.close()
