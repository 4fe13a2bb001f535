"""What is remembered of what upstreams keep."""

from __future__ import annotations

import json

import pytest

from desk import answers, stream
from refdesk.errors import WireError
from refdesk.gateway.endpoints import MAX_ID_CHARS
from refdesk.gateway.stored import StoredIds, id_in_stream, id_of, ids_of, is_stored
from refdesk.wires.document import Document


def document(**fields: object) -> Document:
    """Return a body."""
    return Document.read(json.dumps(fields).encode())


def test_only_the_key_that_had_it_made_finds_it() -> None:
    """For another key, and for none, it does not exist."""
    ids = StoredIds()
    ids.add("resp_1", "up", "k1")
    ids.add("resp_2", "up", None)

    found = ids.find("resp_1", "k1")
    assert found is not None
    assert found.upstream == "up"
    assert ids.find("resp_3", "k1") is None
    for id_, key in (("resp_1", "k2"), ("resp_1", None), ("resp_2", "k1")):
        with pytest.raises(WireError, match="not found") as refused:
            ids.find(id_, key)
        assert refused.value.status == 404


def test_memory_is_bounded() -> None:
    """The oldest are forgotten, and what is too long for an id is not remembered."""
    ids = StoredIds(most=3)
    for id_ in ("a", "b", "c", "a", "d", "", "x" * (MAX_ID_CHARS + 1)):
        ids.add(id_, "up", None)

    assert len(ids) == 3
    assert ids.find("b", None) is None
    assert all(ids.find(id_, None) for id_ in ("a", "c", "d"))


@pytest.mark.parametrize("named", ["resp_1", {"id": "resp_1"}])
@pytest.mark.parametrize("field", ["previous_response_id", "conversation", "input_file_id"])
def test_what_a_body_names(field: str, named: object) -> None:
    """A body that names what another key had made is refused, at the field that does."""
    ids = StoredIds()
    ids.add("resp_1", "up", "k1")

    found = ids.named(document(**{field: named}), "k1")
    assert found is not None
    assert found[0] == field
    with pytest.raises(WireError) as refused:
        ids.named(document(**{field: named}), "k2")
    assert (refused.value.status, refused.value.param) == (404, field)


@pytest.mark.parametrize("named", [None, 7, [], {}, {"id": 7}, ""])
def test_what_names_nothing(named: object) -> None:
    """A reference of another type is left to the upstream."""
    assert StoredIds().named(document(previous_response_id=named), "k1") is None


@pytest.mark.parametrize(
    ("wire", "fields", "expected"),
    [
        ("responses", {}, True),
        ("responses", {"store": None}, True),
        ("responses", {"store": True}, True),
        ("responses", {"store": False}, False),
        ("responses", {"store": False, "background": True}, True),
        ("chat", {}, False),
        ("chat", {"store": True}, True),
        ("chat", {"store": False}, False),
        ("messages", {"store": True}, False),
    ],
)
def test_which_answers_are_kept(wire: str, fields: dict[str, object], expected: bool) -> None:
    """Responses are kept unless they say no, completions where they say yes."""
    assert is_stored(wire, document(**fields)) is expected


@pytest.mark.parametrize("wire", ["chat", "responses"])
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("first", [True, False])
def test_the_id_of_an_answer(wire: str, indent: int | None, first: bool) -> None:
    """It is found wherever it stands in a whole answer."""
    body = answers(wire)
    if not first:
        body = {"object": "x", "output": [{"id": "other"}], **body, "id": body.pop("id")}

    assert id_of(json.dumps(body, indent=indent).encode()) in ("resp_1", "c_1")


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"id":7}', b'{"object":"list"}', b"[" * 9999])
def test_answers_without_an_id(body: bytes) -> None:
    """An answer that names none, or is no JSON, has none."""
    assert id_of(body) == ""
    assert ids_of(body) == ("", [])


def test_the_files_of_a_batch() -> None:
    """A batch names the files that its upstream made."""
    body = {"id": "b", "input_file_id": "i", "output_file_id": "o", "error_file_id": None}

    assert ids_of(json.dumps(body).encode()) == ("b", ["o"])


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_the_id_in_a_stream(wire: str) -> None:
    """It is found as soon as the first event has come, however it was cut, and comments wait."""
    body = b": hello\n\n" + b"".join(stream(wire))
    told = [id_in_stream(body[:size]) for size in range(0, len(body), 7)]

    found = [each for each in told if each is not None]
    assert found == ["c_1" if wire == "chat" else "resp_1"] * len(found)
    assert told[0] is None
    assert len(found) > len(told) // 3


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (b'data: {"type":"response.created","response":{"object":"response","id":"r"}}', "r"),
        (b'data: {"object":"chunk","id":"c"}', "c"),
        (b'data: {"type":"error"}', ""),
        (b"data: [DONE]", ""),
        (b'data: {"id":', ""),
    ],
)
def test_first_events_of_another_shape(first: bytes, expected: str) -> None:
    """Another order of members is read, and a first event without an id ends the search."""
    assert id_in_stream(first + b"\n\n") == expected
