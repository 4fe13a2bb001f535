"""
A client's JSON body, edited without being read.

Members that nobody touches stay the bytes that came in: digits of any length, escapes, key order,
unknown fields.  A document is read one level deep; what an editor needs to see deeper it opens with
`members`, `elements` or `string`, and everything else is copied as it stands.

What is refused, and why:

* invalid UTF-8, a byte-order mark, NaN, trailing bytes: no JSON (RFC 8259);
* a top-level key given twice: the gateway and the upstream could disagree about which one counts;
* nesting deeper than the parser's limit, and what passes the bounds of `refdesk.wires.bounds`: dear
  to parse, here and upstream.

A lone surrogate (an escape such as ``\\ud800`` without its other half) is legal in a body and has
no meaning as text.  It is carried through as sent, and read as U+FFFD.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw

from refdesk.errors import WireError
from refdesk.wires.bounds import MAX_KEY_CHARS, MAX_LONE_SURROGATES, check_bounds

_MEMBERS: Final = msgspec.json.Decoder(dict[str, Raw])
_ELEMENTS: Final = msgspec.json.Decoder(list[Raw])
_STRING: Final = msgspec.json.Decoder(str)
_ENCODER: Final = msgspec.json.Encoder()

# A lone surrogate is kept as this noncharacter followed by the four digits of its escape.  U+FDD0
# is reserved for internal use (Unicode 16.0, section 23.7), so no honest text holds it.
_KEEPER: Final = "\ufdd0"
_SURROGATES: Final = re.compile(
    rb"(?<!\\)(?:\\\\)*+\\u[dD](?:[89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<lone>[89a-fA-F][0-9a-fA-F]{2}))"
)
"""Pairs, and halves; an escaped backslash before an ``u`` is no escape of the ``u``."""
_KEPT: Final = re.compile(rb"(?:\\ufdd0|\xef\xb7\x90)([dD][89a-fA-F][0-9a-fA-F]{2})")
_KEPT_TEXT: Final = re.compile(_KEEPER + "[dD][89a-fA-F][0-9a-fA-F]{2}")
_KEY: Final = re.compile(rb'[\s{,]*+("(?:[^"\\]++|\\.)*+")\s*+:\s*+', re.DOTALL)
_AFTER: Final = re.compile(rb"\s*+[,}]")
_COMMA: Final = re.compile(rb"\s*+,\s*+")


class Document:
    """
    A JSON object as its bytes and its top-level members.

    Edits return a new document.  ``bytes(document)`` of one that nobody edited is exactly what was
    read.
    """

    __slots__ = ("_compact", "_data", "_kept", "_members")

    def __init__(
        self, data: bytes | None, table: dict[str, Raw], *, compact: bool, kept: bool = False
    ) -> None:
        self._data = data
        self._members = table
        self._compact = compact
        self._kept = kept

    @classmethod
    def read(cls, data: bytes) -> Document:
        """Read a body, or raise WireError with a message that says where it is broken."""
        if not data.isascii():
            try:
                data.decode()
            except UnicodeDecodeError as exc:
                raise WireError(
                    f"the body is not UTF-8: byte {exc.start} is 0x{data[exc.start]:02x}"
                ) from None
            if data.startswith(b"\xef\xbb\xbf"):
                raise WireError("the body starts with a byte-order mark; send UTF-8 without one")
        check_bounds(data)
        kept = False
        original = data
        try:
            table = _MEMBERS.decode(data)
        except (msgspec.DecodeError, RecursionError) as exc:
            if b"\\ud" not in data and b"\\uD" not in data:
                raise _broken(exc, data) from None
            data = _kept_surrogates(data)
            kept = True
            try:
                table = _MEMBERS.decode(data)
            except (msgspec.DecodeError, RecursionError):
                raise _broken(exc, original) from None
        if len(data) > MAX_KEY_CHARS and any(len(key) > MAX_KEY_CHARS for key in table):
            raise WireError(f"a key of the body has more than {MAX_KEY_CHARS:,} characters")
        # Without a space between its members, a document is as long as the sum of them; only then
        # is it certain that no key stands twice.
        size = 1 + sum([len(key) + 4 + memoryview(value).nbytes for key, value in table.items()])
        compact = size == len(data) or not table
        if not compact:
            _spans(data, table)
        return cls(data, table, compact=compact, kept=kept)

    def __contains__(self, key: str) -> bool:
        return key in self._members

    def get(self, key: str) -> Raw | None:
        """Return a member as it stands; None where it is absent or null."""
        value = self._members.get(key)
        return None if value is None or is_null(value) else value

    def table(self) -> dict[str, Raw]:
        """Return all members as they stand; what is written with them goes through `plain`."""
        return dict(self._members)

    def replace(self, changes: Mapping[str, Raw | bytes | None]) -> Document:
        """Return a document with these members put in place of the old ones; None takes one out."""
        table = dict(self._members)
        for key, value in changes.items():
            if value is None:
                table.pop(key, None)
            else:
                table[key] = value if isinstance(value, Raw) else Raw(value)
        if self._compact or self._data is None:
            return Document(None, table, compact=True, kept=self._kept)
        return Document(
            _splice(self._data, self._members, changes), table, compact=False, kept=self._kept
        )

    def __bytes__(self) -> bytes:
        data = self._data if self._data is not None else _ENCODER.encode(self._members)
        return _KEPT.sub(rb"\\u\1", data) if self._kept else data


def members(raw: Raw | bytes) -> dict[str, Raw]:
    """Open an object one level deep; WireError if it is none."""
    try:
        return _MEMBERS.decode(raw)
    except (msgspec.DecodeError, RecursionError) as exc:
        raise WireError(f"expected an object, found {_shown(raw)}") from exc


def elements(raw: Raw | bytes) -> list[Raw]:
    """Open an array one level deep; WireError if it is none."""
    try:
        return _ELEMENTS.decode(raw)
    except (msgspec.DecodeError, RecursionError) as exc:
        raise WireError(f"expected an array, found {_shown(raw)}") from exc


def string(raw: Raw | bytes | None) -> str | None:
    """Read a JSON string as text (lone surrogates as U+FFFD); None if it is something else."""
    if raw is None:
        return None
    try:
        text = _STRING.decode(raw)
    except msgspec.DecodeError:
        return None
    return _KEPT_TEXT.sub("\ufffd", text) if _KEEPER in text else text


def value(raw: Raw | bytes | None) -> Any:
    """Read a whole value as plain Python; None where it is absent.  For small things only."""
    return None if raw is None else msgspec.json.decode(raw)


def dump(tree: Any) -> bytes:
    """Write a tree of dicts, lists, scalars and members taken from a document, compactly."""
    return _ENCODER.encode(tree)


def plain(raw: Raw | bytes) -> bytes:
    """Return a member as it was sent, for use outside of the document that it was taken from."""
    data = bytes(memoryview(raw))
    return _KEPT.sub(rb"\\u\1", data) if b"\xef\xb7\x90" in data or b"\\ufdd0" in data else data


def is_null(raw: Raw | bytes) -> bool:
    """Whether this is the JSON word ``null``."""
    return memoryview(raw).nbytes == 4 and bytes(raw) == b"null"


def kind(raw: Raw | bytes | None) -> str:
    """Return ``object``, ``array``, ``string``, ``number``, ``boolean``, ``null`` or ``absent``."""
    if raw is None:
        return "absent"
    first = bytes(memoryview(raw)[:1])
    return {
        b"{": "object",
        b"[": "array",
        b'"': "string",
        b"t": "boolean",
        b"f": "boolean",
        b"n": "null",
    }.get(first, "number")


def _shown(raw: Raw | bytes) -> str:
    text = bytes(memoryview(raw)[:40]).decode(errors="replace")
    return f"{kind(raw)} {text!r}"


def _kept_surrogates(data: bytes) -> bytes:
    parts: list[bytes] = []
    at = 0
    for found in _SURROGATES.finditer(data):
        if found["lone"] is None:
            continue
        if len(parts) > 2 * MAX_LONE_SURROGATES:
            raise WireError(f"the body has more than {MAX_LONE_SURROGATES:,} lone surrogates")
        digits = found.start("lone") - 1  # the D is one of the four
        parts += (data[at : digits - 1], rb"ufdd0")
        at = digits
    return b"".join((*parts, data[at:]))


def _broken(exc: Exception, data: bytes) -> WireError:
    if isinstance(exc, RecursionError):
        return WireError("the body is nested too deeply to be read")
    if not data:
        return WireError("the body is empty; send a JSON object")
    if isinstance(exc, msgspec.ValidationError):
        return WireError(f"the body must be a JSON object; found {_shown(data.lstrip())}")
    detail = str(exc).removeprefix("JSON is malformed: ")
    return WireError(f"the body is not valid JSON: {detail}")


def _spans(data: bytes, table: Mapping[str, Raw]) -> list[tuple[str, int, int]]:
    """
    Return each top-level key with the places where its member starts and its value ends.

    The table holds the last value of each key, so a place where another value stands than the
    table's is a key given twice; whatever is in a value is compared, not parsed.
    """
    found: dict[str, tuple[str, int, int]] = {}
    at = 0
    while match := _KEY.match(data, at):
        key = _STRING.decode(match.group(1))
        last = bytes(table[key])
        end = match.end() + len(last)
        whole = data.startswith(last, match.end()) and _AFTER.match(data, end)
        if key in found or not whole:
            raise WireError(
                f"the key {key!r} is given twice; a request may name it once", param=key
            )
        found[key] = (key, match.start(1), end)
        at = end
    return list(found.values())


def _splice(
    data: bytes, table: Mapping[str, Raw], changes: Mapping[str, Raw | bytes | None]
) -> bytes:
    parts: list[bytes] = []
    at = 0
    for key, start, end in _spans(data, table):
        if key not in changes:
            continue
        new = changes[key]
        if new is not None:
            value_at = end - memoryview(table[key]).nbytes
            parts += (data[at:value_at], bytes(memoryview(new)))
            at = end
            continue
        parts.append(data[at:start])
        if comma := _COMMA.match(data, end):
            at = comma.end()
        else:
            _drop_comma(parts)
            at = end
    parts.append(data[at:])
    out = b"".join(parts)
    added = [(key, new) for key, new in changes.items() if new is not None and key not in table]
    if added:
        close = out.rindex(b"}")
        body = out[:close].rstrip()
        lead = b"" if body.endswith(b"{") else b","
        extra = b",".join(
            _ENCODER.encode(key) + b":" + bytes(memoryview(new)) for key, new in added
        )
        out = body + lead + extra + out[close:]
    return out


def _drop_comma(parts: list[bytes]) -> None:
    """Take the comma off the end of what was written, where there is one."""
    while parts and not parts[-1].strip():
        parts.pop()
    if parts and (end := parts[-1].rstrip()).endswith(b","):
        parts[-1] = end[:-1]
