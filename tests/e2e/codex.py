"""
Codex (``codex exec``) searches through the gateway, over several turns of one thread.

Codex declares the hosted tool on every request, re-sends the whole history, and never looks at a
search by itself: a user turn is searched once, the steps after a tool's output are not.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import answers
from checks import Check
from peers import Exchange, Tap, Upstream
from served import serving

NAME: Final = "Codex"
_FOUND: Final = "https://docs.python.org/3/whatsnew/3.14.html"
_TURNS: Final = (
    "When was Python 3.14 released? Search the web.",
    "And when was Python 3.13 released?",
    "Thank you. When was the moon landing?",
)
_CONFIG: Final = """\
model = "local"
model_provider = "refdesk"
web_search = "{mode}"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.refdesk]
name = "Refdesk"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "REFDESK_KEY"
request_max_retries = 0
stream_max_retries = 0
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Turn:
    """What one user turn showed."""

    events: Sequence[Mapping[str, Any]]
    tapped: Sequence[Exchange]
    asked: Sequence[Exchange]

    def items(self, kind: str) -> list[Mapping[str, Any]]:
        """The finished items of a kind that the client showed."""
        done = [each["item"] for each in self.events if each["type"] == "item.completed"]
        return [item for item in done if item["type"] == kind]

    @property
    def searched(self) -> list[str]:
        """What the gateway said of search, for each of the client's model requests."""
        return [one.search.partition(";")[0] for one in self.tapped if "/responses" in one.path]


def _upstream() -> Upstream:
    numbers = iter(range(1, 1000))

    def answer(path: str, body: Any) -> bytes:
        number = next(numbers)
        last = json.dumps(body["input"][-1])
        if _TURNS[0] in last:
            call = answers.called("exec_command", {"cmd": "echo from-the-tool"}, number=number)
            return answers.response(call, number=number)
        text = f"It came out on 7 October, see {_FOUND} [1]."
        return answers.response(answers.said(text, number=number), number=number)

    return Upstream(answer)


def _turns(client: Path, mode: str, questions: Sequence[str]) -> list[_Turn]:
    upstream = _upstream()
    turns: list[_Turn] = []
    with tempfile.TemporaryDirectory(prefix="refdesk-e2e-") as name:
        folder = Path(name)
        (folder / "codex").mkdir()
        (folder / "work").mkdir()
        with serving(folder, upstream.url) as url:
            tap = Tap(url)
            (folder / "codex/config.toml").write_text(_CONFIG.format(mode=mode, url=tap.url))
            environment = {
                "PATH": os.environ["PATH"],
                "HOME": name,
                "CODEX_HOME": f"{name}/codex",
                "REFDESK_KEY": "e2e-client-key",
            }
            for question in questions:
                before = len(tap.seen), len(upstream.seen)
                resumed = ["resume", "--last"] if turns else []
                ended = subprocess.run(
                    [client, "exec", *resumed, "--skip-git-repo-check", "--json", question],
                    cwd=folder / "work", env=environment, stdin=subprocess.DEVNULL,
                    capture_output=True, text=True, timeout=120, check=False,
                )  # fmt: skip
                if ended.returncode:
                    raise SystemExit(
                        f"{NAME} ended with {ended.returncode}:\n{ended.stdout}\n{ended.stderr}"
                    )
                lines = [line for line in ended.stdout.splitlines() if line.startswith("{")]
                turns.append(
                    _Turn(
                        events=[json.loads(line) for line in lines],
                        tapped=tap.seen[before[0] :],
                        asked=upstream.seen[before[1] :],
                    )
                )
            tap.close()
        upstream.close()
    return turns


def _check(promise: str, holds: bool, seen: object) -> Check:
    return Check(client=NAME, promise=promise, holds=holds, seen=str(seen)[:90])


def run(client: Path) -> list[Check]:
    """Run all of it; ``client`` is the command."""
    return [*_live(_turns(client, "live", _TURNS)), *_cached(_turns(client, "cached", _TURNS[:1]))]


def _live(turns: Sequence[_Turn]) -> list[Check]:
    first, second, third = turns
    shown = first.items("web_search")
    asked = [one for turn in turns for one in turn.asked]
    replayed = json.dumps(third.tapped[0].json["input"])
    history = json.dumps(second.asked[0].json["input"][:-1])
    return [
        _check("live: a user turn is searched once, its tool step is not",
               first.searched == ["gateway", "pass"], first.searched),
        _check("live: the client shows the search, its query and no other",
               [each["query"] for each in shown] == [_TURNS[0]],
               [each["query"] for each in shown]),
        _check("live: the tool ran and its output arrived",
               "from-the-tool" in str(first.asked[1].body), first.items("command_execution")[:1]),
        _check("live: the upstream got the material, without the hosted tool",
               _FOUND in str(first.asked[0].body)
               and not any(tool["type"] == "web_search" for tool in first.asked[0].json["tools"]),
               f"{len(first.asked[0].json['tools'])} tools left"),
        _check("live: the tool step finds the material again", _FOUND in str(first.asked[1].body),
               [item["type"] for item in first.asked[1].json["input"]][-3:]),
        _check("resume: the next question is searched once", second.searched == ["gateway"],
               second.searched),
        _check("resume: the earlier results are restored as text",
               "Web search for" in history and _FOUND in history, "in the history"),
        _check("resume: the client replays our call and annotations",
               "ws_rd" in replayed and '"url_citation"' in replayed,
               f"{replayed.count('ws_rd')} calls, {replayed.count('url_citation')} annotations"),
        _check("no upstream request holds an id of ours",
               not any(b"ws_rd" in one.body or b"web_search_call" in one.body for one in asked),
               f"{len(asked)} requests"),
        _check("every turn ends with the model's answer",
               all(len(turn.items("agent_message")) == 1 for turn in turns),
               [each["text"][:30] for turn in turns for each in turn.items("agent_message")]),
    ]  # fmt: skip


def _cached(turns: Sequence[_Turn]) -> list[Check]:
    (turn,) = turns
    declared = [tool for tool in turn.tapped[0].json["tools"] if tool["type"] == "web_search"]
    return [
        _check("cached: nothing is searched live",
               "gateway" not in turn.searched and not turn.items("web_search"),
               f"{turn.searched}, {declared}"),
    ]  # fmt: skip
