"""
What a user said in a message of the user's role.

Clients write there as well: reminders, files and environments beside the user's words; tasks,
retries and summaries in a user's stead.  They are told by shape (a text that is one element, a
block with lines of its own, a program's prompt) and by how known clients begin.  What a user may
have written stays whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from refdesk.search._clients import (
    ASKING_TOOLS,
    FILES_BEGIN,
    FILES_END,
    FORMAT_BEGIN,
    LOCAL_COMMAND,
    OPENINGS,
    SEARCH_MARKER,
    TAILS,
    TOOL_RESULT,
)
from refdesk.search._conversation import about_conversation
from refdesk.search._templates import Template, is_headed, read_template
from refdesk.search._wrapping import take_apart
from refdesk.wires.turns import Author

_NOTE: Final = re.compile(
    r"\[Image(?: #\d{1,4}|: [^\]\n]{0,300}+)?\]|\[Request interrupted by user[^\]\n]{0,40}+\]"
)
_REPLY_IN: Final = re.compile(r"\n[ \t]*+Reply in [A-Z]\w{2,20}+\.\s*+\Z")
_MOST_CHARS: Final = 1_000_000
"""Characters of a message that are read: half of them at its beginning, half at its end."""
_MARKER_CHARS: Final = 64
_SENTENCE_ENDS: Final = tuple(".?!。？！")


@dataclass(frozen=True, kw_only=True, slots=True)
class Spoken:
    """What one message holds, or one text part of it."""

    text: str = ""
    """The user's words; empty where there are none."""
    author: Author = "user"
    why: str = ""
    """What the text is, where it holds no words of a user."""
    left_out: tuple[str, ...] = ()
    """What stood round the words."""
    request: bool = False
    """The words are marked as the user's request."""
    command: bool = False
    """The words are what a user typed behind a command of the client's."""


def author_of(parts: Sequence[str]) -> Author:
    """Return who wrote the text parts of a message."""
    return read_message(parts).author


def read_message(parts: Sequence[str]) -> Spoken:
    """Return what a user said in the text parts of one message."""
    read = list(_read_parts(list(_without_files(parts))))
    around = [what for one in read for what in (*one.left_out, one.why) if what]
    left_out = tuple(dict.fromkeys(around))
    words = [one for one in read if one.text]
    if any(one.request for one in words):
        words = [one for one in words if one.request]
    leads = any(one.author == "lead" for one in read)
    if words and not leads:
        return Spoken(text="\n\n".join(one.text for one in words), left_out=left_out)
    author = _author(read, led=bool(words))
    return Spoken(author=author, why=", ".join(left_out), left_out=left_out)


def _read_parts(parts: Sequence[str]) -> Iterator[Spoken]:
    expanded = False
    for place, part in enumerate(parts):
        if expanded:
            # What the client makes of its command.
            expanded = False
            continue
        said = _read_part(part)
        if said.command and not "".join(parts[place + 1 : place + 2]).startswith(LOCAL_COMMAND):
            expanded = True
        elif said.command:
            said = replace(said, text="", author="aside")
        yield said


def _author(read: Sequence[Spoken], *, led: bool) -> Author:
    """Return who wrote a message without words of its user."""
    authors = {one.author for one in read}
    if "lead" in authors:
        return "client" if led else "lead"
    if not authors or "user" in authors:
        return "user"
    return "client" if "client" in authors else "aside"


def _without_files(parts: Sequence[str]) -> Iterator[str]:
    """Leave out the parts that hold the files a client attaches, marker to marker."""
    inside = False
    for part in _bounded(parts):
        marker = part.strip() if len(part) < _MARKER_CHARS else ""
        inside = inside or marker == FILES_BEGIN
        if not inside and part and not part.isspace():
            yield part
        inside = inside and marker != FILES_END


