"""
How the demo looks: on a terminal with colours and a spinner, elsewhere as plain lines.

Nothing that comes from the network is read as markup, and no control character of it gets through.
"""

from __future__ import annotations

import contextlib
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from refdesk.demo.choose import Model
from refdesk.demo.conversation import PATH, TOOL, Heard, Question
from refdesk.demo.paste import Paste
from refdesk.store import RequestRecord, SearchItem

_INDENT = "  "
_NARROWEST = 40
_MOST_SOURCES = 6


class Drawing:
    """
    Draws on a console.

    Args:
        console: Where; its width is kept to, up to 80 columns.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._width = max(_NARROWEST, min(console.width, 80))
        self._column = 0
        self._word = self._gap = ""

    def title(self) -> None:
        """Say what this is."""
        self._line(Text.assemble(("Refdesk", "bold cyan"), "  any model searches the web\n"))

    @contextlib.contextmanager
    def waiting(self, what: str) -> Iterator[Callable[[], None]]:
        """Show that something takes a while; what is given ends that early."""
        if self._console.is_terminal:
            with self._console.status(Text(what, style="dim"), spinner="dots") as status:
                yield status.stop
        else:
            self._line(Text(f"{what} …", style="dim"))
            yield lambda: None

    def note(self, text: str) -> None:
        """Tell something that is not as one might expect."""
        self._line(Text.assemble(("\n! ", "yellow"), plain(text)))

    def failure(self, text: str) -> None:
        """Tell why there is no answer."""
        self._end_text()
        self._line(Text.assemble(("\n✗ ", "bold red"), plain(text)))

    def setting(self, model: Model, url: str, started_in_s: float | None) -> None:
        """Show who takes part."""
        where = model.where + (f" (loaded in {started_in_s:.1f} s)" if started_in_s else "")
        self._rows(
            [
                ("model", Text.assemble(f"{model.name}, ", (where, "dim"))),
                ("gateway", Text(url)),
                ("engines", Text("ddgs, no key; where it fails, offline")),
            ]
        )

    def question(self, question: Question) -> None:
        """Show what is asked."""
        self._line(Text())
        self._rows(
            [
                ("question", Text(plain(question.text), style="bold")),
                (
                    "request",
                    Text(f"POST {PATH[question.wire]}, with {TOOL[question.wire]} declared"),
                ),
            ]
        )

    def head(self, heard: Heard) -> None:
        """Show what the response's head says, before the first word."""
        self._line(Text())
        self._line(
            Text.assemble(
                ("Answer", "bold green"), (f"   x-refdesk-search: {plain(heard.search)}", "dim")
            )
        )
        self._column = 0

    def text(self, piece: str) -> None:
        """Show a piece of the answer; a word appears when it is whole, and wraps as one."""
        for char in piece:
            if char == "\n":
                self._end_word()
                self._write("\n")
                self._column = 0
            elif (char := plain(char)) == " ":
                self._end_word()
                if self._column:
                    self._gap = " "
            else:
                self._word += char

    def sources(self, items: Sequence[SearchItem], heard: Heard) -> None:
        """List what the model was given; what the answer cites is marked."""
        self._end_text()
        self._line(Text("\nSources", style="bold green"))
        for number, item in enumerate(items[:_MOST_SOURCES], 1):
            cited = "  cited" if item.url in heard.cited else ""
            self._line(
                Text.assemble(
                    (f"{_INDENT}[{number}] ", "cyan"),
                    _short(plain(item.title), self._width - 16),
                    (cited, "green"),
                )
            )
            self._line(
                Text(f"{_INDENT}    {_short(plain(item.url), self._width - 7)}", style="dim")
            )
        if len(items) > _MOST_SOURCES:
            self._line(Text(f"{_INDENT}    and {len(items) - _MOST_SOURCES} more", style="dim"))

    def steps(self, record: RequestRecord, heard: Heard) -> None:
        """Show what happened at each step, and how long it took."""
        self._line(Text("\nWhat happened", style="bold green"))
        rows: list[tuple[str, Text, float | None]] = [
            ("query", Text(plain(record.query or "not kept")), None)
        ]
        for attempt in record.attempts:
            won = attempt.outcome == "ok"
            said = f"{record.results} results" if won else f"no answer: {attempt.outcome}"
            label = f"engine {attempt.engine}"
            rows.append((label, Text(said, "" if won else "yellow"), attempt.duration_s))
        if record.injected_chars:
            rows.append(
                ("material", Text(f"{record.injected_chars:,} characters put to the model"), None)
            )
        if heard.first_text_s is not None:
            rows.append(("model", Text("first word, after the question"), heard.first_text_s))
        rows.append(("blocks", Text(", ".join(heard.blocks)), None))
        # That an engine gave no answer stands above, with its time.
        rows += [
            ("notice", Text(plain(notice)), None)
            for notice in record.notices
            if "gave no answer" not in notice
        ]
        rows.append(("in all", Text(f"request {record.id}", style="dim"), heard.total_s))
        table = Table.grid(padding=(0, 2, 0, 0))
        table.width = self._width
        table.add_column(no_wrap=True, style="cyan")
        table.add_column(ratio=1)
        table.add_column(justify="right", no_wrap=True)
        for label, told, seconds in rows:
            took = "" if seconds is None else f"{seconds:.2f} s"
            table.add_row(f"{_INDENT}{label}", told, took)
        self._console.print(table)

    def stays(self, pastes: Sequence[Paste], small: bool) -> None:
        """Show what to paste, and how to end."""
        self._line(Text("\nThe gateway stays up; paste into another terminal:", style="bold"))
        for paste in pastes:
            self._line(Text(f"\n{_INDENT}{paste.client}", style="cyan"))
            for line in "\n".join(paste.lines).splitlines():
                # As one line, whatever the width: it is to be copied.
                self._console.print(Text(f"{_INDENT}{line}"), soft_wrap=True)
        if small:
            self._line(
                Text(
                    "\nThe small model reads 2,048 tokens, too few for what Claude Code and Codex "
                    "send with every request. For them, end this and name a model of yours: "
                    "refdesk demo --base-url URL --model NAME",
                    style="dim",
                )
            )
        self._line(Text("\nCtrl-C ends it."))

    def _end_word(self) -> None:
        if not self._word:
            return
        size = cell_len(self._word)
        if self._column and self._column + len(self._gap) + size > self._width:
            self._write("\n")
            self._column = 0
        gap = self._gap if self._column else _INDENT
        self._write(gap + self._word)
        self._column += len(gap) + size
        self._word = self._gap = ""

    def _end_text(self) -> None:
        self._end_word()
        if self._column:
            self._write("\n")
            self._column = 0
        self._gap = ""

    def _rows(self, rows: Sequence[tuple[str, Text]]) -> None:
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True, style="cyan", width=8)
        table.add_column()
        for label, said in rows:
            table.add_row(label, said)
        self._console.print(table, width=self._width)

    def _line(self, text: Text) -> None:
        self._console.print(text, width=self._width, highlight=False)

    def _write(self, text: str) -> None:
        self._console.print(Text(text), end="", soft_wrap=True)


def plain(text: str) -> str:
    """Return a text without what could move a terminal's cursor or hide."""
    return "".join(" " if unicodedata.category(char) in ("Cc", "Cf") else char for char in text)


def _short(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    cut = Text(text)
    cut.truncate(width, overflow="ellipsis")
    return cut.plain
