"""The sections of the configuration that the library, the assistants and their sources read."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from refdesk.config.fields import (
    ChunkChars,
    Count,
    Flag,
    Headers,
    Listed,
    OpenSection,
    Positive,
    RayAddress,
    Secret,
    Section,
    Share,
    Text,
    WebUrl,
    Weight,
    Zone,
)


class WebSearch(Section):
    """Web search by the library."""

    engine: Text | None = Field(default=None, description="The engine to ask, by its name.")
    max_results: Positive = Field(default=10, description="How many results.")
    api_key_env: Text | None = Field(
        default=None, description="The environment variable that holds the key for `provider`."
    )
    provider: Text | None = Field(
        default=None, description="An engine plugin to use without an `engines` entry."
    )


class KnowledgeSearch(Section):
    """Search in collections."""

    collections: tuple[Text, ...] = Field(
        default=(), description="The collections searched by default."
    )
    threshold: Share | None = Field(
        default=None, description="Scores below are cut; unset: no cut."
    )
    graph: Flag = Field(default=False, description="Whether neighbours in the graph are added.")


class DatabaseSearch(Section):
    """Search in databases."""

    models: tuple[Text, ...] = Field(default=(), description="The models searched by default.")
    max_results: Positive = Field(default=20, description="How many rows.")
    timezone: Zone | None = Field(
        default=None,
        description="Where dates are read; unset: the offset of `REFDESK_NOW` or the system.",
    )


class KeywordStep(Section):
    """Keywords taken from a question."""

    max_keywords: Positive = Field(default=10, description="How many keywords at most.")
    language: Text = Field(default="auto", description="The language of the text, or `auto`.")


class QueryDslStep(Section):
    """Questions made into database queries."""

    strict: Flag = Field(
        default=False, description="Whether a query that cannot be made is an error."
    )


class RerankStep(Section):
    """Ordering of what was found."""

    top_n: Positive = Field(default=10, description="How many items are kept.")


class CitationStep(Section):
    """How answers cite."""

    format: Text = Field(default="#ref:{id}", description="The form of a citation.")
    auto_inject_prompt: Flag = Field(
        default=True,
        description="Whether the model is told how to cite; false leaves the prompt empty.",
    )
    custom_prompt: str | None = Field(default=None, description="Said instead, unchanged.")


class Weights(Section):
    """What a result counts, by who asked for it."""

    user: Weight = Field(default=1.0, description="Asked for by the user.")
    hook: Weight = Field(default=0.8, description="Asked for by a hook.")
    auto: Weight = Field(default=0.6, description="Found by automatic search.")


class SearchOptions(Section):
    """Further options."""

    skip_threshold: Count = Field(
        default=5, description="From this many results on, automatic search is skipped."
    )


class LibrarySection(Section):
    """Search by the library and the assistants; assistants and requests may override it."""

    web: WebSearch = Field(default=WebSearch(), description="Web search.")
    kb: KnowledgeSearch = Field(default=KnowledgeSearch(), description="Collections.")
    db: DatabaseSearch = Field(default=DatabaseSearch(), description="Databases.")
    keyword: KeywordStep = Field(default=KeywordStep(), description="Keywords.")
    querydsl: QueryDslStep = Field(default=QueryDslStep(), description="Database queries.")
    rerank: RerankStep = Field(default=RerankStep(), description="Ordering.")
    citation: CitationStep = Field(default=CitationStep(), description="Citations.")
    weights: Weights = Field(default=Weights(), description="What results count.")
    options: SearchOptions = Field(default=SearchOptions(), description="Further options.")


class UsesSection(Section):
    """Who does which step: `builtin`, an assistant's id, or `mcp:<server>.<tool>`."""

    search: Text = Field(
        default="builtin", description="Automatic search; `disabled` switches it off."
    )
    web: Text = Field(default="builtin", description="Web search.")
    keyword: Text = Field(default="builtin", description="Keywords.")
    querydsl: Text = Field(default="builtin", description="Database queries.")
    rerank: Text = Field(default="builtin", description="Ordering.")


