"""Commands run as a person runs them, in an empty folder, with peers on loopback."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from commands import Command, Peer, Ran
from refdesk.cli import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that commands run in, without settings from outside."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("REFDESK_")]:
        if name != "REFDESK_TEST_POSTGRES":
            monkeypatch.delenv(name)
    for name in ("FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def refdesk(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Run a command by the program's own entry, in a folder; ``yaml`` is written there first."""

    def run(*arguments: str, yaml: str | None = None) -> Ran:
        if yaml is not None:
            (folder / "refdesk.yaml").write_text(yaml)
        monkeypatch.setattr(sys, "argv", ["refdesk", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return Ran(int(ended.value.code or 0), said.out, said.err)

    return run


@pytest.fixture
def peer() -> Iterator[Peer]:
    """A server in a thread of its own, since commands have their own event loop."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            path = self.path.partition("?")[0]
            headers = {key.lower(): value for key, value in self.headers.items()}
            it.seen.append((self.command, self.path, headers, body))
            status, said = it.answers.get(path, (404, {"error": "not found"}))
            data = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response_only(status)
            if it.date:
                self.send_header("date", it.date)
            streams = data.startswith((b"data:", b"event:"))
            kind = "text/event-stream" if streams else "application/json"
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _answer  # noqa: N815 - named by the standard library

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    it = Peer(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield it
    server.shutdown()
    thread.join()
    server.server_close()
