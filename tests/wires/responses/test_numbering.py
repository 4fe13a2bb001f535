"""Streams whose events lack their numbers, as those of local servers do."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from refdesk.wires.document import Document
from responded import OURS, answer, message, response, sse

pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")
NUMBERS = ("sequence_number", "output_index", "content_index", "annotation_index")
TEXT = "Mount Columbia [1]."
Events = list[dict[str, Any]]


def bare(events: Events, *kept: str) -> bytes:
    """A stream without numbers but the kept ones."""
    gone = set(NUMBERS) - set(kept)
    return sse(
        *({key: each for key, each in event.items() if key not in gone} for event in events),
        number="sequence_number" in kept,
    )


def ended_with(events: Events, output: Any) -> Events:
    """The events with another list in the final object."""
    *rest, last = events
    return [*rest, {**last, "response": {**last["response"], "output": output}}]


def call_events(index: int) -> Events:
    """The events of a function call."""
    item = {"id": "fc_1", "type": "function_call", "call_id": "c", "name": "f"}
    at = {"item_id": "fc_1", "output_index": index}
    done = {**item, "status": "completed", "arguments": '{"a":1}'}
    return [
        {
            "type": "response.output_item.added",
            "output_index": index,
            "item": {**item, "status": "in_progress", "arguments": ""},
        },
        {"type": "response.function_call_arguments.delta", **at, "delta": '{"a"'},
        {"type": "response.function_call_arguments.delta", **at, "delta": ":1}"},
        {"type": "response.function_call_arguments.done", **at, "arguments": '{"a":1}'},
        {"type": "response.output_item.done", "output_index": index, "item": done},
    ]


@pytest.mark.parametrize(
    "kept", [(), ("sequence_number",), ("output_index",), ("content_index", "sequence_number")]
)
@pytest.mark.parametrize("size", [1 << 20, 7])
def test_missing_numbers_are_filled_in(
    kept: tuple[str, ...],
    size: int,
    rewrite: Callable[..., bytes],
    parsed: Callable[..., Any],
    read_stream: Callable[..., Any],
) -> None:
    """The stream is the one that a numbered upstream gives, and the SDK reads it."""
    events = answer(TEXT)
    out = rewrite(bare(events, *kept), size)

    assert parsed(out) == parsed(rewrite(sse(*events)))
    _, final = read_stream(out)
    assert [item.type for item in final.output] == ["web_search_call", "message"]
    assert final.output_text == TEXT
    assert len(final.output[1].content[0].annotations) == 1


def test_events_go_to_the_item_they_name(
    rewrite: Callable[..., bytes], parsed: Callable[..., Any], read_stream: Callable[..., Any]
) -> None:
    """Two items under way at once are told apart by their ids."""
    said = answer(TEXT)
    calls = call_events(1)
    # The call begins before the message is done.
    events = [*said[:6], *calls[:2], *said[6:-1], *calls[2:]]
    events.append(ended_with(said, [message(TEXT), calls[-1]["item"]])[-1])
    out = rewrite(bare(events))

    assert parsed(out) == parsed(rewrite(sse(*events)))
    _, final = read_stream(out)
    assert final.output[2].arguments == '{"a":1}'
    assert final.output_text == TEXT


@pytest.mark.parametrize("numbered", [True, False], ids=["numbered", "bare"])
@pytest.mark.parametrize("output", [[], None, [message(TEXT, content=[])]], ids=repr)
@pytest.mark.parametrize(
    "left_out",
    [
        (),
        ("response.output_item.done",),
        ("response.output_item.done", "response.content_part.done"),
        (
            "response.output_item.done",
            "response.content_part.done",
            "response.output_text.done",
        ),
    ],
    ids=len,
)
def test_the_final_object_holds_what_was_streamed(
    numbered: bool,
    output: Any,
    left_out: tuple[str, ...],
    rewrite: Callable[..., bytes],
    parsed: Callable[..., Any],
) -> None:
    """With an empty final list, and without the events that end an item, nothing is lost."""
    events = ended_with([each for each in answer(TEXT) if each["type"] not in left_out], output)
    found = parsed(rewrite(sse(*events) if numbered else bare(events)))

    call, said = found[-1]["response"]["output"]
    assert call["id"] == OURS
    assert said["status"] == "completed"
    (part,) = said["content"]
    assert part["text"] == TEXT
    assert [each["start_index"] for each in part["annotations"]] == [15]
    kinds = [each["type"] for each in found]
    assert kinds.count("response.output_text.annotation.added") == 1


def test_an_item_that_ends_empty_gets_its_text(
    rewrite: Callable[..., bytes], parsed: Callable[..., Any]
) -> None:
    """A finished message without content is given what its deltas said."""
    events = ended_with(answer(TEXT), [])
    events = [each for each in events if "_text.done" not in each["type"]]
    events = [each for each in events if "part.done" not in each["type"]]
    events[-2] = {**events[-2], "item": message(TEXT, content=[])}
    found = parsed(rewrite(bare(events)))
    assert found[-2]["item"]["content"][0]["text"] == TEXT
    assert found[-1]["response"]["output"][1] == found[-2]["item"]


def test_a_stream_of_deltas_alone_keeps_its_text(
    rewrite: Callable[..., bytes], parsed: Callable[..., Any]
) -> None:
    """Where no item was announced, the call still comes first and the text is in the end."""
    deltas = [each for each in answer(TEXT) if each["type"].endswith(".delta")]
    ends = {"type": "response.completed", "response": response("completed", [])}
    found = parsed(rewrite(bare([answer("")[0], *deltas, ends])))

    assert [each["sequence_number"] for each in found] == list(range(len(found)))
    first = next(each for each in found if each["type"].endswith("text.delta"))
    assert first["output_index"] == 1
    call, said = found[-1]["response"]["output"]
    assert (call["id"], said["content"][0]["text"]) == (OURS, TEXT)


def test_a_terminal_event_without_a_response_gets_one(
    rewrite: Callable[..., bytes], parsed: Callable[..., Any]
) -> None:
    """The response that began is completed with what was streamed."""
    events = [*answer(TEXT)[:-1], {"type": "response.completed"}]
    final = parsed(rewrite(bare(events)))[-1]["response"]
    assert (final["id"], final["status"]) == ("resp_1", "completed")
    assert [item["type"] for item in final["output"]] == ["web_search_call", "message"]


def test_reasoning_without_numbers_stays_first(
    rewrite: Callable[..., bytes], parsed: Callable[..., Any]
) -> None:
    """The call stands between the reasoning and the message."""
    item = {"id": "rs_1", "type": "reasoning", "summary": [], "content": []}
    thinks = [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.reasoning_text.delta", "item_id": "rs_1", "output_index": 0,
         "content_index": 0, "delta": "hm"},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
    ]  # fmt: skip
    said = answer(TEXT, index=1)
    events = [*said[:2], *thinks, *ended_with(said, [item, message(TEXT)])[2:]]
    found = parsed(rewrite(bare(events)))
    assert found == parsed(rewrite(sse(*events)))
    added = [each for each in found if each["type"] == "response.output_item.added"]
    assert [each["item"]["type"] for each in added] == ["reasoning", "web_search_call", "message"]
    assert [each["output_index"] for each in added] == [0, 1, 2]


def test_json_is_cited_inside_its_strings_only(
    rewrite: Callable[..., bytes], parsed: Callable[..., Any]
) -> None:
    """Where JSON was asked for, a list of numbers is no citation."""
    text = json.dumps({"ids": [1], "version": "1.31 [1]"})
    asked = {"model": "m", "text": {"format": {"type": "json_schema", "name": "v", "schema": {}}}}
    body = sse(*answer(text))
    found = parsed(rewrite(body, asked=Document.read(json.dumps(asked).encode())))
    notes = found[-1]["response"]["output"][1]["content"][0]["annotations"]
    assert [each["start_index"] for each in notes] == [text.index("[1]", text.index("1.31"))]


def test_parts_without_numbers_are_told_apart(
    rewrite: Callable[..., bytes], parsed: Callable[..., Any]
) -> None:
    """Text goes to the part that began last, also where no event ends a part."""
    begun, live, added, *_ = answer("")
    at = {"item_id": "msg_1", "output_index": 0}
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    events = [begun, live, added]
    for number, text in enumerate(("One [1].", "Two [2].")):
        here = {**at, "content_index": number}
        events.append({"type": "response.content_part.added", **here, "part": part})
        events += [
            {"type": "response.output_text.delta", **here, "delta": word, "logprobs": []}
            for word in text.split(" ")
        ]
    events.append({"type": "response.completed", "response": response("completed", [])})
    found = parsed(rewrite(bare(events)))
    assert found == parsed(rewrite(sse(*events)))
    said = found[-1]["response"]["output"][1]["content"]
    assert [part["text"] for part in said] == ["One[1].", "Two[2]."]
