"""Where an answer cites its references, found while it streams."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.search.citations import Citation, CitationParser, Piece, Text, UnknownCitation
from refdesk.search.rendering import markdown, plain, terminal
from refdesk.types import Reference

REFERENCES = [
    Reference(
        id=f"ref_{index:03d}",
        index=index,
        type="web",
        source="hook",
        weight=0.8,
        score=None,
        title=f"Title {index}",
        content="",
        url="" if index == 3 else f"https://site{index}.example/a_(b)",
    )
    for index in (1, 2, 3)
]
TAG = '<a class="ref" data-ref-id="ref_001" data-ref-type="web" href="#ref:ref_001">[ref_001]</a>'


def parse(parts: Iterable[str], form: str = "#ref:{id}") -> list[Piece]:
    parser = CitationParser(REFERENCES, format=form)
    pieces = [piece for part in parts for piece in parser.feed(part)]
    return joined(pieces + parser.finish())


def joined(pieces: list[Piece]) -> list[Piece]:
    """Put neighbouring texts together: where they are cut is nobody's concern."""
    whole: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, Text) and whole and isinstance(last := whole[-1], Text):
            whole[-1] = Text(
                text=last.text + piece.text,
                raw=last.raw + piece.raw,
                start=last.start,
                end=piece.end,
            )
        else:
            whole.append(piece)
    return whole


def shown(text: str, form: str = "#ref:{id}") -> str:
    return "".join(map(plain, parse([text], form)))


@pytest.mark.parametrize(
    ("text", "plainly"),
    [
        (TAG, "[1]"),
        (f"Python{TAG}, then{TAG}.", "Python[1], then[1]."),
        ("<a href='#ref:ref_002' data-ref-id = 'ref_002' CLASS=ref>[ref_002]</a>", "[2]"),
        ('<A\n  class="ref"\n  data-ref-id="ref_001"\n  >[ref_001]</A\n>', "[1]"),
        ('<a data-ref-id=ref_001 title="a > b">[ref_001]</a>', "[1]"),
        ('<a class="ref">[ref_002]</a>', "[2]"),
        ('<a href="#ref:ref_002">[2]</a>', "[2]"),
        ('AI<a index="1" />, fast<a index="2"/>', "AI[1], fast[2]"),
        ("<a index=1/><a index=2></a>", "[1][2]"),
        ('<a data-ref-id="ref_001">the price</a>!', "the price[1]!"),
        ('<a data-ref-id="ref_001"><b>the price</b></a>!', "[1]<b>the price</b>!"),
        ("[ref_001] [1] [1, 2] [1][2] [ref_001; ref_002]", "[1] [1] [1][2] [1][2] [1][2]"),
        ("[[1]] [[2]](https://other.example/) [1](https://other.example)", "[1] [2] [1]"),
        (
            "[1](see below) [words](#ref:ref_002) [ref_001](#ref:ref_001)",
            "[1](see below) words[2] [1]",
        ),
        ("#ref:ref_001, (#ref:2) x#ref:ref_002", "[1], ([2]) x[2]"),
        ("是的【1】，【2†来源】", "是的[1]，[2]"),
    ],
)
def test_found(text: str, plainly: str) -> None:
    """Every form that models write is found, however its tag is written."""
    assert shown(text) == plainly


@pytest.mark.parametrize(
    "text",
    [
        "if 1 < 2 and 3 > 2: a[i] < b",
        "<b>bold</b> <br/> <a>x</a> <abbr title='[x]'>y</abbr> </a>",
        '<a href="https://example.com/">link</a> [title](https://example.com/)',
        "`a[1]` and ``b`[1]`` and <code>x</code>",
        '```python\na[1]\n<a index="1"/>\n```\n',
        "> - ```\n> a[1]\n> ```\n",
        "~~~\n[1]\n```\n[1]\n~~~",
        "````\n```\n[1]\n````",
        r"\[1] and ![1](https://evil.example/) and \[1\]",
        "[2024] [a] [ref] [x1] [1 #ref: #refs #1 #ref:x <",
        "[١] [ref_٠٠١] #ref:ref_٠٠٢ 【１】 [1, ２] <a[१]",
        "a <= b <- c << d <3",
    ],
)
def test_not_found(text: str) -> None:
    """What is no citation, and what stands in code, comes out as it was."""
    assert parse([text]) == [Text(text=text, raw=text, start=0, end=len(text))]


