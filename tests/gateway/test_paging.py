"""Lists of models in pages, as the official SDKs ask for them."""

from __future__ import annotations

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from desk import OpenDesk
from refdesk.errors import WireError
from refdesk.gateway.paging import read_page

NAMES = [f"m{n}" for n in range(5)]
MODELS = {
    "qwen3": {"upstream": "up", "aliases": ["claude-sonnet-5", "claude-opus-4-8", "claude-*"]},
    "m": {"upstream": "up", "aliases": ["qwen3-old", "gpt-[45]"]},
}
LISTED = ["m", "qwen3", "claude-sonnet-5", "claude-opus-4-8", "qwen3-old"]


@pytest.mark.parametrize(
    ("query", "names", "more"),
    [
        (b"limit=2", ["m0", "m1"], True),
        (b"limit=5", NAMES, False),
        (b"limit=2&after_id=m1", ["m2", "m3"], True),
        (b"after_id=m4", [], False),
        (b"limit=2&before_id=m4", ["m2", "m3"], True),
        (b"before_id=m0", [], False),
        (b"", NAMES, False),
    ],
)
def test_pages(query: bytes, names: list[str], more: bool) -> None:
    """A page has what was asked for, and says whether there is more that way."""
    page = read_page(query, NAMES, messages=True)
    assert (page.names, page.has_more) == (names, more)


@pytest.mark.parametrize(
    "query", [b"limit=0", b"limit=-1", b"limit=x", b"limit=1001", b"limit=%C2%B2", b"after_id=no"]
)
def test_what_is_no_page(query: bytes) -> None:
    """A limit that is none, or a name that is not there, is refused with its value."""
    with pytest.raises(WireError, match=r"limit is|after_id is"):
        read_page(query, NAMES, messages=True)


async def test_sdks_list_every_name(opened: OpenDesk) -> None:
    """Names and plain aliases are listed in both shapes, page by page; patterns are not."""
    async with opened(models=MODELS) as desk:
        base = f"http://{desk.host}:{desk.port}"
        async with AsyncAnthropic(base_url=base, api_key="x") as anthropic:
            paged = [model.id async for model in anthropic.models.list(limit=2)]
            default = await anthropic.models.list()
            one = await anthropic.models.retrieve("claude-sonnet-5")
        async with AsyncOpenAI(base_url=f"{base}/v1", api_key="x") as openai:
            plain = [model.id async for model in openai.models.list()]
            same = await openai.models.retrieve("claude-sonnet-5")
        claude_code = await desk.client.get(
            "/v1/models?limit=1000", headers={"anthropic-version": "2023-06-01"}
        )
    assert paged == plain
    assert sorted(plain) == sorted(LISTED)
    assert (len(default.data), default.has_more) == (5, False)
    assert (one.id, same.id) == ("claude-sonnet-5", "claude-sonnet-5")
    assert [each["id"] for each in claude_code.json()["data"]] == plain
