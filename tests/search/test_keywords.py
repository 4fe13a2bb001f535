"""Keywords of a text, by the builtin and by delegates."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.config.library import KeywordStep
from refdesk.errors import DelegateError
from refdesk.search import _han
from refdesk.search._answers import keywords_in
from refdesk.search.keywords import KeywordExtractor, extract
from refdesk.types import Keyword
from refdesk.uses import Uses


def words(text: str, **options: Any) -> list[str]:
    return [keyword.text for keyword in extract(text, **options)]


@pytest.fixture(autouse=True)
def no_segmenter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results here do not depend on whether jieba is installed."""
    monkeypatch.setattr("refdesk.search.keywords.installed_segmenter", lambda: None)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("how does C++ compare to C#", ["C++", "C#"]),
        ("migrate from .NET to node.js", [".NET", "node.js"]),
        ("is gpt-5.4 better on python3.14", ["gpt-5.4", "python3.14"]),
        ("was CVE-2024-3094 used against an F-16", ["CVE-2024-3094", "F-16"]),
        ("headphones under $100 in 2026", ["$100", "2026"]),
        ("a budget of €1,299.99 or £5k", ["€1,299.99", "£5k"]),
        ("upgrade numpy 2.3.1 to 3.0.0-rc1", ["2.3.1", "3.0.0-rc1"]),
        ("AT&T and TCP/IP at 10:30", ["AT&T", "TCP/IP", "10:30"]),
        ("what is std::vector in C++17", ["std::vector", "C++17"]),
        ("C语言和C++的区别", ["C语言", "C++", "区别"]),
        ("Python3.14有什么新特性？", ["Python3.14", "特性"]),
        ("A股今天怎么样", ["A股", "今天"]),
        ("ＧＰＴ-5 的 价格", ["GPT-5", "价格"]),
        ("state‑of‑the‑art results", ["state-of-the-art"]),
        ("read https://www.example.com/a?b=1 please", ["example.com"]),
    ],
)
def test_whole_words(text: str, kept: list[str]) -> None:
    """Names with signs or digits in them, versions, prices and years stay whole."""
    assert set(kept) <= set(words(text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Find the best wireless headphones", ["best", "wireless", "headphones", "Find"]),
        ("What is the population of New York?", ["New York", "population"]),
        ("the and of is what", []),
        ("的 了 是 什么", []),
        ("", []),
        (" \n\t ", []),
        ("!!! … ？？？ 😀", []),
        ("7 of 12", []),
        ("tell us what the US economy does", ["US", "economy", "tell"]),
        ("特斯拉的股价是多少", ["特斯拉", "股价"]),
        ("人工智能技术正在快速发展", ["人工智能", "技术", "快速", "发展"]),
        ("GitHub 备份脚本上传失败的处理", ["GitHub", "备份", "脚本", "上传", "失败", "处理"]),
        ("成都的人口有多少", ["成都", "人口"]),
        ("2024年诺贝尔物理学奖得主是谁", ["2024", "诺贝尔物理学奖", "得主"]),
    ],
)
def test_words(text: str, found: list[str]) -> None:
    """Function words go, in both languages; the rest comes by worth, then in the text's order."""
    assert words(text) == found


def test_long_run_becomes_bigrams() -> None:
    """A long Chinese run that no known word parts gives bigrams, the aligned ones first."""
    assert words("甲乙丙丁戊己庚辛壬癸", max_keywords=20) == [
        *["甲乙", "丙丁", "戊己", "庚辛", "壬癸"],
        *["乙丙", "丁戊", "己庚", "辛壬"],
    ]


def test_frequency_counts() -> None:
    """What is said more often weighs more, whatever its case; the first spelling is shown."""
    found = extract("alpha beta Beta gamma beta")
    assert found[0] == Keyword(text="beta", weight=1.0)
    assert all(keyword.weight < 1 for keyword in found[1:])


def test_names_and_quotes_weigh_more() -> None:
    """A proper noun or quoted phrase late in a text outweighs plain words before it."""
    assert words("tell me which films by Tarkovsky exist")[0] == "Tarkovsky"
    assert words('what does the phrase "dark night of the soul" mean')[0] == (
        "dark night of the soul"
    )
    assert words("电影《流浪地球》的导演是谁")[0] == "流浪地球"


def test_name_with_number() -> None:
    """A number right behind a name belongs to it; a year does not."""
    assert "iPhone 15" in words("is the iPhone 15 still sold")
    assert {"Olympics", "2028"} <= set(words("where are the Olympics 2028"))


def test_title_case_is_no_evidence() -> None:
    """In a headline a capital tells nothing: the words stay apart."""
    assert words("Best Wireless Headphones Review")[:2] == ["Best", "Wireless"]