def _bounded(parts: Sequence[str]) -> Sequence[str]:
    """
    Return the parts up to `_MOST_CHARS` characters in all: the first of them and the last.

    What a client attaches may be long; its user's words stand before it or behind it.
    """
    if sum(map(len, parts)) <= _MOST_CHARS:
        return parts
    first: list[str] = []
    last: list[str] = []
    room = _MOST_CHARS // 2
    for part in parts:
        if room <= 0:
            break
        first.append(part[:room])
        room -= len(part)
    room = _MOST_CHARS // 2
    for part in reversed(parts):
        if room <= 0:
            break
        last.append(part[-room:])
        room -= len(part)
    if len(first) + len(last) > len(parts):
        # One part reaches from the one half into the other.
        last.append(f"{first.pop()}\n{last.pop()}")
    return [*first, *reversed(last)]


def _read_part(part: str) -> Spoken:
    if found := _known(part.strip()) or _tool_result(part.strip()):
        return found
    if is_headed(part.strip()) and (template := read_template(part.strip())):
        return _filled(template)
    apart = take_apart(part)
    if apart.command is not None:
        return Spoken(text=apart.command, author="client", left_out=apart.left_out, command=True)
    if apart.request:
        return Spoken(text=apart.words, left_out=apart.left_out, request=True)
    text = _NOTE.sub(" ", apart.words).strip()
    if not text:
        return Spoken(author="aside", left_out=apart.left_out or ("a note of the client",))
    if apart.left_out and (found := _known(text)):
        return found
    if text[: len(SEARCH_MARKER)].lower() == SEARCH_MARKER:
        query = text[len(SEARCH_MARKER) :].strip()
        return Spoken(text=query, left_out=apart.left_out, request=True)
    said = _read_prose(text)
    return replace(said, left_out=(*apart.left_out, *said.left_out))


def _read_prose(text: str) -> Spoken:
    """Read what is left of a text when the client's elements are out of it."""
    text, *reminders = _without_tail(text)
    if not text:
        return Spoken(author="client", left_out=tuple(reminders))
    if what := about_conversation(text):
        author: Author = "lead" if text.endswith((":", "：")) else "client"
        return Spoken(author=author, why=what)
    template = read_template(text)
    if template is None:
        return Spoken(text=_unquoted(text), left_out=tuple(reminders))
    return _filled(template)


def _filled(template: Template) -> Spoken:
    if not template.request:
        return Spoken(why=template.what)
    return Spoken(text=template.request, left_out=(template.what,), request=True)


def _known(text: str) -> Spoken | None:
    for known in OPENINGS:
        if text.startswith(known.opening) and known.holds in text and text.endswith(known.ending):
            return Spoken(author=known.author, why=known.what)
    return None


def _tool_result(text: str) -> Spoken | None:
    """Read the output of a client's tool, or the line that leads it."""
    header = TOOL_RESULT.match(text)
    if header is None:
        return None
    output = text[header.end() :].strip()
    if header[1] not in ASKING_TOOLS:
        return Spoken(author="client" if output else "lead", why="the output of a tool")
    return _read_part(output) if output else Spoken(author="aside", why="a tool that asks")


def _without_tail(text: str) -> list[str]:
    """Return a text without the reminder that a client wrote behind it, then what was cut."""
    begin = text.find(FORMAT_BEGIN)
    if begin >= 0 and (end := text.rfind("```")) > begin:
        text = f"{text[:begin]}\n{text[end + 3 :]}".strip()
        return [text, "format instructions"]
    lines = f"\n{text}"
    at = min((found for tail in TAILS if (found := lines.find(f"\n{tail}")) >= 0), default=-1)
    if at >= 0:
        return [lines[:at].strip(), "a reminder of the client"]
    if reply := _REPLY_IN.search(text):
        return [text[: reply.start()].strip(), "a reminder of the client"]
    return [text]


def _unquoted(text: str) -> str:
    """Take off the quotes in which opencode's command line puts a whole sentence."""
    inner = text[1:-1]
    whole = len(text) > 2 and text[0] == text[-1] == '"' and '"' not in inner
    return inner if whole and inner.endswith(_SENTENCE_ENDS) else text
