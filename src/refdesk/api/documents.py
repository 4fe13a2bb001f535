"""
``/api/v1/collections/{name}/documents`` and ``…/passages``: documents added, shown and removed.

Files come by upload and pages by URL; a path on this machine is no way in, since whoever holds a
client key need not be allowed to read the disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from refdesk.api import schemas
from refdesk.api.call import Call, read
from refdesk.api.problem import read_json
from refdesk.api.rights import readable
from refdesk.api.routes import Answer, Parameter, Route
from refdesk.api.uploads import UPLOAD_TIMEOUT_S, Form, read_upload
from refdesk.errors import UnknownName, WireError
from refdesk.kb.metadata import BadMetadata, check_metadata
from refdesk.kb.showing import added_json, document_json, passage_json
from refdesk.store.passages import Document

if TYPE_CHECKING:
    from refdesk.kb.collection import Added, Knowledge

_BAD: Final = frozenset({"failed", "empty"})
_SHOWN_CHARS: Final = 80
_MAX_TEXT_CHARS: Final = 100_000
"""Characters of a document's text in one answer; the rest is asked for by offset."""


async def list_documents(call: Call, name: str) -> Answer:
    """Answer with the documents of a collection."""
    knowledge, _ = await readable(call.host, call.identity, name)
    shown = [document_json(each) for each in await knowledge.documents(name)]
    return 200, {"collection": name, "documents": shown, "total": len(shown)}


async def show_document(call: Call, name: str, document: str) -> Answer:
    """Answer with one document, and some of its text if the query asks for it."""
    knowledge, _ = await readable(call.host, call.identity, name)
    found = await _find(knowledge, name, document)
    shown = document_json(found)
    if span := _span(call.query, found.characters):
        text = await knowledge.text(found.id, *span)
        shown["text"] = {"start": span[0], "end": span[1], "text": text}
    return 200, shown


async def remove_document(call: Call, name: str, document: str) -> Answer:
    """Remove a document with all that is kept of it."""
    knowledge, _ = await readable(call.host, call.identity, name)
    found = await _find(knowledge, name, document)
    gone = await knowledge.remove(name, found.id)
    return 200, document_json(gone) | {"removed": True}


async def add_documents(call: Call, name: str) -> Answer:
    """Add files or pages; 422 where nothing at all could be taken in."""
    knowledge, _ = await readable(call.host, call.identity, name)
    kind = call.header(b"content-type")
    body = await call.client.read_body(
        call.scope["headers"], max_bytes=call.host.limits.upload_bytes, timeout_s=UPLOAD_TIMEOUT_S
    )
    # What a client that leaves had sent is kept, and taken in at the next start or when sent again.
    call.end_when_left()
    if kind.partition(";")[0].strip().lower() == "application/json" and not _names_a_file(call):
        given = read(schemas.Pages, body, {"urls": ["https://example.com/"]})
        added = await _add_pages(knowledge, name, given)
    else:
        query = call.scope["query_string"].decode("latin-1")
        form = read_upload(kind, call.header(b"content-disposition"), query, body)
        del body
        added = await _add_files(knowledge, name, form)
    shown = {"collection": name, "added": [added_json(each) for each in added]}
    bad = [each for each in added if each.outcome in _BAD]
    if added and len(bad) == len(added):
        reasons = "; ".join(f"{each.key}: {each.reason}" for each in bad[:5])
        return 422, {"detail": f"no document was taken in: {reasons}", **shown}
    return (200 if bad else 201), shown


async def show_passage(call: Call, name: str, chunk: str) -> Answer:
    """Answer with a passage and what stands around it."""
    knowledge, _ = await readable(call.host, call.identity, name)
    shown = await passage_json(knowledge, name, chunk)
    if shown is None:
        raise WireError(
            f"no passage of {name!r} has the id {chunk[:_SHOWN_CHARS]!r}; its document was "
            "updated or removed",
            status=404,
        )
    return 200, shown


