"""What a document that is hard to read is, and what has to come of it."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A document, with what it shows."""

    name: str
    data: bytes = field(repr=False)
    seen: tuple[str, ...]
    """What is to be found in the text, white space aside, in any order."""
    unseen: tuple[str, ...] = ()
    """What is not to be in the text."""
    once: tuple[str, ...] = ()
    """What is to be in the text exactly once."""
    told: tuple[str, ...] = ()
    """A word of each note that the report is to have."""


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    """Return a ZIP archive of these parts, with the same bytes at every run."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, body in parts.items():
            info = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, body)
    return out.getvalue()


PACKAGE = "http://schemas.openxmlformats.org/package/2006/"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


def relations(targets: Mapping[str, tuple[str, str]]) -> str:
    """Return a part of relationships: id to kind and target."""
    rows = "".join(
        f'<Relationship Id="{id_}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for id_, (kind, target) in targets.items()
    )
    return f'{XML}<Relationships xmlns="{PACKAGE}relationships">{rows}</Relationships>'


def types(parts: Mapping[str, str]) -> str:
    """Return the content types of a package: part to type."""
    rows = "".join(
        f'<Override PartName="/{part}" ContentType="{kind}"/>' for part, kind in parts.items()
    )
    return (
        f'{XML}<Types xmlns="{PACKAGE}content-types"><Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml"'
        f' ContentType="application/xml"/>{rows}</Types>'
    )
