"""
The markers of citations, one at a time: is there one here, none, or is it too early to say?

Each look at a place returns the marker, or the place to look on from where there is none, or None
where what follows decides.  Everything is bounded, so that no answer is held for long and what is
found never depends on how much was there when it was looked at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

LEAD_CHARS: Final = 64
_TAG_CHARS: Final = 1000
_LABEL_CHARS: Final = 200
_SPAN_CHARS: Final = 1000
_TARGET_CHARS: Final = 2048
LONGEST_CHARS: Final = 2200
"""Characters of a citation's marker; a longer one is text, and is not waited for."""

_ID: Final = r"(?:(?:#ref:)?(?:ref_)[0-9]{1,6}|#ref:[0-9]{1,6}|[0-9]{1,3})(?![0-9])"
"""In brackets.  A bare number of four digits is a year or a quantity."""
_IDS: Final = rf"[ \t]*+{_ID}(?:[ \t]*+[,;，、；][ \t]*+{_ID})*+[ \t]*+"
_BETWEEN_IDS: Final = re.compile(r"[,;，、；]")
_ID_PART: Final = re.compile(
    r"#?(?:r(?:e(?:f(?:[:_](?:r(?:e(?:f(?:_[0-9]{0,6})?)?)?|[0-9]{0,6})?)?)?)?|[0-9]{0,6})"
)
_BARE_ID: Final = re.compile(r"(?:ref_)?[0-9]{1,6}(?![0-9])")

_ATTRIBUTE: Final = re.compile(
    r"(?<=\s)([^\s=<>\"'/]++)(?:\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'<>]++)))?"
)
_OPEN: Final = re.compile(
    r"<a((?:\s+[^\s=<>\"'/]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'<>]+))?)+)\s*(/?)>",
    re.IGNORECASE,
)
_OPEN_PART: Final = re.compile(
    r"<a(?:\s(?:[^<>\"']|\"[^\"]*\"|'[^']*')*(?:\"[^\"]*|'[^']*)?)?", re.IGNORECASE
)
_OPEN_CUT: Final = re.compile(r"<a(?:\s+(?:class|data-|index|href|$).*|\s+\S{0,8})?", re.DOTALL)
_CLOSE: Final = re.compile(r"</a\s{0,100}>", re.IGNORECASE)
_CLOSE_PART: Final = re.compile(r"<(?:/(?:a\s{0,100})?)?", re.IGNORECASE)
_TAG: Final = re.compile(r"</?[A-Za-z][^<>\n]{0,250}>")
_TAG_PART: Final = re.compile(r"<(?:/|/?[A-Za-z][^<>\n]{0,250})?")
_CONTENT: Final = re.compile(r"([^<]{0,200})</a\s{0,100}>", re.IGNORECASE)
_CONTENT_PART: Final = re.compile(r"[^<]{0,200}(?:<(?:/(?:a\s{0,100})?)?)?", re.IGNORECASE)

_BRACKET: Final = re.compile(rf"\[(\[)?({_IDS})\](?(1)\])")
_DOUBLE_PART: Final = re.compile(r"\[\[[0-9ref_#:,;，、； \t]{0,200}\]?")
_SINGLE_PART: Final = re.compile(r"\[[^\[\]\n]{0,200}")
_LABELLED: Final = re.compile(r"\[([^\[\]\n]{1,200})\]\(#ref:((?:ref_)?[0-9]{1,6})\)")
_LABELLED_PART: Final = re.compile(
    r"\[[^\[\]\n]{1,200}\](?:\((?:#(?:r(?:e(?:f(?::[ref_0-9]{0,12})?)?)?)?)?)?"
)
_LENTICULAR: Final = re.compile(r"【([0-9]{1,3})(?![0-9])[^【】\n]{0,20}】")
_LENTICULAR_PART: Final = re.compile(r"【[0-9]{0,3}(?:(?![0-9])[^【】\n]{0,20})?")
_IN_TARGET: Final = r"[^\s<>()]"
_TARGET: Final = re.compile(
    rf"(?P<ours>(?=https?://|#ref:(?:ref_)?[0-9]{{1,6}}\)))?"
    rf"(?:{_IN_TARGET}++|\((?:{_IN_TARGET}++|\({_IN_TARGET}*+\))*+\))*+(?P<end>\))?"
)
_TARGET_PART: Final = re.compile(
    rf"(?:{_IN_TARGET}++|\((?:{_IN_TARGET}++|\({_IN_TARGET}*+\))*+\))*+"
    rf"(?:\((?:{_IN_TARGET}++|\({_IN_TARGET}*+\))*+(?:\({_IN_TARGET}*+)?)?\Z"
)
"""A target may hold parentheses, two deep."""
_ANCHOR: Final = re.compile(r"#ref:((?:ref_)?[0-9]{1,6})(?![0-9])")
_NUMBER: Final = re.compile(r"(?:#?ref[:_])?(?:ref_)?0*([0-9]{1,6})")
_MARKER_TEXT: Final = re.compile(rf"\s*+\[?+{_IDS}\]?+\s*+|\s*")

