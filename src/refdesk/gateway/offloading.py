"""
Work on large bodies, away from the event loop.

Such work is linear, and yet a body of 32 MiB takes a good part of a second.  There is one thread
for it: with more of them the loop would wait longer for the interpreter's lock, and none would be
done sooner.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar, TypeVarTuple

LARGE_READ: Final = 1024 * 1024
"""Bytes that are read, or copied, on the loop: about a millisecond."""
LARGE_WORK: Final = 64 * 1024
"""Bytes whose text is looked through on the loop: some milliseconds, in hostile text more."""

_THREAD: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="refdesk-large")

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


async def off_loop(size: int, work: Callable[[*Ts], T], *args: *Ts, above: int = LARGE_WORK) -> T:
    """
    Return what the work returns; do it in a thread where it is large.

    Args:
        size: Of what is worked on, in bytes.
        work: Waits for nothing, and raises no StopIteration.
        args: For the work.
        above: Done where the caller is up to this size.
    """
    if size <= above:
        return work(*args)
    return await asyncio.get_running_loop().run_in_executor(_THREAD, work, *args)
