"""What a user is shown while a search runs."""

from __future__ import annotations

from typing import Any

import pytest

from refdesk.search.progress import Progress, loading_text, outcome_text, read_locale
from refdesk.types import SearchResult

OK = SearchResult(type="web", query="q")
BAD = SearchResult(type="kb", query="q", error="down")


@pytest.mark.parametrize(
    ("locale", "spoken"),
    [(None, "en"), ("", "en"), ("en-GB", "en"), ("fr", "en"), ("zh", "zh"), ("ZH_Hans", "zh")],
)
def test_locale(locale: str | None, spoken: str) -> None:
    """Chinese is spoken for every kind of Chinese, English for all else."""
    assert read_locale(locale) == spoken


@pytest.mark.parametrize(
    ("results", "count", "en", "zh"),
    [
        ([OK], 1, "Found 1 reference", "找到 1 条参考资料"),
        ([OK], 5, "Found 5 references", "找到 5 条参考资料"),
        ([OK, None], 5, "Found 5 references", "找到 5 条参考资料"),
        (
            [OK, BAD],
            5,
            "Found 5 references (some sources failed)",
            "找到 5 条参考资料（部分来源失败）",
        ),
        (
            [OK, BAD],
            1,
            "Found 1 reference (some sources failed)",
            "找到 1 条参考资料（部分来源失败）",
        ),
        ([BAD, BAD], 0, "Search failed", "搜索失败"),
        ([BAD, None], 0, "Search failed", "搜索失败"),
        ([OK, BAD], 0, "No references found", "未找到相关资料"),
        ([OK], 0, "No references found", "未找到相关资料"),
        ([None], 0, "No references found", "未找到相关资料"),
    ],
)
def test_outcome(results: list[SearchResult | None], count: int, en: str, zh: str) -> None:
    """What is said tells how many there are, and whether some or all sources failed."""
    assert outcome_text(results, count, "en") == en
    assert outcome_text(results, count, "zh") == zh


def test_loading() -> None:
    """While a search runs, that is said."""
    assert (loading_text("en"), loading_text("zh")) == ("Searching...", "正在搜索...")


async def test_nobody_listens() -> None:
    """Without a receiver nothing happens."""
    progress = Progress(None)
    await progress.started()
    await progress.ended([OK], 1)


async def test_coroutine_that_fails() -> None:
    """A receiver that is a coroutine and fails is told nothing more."""
    told: list[Any] = []

    async def tell(said: Any) -> None:
        told.append(said)
        raise OSError("gone")

    progress = Progress(tell)
    await progress.started()
    await progress.ended([OK], 1)

    assert len(told) == 1
