"""What the client wants, and how the material gets into its ``input``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Raw

from refdesk.errors import WireError
from refdesk.wires.base import Conversation, Head
from refdesk.wires.document import Document, dump, elements, kind, string
from refdesk.wires.responses.items import entries, fields, found, given, is_own_call, item_type
from refdesk.wires.turns import AuthorOf, Said, newest_words

_INPUTS: Final = ("string", "array", "absent")
_WORDS: Final = {b"true": True, b"false": False}
_ASIDE: Final = ("system", "developer")
"""Roles of messages that may follow the user's and say nothing about whose turn it is."""


def read_head(document: Document) -> Head:
    """
    Return the model and whether a stream is asked for.

    Checked are ``model``, ``stream`` and the type of ``input``, which may be absent (a stored
    prompt or an earlier response can stand in for it); the rest is for the upstream to judge.
    """
    raw = document.get("model")
    model = string(raw)
    if not model:
        raise WireError(f"model must be the name of a model; found {found(raw)}", param="model")
    stream = False
    if (raw := document.get("stream")) is not None:
        try:
            stream = _WORDS[bytes(raw)]
        except KeyError:
            raise WireError(
                f"stream must be true or false; found {found(raw)}", param="stream"
            ) from None
    raw = document.get("input")
    if kind(raw) not in _INPUTS:
        raise WireError(
            f"input must be a string or an array of items; found {found(raw)}", param="input"
        )
    return Head(model=model, stream=stream)


def conversation(document: Document, author_of: AuthorOf | None = None) -> Conversation:
    """
    Return the newest words of a user, and what stands behind them.

    System and developer messages do not count, nor does an assistant's prefill.
    """
    newest = newest_words(turns(document), author_of)
    raw = document.get("input")
    whole = raw is not None and kind(raw) == "string"
    items = [] if whole else entries(raw)
    return Conversation(
        user_texts=newest.texts,
        ends_with_tool_output=newest.ends_with_tool_output,
        unasked=newest.unasked,
        newest=newest.place,
        own_search_since=any(is_own_call(fields(item)) for item in items[newest.place + 1 :]),
        prefix=bytes(raw)
        if raw is not None and whole
        else b",".join(bytes(each) for each in items[: newest.place + 1]),
    )


def turns(document: Document) -> Iterator[Said]:
    """Yield the items of user, assistant and tools, the newest first."""
    raw = document.get("input")
    if raw is not None and kind(raw) == "string":
        yield Said(place=0, role="user", texts=(string(raw) or "",))
        return
    items = entries(raw)
    for place in range(len(items) - 1, -1, -1):
        item = fields(items[place])
        type_ = item_type(item)
        role = string(item.get("role")) if type_ == "message" else None
        if role == "user":
            yield Said(place=place, role="user", texts=_texts(item.get("content")))
        elif type_.endswith("_output"):
            yield Said(place=place, role="tool", ends_in_tool_output=True)
        elif role not in _ASIDE:
            texts = _texts(item.get("content")) if role == "assistant" else ()
            yield Said(place=place, role="assistant", texts=texts)


def needs_thread(document: Document) -> bool:
    """Return False: a conversation that the upstream stores is for it to find."""
    return False


def wants_json(document: Document) -> bool:
    """Whether the answer is to be JSON (``text.format``: ``json_object``, ``json_schema``)."""
    form = fields(fields(document.get("text")).get("format"))
    return (string(form.get("type")) or "").startswith("json")


def inject(document: Document, material: str) -> Document:
    """
    Append the material as one new text part of the last user message.

    An input that is a string becomes a list with one user message; a content that is a string
    becomes a list of two parts, the first with the very same text.
    """
    raw = document.get("input")
    part = {"type": "input_text", "text": material}
    if raw is not None and kind(raw) == "string":
        parts = [{"type": "input_text", "text": raw}, part]
        message = {"type": "message", "role": "user", "content": parts}
        return document.replace({"input": dump([message])})
    items = entries(raw)
    for place in range(len(items) - 1, -1, -1):
        item = fields(items[place])
        if item_type(item) == "message" and string(item.get("role")) == "user":
            item["content"] = Raw(dump([*_parts(item.get("content"), place), part]))
            items[place] = Raw(dump(item))
            return document.replace({"input": dump(items)})
    raise WireError(
        "input holds no message of the role user to append the search results to", param="input"
    )


def _texts(content: Raw | None) -> tuple[str, ...]:
    # A blank text is a text: its author asked nothing, and nothing older is asked in its stead.
    if content is not None and (text := string(content)) is not None:
        return (text,)
    parts = (fields(raw) for raw in entries(content))
    texts = (string(part.get("text")) for part in parts if string(part.get("type")) in _TEXT_PARTS)
    return tuple(text for text in texts if text is not None)


_TEXT_PARTS: Final = ("input_text", "output_text", "text")


def _parts(content: Raw | None, place: int) -> list[Raw | dict[str, str | Raw]]:
    content = given(content)
    match kind(content):
        case "string" if content is not None:
            return [{"type": "input_text", "text": content}]
        case "array" if content is not None:
            return [*elements(content)]
        case "absent":
            return []
        case _:
            raise WireError(
                f"input[{place}].content must be a string or an array of parts; "
                f"found {found(content)}",
                param="input",
            )
