"""A gateway of its own for each run: the real command, on a free port."""

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
    wire: [messages, chat, responses]
    base_url: {upstream}
    api_key: e2e-upstream-key
models:
  local: {{upstream: scripted}}
default_model: local
gateway: {{search: {{cache_ttl_s: 0, pages_per_query: 1}}}}
engines:
  pages: {engine}
"""
_OFFLINE: Final = "{type: offline}"
_HTTP: Final = (
    "{{type: http, method: GET, url: '{url}/find', query_param: q, results: /hits, "
    "fields: {{title: /title, url: /url, snippet: /text}}}}"
)


@contextlib.contextmanager
def serving(folder: Path, upstream: str, engine: str = "") -> Iterator[str]:
    """
    Serve in front of an upstream; yields the address.  What it logs lies in ``folder``.

    Args:
        folder: For configuration, data and log.
        upstream: The model server's address.
        engine: The address of a search engine; by default the offline one is asked.
    """
    config = folder / "refdesk.yaml"
    chosen = _HTTP.format(url=engine) if engine else _OFFLINE
    config.write_text(_CONFIG.format(folder=folder, upstream=upstream, engine=chosen))
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
