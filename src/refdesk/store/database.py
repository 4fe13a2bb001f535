"""
The store: everything that outlives a request, behind one object.

Only `Writer.offer`, `Ledger.today`, `Ledger.add`, `KeyRing.check` and the sealer are for the path
of a request.  All else waits for the database: call it with `Store.run` from an event loop.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Final, ParamSpec, TypeVar

from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from refdesk.errors import StoreError
from refdesk.store.connection import BUSY_TIMEOUT_S, Database
from refdesk.store.files import check_sqlite, damaged, make_file, make_folder, read_or_make_key
from refdesk.store.graph import Graph
from refdesk.store.jobs import Jobs
from refdesk.store.keyring import KeyRing
from refdesk.store.keys import ClientKeys
from refdesk.store.knowledge import KnowledgeStore
from refdesk.store.ledger import Ledger
from refdesk.store.locks import ServerLock, turn
from refdesk.store.requests import RequestLog
from refdesk.store.schema import bring_up, get_meta, put_meta, schema_of
from refdesk.store.sealing import Sealer, StoreKey, token_key_id
from refdesk.store.searches import Searches
from refdesk.store.settings import Settings, reseal
from refdesk.store.staging import Staging
from refdesk.store.writer import Writer

P = ParamSpec("P")
T = TypeVar("T")

KEY_FILE: Final = "store.key"
_KEY_CHECK: Final = "key_check"
_CHECK_PURPOSE: Final = b"store check"
_READ_OWN_WRITES_S: Final = 1.0


def _now() -> datetime:
    return datetime.now(UTC)


class Store:
    """An open store.  Made by `open`; safe to share between threads; not across a fork."""

    def __init__(
        self,
        database: Database,
        sealer: Sealer,
        *,
        data_dir: Path | None,
        upgraded_from: str | None = None,
        now: Callable[[], datetime] = _now,
    ) -> None:
        self._database = database
        self._data_dir = data_dir
        self._now = now
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="refdesk-store-read")
        self.sealer = sealer
        self.upgraded_from = upgraded_from
        """The schema that was found on opening; None if there was no database yet."""
        self.requests = RequestLog(database)
        self.searches = Searches(database)
        self.graph = Graph(database)
        self.knowledge = KnowledgeStore(database, now=now)
        self.staging = Staging(database)
        self.jobs = Jobs(database, now=now)
        self.settings = Settings(database, sealer, now=now)
        self.keys = ClientKeys(database, now=now)
        self.ledger = Ledger(database, now=now)
        self.writer = Writer(database, self.ledger)

    @classmethod
    def open(
        cls,
        url: str,
        *,
        data_dir: Path | None = None,
        key: StoreKey | None = None,
        upgrade: bool = True,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        now: Callable[[], datetime] = _now,
    ) -> Store:
        """
        Open a store, and make it on the first start.

        Args:
            url: ``sqlite:///path/refdesk.db`` or ``postgresql+psycopg://…``.
            data_dir: Where the key file and the locks lie; the folder of the database file if
                None.  Made with mode 0700.
            key: The store key.  None: that of ``store.key`` in the data folder, made with mode
                0600 on the first start.  With PostgreSQL it must be given.
            upgrade: Whether an older schema may be brought up.  False: StoreError names the
                command.
            busy_timeout_s: How long a write waits for another process (SQLite).
            now: What time it is.

        Raises:
            StoreError: It cannot be opened, is damaged, of a newer version, or sealed with
                another key.  The message says what to do.
        """
        database = Database(url, busy_timeout_s=busy_timeout_s)
        try:
            if database.path is None:
                folder = None
                key = _given(database, key)
                found = bring_up(database, upgrade=upgrade)
                sealer = _sealer(database, key)
            else:
                folder = data_dir or database.path.parent
                make_folder(folder)
                make_folder(database.path.parent)
                with turn(folder / "store.lock"):
                    make_file(database.path)
                    check_sqlite(database.path)
                    key = key or _key_of_folder(database, folder)
                    found = bring_up(database, upgrade=upgrade)
                    sealer = _sealer(database, key)
        except StoreError as exc:
            database.close()
            cause = exc.__cause__
            if database.path and isinstance(cause, DatabaseError) and "malformed" in str(cause):
                raise damaged(database.path, database.explain(cause)) from None
            raise
        return cls(database, sealer, data_dir=folder, upgraded_from=found, now=now)

    def __repr__(self) -> str:
        return f"Store({self._database.name})"

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The file, or the server and database, without user and password."""
        return self._database.name

    @property
    def embedded(self) -> bool:
        """Whether it is a file that one server may have at a time."""
        return self._database.embedded

    def lock_server(self) -> ServerLock:
        """
        Become the one server of an embedded store; on PostgreSQL every replica may.

        Raises:
            StoreError: Another process is; the message says which.
        """
        return lock_server(self._data_dir)

    def key_ring(self) -> KeyRing:
        """Return the client keys, loaded."""
        ring = KeyRing(self.keys, now=self._now)
        ring.reload()
        return ring

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """
        Do a call of this store in a thread of its own, after what was offered before is written.

        So ``await store.run(store.searches.get, ids)`` finds a search that this process offered
        a moment ago; a database that does not answer holds it up by one second at most.
        """

        def done() -> T:
            self.writer.drain(_READ_OWN_WRITES_S)
            return call(*args, **kwargs)

        return await asyncio.get_running_loop().run_in_executor(
            self._threads, functools.partial(done)
        )

    def check(self) -> None:
        """Ask the database for a sign of life; StoreError if it gives none."""
        with self._database.read() as connection:
            connection.execute(text("SELECT 1"))

    def forget_old(self, retention_days: int) -> int:
        """Delete requests and searches older than that; return how many rows went."""
        moment = self._now() - timedelta(days=retention_days)
        return self.requests.delete_before(moment) + self.searches.delete_before(moment)

    def close(self, deadline_s: float = 5.0) -> None:
        """Write what waits, within the deadline, and close all connections.  May be repeated."""
        self.writer.close(deadline_s)
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._database.close()


