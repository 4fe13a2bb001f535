"""What a sentence names in code marks is there: commands, targets, files, tests and routes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache

import pytest

from documented import PAGES, check_command, tool
from recorded import ROOT
from refdesk.api.routes import PREFIX, find
from refdesk.api.v1 import ROUTES

_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_FILE = re.compile(r"([\w<>/.-]+\.(?:py|sh))((?:::\w+)*)")
_ROUTE = re.compile(r"(GET|POST|DELETE) (/[^\s?]*)(?:\?\S*)?")

_HISTORY = "docs/changelog.md"
"""It names what was; all other pages name what is."""


def mentions(start: str | re.Pattern[str]) -> list[tuple[str, str]]:
    """Return page and text of each inline code that begins so, or that is wholly of a form."""

    def found() -> Iterator[tuple[str, str]]:
        for path in PAGES:
            page = str(path.relative_to(ROOT))
            for match in _CODE.finditer(_FENCED.sub("", path.read_text(encoding="utf-8"))):
                fits = (
                    match[1].startswith(start)
                    if isinstance(start, str)
                    else start.fullmatch(match[1])
                )
                if fits and page != _HISTORY:
                    yield page, match[1]

    return sorted(set(found()))


@pytest.mark.parametrize(("page", "text"), mentions("refdesk "))
def test_commands_exist(page: str, text: str) -> None:
    """A command that a sentence names exists, with its options."""
    check_command(shlex.split(text)[1:])


@pytest.mark.parametrize(("page", "text"), mentions("make "))
def test_targets_exist(page: str, text: str) -> None:
    """A target that a sentence names is one of the Makefile's."""
    assert re.search(rf"^{text.split()[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@cache
def files() -> list[str]:
    """Return the files of the project, as a page may name them."""
    return [
        str(path.relative_to(ROOT))
        for folder in ("src", "tests", "tools", "bench", "examples")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".sh") and "node_modules" not in path.parts
    ]


@pytest.mark.parametrize(("page", "text"), mentions(_FILE))
def test_files_exist(page: str, text: str) -> None:
    """A file that a sentence names exists, by its path or the end of it; so does its test."""
    match = _FILE.fullmatch(text)
    assert match
    name = re.sub(r"<\w+>", "[^/]+", re.escape(match[1]).replace(r"\<", "<").replace(r"\>", ">"))
    found = [file for file in files() if re.search(rf"(?:^|/){name}$", file)]
    assert found, f"{page}: there is no {match[1]}"
    for name in match[2].split("::")[1:]:
        defined = re.compile(rf"^ *(?:async def|def|class) {name}\b", re.MULTILINE)
        assert any(defined.search((ROOT / file).read_text(encoding="utf-8")) for file in found)


@pytest.mark.parametrize(("page", "text"), mentions(_ROUTE))
def test_routes_exist(page: str, text: str) -> None:
    """A route that a sentence names with its method is served."""
    match = _ROUTE.fullmatch(text)
    assert match
    method, path = match.groups()
    if path.startswith(PREFIX):
        find(ROUTES, method, path.removeprefix(PREFIX).strip("/").split("/"))
        return
    served = tool("api_tables").mounts()
    assert any(
        mount.method == method
        and (path == mount.path or (mount.path.endswith("/") and path.startswith(mount.path)))
        for mount in served
    ), f"{page}: {text}"
