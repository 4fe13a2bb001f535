"""What a user is shown while a search runs, in English and Chinese."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Sequence
from typing import Final, Literal

from refdesk.search.handler import ProgressSender
from refdesk.types import SearchResult

Locale = Literal["en", "zh"]

_log = logging.getLogger(__name__)

_WORDS: Final[dict[Locale, dict[str, str]]] = {
    "en": {
        "loading": "Searching...",
        "one": "Found 1 reference",
        "success": "Found {count} references",
        "partial.one": "Found 1 reference (some sources failed)",
        "partial": "Found {count} references (some sources failed)",
        "failed": "Search failed",
        "none": "No references found",
    },
    "zh": {
        "loading": "正在搜索...",
        "one": "找到 1 条参考资料",
        "success": "找到 {count} 条参考资料",
        "partial.one": "找到 1 条参考资料（部分来源失败）",
        "partial": "找到 {count} 条参考资料（部分来源失败）",
        "failed": "搜索失败",
        "none": "未找到相关资料",
    },
}


def read_locale(locale: str | None) -> Locale:
    """Return the language that is spoken for a locale: Chinese for any ``zh``, else English."""
    return "zh" if (locale or "").lower().replace("_", "-").split("-")[0] == "zh" else "en"


def loading_text(locale: str | None) -> str:
    """Return what is said while a search runs."""
    return _WORDS[read_locale(locale)]["loading"]


def outcome_text(results: Sequence[SearchResult | None], count: int, locale: str | None) -> str:
    """
    Return what is said when a search has ended.

    Args:
        results: One per source; None for those that were cancelled.
        count: How many references there are, each counted once.
        locale: The language.
    """
    words = _WORDS[read_locale(locale)]
    ended = [result for result in results if result is not None]
    failed = sum(result.error is not None for result in ended)
    if not count:
        return words["failed" if ended and failed == len(ended) else "none"]
    key = ("partial" if count > 1 else "partial.one") if failed else "success"
    if count == 1 and not failed:
        key = "one"
    return words[key].format(count=count)


class Progress:
    """
    The messages of one call: loading, then what was found, then the same as done.

    A receiver that fails is told nothing more; the search goes on.

    Args:
        send: Who is told; None: nobody.
        locale: The language.
    """

    def __init__(self, send: ProgressSender | None, locale: str | None = None) -> None:
        self._send = send
        self._locale = locale

    async def started(self) -> None:
        """Say that the search runs."""
        await self._tell(loading_text(self._locale), done=False)

    async def ended(self, results: Sequence[SearchResult | None], count: int) -> None:
        """Say what was found, and that this is all."""
        text = outcome_text(results, count, self._locale)
        await self._tell(text, done=False)
        await self._tell(text, done=True)

    async def _tell(self, message: str, *, done: bool) -> None:
        if self._send is None:
            return
        try:
            told = self._send({"type": "loading", "props": {"message": message, "done": done}})
            if inspect.isawaitable(told):
                await told
        except Exception as error:
            self._send = None
            _log.warning("a progress receiver failed with %s", type(error).__name__)
