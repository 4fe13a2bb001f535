"""Documents that xberg reads: books (EPUB), RTF, and the formats of old Office programs."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from refdesk.kb.ingest.reading.found import Found, Refusal, clean
from refdesk.kb.ingest.reading.package import Package, attribute, local
from refdesk.kb.ingest.reading.web import hide
from refdesk.kb.ingest.reading.web_blocks import visible

_PICTURE = re.compile(r"^!\[[^\]\n]*\]\([^)\n]*\)\n*", re.MULTILINE)
_RTF_SPACE = re.compile(rb"(?<!\\)((?:\\\\)*)\\~")
_RTF_ROW = re.compile(r"^\[TABLE_ROW\]\n*", re.MULTILINE)
_RTF_ESCAPED = re.compile(r"\\([^\w\s|])")
_RTF_UNSEEN = re.compile(r"\{\\(?:v|deleted)(?![a-z0-9])[^{}]*\}")


def read_book(data: bytes) -> Found:
    """Return the text of an EPUB."""
    return _found(data, "application/epub+zip", "\n".join(_chapters(Package(data))))


def read_rtf(data: bytes) -> Found:
    """Return the text of an RTF document."""
    from striprtf.striprtf import rtf_to_text

    # xberg 1.3 takes a space that must not break for two signs.
    data = _RTF_SPACE.sub(rb"\1\\'a0", data)
    shown = _RTF_UNSEEN.sub("", data.decode("latin-1"))
    held = rtf_to_text(shown, errors="replace")  # type: ignore[no-untyped-call]
    found = _found(data, "application/rtf", held)
    found.text = _RTF_ESCAPED.sub(r"\1", _RTF_ROW.sub("", found.text))
    return found


def read_other(data: bytes, mime: str) -> Found:
    """Return the text of a document that there is no second reader for."""
    return _found(data, mime, None)


def extracted(data: bytes, mime: str) -> Any:
    """Return what xberg makes of a document; raises Refusal where it makes nothing."""
    import asyncio

    import xberg

    config = xberg.ExtractionConfig(
        use_cache=False,  # it would write copies of documents into the home folder
        enable_quality_processing=False,
        disable_ocr=True,  # it would fetch models
        output_format="markdown",
        escape_markdown=False,
        pages=xberg.PageConfig(extract_pages=True),
        content_filter=xberg.ContentFilterConfig(
            include_headers=True,
            include_footers=True,
            include_footnotes=True,
            include_watermarks=True,
            strip_repeating_text=False,
        ),
    )
    asked = xberg.ExtractInput(kind="bytes", bytes=data, mime_type=mime)
    try:
        return asyncio.run(xberg.extract(asked, config=config)).results[0]
    except (RuntimeError, ValueError, IndexError, xberg.XbergError) as exc:
        said = str(exc).split(": ", 1)[-1]
    if "password" in said.lower() or "encrypt" in said.lower():
        raise Refusal("it is encrypted: save it without a password and add it again")
    if "No page boundaries" in said:
        raise Refusal(
            "it has no pages, or none that can be found: get a whole copy and add it again"
        )
    raise Refusal(f"it cannot be read ({said[:200]}): get a whole copy, or another format")


def _found(data: bytes, mime: str, held: str | None) -> Found:
    result = extracted(data, mime)
    return Found(
        text=_PICTURE.sub("", clean(result.content)),
        title=str(result.metadata.title or ""),
        parser="xberg",
        notes=warnings(result),
        held=held,
    )


def warnings(result: Any) -> list[str]:
    """Return what xberg says of a document, but that it could not tell something."""
    said = (str(each.message) for each in result.processing_warnings or ())
    return [each[:200] for each in said if "could not judge" not in each]


def _chapters(package: Package) -> list[str]:
    """Return the text of the chapters of a book, in their order."""
    container = package.xml("META-INF/container.xml")
    opened = [] if container is None else list(container.iter("{*}rootfile"))
    main = attribute(opened[0], "full-path") if opened else None
    root = package.xml(main or "")
    if root is None or main is None:
        return []
    folder = main.rpartition("/")[0]
    items = {each.get("id"): each.get("href", "") for each in root.iter("{*}item")}
    said: list[str] = []
    for each in root.iter("{*}itemref"):
        path = f"{folder}/{unquote(items.get(each.get('idref'), ''))}".lstrip("/")
        chapter = package.xml(path)
        body = () if chapter is None else [one for one in chapter if local(one) == "body"]
        for one in body:
            hide(one)
            said.append(visible(one, without=frozenset({"nav"})))  # the list of its own chapters
    return said
