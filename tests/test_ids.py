"""Ids that nobody can guess."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor

from refdesk.ids import RandomBytes, new_request_id, new_search_id


def test_request_ids() -> None:
    """They are unique, and sort by time."""
    ids = [new_request_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    assert all(re.fullmatch(r"req_[0-9a-f]{28}", id_) for id_ in ids)
    assert [id_[:16] for id_ in ids] == sorted(id_[:16] for id_ in ids)


def test_search_ids() -> None:
    """They are 40 hex digits, never given twice."""
    ids = [new_search_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    assert all(re.fullmatch(r"[0-9a-f]{40}", id_) for id_ in ids)


def test_no_byte_is_given_twice() -> None:
    """Threads that draw at once never share what they get."""
    source = RandomBytes()
    with ThreadPoolExecutor(8) as threads:
        drawn = list(threads.map(lambda _: source.take(12), range(5000)))
    assert len(set(drawn)) == 5000


def test_more_than_is_held() -> None:
    """As many as are asked for come."""
    assert len(RandomBytes().take(10_000)) == 10_000


def test_after_a_fork() -> None:
    """A child does not give out what its parent does."""
    source = RandomBytes()
    source.take(1)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writing, source.take(16))
        os._exit(0)
    mine = source.take(16)
    theirs = os.read(reading, 16)
    os.waitpid(pid, 0)
    assert mine != theirs
