"""
Claude Code (print mode) searches through the gateway.

Its conversation declares an ordinary client tool, ``WebSearch``; when the model calls it, Claude
Code sends a second request of its own with the hosted tool, and turns the blocks of the answer into
one ``tool_result`` for the first conversation.
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

NAME: Final = "Claude Code"
_SENTENCE: Final = "Perform a web search for the query"
_PROMPT: Final = "When was Python 3.14 released? Search the web."
_FOUND: Final = "https://docs.python.org/3/whatsnew/3.14.html"
_QUIET: Final = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
    "ENABLE_TOOL_SEARCH": "false",
    "IS_SANDBOX": "1",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Run:
    """What one run showed."""

    events: Sequence[Mapping[str, Any]]
    tapped: Sequence[Exchange]
    asked: Sequence[Exchange]

    @property
    def tool_result(self) -> str:
        """The ``tool_result`` of the search, as the upstream got it with the next request."""
        for exchange in reversed(self.asked):
            # Claude Code writes messages of the role system behind the user's.
            newest = [each for each in exchange.json["messages"] if each["role"] == "user"][-1]
            content = newest["content"]
            for block in content if isinstance(content, list) else []:
                if block["type"] == "tool_result":
                    return str(block["content"])
        return ""

    @property
    def shown(self) -> Mapping[str, Any]:
        """What the client's own interface is told of the search."""
        found = [each["tool_use_result"] for each in self.events if "tool_use_result" in each]
        return found[0] if found and isinstance(found[0], dict) else {}

    @property
    def searches(self) -> list[Mapping[str, Any]]:
        """The searches that the client counts: its "Did N searches"."""
        return [each for each in self.shown.get("results", []) if isinstance(each, dict)]

    @property
    def urls(self) -> list[str]:
        """The links that the client shows."""
        return [link["url"] for each in self.searches for link in each["content"]]

    @property
    def inner(self) -> list[tuple[Exchange, Exchange]]:
        """The search requests, as the client sent them and as they reached the upstream."""
        pairs = zip([one for one in self.tapped if one.method == "POST"], self.asked, strict=True)
        return [pair for pair in pairs if _SENTENCE in json.dumps(pair[0].json["messages"])]

    @property
    def answer(self) -> str:
        """What the client printed at its end."""
        return str(self.events[-1].get("result")) if self.events else ""


def _script(search: Mapping[str, Any]) -> Upstream:
    numbers = iter(range(1, 1000))

    def answer(path: str, body: Any) -> bytes:
        number = next(numbers)
        conversation = json.dumps(body["messages"])
        can_call = any(tool.get("name") == "WebSearch" for tool in body.get("tools") or [])
        if can_call and '"tool_result"' not in conversation:
            call = {"type": "tool_use", "id": "toolu_1", "name": "WebSearch", "input": search}
            return answers.message(call, number=number)
        text = "That was the answer." if can_call else "It came out on 7 October 2025 [1]."
        return answers.message({"type": "text", "text": text}, number=number)

    return Upstream(answer)


def _run(client: Path, search: Mapping[str, Any]) -> _Run:
    upstream = _script(search)
    with tempfile.TemporaryDirectory(prefix="refdesk-e2e-") as name:
        folder = Path(name)
        (folder / "work").mkdir()
        with serving(folder, upstream.url) as url:
            tap = Tap(url)
            environment = {
                "PATH": os.environ["PATH"],
                "HOME": name,
                "CLAUDE_CONFIG_DIR": f"{name}/claude",
                "ANTHROPIC_BASE_URL": tap.url,
                "ANTHROPIC_API_KEY": "e2e-client-key",
                **_QUIET,
            }
            ended = subprocess.run(
                [
                    client, "-p", _PROMPT, "--model", "claude-opus-4-8", "--allowedTools",
                    "WebSearch", "--output-format", "stream-json", "--verbose",
                ],
                cwd=folder / "work", env=environment, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=120, check=False,
            )  # fmt: skip
            tap.close()
        upstream.close()
    if ended.returncode:
        raise SystemExit(f"{NAME} ended with {ended.returncode}:\n{ended.stdout}\n{ended.stderr}")
    events = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    return _Run(events=events, tapped=tap.seen, asked=upstream.seen)


def _check(promise: str, holds: bool, seen: object) -> Check:
    return Check(client=NAME, promise=promise, holds=holds, seen=str(seen)[:90])


def run(client: Path) -> list[Check]:
    """Run all of it; ``client`` is the command."""
    plain = _run(client, {"query": "Python 3.14 release date"})
    narrow = _run(
        client, {"query": "Python 3.14 release date", "allowed_domains": ["docs.python.org"]}
    )
    nothing = _run(client, {"query": "zzqxv wqpft jjkkq"})
    return [*_plain(plain), *_narrow(narrow), *_nothing(nothing)]


def _plain(run: _Run) -> list[Check]:
    main = [one for one in run.tapped if one.method == "POST" and _SENTENCE not in str(one.body)]
    ((sent, received),) = run.inner
    return [
        _check("the conversation itself is left alone", all(one.search == "none" for one in main),
               [one.search for one in main]),
        _check("the search request is searched", sent.search.startswith("gateway; engine=pages;"),
               sent.search),
        _check("the upstream gets material, and neither tool nor choice",
               _FOUND in str(received.body) and not {"tools", "tool_choice"} & received.json.keys(),
               sorted(received.json)),
        _check("the client did 1 search", len(run.searches) == 1,
               f"Did {len(run.searches)} search"),
        _check("it shows the links", _FOUND in run.urls, f"{len(run.urls)} links"),
        _check("the model's next request carries the links",
               "Links: [{" in run.tool_result and _FOUND in run.tool_result,
               run.tool_result.partition("Links: ")[2]),
        _check("it carries the answer of the search", "7 October 2025 [1]" in run.tool_result,
               run.tool_result.partition("]\n\n")[2].partition("\n")[0]),
        _check("the turn ends with the model's answer", run.answer == "That was the answer.",
               run.answer),
    ]  # fmt: skip


def _narrow(run: _Run) -> list[Check]:
    ((sent, received),) = run.inner
    asked = sent.json["tools"][0].get("allowed_domains")
    return [
        _check("allowed_domains: asked for by the client", asked == ["docs.python.org"], asked),
        _check("allowed_domains: only such links",
               {url.split("/")[2] for url in run.urls} == {"docs.python.org"},
               f"{len(run.urls)} links, {run.urls[:1]}"),
        _check("allowed_domains: only such material",
               "en.wikipedia.org" not in str(received.body) and _FOUND in str(received.body),
               sent.search),
    ]  # fmt: skip


def _nothing(run: _Run) -> list[Check]:
    ((sent, _),) = run.inner
    return [
        _check("nothing found: one search without links",
               len(run.searches) == 1 and run.urls == [], f"{sent.search}; {run.searches}"),
        _check("nothing found: the turn goes on", run.answer == "That was the answer.", run.answer),
    ]  # fmt: skip
