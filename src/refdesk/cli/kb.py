"""``refdesk kb``: collections, the documents in them, and what is found there."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from refdesk.cli._collections import (
    CollectionOption,
    EmbedderOption,
    MetadataOption,
    NameArgument,
    named,
    needed,
    read_embedder,
    read_json,
    read_object,
    run,
    search_once,
)
from refdesk.cli._ingesting import BAD, Bar, print_report, tell_added
from refdesk.cli.options import ConfigOption, IdentityOption, JsonOption, read_identity
from refdesk.cli.output import FAILURE, JsonList, print_json, put, say

if TYPE_CHECKING:
    from refdesk.kb.collection import Added, Knowledge, Progress
    from refdesk.store.passages import Collection, Counts, Document

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Put documents into collections, and find passages in them.",
)

STDIN: Final = "-"
_MOST: Final = 100


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What to call it.", show_default=False)],
    embedder: EmbedderOption = None,
    language: Annotated[str, typer.Option(help="ISO 639-1, such as en or zh, or auto.")] = "auto",
    graph: Annotated[
        bool, typer.Option("--graph", help="Keep what its passages name, and how it is linked.")
    ] = False,
    chunk_chars: Annotated[int, typer.Option(min=1, help="How long a chunk is.")] = 1000,
    permission: Annotated[
        str | None, typer.Option(help="Who may read it, as JSON.", show_default="everyone")
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Make a collection.  One with documents keeps its embedder until `kb reindex`."""
    from refdesk.store.passages import Collection, Counts

    made = Collection(
        name=named(name),
        embedder=read_embedder(embedder) or {"type": "minilm"},
        language=language,
        graph=graph,
        chunk_chars=chunk_chars,
        permission=read_json(permission, "--permission") if permission is not None else None,
    )
    shown = run(config, lambda knowledge: knowledge.create(made))
    if json:
        print_json(_collection(shown, Counts()))
    else:
        say(
            f"created collection {shown.name!r}; add documents with "
            f"`refdesk kb add --collection {shown.name} PATH…`"
        )


@app.command()
def add(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH…",
            help="Files, folders, URLs, or - for standard input.",
            show_default=False,
        ),
    ],
    collection: CollectionOption = None,
    name: Annotated[
        str | None,
        typer.Option(help="The file name of standard input: notes.md.", show_default="stdin.txt"),
    ] = None,
    metadata: MetadataOption = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Read and embed on a Ray cluster: auto, host:6379, ray://host:10001, or local.",
            show_default="ingest.ray",
        ),
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """
    Add documents; what changed since it was added is read again, and the rest is no work.

    With --json each is a line of the array, written as soon as it is in the store for good.
    Exit status 1 if any document could not be read, or has no text.
    """
    where = needed(collection)
    values = read_object(metadata, "--metadata")
    if name is not None and STDIN not in sources:
        raise typer.BadParameter("it names standard input; add - too", param_hint="--name")

    async def work(knowledge: Knowledge) -> list[Added]:
        from refdesk.store.passages import Collection

        if not any(each.name == where for each in await knowledge.list()):
            await knowledge.create(Collection(name=where))
            say(f"note: created collection {where!r}")
        added: list[Added] = []
        paths = [source for source in sources if source != STDIN]
        with Bar(quiet=json) as bar, JsonList() if json else nullcontext() as listed:

            def tell(progress: Progress) -> None:
                bar.update(progress)
                if listed is not None and progress.last is not None:
                    listed.add(_added(progress.last))

            if STDIN in sources:
                body = await asyncio.to_thread(sys.stdin.buffer.read)
                sent = await knowledge.upload(where, name or "stdin.txt", body, metadata=values)
                added.append(sent)
                if listed is not None:
                    listed.add(_added(sent))
            if paths:
                added += await knowledge.add(where, paths, metadata=values, progress=tell)
        return added

    added = run(config, work, {"ingest.ray": ray})
    if not json:
        tell_added(added, where)
    if any(each.outcome in BAD for each in added):
        raise typer.Exit(FAILURE)


@app.command("list")
def list_(config: ConfigOption = None, json: JsonOption = False) -> None:
    """List the collections."""

    async def work(knowledge: Knowledge) -> list[tuple[Collection, Counts]]:
        return [(each, await knowledge.counts(each.name)) for each in await knowledge.list()]

    listed = run(config, work)
    if json:
        print_json([_collection(each, counts) for each, counts in listed])
        return
    if not listed:
        say("there are no collections; `refdesk kb create NAME` makes one")
        return
    from refdesk.cli._table import print_columns

    print_columns(
        ("NAME", "DOCUMENTS", "CHUNKS", "EMBEDDER", "LANGUAGE", "GRAPH"),
        [
            (
                each.name,
                _ready(counts),
                str(counts.chunks),
                str(each.embedder.get("type", "?")),
                each.language,
                "yes" if each.graph else "no",
            )
            for each, counts in listed
        ],
    )


