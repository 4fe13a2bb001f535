"""The README's picture."""

from __future__ import annotations

import importlib.util
import io
from types import ModuleType
from xml.etree import ElementTree

import pytest

from recorded import ROOT

PICTURE = ROOT / "docs/images/demo.svg"


@pytest.fixture(scope="module")
def picture() -> ModuleType:
    """Return the script as a module."""
    spec = importlib.util.spec_from_file_location("picture", ROOT / "tools/picture.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_fonts_from_elsewhere(picture: ModuleType) -> None:
    """What GitHub would not load is out, and the picture is still XML with a label."""
    console = picture._Terminal(record=True, width=40, file=io.StringIO(), force_terminal=True)
    with console.status("a spinner") as spinner:
        spinner.stop()
    console.print("[bold]text[/bold]")
    svg = picture.finished(console.export_svg(title="t"))
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "").replace(
        "https://www.textualize.io", ""
    )
    assert "@font-face" not in svg
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert "a spinner" not in svg


def test_the_picture_shows_the_demo() -> None:
    """The picture in the repository is of a demo that found sources, and shows every step."""
    root = ElementTree.fromstring(PICTURE.read_text(encoding="utf-8"))
    text = "".join(root.itertext()).replace("\xa0", " ")
    for shown in ("make demo", "Answer", "Sources", "[1]", "What happened", "web_search_20250305"):
        assert shown in text
