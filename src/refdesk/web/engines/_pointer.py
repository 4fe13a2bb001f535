"""JSON Pointers (RFC 6901): where in an answer a value stands."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

from pydantic import AfterValidator

MISSING: Final = object()
"""What `find` returns where a pointer leads nowhere; null is a value."""

_BAD_ESCAPE: Final = re.compile(r"~(?![01])")
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")


def _pointer(value: str) -> str:
    if value and not value.startswith("/"):
        raise ValueError(f"a JSON pointer starts with a slash, such as /{value}")
    if _BAD_ESCAPE.search(value):
        raise ValueError("in a JSON pointer ~ is written ~0, and / inside a name ~1")
    return value


Pointer = Annotated[str, AfterValidator(_pointer)]


def find(document: Any, pointer: str) -> Any:
    """Return the value at a pointer; the empty one is the whole document."""
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict) and name in document:
            document = document[name]
        elif isinstance(document, list) and _INDEX.fullmatch(name) and int(name) < len(document):
            document = document[int(name)]
        else:
            return MISSING
    return document
