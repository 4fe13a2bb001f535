"""
The process that serves the small local model: ``python -m refdesk.demo._model_child WEIGHTS``.

It prints its URL when it answers, and ends when its standard input ends, so that it never outlives
whoever started it.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, Final

CONTEXT_TOKENS: Final = 2048
"""What the small model was trained to read."""


def main() -> None:
    """Load the model, say where it answers, and wait for the end of the input."""
    binding: Any = importlib.import_module("xllamacpp")
    params = binding.CommonParams()
    params.model.path = sys.argv[1]
    params.port = 0
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.cache_ram_mib = 0
    params.fit_params = False
    params.warmup = False
    params.ui = False
    params.verbosity = 0
    # Its threads wait for each other at every layer: on processors that others use as well, fewer
    # are faster (measured with two under load: 1 s became 60 s).
    threads = max(1, min(4, (os.cpu_count() or 1) - round(os.getloadavg()[0])))
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = threads
        cpu.poll = 0
    server = binding.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.buffer.read()
    # Its own threads are in the middle of nothing that matters.
    os._exit(0)


if __name__ == "__main__":
    main()
