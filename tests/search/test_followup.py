"""Follow-up questions completed from the one before, where that is certain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.search.followup import follow, is_followup, is_frame, is_reply

FRANCE = "What is the population of France?"
FRANCE_ZH = "法国的人口是多少"


@pytest.mark.parametrize(
    ("frame", "text", "meant"),
    [
        (FRANCE, "and of Spain?", "What is the population of Spain?"),
        (FRANCE, "what about spain", "What is the population of spain?"),
        (FRANCE, "How about the Netherlands?", "What is the population of the Netherlands?"),
        (FRANCE, "and in 2015?", "What is the population of France in 2015?"),
        ("Who won the Cup in 2018?", "what about 2022?", "Who won the Cup in 2022?"),
        ("Who is the CEO of Apple?", "And of Microsoft?", "Who is the CEO of Microsoft?"),
        ("Who is the CEO of Apple?", "and Microsoft?", "Who is the CEO of Microsoft?"),
        ("How old is Barack Obama?", "what about Joe Biden?", "How old is Joe Biden?"),
        ("Is the iPhone 15 heavy?", "What about the iPhone 16?", "Is the iPhone 16 heavy?"),
        ("What is new in Python 3.13?", "and 3.14?", "What is new in Python 3.14?"),
        ("What's the weather in Rome?", "and tomorrow?", "What's the weather in Rome tomorrow?"),
        ("Is it cold in Oslo today?", "and this weekend?", "Is it cold in Oslo this weekend?"),
        ("train from Berlin to Rome", "and to Paris?", "train from Berlin to Paris"),
        (FRANCE_ZH, "那西班牙呢？", "西班牙的人口是多少"),
        (FRANCE_ZH, "西班牙呢", "西班牙的人口是多少"),
        (FRANCE_ZH, "那2015年呢？", "2015年法国的人口是多少"),
        ("2022年世界杯冠军是谁", "2018年呢", "2018年世界杯冠军是谁"),
        ("北京今天天气怎么样", "那明天呢？", "北京明天天气怎么样"),
        ("北京天气怎么样", "上海呢？", "上海天气怎么样"),
    ],
)
def test_certain(frame: str, text: str, meant: str) -> None:
    """The new part takes the one place of its kind."""
    assert follow(frame, text) == meant
    assert is_followup(text)


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        ("What is the capital of France?", "What about Macron?"),
        ("train from Berlin to Rome", "what about Paris?"),
        ("compare France and Spain", "and Italy?"),
        ("Did prices rise from 2019 to 2021?", "and 2023?"),
        ("What is the current population of France?", "and in 2015?"),
        (FRANCE, "what about it?"),
        (FRANCE, "and the area?"),
        (FRANCE, "and why?"),
        (FRANCE, "and what is its capital?"),
        (FRANCE, "And Germany has more people, is that right?"),
        (FRANCE, "那西班牙呢？"),
        (FRANCE, "thanks"),
        (FRANCE, ""),
        ("特斯拉的股价是多少", "那比亚迪呢？"),
        ("特斯拉的股价是多少", "那市盈率呢？"),
        ("特斯拉的股价是多少", "为什么呢？"),
        (FRANCE_ZH, "西班牙"),
        (FRANCE_ZH, "他们呢？"),
        ("What is new in Python 3.13?", "What is the population of Spain?"),
    ],
)
def test_uncertain(frame: str, text: str) -> None:
    """Where more than one reading is possible, or none, no rule decides."""
    assert follow(frame, text) is None


@pytest.mark.parametrize(
    ("text", "looks"),
    [
        ("who founded it?", True),
        ("and then?", True),
        ("为什么呢？", True),
        ("他的妻子是谁", True),
        ("What is the population of Spain?", False),
        ("西班牙的人口是多少", False),
        ("android phones with a stylus", False),
        ("it is " * 100, False),
    ],
)
def test_looks_like_followup(text: str, looks: bool) -> None:
    """Pronouns and openings tell that a text leans on another; long ones stand alone."""
    assert is_followup(text) is looks


@pytest.mark.parametrize(("text", "frame"), [("Thanks!", False), ("好的", False), (FRANCE, True)])
def test_frames(text: str, frame: bool) -> None:
    """Thanks and assent are no question to go on from."""
    assert is_frame(text) is frame


@given(st.text(), st.text())
def test_any_texts(frame: str, text: str) -> None:
    """No pair of texts raises, and what comes is a question, not the bare new part."""
    meant = follow(frame, text)
    assert meant is None or meant.strip()
    is_followup(text)
    is_frame(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "are you sure?",
            "Are you sure about that?",
            "really?",
            '"are you sure?"',
            "Check again.",
        ),
        *("check again", "No, check again.", "ok, check again", "please double-check that"),
        *("Can you check again, please?", "That's outdated. Search again.", "I don’t think so"),
        *("that can't be right, look it up", "thanks, but check again", "verify", "try again!"),
        *(
            "不对，再查一下",
            "你确定吗？",
            "请再确认一下",
            "再查一下吧",
            "嗯，真的吗",
            "错了，重新搜索一下",
        ),
    ],
)
def test_a_doubt_asks_once_more(text: str) -> None:
    """A reply that only doubts or repeats means the question before it, and is no frame itself."""
    assert follow(FRANCE, text) == FRANCE
    assert is_reply(text)
    assert is_followup(text)
    assert not is_frame(text)


@pytest.mark.parametrize(
    ("frame", "text", "meant"),
    [
        (FRANCE, "No, I meant Spain", "What is the population of Spain?"),
        (FRANCE, "no wait, Spain", "What is the population of Spain?"),
        (FRANCE, "not France, Spain", "What is the population of Spain?"),
        (FRANCE, "check again for 2015", "What is the population of France in 2015?"),
        (FRANCE, "no, in 2015", "What is the population of France in 2015?"),
        (FRANCE, "Is that still true in 2026?", "What is the population of France in 2026?"),
        (
            FRANCE,
            "Search again but only official sources",
            "What is the population of France only official sources",
        ),
        ("When was Python 3.13 released?", "wrong, 3.14", "When was Python 3.14 released?"),
        ("a book on Java", "Not Java, JavaScript", "a book on JavaScript"),
        (
            "How long is the Amazon?",
            "no, the river, not the company",
            "How long is the Amazon the river",
        ),
        (FRANCE_ZH, "不对，是西班牙", "西班牙的人口是多少"),
        (FRANCE_ZH, "不是法国，是西班牙", "西班牙的人口是多少"),
        (FRANCE_ZH, "再查一下西班牙的", "西班牙的人口是多少"),
        (FRANCE_ZH, "错了，应该是2015年", "2015年法国的人口是多少"),
    ],
)
def test_a_correction(frame: str, text: str, meant: str) -> None:
    """What a reply puts right takes its place in the question, or stands behind it."""
    assert follow(frame, text) == meant
    assert not is_reply(text)


@pytest.mark.parametrize(
    "text",
    [
        *("no", "yes", "sure", "ok, tell me about Rust", "Actually, tell me about Rust"),
        *("really good restaurants in Rome", "check the weather in Rome", "查一下今天的天气"),
        "no, show me the schedule of the trains to Rome please",
        "Paris is the capital, is that right?",
        "What is the rate, not including taxes?",
        "Not only gold, but silver too?",
    ],
)
def test_no_reply(text: str) -> None:
    """A text that says or asks something of its own is not the question before it."""
    assert follow(FRANCE, text) is None
    assert not is_reply(text)
