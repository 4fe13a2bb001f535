"""Mails: the headers that a reader sees, and the text.  What is attached is told, and not read."""

from __future__ import annotations

from email import message_from_bytes, policy
from typing import Any

from refdesk.kb.ingest.reading.decoding import decoded
from refdesk.kb.ingest.reading.found import Found, clean
from refdesk.kb.ingest.reading.web import read_page


def read_mail(data: bytes) -> Found:
    """Return the text of a mail."""
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
    plain, html = (message.get_body((kind,)) for kind in ("plain", "html"))
    text = held = "" if plain is None else _text(plain)
    if html is not None and (written := _text(html)).strip():
        page = read_page(written)
        # Mail programs show the page; the text is easier to read, if it is not just a hint at it.
        if _letters(text) * 2 < _letters(page.held or page.text):
            text, held = page.text, page.held or ""
            notes += page.notes
    names = [part.get_filename() or "without a name" for part in message.iter_attachments()]
    notes += [f"the attachment {name}: add it by itself" for name in names]
    defects = {type(one).__name__ for part in message.walk() for one in part.defects}
    notes += [f"what its damage hides ({one})" for one in sorted(defects)]
    return Found(
        text=clean("\n".join([*lines, "", text])),
        shape="plain",
        title=title,
        parser="email",
        notes=notes,
        held=clean("\n".join([*lines, held])),
    )


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def _text(part: Any) -> str:
    payload = part.get_payload(decode=True) or b""
    charset = str(part.get_content_charset() or "")
    try:
        # What calls itself GB2312 holds characters of its successors as a rule.
        return str(payload, "gb18030" if charset in ("gb2312", "gbk") else charset)
    except (LookupError, UnicodeDecodeError):
        return decoded(payload)[0]
