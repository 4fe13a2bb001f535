"""
Small documents that readers trip over, made from nothing, each with what it shows.

`ALL` is every one of them; the bytes are the same at every run.
"""

from __future__ import annotations

from awkward.other import OTHERS
from awkward.pdfs import PDFS
from awkward.sample import Sample
from awkward.sheets import SHEETS
from awkward.slides import SLIDES
from awkward.word import WORD

ALL: tuple[Sample, ...] = (*WORD, *SHEETS, *SLIDES, *PDFS, *OTHERS)
