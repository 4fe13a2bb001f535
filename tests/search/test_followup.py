"""Follow-up questions completed from the one before, where that is certain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.search.followup import follow, is_followup, is_frame

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
