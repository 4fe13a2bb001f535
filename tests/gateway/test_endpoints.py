"""The endpoints beside the model routes: which path is which, and what an id may be."""

from __future__ import annotations

import pytest

from refdesk.gateway.endpoints import ENDPOINTS, MAX_ID_CHARS, Trait, find, mounts


@pytest.mark.parametrize(
    ("method", "path", "expected", "id_"),
    [
        ("GET", "/responses/resp_1", "/responses/{id}", "resp_1"),
        ("HEAD", "/responses/resp_1", "/responses/{id}", "resp_1"),
        ("GET", "/responses/resp_bGl0ZQ==", "/responses/{id}", "resp_bGl0ZQ=="),
        ("POST", "/responses/input_tokens", "/responses/input_tokens", ""),
        ("POST", "/responses/compact", "/responses/compact", ""),
        ("POST", "/responses/resp_1/cancel", "/responses/{id}/cancel", "resp_1"),
        ("GET", "/files/file-1/content", "/files/{id}/content", "file-1"),
        ("GET", "/conversations/c1/items/i1", "/conversations/{id}/items/{part}", "c1"),
        ("GET", "/messages/batches/b1/results", "/messages/batches/{id}/results", "b1"),
        ("DELETE", "/chat/completions/c1", "/chat/completions/{id}", "c1"),
    ],
)
def test_paths_and_ids(method: str, path: str, expected: str, id_: str) -> None:
    """A path is one endpoint, and the id in it is read."""
    found = find(method, path, messages=False)

    assert found is not None
    assert (found[0].path, found[1]) == (expected, id_)


@pytest.mark.parametrize(
    "id_",
    ["", ".", "..", "../x", "a/b", "a b", "a?b", "a#b", "a\r\nb", "ä", "-a", "a%2fb", "a\0",
     "a" * (MAX_ID_CHARS + 1)],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/responses/{}", "/files/{}/content", "/batches/{}"])
def test_what_is_no_id_is_no_endpoint(path: str, id_: str) -> None:
    """An id is bounded in length, and nothing that leads to another path is one."""
    assert find("GET", path.format(id_), messages=False) is None


@pytest.mark.parametrize(
    ("messages", "wires"), [(True, ("messages",)), (False, ("responses", "chat"))]
)
@pytest.mark.parametrize("path", ["/files", "/files/f1", "/files/f1/content"])
def test_one_path_of_two_wires(path: str, messages: bool, wires: tuple[str, ...]) -> None:
    """Files are asked for on the wire that the client speaks."""
    found = find("GET", path, messages=messages)

    assert found is not None
    assert found[0].wires == wires


def test_every_endpoint_is_mounted() -> None:
    """No endpoint is left out of the route table, and only uploads take forms."""
    served = mounts()
    for each in ENDPOINTS:
        found = [
            files
            for (method, path), files in served.items()
            if method == each.method
            and (each.prefix.startswith(path) if path.endswith("/") else each.prefix == path)
        ]
        assert found == [Trait.FORM in each.traits], each
