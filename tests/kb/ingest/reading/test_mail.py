"""Mails."""

from __future__ import annotations

import pytest

import papers
from refdesk.kb.ingest.parse_child import read


@pytest.mark.parametrize("charset", ["utf-8", "gb2312", "big5"])
def test_mail(charset: str) -> None:
    """A mail is its headers and its text, in whatever it is encoded; what is attached is told."""
    found = read(papers.mail("天氣" if charset == "big5" else "天气", charset=charset), "a.eml")
    lines = found["text"].splitlines()
    assert lines[:2] == ["Subject: Harvest", "From: Ann <ann@example.com>"]
    assert lines[3] in ("天气", "天氣")
    assert (found["title"], found["notes"]) == ("Harvest", [])
    attached = papers.mail("Words.", attached="bill.pdf")
    assert read(attached, "a.eml")["notes"] == ["the attachment bill.pdf: add it by itself"]
    assert any("damage" in note for note in read(attached[:-8], "a.eml")["notes"])


def test_mail_of_html() -> None:
    """A mail of HTML alone is read as a page is."""
    html = (
        b"Subject: Hi\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>Good <b>harvest</b></p>"
    )
    text = read(html, "a.eml")["text"]
    assert "harvest" in text
    assert "<" not in text


def test_mail_whose_text_is_a_hint() -> None:
    """Where the plain text only says that there is a page, the page is read."""
    html = "<p>" + "The gate of pier seven is shut until Monday. " * 5 + "</p>"
    body = (
        "Subject: Gate\r\nMIME-Version: 1.0\r\n"
        "Content-Type: multipart/alternative; boundary=B\r\n\r\n"
        "--B\r\nContent-Type: text/plain\r\n\r\nPlease view as HTML.\r\n"
        f"--B\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{html}\r\n--B--\r\n"
    )
    found = read(body.encode(), "a.eml")
    assert "pier seven" in found["text"]
    assert "Please view" not in found["text"]
    assert found["lost"] == 0