class EmbedderEntry(OpenSection):
    """An embedder.  Every key but ``type`` belongs to the plugin; a bare name is its type."""

    type: Text = Field(description="An embedder plugin: `minilm`, `e5`, `openai`.")


def _named(value: Any) -> Any:
    return {"type": value} if isinstance(value, str) else value


_NAME_OR_TYPED = WithJsonSchema(
    {
        "anyOf": [
            {"type": "string"},
            {
                "type": "object",
                "properties": {"type": {"type": "string"}},
                "required": ["type"],
                "additionalProperties": True,
            },
        ]
    }
)

Embedder = Annotated[EmbedderEntry, BeforeValidator(_named), _NAME_OR_TYPED]


class VectorStoreEntry(OpenSection):
    """Where vectors are kept.  Every key but ``type`` belongs to the plugin; a bare name is it."""

    type: Text = Field(description="A vector store plugin: `lance`, `milvus`.")


VectorStore = Annotated[VectorStoreEntry, BeforeValidator(_named), _NAME_OR_TYPED]


class CollectionEntry(Section):
    """A knowledge collection."""

    embedder: Embedder = Field(
        default_factory=lambda: EmbedderEntry(type="minilm"),
        description="A plugin's name, or a mapping: `{type: openai, base_url, model, api_key}`.",
    )
    language: Text = Field(default="auto", description="The language of its texts, or `auto`.")
    graph: Flag = Field(default=False, description="Whether entities and relations are kept.")
    extractor: Text = Field(
        default="builtin",
        description=(
            "Who finds entities: `builtin` (names by their form), an assistant's id, or "
            "`mcp:<server>.<tool>`."
        ),
    )
    entity_types: tuple[Text, ...] = Field(
        default=(), description="What a model looks for; unset: persons, organizations, …"
    )
    chunk_chars: ChunkChars = Field(
        default=1000, description="How long a chunk is, in characters: 50 to 20,000."
    )
    permission: Any = Field(default=None, description="Who may read it; unset: everyone.")


class IngestSection(Section):
    """Where documents are read and embedded."""

    ray: RayAddress | None = Field(
        default=None,
        description=(
            "A Ray cluster: `auto`, `host:6379` or `ray://host:10001`; `local` starts one on this "
            "machine.  Unset: this process, and those it starts."
        ),
    )


class ModelPermission(Section):
    """What of a model may be read."""

    rows: tuple[dict[str, Any], ...] = Field(
        default=(),
        description="QueryDSL conditions, joined by AND; `{user.…}` is the asker's claim.",
    )
    hidden: tuple[Text, ...] = Field(
        default=(), description="Columns that never leave, not even in conditions."
    )


class Limits(Section):
    """The bounds of one database search."""

    rows: Positive = Field(default=1000, description="How many rows at most.")
    bytes: Positive = Field(default=4194304, description="How many bytes at most.")
    seconds: Weight = Field(default=5.0, description="How long it may take.")


class DatabaseEntry(Section):
    """A database."""

    url: Text = Field(repr=False, description="Any SQLAlchemy URL.")
    models: Annotated[tuple[Text, ...], Listed] = Field(
        default=("reflect",),
        description="`reflect`, or a list of model files: `models/*.mod.yaml`.",
    )
    permission: dict[Text, ModelPermission] = Field(
        default_factory=dict, description="Per model; nothing listed: readable by everyone."
    )
    limits: Limits = Field(default=Limits(), description="The bounds of one search.")


class McpServerEntry(Section):
    """An MCP server: a command to start, or a URL to call."""

    command: Text | None = Field(default=None, description="The program to start.")
    args: tuple[str, ...] = Field(default=(), repr=False, description="Its arguments.")
    env: dict[str, Secret] = Field(default_factory=dict, description="Its environment.")
    url: WebUrl | None = Field(default=None, repr=False, description="Where it answers.")
    headers: Headers = Field(default_factory=dict, description="Headers sent to it.")

    @model_validator(mode="after")
    def _one_way(self) -> McpServerEntry:
        if (self.command is None) == (self.url is None):
            raise ValueError("should have either a command or a url")
        return self
