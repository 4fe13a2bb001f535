"""
Reads documents, in a process of its own.

What a hostile document does to a parser (memory, endless loops, crashes) ends with this process,
which imports nothing of Refdesk but `refdesk.kb.ingest.reading` and `refdesk.kb.ingest.chunk`.  One
JSON object per line comes in: ``path`` (its bytes in hexadecimal), ``name``, ``max_chars``,
``seconds``.  For each, a line with a length goes out, and as many bytes of JSON: ``ok``, ``hash``,
and either the text with where its pages begin, or ``status`` and ``error`` (the end of a sentence).
An object with ``text``, ``shape``, ``chars`` and ``pages`` is a text to be parted, and its answer
has ``pieces``.  The first argument is the memory it may have, in bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import sys
from typing import Any, Final

from refdesk.kb.ingest.reading.found import TOO_MUCH, Found, Refusal
from refdesk.kb.ingest.reading.kinds import kind_of
from refdesk.kb.ingest.reading.letters import compare

_NICENESS: Final = 10
"""How far reading documents stands back where processors are short (``nice``)."""

_MOST_LOST = 0.25
"""Of a document of which more cannot be told, what can be told is no text either."""
_UNCHECKED = "whether all of it was read was not checked: there is no second reader for this format"


def read(data: bytes, name: str) -> dict[str, Any]:
    """Return what a document says; raises Refusal where it says nothing or must not be read."""
    mime = kind_of(data, name)
    found = _read(data, mime)
    total, lost = 0, 0
    if found.held is None:
        found.notes.append(_UNCHECKED)
    else:
        total, lost, where = compare(found.held, found.text)
        if lost and where:
            found.notes.append(
                f"{lost} of {total} letters and signs that a second reader finds in the file, from"
                f" these words: {where}"
            )
    return {
        "text": found.text,
        "shape": found.shape,
        "title": found.title,
        "pages": found.pages,
        "blank": found.blank,
        "notes": found.notes,
        "encoding": found.encoding,
        "parser": found.parser,
        "mime": mime,
        "held": total,
        "lost": lost,
    }


def _read(data: bytes, mime: str) -> Found:
    """Read with the reader of a type; each is imported when it is first needed."""
    if mime.startswith("text/") and mime != "text/html":
        from refdesk.kb.ingest.reading.plain import read_plain

        return read_plain(data, mime)
    if mime == "text/html":
        from refdesk.kb.ingest.reading.web import read_page

        return read_page(data)
    if mime == "message/rfc822":
        from refdesk.kb.ingest.reading.mail import read_mail

        return read_mail(data)
    if mime == "application/pdf":
        from refdesk.kb.ingest.reading.pdf import read_pdf

        return read_pdf(data)
    if data.startswith(b"PK"):
        return _read_zip(data, mime)
    if mime == "application/vnd.ms-excel":
        from refdesk.kb.ingest.reading.old_sheets import read_old_sheets

        return read_old_sheets(data)
    from refdesk.kb.ingest.reading import other

    return other.read_rtf(data) if mime == "application/rtf" else other.read_other(data, mime)


def _read_zip(data: bytes, mime: str) -> Found:
    from refdesk.kb.ingest.reading import package

    damaged = package.damage_of(data, mime)
    if mime == "application/epub+zip":
        from refdesk.kb.ingest.reading.other import read_book

        found = read_book(data)
        if damaged and not any(char.isalnum() for char in found.text):
            raise Refusal(f"it is damaged ({damaged[0]}): get a whole copy and add it again")
        found.notes += [f"what follows a damage in {one}" for one in damaged]
        return found
    if damaged:
        raise Refusal(f"it is damaged ({damaged[0]}): get a whole copy and add it again")
    if mime == package.WORD:
        from refdesk.kb.ingest.reading.word import read_word as reader
    elif mime == package.SHEET:
        from refdesk.kb.ingest.reading.sheets import read_sheets as reader
    elif mime == package.SLIDES:
        from refdesk.kb.ingest.reading.slides import read_slides as reader
    else:
        from refdesk.kb.ingest.reading.opendocument import read_opendocument as reader
    return reader(data)


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
        return {**said, "status": "failed", "error": TOO_MUCH}
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
        said.update(status="failed", error=TOO_MUCH)
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
        return {"ok": False, "status": "failed", "error": TOO_MUCH}


def main() -> None:
    """Answer until the input ends."""
    memory = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Reading documents stands back for answering where processors are short.
    os.nice(_NICENESS)
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
            said["error"] = TOO_MUCH
            body = json.dumps(said).encode()
        del said
        out.write(b"%d\n" % len(body))
        out.write(body)
        out.flush()
    # Threads of a parser may still be ending, and would abort an orderly end.
    os._exit(0)


if __name__ == "__main__":
    main()
