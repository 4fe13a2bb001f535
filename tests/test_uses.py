"""Who does a step, as the configuration writes it."""

from __future__ import annotations

import pytest

from refdesk.errors import ConfigError
from refdesk.uses import SearchUses, Uses


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("builtin", Uses()),
        ("", Uses()),
        ("disabled", Uses(kind="disabled")),
        ("workers.search.web", Uses(kind="assistant", assistant="workers.search.web")),
        ("mcp:notes.search", Uses(kind="mcp", server="notes", tool="search")),
        ("mcp:notes.v1.search", Uses(kind="mcp", server="notes", tool="v1.search")),
    ],
)
def test_parse(text: str, uses: Uses) -> None:
    """Every form is read, the server's name up to the first dot, and written back as it was."""
    assert Uses.parse(text) == uses
    assert str(uses) == (text or "builtin")


@pytest.mark.parametrize("text", ["mcp:", "mcp:notes", "mcp:.tool", "mcp:notes.", "mcp:a b.c"])
def test_malformed_tool(text: str) -> None:
    """A reference to a tool that lacks a part is an error that names it and shows the form."""
    with pytest.raises(ConfigError, match=r"mcp:<server>\.<tool>") as caught:
        Uses.parse(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["two words", "http:x"])
def test_nobody(text: str) -> None:
    """What can be no assistant's id is an error that says what can be written."""
    with pytest.raises(ConfigError, match="builtin, an assistant's id"):
        Uses.parse(text)


def test_steps() -> None:
    """The section is read step by step; what is absent or empty is builtin."""
    uses = SearchUses.read({"web": "mcp:a.b", "rerank": "", "search": "disabled"})

    assert uses == SearchUses(
        web=Uses(kind="mcp", server="a", tool="b"), search=Uses(kind="disabled")
    )


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"wep": "builtin"}, "uses.wep is no step"),
        ({"web": "disabled"}, "uses.web is 'disabled', which only uses.search can be"),
        ({"keyword": "mcp:x"}, "uses.keyword: 'mcp:x' names no MCP tool"),
    ],
)
def test_bad_steps(section: dict[str, str], words: str) -> None:
    """A wrong step says where it stands."""
    with pytest.raises(ConfigError, match=words):
        SearchUses.read(section)
