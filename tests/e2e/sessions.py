"""
Whole sessions of real clients: what their users say, and what the search engine is asked for it.

Each client runs two sessions.  In the first its user asks, and asks again; in the second he asks
nothing.  The client does all that it does by itself: titles, tags, memories, suggestions.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import answers
from peers import Engine, Tap, Upstream
from served import serving

QUESTION: Final = "When was Python 3.14 released?"
ASKS: Final = (QUESTION, "are you sure?")
ASKS_NOTHING: Final = ("Hello!", "Thank you very much!")
_BIN: Final = tuple(
    str(Path(__file__).parent / folder / "node_modules" / ".bin") for folder in ("unlocked", "")
)
_UV: Final = Path(__file__).parents[2] / ".tools" / "bin" / "uv"
_ABOUT_UV: Final = ("UV_", "SSL_CERT")
"""Variables that say where and how packages are found."""
_ANSWER: Final = "It came out on 7 October 2025 [1]."


@dataclass(frozen=True, kw_only=True, slots=True)
class Seat:
    """Where one session runs."""

    url: str
    """The gateway's address."""
    folder: Path

    def run(self, *command: str | Path, said: str = "", **environment: str) -> str:
        """Run a command of the client's, with what is said on its input; return what it printed."""
        path = ":".join((*_BIN, os.environ["PATH"]))
        quiet = {"HOME": str(self.folder), "PATH": path, "NO_COLOR": "1", **environment}
        ended = subprocess.run(
            [str(part) for part in command],
            cwd=self.folder, env=quiet, input=said, capture_output=True, text=True, timeout=300,
            check=False,
        )  # fmt: skip
        if ended.returncode:
            raise SystemExit(f"{command[0]} failed:\n{ended.stdout}\n{ended.stderr}")
        return ended.stdout

    def uv(self, *command: str, said: str = "", **environment: str) -> str:
        """Run a Python client, which is installed where it is not yet."""
        settings = {
            "UV_CACHE_DIR": str(Path.home() / ".cache" / "uv"),
            **{name: each for name, each in os.environ.items() if name.startswith(_ABOUT_UV)},
        }
        return self.run(
            *(_UV, *command), said=said, **settings,
            OPENAI_BASE_URL=f"{self.url}/v1", OPENAI_API_KEY="e2e-key",
            ANTHROPIC_BASE_URL=self.url, ANTHROPIC_API_KEY="e2e-key", **environment,
        )  # fmt: skip

    def python(self, script: str, *packages: str) -> str:
        """Run a script with these packages."""
        self.write("session.py", script)
        beside = [option for package in packages for option in ("--with", package)]
        return self.uv("run", "--no-project", "--quiet", *beside, "python", "session.py")

    def write(self, path: str, content: Any) -> None:
        """Write a file of the client's configuration; anything but text as JSON."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))


Talk = Callable[[Seat, Sequence[str]], object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One session."""

    client: str
    turns: Sequence[str]
    requests: int
    """How often the client asked the model."""
    asked: Sequence[str]
    """What the engine was asked."""
    due: Sequence[str]

    @property
    def holds(self) -> bool:
        """Whether the engine was asked what the user asked, and nothing else."""
        return list(self.asked) == list(self.due) and self.requests >= len(self.turns)


def sessions(clients: Mapping[str, Talk]) -> Iterator[Row]:
    """Run both sessions of every client."""
    for client, talk in clients.items():
        for turns, due in ((ASKS, [QUESTION, QUESTION]), (ASKS_NOTHING, [])):
            yield _session(client, talk, turns, due)


def _session(client: str, talk: Talk, turns: Sequence[str], due: Sequence[str]) -> Row:
    with _placed() as (seat, tap, engine):
        talk(seat, turns)
        _until_quiet(tap)
        requests = sum(one.method == "POST" for one in tap.seen)
        return Row(client=client, turns=turns, requests=requests, asked=engine.asked, due=due)


@contextmanager
def _placed() -> Iterator[tuple[Seat, Tap, Engine]]:
    upstream, engine = Upstream(_script()), Engine()
    with tempfile.TemporaryDirectory(prefix="refdesk-e2e-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "gateway").mkdir()
        (folder / "work").mkdir()
        with serving(folder / "gateway", upstream.url, engine.url) as url:
            tap = Tap(url)
            yield Seat(url=tap.url, folder=folder / "work"), tap, engine
            tap.close()
    upstream.close()
    engine.close()


def _until_quiet(tap: Tap) -> None:
    """Wait until the client has asked nothing more for a second: it works on behind its answer."""
    seen = -1
    while seen != len(tap.seen):
        seen = len(tap.seen)
        time.sleep(1)


def _script() -> Callable[[str, Any], bytes]:
    numbers = iter(range(1, 10_000))

    def answer(path: str, body: Any) -> bytes:
        number, stream = next(numbers), bool(body.get("stream"))
        if path.endswith("/chat/completions"):
            return answers.chat(_ANSWER, number=number, stream=stream)
        if path.endswith("/responses"):
            streamed = answers.response(answers.said(_ANSWER, number=number), number=number)
            return streamed if stream else answers.last_of(streamed)
        return answers.message(_block(body, number), number=number, stream=stream)

    return answer


def _block(body: Any, number: int) -> dict[str, Any]:
    """What the model says on the Messages wire: Claude Code's own search tool is called once."""
    can_search = any(tool.get("name") == "WebSearch" for tool in body.get("tools") or [])
    words = [message for message in body["messages"] if message["role"] == "user"]
    newest = json.dumps(words[-1]["content"])
    if can_search and (QUESTION in newest or ASKS[1] in newest) and "tool_result" not in newest:
        search = {"query": QUESTION}
        return {"type": "tool_use", "id": f"toolu_{number}", "name": "WebSearch", "input": search}
    return {"type": "text", "text": _ANSWER}
