"""What the client wants, and how its body is edited: the messages and the search declaration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Raw

from refdesk.errors import WireError
from refdesk.wires.base import Conversation, Head
from refdesk.wires.chat.tools import search_tool, strip_search_tool
from refdesk.wires.document import Document, dump, elements, is_null, kind, members, string
from refdesk.wires.turns import AuthorOf, Said, newest_words

__all__ = [
    "conversation",
    "inject",
    "needs_thread",
    "read_head",
    "search_tool",
    "strip_search_tool",
    "turns",
    "wants_json",
]

_TRUE: Final = b"true"
_FALSE: Final = b"false"


def read_head(document: Document) -> Head:
    """
    Return the model and whether a stream is asked for.

    Checked are ``model``, ``stream`` and that ``messages`` is an array; everything else is for the
    upstream to judge.
    """
    raw = document.get("model")
    model = string(raw)
    if not model:
        raise WireError(f"model must be the name of a model; found {_found(raw)}", param="model")
    stream = document.get("stream")
    word = _FALSE if stream is None else bytes(stream)
    if word not in (_TRUE, _FALSE):
        raise WireError(f"stream must be true or false; found {_found(stream)}", param="stream")
    messages = document.get("messages")
    if kind(messages) != "array":
        raise WireError(f"messages must be an array; found {_found(messages)}", param="messages")
    return Head(model=model, stream=word == _TRUE)


def conversation(document: Document, author_of: AuthorOf | None = None) -> Conversation:
    """
    Return the newest words of a user, and what stands behind them.

    System and developer messages do not count, nor does an assistant's prefill.
    """
    newest = newest_words(turns(document), author_of)
    return Conversation(
        user_texts=newest.texts,
        ends_with_tool_output=newest.ends_with_tool_output,
        unasked=newest.unasked,
        newest=newest.place,
        prefix=b",".join(bytes(raw) for raw in _messages(document)[: newest.place + 1]),
    )


def turns(document: Document) -> Iterator[Said]:
    """Yield the messages of user, assistant and tools, the newest first."""
    messages = _messages(document)
    for place in range(len(messages) - 1, -1, -1):
        message = _message(messages[place], place)
        match string(message.get("role")):
            case "user" | "assistant" as role:
                yield Said(place=place, role=role, texts=_texts(message.get("content")))
            case "tool" | "function":
                yield Said(place=place, role="tool", ends_in_tool_output=True)


def needs_thread(document: Document) -> bool:
    """Return False: this wire sends its conversation whole."""
    return False


def wants_json(document: Document) -> bool:
    """Whether the answer is to be JSON (``json_object``, ``json_schema``)."""
    raw = document.get("response_format")
    if raw is None or kind(raw) != "object":
        return False
    return (string(members(raw).get("type")) or "").startswith("json")


def inject(document: Document, material: str) -> Document:
    """
    Append the material as one new text part of the last user message.

    A content that is a string becomes a list of two parts, the first with the very same text.
    """
    messages = _messages(document)
    for place in range(len(messages) - 1, -1, -1):
        message = _message(messages[place], place)
        if string(message.get("role")) == "user":
            parts = _parts(message.get("content"), place)
            message["content"] = Raw(dump([*parts, {"type": "text", "text": material}]))
            messages[place] = Raw(dump(message))
            return document.replace({"messages": dump(messages)})
    raise WireError(
        "messages holds no message of the role user to append the search results to",
        param="messages",
    )


def _messages(document: Document) -> list[Raw]:
    raw = document.get("messages")
    if raw is None or kind(raw) != "array":
        raise WireError(f"messages must be an array; found {_found(raw)}", param="messages")
    return elements(raw)


def _message(raw: Raw, place: int) -> dict[str, Raw]:
    if kind(raw) != "object":
        raise WireError(
            f"messages[{place}] must be an object; found {_found(raw)}", param="messages"
        )
    return members(raw)


def _texts(content: Raw | None) -> tuple[str, ...]:
    # A blank text is a text: its author asked nothing, and nothing older is asked in its stead.
    if content is None or kind(content) != "array":
        text = string(content)
        return () if text is None else (text,)
    texts: list[str] = []
    for raw in elements(content):
        if kind(raw) == "object":
            part = members(raw)
            text = string(part.get("text")) if string(part.get("type")) == "text" else None
            if text is not None:
                texts.append(text)
    return tuple(texts)


def _parts(content: Raw | None, place: int) -> list[Raw | dict[str, str | Raw]]:
    if content is None or is_null(content):
        return []
    match kind(content):
        case "array":
            return [*elements(content)]
        case "string":
            return [{"type": "text", "text": content}]
        case _:
            raise WireError(
                f"messages[{place}].content must be a string or a list of parts; "
                f"found {_found(content)}",
                param="messages",
            )


def _found(raw: Raw | None) -> str:
    match kind(raw):
        case "absent":
            return "none"
        case "object" | "array" as name:
            return f"an {name}"
        case name:
            shown = "" if raw is None else bytes(memoryview(raw)[:40]).decode(errors="replace")
            return f"the {name} {shown}"
