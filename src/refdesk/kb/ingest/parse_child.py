"""
Reads documents, in a process of its own.

It is run by path and imports nothing of Refdesk but `refdesk.kb.ingest.chunk`: what a hostile
document does to a parser (memory, endless loops, crashes) ends with this process.  One JSON object
per line comes in: ``path`` (its bytes in hexadecimal), ``name``, ``max_chars``, ``seconds``.  For
each, a line with a length goes out, and as many bytes of JSON: ``ok``, ``hash``, and either the
text with where its pages begin, or ``status`` and ``error`` (the end of a sentence).  An object
with ``text``, ``shape``, ``chars`` and ``pages`` is a text to be parted, and its answer has
``pieces``.  The first argument is the memory it may have, in bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import resource
import secrets
import signal
import sys
import zipfile
import zlib
from pathlib import PurePath
from typing import Any

MAX_MEMBERS = 10_000
MAX_RATIO = 100
MAX_UNPACKED = 512 * 1024 * 1024
_RATIO_FROM = 10 * 1024 * 1024
_SAMPLE = 262_144
_TOO_MUCH = "it needs more memory than is allowed: split it"
_NO_TEXT = "it is no text, and its format is not known: save it as PDF, DOCX or text"
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\r\f\x1b"))
_MOST_LOST = 0.25
"""Of a document of which more cannot be told, what can be told is no text either."""

_OFFICE = "application/vnd.openxmlformats-officedocument."
_ZIPPED = {
    "word/document.xml": _OFFICE + "wordprocessingml.document",
    "xl/workbook.xml": _OFFICE + "spreadsheetml.sheet",
    "ppt/presentation.xml": _OFFICE + "presentationml.presentation",
}
_PARTS = {"document": "word/", "sheet": "xl/", "presentation": "ppt/", "application/epub+zip": ""}
"""Where the text of a zipped document is, by the end of its type."""
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
    rb"\s*(?:<!--.*?-->\s*|<\?xml[^>]*>\s*)*<(?:!doctype\s+html|html)[\s>]",
    re.IGNORECASE | re.DOTALL,
)


class Refusal(Exception):
    """The document is not read; the message is the end of a sentence, with the remedy."""

    def __init__(self, message: str, *, status: str = "failed") -> None:
        super().__init__(message)
        self.status = status


def kind_of(data: bytes, name: str) -> str:
    """Return the media type, by what the bytes say first and by the name only among texts."""
    suffix = PurePath(name.replace("\0", "")).suffix.lower()
    if b"%PDF-" in data[:1024]:
        return "application/pdf"
    if data[:4] in (b"PK\3\4", b"PK\5\6"):
        return _kind_of_zip(data)
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


def _kind_of_zip(data: bytes) -> str:
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as exc:
        raise Refusal(f"it is damaged ({exc}): get a whole copy and add it again") from None
    if len(members) > MAX_MEMBERS:
        raise Refusal(f"it has {len(members)} parts, and {MAX_MEMBERS} are allowed")
    unpacked = sum(one.file_size for one in members)
    if unpacked > MAX_UNPACKED:
        raise Refusal(f"it would unpack to {unpacked} bytes, and {MAX_UNPACKED} are allowed")
    if unpacked > max(_RATIO_FROM, MAX_RATIO * len(data)):
        raise Refusal(
            f"it would unpack to {unpacked // max(1, len(data))} times its size, which only"
            f" archives made to do harm do (allowed: {MAX_RATIO} times)"
        )
    names = {one.filename for one in members}
    for mark, mime in _ZIPPED.items():
        if mark in names:
            return mime
    if "mimetype" in names:
        mime = archive.read("mimetype")[:100].decode("ascii", "replace").strip()
        if mime == "application/epub+zip" or mime.startswith("application/vnd.oasis."):
            if any(one.flag_bits & 1 for one in members):
                raise Refusal("it is encrypted: save it without a password and add it again")
            return mime
    raise Refusal("it is an archive and no document: unpack it and add what is in it")


def _damaged(data: bytes, mime: str) -> list[str]:
    """
    Return which parts of a zipped document are damaged, each with how.

    Parsers read what stands before a damage and do not tell; a part that is missing a half would
    pass for whole.
    """
    from xml.parsers import expat

    def harm(*_: Any) -> None:
        raise Refusal(
            "it defines entities, which only documents made to do harm do: save it anew, or as PDF"
        )

    found: list[str] = []
    archive = zipfile.ZipFile(io.BytesIO(data))
    for name in archive.namelist():
        if not name.startswith(_PARTS.get(mime.rpartition(".")[2], "content.xml")):
            continue
        if not name.endswith((".xml", ".rels", ".xhtml", ".html", ".htm", ".opf")):
            continue
        parser = expat.ParserCreate()
        parser.UseForeignDTD(True)  # what it defines is not known, and no damage
        if mime != "application/epub+zip":
            parser.EntityDeclHandler = harm
        try:
            with archive.open(name) as part:
                parser.ParseFile(part)
        except (
            expat.ExpatError, zipfile.BadZipFile, zlib.error, EOFError, ValueError,
            NotImplementedError, RuntimeError,
        ) as exc:  # fmt: skip
            found.append(f"{name}: {exc}"[:200])
    return found


def decoded(data: bytes) -> tuple[str, str, int]:
    """Return text, encoding, and how many characters could not be decoded; line ends as ``\\n``."""
    encoding = _encoding_of(data)
    text = data.decode(encoding, "replace").removeprefix("\ufeff")
    lost = text.count("\ufffd") if encoding != "utf-8-sig" else 0
    # Databases take no NUL; another character keeps the offsets.
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    return text, encoding.removesuffix("-sig"), lost


def _encoding_of(data: bytes) -> str:
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        data.decode("utf-8")
        if b"\0" not in data[:_SAMPLE]:
            return "utf-8-sig"
    except UnicodeDecodeError:
        if b"\0" not in data[:_SAMPLE] and _nearly_utf8(data):
            return "utf-8"
    sample = data[:_SAMPLE]
    if b"\0" in sample:
        even, odd = sample[::2].count(0), sample[1::2].count(0)
        if max(even, odd) > 0.2 * len(sample) and min(even, odd) < 0.02 * len(sample) + 1:
            return "utf-16-le" if odd > even else "utf-16-be"
        raise Refusal(_NO_TEXT)
    if len(sample.translate(None, _CONTROLS)) < 0.99 * len(sample):
        raise Refusal(_NO_TEXT)
    best = max(_CANDIDATES, key=lambda name: _plausible(sample, name))
    if _plausible(sample, best) <= 0:
        raise Refusal("its encoding was not recognised: save it as UTF-8 and add it again")
    return best


def _nearly_utf8(data: bytes) -> bool:
    """Whether it is UTF-8, cut off or with a few bad bytes: by chance nothing looks like it."""
    text = data.decode("utf-8", "replace")
    lost = text.count("\ufffd")
    return sum(char >= "\x80" for char in text) - lost >= 10 * lost


# Those that come first win a tie.
_CANDIDATES = ("gb18030", "shift_jis", "big5", "euc_jp", "euc_kr", "cp1251", "koi8_r", "cp1252")


def _plausible(sample: bytes, encoding: str) -> float:
    """Return how much a text looks like one, 0 to 1, if decoded so; negative if it cannot be."""
    try:
        text = sample.decode(encoding)
    except UnicodeDecodeError as exc:
        # The sample may end inside a character.
        if exc.start < len(sample) - 4:
            return -1.0
        text = sample[: exc.start].decode(encoding)
    foreign = [(at, char) for at, char in enumerate(text) if char >= "\x80"]
    if not foreign:
        return 0.0
    hangul = [char for _, char in foreign if "\uac00" <= char <= "\ud7a3"]
    # Korean has next to no Chinese characters, and few Chinese words may look like Korean.
    if encoding == "euc_kr" and (len(set(hangul)) < 20 or len(hangul) < 0.95 * len(foreign)):
        return -1.0
    total = 0.0
    for at, char in foreign:
        total += _worth(char, text[at - 1 : at], text[at + 1 : at + 2], encoding)
    return total / len(foreign)


def _worth(char: str, before: str, after: str, encoding: str) -> float:
    if "\u3040" <= char <= "\u30ff":
        return 1.0 if encoding in ("shift_jis", "euc_jp") else 0.5
    if "\uac00" <= char <= "\ud7a3":
        return 1.05 if encoding == "euc_kr" else 0.2
    if "\u4e00" <= char <= "\u9fff":
        return _common(char, encoding)
    if "\u3000" <= char <= "\u303f" or "\uff01" <= char <= "\uff5e":
        return 0.8
    if "\u0410" <= char <= "\u044f" and any(x.isascii() and x.isalpha() for x in (before, after)):
        return 0.0  # words are of one script
    if "\u0430" <= char <= "\u044f":
        return 0.9
    if "\u0410" <= char <= "\u042f":
        return 0.4
    if "\xc0" <= char <= "\xff" and char not in "\xd7\xf7":
        # Accents stand among plain letters, seldom several in a row.
        plain = (before.isascii() and before.isalpha()) or (after.isascii() and after.isalpha())
        return 0.75 if plain else 0.2
    if char in "\u2018\u2019\u201c\u201d\u2013\u2014\u2026\u20ac\xa0\xab\xbb\xb0\xa7\xa9":
        return 0.6
    return -1.0 if "\ue000" <= char <= "\uf8ff" or char < "\xa0" else 0.0


def _common(char: str, encoding: str) -> float:
    """Return how common a Chinese character is, by the level that its own standard gives it."""
    table, low, high = {
        "gb18030": ("gb2312", 0xB0, 0xD7),
        "big5": ("big5", 0xA4, 0xC6),
        "shift_jis": ("shift_jis", 0x88, 0x98),
        "euc_jp": ("euc_jp", 0xB0, 0xCF),
    }.get(encoding, ("", 1, 0))
    try:
        lead = char.encode(table)[0] if table else 0
    except UnicodeEncodeError:
        return 0.1
    # A Japanese text of Chinese characters alone is rare, a Chinese one is not.
    most = 1.0 if encoding in ("gb18030", "big5") else 0.7
    return most if low <= lead <= high else 0.3


def read(data: bytes, name: str) -> dict[str, Any]:
    """Return what a document says; raises Refusal where it says nothing or must not be read."""
    mime = kind_of(data, name)
    if mime in ("text/plain", "text/markdown", "text/csv", "text/tab-separated-values"):
        text, encoding, lost = decoded(data)
        notes = [f"{lost} characters could not be decoded as {encoding}"] if lost else []
        shape = {"text/plain": "plain", "text/markdown": "markdown"}.get(mime, "rows")
        found: dict[str, Any] = {
            "text": text,
            "shape": shape,
            "encoding": encoding,
            "parser": "text",
        }
        return {**found, "mime": mime, "notes": notes}
    if mime == "text/html":
        return {**_page(data), "mime": mime}
    if mime == "message/rfc822":
        return {**_mail(data), "mime": mime}
    damaged = _damaged(data, mime) if data.startswith(b"PK") else []
    if damaged and mime != "application/epub+zip":
        raise Refusal(f"it is damaged ({damaged[0]}): get a whole copy and add it again")
    found = _kreuzberg(data, mime)
    if damaged and not any(char.isalnum() for char in found["text"]):
        raise Refusal(f"it is damaged ({damaged[0]}): get a whole copy and add it again")
    found["notes"] += [f"what follows a damage in {one}" for one in damaged]
    return {**found, "mime": mime}


def _mail(data: bytes) -> dict[str, Any]:
    from email import message_from_bytes, policy

    message = message_from_bytes(data, policy=policy.default)
    lines, notes, title = [], [], ""
    for name in ("Subject", "From", "To", "Cc", "Date"):
        try:
            value = " ".join(str(message.get(name, "")).split())
        except Exception:  # the library trips over some headers that are none
            notes.append(f"the header {name}, which cannot be read")
            continue
        title = value if name == "Subject" else title
        lines += [f"{name}: {value}"] if value else []
    body = message.get_body(("plain", "html"))
    text = "" if body is None else _mail_text(body)
    if body is not None and body.get_content_subtype() == "html":
        text = _page(text)["text"]
    names = [part.get_filename() or "without a name" for part in message.iter_attachments()]
    notes += [f"the attachment {name}: add it by itself" for name in names]
    defects = {type(one).__name__ for part in message.walk() for one in part.defects}
    notes += [f"what its damage hides ({one})" for one in sorted(defects)]
    text = "\n".join([*lines, "", text]).replace("\r\n", "\n").replace("\r", "\n")
    found = {"text": text.replace("\0", "\ufffd"), "shape": "plain", "title": title}
    return {**found, "parser": "email", "notes": notes}


def _mail_text(part: Any) -> str:
    payload = part.get_payload(decode=True) or b""
    charset = str(part.get_content_charset() or "")
    try:
        # What calls itself GB2312 holds characters of its successors as a rule.
        return str(payload, "gb18030" if charset in ("gb2312", "gbk") else charset)
    except (LookupError, UnicodeDecodeError):
        return decoded(payload)[0]


def _tree(data: bytes | str) -> Any:
    from lxml import etree, html  # type: ignore[import-untyped]
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


def _page(data: bytes | str) -> dict[str, Any]:
    from trafilatura import extract, extract_metadata

    tree = _tree(data)
    about = extract_metadata(tree)
    title = (about.title if about else None) or ""
    notes: list[str] = []
    text = extract(
        tree,
        output_format="markdown",
        include_tables=True,
        include_comments=False,
        favor_recall=True,
    )
    if not (text or "").strip():
        # Pages too short to tell the article from what is round it.
        for part in tree.iter("script", "style", "noscript", "template"):
            part.clear()
        lines = (" ".join(line.split()) for line in tree.text_content().splitlines())
        text = "\n".join(line for line in lines if line)
    else:
        notes.append("navigation, forms and other parts round the main text of the page")
    return {
        "text": text,
        "shape": "markdown",
        "title": title,
        "parser": "trafilatura",
        "notes": notes,
    }


def _kreuzberg(data: bytes, mime: str) -> dict[str, Any]:
    from kreuzberg import ExtractionConfig, PageConfig, extract_bytes_sync
    from kreuzberg.exceptions import KreuzbergError

    slides = mime.endswith("presentationml.presentation")
    mark = f"Q{secrets.token_hex(8)}Q"
    config = ExtractionConfig(
        use_cache=False,  # it would write copies of documents into the home folder
        enable_quality_processing=False,
        output_format="markdown",
        pages=PageConfig(
            extract_pages=True,
            insert_page_markers=slides,
            marker_format=f"\n\n{mark}{{page_num}};\n\n",
        ),
    )
    try:
        result = extract_bytes_sync(data, mime, config=config)
    except KreuzbergError as exc:
        said = str(exc).split(": ", 1)[-1]
        if "password" in said.lower() or "encrypt" in said.lower():
            raise Refusal("it is encrypted: save it without a password and add it again") from None
        if "No page boundaries" in said:
            raise Refusal(
                "it has no pages, or none that can be found: get a whole copy and add it again"
            ) from None
        raise Refusal(
            f"it cannot be read ({said[:200]}): get a whole copy, or another format"
        ) from None
    text = result.content.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    found: dict[str, Any] = {
        "text": text,
        "shape": "markdown",
        "title": str(result.metadata.get("title") or ""),
        "parser": "kreuzberg",
        "notes": [str(warning)[:200] for warning in result.processing_warnings or ()],
    }
    if slides:
        found.update(_slides(text, mark))
    elif mime == "application/pdf" and result.pages:
        contents = [str(page["content"]) for page in result.pages]
        found.update(paged_text(text, contents))
    return found


def _slides(text: str, mark: str) -> dict[str, Any]:
    """Return text without the marks before its slides, and where each slide begins."""
    first, *parts = re.split(rf"\n*{mark}\d+;\n*", text)
    starts, length = [], len(first)
    for part in parts:
        starts.append(length)
        length += len(part) + 2
    blank = [number for number, part in enumerate(parts, 1) if not part.strip()]
    return {
        "text": first + "".join(f"{part}\n\n" for part in parts),
        "pages": starts,
        "blank": blank,
    }


def paged_text(text: str, pages: list[str]) -> dict[str, Any]:
    """
    Return text and where its pages begin, from Markdown of the whole and the plain text of pages.

    The Markdown has the headings and not the page ends.  Where letters and digits of both run
    alike, the ends are carried over; where they do not, the pages' own text is taken, unless much
    of the whole is not in it.
    """
    empty = [number for number, page in enumerate(pages, 1) if not page.strip()]
    marks = [at for at, char in enumerate(text) if char.isalnum()]
    stream = "".join(text[at] for at in marks)
    starts, at, fits = [0], 0, True
    for number, page in enumerate(pages):
        letters = "".join(char for char in page if char.isalnum())
        if number:
            lead = letters[:24]
            found = stream.find(lead, max(0, at - 400), at + 400 + len(lead)) if lead else at
            if found < 0:
                fits = False
                break
            at = found
            starts.append(_line_start(text, marks[at]) if at < len(marks) else len(text))
        at += len(letters)
    if fits and starts == sorted(starts) and abs(at - len(stream)) <= 400:
        return {"pages": starts, "blank": empty}
    if sum(char.isalnum() for page in pages for char in page) < 0.9 * len(stream):
        return {}
    starts, parts, length = [], [], 0
    for page in pages:
        starts.append(length)
        part = (
            page.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd").strip() + "\n\n"
        )
        parts.append(part)
        length += len(part)
    return {"text": "".join(parts), "shape": "plain", "pages": starts, "blank": empty}


def _line_start(text: str, at: int) -> int:
    """Return where the markup before a page's first letter begins: ``## `` belongs to its page."""
    line = text.rfind("\n", 0, at) + 1
    return line if not any(char.isalnum() for char in text[line:at]) else at


