"""Whether a text asks to be looked up."""

from __future__ import annotations

import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.search.intent import Verdict, needs_search

TODAY = date(2026, 3, 15)

NO = [
    ("hi", "greeting"),
    ("Hello there!", "greeting"),
    ("Good morning, how are you today?", "greeting"),
    ("thanks a lot", "greeting"),
    ("ok, got it", "greeting"),
    ("你好", "greeting"),
    ("谢谢你！", "greeting"),
    ("早上好啊", "greeting"),
    ("what is 17 * 23?", "arithmetic"),
    ("12+7", "arithmetic"),
    ("Calculate (3.5 - 1) / 2", "arithmetic"),
    ("how much is 144 divided by 12", "arithmetic"),
    ("15% of 80", "arithmetic"),
    ("what's the square root of 2025", "arithmetic"),
    ("convert 5 km to miles", "arithmetic"),
    ("3加5等于几？", "arithmetic"),
    ("12乘以8是多少", "arithmetic"),
    ("三加五等于多少", "arithmetic"),
    ("Translate 'latest news' into German", "translation"),
    ("please translate this to French: the weather today is nice", "translation"),
    ("How do you say good night in Italian?", "translation"),
    ("把下面这段话翻译成英文：今天的新闻很多", "translation"),
    ("帮我翻译一下这句话", "translation"),
    ("苹果用英语怎么说", "translation"),
    ("Rewrite this paragraph: current prices are rising", "rewriting"),
    ("proofread my email", "rewriting"),
    ("Can you summarize the following text? Today in the news …", "rewriting"),
    ("fix the grammar: he go to school yesterday", "rewriting"),
    ("请润色这段文字：最新的研究表明", "rewriting"),
    ("总结以下内容：今天的会议", "rewriting"),
    ("write a poem about the weather", "creative"),
    ("Tell me a joke", "creative"),
    ("写一首关于春天的诗", "creative"),
    ("讲个笑话", "creative"),
    ("Write a Python function that returns the latest news", "code"),
    ("implement quicksort in Rust", "code"),
    ("fix this bug\n```py\nprint(x\n```", "code"),
    ("Traceback (most recent call last): ValueError", "code"),
    ("用Python写一个排序函数", "code"),
    ("解释这段代码", "code"),
    ("who are you?", "about the assistant"),
    ("你是谁", "about the assistant"),
    ("Don't search the web, just guess the price of gold", "declined"),
    ("answer without searching: who is the CEO of Apple", "declined"),
    ("不要搜索，直接回答今天是几号", "declined"),
    ("", "empty"),
    ("?!", "empty"),
]

YES = [
    ("search for the best pizza dough", "explicit request"),
    ("Could you look up the author of Dune?", "explicit request"),
    ("please google ferry routes to Crete", "explicit request"),
    ("check online whether it is true", "explicit request"),
    ("explain photosynthesis with sources", "explicit request"),
    ("帮我搜索一下量子计算", "explicit request"),
    ("请上网查一下这个人", "explicit request"),
    ("what does https://example.com/a say", "url"),
    ("Summarize this: https://example.com/article", "url"),
    ("What's the weather in Berlin?", "weather"),
    ("will it rain tomorrow", "weather"),
    ("北京天气怎么样", "weather"),
    ("any news about SpaceX?", "news"),
    ("what's happening in Paris", "news"),
    ("今天有什么新闻", "news"),
    ("What is the latest version of Django?", "version"),
    ("when will GTA 6 be released", "version"),
    ("what's new in Python 3.14", "version"),
    ("Python最新版本是多少", "version"),
    ("does numpy 2.4 work on Alpine", "version"),
    ("is CVE-2024-3094 fixed in Debian", "version"),
    ("price of gold", "price"),
    ("how much is a Tesla Model 3?", "price"),
    ("TSLA stock", "price"),
    ("convert 100 USD to EUR", "price"),
    ("特斯拉的股价是多少", "price"),
    ("100美元等于多少人民币", "price"),
    ("who won the match between Ajax and PSV", "live"),
    ("opening hours of the Louvre", "live"),
    ("coffee near me", "live"),
    ("附近有什么好吃的", "live"),
    ("湖人队比分", "live"),
    ("who is the president of France", "office"),
    ("Who's the CEO of OpenAI?", "office"),
    ("法国总统是谁", "office"),
    ("most recent papers on sparse attention", "recency"),
    ("is Flash still supported", "recency"),
    ("what is on TV tonight", "recency"),
    ("events this weekend in Lyon", "recency"),
    ("今年的春节是哪天", "recency"),
    ("目前世界上最高的建筑", "recency"),
    ("laws on drones in 2026", "recent year"),
    ("conference dates 2025", "recent year"),
    ("2027年有哪些节日", "recent year"),
    ("best laptops for students", "recommendation"),
    ("推荐一款耳机", "recommendation"),
]


