"""A gateway of its own for each run: the real command, on a free port, with the offline engine."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_CONFIG: Final = """\
version: 1
server: {{host: 127.0.0.1, port: 0}}
data_dir: {folder}/data
upstreams:
  scripted:
    provider: compatible
    wire: [messages, responses]
    base_url: {upstream}
    api_key: e2e-upstream-key
models:
  local: {{upstream: scripted}}
default_model: local
engines:
  pages: {{type: offline}}
"""


@contextlib.contextmanager
def serving(folder: Path, upstream: str) -> Iterator[str]:
    """Serve in front of an upstream; yields the address.  What it logs lies in ``folder``."""
    config = folder / "refdesk.yaml"
    config.write_text(_CONFIG.format(folder=folder, upstream=upstream))
    command = [str(Path(sys.executable).with_name("refdesk")), "serve", "--config", str(config)]
    with (folder / "gateway.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if "http://" not in line:
                said = (folder / "gateway.log").read_text()
                raise SystemExit(f"the gateway did not start:\n{said}")
            yield line[line.index("http://") :].strip().rstrip("/")
        finally:
            process.terminate()
            process.wait(timeout=30)
