"""Documents that are archives of XML: what is in them, whether it is whole, and safe to read."""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final

from lxml import etree

from refdesk.kb.ingest.reading.found import Refusal

MAX_MEMBERS: Final = 10_000
"""Parts of a zipped document; one of more is refused."""
MAX_RATIO: Final = 100
"""How many times its size a document of more than 10 MiB may unpack to; more is refused."""
MAX_UNPACKED: Final = 512 * 1024 * 1024
"""Bytes that a zipped document may unpack to; more is refused."""
_RATIO_FROM = 10 * 1024 * 1024

_OFFICE = "application/vnd.openxmlformats-officedocument."
WORD = _OFFICE + "wordprocessingml.document"
SHEET = _OFFICE + "spreadsheetml.sheet"
SLIDES = _OFFICE + "presentationml.presentation"
_MAIN = {"word/document.xml": WORD, "xl/workbook.xml": SHEET, "ppt/presentation.xml": SLIDES}
_TYPES = {
    "wordprocessingml": WORD,
    "ms-word": WORD,
    "spreadsheetml": SHEET,
    "ms-excel": SHEET,
    "presentationml": SLIDES,
    "ms-powerpoint": SLIDES,
}
"""What stands in the content type of the main part, whatever that is called."""
_FOLDERS = {WORD: "word/", SHEET: "xl/", SLIDES: "ppt/", "application/epub+zip": ""}
"""Where the text of a zipped document is."""
_BROKEN = (
    zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, RuntimeError,
)  # fmt: skip
"""What reading a part of an archive may raise."""
_MANIFEST = "META-INF/manifest.xml"
_TEXTUAL = (".xml", ".rels", ".xhtml", ".html", ".htm", ".opf")


def kind_of_zip(data: bytes) -> str:
    """Return the media type of an archive; raises Refusal of what is no document, or a trap."""
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
    if mime := _office_type(Package(data)):
        return mime
    if "mimetype" in names:
        mime = archive.read("mimetype")[:100].decode("ascii", "replace").strip()
        if mime == "application/epub+zip" or mime.startswith("application/vnd.oasis."):
            manifest = archive.read(_MANIFEST) if _MANIFEST in names else b""
            if any(one.flag_bits & 1 for one in members) or b"encryption-data" in manifest:
                raise Refusal("it is encrypted: save it without a password and add it again")
            return mime
    raise Refusal("it is an archive and no document: unpack it and add what is in it")


def _office_type(package: Package) -> str | None:
    main = package.main
    if main.endswith(".bin"):
        raise Refusal("it is a binary workbook (XLSB): save it as XLSX")
    if main not in package.names:
        return next((mime for name, mime in _MAIN.items() if name in package.names), None)
    types = package.xml("[Content_Types].xml")
    for each in () if types is None else types:
        if each.get("PartName", "").lstrip("/") == main:
            said = each.get("ContentType", "")
            return next((mime for word, mime in _TYPES.items() if word in said), None)
    return _MAIN.get(main)


def damage_of(data: bytes, mime: str) -> list[str]:
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
    folder = _FOLDERS.get(mime)
    for name in archive.namelist():
        if (
            name not in ("content.xml", "styles.xml")
            if folder is None
            else not name.startswith(folder)
        ):
            continue
        if not name.endswith(_TEXTUAL):
            continue
        parser = expat.ParserCreate()
        parser.UseForeignDTD(True)  # what it defines is not known, and no damage
        if mime != "application/epub+zip":
            parser.EntityDeclHandler = harm
        try:
            with archive.open(name) as part:
                parser.ParseFile(part)
        except (expat.ExpatError, *_BROKEN) as exc:
            found.append(f"{name}: {exc}"[:200])
    return found


class Package:
    """
    The parts of an archive, and how they refer to each other.

    Args:
        data: The bytes of an archive that was looked at with `kind_of_zip`.
    """

    def __init__(self, data: bytes) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(data))
        self.names = frozenset(self._archive.namelist())

    def open(self, name: str) -> Any:
        """Return a part as a file."""
        return self._archive.open(name)

    def xml(self, name: str) -> Any:
        """Return the root element of a part; None where there is no such part, or it is broken."""
        if name not in self.names:
            return None
        try:
            return etree.fromstring(self._archive.read(name), _parser())
        except (etree.XMLSyntaxError, *_BROKEN):
            return None

    def relations(self, part: str) -> dict[str, tuple[str, str]]:
        """Return what a part refers to: id to kind (the last word of its type) and part."""
        folder, name = posixpath.split(part)
        root = self.xml(posixpath.join(folder, "_rels", name + ".rels"))
        found: dict[str, tuple[str, str]] = {}
        for each in () if root is None else root:
            if not isinstance(each.tag, str) or each.get("TargetMode") == "External":
                continue
            target = each.get("Target", "")
            path = target[1:] if target.startswith("/") else posixpath.join(folder, target)
            kind = each.get("Type", "").rpartition("/")[2]
            found[each.get("Id", "")] = (kind, posixpath.normpath(path))
        return found

    def embedded(self, part: str) -> int:
        """Return how many files are put into a part, such as a table of another program."""
        kinds = (kind for kind, _ in self.relations(part).values())
        return sum(kind in ("oleObject", "package") for kind in kinds)

    @cached_property
    def main(self) -> str:
        """The part that the document begins with."""
        relations = self.relations("").values()
        return next((target for kind, target in relations if kind == "officeDocument"), "")

    @property
    def title(self) -> str:
        """The title among the document's properties."""
        root = self.xml("docProps/core.xml")
        found = root.find("{http://purl.org/dc/elements/1.1/}title") if root is not None else None
        return "" if found is None else (found.text or "").strip()


def events(file: Any, *names: str) -> Iterator[Any]:
    """Yield the elements of these local names of an XML file, each whole, and forget it then."""
    tags = [f"{{*}}{name}" for name in names]
    for _, element in etree.iterparse(
        file, tag=tags, resolve_entities=False, no_network=True, huge_tree=True
    ):
        yield element
        element.clear()
        # Its older siblings are empty, and still take room.
        while element.getprevious() is not None:
            del element.getparent()[0]


def begun(file: Any, *names: str) -> Iterator[Any]:
    """Yield the elements of these local names when they begin: only their attributes are there."""
    tags = [f"{{*}}{name}" for name in names]
    for _, element in etree.iterparse(
        file, events=("start",), tag=tags, resolve_entities=False, no_network=True, huge_tree=True
    ):
        yield element


def local(element: Any) -> str:
    """Return the name of an element without its namespace; empty for comments and the like."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Any, name: str) -> str | None:
    """Return an attribute by its local name, whatever its namespace."""
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return None


def child(element: Any, name: str) -> Any:
    """Return the first child of this local name, or None."""
    return (
        None if element is None else next((each for each in element if local(each) == name), None)
    )


def _parser() -> Any:
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        huge_tree=True,
        remove_comments=True,
        remove_pis=True,
    )