def lock_server(data_dir: Path | None) -> ServerLock:
    """
    Become the one server of the embedded store in a folder, which is made if need be.

    For the process that starts the workers, which has no need to open the store.  None: a database
    server, which any number of replicas may share.

    Raises:
        StoreError: Another process is; the message says which.
    """
    if data_dir is None:
        return ServerLock(None)
    make_folder(data_dir)
    return ServerLock(data_dir / "server.lock")


def _key_check(database: Database) -> str | None:
    if schema_of(database) is None:
        return None
    with database.read() as connection:
        return get_meta(connection, _KEY_CHECK)


def _given(database: Database, key: StoreKey | None) -> StoreKey:
    if key is None:
        raise StoreError(
            f"store.key must be given with {database.name}, so that all replicas have the same:"
            " write `openssl rand -base64 32` into a file and name it as ${file:/path}"
        )
    return key


def _key_of_folder(database: Database, folder: Path) -> StoreKey:
    check = _key_check(database)
    # A store that is sealed already gets no new key: it would only hide that the old one is lost.
    key = read_or_make_key(folder / KEY_FILE, may_make=check is None)
    if key is None:
        raise StoreError(
            f"the key file {folder / KEY_FILE} is gone, and the store {database.name} is sealed"
            f" with the key {token_key_id(check or '')}: put that file back, or give the key in"
            " store.key"
        )
    return key


def _sealer(database: Database, key: StoreKey) -> Sealer:
    """Make sure that the key is the store's; seal anew what another key than the first sealed."""
    sealer = Sealer(key.keys)
    check = _key_check(database)
    if check is not None and token_key_id(check) == sealer.key_id and _opens(sealer, check):
        return sealer
    with database.write() as connection:
        check = get_meta(connection, _KEY_CHECK)  # another process may have been faster
        if check is not None and not _opens(sealer, check):
            raise StoreError(
                f"the store {database.name} is sealed with the key {token_key_id(check)}, and"
                f" store.key has {', '.join(key.ids)}; give the right one (to change keys, list the"
                " new one first and the old one after it)"
            )
        reseal(connection, sealer)
        fresh = sealer.seal(b"refdesk", purpose=_CHECK_PURPOSE)
        put_meta(database, connection, _KEY_CHECK, fresh)
    return sealer


def _opens(sealer: Sealer, check: str) -> bool:
    return sealer.open(check, _CHECK_PURPOSE) is not None
