"""
Who may read a collection.

``permission`` is unset or public for everyone.  Else it names claims, and whoever asks must have
all of them: ``{team: sales}``, ``{id: [7, 9]}``.  ``owner`` is another word for ``id``.  A claim
that is lacking opens nothing, so neither does asking without an identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_PUBLIC: Final = (True, 1, "1", "true", "public")
_CLAIM_OF: Final[Mapping[str, str]] = {"owner": "id"}


def may_read(permission: Any, identity: Mapping[str, Any] | None) -> bool:
    """
    Return whether somebody may read a collection.

    Args:
        permission: As the collection has it.  What is neither public nor a mapping opens nothing.
        identity: The claims of whoever asks; None for nobody in particular.
    """
    if permission is None or _is_public(permission):
        return True
    if not isinstance(permission, Mapping):
        return False
    if _is_public(permission.get("public")):
        return True
    rules = {name: value for name, value in permission.items() if name != "public"}
    return bool(rules) and all(
        _holds(wanted, (identity or {}).get(_CLAIM_OF.get(name, name)))
        for name, wanted in rules.items()
    )


def _is_public(value: Any) -> bool:
    return isinstance(value, bool | int | str) and value in _PUBLIC


def _holds(wanted: Any, claim: Any) -> bool:
    if claim is None:
        return False
    allowed = wanted if isinstance(wanted, list | tuple) else [wanted]
    has = claim if isinstance(claim, list | tuple) else [claim]
    # A number in the configuration is often a text in a claim, and the other way round.
    return bool({_plain(one) for one in allowed} & {_plain(one) for one in has})


def _plain(value: Any) -> str:
    return repr(value) if isinstance(value, bool | Mapping | list | tuple) else str(value)
