"""
What a Messages request wants, and the edits that a gateway search makes to it.

Only what must be seen is opened; every other member, message, block and tool is copied as it
stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import Raw

from refdesk.errors import WireError
from refdesk.types import Location
from refdesk.wires.base import Choice, Conversation, Head, SearchTool
from refdesk.wires.document import Document, dump, elements, kind, members, string, value
from refdesk.wires.messages.blocks import content_blocks, is_own_call, opened, text_of
from refdesk.wires.messages.pairs import awaits_result
from refdesk.wires.turns import AuthorOf, Said, newest_words

_HOSTED: Final = re.compile(r"web_search_(\d+)")
"""Dated types: web_search_20250305, web_search_20260209, web_search_20260318, and those to come."""
_DIRECT_SINCE: Final = 20260209
"""From this type on a search may be called from code, so blocks say who called it."""
_CACHE_KEY: Final = b'"cache_control"'
_CACHE_MARK: Final = re.compile(rb'"cache_control"\s*+:\s*+(?:null|\{[^{}]*+\})(\s*+(?:,\s*+)?)')


def read_head(document: Document) -> Head:
    """Check model, stream and messages; return the first two."""
    model = string(document.get("model"))
    if not model:
        raise WireError(
            f"model must be a non-empty string; found {_found(document, 'model')}", param="model"
        )
    stream = bytes(document.get("stream") or b"false")
    if stream not in (b"true", b"false"):
        raise WireError(
            f"stream must be true or false; found {_found(document, 'stream')}", param="stream"
        )
    messages = document.get("messages")
    if messages is None or kind(messages) != "array":
        raise WireError(
            f"messages must be an array; found {_found(document, 'messages')}", param="messages"
        )
    return Head(model=model, stream=stream == b"true")


def search_tool(document: Document) -> SearchTool | None:
    """Return the first declaration of hosted web search; only a tool's ``type`` tells."""
    hosted, others = _split_tools(document)
    if not hosted:
        return None
    tool = hosted[0]
    allowed, blocked = (_domains(tool.get(f"{name}_domains")) for name in ("allowed", "blocked"))
    if allowed and blocked:
        raise WireError(
            f"the tool {string(tool.get('type'))!r} has both allowed_domains and blocked_domains; "
            "send one of them",
            param="tools",
        )
    location = _plain(tool.get("user_location"))
    return SearchTool(
        type=string(tool.get("type")) or "",
        choice=_choice(document, hosted),
        alone=not others,
        allowed_domains=allowed,
        blocked_domains=blocked,
        location=_location(location) if isinstance(location, dict) else None,
        max_uses=_count(tool.get("max_uses")),
    )


def calls_directly(document: Document) -> bool:
    """Whether the declared search is of a type whose blocks name their caller."""
    hosted, _ = _split_tools(document)
    found = _HOSTED.match(string(hosted[0].get("type")) or "") if hosted else None
    return found is not None and int(found[1][:8]) >= _DIRECT_SINCE


def conversation(document: Document, author_of: AuthorOf | None = None) -> Conversation:
    """Return what is to be known of the messages; those of no known shape are passed over."""
    messages = _messages(document)
    newest = newest_words(_turns(messages), author_of)
    since = messages[newest.place + 1 :] if newest.texts else ()
    prefix = b",".join(bytes(message) for message in messages[: newest.place + 1])
    return Conversation(
        user_texts=newest.texts,
        ends_with_tool_output=newest.ends_with_tool_output,
        own_search_since=any(map(_holds_own_call, since)),
        awaits_server_tool=awaits_result(messages),
        unasked=newest.unasked,
        newest=newest.place,
        prefix=_without_cache_marks(prefix),
    )


def _without_cache_marks(data: bytes) -> bytes:
    """Clients move their cache breakpoints along; the conversation stays the same."""
    kept: list[bytes] = []
    at = 0
    while (found := data.find(_CACHE_KEY, at)) >= 0:
        before = data[at:found]
        mark = _CACHE_MARK.match(data, found)
        if mark is None:
            at = found + len(_CACHE_KEY)
            kept += (before, _CACHE_KEY)
        elif (member := before.rstrip()).endswith(b","):
            at = mark.start(1)
            kept.append(member[:-1])
        else:
            at = mark.end()
            kept.append(before)
    return b"".join((*kept, data[at:])) if kept else data


def wants_json(document: Document) -> bool:
    """
    Whether the answer is to be JSON.

    ``output_config.format`` says so; ``output_format`` did while it was a beta.
    """
    forms = (opened(document.get("output_config")).get("format"), document.get("output_format"))
    return any((string(opened(form).get("type")) or "").startswith("json") for form in forms)


def inject(document: Document, material: str) -> Document:
    """Append the material as one new text block at the end of the last user message."""
    messages = _messages(document)
    for at in range(len(messages) - 1, -1, -1):
        message = opened(messages[at])
        if string(message.get("role")) != "user":
            continue
        content = message.get("content")
        match kind(content):
            case "string":
                old = [] if string(content) == "" else [{"type": "text", "text": content}]
                blocks: list[Any] = list(old)
            case "array":
                blocks = list(content_blocks(message))
            case other:
                raise WireError(
                    f"content of messages[{at}] must be a string or an array; found {other}",
                    param="messages",
                )
        changed: dict[str, Any] = dict(message)
        changed["content"] = Raw(dump([*blocks, {"type": "text", "text": material}]))
        messages[at] = Raw(dump(changed))
        return document.replace({"messages": dump(messages)})
    raise WireError("messages holds no message of role user", param="messages")


