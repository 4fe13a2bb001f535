"""
Documents taken in by processes that are killed: what was said to be in is whole, nothing is half.

    python kb.py [--store URL] [--kills 50] [--seed 1]

Real commands are ended with SIGKILL at random moments while they add, update, remove, re-index or
drop; what they had told until then is held against what a fresh process finds.  Prints one table;
exit status 1 if anything was lost, half there, or still there after it was removed.  A PostgreSQL
store gets a schema of its own, which is dropped at the end.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from rounds import CYCLE, Soak


def soak(soak: Soak, kills: int) -> None:
    """Do it all, and say on stderr how far it is."""
    soak.begin()
    for at in range(kills):
        what, known = CYCLE[at % len(CYCLE)], len(soak.faults)
        soak.round(what)
        for line in (f"{at + 1} of {kills}: {what}", *soak.faults[known:]):
            print(line, file=sys.stderr, flush=True)
    soak.three()
    soak.end()


def table(soak: Soak, seconds: float) -> str:
    """Return what happened, as lines."""
    told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(soak.told.items()))
    lines = [f"{'killed while it was to':<28} {'kills':>6} {'too late':>9}"]
    lines += [
        f"{what:<28} {soak.kills[what]:>6} {soak.late[what]:>9}" for what in dict.fromkeys(CYCLE)
    ]
    lines += [
        f"{'in all':<28} {soak.kills.total():>6} {soak.late.total():>9}",
        "",
        f"documents told to be in: {soak.told.total()} ({told})",
        f"looks by a fresh process: {soak.looks}",
        f"faults: {len(soak.faults)}",
        f"seconds: {seconds:.0f}",
    ]
    return "\n".join(lines)


def main() -> int:
    """Print the table; return 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--store", help="where documents are kept: SQLite, or postgresql://…")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    words = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="refdesk-soak-") as folder:
        if words.store and words.store.startswith("postgres"):
            sys.path.insert(0, str(Path(__file__).parents[1]))
            from postgres import schema

            with schema(words.store) as url:
                it = Soak(Path(folder), store=url, seed=words.seed)
                soak(it, words.kills)
        else:
            it = Soak(Path(folder), store=words.store, seed=words.seed)
            soak(it, words.kills)
    print(table(it, time.monotonic() - began))
    for fault in it.faults:
        print(fault, file=sys.stderr)
    return 1 if it.faults else 0


if __name__ == "__main__":
    sys.exit(main())
