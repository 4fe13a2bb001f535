"""The encoding of plain text, by what its bytes make of each."""

from __future__ import annotations

from refdesk.kb.ingest.reading.found import NO_TEXT, Refusal, clean

_SAMPLE = 262_144
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\r\f\x1b"))


def decoded(data: bytes) -> tuple[str, str, int]:
    """Return text, encoding, and how many characters could not be decoded; line ends as ``\\n``."""
    encoding = _encoding_of(data)
    text = data.decode(encoding, "replace").removeprefix("\ufeff")
    lost = text.count("\ufffd") if encoding != "utf-8-sig" else 0
    return clean(text), encoding.removesuffix("-sig"), lost


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
        raise Refusal(NO_TEXT)
    if len(sample.translate(None, _CONTROLS)) < 0.99 * len(sample):
        raise Refusal(NO_TEXT)
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