def _tell_lost(found: dict[str, Any]) -> None:
    """Note how many characters cannot be told; raises Refusal where they are too many."""
    lost, solid = found["text"].count("\ufffd"), sum(map(len, found["text"].split()))
    if lost > max(3, _MOST_LOST * solid):
        raise Refusal(
            f"{lost} of its {solid} characters cannot be told: it is damaged, or its encoding is"
            " not what it says; get a whole copy, or save it anew"
        )
    if lost and not any("decoded" in note for note in found["notes"]):
        found["notes"].append(f"{lost} characters that could not be decoded")


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """Read one document, and say what came of it; never raises for what a document holds."""
    said: dict[str, Any] = {"ok": False}
    try:
        with open(bytes.fromhex(asked["path"]), "rb") as file:  # noqa: PTH123
            data = file.read()
    except OSError as exc:
        return {**said, "status": "failed", "error": f"it cannot be opened ({exc.strerror})"}
    except MemoryError:
        return {**said, "status": "failed", "error": _TOO_MUCH}
    try:
        said["hash"] = hashlib.sha256(data).hexdigest()
        if not data.strip(b"\0 \t\r\n"):
            raise Refusal("it is empty: there is nothing in it to find", status="empty")
        found = read(data, asked["name"])
        if len(found["text"]) > asked["max_chars"]:
            raise Refusal(
                f"it has {len(found['text'])} characters of text, and {asked['max_chars']} are"
                " allowed: split it"
            )
        if not any(char.isalnum() for char in found["text"]):
            if found.get("pages"):
                detail = "it has pages but no text, as scans do: run OCR over it first"
            else:
                detail = "there is no text in it"
            said.update({name: found.get(name) for name in ("mime", "pages", "blank", "parser")})
            raise Refusal(detail, status="empty")
        _tell_lost(found)
        said.update(found, ok=True)
    except Refusal as exc:
        said.update(status=exc.status, error=str(exc))
    except MemoryError:
        said.update(status="failed", error=_TOO_MUCH)
    except Exception as exc:  # whatever a parser raises is about the document
        how = f"{type(exc).__name__}: {exc}"[:200]
        error = f"its parser failed ({how}): get a whole copy, or another format"
        said.update(status="failed", error=error)
    return said


