"""``refdesk config``: what is in force, where each value came from, what may be written."""

from __future__ import annotations

import io
from functools import partial
from typing import Annotated, Any

import typer
from pydantic import BaseModel

from refdesk.cli.options import ConfigOption, JsonOption, config_path, read_config
from refdesk.cli.output import FAILURE, fail, print_json, put, say
from refdesk.config import Loaded
from refdesk.config.layers import Path, dotted
from refdesk.config.schema import Config
from refdesk.config.shape import Shape
from refdesk.config.shape import at as shape_at
from refdesk.config.view import plugin_option, shown
from refdesk.errors import ConfigError

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Show the configuration, its schema, its file."
)


@app.command()
def show(
    config: ConfigOption = None,
    origin: Annotated[bool, typer.Option("--origin", help="Add where each value was set.")] = False,
    json: JsonOption = False,
) -> None:
    """Print the configuration that is in force, secrets masked."""
    loaded = read_config(config)
    tree = shown(loaded.config, loaded.secrets, is_safe=partial(_is_plain, loaded.config))
    if json:
        origins = {key: str(where) for key, where in loaded.origins.items()}
        print_json({"config": tree, "origins": origins} if origin else tree)
    else:
        put(_yaml(tree, loaded if origin else None), end="")
    for warning in loaded.warnings:
        say(warning)


@app.command()
def schema() -> None:
    """Print the JSON Schema of the configuration file."""
    print_json(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "refdesk.yaml",
            **{k: v for k, v in Config.model_json_schema().items() if k != "title"},
        }
    )


@app.command()
def path(config: ConfigOption = None, json: JsonOption = False) -> None:
    """Print which file is read; exit status 1 where there is none."""
    found = config_path(config)
    if json:
        print_json({"path": str(found.absolute()) if found else None})
    elif found:
        put(str(found.absolute()))
    if found is None:
        fail("no file is read: there is no ./refdesk.yaml, and --config names none", FAILURE)
    if not found.is_file():
        fail(f"there is no file at {found.absolute()}", FAILURE)


def _is_plain(config: Config, at: Path) -> bool:
    """Whether the plugin of an entry knows its option at a path, as a plain value."""
    options = _options_of(config, at)
    return options is not None and shape_at(options, plugin_option(at) or ()) == Shape()


def _options_of(config: Config, at: Path) -> type[BaseModel] | None:
    # Plugins are imported where a configuration has options of theirs, and not before.
    from refdesk.kb.embedders import EMBEDDERS
    from refdesk.kb.vectors import VECTOR_STORES
    from refdesk.web.engines import ENGINES

    try:
        match at:
            case ("engines", name, *_):
                return ENGINES.get((config.engines or {})[name].type).Options
            case ("vectors", *_):
                return VECTOR_STORES.get(config.vectors.type).Options
            case ("collections", name, *_):
                return EMBEDDERS.get(config.collections[name].embedder.type).Options
    except (ConfigError, KeyError):
        pass
    return None


def _yaml(tree: dict[str, Any], loaded: Loaded | None) -> str:
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap

    def commented(value: dict[str, Any], at: tuple[str, ...]) -> CommentedMap:
        made = CommentedMap()
        for key, inner in value.items():
            here = (*at, key)
            if isinstance(inner, dict) and inner:
                made[key] = commented(inner, here)
                continue
            made[key] = inner
            if loaded and (where := loaded.origins.get(dotted(here))):
                made.yaml_add_eol_comment(str(where), key=key, column=44)
        return made

    writer = YAML()
    writer.default_flow_style = False
    writer.width = 4096
    writer.representer.add_representer(type(None), _null)
    stream = io.StringIO()
    writer.dump(commented(tree, ()), stream)
    return stream.getvalue()


def _null(representer: Any, _: None) -> Any:
    return representer.represent_scalar("tag:yaml.org,2002:null", "null")
