"""What a document is: by its bytes first, and by its name only among texts."""

from __future__ import annotations

import re
from pathlib import PurePath

from refdesk.kb.ingest.reading.found import Refusal
from refdesk.kb.ingest.reading.package import kind_of_zip

_OLE = {
    ".doc": "application/msword",
    ".xls": "application/vnd.ms-excel",
    ".ppt": "application/vnd.ms-powerpoint",
    ".msg": "application/vnd.ms-outlook",
}
_IMAGES = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"II*\0": "image/tiff",
    b"MM\0*": "image/tiff",
    b"BM": "image/bmp",
}
_TEXTS = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "text/html",
    ".eml": "message/rfc822",
}
_HTML = re.compile(
    rb"\s*+(?:<!--(?:[^-]|-(?!->))*+-->\s*+|<\?xml[^>]*+>\s*+)*+<(?:!doctype\s+html|html)[\s>]",
    re.IGNORECASE | re.DOTALL,
)


def kind_of(data: bytes, name: str) -> str:
    """Return the media type, by what the bytes say first and by the name only among texts."""
    suffix = PurePath(name.replace("\0", "")).suffix.lower()
    if b"%PDF-" in data[:1024]:
        return "application/pdf"
    if data[:4] in (b"PK\3\4", b"PK\5\6"):
        return kind_of_zip(data)
    if data[:8] == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        if "EncryptedPackage".encode("utf-16-le") in data:
            raise Refusal("it is encrypted: save it without a password and add it again")
        if suffix not in _OLE:
            raise Refusal("its format is not known: save it as DOCX, XLSX, PPTX or PDF")
        return _OLE[suffix]
    if data[:5] == b"{\\rtf":
        return "application/rtf"
    for magic, mime in _IMAGES.items():
        # Two letters are not enough to call a text an image.
        if data.startswith(magic) and (len(magic) > 2 or b"\0" in data[:64]):
            raise Refusal(
                f"it is an image ({mime}), and text in images is not read: run OCR over it first",
                status="empty",
            )
    if suffix == ".svg":
        raise Refusal("it is a drawing, and text in images is not read", status="empty")
    if suffix not in (".md", ".markdown", ".txt") and _HTML.match(data[:4096]):
        return "text/html"
    return _TEXTS.get(suffix, "text/plain")
