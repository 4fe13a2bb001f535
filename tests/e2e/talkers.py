"""How each client is pointed at the gateway, made to declare search, and led through a session."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import textwrap
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from sessions import Seat, Talk

_OPEN_WEBUI: Final = Path(__file__).parent / ".open-webui" / "bin" / "open-webui"


def claude_code(seat: Seat, turns: Sequence[str]) -> None:
    """Its own tool `WebSearch` is called by the model, and asks the gateway for a hosted search."""
    for number, turn in enumerate(turns):
        more = ["--continue"] if number else []
        seat.run(
            *("claude", "-p", turn, *more, "--model", "claude-opus-4-8"),
            *("--allowedTools", "WebSearch"),
            ANTHROPIC_BASE_URL=seat.url, ANTHROPIC_API_KEY="e2e-key", ENABLE_TOOL_SEARCH="false",
            DISABLE_AUTOUPDATER="1", DISABLE_TELEMETRY="1", DISABLE_ERROR_REPORTING="1",
            IS_SANDBOX="1",
        )  # fmt: skip


def codex(seat: Seat, turns: Sequence[str]) -> None:
    """`web_search = "live"` declares the hosted tool on every request."""
    provider = f'name = "Refdesk"\nbase_url = "{seat.url}/v1"\nwire_api = "responses"\n'
    config = 'model = "local"\nmodel_provider = "refdesk"\nweb_search = "live"\n'
    analytics = "[analytics]\nenabled = false\n"
    seat.write(".codex/config.toml", f"{config}{analytics}[model_providers.refdesk]\n{provider}")
    for number, turn in enumerate(turns):
        more = ["resume", "--last"] if number else []
        seat.run("codex", "exec", *more, "--skip-git-repo-check", turn)


def qwen_code(seat: Seat, turns: Sequence[str]) -> None:
    """`extra_body` goes into every request, those of its memory and its suggestions as well."""
    body = {"extra_body": {"web_search_options": {}}}
    model = {"id": "local", "envKey": "KEY", "baseUrl": f"{seat.url}/v1", "generationConfig": body}
    seat.write(
        ".qwen/settings.json",
        {
            "security": {"auth": {"selectedType": "openai"}},
            "model": {"name": "local"},
            "modelProviders": {"openai": [model]},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"disableAutoUpdate": True},
        },
    )
    for number, turn in enumerate(turns):
        seat.run("qwen", *(["-c"] if number else []), "-p", turn, KEY="e2e-key")


def opencode(seat: Seat, turns: Sequence[str]) -> None:
    """A model's `options` go into every request, that for the title as well."""
    model = {"name": "local", "options": {"web_search_options": {}}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{seat.url}/v1", "apiKey": "e2e-key"},
        "models": {"local": model},
    }
    seat.write(
        ".config/opencode/opencode.json",
        {
            "autoupdate": False,
            "model": "refdesk/local",
            "small_model": "refdesk/local",
            "provider": {"refdesk": provider},
        },
    )
    for number, turn in enumerate(turns):
        more = ["-c"] if number else []
        seat.run("opencode", "run", *more, turn, OPENCODE_DISABLE_MODELS_FETCH="1")


def continue_cli(seat: Seat, turns: Sequence[str]) -> None:
    """`requestOptions.extraBodyProperties` go into every request."""
    config = f"""\
        name: local
        version: 0.0.1
        schema: v1
        models:
          - name: local
            provider: openai
            model: local
            apiBase: {seat.url}/v1
            apiKey: e2e-key
            requestOptions: {{extraBodyProperties: {{web_search_options: {{}}}}}}
        """
    seat.write("config.yaml", textwrap.dedent(config))
    for number, turn in enumerate(turns):
        more = ["--resume"] if number else []
        command = ("cn", "--config", "config.yaml", *more, "-p", turn)
        seat.run(*command, CONTINUE_TELEMETRY_ENABLED="0")


