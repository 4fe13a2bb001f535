"""
Expressions as text, read.

    name   table.name   $model.name   `any name`      a column
    'text'   12.5   true   null   ?:name              a value, a parameter
    data$.a.b[0]   list[0].a                          inside a JSON value
    a + b   -a * (b / 2)                              arithmetic
    :SUM(a)   :COUNT(distinct a)   :COUNT(*)          functions, nested as deep as need be
    :CAST(a as decimal 11,2)   a(decimal 11,2)        a value as another type
    :INTERVAL(7, day)                                 a length of time
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal, cast

from refdesk.db.dsl.types import (
    CAST_TYPES,
    UNITS,
    Arithmetic,
    Binary,
    Call,
    Cast,
    CastType,
    Constant,
    Expression,
    Field,
    Interval,
    Parameter,
    Star,
    Unit,
)

MAX_CHARS: Final = 4000
"""How long one expression may be."""
MAX_DEPTH: Final = 40
"""How deep parentheses, calls and operators may be nested."""
BIGGEST: Final = 2**63 - 1
PARTS: Final = (*UNITS, "dow", "doy", "epoch")
"""What can be taken out of a date."""

_TOKEN: Final = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<number>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<string>'(?:[^']|'')*')
    | (?P<quoted>`[^`]+`)
    | (?P<parameter>\?:[\w.]+)
    | (?P<function>:[^\W\d]\w*)
    | (?P<model>\$[^\W\d]\w*)
    | (?P<name>[^\W\d]\w*)
    | (?P<sign>[()\[\],+\-*/.@$])
    """,
    re.VERBOSE,
)
_PLAIN: Final = re.compile(r"[^\W\d]\w*")
_CONSTANTS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
_WITH_PART: Final = frozenset(("EXTRACT", "DATE_TRUNC", "DATE_DIFF"))


class ExpressionError(ValueError):
    """A text that is no expression; the sentence says where and what would be right."""


def read_expression(text: str) -> Expression:
    """Read one expression, or raise ExpressionError."""
    reader = _Reader(text)
    value = reader.expression()
    reader.expect_end()
    return value


def read_selected(text: str) -> tuple[Expression, str | None]:
    """Read an expression that may have an alias: ``a + b as c``."""
    reader = _Reader(text)
    value = reader.expression()
    alias = reader.alias()
    reader.expect_end()
    return value, alias


def read_ordered(text: str) -> tuple[Expression, bool, Literal["first", "last"] | None]:
    """Read an expression with its direction: ``a desc nulls last``; True is descending."""
    reader = _Reader(text)
    value = reader.expression()
    descending = reader.word("asc", "desc") == "desc"
    nulls: str | None = None
    if reader.word("nulls"):
        nulls = reader.word("first", "last")
        if nulls is None:
            raise ExpressionError(f"after 'nulls' in {text!r} comes first or last")
    reader.expect_end()
    return value, descending, cast('Literal["first", "last"] | None', nulls)


def split_list(text: str) -> list[str]:
    """Part a text at the commas that are in no parentheses and no quotes."""
    parts, depth, start = [], 0, 0
    for token in re.finditer(r"'(?:[^']|'')*'|`[^`]*`|[^'`,()\[\]]+|.", text, re.DOTALL):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(token[0], 0)
        if token[0] == "," and depth <= 0:
            parts.append(text[start : token.start()].strip())
            start = token.end()
    parts.append(text[start:].strip())
    return parts


def read_type(text: str) -> tuple[CastType, tuple[int, ...]]:
    """Read a type with its size: ``decimal 11,2``."""
    match = re.fullmatch(
        r"\s*+([a-zA-Z]+)(?:\s*+\(?+\s*+(\d{1,4})(?:\s*+,\s*+(\d{1,3}))?\s*+\)?)?\s*", text
    )
    name = match[1].lower() if match else ""
    name = {"int": "integer", "varchar": "string", "timestamp": "datetime", "bool": "boolean"}.get(
        name, "decimal" if name == "numeric" else name
    )
    if match is None or name not in CAST_TYPES:
        raise ExpressionError(f"{text.strip()!r} is no type; known: {', '.join(CAST_TYPES)}")
    size = tuple(int(each) for each in match.groups()[1:] if each is not None)
    return cast("CastType", name), size


