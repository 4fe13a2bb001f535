"""
What may be written in ``refdesk.yaml``, with its defaults.

Where a field's default is None, an absent key is unset, which is never the same as zero or false.
``model_fields_set`` tells the two apart where a default has a value.  Secrets do not show in reprs.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from refdesk.config.fields import (
    ON_OFF,
    ON_OFF_SCHEMA,
    TRUE_FALSE_AUTO,
    TRUE_FALSE_AUTO_SCHEMA,
    BaseUrl,
    Count,
    Flag,
    Headers,
    HeaderSecret,
    HostName,
    Listed,
    OpenSection,
    Origin,
    Positive,
    Section,
    Text,
)
from refdesk.config.library import (
    CollectionEntry,
    DatabaseEntry,
    IngestSection,
    LibrarySection,
    McpServerEntry,
    UsesSection,
    VectorStore,
    VectorStoreEntry,
)
from refdesk.config.references import find_faults
from refdesk.config.secrets import StoreKeys, default_key

Switch = Annotated[Literal["default", "on", "off"], ON_OFF, ON_OFF_SCHEMA]
Needed = Annotated[Literal[True, False, "auto"], TRUE_FALSE_AUTO, TRUE_FALSE_AUTO_SCHEMA]
WireName = Literal["chat", "responses", "messages", "gemini"]
Mode = Literal["inject", "loop", "auto"]

STORE_URL = "sqlite:///${data_dir}/refdesk.db"


class LimitsSection(Section):
    """Bounds on what clients may send to, and take of, one process of the server."""

    body_bytes: Positive = Field(
        default=32 * 1024 * 1024,
        description="The largest body of a request; a larger one is answered with 413.",
    )
    upload_bytes: Positive = Field(
        default=256 * 1024 * 1024,
        description=(
            "The largest upload to a collection; a larger one is answered with 413.  `refdesk kb "
            "add` reads larger files from the disk."
        ),
    )

    connections: Positive = Field(
        default=8192,
        description=(
            "Open connections; one more is answered with 503.  Fewer where the system lets the "
            "process open fewer than two files for each (`ulimit -n`)."
        ),
    )
    connections_per_address: Positive | None = Field(
        default=None,
        description=(
            "Of those, from one IPv4 address or one IPv6 /64; unset: half of them.  Behind a proxy "
            "all come from its address: set it to `connections`."
        ),
    )


class ServerSection(Section):
    """Where the server listens."""

    host: Text = Field(default="127.0.0.1", description="The address to listen on.")
    port: Count = Field(
        default=8484, le=65535, description="The port to listen on; 0 picks a free one."
    )
    workers: Positive = Field(default=1, description="How many processes answer.")
    hosts: tuple[HostName, ...] = Field(
        default=(),
        description="Further names that requests without a client key may call this server by.",
    )
    origins: tuple[Origin, ...] = Field(
        default=(),
        description=(
            "Web origins (`https://chat.example.com`) whose pages may call this server, also "
            "without a client key where none is needed."
        ),
    )
    limits: LimitsSection = Field(default=LimitsSection(), description="Bounds on clients.")


class StoreSection(Section):
    """Where records and settings are kept."""

    url: Text = Field(
        default=STORE_URL,
        repr=False,
        description="An SQLAlchemy URL: `sqlite:///…` or `postgresql+psycopg://…`.",
    )
    key: StoreKeys = Field(
        default_factory=lambda: (default_key(),),
        description=(
            "Seals secrets and our marks.  By default a file in `data_dir`, made on first start "
            "with mode 0600.  Must be given with PostgreSQL.  A list rotates: the first one seals."
        ),
    )


class AuthSection(Section):
    """Who may use the gateway."""

    required: Needed = Field(
        default="auto",
        description="Whether clients need a key; `auto`: not while listening on loopback only.",
    )


class SearchSwitch(Section):
    """Who searches for a model."""

    enabled: Switch = Field(
        default="default",
        description=(
            "`on`: gateway search even where the model could search itself; `off`: never ours; "
            "`default`: as the model's capabilities say.  YAML booleans are understood."
        ),
    )
    engine: Text | None = Field(default=None, description="The engine to ask first, by its name.")
    mode: Mode | None = Field(default=None, description="Instead of `gateway.search.mode`.")


class ModelSearchSwitch(SearchSwitch):
    """Who searches for a model, and for which requests."""

    declare: Literal["client", "always"] = Field(
        default="client",
        description=(
            "`client`: search where the client declares it; `always`: each user turn counts as if "
            "it had, for clients that cannot declare it.  Alone it replaces nothing."
        ),
    )


_Switch = TypeVar("_Switch", bound=SearchSwitch)


def _empty_is_unset(search: _Switch | None) -> _Switch | None:
    return search if search and search.model_fields_set else None


OptionalSwitch = Annotated[SearchSwitch | None, AfterValidator(_empty_is_unset)]
OptionalModelSwitch = Annotated[ModelSearchSwitch | None, AfterValidator(_empty_is_unset)]


class UpstreamEntry(Section):
    """An endpoint that serves models."""

    provider: Text = Field(default="compatible", description="A provider plugin, or `compatible`.")
    wire: Annotated[tuple[WireName, ...], Listed] = Field(
        default=("chat",),
        min_length=1,
        description=(
            "`chat`, `responses`, `messages` or `gemini`, or a list: the client's own wire is used "
            "if it is in it."
        ),
    )
    base_url: BaseUrl = Field(description="Where it answers; without a path, `/v1` is added.")
    api_key: HeaderSecret | None = Field(
        default=None, description="The key sent to it; none: no key is sent."
    )
    headers: Headers = Field(
        default_factory=dict, description="Headers that override what would be sent."
    )
    accepts_search_tool: Flag | None = Field(
        default=None,
        description="Whether it takes a declared search tool; unset: as its provider's rule says.",
    )
    search: OptionalSwitch = Field(
        default=None, description="Who searches for its models; an empty object is unset."
    )

    @field_validator("headers")
    @classmethod
    def _lower_case(cls, headers: dict[str, Any]) -> dict[str, Any]:
        return {name.lower(): value for name, value in headers.items()}


class Capabilities(Section):
    """What a model can do.  Unset means: as the provider's rule says."""

    web_search: Flag | None = Field(
        default=None, description="Whether it searches the web by itself."
    )
    function_calling: Flag | None = Field(
        default=None, description="Whether it can call functions."
    )
    input_tokens: Positive | None = Field(default=None, description="How much it reads, in tokens.")