_RUN: Final = re.compile(r"`++|~++")
_TICKS: Final = re.compile("`++")
_FENCE_LEAD: Final = re.compile(r"[ \t>]*+(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]++)*+")
_FENCE_END: Final = re.compile(r"[ \t>]*(`{3,}|~{3,})[ \t\r]*")
_FENCE_END_PART: Final = re.compile(r"[ \t>]{0,40}(?:`{0,40}|~{0,40})[ \t\r]{0,40}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """A marker; without ids it is markup that is not to be seen."""

    raw: str
    ids: tuple[str, ...] = ()
    label: str = ""
    shown: str = ""
    """What to show where the ids are unknown."""
    opens: int = 0
    """1 where an element stays open behind it, -1 where one is closed."""


def number_of(name: str) -> int:
    """Return the number in an id: 1 for ``ref_001``; 0 where there is none."""
    match = _NUMBER.fullmatch(name)
    return int(match[1]) if match else 0


def starts(custom: Custom | None) -> re.Pattern[str]:
    """Return the pattern of the characters that a marker may begin with."""
    first = re.escape(custom.prefix[0]) if custom else ""
    return re.compile(f"[<\\[【#`~{first}]")


def tag(held: str, at: int, *, final: bool, open_anchors: int) -> Mark | int | None:
    """Look at a ``<``."""
    rest = held[at : at + _TAG_CHARS]
    if close := _CLOSE.match(rest):
        return Mark(raw=close[0], opens=-1) if open_anchors else at + close.end()
    if opened := _OPEN.match(rest):
        return _reference(held, at, opened, final=final)
    # Before any other tag, since a quoted value may hold what would end one.
    if len(rest) < _TAG_CHARS and (_OPEN_PART.fullmatch(rest) or _CLOSE_PART.fullmatch(rest)):
        if not final:
            return None
        if _OPEN_CUT.fullmatch(rest) or (open_anchors and len(rest) > 1):
            return Mark(raw=rest)
    if any_tag := _TAG.match(rest):
        return at + any_tag.end()
    if _TAG_PART.fullmatch(rest) and not final:
        return None
    return at + 1


def _reference(held: str, at: int, opened: re.Match[str], *, final: bool) -> Mark | int | None:
    values = {
        name.lower(): next((part for part in parts if part), "")
        for name, *parts in _ATTRIBUTE.findall(opened[1])
    }
    href = values.get("href", "")
    name = values.get("data-ref-id") or values.get("index") or values.get("data-ref") or ""
    if not name and href.startswith("#ref:"):
        name = href
    is_ref = bool(name) or "ref" in values.get("class", "").split()
    if not is_ref:
        return at + opened.end()
    name = name.removesuffix("/").strip()
    if opened[2] or opened[1].endswith("/"):
        return Mark(raw=opened[0], ids=(name,) if name else (), shown=f"[{name}]")
    begin = at + opened.end()
    rest = held[begin : begin + _LABEL_CHARS + 110]
    content = _CONTENT.match(rest)
    if content is None and _CONTENT_PART.fullmatch(rest):
        if not final:
            return None
        inner = re.sub(r"<.*$", "", rest, flags=re.DOTALL)
        if _MARKER_TEXT.fullmatch(inner + "]") or _MARKER_TEXT.fullmatch(inner):
            return _mark(opened[0] + rest, name, inner)
    if content is None:
        # Something is around the content, or it is long: it is text of its own.
        return Mark(raw=opened[0], ids=(name,) if name else (), opens=1)
    return _mark(opened[0] + content[0], name, content[1])


def _mark(raw: str, name: str, content: str) -> Mark:
    is_marker = bool(_MARKER_TEXT.fullmatch(content))
    ids = (name,) if name else tuple(re.findall(r"[0-9]{1,6}", content)) if is_marker else ()
    shown = content.strip() or (f"[{name}]" if name else "")
    if not ids:
        return Mark(raw=raw, label=content)
    return Mark(raw=raw, ids=ids, label="" if is_marker else content, shown=shown)


def bracket(held: str, at: int, *, final: bool) -> Mark | int | None:
    """Look at a ``[``."""
    rest = held[at : at + 2 * _LABEL_CHARS]
    if (match := _BRACKET.match(rest)) and len(match[2]) < _LABEL_CHARS:
        ids = tuple(name.strip() for name in _BETWEEN_IDS.split(match[2]))
        raw = match[0]
        after = at + match.end()
        if after == len(held):
            return Mark(raw=raw, ids=ids, shown=raw) if final else None
        if held[after] == "(":
            end = _target(held, after + 1, final=final)
            if end is None:
                return None
            if end:
                target = held[after + 1 : end - 1]
                if target.startswith("#ref:"):
                    ids = (target.removeprefix("#ref:"),)
                    return Mark(raw=held[at:end], ids=ids, shown=raw)
                return Mark(raw=held[at:end], ids=ids, shown=held[at:end])
        return Mark(raw=raw, ids=ids, shown=raw)
    if match := _LABELLED.match(rest):
        return Mark(raw=match[0], ids=(match[2],), label=match[1], shown=match[1])
    parts = (_SINGLE_PART, _DOUBLE_PART, _LABELLED_PART)
    if not final and any(part.fullmatch(rest) for part in parts):
        return None
    return at + 1


def _target(held: str, at: int, *, final: bool) -> int | None:
    """Return where a link's target has ended, 0 if it is none that is ours, None to wait."""
    stop = at + _TARGET_CHARS
    target = _TARGET.match(held, at, stop)
    if target is not None and target["end"]:
        return target.end() if target["ours"] is not None else 0
    waits = not final and stop > len(held) and _TARGET_PART.match(held, at)
    return None if waits else 0


def anchor(held: str, at: int, *, final: bool) -> Mark | int | None:
    """Look at a ``#``."""
    rest = held[at : at + 16]
    match = _ANCHOR.match(rest)
    open_end = at + len(rest) == len(held) and _ID_PART.fullmatch(rest)
    if open_end and not final:
        return None
    if match is None:
        return at + 1
    return Mark(raw=match[0], ids=(match[1],), shown=match[0])


def lenticular(held: str, at: int, *, final: bool) -> Mark | int | None:
    """Look at a ``【``."""
    if match := _LENTICULAR.match(held, at):
        return Mark(raw=match[0], ids=(match[1],), shown=match[0])
    if not final and _LENTICULAR_PART.fullmatch(held, at):
        return None
    return at + 1


def _run_end(held: str, at: int) -> int:
    run = _RUN.match(held, at, at + _SPAN_CHARS)
    return run.end() if run else at


def may_open_fence(before: str) -> bool:
    """Whether a line that begins so may open a fenced block here."""
    return _FENCE_LEAD.fullmatch(before) is not None


def fence(held: str, at: int, *, final: bool) -> str | None:
    """Return the fence that opens here; empty if there is none; None to wait."""
    end = _run_end(held, at)
    if end == len(held) and not final:
        return None
    if end - at < 3:
        return ""
    line = held[end : end + _LABEL_CHARS].split("\n", 1)[0]
    if held[at] == "`" and "`" in line:
        return ""
    if end + len(line) == len(held) and len(line) < _LABEL_CHARS and not final:
        return None
    return held[at:end]


def may_close_fence(line: str) -> bool:
    """Whether an unfinished line may yet close a fenced block."""
    return _FENCE_END_PART.fullmatch(line) is not None


def closes_fence(line: str, opened: str) -> bool:
    """Whether a whole line closes the block that this fence opened."""
    match = _FENCE_END.fullmatch(line)
    return match is not None and match[1].startswith(opened)


def code_span(held: str, at: int, *, final: bool) -> int | None:
    """Return where the code has ended that begins here, or the place behind the ticks."""
    if held[at] == "~":
        return at + 1
    end = _run_end(held, at)
    if end == len(held):
        return end if final else None
    size = end - at
    line = held[end : end + _SPAN_CHARS].split("\n", 1)[0]
    for run in _TICKS.finditer(line):
        if len(run[0]) != size:
            continue
        # At the very end, another tick may follow.
        if end + run.end() == len(held) and not final:
            return None
        return end + run.end()
    whole = end + len(line) < len(held) or len(line) == _SPAN_CHARS
    return end if whole or final else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Custom:
    """A form of citation of one's own: what stands before the id, and behind it."""

    prefix: str
    suffix: str

    @classmethod
    def read(cls, form: str) -> Custom | None:
        """Return the form, or None where it is found anyway or cannot be told from text."""
        match = re.search(r"\{(?:id|index)\}", form)
        if match is None or form == "#ref:{id}":
            return None
        prefix, suffix = form[: match.start()], form[match.end() :]
        if not prefix or "{" in prefix + suffix or (prefix, suffix) == ("[", "]"):
            return None
        return cls(prefix=prefix, suffix=suffix)

    def look(self, held: str, at: int, *, final: bool) -> Mark | int | None:
        """Look at the first character of the form."""
        nowhere = at + 1
        wait = nowhere if final else None
        rest = held[at : at + len(self.prefix)]
        if rest != self.prefix:
            return wait if at + len(rest) == len(held) and self.prefix.startswith(rest) else nowhere
        begin = at + len(self.prefix)
        name = _BARE_ID.match(held, begin)
        if name is None or name.end() == len(held):
            if name and final and not self.suffix:
                return Mark(raw=held[at:], ids=(name[0],), shown=held[at:])
            open_end = begin + 16 > len(held) and _ID_PART.fullmatch(held, begin)
            return wait if open_end else nowhere
        rest = held[name.end() : name.end() + len(self.suffix)]
        if rest == self.suffix:
            raw = held[at : name.end() + len(rest)]
            return Mark(raw=raw, ids=(name[0],), shown=raw)
        partial = name.end() + len(rest) == len(held) and self.suffix.startswith(rest)
        return wait if partial else nowhere
