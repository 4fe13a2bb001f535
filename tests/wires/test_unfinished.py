"""What a JSON object lacks that was cut off somewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.wires.unfinished import closing

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
LAST = b'"type":"keepalive"'


@settings(deadline=None)
@given(
    tree=st.dictionaries(st.text(), TREES, max_size=4),
    escaped=st.booleans(),
    spaced=st.booleans(),
    part=st.floats(0, 1, exclude_max=True),
)
def test_any_cut_object_can_be_made_whole(
    tree: dict[str, Any], escaped: bool, spaced: bool, part: float
) -> None:
    """Wherever an object is cut, also inside an escape or a character, it becomes one again."""
    data = json.dumps(tree, ensure_ascii=escaped, indent=1 if spaced else None)
    whole = data.encode(errors="surrogatepass" if escaped else "replace")
    half = whole[: max(1, int(part * len(whole)))]
    rest = closing(half, LAST)
    assert rest is not None
    assert json.loads((half + rest).decode())["type"] == "keepalive"


@pytest.mark.parametrize(
    ("half", "rest"),
    [
        (b"{", b'"t":1}'),
        (b'{"a"', b':null,"t":1}'),
        (b'{"a', b'":null,"t":1}'),
        (b'{"a":', b'null,"t":1}'),
        (b'{"a":1', b',"t":1}'),
        (b'{"a":-', b'0,"t":1}'),
        (b'{"a":1.', b'0,"t":1}'),
        (b'{"a":tr', b'ue,"t":1}'),
        (b'{"a":1,', b'"t":1}'),
        (b'{"a":[1,', b'null],"t":1}'),
        (b'{"a":{"b":1,', b'"":null},"t":1}'),
        (b'{"a":"x\\', b'\\","t":1}'),
        (b'{"a":"x\\u12', b'00","t":1}'),
        (b'{"a":"x\\\\', b'","t":1}'),
        ('{"a":"北'.encode()[:-1], b'\x80","t":1}'),
        ('{"a":"🏔'.encode()[:-3], b'\x90\x80\x80","t":1}'),
    ],
)
def test_the_shortest_ending_is_taken(half: bytes, rest: bytes) -> None:
    """What is added is what the syntax needs, and the members."""
    assert closing(half, b'"t":1') == rest
    json.loads((half + rest).decode())


@pytest.mark.parametrize("text", [b"", b"{}", b'{"a":1}', b"[1", b'"x', b"12", b'{"a":]', b"}{"])
def test_what_is_no_cut_object_is_left(text: bytes) -> None:
    """A whole object, and what is none, cannot be given members."""
    assert closing(text, LAST) is None
