"""``/api/v1/collections``: collections made, shown, searched, embedded anew, removed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from refdesk.api import schemas
from refdesk.api.call import Call, read
from refdesk.api.rights import readable
from refdesk.api.routes import Answer, Route
from refdesk.errors import ConfigError, WireError
from refdesk.kb.permission import may_read
from refdesk.kb.showing import collection_json
from refdesk.search.emit import result_json
from refdesk.search.options import BadOption, read_request
from refdesk.store.passages import Collection, Counts

if TYPE_CHECKING:
    from refdesk.kb.collection import Knowledge

_SHOWN_CHARS: Final = 200


async def list_collections(call: Call) -> Answer:
    """Answer with the collections that the caller may read."""
    knowledge = await call.host.knowledge()
    shown = [
        collection_json(each, await knowledge.counts(each.name))
        for each in await knowledge.list()
        if may_read(each.permission, call.identity)
    ]
    return 200, {"collections": shown, "total": len(shown)}


async def create_collection(call: Call) -> Answer:
    """Make a collection."""
    given = read(schemas.NewCollection, await call.body(), {"name": "handbook"})
    knowledge = await call.host.knowledge()
    if any(each.name == given.name for each in await knowledge.list()):
        raise WireError(
            f"there is a collection called {given.name!r} already; choose another name",
            status=409,
            param="name",
        )
    wished = Collection(
        name=given.name,
        embedder=await _embedder_of(call, knowledge, given.embedder),
        language=given.language,
        graph=given.graph,
        chunk_chars=given.chunk_chars,
        permission=given.permission,
    )
    try:
        return 201, collection_json(await knowledge.create(wished), Counts())
    except ConfigError as exc:
        raise WireError(str(exc)) from None


async def show_collection(call: Call, name: str) -> Answer:
    """Answer with one collection."""
    knowledge, collection = await readable(call.host, call.identity, name)
    return 200, collection_json(collection, await knowledge.counts(name))


async def remove_collection(call: Call, name: str) -> Answer:
    """Remove a collection with all in it."""
    knowledge, _ = await readable(call.host, call.identity, name)
    await knowledge.drop(name)
    return 200, {"name": name, "removed": True}


async def reindex_collection(call: Call, name: str) -> Answer:
    """Embed a collection anew; answers when it is done."""
    body = await call.body()
    given = read(schemas.Reindexing, body.strip() or b"{}", {"embedder": "minilm"})
    knowledge, _ = await readable(call.host, call.identity, name)
    embedder = None
    if given.embedder not in (None, name):
        embedder = await _embedder_of(call, knowledge, given.embedder)
    done = await knowledge.reindex(name, embedder=embedder, chunk_chars=given.chunk_chars)
    return 200, collection_json(done, await knowledge.counts(name))


async def search_collection(call: Call, name: str) -> Answer:
    """Find passages in one collection."""
    given = read(schemas.PassageSearch, await call.body(), {"query": "how do I claim expenses"})
    await readable(call.host, call.identity, name)
    wished = given.model_dump(exclude_none=True)
    request = {**wished, "type": "kb", "source": "user", "collections": [name]}
    check_request(request)
    reserved = call.host.reserve(call.key_id)
    call.end_when_left()
    result = await call.host.searcher.search(
        request,
        request_id=call.request_id,
        owner=call.key_id,
        identity=call.identity,
        incognito=call.client.incognito,
    )
    if result.error is not None:
        reserved.give_back()
        raise WireError(f"the search failed: {result.error}", status=502)
    return 200, result_json(result)


def check_request(request: dict[str, Any]) -> None:
    """Raise WireError (400) for a search that cannot be."""
    try:
        read_request(request)
    except BadOption as exc:
        raise WireError(str(exc), param=re.split(r"[ .]", str(exc), maxsplit=1)[0]) from None


async def _embedder_of(
    call: Call, knowledge: Knowledge, value: str | schemas.Embedder
) -> dict[str, Any]:
    """
    Return the entry of an embedder that is named: a builtin one, or a configured collection's.

    A caller that could describe one would have this server connect to an address, and send it a
    key, of the caller's choice.

    Raises:
        WireError: It is described, or there is none of that name that the caller may use (400).
    """
    from refdesk.kb.embedders import local_names
    from refdesk.kb.remembered import SHARED

    local = local_names()
    shared = [
        each.name
        for each in await knowledge.list()
        if knowledge.configures(each.name) and may_read(each.permission, call.identity)
    ]
    more = () if isinstance(value, str) else sorted(value.model_extra or {})
    name = value if isinstance(value, str) else value.type
    if more or name not in (*local, *shared):
        what = f"holds {', '.join(more)[:_SHOWN_CHARS]}" if more else f"is {name[:_SHOWN_CHARS]!r}"
        raise WireError(
            f"embedder {what}; over HTTP it is the name of a builtin one ({', '.join(local)}) or of"
            " a collection of the configuration, whose embedder is used"
            f" ({', '.join(shared) or 'none'}): describe others under collections in refdesk.yaml",
            param="embedder",
        )
    return {"type": name} if name in local else {"type": SHARED, "name": name}


ROUTES: Final = (
    Route(
        method="GET",
        path="/collections",
        handler=list_collections,
        summary="The collections that the caller may read.",
        answer=schemas.CollectionList,
    ),
    Route(
        method="POST",
        path="/collections",
        handler=create_collection,
        summary="Make a collection.",
        body=schemas.NewCollection,
        answer=schemas.Collection,
        statuses=(201,),
        changes=True,
    ),
    Route(
        method="GET",
        path="/collections/{name}",
        handler=show_collection,
        summary="One collection.",
        answer=schemas.Collection,
    ),
    Route(
        method="DELETE",
        path="/collections/{name}",
        handler=remove_collection,
        summary="Remove a collection with all its documents.",
        answer=schemas.RemovedCollection,
        changes=True,
    ),
    Route(
        method="POST",
        path="/collections/{name}/search",
        handler=search_collection,
        summary="Find passages.",
        body=schemas.PassageSearch,
        answer=schemas.SearchResult,
    ),
    Route(
        method="POST",
        path="/collections/{name}/reindex",
        handler=reindex_collection,
        summary="Embed a collection anew, beside the old index; answers when it is done.",
        body=schemas.Reindexing,
        optional_body=True,
        answer=schemas.Collection,
        changes=True,
    ),
)
