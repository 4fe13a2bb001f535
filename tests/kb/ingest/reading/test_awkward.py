"""Small documents that readers trip over, in every format: what is seen is read, and no more."""

from __future__ import annotations

import re

import pytest

from awkward import ALL
from awkward.sample import Sample
from refdesk.kb.ingest.parse_child import read


def flat(text: str) -> str:
    """Return a text with single spaces."""
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("sample", ALL, ids=lambda sample: sample.name)
def test_text_is_kept(sample: Sample) -> None:
    """What the document shows is in the text, and what it hides is not."""
    text = flat(read(sample.data, sample.name)["text"])
    assert [each for each in sample.seen if flat(each) not in text] == []
    assert [each for each in sample.unseen if each in text] == []
    assert {each: text.count(each) for each in sample.once} == dict.fromkeys(sample.once, 1)


@pytest.mark.parametrize("sample", ALL, ids=lambda sample: sample.name)
def test_nothing_is_lost(sample: Sample) -> None:
    """A second reader finds letters in each of them, and none that the text lacks."""
    found = read(sample.data, sample.name)
    assert found["held"] > 0
    assert (found["lost"], [note for note in found["notes"] if "second reader" in note]) == (0, [])


@pytest.mark.parametrize(
    "sample", [each for each in ALL if each.told], ids=lambda sample: sample.name
)
def test_what_is_left_out_is_told(sample: Sample) -> None:
    """Whatever of a document is not read stands in its report."""
    notes = "\n".join(read(sample.data, sample.name)["notes"])
    assert [each for each in sample.told if each not in notes] == []


def test_samples_are_the_same_everywhere() -> None:
    """The samples are bytes that do not change from run to run, of the names that they have."""
    assert len({sample.name for sample in ALL}) == len(ALL)
    assert {sample.name.rpartition(".")[2] for sample in ALL} == {
        "docx", "xlsx", "xls", "pptx", "pdf", "odt", "ods", "odp", "epub", "rtf", "html", "eml",
        "csv", "txt", "md",
    }  # fmt: skip