def fold_part(name: str, args: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """Return the arguments; the part of a date, written as a bare word, as the value it is."""
    match args:
        case (Field(name=part, source=None, path=()), *rest) if name in _WITH_PART:
            return (Constant(value=part.lower()), *rest)
    return args


def unit_of(word: str) -> Unit:
    """Return the unit that a word names, in singular or plural, or raise ExpressionError."""
    unit = word.strip().lower()
    unit = unit if unit in UNITS else unit.removesuffix("s")
    if unit not in UNITS:
        raise ExpressionError(f"{word!r} is no unit of time; known: {', '.join(UNITS)}")
    return unit


class _Reader:
    def __init__(self, text: str) -> None:
        if len(text) > MAX_CHARS:
            raise ExpressionError(f"the expression has {len(text)} characters of {MAX_CHARS}")
        if "\0" in text or not encodes(text):
            raise ExpressionError("the expression holds a character that no database can store")
        self._text = text
        self._tokens = list(_tokens(text))
        self._at = 0
        self._depth = 0

    # tokens

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("end", "")

    def _next(self) -> tuple[str, str]:
        token = self._peek()
        self._at += 1
        return token

    def _take(self, sign: str) -> bool:
        if self._peek() == ("sign", sign):
            self._at += 1
            return True
        return False

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise self._unexpected(f"{sign!r}")

    def _unexpected(self, wanted: str) -> ExpressionError:
        found = self._peek()[1]
        what = f"found {found!r}" if found else "the text ends"
        return ExpressionError(f"in {_shown(self._text)}, {what} where {wanted} was expected")

    def word(self, *words: str) -> str | None:
        kind, text = self._peek()
        if kind == "name" and text.lower() in words:
            self._at += 1
            return text.lower()
        return None

    def expect_end(self) -> None:
        kind, text = self._peek()
        if kind == "end":
            return
        if kind == "name" and self._at and self._tokens[self._at - 1][0] == "name":
            raise ExpressionError(
                f"{_shown(self._text)} has a space before {text!r}; a name with a space is written "
                "`in backticks`, an alias after 'as'"
            )
        raise self._unexpected("an operator or the end")

    def alias(self) -> str | None:
        if not self.word("as"):
            return None
        kind, text = self._next()
        if kind == "quoted":
            kind, text = "name", text[1:-1]
        if kind != "name" or not is_alias(text):
            raise ExpressionError(
                f"in {_shown(self._text)}, the alias after 'as' should be one word of letters, "
                "digits and underscores"
            )
        return text

    # grammar

    def _deeper(self, read: Callable[[], Expression]) -> Expression:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ExpressionError(f"the expression is nested deeper than {MAX_DEPTH} levels")
        value = read()
        self._depth -= 1
        return value

    def expression(self) -> Expression:
        return self._chain(("+", "-"), lambda: self._chain(("*", "/"), self._factor))

    def _chain(self, signs: tuple[str, ...], read: Callable[[], Expression]) -> Expression:
        value = read()
        length = 0
        while self._peek()[0] == "sign" and self._peek()[1] in signs and not self._encrypted():
            length += 1
            if length > MAX_DEPTH:
                raise ExpressionError(f"the expression has more than {MAX_DEPTH} operators")
            op = cast("Arithmetic", self._next()[1])
            value = Binary(op=op, left=value, right=read())
        return value

    def _encrypted(self) -> bool:
        """A star that ends the expression marks an encrypted column; it is no product."""
        if self._peek()[1] != "*":
            return False
        after = self._tokens[self._at + 1] if self._at + 1 < len(self._tokens) else ("end", "")
        if after[0] == "end" or after[1] in (",", ")") or after[1].lower() == "as":
            raise ExpressionError(
                f"{_shown(self._text)} marks an encrypted column; decryption in the database is "
                "left out, because the key would travel with the query"
            )
        return False

    def _factor(self) -> Expression:
        if self._take("-"):
            value = self._deeper(self._factor)
            if isinstance(value, Constant) and type(value.value) in (int, float):
                return Constant(value=-cast("float", value.value))
            return Binary(op="-", left=Constant(value=0), right=value)
        if self._take("("):
            value = self._deeper(self.expression)
            self._expect(")")
            return value
        if self._take("*"):
            return Star()
        kind, text = self._peek()
        match kind:
            case "number":
                self._at += 1
                return Constant(value=_number(text))
            case "string":
                self._at += 1
                return Constant(value=text[1:-1].replace("''", "'"))
            case "parameter":
                self._at += 1
                return Parameter(name=text[2:])
            case "function":
                self._at += 1
                return self._deeper(lambda: self._call(text[1:].upper()))
            case "name" | "quoted" | "model":
                if kind == "name" and text.lower() in _CONSTANTS:
                    self._at += 1
                    return Constant(value=_CONSTANTS[text.lower()])
                return self._field()
        raise self._unexpected("a column, a value or a function")

    def _call(self, name: str) -> Expression:
        self._expect("(")
        if name == "CAST":
            value = self.expression()
            if not self.word("as"):
                raise self._unexpected("'as' and a type")
            type_, size = self._type()
            self._expect(")")
            return Cast(value=value, type=type_, size=size)
        distinct = self.word("distinct") is not None
        args: list[Expression] = []
        if not self._take(")"):
            args.append(self.expression())
            while self._take(","):
                args.append(self.expression())
            self._expect(")")
        if name == "INTERVAL":
            match args:
                case [amount, Field(name=word, source=None) | Constant(value=str(word))]:
                    return Interval(amount=amount, unit=unit_of(word))
            raise ExpressionError(
                f"{_shown(self._text)}: a length of time is written :INTERVAL(7, day)"
            )
        return Call(name=name, args=fold_part(name, tuple(args)), distinct=distinct)

    def _type(self) -> tuple[CastType, tuple[int, ...]]:
        words = []
        bracket = 0
        while self._peek()[0] in ("name", "number") or self._peek()[1] in (",", "("):
            bracket += self._peek()[1] == "("
            words.append(self._next()[1])
        if bracket:
            self._expect(")")
        return read_type(" ".join(words))

    def _field(self) -> Expression:
        model = self._peek()[0] == "model"
        names = [self._name()]
        while self._take("."):
            if self._take("*"):
                return Star(source=".".join(names))
            names.append(self._name())
        if model and len(names) == 1:
            raise ExpressionError(
                f"{_shown(self._text)} names a model and no column; write {names[0]}.column"
            )
        field = Field(name=names[-1], source=".".join(names[:-1]) or None, path=self._path())
        if self._take("("):
            if self._peek()[1] and self._peek()[1].lower() not in _type_words():
                raise ExpressionError(
                    f"in {_shown(self._text)}, {self._peek()[1]!r} is no type; if {field.name} is "
                    f"a function, write :{field.name.upper()}(…)"
                )
            type_, size = self._type()
            self._expect(")")
            return Cast(value=field, type=type_, size=size)
        return field

    def _name(self) -> str:
        kind, text = self._next()
        if kind == "quoted":
            return text[1:-1]
        if kind in ("name", "model"):
            return text
        self._at -= 1
        raise self._unexpected("a name")

    def _path(self) -> tuple[str | int, ...]:
        path: list[str | int] = []
        opened = self._take("$")
        while True:
            if self._take("@") or (self._peek()[1] == "[" and self._ahead() == "*"):
                raise ExpressionError(
                    f"{_shown(self._text)} asks for every element of an array; only one element "
                    "can be read, such as [0]"
                )
            if self._take("["):
                kind, text = self._next()
                if kind != "number" or not text.isdigit() or int(text) > 10**6:
                    self._at -= 1
                    raise self._unexpected("the number of an element")
                self._expect("]")
                path.append(int(text))
                opened = True
            elif opened and self._take("."):
                path.append(self._name())
            else:
                return tuple(path)

    def _ahead(self) -> str:
        return self._tokens[self._at + 1][1] if self._at + 1 < len(self._tokens) else ""


def encodes(text: str) -> bool:
    """Tell whether a text is one that can be stored: it has no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_alias(text: str) -> bool:
    """Tell whether a text can be an alias: a word, at most 63 bytes long."""
    return _PLAIN.fullmatch(text) is not None and len(text.encode()) <= 63


def _tokens(text: str) -> list[tuple[str, str]]:
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ExpressionError(
                f"{_shown(text)} has {text[at]!r} at character {at + 1}, which no expression has"
            )
        if match.lastgroup != "space":
            found.append((match.lastgroup or "", match[0]))
        at = match.end()
    if not found:
        raise ExpressionError("the expression is empty; name a column")
    return found


def _number(text: str) -> int | float:
    value = int(text) if text.isdigit() and len(text) < 20 else float(text)
    if abs(value) > BIGGEST:
        raise ExpressionError(f"{text[:30]} is a larger number than a database can hold")
    return value


def _type_words() -> frozenset[str]:
    return frozenset((*CAST_TYPES, "int", "varchar", "timestamp", "bool", "numeric"))


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:59] + "…")
