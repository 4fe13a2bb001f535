"""``refdesk models``: what clients can ask for, and who searches for each of them, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from refdesk.cli.options import ConfigOption, JsonOption, read_config
from refdesk.cli.output import fail, out, print_json, say

if TYPE_CHECKING:
    from refdesk.config import Config

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="List the models, and explain one."
)

_MARKS = {"gateway": "green", "hosted": "cyan", "pass": "yellow"}
_LABEL = 17


@app.command("list")
def list_(config: ConfigOption = None, json: JsonOption = False) -> None:
    """List the models: the names clients use, where each is served, and who searches for it."""
    loaded = read_config(config)
    rows = _listed(loaded.config)
    if json:
        print_json(rows)
        return
    if not rows:
        say("no models are configured; add them under `models:`")
        return
    from refdesk.cli._table import print_columns

    print_columns(
        ("NAME", "ALIASES", "UPSTREAM", "MODEL", "SEARCH"),
        [
            (
                f"{row['name']}{' (default)' if row['default'] else ''}",
                ", ".join(row["aliases"]) or "-",
                row["upstream"],
                row["upstream_model"],
                ", ".join(f"{wire['wire']}: {wire['route']}" for wire in row["wires"]),
            )
            for row in rows
        ],
    )


@app.command()
def explain(
    name: Annotated[str, typer.Argument(help="The model, as a client would name it.")],
    wire: Annotated[
        str | None, typer.Option(help="This wire alone: chat, responses, messages or gemini.")
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Tell who searches for a model on each wire, and which layer of the configuration said so."""
    from typing import get_args

    from refdesk.cli._record import decision_record
    from refdesk.cli._web import well_engines
    from refdesk.config.schema import WireName
    from refdesk.errors import WireError

    if wire is not None and wire not in get_args(WireName):
        known = ", ".join(get_args(WireName))
        raise typer.BadParameter(f"{wire!r} is no wire; known: {known}", param_hint="--wire")
    loaded = read_config(config)
    engines, faults = well_engines(loaded.config)
    for engine, fault in faults.items():
        say(f"note: engine {engine!r} is left out, its options are wrong: {fault}")
    try:
        record = decision_record(loaded, name, engines, wire)
    except WireError as exc:
        fail(str(exc))
    if json:
        print_json(record)
    else:
        _draw(record)


def _listed(config: Config) -> list[dict[str, Any]]:
    from refdesk.gateway.targets import explain as decide

    rows = []
    for name, model in config.models.items():
        upstream = config.upstreams[model.upstream]
        rows.append(
            {
                "name": name,
                "aliases": list(model.aliases),
                "default": config.default_model == name,
                "upstream": model.upstream,
                "provider": upstream.provider,
                "upstream_model": model.model or name,
                "wires": [
                    {"wire": wire, "route": decision.route.value, "layer": decision.layer}
                    for wire in upstream.wire
                    for decision, _ in [decide(name, model, upstream, wire)]
                ],
            }
        )
    return rows


def _draw(record: Mapping[str, Any]) -> None:
    from rich.text import Text

    from refdesk.cli._table import printable

    def line(label: str, text: str, depth: int = 0, style: str = "") -> None:
        drawn = Text("  " * depth + f"{label:<{_LABEL - 2 * depth}}", style="dim")
        out().print(drawn.append(printable(text), style or "default"))

    line("model", str(record["asked"]), style="bold")
    line("matched", str(record["matched"]))
    declare = record["declare"]
    if declare["value"] == "always":
        line("searched", f"each user turn, declared or not ({declare['source']})")
    line("upstream", f"{record['upstream']} (provider {record['provider']})")
    line("asked as", f"{record['upstream_model']} at {record['base_url']}")
    for wire in record["wires"]:
        out().print()
        served = "" if wire["served"] else ", which this version does not serve"
        line("wire", f"{wire['wire']}{served}", style="bold")
        line("route", wire["route"].upper(), 1, _MARKS[wire["route"]])
        line("because", f"{wire['reason']} ({wire['layer']} said so)", 1)
        if undeclared := wire["undeclared"]:
            said = f"{undeclared['route'].upper()}: {undeclared['reason']}"
            line("not declared", said, 1, _MARKS[undeclared["route"]])
        for layer in wire["layers"]:
            mark = "→" if layer["decides"] else " "
            line(f"{mark} {layer['layer']}", _layer(layer), 1, "" if layer["decides"] else "dim")
        for label, text in _rest(wire):
            line(label, text, 1)


def _layer(layer: Mapping[str, Any]) -> str:
    value = layer["value"]
    if isinstance(value, str):
        said = f"{value} ({layer['set_at']})"
    else:
        said = ", ".join(f"{key}: {value[key]} ({layer['set_at'][key]})" for key in value)
    return "; ".join(part for part in (said, layer["note"]) if part)


def _rest(wire: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    capability = wire["capability"]
    yield "evidence", f"{capability['evidence']} ({capability['source']})"
    engine = wire["engine"]
    if engine is not None:
        chosen = f"{engine['name']}, {engine['why']}" if engine["name"] else engine["why"]
        then = f"; then {', '.join(engine['fallbacks'])}" if engine["fallbacks"] else ""
        yield "engine", chosen + then
        for notice in engine["notices"]:
            yield "", notice
    if wire["mode"] is not None:
        yield "mode", f"{wire['mode']['value']} ({wire['mode']['source']})"
    accepts = wire["accepts_search_tool"]
    takes = "the upstream takes it" if accepts["value"] else "the upstream refuses it"
    yield "search tool", f"{takes} ({accepts['source']})"
