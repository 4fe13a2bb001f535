"""``refdesk config``, and how the command line as a whole behaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from refdesk.cli import app, main

YAML = """\
server: {port: 1234}
upstreams:
  a: {base_url: "http://h", api_key: "${env:A_KEY}"}
engines:
  e: {type: serper, api_key: SECRET-0123456789-tail}
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands run in an empty folder, without settings from outside."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("REFDESK_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("A_KEY", "SECRET-from-env-0123")


def run(*arguments: str) -> tuple[int, str, str]:
    """Return the exit status, stdout and stderr of a command."""
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.stdout, result.stderr


def test_show(tmp_path: Path) -> None:
    """What is in force is printed as YAML that can be read, secrets masked."""
    (tmp_path / "refdesk.yaml").write_text(YAML)
    code, out, err = run("config", "show")
    assert (code, err) == (0, "")
    assert "SECRET" not in out
    assert "api_key: ••••tail" in out
    assert "api_key: ••••0123" in out
    from refdesk.config import yaml_tree

    tree = yaml_tree.parse(out)
    assert not tree.faults
    assert tree.value["server"] == {
        "host": "127.0.0.1",
        "port": 1234,
        "workers": 1,
        "hosts": [],
        "origins": [],
        "limits": {
            "body_bytes": 33_554_432,
            "upload_bytes": 268_435_456,
            "connections": 8192,
            "connections_per_address": None,
        },
    }


def test_show_hides_what_nobody_knows(tmp_path: Path) -> None:
    """Arguments of MCP servers and misspelt options are masked; options of a plugin are not."""
    (tmp_path / "refdesk.yaml").write_text(
        "engines:\n"
        "  e: {type: serper, api_keyy: SECRET-0123456789-tail, country: de, priority: 7}\n"
        "  h: {type: http, url: 'https://h/?sig=SECRET1', results: /r, fields: {title: /t},\n"
        "      headers: {X-A: SECRET2}, body: {auth: SECRET3}}\n"
        "mcp_servers: {m: {command: npx, args: [-y, --api-key=SECRET4, SECRET5]}}\n"
        "vectors: {type: lance, cache_mb: 64, tokn: SECRET6}\n"
    )
    code, out, _ = run("config", "show")
    assert code == 0
    assert "SECRET" not in out
    for shown in ("country: de", "priority: 7", "title: /t", "cache_mb: 64", "command: npx"):
        assert shown in out, shown
    refused = run("check")
    assert refused[0] != 0
    assert "api_keyy" in refused[2] + refused[1]
    assert "SECRET" not in refused[2] + refused[1]


def test_show_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each value tells where it was set."""
    (tmp_path / "refdesk.yaml").write_text(YAML)
    monkeypatch.setenv("REFDESK_SERVER__HOST", "0.0.0.0")
    lines = [" ".join(line.split()) for line in run("config", "show", "--origin")[1].splitlines()]
    assert "port: 1234 # refdesk.yaml:1:10" in lines
    assert "host: 0.0.0.0 # environment REFDESK_SERVER__HOST" in lines
    assert "workers: 1 # default" in lines


def test_show_json(tmp_path: Path) -> None:
    """As JSON, and with origins by dotted key."""
    (tmp_path / "refdesk.yaml").write_text(YAML)
    assert json.loads(run("config", "show", "--json")[1])["server"]["port"] == 1234
    both = json.loads(run("config", "show", "--json", "--origin")[1])
    assert both["origins"]["server.port"] == "refdesk.yaml:1:10"
    assert both["config"]["server"]["port"] == 1234


def test_show_warns_on_stderr() -> None:
    """Talk does not mix with data."""
    code, out, err = run("config", "show", "--json")
    assert code == 0
    assert json.loads(out)["engines"] is None
    assert "keyless ddgs engine" in err


def test_schema_accepts_what_is_shown() -> None:
    """The schema is JSON Schema of the file, and describes every key."""
    code, out, _ = run("config", "schema")
    schema = json.loads(out)
    assert code == 0
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert schema["properties"]["server"]["description"]
    shown = json.loads(run("config", "show", "--json")[1])
    assert set(shown) == set(schema["properties"])


def test_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that is read: --config, else REFDESK_CONFIG, else ./refdesk.yaml, else none."""
    code, out, err = run("config", "path")
    assert (code, out) == (1, "")
    assert "no file is read" in err
    (tmp_path / "refdesk.yaml").write_text(YAML)
    assert run("config", "path")[1] == f"{tmp_path}/refdesk.yaml\n"
    (tmp_path / "env.yaml").write_text(YAML)
    monkeypatch.setenv("REFDESK_CONFIG", "env.yaml")
    assert run("config", "path")[1] == f"{tmp_path}/env.yaml\n"
    (tmp_path / "flag.yaml").write_text(YAML)
    assert json.loads(run("config", "path", "--config", "flag.yaml", "--json")[1]) == {
        "path": f"{tmp_path}/flag.yaml"
    }
    assert run("config", "path", "--config", "no.yaml")[0] == 1


def test_error_is_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What Refdesk raises on purpose is told on stderr, without a traceback: exit status 1."""
    (tmp_path / "refdesk.yaml").write_text("server: {prot: 1}\n")
    monkeypatch.setattr(sys, "argv", ["refdesk", "config", "show"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "refdesk.yaml:1:10: server.prot: is an unknown key; "
        "known: host, port, workers, hosts, origins, limits; did you mean 'port'?\n"
    )


def test_usage() -> None:
    """A wrong command or option is exit status 2, with the nearest name."""
    code, _, err = run("confg")
    assert code == 2
    assert "Did you mean 'config'?" in err
    assert run("config", "show", "--nope")[0] == 2


def test_help_lists_every_command_and_imports_none() -> None:
    """Help tells what each command does without importing it, so that it comes at once."""
    program = (
        "import sys; sys.argv = ['refdesk', '--help']\n"
        "from refdesk.cli import COMMANDS, main\n"
        "try: main()\n"
        "finally:\n"
        "    heavy = {'pydantic', 'ruamel.yaml', 'rich.markdown', 'sqlalchemy', 'msgspec'}\n"
        "    loaded = heavy | {lazy.module for lazy in COMMANDS.values()}\n"
        "    print(sorted(loaded & set(sys.modules)), file=sys.stderr)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0
    assert result.stderr == "[]\n"
    assert "config" in result.stdout
    assert "Read the configuration and tell all that is wrong." in result.stdout


def test_every_command_exists() -> None:
    """Each line of the table leads to a command that has help of its own."""
    from refdesk.cli import COMMANDS

    for name in COMMANDS:
        assert run(name, "--help")[0] == 0, name


def test_version() -> None:
    """The version is data."""
    code, out, err = run("--version")
    assert (code, err) == (0, "")
    assert out.startswith("refdesk ")
