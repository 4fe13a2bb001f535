"""
What a process that died left undone, taken over when a server starts.

Looking is one small query; knowledge is opened, which takes seconds, only where there is work that
nobody alive does.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import structlog

from refdesk.errors import RefdeskError
from refdesk.store import Store
from refdesk.store.passages import Job

if TYPE_CHECKING:
    from refdesk.kb.collection import Added, Knowledge

_LOOK_AGAIN_S: Final = 60.0
"""As long as a lease: until then a job that somebody had may have become free."""
_MOST_LINES: Final = 20
"""Lines that one start logs of documents taken over; the rest is counted."""
_BAD: Final = frozenset({"failed", "empty"})

_log: structlog.stdlib.BoundLogger = structlog.get_logger("refdesk")


async def take_over(
    store: Store,
    knowledge: Callable[[], Awaitable[Knowledge]],
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """
    Do the jobs that nobody alive works on, each once; ends when none is left to wait for.

    What fails is a line in the log, and is never raised: the next start tries it again.

    Args:
        store: Where the jobs are.
        knowledge: Opens what does them.
        sleep: How to wait for others to end or die.
    """
    tried: set[str] = set()
    try:
        while waiting := [job for job in await _jobs(store) if job.id not in tried]:
            free = [job.id for job in waiting if _is_free(job)]
            if not free:
                await sleep(_LOOK_AGAIN_S)
                continue
            _log.info("what was left undone of collections is taken over", jobs=len(free))
            tried.update(free)
            _tell(await (await knowledge()).resume())
    except RefdeskError as exc:
        _log.warning("documents that were left undone stay so", error=str(exc))
    except Exception:
        _log.exception("documents that were left undone stay so")


async def _jobs(store: Store) -> list[Job]:
    jobs: list[Job] = await store.run(store.jobs.open)
    # A document's key begins with no space: such a job is one of a whole collection, of which there
    # is something to clear up only if somebody began.
    return [job for job in jobs if job.owner is not None or not job.key.startswith(" ")]


def _is_free(job: Job) -> bool:
    from refdesk.kb.ingest.jobs import is_dead

    if job.owner is None or job.lease_until is None or is_dead(job.owner):
        return True
    return job.lease_until <= datetime.now(UTC)


def _tell(done: Sequence[Added]) -> None:
    counts = Counter(str(each.outcome) for each in done)
    for each in [each for each in done if each.outcome in _BAD][:_MOST_LINES]:
        _log.warning(
            "a document that was left undone was not taken in", key=each.key, reason=each.reason
        )
    _log.info("documents that were left undone were looked at", **counts)
