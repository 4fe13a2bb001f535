"""
Every block of the README and of the documentation holds.

YAML is a configuration that loads, TOML parses, Python runs against a real gateway (or compiles,
where what it imports is not installed), and our own commands in shell blocks exist, with their
options.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import importlib.util
import io
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from desk import answers as answers_on
from desk import open_desk, sse, stream, whole
from documented import PAGES, Block, blocks, check_command
from recorded import ROOT
from refdesk.cli import app
from refdesk.config import load
from refdesk.testing.fakes import FakeEngine, item
from refdesk.types import WebPage

_ENV = re.compile(r"\$\{env:(\w+)\}")
_TARGET = re.compile(r"^([a-z-]+):", re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
SECRET = "0123456789abcdef"


BLOCKS = [block for page in PAGES for block in blocks(page)]


def of(*languages: str) -> Any:
    # A block with a title is a file of an example, which is tested as a whole.
    found = [block for block in BLOCKS if block.language in languages and not block.title]
    return pytest.mark.parametrize("block", found, ids=str)


def test_the_readme_has_its_blocks() -> None:
    """The README shows a configuration, a Codex file, SDKs and commands: all found here."""
    kinds = {block.language for block in BLOCKS if block.page == "README.md"}
    assert {"sh", "yaml", "toml", "python"} <= kinds


@of("yaml", "yml")
def test_yaml(block: Block, tmp_path: Path) -> None:
    """A configuration that is shown loads, also where it shows only a part."""
    path = tmp_path / "refdesk.yaml"
    path.write_text(block.text)
    env = dict.fromkeys(_ENV.findall(block.text), SECRET)
    assert load(path, env=env).path == path


@of("yaml", "yml")
def test_check_agrees(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`refdesk check` finds nothing wrong with it: plugins take their options."""
    path = tmp_path / "refdesk.yaml"
    path.write_text(block.text)
    for name in _ENV.findall(block.text):
        monkeypatch.setenv(name, SECRET)
    result = CliRunner().invoke(app, ["check", "--config", str(path)])
    assert result.exit_code == 0, result.output


@of("toml")
def test_toml(block: Block) -> None:
    """What is shown of Codex's file parses, and its provider is one that it defines."""
    tree = tomllib.loads(block.text)
    if provider := tree.get("model_provider"):
        assert tree["model_providers"][provider]["wire_api"] == "responses"
        assert tree["web_search"] == "live"


def commands(text: str) -> Iterator[list[str]]:
    for line in re.sub(r"\\\n", " ", text).splitlines():
        words = shlex.split(line, comments=True)
        while words and ("=" in words[0] or words[0] == "$"):
            del words[0]
        if words:
            yield words


@of("sh", "bash", "shell")
def test_shell(block: Block) -> None:
    """Shell blocks parse; our commands, their options and the Makefile's targets exist."""
    subprocess.run(["bash", "-n"], input=block.text, text=True, check=True)
    targets = set(_TARGET.findall((ROOT / "Makefile").read_text()))
    for words in commands(block.text):
        if words[0] == "make":
            assert words[1] in targets, words
            given = "".join(word.removeprefix("DEMO_ARGS=") for word in words[2:])
            check_command(["demo", *shlex.split(given)]) if words[1] == "demo" else None
        elif words[0] == "refdesk":
            check_command(words[1:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page: Path) -> None:
    """Links and pictures within the repository lead somewhere."""
    for target in _LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@of("python")
async def test_python(block: Block, tmp_path: Path) -> None:
    """Python compiles; where it speaks to the gateway, it runs against one, and prints."""
    code = compile(block.text, str(block), "exec")
    if "127.0.0.1:8484" not in block.text:
        return
    for name in re.findall(r"^(?:from|import) (\w+)", block.text, re.MULTILINE):
        if importlib.util.find_spec(name) is None:
            return  # not one of ours to install; it compiles
    page = WebPage(items=(item(url="https://a.example/", title="A", content="It came out."),))
    async with open_desk(tmp_path, FakeEngine("fake", page)) as desk:
        desk.upstream.will(*_answers(block.text))
        here = f"http://{desk.host}:{desk.port}"
        code = compile(block.text.replace("http://127.0.0.1:8484", here), str(block), "exec")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            await asyncio.to_thread(exec, code, {"__builtins__": builtins})
        assert "On 7 October 2025 [1]." in printed.getvalue()
        await desk.idle()
        desk.application.log.drain()
        assert {entry.outcome.header() for entry in desk.entries} == {
            "gateway; engine=fake; results=1"
        }


def _answers(text: str) -> Iterator[Any]:
    """What the model answers, in the order in which the block asks."""
    calls = {
        "responses.create": "responses",
        "completions.create": "chat",
        ".messages.": "messages",
    }
    found = sorted((text.index(call), wire) for call, wire in calls.items() if call in text)
    for _, wire in found:
        streamed = "stream=True" in text or "messages.stream" in text
        yield sse(b"".join(stream(wire))) if streamed else whole(answers_on(wire))
