"""A batch of Messages requests in one body: their models, and the conversations in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from msgspec import Raw

from refdesk.errors import WireError
from refdesk.gateway.app import concerns_search
from refdesk.gateway.targets import Target
from refdesk.wires import messages
from refdesk.wires.base import History, Kept, Marks
from refdesk.wires.document import Document, dump, elements, kind, members, string

MAX_REQUESTS: Final = 100_000
"""Requests of one batch, as Anthropic bounds them; a batch of more is refused (400)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One request of a batch."""

    fields: dict[str, Raw]
    params: Document
    """With the name of its model that the upstream knows."""
    marked: bool
    """Whether marks of searches may stand in its history."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """The requests of a batch, for one upstream."""

    body: Document
    entries: list[Entry]
    target: Target
    """That of the first request; all others are served by the same upstream."""
    marks: Marks
    """What of ours stands in their histories."""
    renamed: bool
    """Whether a model has another name at the upstream."""

    def restored(self, history: History, *, kept: Kept | None) -> bytes:
        """
        Return the body for the upstream, with our marks turned into text.

        Args:
            history: What the marks stand for.
            kept: Which marks of providers are the upstream's own.
        """
        if not self.renamed and not any(each.marked for each in self.entries):
            return bytes(self.body)
        done: list[dict[str, Raw]] = []
        for each in self.entries:
            params = each.params
            if each.marked:
                params = messages.restore(params, history, kept=kept)
            done.append({**each.fields, "params": Raw(bytes(params))})
        return bytes(self.body.replace({"requests": dump(done)}))


def read_batch(body: bytes, find: Callable[[str], Target]) -> Batch:
    """
    Read a batch.

    Args:
        body: Of the request.
        find: Returns the target of a model's name, or raises WireError.

    Raises:
        WireError: It is none (400), a model is not known (404), or its requests are for more than
            one upstream (400).
    """
    document = Document.read(body)
    raw = document.get("requests")
    if raw is None or kind(raw) != "array" or not (found := elements(raw)):
        raise WireError(
            "requests must be an array of objects with custom_id and params", param="requests"
        )
    if len(found) > MAX_REQUESTS:
        raise WireError(
            f"requests has {len(found):,} entries; send up to {MAX_REQUESTS:,}", param="requests"
        )
    entries: list[Entry] = []
    tokens: list[str] = []
    ids: list[str] = []
    first: Target | None = None
    renamed = False
    for at, each in enumerate(found):
        fields, params = _opened(each, at)
        name = string(params.get("model"))
        if not name:
            raise WireError(
                f"requests[{at}].params.model must be the name of a model", param="requests"
            )
        target = find(name)
        first = first or target
        if target.upstream != first.upstream:
            raise WireError(
                f"requests[{at}] is for the model {name[:100]!r} of the upstream "
                f"{target.upstream!r}, and requests[0] for the upstream {first.upstream!r}; send "
                "a batch for each upstream",
                param="requests",
            )
        if target.model != name:
            renamed = True
            params = params.replace({"model": dump(target.model)})
        marked = concerns_search(bytes(each), messages)
        if marked:
            marks = messages.find_marks(params)
            tokens += marks.tokens
            ids += marks.ids
        entries.append(Entry(fields, params, marked))
    assert first is not None
    return Batch(
        body=document,
        entries=entries,
        target=first,
        marks=Marks(tokens=tuple(tokens), ids=tuple(ids)),
        renamed=renamed,
    )


def _opened(raw: Raw, at: int) -> tuple[dict[str, Raw], Document]:
    entry = members(raw) if kind(raw) == "object" else {}
    params = entry.get("params")
    if params is None or kind(params) != "object":
        raise WireError(f"requests[{at}].params must be an object", param="requests")
    return entry, Document(None, members(params), compact=True)
