"""``refdesk doctor``: what `check` looks at, and all that the configuration names, for real."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Annotated

import typer

from refdesk.cli.options import ConfigOption, JsonOption, config_path
from refdesk.cli.output import PROBLEMS, print_json, say

if TYPE_CHECKING:
    from refdesk.cli._finding import Finding
    from refdesk.config import Config

app = typer.Typer(add_completion=False)


@app.command()
def doctor(
    verify: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Ask this model also to search by itself; one real call, which may cost.",
            show_default=False,
        ),
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """
    Reach engines, upstreams, store and collections, and tell what ails, each with the remedy.

    Each engine is asked a real question.  Exit status 0, or 3 with problems.
    """
    from refdesk.cli._finding import Finding, print_findings
    from refdesk.cli._plugins import look_at_plugins
    from refdesk.cli.check import examine_all, unmade_collections

    draft, faults = examine_all(config_path(config), env=os.environ)
    if draft.config is not None:
        faults += [draft.fault(*found) for found in unmade_collections(draft.config)]
    findings = [Finding(area="config", level="problem", text=str(fault)) for fault in faults]
    if not faults:
        where = str(draft.path) if draft.path else "no file is read, the defaults hold"
        findings.append(Finding(area="config", level="ok", text=where))
    findings += look_at_plugins()
    if draft.config is not None:
        if draft.config.engines is None:
            say("note: no engines are configured: the keyless ddgs engine is used")
        findings += _examine(draft.config, verify)
    problems = sum(finding.level == "problem" for finding in findings)
    if json:
        print_json({"ok": not problems, "findings": findings})
    else:
        print_findings(findings)
    if problems:
        say(f"{problems} problem{'' if problems == 1 else 's'}")
        raise typer.Exit(PROBLEMS)


def _examine(config: Config, model: str | None) -> list[Finding]:
    from refdesk.cli import _checkup, _knowledge, _reach, _running
    from refdesk.cli._web import well_engines

    store, findings = _checkup.look_at_store(config)
    found = [findings, *_checkup.look_at_folder(config), *_checkup.look_at_keys(config, store)]
    engines, _ = well_engines(config)  # what is wrong with the others, the check has told

    async def reach() -> list[Finding]:
        async def verified() -> list[Finding]:
            if model is None:
                return []
            from refdesk.cli._verify import verify

            return [await verify(config, model)]

        async def looked_up() -> list[Finding]:
            return [] if store is None else await _knowledge.try_collections(config, store)

        port, loop, by_engine, (by_upstream, times), by_model, by_collection = await asyncio.gather(
            _reach.try_port(config),
            _running.look_at_loop(config),
            _reach.try_engines(config, engines, store),
            _reach.try_upstreams(config),
            verified(),
            looked_up(),
        )
        findings = [_checkup.look_at_clock(times), port, *loop, *by_engine, *by_upstream]
        return findings + by_model + by_collection

    try:
        found += asyncio.run(reach())
        if store is not None:
            found += _checkup.look_at_log(store)
    finally:
        if store is not None:
            store.close()
    return found
