"""
Web pages: the main text, as trafilatura finds it; what is not shown is left out and told.

Captions of figures, which it drops, are made paragraphs, and what it lost among other paragraphs
is put back.
"""

from __future__ import annotations

import re
from typing import Any

from refdesk.kb.ingest.reading.decoding import decoded
from refdesk.kb.ingest.reading.found import Found, Refusal, counted
from refdesk.kb.ingest.reading.package import local
from refdesk.kb.ingest.reading.web_blocks import ROUND, blocks_of, completed, visible

_ESCAPED = re.compile(r"\\([\\<])")
_UNSHOWN = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))", re.IGNORECASE
)


def read_page(data: bytes | str) -> Found:
    """Return the main text of a web page."""
    from trafilatura import extract, extract_metadata

    tree = _tree(data)
    about = extract_metadata(tree)
    hidden = hide(tree)
    for caption in list(tree.iter("figcaption")):
        caption.tag = "p"
        figure = caption.getparent()
        if figure is not None and local(figure) == "figure":
            figure.addnext(caption)  # figures are dropped with all in them
    blocks = blocks_of(tree, without=ROUND) or blocks_of(tree)
    text = extract(
        tree,
        output_format="markdown",
        include_tables=True,
        include_comments=False,
        favor_recall=True,
    )
    notes = [f"{counted(hidden, 'hidden part')} of the page"] if hidden else []
    if text and text.strip():
        notes.append("navigation, forms and other parts round the main text of the page")
        text = completed(_unescaped(text), blocks)
    else:
        # Pages too short to tell the article from what is round it.
        text = visible(tree)
        blocks = blocks_of(tree)
    title = (about.title if about else None) or ""
    # It says once what a page says twice.
    held = "\n".join(dict.fromkeys(each.text for each in blocks))
    return Found(text=text, title=title, parser="trafilatura", notes=notes, held=held)


def hide(tree: Any) -> int:
    """Take out what is not shown, and return how many parts with text that were."""
    hidden = 0
    for each in list(tree.iter()):
        name, shut = local(each), each.get("hidden")
        if not name:
            continue
        if name == "template":
            _drop(each)
        elif (
            (shut is not None and shut.lower() != "until-found")
            or _UNSHOWN.search(each.get("style") or "")
            or (name == "dialog" and each.get("open") is None)
        ):
            hidden += bool("".join(each.itertext()).strip())
            _drop(each)
    return hidden


def _tree(data: bytes | str) -> Any:
    from lxml import etree, html
    from trafilatura.utils import load_html

    if (tree := load_html(data)) is not None:
        return tree
    # It wants a page, with `html` at its beginning; a piece of one is enough here.
    text = data if isinstance(data, str) else decoded(data)[0]
    try:
        tree = html.document_fromstring(text.encode(), html.HTMLParser(encoding="utf-8"))
    except etree.LxmlError:
        tree = None
    if tree is None or not tree.text_content().strip():
        raise Refusal("its HTML cannot be read: save the page as PDF or text")
    return tree


def _drop(element: Any) -> None:
    """Take an element out, and leave what follows it."""
    parent = element.getparent()
    if parent is None:
        return
    before = element.getprevious()
    if element.tail and before is not None:
        before.tail = (before.tail or "") + element.tail
    elif element.tail:
        parent.text = (parent.text or "") + element.tail
    parent.remove(element)


def _unescaped(text: str) -> str:
    """Return Markdown without escapes of ``<``, but in code, where backslashes are its own."""
    lines, fenced = text.split("\n"), False
    for at, line in enumerate(lines):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and "`" not in line:
            lines[at] = _ESCAPED.sub(r"\1", line)
    return "\n".join(lines)