async def _add_files(knowledge: Knowledge, name: str, form: Form) -> Sequence[Added]:
    for field in form.fields:
        if field != "metadata":
            fault = UnknownName("field", field[:_SHOWN_CHARS], ["metadata"])
            raise WireError(str(fault), param=field[:_SHOWN_CHARS])
    text = form.fields.get("metadata")
    metadata = None if text is None else read_json(text.encode(), {"team": "sales"})
    _check(metadata)
    return [
        await knowledge.upload(name, each.name, each.body, metadata=metadata) for each in form.files
    ]


async def _add_pages(knowledge: Knowledge, name: str, given: schemas.Pages) -> Sequence[Added]:
    for url in given.urls:
        # A path would be read from this machine's disk.
        if not url.lower().startswith(("http://", "https://")):
            raise WireError(
                f"{url[:_SHOWN_CHARS]!r} is no web address; send one that begins with https://, or "
                "upload the file",
                param="urls",
            )
    _check(given.metadata)
    return await knowledge.add(name, given.urls, metadata=given.metadata)


def _check(metadata: dict[str, Any] | None) -> None:
    try:
        check_metadata(metadata or {})
    except BadMetadata as exc:
        raise WireError(str(exc), param="metadata") from None


async def _find(knowledge: Knowledge, collection: str, name: str) -> Document:
    """Return a document by its id or key, or raise WireError (404)."""
    store = knowledge.store
    found = await store.run(store.knowledge.document, collection, name)
    if found is None:
        raise WireError(
            f"{collection!r} has no document {name[:_SHOWN_CHARS]!r}; give its id, or what it was"
            " added from",
            status=404,
        )
    return found


def _span(query: dict[str, str], characters: int) -> tuple[int, int] | None:
    """Return the characters that a query asks for, by ``start`` and ``end``; None without."""
    if "start" not in query and "end" not in query:
        return None
    start = _number(query.get("start", "0"), "start")
    end = min(_number(query.get("end", str(characters)), "end"), start + _MAX_TEXT_CHARS)
    return start, max(start, min(end, characters))


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise WireError(
            f"{name} is {text[:_SHOWN_CHARS]!r}; send a number of characters", param=name
        )
    return int(text)


def _names_a_file(call: Call) -> bool:
    """Whether JSON is meant as a document, since it has a name."""
    told = call.header(b"content-disposition")
    return "filename" in told or "name" in call.query


ROUTES: Final = (
    Route(
        method="GET",
        path="/collections/{name}/documents",
        handler=list_documents,
        summary="The documents of a collection, with their reports.",
        answer=schemas.DocumentList,
    ),
    Route(
        method="POST",
        path="/collections/{name}/documents",
        handler=add_documents,
        summary=(
            "Add documents: a form with files, one file as the body, or addresses of web pages."
            "  200: some were not taken in."
        ),
        body=schemas.Pages,
        files=True,
        query=(
            Parameter(name="name", summary="The name of the file that the body is."),
            Parameter(name="metadata", summary="Its values for filters, as a JSON object."),
        ),
        answer=schemas.AddedList,
        statuses=(201, 200),
        changes=True,
    ),
    Route(
        method="GET",
        path="/collections/{name}/documents/{document}",
        handler=show_document,
        summary="One document, by its id or by what it was added from (percent-encoded).",
        query=(
            Parameter(name="start", summary="Its text from this character on.", type="integer"),
            Parameter(name="end", summary="Its text up to this character.", type="integer"),
        ),
        answer=schemas.OpenedDocument,
    ),
    Route(
        method="DELETE",
        path="/collections/{name}/documents/{document}",
        handler=remove_document,
        summary="Remove a document, with its passages, vectors and what the graph has from it.",
        answer=schemas.RemovedDocument,
        changes=True,
    ),
    Route(
        method="GET",
        path="/collections/{name}/passages/{chunk}",
        handler=show_passage,
        summary="A passage, its place in its document, and what stands around it.",
        answer=schemas.Passage,
    ),
)
