"""
What is to be taken into collections, so that a process that dies loses none of it.

A job is claimed for a while, and its owner says from time to time that it lives.  Of two that want
the same key, the second finds the first one's job.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import delete, or_, select, update

from refdesk.store.connection import Database
from refdesk.store.passages import Job, SourceKind
from refdesk.store.tables import kb_jobs, kb_leftovers

_STORED: Final = [one.name for one in fields(Job)]


def _now() -> datetime:
    return datetime.now(UTC)


class Jobs:
    """Read and write jobs.  Every call waits for the database: not on an event loop."""

    def __init__(self, database: Database, *, now: Callable[[], datetime] = _now) -> None:
        self._database = database
        self._now = now

    def put(
        self,
        collection: str,
        key: str,
        *,
        kind: SourceKind,
        metadata: Mapping[str, Any] | None = None,
        upload: str | None = None,
        owner: str | None = None,
        lease_s: float = 0.0,
    ) -> tuple[Job, bool]:
        """
        Return the job for a key, and whether it is new; one that is open already stays as it is.

        With an owner, a new one is claimed from the start, so that nobody can come between.
        """
        moment = self._now()
        values = {
            "id": f"job_{secrets.token_hex(10)}",
            "collection": collection,
            "key": key,
            "kind": kind,
            "metadata": dict(metadata or {}),
            "upload": upload,
            "owner": owner,
            "lease_until": moment + timedelta(seconds=lease_s) if owner else None,
            "attempts": 1 if owner else 0,
            "created": moment,
        }
        with self._database.write() as connection:
            connection.execute(
                self._database.insert(kb_jobs)
                .values(**values)
                .on_conflict_do_nothing(index_elements=["collection", "key"])
            )
            query = select(kb_jobs).where(kb_jobs.c.collection == collection, kb_jobs.c.key == key)
            row = connection.execute(query).mappings().one()
            return _as_job(row), row["id"] == values["id"]

    def get(self, job_id: str) -> Job | None:
        """Return a job; None once it is done."""
        with self._database.read() as connection:
            row = connection.execute(select(kb_jobs).where(kb_jobs.c.id == job_id)).mappings()
            found = row.first()
        return _as_job(found) if found else None

    def open(self, collection: str | None = None) -> list[Job]:
        """Return the jobs that are not done, oldest first."""
        query = select(kb_jobs)
        if collection is not None:
            query = query.where(kb_jobs.c.collection == collection)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(kb_jobs.c.created, kb_jobs.c.id)).mappings()
            return [_as_job(row) for row in rows]

    def put_all(
        self, collection: str, kinds: Mapping[str, SourceKind], metadata: Mapping[str, Any]
    ) -> None:
        """Put a job for each key, with its kind, in one transaction; open ones stay as they are."""
        moment = self._now()
        rows = [
            {
                "id": f"job_{secrets.token_hex(10)}",
                "collection": collection,
                "key": key,
                "kind": kind,
                "metadata": dict(metadata),
                "attempts": 0,
                "created": moment,
            }
            for key, kind in kinds.items()
        ]
        if not rows:
            return
        statement = self._database.insert(kb_jobs).on_conflict_do_nothing(
            index_elements=["collection", "key"]
        )
        with self._database.write() as connection:
            connection.execute(statement, rows)

    def claim(
        self, job_id: str, owner: str, *, lease_s: float, over: str | None = None
    ) -> Job | None:
        """
        Take a job that nobody works on; None if it is done, or its owner is alive.

        Args:
            job_id: Which.
            owner: Who takes it.
            lease_s: For how long, unless `keep` says more.
            over: An owner that is known to be dead, whatever its lease says.
        """
        table = kb_jobs
        with self._database.write() as connection:
            now = self._now()
            free = or_(table.c.owner.is_(None), table.c.lease_until <= now)
            if over is not None:
                free = or_(free, table.c.owner == over)
            done = connection.execute(
                update(table)
                .where(table.c.id == job_id, free)
                .values(
                    owner=owner,
                    lease_until=now + timedelta(seconds=lease_s),
                    attempts=table.c.attempts + 1,
                )
            )
            if not done.rowcount:
                return None
            row = connection.execute(select(table).where(table.c.id == job_id)).mappings().one()
            return _as_job(row)

    def replace(
        self,
        job_id: str,
        owner: str,
        *,
        kind: SourceKind,
        metadata: Mapping[str, Any],
        upload: str | None,
    ) -> Job | None:
        """Give a claimed job a newer source; None if the owner no longer holds it."""
        table = kb_jobs
        with self._database.write() as connection:
            done = connection.execute(
                update(table)
                .where(table.c.id == job_id, table.c.owner == owner)
                .values(kind=kind, metadata=dict(metadata), upload=upload)
            )
            if not done.rowcount:
                return None
            row = connection.execute(select(table).where(table.c.id == job_id)).mappings().one()
            return _as_job(row)

    def keep(self, job_ids: Sequence[str], owner: str, *, lease_s: float) -> None:
        """Say that the owner of some jobs is alive."""
        with self._database.write() as connection:
            connection.execute(
                update(kb_jobs)
                .where(kb_jobs.c.id.in_(job_ids), kb_jobs.c.owner == owner)
                .values(lease_until=self._now() + timedelta(seconds=lease_s))
            )

    def release(self, job_id: str, owner: str) -> None:
        """Give a job back undone, for anybody to claim."""
        with self._database.write() as connection:
            connection.execute(
                update(kb_jobs)
                .where(kb_jobs.c.id == job_id, kb_jobs.c.owner == owner)
                .values(owner=None, lease_until=None)
            )

    def done(self, job_id: str, owner: str) -> bool:
        """End a job with which nothing had to be published; what it wrote becomes a leftover."""
        with self._database.write() as connection:
            ended = connection.execute(
                delete(kb_jobs).where(kb_jobs.c.id == job_id, kb_jobs.c.owner == owner)
            )
            connection.execute(
                update(kb_leftovers).where(kb_leftovers.c.job == job_id).values(job=None)
            )
            return ended.rowcount > 0


def _as_job(row: Mapping[Any, Any]) -> Job:
    return Job(**{name: row[name] for name in _STORED})