def strip_search_tool(document: Document, *, searched: bool = False) -> Document:
    """
    Take every hosted search declaration out, and put the tool choice right.

    A choice that names search becomes ``auto``; so does ``any`` where the search was done.
    """
    hosted, others = _split_tools(document)
    if not hosted:
        return document
    if not others:
        return document.replace({"tools": None, "tool_choice": None})
    changes: dict[str, Raw | bytes | None] = {"tools": dump(others)}
    if _choice(document, hosted) in (("search", "required") if searched else ("search",)):
        # What else the choice says, such as disable_parallel_tool_use, is still meant.
        choice = members(document.get("tool_choice") or b"{}")
        kept = {key: each for key, each in choice.items() if key not in ("type", "name")}
        changes["tool_choice"] = dump({"type": "auto", **kept})
    return document.replace(changes)


def _split_tools(document: Document) -> tuple[list[dict[str, Raw]], list[Raw]]:
    """Return the hosted search declarations, opened, and all other tools as they stand."""
    tools = document.get("tools")
    if tools is None or kind(tools) != "array":
        return [], []
    data = bytes(tools)
    if b"web_search_" not in data and b"\\u" not in data:
        return [], []
    hosted: list[dict[str, Raw]] = []
    others: list[Raw] = []
    for tool in elements(tools):
        table = opened(tool)
        if _HOSTED.match(string(table.get("type")) or ""):
            hosted.append(table)
        else:
            others.append(tool)
    return hosted, others


def _choice(document: Document, hosted: list[dict[str, Raw]]) -> Choice:
    choice = opened(document.get("tool_choice"))
    match string(choice.get("type")):
        case "none":
            return "none"
        case "any":
            return "required"
        case "tool":
            names = {string(tool.get("name")) for tool in hosted} | {"web_search"}
            return "search" if string(choice.get("name")) in names else "other"
        case _:
            return "auto"


def turns(document: Document) -> Iterator[Said]:
    """Yield the messages of user and assistant, the newest first."""
    return _turns(_messages(document))


def _turns(messages: list[Raw]) -> Iterator[Said]:
    for place in range(len(messages) - 1, -1, -1):
        message = opened(messages[place])
        role = string(message.get("role"))
        if role == "assistant":
            yield Said(place=place, role="assistant", texts=_texts(message))
        elif role == "user":
            # Claude Code writes system messages after the user's; they take no turn.
            yield Said(
                place=place,
                role="user",
                texts=_texts(message),
                holds_tool_output=b'"tool_result"' in bytes(messages[place])
                and any(_is_tool_output(opened(block)) for block in content_blocks(message)),
                ends_in_tool_output=_ends_in_tool_output(message),
            )


def _texts(message: dict[str, Raw]) -> tuple[str, ...]:
    whole = string(message.get("content"))
    if whole is not None:
        return (whole,) if whole.strip() else ()
    parts = (text_of(opened(block)) for block in content_blocks(message))
    return tuple(text for text in parts if text and text.strip())


def _ends_in_tool_output(message: dict[str, Raw]) -> bool:
    for block in reversed(content_blocks(message)):
        table = opened(block)
        if _is_tool_output(table):
            return True
        if (text_of(table) or "").strip():
            return False
    return False


def needs_thread(document: Document) -> bool:
    """
    Whether the conversation is one that the provider's server holds (``thread``).

    The official SDKs' tool runners ask for it, and then send the newest messages alone (anthropic
    2.14.0, lib/threads).
    """
    return document.get("thread") is not None


def _holds_own_call(raw: Raw) -> bool:
    if b"server_tool_use" not in bytes(raw):
        return False
    blocks = map(opened, content_blocks(opened(raw)))
    return any(
        string(block.get("type")) == "server_tool_use" and is_own_call(string(block.get("id")))
        for block in blocks
    )


def _is_tool_output(block: dict[str, Raw]) -> bool:
    return string(block.get("type")) == "tool_result"


def _messages(document: Document) -> list[Raw]:
    messages = document.get("messages")
    if messages is None or kind(messages) != "array":
        raise WireError(
            f"messages must be an array; found {_found(document, 'messages')}", param="messages"
        )
    return elements(messages)


def _plain(raw: Raw | None) -> Any:
    try:
        return value(raw)
    except (msgspec.DecodeError, RecursionError):
        return None


def _domains(raw: Raw | None) -> tuple[str, ...]:
    found = _plain(raw)
    if isinstance(found, str):
        found = [found]  # a limit that is written wrongly binds all the same
    if not isinstance(found, list):
        return ()
    return tuple(each for each in found if isinstance(each, str) and each.strip())


def _count(raw: Raw | None) -> int | None:
    found = _plain(raw)
    return found if type(found) is int and found >= 0 else None


def _location(found: dict[str, Any]) -> Location | None:
    parts = {
        key: each.strip()
        for key in ("city", "region", "country", "timezone")
        if isinstance(each := found.get(key), str) and each.strip()
    }
    return Location(**parts) if parts else None


def _found(document: Document, key: str) -> str:
    """Name what stands at a key, so that its sender finds it."""
    raw = document.get(key)
    if raw is None:
        return "null" if key in document else "nothing"
    match kind(raw):
        case "object":
            return "an object"
        case "array":
            return "an array"
        case "boolean":
            return bytes(raw).decode()
        case other:
            return f"the {other} {bytes(memoryview(raw)[:60]).decode(errors='replace')}"
