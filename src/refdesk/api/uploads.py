"""
Files that clients send: a form with any number of them, or one file as the whole body.  No I/O.

A name is taken as text only: nothing is ever written under it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs, unquote

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from refdesk.errors import WireError

UPLOAD_TIMEOUT_S: Final = 300.0
"""For the whole body of an upload; a slower one is answered with 408."""
_MAX_PARTS: Final = 1000
"""Parts of one form; a form of more is refused (400)."""
_MAX_FIELD_BYTES: Final = 65_536
"""Bytes of a form's field that is no file; a longer one is refused (400)."""
_SHOWN_CHARS: Final = 80

_EXTENDED_NAME: Final = re.compile(
    rb"filename\*\s*=\s*(utf-8|iso-8859-1)'[^']*'([^;\s]+)", re.IGNORECASE
)
_SUFFIXES: Final = {
    "application/pdf": ".pdf",
    "text/html": ".html",
    "text/markdown": ".md",
    "text/csv": ".csv",
    "application/json": ".json",
    "application/epub+zip": ".epub",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Upload:
    """A file as it was sent."""

    name: str
    body: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """What a form held: its files, and its other fields."""

    files: tuple[Upload, ...] = ()
    fields: dict[str, str] = field(default_factory=dict)


def read_upload(content_type: str, disposition: str, query: str, body: bytes) -> Form:
    """
    Return the files of a request.

    Args:
        content_type: The header; ``multipart/form-data`` is a form, all else is one file.
        disposition: The header ``content-disposition``, which may name the file.
        query: The URL's query, whose ``name`` may name it too.
        body: As it came.

    Raises:
        WireError: The form is broken, has no file, or a single file has no name.
    """
    kind, options = parse_options_header(content_type)
    if kind == b"multipart/form-data":
        return _read_form(options.get(b"boundary", b""), body)
    if kind.startswith(b"multipart/"):
        raise WireError(
            f"the body is {kind.decode('latin-1')[:_SHOWN_CHARS]}; send multipart/form-data, or "
            "one file as the whole body",
            status=415,
        )
    fields = {name: values[-1] for name, values in parse_qs(query).items()}
    name = fields.pop("name", "") or _filename(disposition.encode("latin-1", "replace"))
    if not name:
        suffix = _SUFFIXES.get(kind.decode("latin-1"), ".txt")
        raise WireError(
            f"the file has no name; send ?name=notes{suffix}, so that its next version takes its"
            " place",
            param="name",
        )
    if not body:
        raise WireError(f"the file {name[:_SHOWN_CHARS]!r} is empty; send its bytes as the body")
    return Form(files=(Upload(name=name, body=body),), fields=fields)


def _read_form(boundary: bytes, body: bytes) -> Form:
    if not boundary:
        raise WireError("the form has no boundary in its content-type; let your client set it")
    reader = _Reader()
    try:
        parser = MultipartParser(boundary, reader.callbacks())  # type: ignore[arg-type]
        parser.write(body)
        parser.finalize()
    except FormParserError as exc:
        raise WireError(f"the form cannot be read: {str(exc)[:200]}") from None
    if not reader.whole:
        raise WireError("the form breaks off before its last boundary; send it again")
    if not reader.files:
        raise WireError(
            "the form has no file; send one with a filename, as `curl -F file=@notes.md` does",
            param="file",
        )
    return Form(files=tuple(reader.files), fields=reader.fields)


class _Reader:
    """Takes in what the parser finds."""

    def __init__(self) -> None:
        self.files: list[Upload] = []
        self.fields: dict[str, str] = {}
        self.whole = False
        self._headers: dict[bytes, bytes] = {}
        self._name = bytearray()
        self._value = bytearray()
        self._data = bytearray()
        self._parts = 0

    def callbacks(self) -> dict[str, Any]:
        """Return them as the parser wants them."""
        return {
            "on_part_begin": self._begin,
            "on_header_field": lambda data, start, end: self._name.extend(data[start:end]),
            "on_header_value": lambda data, start, end: self._value.extend(data[start:end]),
            "on_header_end": self._header,
            "on_part_data": lambda data, start, end: self._data.extend(data[start:end]),
            "on_part_end": self._end,
            "on_end": self._finish,
        }

    def _begin(self) -> None:
        self._parts += 1
        if self._parts > _MAX_PARTS:
            raise WireError(f"the form has more than {_MAX_PARTS} parts; send fewer at once")
        self._headers = {}
        self._data = bytearray()

    def _header(self) -> None:
        self._headers[bytes(self._name).lower()] = bytes(self._value)
        self._name, self._value = bytearray(), bytearray()

    def _end(self) -> None:
        disposition = self._headers.get(b"content-disposition", b"")
        if name := _filename(disposition):
            self.files.append(Upload(name=name, body=bytes(self._data)))
            return
        _, options = parse_options_header(disposition)
        key = options.get(b"name", b"").decode("utf-8", "replace")
        if len(self._data) > _MAX_FIELD_BYTES:
            raise WireError(
                f"the field {key[:_SHOWN_CHARS]!r} has {len(self._data)} bytes; send up to"
                f" {_MAX_FIELD_BYTES}, or give it a filename if it is a document",
                param=key[:_SHOWN_CHARS],
            )
        self.fields[key] = self._data.decode("utf-8", "replace")

    def _finish(self) -> None:
        self.whole = True


def _filename(disposition: bytes) -> str:
    # RFC 5987: filename*=UTF-8''na%C3%AFve.md, which wins over the plain one.
    if match := _EXTENDED_NAME.search(disposition):
        coding, name = match[1].decode("ascii"), match[2].decode("latin-1")
        return unquote(name, encoding=coding, errors="replace").strip()
    # The plain one is raw UTF-8, as browsers and curl send it.
    _, options = parse_options_header(disposition)
    return options.get(b"filename", b"").decode("utf-8", "replace").strip()


def header_of(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    """Return the last value of a header, or an empty text."""
    found = ""
    for key, value in headers:
        if key == name:
            found = value.decode("latin-1")
    return found