def test_table_is_large_enough() -> None:
    """Both languages and both verdicts are covered, without a text twice."""
    texts = [text for text, _ in NO + YES]
    assert len(set(texts)) == len(texts) >= 60


@pytest.mark.parametrize(("text", "reason"), NO)
def test_no(text: str, reason: str) -> None:
    """These need no search, whatever words of recency stand in what they quote."""
    verdict = needs_search(text, today=TODAY)
    assert (verdict.need, verdict.reason) == (False, reason)
    assert verdict.confidence >= 0.8


@pytest.mark.parametrize(("text", "reason"), YES)
def test_yes(text: str, reason: str) -> None:
    """These do."""
    verdict = needs_search(text, today=TODAY)
    assert (verdict.need, verdict.reason) == (True, reason)
    assert verdict.confidence >= 0.6


@pytest.mark.parametrize(
    ("text", "need"),
    [
        ("What is the capital of Burkina Faso?", True),
        ("who maintains httpx2", True),
        ("explain recursion", False),
        ("why is the sky blue", False),
        ("how does binary search work", False),
        ("what is electric current in physics", False),
        ("tell me about the year 1848", False),
        ("why did the war of 2003 start", False),
        ("I bought 2026 apples at 3 o'clock, hm", True),
        ("什么是递归", False),
    ],
)
def test_near_misses(text: str, need: bool) -> None:
    """Words that only look like a rule's do not fire it."""
    verdict = needs_search(text, today=TODAY)
    assert verdict.need is need
    assert verdict.reason in ("unclear", "recent year")


def test_unclear_is_unsure() -> None:
    """Where no rule fits, the confidence is low, so that a configured default can decide."""
    assert needs_search("why is the sky blue", today=TODAY) == Verdict(
        need=False, reason="unclear", confidence=0.3
    )


@pytest.mark.parametrize(
    ("year", "need"), [(2024, False), (2025, True), (2026, True), (2027, True), (2099, False)]
)
def test_years(year: int, need: bool) -> None:
    """A year counts from last year on; one far ahead does not."""
    verdict = needs_search(f"solar eclipses of {year}", today=TODAY)
    assert (verdict.reason == "recent year") is need


def test_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a day, the clock of REFDESK_NOW decides which years are recent."""
    monkeypatch.setenv("REFDESK_NOW", "2031-01-01T00:00:00+00:00")
    assert needs_search("solar eclipses of 2026").reason == "unclear"
    assert needs_search("solar eclipses of 2030").reason == "recent year"


@given(st.text())
def test_any_text(text: str) -> None:
    """No text raises; the confidence lies between 0 and 1."""
    assert 0 <= needs_search(text, today=TODAY).confidence <= 1


@pytest.mark.parametrize("unit", ["1", "1+", "用", "请", "a ", "who is the ", "翻译", "-", "把这"])
def test_long_texts(unit: str) -> None:
    """A megabyte is decided by its beginning, and no pattern runs away on it."""
    text = unit * (1_000_000 // len(unit))
    start = time.process_time()
    needs_search(text, today=TODAY)
    assert time.process_time() - start < 1
