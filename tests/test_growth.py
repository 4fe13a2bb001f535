"""
Nothing that meets foreign text works longer than in proportion to it.

Patterns and readers are found by walking the package (`foreign`); what is tried on a pattern is
made from its own structure (`ambiguity`), and on a reader from the patterns of its module.
"""

from __future__ import annotations

import collections
import contextlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import hostile_texts as texts
import refdesk
from ambiguity import Attack, attacks
from foreign import Pattern, Reader, patterns, readers
from growing import growth
from refdesk.providers import PROVIDERS
from refdesk.wires.base import Kept

AREAS = sorted(each.name for each in pkgutil.iter_modules(refdesk.__path__))
UNITS = [
    *("a", "a ", "1", " ", "\n", "\\", '"', "- ", "| ", "# ", "<", "<a ", "</", "<!--", "&"),
    *("[", "[[", "[1](", "[a](https://a.b/", "((", "{", '{"a":', "sk-", "eyJ", "a@", "a:", "://"),
    *("http://(", "www.", "``a`", "`", "请你能不能", "三", "。", "【1", "《", "\u0301", "\u202e"),
    *("👨\u200d", "🇩🇪", "data: {}\n\n", ": a\n", "password: ", "-----BEGIN PRIVATE KEY", "<think>"),
]
"""What is tried everywhere, beside what a pattern's structure gives."""
MOST_ATTACKS = 60
"""Texts that are tried on one reader, beside these."""

MADE_WHEN_RUN: dict[tuple[str, str], str] = {
    ("refdesk.cli._record", "translate(alias)"): "a glob of the operator's, in a command",
    ("refdesk.db.generate.quantities", "pattern"): "a part of _QUANTITY, on what that matched",
    ("refdesk.db.generate.time_words", "pattern"): "found as _COMPILED",
    ("refdesk.gateway.endpoints", "pattern"): "found as ENDPOINTS",
    (
        "refdesk.gateway.refusals",
        "b'(?<![\\\\w.-])' + name + b'(?![\\\\w.-])'",
    ): "an escaped name between two characters",
    ("refdesk.gateway.targets", "translate(alias)"): "a glob of the operator's, on a bounded name",
    ("refdesk.providers._base", "rule.models"): "tried in test_patterns_of_providers",
    ("refdesk.providers._base", "self.tools"): "tried in test_patterns_of_providers",
    ("refdesk.providers._base", "self.domains"): "tried in test_patterns_of_providers",
    ("refdesk.wires.base", "self.ids"): "tried in test_patterns_of_providers",
    ("refdesk.wires.base", "self.payloads"): "tried in test_patterns_of_providers",
    (
        "refdesk.search._intent_rules",
        "f'\\\\A(?:{joined})\\\\Z' if whole else joined",
    ): "found in RULES",
    ("refdesk.search._marks", "f'[<\\\\[【#`~{first}]'"): "a class of single characters",
    ("refdesk.search.followup", "f'(?<=\\\\b{prep}\\\\s){_PLACE.pattern}'"): "found as _PLACE",
    ("refdesk.web.wording", "'|'.join(phrases)"): "found as _RATE and its likes",
}
"""Patterns that do not stand in the text of the package, and why that is well."""

