"""What reading a document gathers: findings with their paths, and how deep and how much it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Final, Protocol

from refdesk.db.dsl.expressions import BIGGEST, ExpressionError, encodes, read_expression
from refdesk.db.dsl.types import (
    MAX_FINDINGS,
    Constant,
    Diagnostic,
    Expression,
    Query,
    QueryError,
)

MAX_NESTED: Final = 12
"""How deep groups, sub-queries and cases may be nested."""
MAX_NODES: Final = 3000
"""How many conditions, values and expressions one document may hold."""

QueryReader = Callable[["Reading", Any, str], Query | None]
"""`refdesk.db.dsl.parse.read_query`, handed down because a query holds queries."""


class ValueReader(Protocol):
    """`refdesk.db.dsl.objects.read_value_object`: a value object may hold conditions."""

    def __call__(
        self, reading: Reading, written: Mapping[Any, Any], path: str, code: str,
        read_query: QueryReader, /,
    ) -> Expression | None: ...  # fmt: skip


class Reading:
    """
    The findings about one document.

    Args:
        read_value: Reads a value that is written as an object.
        claims: Whether claims of the asker may be named.
    """

    def __init__(self, read_value: ValueReader, *, claims: bool = False) -> None:
        self._read_value = read_value
        self.claims = claims
        self.found: list[Diagnostic] = []
        self._depth = 0
        self._nodes = 0

    def fail(self, code: str, path: str, message: str, source: str | None = None) -> None:
        """Note an error; beyond a number nobody reads, it is dropped."""
        if len(self.found) < MAX_FINDINGS:
            source = None if source is None else source[:200]
            self.found.append(Diagnostic(code=code, message=message, path=path, source=source))

    def raise_if_wrong(self) -> None:
        """Raise QueryError if anything was found."""
        if self.found:
            raise QueryError(self.found)

    @staticmethod
    def at(path: str, key: str) -> str:
        """Return the path of a member."""
        return f"{path}.{key}" if path else key

    @contextmanager
    def deeper(self, path: str) -> Iterator[bool]:
        """Go one level down; yields False, having noted it, where that is too deep."""
        self._depth += 1
        if self._depth > MAX_NESTED:
            self.fail("E190", path, f"this is nested deeper than {MAX_NESTED} levels")
        try:
            yield self._depth <= MAX_NESTED
        finally:
            self._depth -= 1

    def count(self, path: str) -> bool:
        """Count one more part; False, having noted it once, when there are too many."""
        self._nodes += 1
        if self._nodes == MAX_NODES + 1:
            self.fail("E190", path, f"the query has more than {MAX_NODES} parts")
        return self._nodes <= MAX_NODES

    def known(
        self, document: Mapping[Any, Any], keys: frozenset[str] | set[str], path: str
    ) -> None:
        """Note each member that is not one of these."""
        for key in document:
            if key in keys:
                continue
            if len(self.found) >= MAX_FINDINGS:
                return  # to say what each was meant to be takes its time
            name = key if isinstance(key, str) else repr(key)
            close = get_close_matches(name, keys, n=1)
            hint = (
                f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(sorted(keys))}"
            )
            self.fail("E003", self.at(path, name[:60]), f"there is no member {name[:60]!r}{hint}")

    def text(self, document: Mapping[Any, Any], key: str, path: str) -> str | None:
        """Return a member that is text, or None."""
        value = document.get(key)
        if value is None or isinstance(value, str):
            return value
        self.fail("E003", self.at(path, key), f"{key} is text, not {shown(value)}")
        return None

    def scalar(self, value: Any, path: str, code: str) -> Constant | None:
        """Return a value that a database can hold; dates become ISO text."""
        if isinstance(value, date):
            value = value.isoformat()
        elif isinstance(value, Decimal):
            value = float(value)
        if isinstance(value, str):
            if "\0" in value or not encodes(value):
                self.fail(code, path, "the text holds a character that no database can store")
                return None
        elif isinstance(value, float):
            if value != value or abs(value) == float("inf"):
                self.fail(code, path, f"{value} is no number a database can compare with")
                return None
        elif isinstance(value, int):
            if abs(value) > BIGGEST:
                self.fail(code, path, "the number is larger than a database can hold")
                return None
        elif value is not None:
            self.fail(
                code, path, f"a value is text, a number, true, false or null; found {shown(value)}"
            )
            return None
        return Constant(value=value)

    def expression(
        self, written: Any, path: str, code: str, read_query: QueryReader
    ) -> Expression | None:
        """Return an expression, written as text or as an object."""
        if not self.count(path):
            return None
        if isinstance(written, str):
            try:
                value = read_expression(written)
            except ExpressionError as exc:
                self.fail(code if code != "E101" else "E002", path, str(exc), written)
                return None
            return value
        if isinstance(written, Mapping):
            return self._read_value(self, written, path, code, read_query)
        return self.scalar(written, path, code)


def shown(value: Any) -> str:
    """Return a value for a message: short, whatever it is."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > BIGGEST:
        return "a number of many digits"
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