class ModelEntry(Section):
    """A model by the name that clients use."""

    upstream: Text = Field(description="The upstream that serves it, by its name.")
    model: Text | None = Field(
        default=None, description="The name the upstream knows; unset: the same."
    )
    aliases: Annotated[tuple[Text, ...], Listed] = Field(
        default=(), description="Further names, as globs; the first match in file order wins."
    )
    capabilities: Capabilities = Field(
        default=Capabilities(), description="What it can do, where that is known better here."
    )
    search: OptionalModelSwitch = Field(
        default=None,
        description="Replaces the upstream's `search` as a whole; an empty object is unset.",
    )


class EngineEntry(OpenSection):
    """
    A web search engine.  Every key but ``type`` belongs to the plugin, which checks it.

    ``settings`` holds those keys, ``enabled`` and ``priority`` included.
    """

    type: Text = Field(description="An engine plugin, such as `serper`.")


class GatewaySearch(Section):
    """How the gateway searches in a model's stead."""

    default_engine: Text | None = Field(
        default=None, description="The engine asked where neither model nor upstream names one."
    )
    mode: Mode = Field(
        default="inject",
        description="`inject` searches first; `loop` lets the model call; `auto` picks.",
    )
    pages_per_query: Positive = Field(default=2, le=10, description="Result pages per question.")
    max_snippet_chars: Positive = Field(
        default=500, description="The longest snippet, in characters."
    )
    max_injected_chars: Positive = Field(
        default=16384, description="The longest material, in characters."
    )
    max_query_chars: Positive = Field(default=400, description="The longest query, in characters.")
    engine_timeout_ms: Positive = Field(default=10000, description="How long one engine may take.")
    budget_ms: Positive = Field(
        default=15000, description="How long a search may take, all engines."
    )
    concurrency: Positive = Field(default=64, description="How many searches run at once.")
    queue_timeout_ms: Count = Field(
        default=2000, description="How long a search waits for its place."
    )
    max_response_bytes: Positive = Field(
        default=524288, description="The largest answer of an engine."
    )
    cache_ttl_s: Count = Field(
        default=300, description="How long results are reused; 0 switches it off."
    )
    memory_limit_mb: Positive | None = Field(
        default=None,
        description="Above it new searches are shed (`memory_pressure`); unset: no limit.",
    )
    head_after_ms: Count = Field(
        default=8000, description="A streamed answer's head goes out at the latest then."
    )


class GatewaySection(Section):
    """The gateway."""

    search: GatewaySearch = Field(default=GatewaySearch(), description="Gateway search.")