ELSEWHERE: dict[str, str] = {
    "refdesk.cli.": "run by the operator, in a process of its own",
    "refdesk.demo.": "likewise",
    "refdesk.testing.": "run by tests",
    "refdesk.server.listen": "opens a socket",
    "refdesk.db.connect.connector": "opens a database",
    "refdesk.db.dsl.dates.extract": "its first argument is a word of the grammar",
    "refdesk.db.model_files.": "reads the operator's files",
    "refdesk.db.reading.lint_for": "is lint, with a scope",
    "refdesk.gateway.targets.explain": "reads the configuration, for a command",
    "refdesk.kb.embedders._base.check_same": "compares two names",
    "refdesk.kb.graph.chunk_facts": "its text is an id",
    "refdesk.kb.ingest.chunk.parted": "gives its splitter slabs of bounded length",
    "refdesk.kb.ingest.parse.parsed": "starts a child with limits",
    "refdesk.kb.ingest.parse_child.": "runs in a child with limits",
    "refdesk.kb.ingest.reading.": "runs in a child with limits",
    "refdesk.kb.ingest.pipeline.": "takes a finished document",
    "refdesk.kb.ingest.ray_": "runs on another machine",
    "refdesk.kb.showing.": "takes a finished document",
    "refdesk.kb.vectors._base.check_fit": "its text is a name",
    "refdesk.mcp_client.stderr.": "writes to the log",
    "refdesk.store.database.Store.open": "opens a database",
    "refdesk.store.knowledge.metadata_of": "takes a finished document",
    "refdesk.telemetry.": "sets up logs and spans",
    "refdesk.web.engines._base.BaseEngine.configure": "reads the configuration",
}
"""Readers that are not tried, by the beginning of their names, and why."""


def area_of(name: str) -> str:
    return re.split("[.:]", name.removeprefix("refdesk.").removeprefix("refdesk"))[0]


def of_area(area: str, found: tuple[Any, ...]) -> list[Any]:
    return [each for each in found if area_of(each.module) == area]


def everywhere(tail: str = "") -> Iterator[Attack]:
    return (Attack("", unit, tail) for unit in UNITS)


@pytest.mark.parametrize("area", AREAS)
def test_patterns(area: str) -> None:
    """No regular expression of the package takes more than linear time, however it is used."""
    steep = {}
    for pattern in of_area(area, patterns()[0]):
        for method in pattern.uses:
            if found := pattern_growth(pattern, method):
                steep[f"{pattern.name} ({method}) /{pattern.pattern.pattern}/"] = found

    assert not steep


def pattern_growth(pattern: Pattern, method: str) -> str | None:
    binary = isinstance(pattern.pattern.pattern, bytes)
    anywhere = method in ("search", "finditer")

    def run(text: Any) -> object:
        found = getattr(pattern.pattern, method)(text)
        return collections.deque(found, 0) if method == "finditer" else found

    for attack in (*attacks(pattern.pattern, search=anywhere), *everywhere("\x00")):
        if found := growth(run, attack, str.encode if binary else str):
            return f"{found}, on {attack}"
    return None


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"\b(?:sk|pk)[-_](?=[\w.-]*\d)[A-Za-z0-9_.-]{14,}", "finditer"),
        (r"(?:请你?|麻烦你?|你?能不能|能否)*写", "match"),
        (r"\[[^\]]*\]\(", "finditer"),
        (r"(?:<!--.*?-->\s*)*<html", "match"),
        (r"<think>.*?</think>", "finditer"),
        (r"[ \t]*[,;]", "finditer"),
        (r"(a*)*b", "match"),
        (r"(?=.*\d)a", "finditer"),
        (r"\d{4301}", "search"),
        (r"(\w+\s?)*$", "fullmatch"),
    ],
)
def test_steep_patterns_are_found(pattern: str, method: str) -> None:
    """What takes quadratic or exponential time is told from what does not."""
    steep = Pattern("steep", "here", re.compile(pattern, re.DOTALL), {method})

    assert pattern_growth(steep, method)


def test_patterns_of_providers() -> None:
    """No pattern of a provider's models, tools and marks takes more than linear time."""
    steep = {}
    for name in PROVIDERS.names():
        provider = PROVIDERS.get(name)
        texts = [Kept().ids]
        for rule in (*provider.hosted, *provider.families):
            texts += [rule.models, rule.tools, rule.domains]
        for kept in provider.kept.values():
            texts += [kept.ids, kept.payloads]
        for text in dict.fromkeys(texts):
            pattern = Pattern(name, "refdesk.providers", re.compile(text), {"fullmatch"})
            if found := pattern_growth(pattern, "fullmatch"):
                steep[text] = found

    assert not steep