def aider(seat: Seat, turns: Sequence[str]) -> None:
    """`extra_params` of a model's settings; with `reminder: user` rules stand behind a question."""
    settings = """\
        - name: openai/local
          edit_format: diff
          reminder: user
          extra_params: {extra_body: {web_search_options: {}}}
        """
    seat.write(".aider.model.settings.yml", textwrap.dedent(settings))
    seat.uv(
        *("tool", "run", "--quiet", "--from", "aider-chat==0.86.2", "aider"),
        *("--model", "openai/local", "--yes-always", "--no-git", "--no-pretty", "--no-stream"),
        *("--no-check-update", "--no-show-model-warnings", "--analytics-disable"),
        "--no-show-release-notes",
        said="\n".join([*turns, "/exit", ""]),
        OPENAI_API_BASE=f"{seat.url}/v1",
    )


def llm(seat: Seat, turns: Sequence[str]) -> None:
    """`responses: true` in the model's entry, and `-T WebSearch`."""
    entry = f"""\
        - model_id: refdesk
          model_name: local
          api_base: {seat.url}/v1
          responses: true
        """
    seat.write("llm/extra-openai-models.yaml", textwrap.dedent(entry))
    run = ("run", "--no-project", "--quiet", "--with", "llm==0.36", "llm")
    for number, turn in enumerate(turns):
        more = ["-c"] if number else []
        seat.uv(
            *run, "-m", "refdesk", "-T", "WebSearch", *more, turn,
            LLM_USER_PATH=str(seat.folder / "llm"),
        )  # fmt: skip


_CHAT: Final = """
from openai import OpenAI
client, said = OpenAI(), []
for turn in TURNS:
    said.append({"role": "user", "content": turn})
    found = client.chat.completions.create(model="local", messages=said, web_search_options={})
    said.append({"role": "assistant", "content": found.choices[0].message.content})
"""
_RESPONSES: Final = """
from openai import OpenAI
client, said = OpenAI(), []
for turn in TURNS:
    said.append({"role": "user", "content": turn})
    found = client.responses.create(model="local", input=said, tools=[{"type": "web_search"}])
    said += [item.model_dump(exclude_none=True) for item in found.output]
"""
_ANTHROPIC: Final = """
from anthropic import Anthropic
client, said = Anthropic(), []
tool = {"type": "web_search_20250305", "name": "web_search"}
for turn in TURNS:
    said.append({"role": "user", "content": turn})
    found = client.messages.create(model="local", max_tokens=99, messages=said, tools=[tool])
    said.append({"role": "assistant", "content": found.model_dump(exclude_none=True)["content"]})
"""
_LANGCHAIN: Final = """
from langchain_openai import ChatOpenAI
model, said = ChatOpenAI(model="local").bind_tools([{"type": "web_search"}]), []
for turn in TURNS:
    said.append({"role": "user", "content": turn})
    said.append(model.invoke(said))
"""
_PYDANTIC_AI: Final = """
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.models.openai import OpenAIChatModel
agent = Agent(OpenAIChatModel("local"), retries=2,
              model_settings={"extra_body": {"web_search_options": {}}})
seen = set()
@agent.output_validator
def once(ctx, answer):
    if ctx.prompt not in seen:
        seen.add(ctx.prompt)
        raise ModelRetry("say it once more")
    return answer
history = []
for turn in TURNS:
    history = agent.run_sync(turn, message_history=history).all_messages()
"""


def _script(script: str, *packages: str) -> Talk:
    def talk(seat: Seat, turns: Sequence[str]) -> None:
        seat.python(f"TURNS = {list(turns)!r}\n{script}", *packages)

    return talk


def open_webui(seat: Seat, turns: Sequence[str]) -> None:
    """A custom parameter of the model; its background tasks use the same model by default."""
    with _open_webui(seat) as ask:
        ask("/api/models", None)
        params = {"custom_params": {"web_search_options": "{}"}}
        ask("/api/v1/models/create", {
            "id": "searching", "name": "searching", "base_model_id": "local", "meta": {},
            "params": params, "access_grants": [], "is_active": True,
        })  # fmt: skip
        ask("/api/models?refresh=true", None)
        _chat_in_open_webui(ask, turns)


