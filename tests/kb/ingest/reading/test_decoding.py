"""Plain text in any encoding."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.kb.ingest.parse_child import read
from refdesk.kb.ingest.reading.decoding import decoded
from refdesk.kb.ingest.reading.found import Refusal


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("产品,价格", "gb18030"),
        ("中华人民共和国，简称中国，位于亚洲东部。", "gb18030"),
        ("これは日本語の文章です。漢字も入っています。", "shift_jis"),
        ("これは日本語の文章です。漢字も入っています。", "euc_jp"),
        ("這是繁體中文的文件,用來測試編碼。", "big5"),
        ("안녕하세요. 이것은 한국어 문서입니다. 인코딩을 시험합니다.", "euc_kr"),
        ("Café déjà vu, naïve Straße, über", "cp1252"),
        ("Привет, мир! Это текст.", "cp1251"),
        ("Привет, мир! Это текст.", "koi8_r"),
        ("hello é 中", "utf-8"),
        ("hello é 中", "utf-16"),
        ("hello é 中", "utf-32"),
        ("plain text of ASCII letters", "utf-16-le"),
        ("plain text of ASCII letters", "utf-16-be"),
    ],
)
def test_encoding_is_found(text: str, encoding: str) -> None:
    """Text comes out as it was written, whatever it was encoded in; and the report can say so."""
    assert decoded(text.encode(encoding)) == (text, encoding, 0)


def test_few_words_often() -> None:
    """A Chinese table of the same few words, all of them in the Korean range too, is Chinese."""
    table = "产品,价格\n" + "苹果,3\n" * 80
    assert decoded(table.encode("gbk")) == (table, "gb18030", 0)


def test_utf8_with_bad_bytes() -> None:
    """UTF-8 that was cut off, or has bad bytes, stays UTF-8; what is lost is counted and noted."""
    text = "今天天气很好。" * 10
    assert decoded(text.encode()[:-1]) == (text[:-1] + "\ufffd", "utf-8", 1)
    found = read(b"\xff" + text.encode(), "a.txt")
    assert (found["text"][1:], found["encoding"]) == (text, "utf-8")
    assert found["notes"] == ["1 characters could not be decoded as utf-8"]


def test_garbled_is_no_text() -> None:
    """Bytes with control characters among them are no text in any encoding."""
    with pytest.raises(Refusal, match="it is no text"):
        read(bytes(range(1, 256)) * 10, "a.csv")


def test_line_ends_and_nul() -> None:
    """Line ends become one character, a byte order mark goes, and nothing else is rewritten."""
    assert decoded(b"\xef\xbb\xbfa\r\nb\rc\n  d \t")[0] == "a\nb\nc\n  d \t"


def test_binary_is_no_text() -> None:
    """Bytes of no known format are refused, not indexed as characters."""
    with pytest.raises(Refusal, match="format is not known: save it as"):
        read(bytes(range(256)) * 10, "data.bin")


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_decode(data: bytes) -> None:
    """Any bytes become text that can be stored, or are refused."""
    try:
        text, _, _ = decoded(data)
    except Refusal:
        return
    assert "\r" not in text
    assert "\0" not in text
    text.encode()