def test_ties_are_stable() -> None:
    """Of equal weights the word that came first leads, every time."""
    text = "zeta eta theta iota kappa lambda " * 3
    assert words(text) == words(text) == ["zeta", "eta", "theta", "iota", "kappa", "lambda"]


def test_limit() -> None:
    """At most so many come, the heaviest; zero or less gives none."""
    text = "one.one two.two three.three four.four"
    assert words(text, max_keywords=2) == words(text)[:2]
    assert words(text, max_keywords=0) == []
    assert words(text, max_keywords=-3) == []


@given(st.text(), st.sampled_from(["auto", "en", "zh", "", "x"]))
def test_any_text(text: str, language: str) -> None:
    """No text raises; weights lie between 0.1 and 1 and fall; no word comes twice."""
    found = extract(text, max_keywords=50, language=language)
    weights = [keyword.weight for keyword in found]
    assert all(0.1 <= weight <= 1 for weight in weights)
    assert weights == sorted(weights, reverse=True)
    keys = [keyword.text.casefold() for keyword in found]
    assert len(set(keys)) == len(keys)
    assert not found or found[0].weight == 1


@settings(max_examples=50)
@given(st.text(alphabet="aB1.中的\"'`$C+#-_@:/& \n\ud800", max_size=60))
def test_any_signs(text: str) -> None:
    """Signs at any place, lone surrogates too, give words without white space at their ends."""
    assert all(word and word == word.strip() for word in words(text))


