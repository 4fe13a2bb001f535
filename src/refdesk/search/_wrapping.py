"""A text taken apart: the user's words, and the elements that a client put round them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from refdesk.search._blocks import Block, find_blocks
from refdesk.search._clients import ATTACHMENTS, MACHINE_BLOCKS, REQUESTS

_REMINDERS: Final = ("<system-reminder", "<system_reminder")
_MOST_REMINDERS: Final = 64

_Kind = Literal["prose", "own", "wrapper", "request"]
_Piece = tuple[_Kind, str, Block | None]
"""What a stretch of a text is, the stretch, and its block if it is one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Apart:
    """What a text holds."""

    words: str = ""
    """What stands outside a client's elements; elements that a user may have written stay in it."""
    left_out: tuple[str, ...] = ()
    """The elements that were taken out, and a lone element that is no request."""
    request: bool = False
    """The words stood in an element for the user's request."""
    command: str | None = None
    """What the user typed behind a command of the client's, where there is one."""


def take_apart(text: str) -> Apart:
    """Return the user's words in a text, and what was put round them."""
    if "<" not in text:
        return Apart(words=text.strip())
    pieces = list(_pieces(text))
    left_out = [f"<{block.name}>" for kind, _, block in pieces if kind == "wrapper" and block]
    wrapped = {
        block.name.lower(): block for kind, _, block in pieces if kind == "wrapper" and block
    }
    if command := wrapped.get("command-name"):
        arguments = wrapped.get("command-args")
        left_out.append(command.inner.strip())
        words = arguments.inner.strip() if arguments else ""
        return Apart(left_out=tuple(left_out), command=words)
    bare = not any(kind == "prose" for kind, _, _ in pieces)
    requests = [
        block.inner.strip()
        for kind, _, block in pieces
        if kind == "request" and block and (bare or "user" in block.name.lower())
    ]
    if requests:
        return Apart(words="\n".join(requests), left_out=tuple(left_out), request=True)
    own = [block for _, _, block in pieces if block and block not in wrapped.values()]
    kept = [each for kind, each, _ in pieces if kind != "wrapper"]
    if not bare and _is_sectioned(pieces):
        # What stands between the sections of a prompt is the prompt's.
        return Apart(left_out=tuple(dict.fromkeys(left_out)))
    if bare and own and not all(block.is_html for block in own):
        left_out += [f"<{block.name}>" for block in own]
        kept = []
    words = _without_reminders("".join(kept), left_out)
    return Apart(words=words.strip(), left_out=tuple(dict.fromkeys(left_out)))


def _pieces(text: str) -> Iterator[_Piece]:
    """Yield a text's blocks and what stands between them, in order."""
    at = 0
    for block in find_blocks(text):
        kind = _kind(block)
        if kind == "own" and not block.closed:
            continue
        if text[at : block.start].strip():
            yield "prose", text[at : block.start], None
        at = block.end if block.closed else len(text)
        yield kind, text[block.start : at], block
        if not block.closed:
            return
    if text[at:].strip():
        yield "prose", text[at:], None


def _is_sectioned(pieces: Sequence[_Piece]) -> bool:
    """Whether a text begins and ends with elements of a prompt, and has three of them or more."""
    sections = [
        block and kind == "wrapper" and not block.name.lower().startswith(MACHINE_BLOCKS)
        for kind, _, block in pieces
    ]
    return len(sections) > 3 and bool(sections[0] and sections[-1]) and sum(map(bool, sections)) > 2


def _kind(block: Block) -> _Kind:
    name = block.name.lower()
    if name.startswith(MACHINE_BLOCKS):
        return "wrapper"
    if not block.closed:
        return "own"
    if name in REQUESTS:
        return "request"
    # Capitals are for elements of somebody's XML, such as Tomcat's <Context>.
    written = block.name.isupper() or block.name[0].islower()
    if written and name in ATTACHMENTS and (block.spans_lines or block.attributes):
        return "wrapper"
    return "wrapper" if "_" in name and block.ends_line else "own"


def _without_reminders(text: str, left_out: list[str]) -> str:
    """
    Take reminders out that stand behind words on their line.

    One that a sentence is about, with words on both sides of it, stays.
    """
    at = 0
    for _ in range(_MOST_REMINDERS):
        start = min((found for tag in _REMINDERS if (found := text.find(tag, at)) >= 0), default=-1)
        if start < 0:
            break
        tag = text[start + 1 : start + len(_REMINDERS[0])]
        close = text.find(f"</{tag}>", start)
        if close < 0:
            at = start + 1
            continue
        end = close + len(tag) + 3
        before = text[text.rfind("\n", 0, start) + 1 : start]
        behind = text[end:].partition("\n")[0]
        if (
            before[-1:].isspace()
            and before.strip()
            and behind.strip()
            and "\n" not in text[start:end]
        ):
            at = end
            continue
        left_out.append(f"<{tag}>")
        text = f"{text[:start]}\n{text[end:]}"
    return text