def test_offsets_and_references() -> None:
    """A citation knows its references and where in the answer it stands, in code points."""
    text = f"🙂 中{TAG} und [2, 1, 7]"

    _, one, _, two = parse([text])

    assert isinstance(one, Citation)
    assert (one.start, one.end, one.raw) == (3, 3 + len(TAG), TAG)
    assert one.references == (REFERENCES[0],)
    assert isinstance(two, Citation)
    assert two.references == (REFERENCES[1], REFERENCES[0])
    assert two.unknown == ("7",)
    assert text[two.start : two.end] == "[2, 1, 7]"


def test_unknown() -> None:
    """An id that names nothing is reported and left as readable text; it is never a link."""
    text = '[5], <a data-ref-id="ref_007" class="ref">[ref_007]</a>, <a index="8" />, [x](#ref:9)'
    parser = CitationParser(REFERENCES)
    pieces = parser.feed(text) + parser.finish()

    assert "".join(map(plain, pieces)) == "[5], [ref_007], [8], x"
    assert [unknown.ids for unknown in parser.unknown] == [("5",), ("ref_007",), ("8",), ("9",)]
    assert [piece for piece in pieces if isinstance(piece, UnknownCitation)] == parser.unknown
    assert parser.cited == []


def test_cited_once_each() -> None:
    """What was cited is known at the end, each reference once, in the order they came."""
    parser = CitationParser(REFERENCES)
    parser.feed("[2] [1] [2] [9] [1")
    parser.finish()

    assert [reference.index for reference in parser.cited] == [2, 1]


SAMPLE = (
    f"Python{TAG} 1 < 2 <b>b</b> [ref_002] [9] #ref:ref_002 `a[1]` \\[1] ![1](x)\n"
    '```py\na[1] <a index="1"/>\n```\n'
    "[1](https://evil.example/(x)) [w](#ref:ref_001) [[2]] 【1†s】 <a index='1'>long <i>x</i></a>\n"
    "``open [1]\n<a\n class=ref data-ref-id=ref_001\n>words</a\n> 人[1, 2] x <a index=1/>"
)


def test_every_cut() -> None:
    """Cut anywhere, once or at every character, the answer gives the same pieces."""
    whole = parse([SAMPLE])

    assert "".join(piece.raw for piece in whole) == SAMPLE
    assert parse(list(SAMPLE)) == whole
    for cut in range(len(SAMPLE)):
        assert parse([SAMPLE[:cut], SAMPLE[cut:]]) == whole, SAMPLE[:cut]


def test_every_pair_of_cuts() -> None:
    """Two citations around a comparison, cut at every pair of places, are never half shown."""
    text = f"a{TAG}1 < 2<a index='2'/>."
    whole = parse([text])
    for first in range(len(text)):
        for second in range(first, len(text)):
            parser = CitationParser(REFERENCES)
            output = ""
            pieces: list[Piece] = []
            for part in (text[:first], text[first:second], text[second:]):
                pieces += parser.feed(part)
                output = "".join(map(plain, pieces))
                # All that opens in what is shown is the comparison.
                assert output in ("", *("a[1]1 < 2[2]."[:n] for n in range(14)))
            assert joined(pieces + parser.finish()) == whole


FRAGMENTS = st.sampled_from(
    [
        *(TAG, ' index="1"', "/>", ">", "</a>", "</", "<a", "<", "class=ref"),
        *("data-ref-id=ref_001", "=", "[", "]", "1", "ref_", "002", "#ref:", "(", ")"),
        *("https://x.y", ",", "!", "\\", "【", "†", "】", "`", "```", "~~~", "\n", " ", "a"),
        *("中", "'", '"', "> ", "- "),
    ]
)
ANSWERS = st.lists(FRAGMENTS, max_size=25).map("".join)


@settings(max_examples=200, deadline=None)
@given(ANSWERS, st.lists(st.integers(0, 120), max_size=6), st.sampled_from(["#ref:{id}", "({id})"]))
def test_cuts(answer: str, cuts: list[int], form: str) -> None:
    """Any answer, cut anywhere, is found the same in, and is put together again exactly."""
    places = sorted({0, len(answer), *(cut for cut in cuts if cut < len(answer))})
    parts = [answer[a:b] for a, b in itertools.pairwise(places)]

    whole = parse([answer], form)

    assert parse(parts, form) == whole
    assert "".join(piece.raw for piece in whole) == answer
    end = 0
    for piece in whole:
        assert (piece.start, piece.raw) == (end, answer[piece.start : piece.end])
        end = piece.end


