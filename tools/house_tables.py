"""Where things are: the chain of layers from pyproject.toml, and where each name is defined."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Final

import refdesk

ROOT: Final = Path(refdesk.__file__).parent
_PROJECT: Final = Path(__file__).parent.parent / "pyproject.toml"
_WIDTH: Final = 92
_NAMED: Final = re.compile(r"{([\w.]+)}")

WHERE: Final = (
    (
        "Where is a new engine added?",
        "A module beside {engines.Engine}; [CONTRIBUTING](../../CONTRIBUTING.md) has an example.",
    ),
    (
        "A provider, an embedder, a vector store?",
        "Likewise, beside {Provider}, {embedders.Embedder}, {VectorStore}.",
    ),
    ("What must a wire do, and which are there?", "{Wire}; {gateway.WIRES}."),
    ("Who may call a route?", "{Gate} admits or refuses; each {Mount} declares its {Right}."),
    ("Who may change a collection over HTTP?", "{may_change}."),
    ("Who may read a collection?", "{may_read}."),
    ("Which rows and columns of a database may be read?", "{db.Permission}."),
    ("Where is a source's name (`kb:…`, `db:…`, an engine) resolved?", "{sources.resolve}."),
    ("Which engine is asked first?", "{select.order}."),
    ("Who searches for a model?", "{route.decide}, by {providers.capability}."),
    ("Should this step of a conversation search?", "{decide_step}."),
    ("What is asked?", "{extract_query}."),
    (
        "Where does a citation get its offsets?",
        "{CitationFinder} in answers of the gateway, {CitationParser} in the library.",
    ),
    (
        "What builds the application?",
        "{build_parts}: all that searches; {Application}: the server.",
    ),
    ("Where is a setting defined?", "A field of {config.Config} or of a section in it."),
    ("Where is a credential hidden in a message?", "{Masker}."),
    ("Where is a command added?", "{cli.COMMANDS}, and a module of its name."),
)
"""
Questions and answers.  ``{part.Name}`` stands for a definition in a file whose path has the part.
"""


def layers() -> list[list[str]]:
    """Return the names of each layer, the highest first, without the package's own name."""
    project = tomllib.loads(_PROJECT.read_text("utf-8"))
    (contract,) = [
        each for each in project["tool"]["importlinter"]["contracts"] if each["type"] == "layers"
    ]
    return [
        [name.strip().removeprefix("refdesk.") for name in layer.split("|")]
        for layer in contract["layers"]
    ]


def layers_chain() -> str:
    """Return the chain of layers, and the packages outside of it."""
    lines = [""]
    for number, names in enumerate(layers()):
        link = f"{'→ ' if number else ''}{' | '.join(names)} "
        if lines[-1] and len(lines[-1]) + len(link) > _WIDTH:
            lines.append("    ")
        lines[-1] += link
    chain = "\n".join(line.rstrip() for line in lines)
    found = {
        path.stem
        for path in ROOT.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    outside = sorted(found - {name for names in layers() for name in names} - {"__init__"})
    names = ", ".join(f"`{name}`" for name in outside)
    return f"```text\n{chain}\n```\n\nOutside of the chain: {names}.\n"


def where_table() -> str:
    """
    Return the questions of `WHERE`, each name with the file that defines it.

    Raises:
        ValueError: Nothing has a name, or several files define it.
    """
    rows = ["| question | answer |", "| --- | --- |"]
    rows += [
        f"| {question} | {_NAMED.sub(lambda match: place(match[1]), answer)} |"
        for question, answer in WHERE
    ]
    return "\n".join(rows) + "\n"


def place(named: str) -> str:
    """
    Return a definition's name and its file.

    Args:
        named: The name, or ``part.name`` for the one in a file whose path has the part.

    Raises:
        ValueError: No file defines it, or several do.
    """
    part, _, name = named.rpartition(".")
    found = [
        path for path in _definitions()[name] if not part or part in path.with_suffix("").parts
    ]
    if len(found) != 1:
        listed = ", ".join(map(str, found)) or "no file"
        raise ValueError(f"{named} is defined in {listed}; correct it in tools/house_tables.py")
    return f"`{name}` in `{found[0]}`"


@cache
def _definitions() -> dict[str, list[Path]]:
    """Return the files that define each top-level name of the package."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        for statement in ast.parse(path.read_text("utf-8")).body:
            if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                found[statement.name].append(path.relative_to(ROOT))
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                found[statement.target.id].append(path.relative_to(ROOT))
    return found