class PrivacySection(Section):
    """What is kept."""

    store_queries: Flag = Field(
        default=True, description="Whether query texts are stored and logged."
    )
    store_bodies: Flag = Field(default=False, description="Whether request bodies are stored.")
    retention_days: Positive = Field(default=30, description="Records older than this are deleted.")


class Config(Section):
    """The whole configuration."""

    version: Literal[1] = Field(default=1, description="The version of this file's format.")
    server: ServerSection = Field(default=ServerSection(), description="Listening.")
    data_dir: Text = Field(
        default="./refdesk-data",
        description=(
            "Embedded store, collections, keys; made on first start with mode 0700.  A relative "
            "path is relative to this file's folder, a flag's to the current one."
        ),
    )
    store: StoreSection = Field(default=StoreSection(), description="Records and settings.")
    auth: AuthSection = Field(default=AuthSection(), description="Client keys.")
    upstreams: dict[Text, UpstreamEntry] = Field(
        default_factory=dict, description="Endpoints that serve models, by name."
    )
    models: dict[Text, ModelEntry] = Field(
        default_factory=dict, description="Models by the name that clients use."
    )
    default_model: Text | None = Field(
        default=None,
        description="For names that no entry or alias matches; unset: they are refused.",
    )
    engines: dict[Text, EngineEntry] | None = Field(
        default=None,
        description=(
            "Search engines by name.  Absent: one keyless ddgs engine; an empty mapping: none."
        ),
    )
    gateway: GatewaySection = Field(default=GatewaySection(), description="The gateway.")
    search: LibrarySection = Field(
        default=LibrarySection(), description="Search by the library and the assistants."
    )
    uses: UsesSection = Field(default=UsesSection(), description="Who does which step.")
    collections: dict[Text, CollectionEntry] = Field(
        default_factory=dict, description="Knowledge collections by name."
    )
    vectors: VectorStore = Field(
        default_factory=lambda: VectorStoreEntry(type="lance"),
        description=(
            "Where the vectors of all collections are kept: `lance`, in `data_dir`, or a mapping "
            "such as `{type: milvus, url, token}`."
        ),
    )
    ingest: IngestSection = Field(
        default=IngestSection(), description="Where documents are read and embedded."
    )
    databases: dict[Text, DatabaseEntry] = Field(
        default_factory=dict, description="Databases by name."
    )
    mcp_servers: dict[Text, McpServerEntry] = Field(
        default_factory=dict, description="MCP servers by name."
    )
    assistants_dir: Text = Field(
        default="assistants", description="The folder of the assistants' files."
    )
    privacy: PrivacySection = Field(default=PrivacySection(), description="What is kept.")

    @model_validator(mode="before")
    @classmethod
    def _store_follows_data_dir(cls, data: Any, info: ValidationInfo) -> Any:
        # Where a file was read, this has been done already, and paths are absolute.
        if not isinstance(data, dict) or (info.context or {}).get("references_checked"):
            return data
        store = data.get("store") or {}
        data_dir = data.get("data_dir") or cls.model_fields["data_dir"].default
        if not isinstance(store, dict) or not isinstance(data_dir, str):
            return data
        url, key = store.get("url") or STORE_URL, store.get("key") or default_key(data_dir)
        if isinstance(url, str):
            url = url.replace("${data_dir}", data_dir)
        return {**data, "store": {**store, "url": url, "key": key}}

    @model_validator(mode="after")
    def _references_hold(self, info: ValidationInfo) -> Config:
        if not (info.context or {}).get("references_checked"):
            faults = find_faults(self.model_dump(mode="python"))
            if faults:
                raise ValueError("; ".join(f"{'.'.join(path)} {text}" for path, text in faults))
        return self

    @property
    def engine_entries(self) -> Mapping[str, EngineEntry]:
        """The engines that are in force: those configured, or the keyless one where none are."""
        return default_engines() if self.engines is None else self.engines

    def find_model(self, name: str) -> str | None:
        """
        Return the entry of ``models`` that a client's model name stands for, or None.

        The name itself comes first, then aliases in file order, then ``default_model``.
        """
        if name in self.models:
            return name
        for entry_name, entry in self.models.items():
            if any(fnmatchcase(name, alias) for alias in entry.aliases):
                return entry_name
        return self.default_model


def default_engines() -> dict[str, EngineEntry]:
    """Return the engines of a configuration that does not speak of engines."""
    return {"ddgs": EngineEntry(type="ddgs")}