@app.command()
def show(
    name: NameArgument = None,
    collection: CollectionOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show a collection and its documents."""
    where = needed(name or collection)

    async def work(knowledge: Knowledge) -> tuple[Collection, Counts, Sequence[Document]]:
        found, documents = await knowledge.show(where), await knowledge.documents(where)
        return found, await knowledge.counts(where), documents

    found, counts, documents = run(config, work)
    if json:
        shown = _collection(found, counts)
        print_json(shown | {"documents": [_document(each) for each in documents]})
        return
    from refdesk.cli._table import print_columns

    for key, value in _collection(found, counts).items():
        if value not in (None, "", {}):
            put(f"{key}: {value}")
    print_columns(
        ("DOCUMENT", "STATUS", "PAGES", "CHUNKS", "CHARACTERS", "FROM"),
        [
            (
                each.id,
                each.status,
                "-" if each.pages is None else str(each.pages),
                str(each.chunks),
                str(each.characters),
                each.key,
            )
            for each in documents
        ],
    )


@app.command()
def search(
    question: Annotated[str, typer.Argument(help="What to look for.", show_default=False)],
    collection: Annotated[
        list[str] | None,
        typer.Option(help="Look in this collection; may be repeated.", show_default=False),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=_MOST, help="The most passages.")] = 10,
    threshold: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Leave out what scores less.", show_default="no cut"),
    ] = None,
    graph: Annotated[
        bool | None, typer.Option("--graph/--no-graph", help="Follow the collection's graph.")
    ] = None,
    metadata: MetadataOption = None,
    identity: IdentityOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """
    Find passages.

    Exit status 1 if the search failed; 0 if it found something, or nothing.
    """
    if not question.strip():
        raise typer.BadParameter("it is empty: there is nothing to look for", param_hint="QUESTION")
    request: dict[str, Any] = {
        "type": "kb",
        "source": "user",
        "query": question.strip(),
        "collections": collection or None,
        "limit": limit,
        "threshold": threshold,
        "graph": graph,
        "metadata": read_object(metadata, "--metadata") or None,
    }
    who = read_identity(identity)
    result = search_once(config, request, who)
    if json:
        from refdesk.search.emit import result_json

        shown = result_json(result)
        print_json(shown | {"error": result.error, "notices": list(result.notices)})
    else:
        from refdesk.cli._passages import print_passages

        print_passages(result.items)
        for notice in result.notices:
            say(f"note: {notice}")
    if result.error is not None:
        say(result.error)
        raise typer.Exit(FAILURE)
    if not json:
        number = len(result.items)
        seconds = result.duration_ms / 1000
        say(f"{number} passage{'' if number == 1 else 's'} in {seconds:.2f} s")


@app.command()
def remove(
    document: Annotated[
        str | None,
        typer.Argument(help="Its id, or the path or URL it was added from.", show_default=False),
    ] = None,
    collection: CollectionOption = None,
    everything: Annotated[
        bool, typer.Option("--all", help="The whole collection, with all its documents.")
    ] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Remove a document, with its passages, vectors and mentions; or a whole collection."""
    where = needed(collection)
    if everything == (document is not None):
        raise typer.BadParameter(
            "name one document, or say --all for the whole collection", param_hint="DOCUMENT"
        )
    if document is None:
        run(config, lambda knowledge: knowledge.drop(where))
        if json:
            print_json({"collection": where, "removed": True})
        say(f"removed collection {where!r} with all its documents")
        return
    gone = run(config, lambda knowledge: knowledge.remove(where, document))
    if json:
        print_json(_document(gone))
    say(f"removed {gone.key} ({gone.id}) from {where!r}")


@app.command()
def reindex(
    name: NameArgument = None,
    collection: CollectionOption = None,
    embedder: EmbedderOption = None,
    chunk_chars: Annotated[
        int | None,
        typer.Option(min=1, help="How long a chunk is to be.", show_default="as before"),
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """
    Embed a collection anew, beside the old index, and switch over when all is done.

    Without --embedder it is the one that the configuration names, or else the same as before.
    Documents whose chunks have another length than the collection says are parted anew.
    """
    where = needed(name or collection)
    chosen = read_embedder(embedder)

    async def work(knowledge: Knowledge) -> tuple[Collection, Counts]:
        with Bar(quiet=json) as bar:
            done = await knowledge.reindex(
                where, embedder=chosen, chunk_chars=chunk_chars, progress=bar.update
            )
        return done, await knowledge.counts(where)

    done, counts = run(config, work)
    if json:
        print_json(_collection(done, counts))
    say(f"the collection {where!r} is embedded by {done.embedder_id or done.embedder['type']}")


@app.command()
def report(
    name: NameArgument = None,
    document: Annotated[
        str | None,
        typer.Argument(help="One document: its id, path or URL.", show_default="all of them"),
    ] = None,
    collection: CollectionOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Tell how much of each document can be found, and why the rest cannot."""
    if collection is not None and document is None:
        name, document = collection, name
    where = needed(name)
    documents = run(config, lambda knowledge: knowledge.report(where, document))
    if json:
        print_json([_document(each) for each in documents])
        return
    if not documents:
        say(f"the collection {where!r} has no documents")
        return
    print_report(documents)


def _collection(found: Collection, counts: Counts) -> dict[str, Any]:
    from refdesk.kb.showing import collection_json

    return collection_json(found, counts)


def _document(document: Document) -> dict[str, Any]:
    from refdesk.kb.showing import document_json

    return document_json(document)


def _added(added: Added) -> dict[str, Any]:
    from refdesk.kb.showing import added_json

    return added_json(added)


def _ready(counts: Counts) -> str:
    if counts.ready == counts.documents:
        return str(counts.ready)
    return f"{counts.ready}/{counts.documents}"
