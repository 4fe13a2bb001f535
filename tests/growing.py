"""
Whether the work on a text grows faster than the text.

Measured is the processor time of this thread, and only as a ratio: of a text and of one a quarter
as long.  Linear work gives 4, quadratic work 16.  A ratio counts where it shows at three lengths,
each time as the best of several runs, so that what else the machine does cannot fake it.
"""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable
from functools import cache
from typing import Any

from ambiguity import Attack

TOO_STEEP = 8.0
_DEAR = 200
"""Times what a plain pattern costs for each character."""
_QUICK_NS = 1_500_000
"""Work that is done sooner need not be measured: at the longest text nothing quadratic is."""
_SLOW_NS = 100_000_000
_OFTEN = 3
"""Lengths, each twice the one before, at which it must show: memory has steps, too."""
_SHORT = 1_000
"""Up to here a text grows by one repetition at a time, since work may double with each."""
_clock = time.thread_time_ns


def growth(
    run: Callable[[Any], object],
    attack: Attack,
    given: Callable[[str], Any] = lambda text: text,
    *,
    longest: int = 6144,
    coarse: bool = False,
) -> str | None:
    """
    Return how work grows with a text where that is steeper than linear, else None.

    Args:
        run: The work.
        attack: Makes the text.
        given: Makes of the text what the work is done on; that is not measured.
        longest: Characters of the longest text that is tried.
        coarse: Whether few lengths are tried, since no work doubles with each repetition.
    """
    unit = len(attack.pump)
    size = unit
    longest = max(longest, 3 * unit)
    by_one = min(max(_SHORT, 3 * unit), 24 * unit)
    run(given(attack.text(size)))  # whatever is made only once is made now
    while (spent := _best(run, given(attack.text(size)))) <= _QUICK_NS:
        if size >= longest:
            return None
        if coarse:
            size *= 2
        else:
            size = size + unit if size < by_one else size * 3 // 2
    if not coarse and size <= 24 * unit and spent / size > _DEAR * plain_cost():
        # Each repetition doubles the work, or is itself read from many places.
        return f"{spent / 1e6:.1f} ms for {size} characters"

    def ratio(size: int) -> float:
        short, long = attack.text(size // 4), attack.text(size)
        fair = len(long) / len(short) / 4
        return _cost(run, given(long), 2) / max(1, _cost(run, given(short), 3)) / fair

    steep = [ratio(size)]
    while steep[-1] > TOO_STEEP and len(steep) < _OFTEN and spent * 4 ** len(steep) < _SLOW_NS:
        steep.append(ratio(size * 2 ** len(steep)))
    if steep[-1] <= TOO_STEEP:
        return None
    return f"{steep[-1]:.1f} times the work for 4 times the text, {spent / 1e6:.1f} ms at {size}"


@cache
def plain_cost() -> float:
    """Return what a plain pattern costs on this machine, in ns for each character."""
    text = "a" * 10_000
    return _cost(re.compile("(?:a|b)c").search, text, 9) / len(text)


def _best(run: Callable[[Any], object], given: Any) -> int:
    """Return the work on what is given: once, and again where that was too much."""
    spent = _cost(run, given, 1)
    return spent if not _QUICK_NS < spent < _SLOW_NS else min(spent, _cost(run, given, 2))


def _cost(run: Callable[[Any], object], text: Any, times: int) -> int:
    best = 1 << 62
    gc.disable()
    try:
        for _ in range(times):
            began = _clock()
            run(text)
            best = min(best, _clock() - began)
            if best > 2 * _SLOW_NS:
                break
    finally:
        gc.enable()
    return best
