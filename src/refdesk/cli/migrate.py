"""``refdesk migrate``: the store, brought to the schema of this version."""

from __future__ import annotations

from typing import Annotated

import typer

from refdesk.cli.options import ConfigOption, JsonOption, read_config
from refdesk.cli.output import PROBLEMS, print_json, put, say

app = typer.Typer(add_completion=False)


@app.command()
def migrate(
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit status 3 if there is work.")
    ] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Bring the store up to date, or make it; a store of a newer version is refused."""
    from refdesk.cli._store import schema_found
    from refdesk.errors import StoreError
    from refdesk.store.opening import open_store
    from refdesk.store.tables import SCHEMA

    loaded = read_config(config).config
    if check:
        found = schema_found(loaded)
        problem = None
        if found is not None:
            try:
                with open_store(loaded, upgrade=False):
                    pass
            except StoreError as exc:
                problem = str(exc)
        if json:
            print_json({"from": found, "to": SCHEMA, "changed": False, "problem": problem})
        elif problem is None:
            put(f"{found}: up to date" if found else f"none yet: {SCHEMA} is made on first start")
        else:
            put(f"from {found} to {SCHEMA}")
        if problem is not None:
            say(problem)
            raise typer.Exit(PROBLEMS)
        return
    with open_store(loaded) as store:
        found, name = store.upgraded_from, store.name
    changed = found != SCHEMA
    if json:
        print_json({"store": name, "from": found, "to": SCHEMA, "changed": changed})
    elif not changed:
        put(f"{name}: {SCHEMA}: up to date")
    else:
        put(f"{name}: from {found or 'nothing'} to {SCHEMA}")
