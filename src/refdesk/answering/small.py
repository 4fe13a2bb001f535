"""
How a model of a hundred million parameters is asked, so that its answer has a source.

It reads two thousand tokens, and of several passages it mixes the facts.  So it is given the best
one, with a short question behind it, and its grammar leaves it no other end than the citation of
what it was given (measured with SmolLM2 135M: so it picks the right fact, and with the prompt for
larger models it does not get as far as an answer).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from refdesk.cleaning import one_line
from refdesk.types import ReferenceContext

WIRE: Final = "chat"
"""The one on which llama.cpp takes a grammar."""
SYSTEM: Final = "You answer from the text you are given, in one sentence."
MAX_TOKENS: Final = 96
_MAX_CHARS: Final = 2400
"""Of a passage: more would only confuse it."""
_MAX_BYTES: Final = 2400
"""Likewise: beyond ASCII it reads about a token for every byte."""
_SENTENCE: Final = r"""
root ::= within{3,240} [.!?。！？]? " [%s]"
within ::= [^.!?。！？\n\[\]] | [.!?] [^ .!?\n\[\]]
"""
"""One sentence: a point ends it, unless it stands within a number or a name."""


def question(context: ReferenceContext, asked: str) -> str:
    """Return what to ask about the first reference; the question alone where there is none."""
    if not context.items:
        return asked
    best = context.items[0]
    said = one_line(f"{best.title}: {best.content}" if best.title else best.content, _MAX_CHARS)
    return f"{said.encode()[:_MAX_BYTES].decode(errors='ignore')}\n\n{asked}"


def settings(context: ReferenceContext) -> Mapping[str, Any]:
    """Return what the request says besides: no chance, few words, and the citation at their end."""
    calm: dict[str, Any] = {"temperature": 0, "max_tokens": MAX_TOKENS}
    if context.items:
        calm["grammar"] = _SENTENCE % context.items[0].id
    return calm
