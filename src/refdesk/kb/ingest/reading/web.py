"""
Web pages: the main text, as trafilatura finds it; what is not shown is left out and told.

Captions of figures, which it drops, are made paragraphs.
"""

from __future__ import annotations

import re
from typing import Any

from refdesk.kb.ingest.reading.decoding import decoded
from refdesk.kb.ingest.reading.found import Found, Refusal, counted
from refdesk.kb.ingest.reading.package import local

_UNSHOWN = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))", re.IGNORECASE
)
_SILENT = frozenset(
    [
        "script",
        "style",
        "noscript",
        "template",
        "head",
        "title",
        "textarea",
        "select",
        "option",
        "datalist",
    ]
)
_ROUND = frozenset(["nav", "header", "footer", "aside", "form", "button", "dialog", "menu"])
"""Elements round the main text of a page."""
_INLINE = frozenset(
    [
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "label",
        "mark",
        "q",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
    ]
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
    held = visible(tree, without=_ROUND) or visible(tree)
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
        text = _unescaped(text)
    else:
        # Pages too short to tell the article from what is round it.
        text = held = visible(tree)
    title = (about.title if about else None) or ""
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


def visible(tree: Any, *, without: frozenset[str] = frozenset()) -> str:
    """Return all text that is shown, a line for each block."""
    said: list[str] = []

    def take(element: Any) -> None:
        block = local(element) not in _INLINE
        said.append("\n" if block else "")
        said.append(element.text or "")
        for each in element:
            name = local(each)
            if name and name not in _SILENT and name not in without:
                take(each)
            said.append(each.tail or "")
        said.append("\n" if block else "")

    take(tree)
    lines = (" ".join(line.split()) for line in "".join(said).splitlines())
    return "\n".join(line for line in lines if line)


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
    """Return Markdown without the backslashes before ``<``, but in code, where they are its own."""
    lines, fenced = text.split("\n"), False
    for at, line in enumerate(lines):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and "`" not in line:
            lines[at] = line.replace("\\<", "<")
    return "\n".join(lines)
