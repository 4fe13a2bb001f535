"""
Names under which models know the tools of MCP servers.

Providers take at most 64 letters, digits, ``_`` and ``-``.  An alias depends on the two names only,
never on what else there is, so that it is the same tomorrow.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

MAX_CHARS: Final = 64
"""Characters of a tool's name towards a model (the vendors' own limit); a longer one is hashed."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+")
_HASH_CHARS: Final = 10
_LOOKS_HASHED: Final = re.compile(r"_[0-9a-f]{10}$")


def alias_of(server: str, tool: str) -> str:
    """
    Return the name of a tool for a model: ``server__tool`` where that is short and certain.

    Otherwise the names are cut and cleaned, and a hash of both ends them; two tools never share an
    alias.
    """
    plain = f"{server}__{tool}"
    if (
        len(plain) <= MAX_CHARS
        and _PLAIN.fullmatch(plain)
        # a__b + c and a + b__c would be one name.
        and "__" not in server
        and "__" not in tool
        and not server.endswith("_")
        and not tool.startswith("_")
        # No server may give a tool the name that the hash gives another one.
        and not _LOOKS_HASHED.search(plain)
    ):
        return plain
    digest = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "surrogatepass")).hexdigest()
    cleaned = re.sub(r"[^A-Za-z0-9_-]", "_", plain)
    return f"{cleaned[: MAX_CHARS - _HASH_CHARS - 1]}_{digest[:_HASH_CHARS]}"