@pytest.mark.parametrize(
    "text", ['x <a class="ref" data-ref-id="ref_0', "x <a", 'x <a index="1', "x <a data-"]
)
def test_cut_off(text: str) -> None:
    """A tag that the answer's end cut off is not shown, but still part of what came."""
    pieces = parse([text])

    assert "".join(map(plain, pieces)) == "x "
    assert "".join(piece.raw for piece in pieces) == text


def test_cut_off_behind_a_tag() -> None:
    """A citation whose end is missing is still one."""
    assert shown(f"x{TAG[:-4]}") == "x[1]"
    assert shown(f"x{TAG[:-6]}") == "x[1]"
    assert shown('x<a data-ref-id="ref_001">some wor') == "x[1]some wor"


@pytest.mark.parametrize(
    ("form", "text", "plainly"),
    [
        ("({id})", "a (ref_001) b (x) (1)", "a [1] b (x) [1]"),
        ("{{id}}", "a {ref_001} b", "a {ref_001} b"),
        ("see {id}.", "so: see ref_002. But see it.", "so: [2] But see it."),
        ("^{index}", "a^1 b^2", "a[1] b[2]"),
        ("[{id}]", "a [ref_001]", "a [1]"),
        ("{id}", "a ref_001", "a ref_001"),
    ],
)
def test_custom_format(form: str, text: str, plainly: str) -> None:
    """A format of one's own is found, if it can be told from text."""
    assert shown(text, form) == plainly
    assert "".join(map(plain, parse(list(text), form))) == plainly


def test_text_is_not_held_for_long() -> None:
    """What can be no marker is shown at once, also behind brackets that never close."""
    parser = CitationParser(REFERENCES)

    assert "".join(map(plain, parser.feed("Hello, world"))) == "Hello, world"
    held = sum(len(piece.raw) for piece in parser.feed("[" + "a" * 300 + " `" + "b" * 1100))
    assert held == 303 + 1100


@pytest.mark.parametrize(
    "unit", ["<a ", "[", "[1", "`", "``a", "<a x='", "【1", "#ref:", "\n```", "(((["]
)
def test_hostile_length(unit: str) -> None:
    """An answer made to be read again and again is still read in little time."""
    parser = CitationParser(REFERENCES)
    text = unit * (100_000 // len(unit))
    pieces = [
        piece for at in range(0, len(text), 5000) for piece in parser.feed(text[at : at + 5000])
    ]
    pieces += parser.finish()

    assert "".join(piece.raw for piece in pieces) == text


def test_renderers() -> None:
    """Citations become numbers, Markdown links or terminal links, and only web pages are linked."""
    pieces = parse([f"a{TAG} b[3]<a data-ref-id='ref_002'>words</a>"])

    assert "".join(map(plain, pieces)) == "a[1] b[3]words[2]"
    assert "".join(map(markdown, pieces)) == (
        "a[[1]](https://site1.example/a_%28b%29) b[3]words[[2]](https://site2.example/a_%28b%29)"
    )
    assert "".join(map(terminal, pieces)) == (
        "a\x1b]8;;https://site1.example/a_%28b%29\x1b\\[1]\x1b]8;;\x1b\\ b[3]words"
        "\x1b]8;;https://site2.example/a_%28b%29\x1b\\[2]\x1b]8;;\x1b\\"
    )


def test_terminal_is_not_controlled() -> None:
    """An answer cannot move the cursor, hide text or write a link of its own on a terminal."""
    text = "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\ \u202etxt\x9b2J\n\tok"

    assert (
        "".join(map(terminal, parse([text]))) == "]8;;https://evil.example\\click]8;;\\ txt2J\n\tok"
    )


def test_hostile_url() -> None:
    """A reference whose address is no web page is never a link."""
    bad = Reference(
        id="ref_001",
        index=1,
        type="web",
        source="auto",
        weight=1,
        score=None,
        title="t",
        content="",
        url="javascript:alert(1)",
    )
    (piece,) = CitationParser([bad]).feed("[1] ")[:1]

    assert markdown(piece) == terminal(piece) == "[1]"