def part(asked: dict[str, Any]) -> dict[str, Any]:
    """Part a text into passages, which may take as much time and memory as reading it."""
    from refdesk.kb.ingest.chunk import TooManyPassages, parted

    try:
        pieces = parted(
            asked["text"], shape=asked["shape"], chars=asked["chars"], pages=asked["pages"]
        )
        return {"ok": True, "pieces": [piece.packed() for piece in pieces]}
    except TooManyPassages as exc:
        return {"ok": False, "status": "failed", "error": str(exc)}
    except MemoryError:
        return {"ok": False, "status": "failed", "error": _TOO_MUCH}


def main() -> None:
    """Answer until the input ends."""
    memory = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out = sys.stdout.buffer
    sys.stdout = sys.stderr  # a parser that prints must not speak in our place
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        # Whoever asked ends this process when it takes too long, unless it was ended itself.
        signal.setitimer(signal.ITIMER_REAL, float(asked.get("seconds", 0)))
        said = part(asked) if "text" in asked else answer(asked)
        signal.setitimer(signal.ITIMER_REAL, 0)
        try:
            body = json.dumps(said).encode()
        except MemoryError:
            said = {"ok": False, "hash": said.get("hash"), "status": "failed"}
            said["error"] = _TOO_MUCH
            body = json.dumps(said).encode()
        del said
        out.write(b"%d\n" % len(body))
        out.write(body)
        out.flush()


if __name__ == "__main__":
    main()
