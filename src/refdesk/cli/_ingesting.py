"""How taking documents in looks on a terminal: a bar with rate and time left, and the report."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Final

from refdesk.cli.output import err, put, say

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from refdesk.kb.collection import Added, Progress
    from refdesk.store.passages import Document, DocumentReport

_EVERY: Final = 100
"""Where there is no terminal, a line after so many documents."""
BAD: Final = frozenset({"failed", "empty"})
"""Outcomes that make a command fail."""


class Bar:
    """
    Shows progress on stderr, for the time of a ``with``.

    On a terminal it is a bar; elsewhere a line now and then, so that logs stay short.

    Args:
        quiet: Whether nothing is to be shown.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Bar:
        if not self._quiet and sys.stderr.isatty():
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
            from rich.progress import Progress as RichProgress

            self._bar = RichProgress(
                TextColumn("{task.fields[name]}", style="dim"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[pace]}"),
                console=err(),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task("", total=None, name="", pace="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, progress: Progress) -> None:
        """Show how far it is."""
        if self._bar is not None and self._task is not None:
            from refdesk.cli._table import printable

            name = printable(progress.key)
            self._bar.update(
                self._task,
                completed=progress.done,
                total=progress.total,
                name=name if len(name) <= 40 else "…" + name[-39:],
                pace=pace(progress),
            )
        elif not self._quiet and (
            progress.done % _EVERY == 0 or progress.done == progress.total > _EVERY
        ):
            say(f"{progress.done} of {progress.total} documents, {pace(progress)}")


def pace(progress: Progress) -> str:
    """Return rate and time left: ``12.5 documents/s, 1.2 MB/s, 2 min left``."""
    seconds = max(progress.seconds, 0.001)
    parts = [
        f"{progress.done / seconds:.1f} documents/s",
        f"{progress.bytes_done / seconds / 1e6:.1f} MB/s",
    ]
    if progress.left_s is not None and progress.done < progress.total:
        parts.append(f"{_span(progress.left_s)} left")
    return ", ".join(parts)


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{max(0, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def print_report(documents: Sequence[Document]) -> None:
    """Print how much of each document is in chunks; below it, what was left out and why."""
    from refdesk.cli._table import print_columns, printable

    print_columns(
        ("STATUS", "COVERAGE", "CHARACTERS", "CHUNKS", "PAGES", "READ BY", "DOCUMENT"),
        [_row(each) for each in documents],
    )
    notes = [(each.key, note) for each in documents for note in notes_of(each.report)]
    if notes:
        put("")
    for key, note in notes:
        put(printable(f"{key}: {note}"))


def _row(document: Document) -> tuple[str, ...]:
    report = document.report
    return (
        document.status,
        _share(report.coverage) if document.status == "ready" else "-",
        str(report.characters_read),
        str(report.chunks),
        "-" if report.pages is None else str(report.pages),
        report.parser or "-",
        document.key,
    )


def _share(coverage: float) -> str:
    """Return a share in percent; 100 % is said of the whole only."""
    return "100%" if coverage >= 1 else f"{math.floor(coverage * 1000) / 10:g}%"


def notes_of(report: DocumentReport) -> list[str]:
    """Return what a reader has to know of a document, a sentence each."""
    notes = [report.error] if report.error else []
    if report.pages_without_text:
        listed = _ranges(report.pages_without_text)
        notes.append(f"no text on page{'s' if len(report.pages_without_text) > 1 else ''} {listed}")
    return [*notes, *report.skipped]


def _ranges(pages: Sequence[int]) -> str:
    """Return numbers with runs joined: ``1-3, 7``."""
    runs: list[list[int]] = []
    for page in sorted(pages):
        if runs and page == runs[-1][-1] + 1:
            runs[-1][1:] = [page]
        else:
            runs.append([page])
    return ", ".join("-".join(map(str, run)) for run in runs)


def tell_added(added: Sequence[Added], collection: str) -> None:
    """Print what was not taken in and why, and count the rest."""
    from collections import Counter

    from refdesk.cli._table import printable

    for each in added:
        if each.outcome in BAD or each.outcome == "skipped":
            put(printable(f"{each.outcome}: {each.key}: {each.reason or 'no reason given'}"))
    counts = Counter(each.outcome for each in added)
    told = ", ".join(
        f"{counts[outcome]} {outcome}"
        for outcome in ("added", "updated", "unchanged", "empty", "failed", "skipped")
        if counts[outcome]
    )
    say(f"{collection}: {told or 'nothing to add'}")
