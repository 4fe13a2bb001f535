"""Who does a step of a search: Refdesk itself, nobody, an assistant, or a tool of an MCP server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, Literal

from refdesk.errors import ConfigError

_MCP: Final = "mcp:"
_ASSISTANT: Final = re.compile(r"[^\s:]+")
_SERVER: Final = re.compile(r"[^\s.]+")
_TOOL: Final = re.compile(r"\S+")
_SHOWN_CHARS: Final = 80

UsesKind = Literal["builtin", "disabled", "assistant", "mcp"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Uses:
    """Who does a step.  ``str()`` gives it back as the configuration writes it."""

    kind: UsesKind = "builtin"
    assistant: str = ""
    """The assistant's id, where it is one."""
    server: str = ""
    """The MCP server's name in the configuration."""
    tool: str = ""
    """The tool's name as the server says it; it may hold dots."""

    @classmethod
    def parse(cls, text: str) -> Uses:
        """
        Read ``builtin``, ``disabled``, an assistant's id, or ``mcp:<server>.<tool>``.

        The server's name ends at the first dot.  Empty text is ``builtin``.

        Raises:
            ConfigError: It is none of them.
        """
        value = text.strip()
        if value in ("", "builtin"):
            return cls()
        if value == "disabled":
            return cls(kind="disabled")
        if value.startswith(_MCP):
            server, dot, tool = value.removeprefix(_MCP).partition(".")
            if not dot or not _SERVER.fullmatch(server) or not _TOOL.fullmatch(tool):
                raise ConfigError(
                    f"{_shown(value)} names no MCP tool; write mcp:<server>.<tool>, "
                    "such as mcp:notes.search"
                )
            return cls(kind="mcp", server=server, tool=tool)
        if not _ASSISTANT.fullmatch(value):
            raise ConfigError(
                f"{_shown(value)} is not a valid step; use builtin, an assistant's id, "
                "or mcp:<server>.<tool>"
            )
        return cls(kind="assistant", assistant=value)

    @property
    def delegated(self) -> bool:
        """Whether an assistant or a tool does it."""
        return self.kind in ("assistant", "mcp")

    def __str__(self) -> str:
        if self.kind == "assistant":
            return self.assistant
        if self.kind == "mcp":
            return f"{_MCP}{self.server}.{self.tool}"
        return self.kind


BUILTIN: Final = Uses()


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchUses:
    """Who does each step of a search."""

    search: Uses = BUILTIN
    web: Uses = BUILTIN
    keyword: Uses = BUILTIN
    querydsl: Uses = BUILTIN
    rerank: Uses = BUILTIN

    @classmethod
    def read(cls, section: Mapping[str, str | None]) -> SearchUses:
        """
        Read the section ``uses``; absent and empty steps are builtin.

        Raises:
            ConfigError: A step has a value it cannot have, or is no step.
        """
        steps: dict[str, Uses] = {}
        known = [each.name for each in fields(cls)]
        for name, text in section.items():
            if name not in known:
                raise ConfigError(f"uses.{name} is no step; the steps are {', '.join(known)}")
            try:
                steps[name] = Uses.parse(text or "")
            except ConfigError as error:
                raise ConfigError(f"uses.{name}: {error}") from None
            if steps[name].kind == "disabled" and name != "search":
                raise ConfigError(
                    f"uses.{name} is 'disabled', which only uses.search can be; write builtin"
                )
        return cls(**steps)


def _shown(value: str) -> str:
    return repr(value if len(value) <= _SHOWN_CHARS else value[: _SHOWN_CHARS - 1] + "…")