def test_patterns_made_when_run_are_known() -> None:
    """A pattern that is put together when the program runs is named here, with a reason."""
    _, made = patterns()

    assert {(each.module, each.source) for each in made} == MADE_WHEN_RUN.keys()


@pytest.mark.parametrize("area", AREAS)
def test_readers(area: str) -> None:
    """No function of text, and no class that is fed, takes more than linear time."""
    steep = {}
    for reader in of_area(area, readers()):
        if reader.name.startswith(tuple(ELSEWHERE)):
            continue
        for run, given in runs_of(reader):
            for attack in attacks_on(reader):
                if found := growth(run, attack, given, longest=4096, coarse=True):
                    steep[reader.name] = f"{found}, on {attack}"
                    break

    assert not steep


def test_readers_that_are_not_tried_exist() -> None:
    """What is passed over is there: the list has no stale entry."""
    names = [each.name for each in readers()]

    assert [start for start in ELSEWHERE if not any(n.startswith(start) for n in names)] == []


def attacks_on(reader: Reader) -> list[Attack]:
    """Return what is tried on a reader: what its module's patterns are attacked with, among it."""
    own = [each for each in patterns()[0] if each.module == reader.module]
    made = {
        (attack.lead, attack.pump): attack
        for pattern in own
        for attack in attacks(pattern.pattern, search=True)
    }
    step = len(made) // MOST_ATTACKS + 1
    return [*everywhere(), *([] if reader.fed else list(made.values())[::step])]


Run = tuple[Callable[[Any], object], Callable[[str], Any]]


def runs_of(reader: Reader) -> Iterator[Run]:
    """Yield how a reader is called, and what its argument is made of a text by."""
    if reader.fed:
        yield from _fed(reader)
        return
    (first, *_), others = _arguments(reader)
    for shape in texts.shapes(str(first.annotation)):

        def run(given: tuple[str, Any]) -> None:
            text, value = given
            # What is refused was read as well.
            with contextlib.suppress(Exception):
                found = reader.call(value, **others(text))
                if inspect.isgenerator(found):
                    texts.carried(found) if "exchange" in reader.name else collections.deque(
                        found, 0
                    )

        yield run, lambda text, shape=shape: (text, shape(text))


def _fed(reader: Reader) -> Iterator[Run]:
    _, others = _arguments(reader)
    feed = list(inspect.signature(reader.call.feed).parameters.values())[1]  # type: ignore[attr-defined]
    shapes = [str] if feed.annotation == "str" else [str.encode, texts.stream]
    for shape in shapes:
        for size in (16, 1 << 20):

            def run(data: Any, size: int = size) -> None:
                with contextlib.suppress(Exception):
                    fed = reader.call(**others("chat"))
                    for at in range(0, len(data), size):
                        collections.deque(fed.feed(data[at : at + size]) or (), 0)
                    fed.finish()

            yield run, shape


def _arguments(
    reader: Reader,
) -> tuple[list[inspect.Parameter], Callable[[str], dict[str, Any]]]:
    """Return the parameters, and what makes the arguments for all but a function's first."""
    found = list(inspect.signature(reader.call).parameters.values())
    wanted = [
        each
        for each in (found if reader.fed else found[1:])
        if each.default is each.empty and each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
    ]

    def others(text: str) -> dict[str, Any]:
        given: dict[str, Any] = {}
        for each in wanted:
            annotation = str(each.annotation)
            if annotation in ("str", "bytes"):
                given[each.name] = text if annotation == "str" else text.encode()
            elif annotation.endswith("| None"):
                given[each.name] = None
            else:
                assert annotation in texts.GIVEN, f"give {reader.name} its {each} in hostile_texts"
                given[each.name] = texts.GIVEN[annotation]
        return given

    return found, others
