"""Who a client is, by the key it presents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from refdesk.errors import WireError


class Keys(Protocol):
    """The client keys."""

    def id_of(self, presented: str) -> str | None:
        """Return the id of a valid key, None for anything else, in constant time."""


@dataclass(frozen=True, slots=True)
class KeyLogin:
    """
    Checks what clients present, whichever of the header forms carries it.

    Args:
        keys: The client keys.
        required: Whether a request without a valid key is refused.
    """

    keys: Keys
    required: bool

    def check(self, tokens: list[str]) -> str | None:
        """Return the id of the first valid key; WireError (401) if one is required and missing."""
        for token in tokens:
            if (id_ := self.keys.id_of(token)) is not None:
                return id_
        if not self.required:
            return None
        what = "the key is not valid here" if tokens else "a key is required"
        raise WireError(
            f"{what}; send one as `Authorization: Bearer …`, `x-api-key` or `x-goog-api-key`. The "
            "operator makes keys with `refdesk keys create`",
            status=401,
        )