@pytest.mark.timeout(30)
@pytest.mark.parametrize("unit", ["word 3.14 GPT-5 人工智能 ", '"', "“", "$1,", "A&", ".a", "`a "])
def test_long_texts(unit: str) -> None:
    """A long text ends in good time, also where signs open what never ends: quadratic would not."""
    assert len(extract(unit * (400_000 // len(unit)))) <= 10


def test_segmenter_is_used_for_chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed segmenter parts Chinese; a text without any never asks for it."""
    monkeypatch.setattr(
        "refdesk.search.keywords.installed_segmenter", lambda: lambda run: [run[:3], run[3:]]
    )
    assert words("甲乙丙丁戊", language="zh") == ["甲乙丙", "丁戊"]
    assert words("甲乙丙丁戊", language="en") == ["甲乙丙丁戊"]
    monkeypatch.setattr("refdesk.search.keywords.installed_segmenter", lambda: 1 / 0)
    assert words("plain words") == ["plain", "words"]


def test_broken_segmenter(monkeypatch: pytest.MonkeyPatch) -> None:
    """A segmenter that fails, at import or at work, leaves the work to the builtin."""

    def broken(run: str) -> list[str]:
        raise ValueError(run)

    assert list(_han.han_words("特斯拉的股价", broken)) == [("特斯拉", False), ("股价", False)]
    module = ModuleType("jieba")  # it lacks what is called
    monkeypatch.setitem(sys.modules, "jieba", module)
    _han.installed_segmenter.cache_clear()
    try:
        assert _han.installed_segmenter() is None
    finally:
        _han.installed_segmenter.cache_clear()


K = [Keyword(text="tesla", weight=1.0), Keyword(text="price", weight=0.5)]


@pytest.mark.parametrize(
    "answer",
    [
        {"keywords": [{"k": "tesla", "w": 1.0}, {"k": "price", "w": 0.5}]},
        {"keywords": ["price:0.5", "tesla:1"]},
        {"data": {"keywords": ["tesla:1.0", "price"]}},
        {"data": ["tesla:1.0", "price"]},
        {"next": {"data": {"keywords": ["tesla:1.0", "price"]}}},
        ["tesla:1.0", {"k": "price", "w": 0}, {"k": ""}, 7, None],
        [["tesla", 1], ["price", 0.5]],
        '["tesla:1.0", "price:0.5"]',
        '```json\n["tesla:1.0", "price:0.5"]\n```',
        '<think>price? {"keywords": ["no"]}</think>{"keywords": ["tesla:1.0", "price:0.5"]}',
        'thinking without its opening tag</think>["tesla:1.0", "price:0.5"]',
        'Here they are: ["tesla:1.0", "price:0.5"]. Anything else?',
        {"content": [{"type": "text", "text": '{"keywords": ["tesla:1", "price"]}'}]},
        {
            "content": [{"type": "text", "text": "none"[:0]}],
            "structuredContent": ["tesla:1", "price"],
        },
        {"content": '["tesla:1", "price"]'},
        "tesla:1.0, price:0.5",
        "- tesla:1.0\n- price:0.5\n",
    ],
)
def test_accepted_answers(answer: Any) -> None:
    """Models and tools wrap keywords in many ways; all of these are the same two."""
    assert keywords_in(answer) == K


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("tesla", [("tesla", 0.5)]),
        ("tesla\nprice\nstock", [("tesla", 1.0), ("price", 0.9), ("stock", 0.8)]),
        (["std::vector", "10:30", "a:b:0.7"], [("a:b", 0.7), ("std::vector", 0.5), ("10:30", 0.5)]),
        ([{"k": "x", "w": 7}, {"k": "y", "w": -1}], [("x", 1.0), ("y", 0.1)]),
        ([{"k": "x", "w": float("nan")}, {"k": "y", "w": True}], [("x", 0.5), ("y", 0.5)]),
        (["Tesla", "tesla:0.9"], [("Tesla", 0.5)]),
        (["a\u0000b\nc"], [("a b c", 0.5)]),
    ],
)
def test_weights_of_answers(answer: Any, found: list[tuple[str, float]]) -> None:
    """Weights are clamped, absent ones are 0.5, and the order of plain lines tells."""
    assert [(one.text, pytest.approx(one.weight)) for one in keywords_in(answer)] == found


@pytest.mark.parametrize(
    "answer",
    [
        *[None, 5, True, {}, [], "", "<think>only thoughts", "[[[[", {"keywords": None}],
        "I am sorry, but I cannot help with extracting anything from this text today.",
        "Sure. I did it!",
    ],
)
def test_no_keywords(answer: Any) -> None:
    """An answer that holds none gives none; prose is no list."""
    assert keywords_in(answer) == []


class Answering:
    """A delegate that answers with what it was given."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.calls: list[tuple[Uses, Mapping[str, Any], float]] = []

    async def call(self, target: Uses, payload: Mapping[str, Any], *, timeout_s: float) -> Any:
        self.calls.append((target, payload, timeout_s))
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


MCP = Uses.parse("mcp:nlp.key.words")


@pytest.mark.parametrize("uses", [Uses.parse("keyworder"), MCP])
async def test_delegated(uses: Uses) -> None:
    """An assistant or tool is sent the text and the limits, and its keywords are taken."""
    delegate = Answering({"keywords": ["tesla:1", "price:0.5", "more:0.2"]})
    extractor = KeywordExtractor(uses, delegate, KeywordStep(max_keywords=2, language="en"))
    found = await extractor.extract("What is Tesla's price?")
    assert (list(found.keywords), found.notices) == (K, ())
    assert found.query == "tesla price"
    assert delegate.calls == [
        (
            uses,
            {"content": "What is Tesla's price?", "max_keywords": 2, "language": "en"},
            30.0,
        )
    ]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (DelegateError("the server is gone"), "the server is gone"),
        (ValueError("sk-secret"), "ValueError"),
        ("", "holds no keywords"),
        ({"isError": True, "content": [{"type": "text", "text": "bad\ninput"}]}, "bad input"),
    ],
)
async def test_failed_delegate(answer: Any, said: str) -> None:
    """When it fails, the builtin's keywords come, and a notice says why, without secrets."""
    found = await KeywordExtractor(MCP, Answering(answer)).extract("Tesla stock price")
    assert found.keywords == tuple(extract("Tesla stock price"))
    assert len(found.notices) == 1
    assert said in found.notices[0]
    assert "mcp:nlp.key.words" in found.notices[0]
    assert "sk-secret" not in found.notices[0]


async def test_no_delegate() -> None:
    """Where nobody can call it, the builtin does it, with a notice."""
    found = await KeywordExtractor(MCP).extract("Tesla stock price")
    assert found.keywords
    assert len(found.notices) == 1


async def test_slow_delegate() -> None:
    """One that does not answer in time is given up for the builtin."""

    class Silent:
        async def call(self, target: Uses, payload: Mapping[str, Any], *, timeout_s: float) -> Any:
            await asyncio.Event().wait()

    extractor = KeywordExtractor(MCP, Silent(), timeout_s=0.01)
    found = await extractor.extract("Tesla stock price")
    assert found.keywords == tuple(extract("Tesla stock price"))
    assert "0.01 s" in found.notices[0]


async def test_nothing_to_extract() -> None:
    """A call's own zero, or an empty text, gives none and asks nobody."""
    delegate = Answering(["x"])
    extractor = KeywordExtractor(MCP, delegate)
    assert (await extractor.extract("text", max_keywords=0)).keywords == ()
    assert (await extractor.extract("  ")).keywords == ()
    assert delegate.calls == []


async def test_call_overrides_settings() -> None:
    """A call's own limit goes before the configured one; None keeps that."""
    extractor = KeywordExtractor(settings=KeywordStep(max_keywords=1))
    text = "alpha beta gamma"
    assert len((await extractor.extract(text)).keywords) == 1
    assert len((await extractor.extract(text, max_keywords=3)).keywords) == 3
