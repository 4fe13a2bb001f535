"""A group whose commands are imported when they are run, and whose help needs none of them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperGroup


@dataclass(frozen=True, slots=True)
class Lazy:
    """A command: the module that holds it as ``app``, and what it does in a line."""

    module: str
    help: str


def lazy_group(commands: Mapping[str, Lazy]) -> type[TyperGroup]:
    """Return a class of group that has these commands."""

    class LazyGroup(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:
            return list(commands)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            if cmd_name not in commands:
                return None
            if cmd_name not in self.commands:
                module = importlib.import_module(commands[cmd_name].module)
                command = typer.main.get_command(module.app)
                command.name = cmd_name
                self.commands[cmd_name] = command
            return self.commands[cmd_name]

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            if args and args[0] not in commands:
                for name in commands:  # the nearest name is looked for among those imported
                    self.get_command(ctx, name)
            return super().resolve_command(ctx, args)

        def format_help(self, ctx: Any, formatter: Any) -> None:
            _draw_help(ctx, self, commands)

    return LazyGroup


def _draw_help(ctx: Any, group: TyperGroup, commands: Mapping[str, Lazy]) -> None:
    # Typer's own help imports every command and, with it, a Markdown renderer.
    from rich import box
    from rich.console import Console
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    def table(rows: list[tuple[str, str]], title: str) -> Panel:
        grid = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        grid.add_column(style="bold cyan", no_wrap=True)
        grid.add_column(ratio=1)
        for name, text in rows:
            grid.add_row(Text(name), Text(text))
        return Panel(grid, title=title, title_align="left", border_style="dim", box=box.ROUNDED)

    console = Console(highlight=False)
    console.print(Text(f"\n {ctx.command_path} [OPTIONS] COMMAND [ARGS]…\n", style="bold"))
    console.print(Text(f" {group.help or ''}\n"))
    options = [record for p in group.get_params(ctx) if (record := p.get_help_record(ctx))]
    console.print(table(options, "Options"))
    console.print(table([(name, lazy.help) for name, lazy in commands.items()], "Commands"))
