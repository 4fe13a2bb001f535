"""
Who may read a collection, and who may change it or make one.

Where client keys are required, a change needs a key whose claims say ``admin``: true for all
collections, or a list of names for those.  Where none is required, whoever can reach the server may
change what can be read.  A collection that somebody may not read is one that is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from refdesk.errors import UnknownName, WireError
from refdesk.gateway.host import Host
from refdesk.kb.permission import may_read

if TYPE_CHECKING:
    from refdesk.kb.collection import Collection, Knowledge

CLAIM: Final = "admin"
_SHOWN_CHARS: Final = 80


async def readable(
    host: Host, identity: Mapping[str, Any], name: str
) -> tuple[Knowledge, Collection]:
    """Return a collection that the caller may read, and what it is in; WireError (404) if none."""
    knowledge = await host.knowledge()
    known = [each for each in await knowledge.list() if may_read(each.permission, identity)]
    for each in known:
        if each.name == name:
            return knowledge, each
    fault = UnknownName("collection", name[:_SHOWN_CHARS], [each.name for each in known])
    raise WireError(str(fault), status=404)


async def check_may_change(
    host: Host, identity: Mapping[str, Any], name: str | None = None, **_: str
) -> None:
    """
    Let a change pass, or raise WireError: 403 where it is not allowed, 404 where nothing is.

    Args:
        host: The application.
        identity: The caller's claims.
        name: The collection; None: a new one is to be made.
    """
    if name is not None:
        await readable(host, identity, name)
    if not host.keys_required or may_change(identity, name):
        return
    what = "make no collection" if name is None else f"read the collection {name!r}, not change it"
    also = "" if name is None else f', or {CLAIM}: ["{name}"] for this one alone'
    raise WireError(
        f"this client key may {what}: its claims have no {CLAIM}: true{also}; `refdesk keys create"
        f" --claims '{{\"{CLAIM}\": true}}'` makes one that may",
        status=403,
    )


def may_change(claims: Mapping[str, Any], name: str | None) -> bool:
    """Whether claims allow a collection to be changed; None for the name: one to be made."""
    held = claims.get(CLAIM)
    return held is True or (isinstance(held, list) and name is not None and name in held)