def _chat_in_open_webui(ask: Any, turns: Sequence[str]) -> None:
    messages: dict[str, Any] = {}
    chat, parent = "", None
    for turn in turns:
        user, assistant = str(uuid.uuid4()), str(uuid.uuid4())
        messages[user] = _message(user, parent, "user", turn, [assistant])
        messages[assistant] = _message(assistant, user, "assistant", "", [])
        history = {"messages": messages, "currentId": assistant}
        content = {"chat": {"title": "New Chat", "models": ["searching"], "history": history}}
        chat = ask(f"/api/v1/chats/{chat or 'new'}", content)["id"]
        said = [{"role": one["role"], "content": one["content"]} for one in messages.values()][:-1]
        ask("/api/chat/completions", {
            "stream": True, "model": "searching", "messages": said, "params": {}, "features": {},
            "chat_id": chat, "id": assistant, "session_id": "e2e", "parent_id": parent,
            "user_message": messages[user],
            "background_tasks": {
                "title_generation": True, "tags_generation": True, "follow_up_generation": True,
            },
        })  # fmt: skip
        messages[assistant]["content"] = _answered(ask, chat, assistant)
        parent = assistant


def _answered(ask: Any, chat: str, message: str) -> str:
    """Wait for the answer to a message, as its page does."""
    for _ in range(100):
        history = ask(f"/api/v1/chats/{chat}", None)["chat"]["history"]
        if content := history["messages"].get(message, {}).get("content"):
            return str(content)
        time.sleep(0.2)
    raise SystemExit("Open WebUI gave no answer")


def _message(
    id_: str, parent: str | None, role: str, content: str, children: Sequence[str]
) -> dict[str, Any]:
    return {
        "id": id_,
        "parentId": parent,
        "childrenIds": list(children),
        "role": role,
        "content": content,
        "models": ["searching"],
        "model": "searching",
        "timestamp": 1,
    }


@contextlib.contextmanager
def _open_webui(seat: Seat) -> Iterator[Any]:
    """Serve it without login and without models of its own; yields a function that asks it."""
    port = "18488"
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(seat.folder), "DATA_DIR": str(seat.folder),
        "WEBUI_AUTH": "False", "WEBUI_SECRET_KEY": "e2e", "USE_SLIM_DOCKER": "true",
        "OPENAI_API_BASE_URL": f"{seat.url}/v1", "OPENAI_API_KEY": "e2e-key",
        "ENABLE_OLLAMA_API": "False", "OFFLINE_MODE": "True", "HF_HUB_OFFLINE": "1",
    }  # fmt: skip
    with (seat.folder / "open-webui.log").open("wb") as log:
        process = subprocess.Popen(
            [_OPEN_WEBUI, "serve", "--host", "127.0.0.1", "--port", port],
            cwd=seat.folder, env=environment, stdout=log, stderr=log,
        )  # fmt: skip
        token = ""

        def ask(path: str, body: Mapping[str, Any] | None) -> Any:
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}{path}",
                data=None if body is None else json.dumps(body).encode(),
                headers={"content-type": "application/json", "authorization": f"Bearer {token}"},
            )
            with urllib.request.urlopen(request, timeout=60) as response:
                return json.loads(response.read())

        try:
            _until_up(ask, process)
            token = ask("/api/v1/auths/signin", {"email": "", "password": ""})["token"]
            yield ask
        finally:
            process.terminate()
            process.wait(timeout=30)


def _until_up(ask: Any, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            ask("/health", None)
            return
        if process.poll() is not None:
            break
        time.sleep(0.4)
    raise SystemExit("Open WebUI did not start")


def talkers() -> dict[str, Talk]:
    """Return the clients that are installed here; the Python ones come as they are run."""
    found: dict[str, Talk] = {
        "Claude Code": claude_code,
        "Codex": codex,
        "Qwen Code": qwen_code,
        "opencode": opencode,
        "Continue CLI": continue_cli,
        "aider": aider,
        "llm": llm,
        "OpenAI SDK, Chat": _script(_CHAT, "openai==3.57.0"),
        "OpenAI SDK, Responses": _script(_RESPONSES, "openai==3.57.0"),
        "Anthropic SDK": _script(_ANTHROPIC, "anthropic==2.14.0"),
        "LangChain": _script(_LANGCHAIN, "langchain-openai==1.7.4"),
        "pydantic-ai": _script(_PYDANTIC_AI, "pydantic-ai-slim[openai]==2.38.0"),
    }
    if shutil.which(_OPEN_WEBUI):
        found["Open WebUI"] = open_webui
    return found
