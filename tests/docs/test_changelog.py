"""The changelog has the form of Keep a Changelog, and each change stands in it once."""

from __future__ import annotations

import re
import tomllib
from datetime import date

import pytest

from recorded import ROOT

TEXT = (ROOT / "docs/changelog.md").read_text(encoding="utf-8")
SECTIONS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
_VERSION = re.compile(r"^## (.*)\n", re.MULTILINE)
_SECTION = re.compile(r"^### (.*)\n", re.MULTILINE)
_ENTRY = re.compile(r"^- .*(?:\n  .*)*", re.MULTILINE)


def versions() -> list[tuple[str, str]]:
    """Return the heading and the text of each version."""
    _, *parts = _VERSION.split(TEXT)
    return list(zip(parts[::2], parts[1::2], strict=True))


def entries() -> list[str]:
    """Return all entries, each on one line."""
    return [" ".join(match[0].split()) for match in _ENTRY.finditer(TEXT)]


def test_unreleased_comes_first_and_the_newest_release_is_the_projects_version() -> None:
    """Versions fall, each with the day of its release."""
    (first, _), *released = versions()
    assert first == "[Unreleased]"
    found = [
        re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})", name) for name, _ in released
    ]
    numbers = [tuple(map(int, match[1].split("."))) for match in found if match]
    days = [date.fromisoformat(match[2]) for match in found if match]
    assert len(numbers) == len(released)
    assert numbers == sorted(numbers, reverse=True)
    assert days == sorted(days, reverse=True)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == ".".join(map(str, numbers[0]))


@pytest.mark.parametrize(("version", "text"), versions(), ids=[name for name, _ in versions()])
def test_every_entry_stands_in_a_section(version: str, text: str) -> None:
    """Sections are those of the form, each once, in their order; nothing stands outside of them."""
    before, *parts = _SECTION.split(text)
    titles = parts[::2]
    assert titles == [title for title in SECTIONS if title in titles]
    assert not _ENTRY.search(before)
    for body in parts[1::2]:
        assert not _ENTRY.sub("", body).strip()


def test_no_entry_stands_twice() -> None:
    """What two lines of work bring in is told once."""
    begins = [entry[:60] for entry in entries()]
    assert sorted(begins) == sorted(set(begins))


def test_both_sides_of_a_merge_keep_their_lines() -> None:
    """Git joins what two branches add, and the tests above tell what is to be tidied."""
    assert "docs/changelog.md merge=union" in (ROOT / ".gitattributes").read_text(encoding="utf-8")
