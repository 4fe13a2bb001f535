"""Web pages."""

from __future__ import annotations

import pytest

from awkward.other import page
from refdesk.kb.ingest.parse_child import read

_PROSE = "The harbour office keeps a register of all ships that call here. " * 8


def found(body: str) -> dict[str, object]:
    """Return what is read of an article with this in it."""
    return read(
        page(f"<article><h1>Piers</h1><p>{_PROSE}</p>{body}<p>{_PROSE}</p></article>"), "a.html"
    )


@pytest.mark.parametrize(
    "body",
    [
        "<figure><img src=x.png><figcaption>The <b>Kestrel</b> works</figcaption></figure>",
        "<figure><figcaption>The Kestrel works</figcaption><table><tr><td>a</table></figure>",
        "<div><figure><pre>x</pre><figcaption>The Kestrel works</figcaption> tail</figure></div>",
        "<p hidden=until-found>The Kestrel works</p>",
        "<div style='display: block'>The Kestrel works</div>",
        "<p>The Kestrel works <ul><li>a<li>b</ul>",
    ],
)
def test_shown(body: str) -> None:
    """Captions, and what only looks hidden, are in the text."""
    text = str(found(body)["text"]).replace("*", "")
    assert "The Kestrel works" in text


@pytest.mark.parametrize(
    "body",
    [
        "<div hidden><p>The Kestrel works</p></div>",
        "<div hidden=''>The Kestrel works</div>",
        "<p style='color: red; DISPLAY:NONE'>The Kestrel works</p>",
        "<ul><li style='visibility: hidden'>The Kestrel works</ul>",
        "<dialog><p>The Kestrel works</p></dialog>",
        "<span style='display:none'>The Kestrel works</span> and more",
    ],
)
def test_hidden(body: str) -> None:
    """What the page hides is not in the text, and told; what stands after it stays."""
    said = found(f"<p>before</p>{body}")
    assert "Kestrel" not in str(said["text"])
    assert "1 hidden part of the page" in said["notes"]  # type: ignore[operator]
    assert "before" in str(said["text"])
    assert ("and more" in str(said["text"])) == ("and more" in body)
    assert said["lost"] == 0


def test_signs() -> None:
    """Signs come out as they are shown, and code as it stands."""
    text = str(found("<p>x&lt;y &amp; 5 &gt; 3</p><pre>a \\&lt; b</pre>")["text"])
    assert "x<y & 5 > 3" in text
    assert "a \\< b" in text


def test_what_stands_among_paragraphs() -> None:
    """What is lost among the paragraphs of an article is put back where it stands."""
    body = "<div>Short note.</div><p>Long enough a paragraph to be kept by all.</p>"
    text = str(found(body)["text"])
    assert text.index("Short note.") < text.index("Long enough a paragraph")
    assert text.count("Short note.") == 1


def test_links_are_not_put_back() -> None:
    """Lists of links among the paragraphs are no text."""
    links = "".join(f"<li><a href=/{at}>Somewhere {at}</a></li>" for at in range(9))
    assert "Somewhere" not in str(found(f"<div class=related><ul>{links}</ul></div>")["text"])


def test_what_is_lost_is_told() -> None:
    """Text beside the article lowers what is covered, and the report tells of it."""
    beside = "<div class=sidebar><p>Zebra quagga okapi said so.</p></div>"
    article = f"<article><h1>Piers</h1><p>{_PROSE}</p></article>"
    said = read(page(f"{beside}<main>{article}</main>"), "a.html")
    assert "okapi" not in said["text"]
    assert said["lost"] == len("Zebraquaggaokapisaidso")
    assert any("Zebra quagga okapi" in note for note in said["notes"])
