"""
One request at the gateway, as a conversation with whoever does the work.

`exchange` yields commands and is sent replies; it does no I/O.  Its promises are the order of its
lines:

* the upstream is called exactly once, whatever became of the search;
* a failed search blocks nothing: the model gets what the client sent;
* what is searched is what a user said, and nothing that a client wrote in a user's stead;
* the client's search tool goes only after the material is in, or where the upstream is known not to
  take it;
* what we put into an earlier answer never reaches an upstream in our own form.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from refdesk.errors import Reason, WireError
from refdesk.gateway import answers, asking, history, material
from refdesk.gateway.route import Decision, Route
from refdesk.gateway.steps import Step, decide_step
from refdesk.gateway.undeclared import undeclared
from refdesk.providers import Rule
from refdesk.search.extracting import ExtractedQuery, extract_query
from refdesk.search.spoken import author_of
from refdesk.types import Attempt, WebAnswer, WebQuery
from refdesk.wires.base import (
    GatewaySearch,
    History,
    Kept,
    Marks,
    SearchTool,
    StreamRewriter,
    Wire,
)
from refdesk.wires.document import Document

_NO_TEXT: Final = "the last user message holds no text to search for"


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """What the configuration says about requests like this one."""

    decision: Decision
    mode: Literal["inject", "loop", "auto"] = "inject"
    accepts_tool: bool = True
    """Whether the upstream takes a declared search tool without an error."""
    accepts_source: str = ""
    """Who says so."""
    kept: Kept | None = Kept()  # noqa: RUF009 (frozen, and without state)
    """Which marks of hosted search in the history are this upstream's own; None: none."""
    always: bool = False
    """Whether each user turn counts as if the client had declared search."""
    keeps_threads: bool = False
    """Whether the upstream holds conversations of which only the end is sent (Messages)."""
    rule: Rule | None = None
    """What says that the model searches by itself, where it is a rule."""
    max_query_chars: int = 400
    completes: bool = False
    """Whether an assistant or MCP tool completes follow-ups that no rule can (``uses.search``)."""
    max_injected_chars: int = 16384
    max_snippet_chars: int = 500
    pages: int = 2


# Commands


@dataclass(frozen=True, slots=True)
class Recall:
    """Find what our marks stand for, and any earlier search of this conversation."""

    marks: Marks
    conversation: bytes
    """The conversation so far, where its wire says nothing about earlier searches; else empty."""


@dataclass(frozen=True, slots=True)
class Complete:
    """Have a follow-up completed that no rule could."""

    turns: Sequence[Mapping[str, Any]]
    """The last messages, with ``role`` and ``content``."""
    max_chars: int


@dataclass(frozen=True, slots=True)
class Search:
    """Search the web."""

    query: WebQuery
    engine: str | None
    pages: int
    conversation: bytes


@dataclass(frozen=True, slots=True)
class CallUpstream:
    """Send this document to the model.  ``outcome`` is what the response head says of search."""

    document: Document
    outcome: Outcome


# Replies


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was found.  ``earlier`` is the search of this very user text, if there was one."""

    history: History
    earlier: tuple[str, WebAnswer] | None = None
    """Its id, and what it gave."""


@dataclass(frozen=True, slots=True)
class Completed:
    """The query, completed or as it was."""

    query: ExtractedQuery


@dataclass(frozen=True, slots=True)
class SearchDone:
    """The search worked; ``id`` is 40 hex digits of its own."""

    id: str
    answer: WebAnswer


@dataclass(frozen=True, slots=True)
class SearchFailed:
    """The search gave nothing."""

    reason: Reason
    detail: str
    id: str = ""
    notices: tuple[str, ...] = ()
    attempts: tuple[Attempt, ...] = ()


@dataclass(frozen=True, slots=True)
class UpstreamAnswered:
    """The model answered.  ``body`` is None where a stream was asked for."""

    status: int
    body: bytes | None
    is_stream: bool = False
    """The body is a stream although one body was asked for."""


# Results


@dataclass(kw_only=True, slots=True)
class Outcome:
    """What became of search in one request.  It fills as the exchange goes on."""

    kind: Literal["none", "pass", "hosted", "gateway", "degraded"] = "none"
    reason: Reason | None = None
    detail: str = ""
    rule: str = ""
    query: str | None = None
    in_stead: str = ""
    """Why the gateway searched although the model can."""
    search_id: str | None = None
    answer: WebAnswer | None = None
    attempts: tuple[Attempt, ...] = ()
    injected_chars: int = 0
    unknown_citations: int = 0
    """Markers in a whole answer that name no source."""
    notices: list[str] = field(default_factory=list)

    def count_unknown(self, number: int) -> None:
        """Count markers that name no source."""
        self.unknown_citations += number

    def header(self) -> str:
        """Return the value of ``x-refdesk-search``."""
        if self.kind == "gateway" and self.answer is not None:
            engine = self.answer.engine
            return f"gateway; engine={engine}; results={len(self.answer.items)}"
        if self.kind == "degraded":
            return f"degraded; reason={self.reason}"
        return self.kind


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer for the client."""

    body: bytes
    outcome: Outcome
    gathered: bool = False
    """It was put together of a stream, and is JSON."""


@dataclass(frozen=True, slots=True)
class Relay:
    """A streamed answer: through the rewriter, or as it comes where there is none."""

    rewriter: StreamRewriter | None
    outcome: Outcome


Command = Recall | Complete | Search | CallUpstream
Reply = Recalled | Completed | SearchDone | SearchFailed | UpstreamAnswered


def exchange(
    asked: Document, *, wire: Wire, terms: Terms, sealer: history.Sealer
) -> Generator[Command, Reply, Answer | Relay]:
    """
    Carry one request through.

    Args:
        asked: The request as the client sent it, the model already under its upstream name.
        wire: The dialect it is written in.
        terms: What the configuration says.
        sealer: Seals rows and makes the label of the material.
    """
    outcome = Outcome()
    tool = wire.search_tool(asked)
    if tool is None and terms.always:
        tool = undeclared(asked)
        terms = replace(terms, accepts_tool=True)  # there is none to be taken out
    route, outcome.in_stead = route_for(terms, tool)
    if tool is not None and route is Route.GATEWAY and wire.needs_thread(asked):
        raise thread_refusal()
    judge = None if route is Route.HOSTED else author_of
    conversation = wire.conversation(asked, judge)
    marks = wire.find_marks(asked)
    search: GatewaySearch | None = None

    # A history that carries no marks leaves it to our records whether this was searched.
    marked = wire.NAME != "chat" and tool is not None and tool.declared
    unmarked = not marked and tool is not None and route is Route.GATEWAY
    goes_on = conversation.ends_with_tool_output or bool(conversation.unasked)
    recalled = Recalled(History(rows={}, searches={}))
    if marks or (unmarked and goes_on):
        reply = yield Recall(marks, conversation.prefix if unmarked else b"")
        assert isinstance(reply, Recalled)
        recalled = reply
    document = wire.restore(asked, recalled.history, kept=terms.kept)
    if document is not asked:
        # What was restored may stand in the text that is asked for; a call that the upstream did
        # not make waits for nothing any more.
        now = wire.conversation(document, judge)
        conversation = replace(
            conversation, user_texts=now.user_texts, awaits_server_tool=now.awaits_server_tool
        )
    if tool is None or route is not Route.HOSTED:
        search = wire.earlier_search(asked, recalled.history, after=conversation.newest)

    step = decide_step(tool, conversation, searched_before=recalled.earlier is not None)
    outcome.rule = step.rule
    outcome.notices += asking.unasked(conversation)
    if tool is None:
        outcome.kind = "none"
    elif route is Route.HOSTED:
        outcome.kind = "hosted"
    elif route is Route.PASS or step.verdict == "no":
        outcome.kind = "pass"
        document = _drop_unwanted_tool(document, wire, terms, outcome)
    elif step.verdict == "reuse":
        outcome.kind = "pass"
        injected = None
        if recalled.earlier is not None:
            id_, found = recalled.earlier
            query = asking.query(document, wire, terms.max_query_chars).text
            query = query or extract_query(conversation.user_texts, terms.max_query_chars).text
            injected = _inject(
                document, wire, terms, outcome, sealer, tool, id_, found, query=query
            )
        if injected is not None:
            document, search = injected
        elif search is not None:
            document = _drop_used_tool(document, wire, tool, outcome)
        else:
            document = _drop_unwanted_tool(document, wire, terms, outcome)
    else:
        document, searched = yield from _search(
            document, wire, terms, outcome, sealer, tool, step, conversation.prefix
        )
        search = searched or search

    if search is not None and tool is not None and not tool.declared:
        search = replace(search, shown=False)
    reply = yield CallUpstream(document, outcome)
    assert isinstance(reply, UpstreamAnswered)
    dressing = answers.Dressing(
        wire=wire,
        asked=asked,
        search=search,
        limit=answers.limit_for(tool, wire, document) if search is None else None,
        notices=outcome.notices,
        on_unknown=outcome.count_unknown,
    )
    if reply.body is None:
        return Relay(dressing.stream(), outcome)
    if reply.status >= 400:
        return Answer(reply.body, outcome)
    body = dressing.whole(reply.body, is_stream=reply.is_stream)
    return Answer(body, outcome, gathered=reply.is_stream and body is not reply.body)


def route_for(terms: Terms, tool: SearchTool | None) -> tuple[Route, str]:
    """
    Return who searches for a declaration, and why it is the gateway although the model can.

    A capability is known for the types of the tool that its evidence names, and a limit that the
    client set binds: what the provider is not known to do is done here, unless the operator chose.
    """
    decision = terms.decision
    if tool is not None and not tool.declared and decision.route is Route.HOSTED:
        # The provider would answer with blocks that the client did not ask to see.
        if decision.layer != "capability":
            return Route.PASS, ""
        return Route.GATEWAY, "the client did not declare the search that is done for it"
    if tool is None or decision.route is not Route.HOSTED or decision.layer != "capability":
        return decision.route, ""
    lacks = terms.rule.lacks(tool) if terms.rule is not None else ""
    return (Route.GATEWAY, lacks) if lacks else (decision.route, "")


def thread_refusal() -> WireError:
    """
    Return the refusal of a request whose conversation the provider's server holds.

    The official SDKs then send the conversation whole (anthropic 2.14.0, @anthropic-ai/sdk 1.14.0).
    """
    return WireError(
        "thread is not supported here: the model's upstream holds no conversations, or the search "
        "is done by this gateway; send the whole conversation in messages, without thread",
        param="thread",
        code="thread_unsupported_request",
    )


def _search(
    document: Document,
    wire: Wire,
    terms: Terms,
    outcome: Outcome,
    sealer: history.Sealer,
    tool: SearchTool,
    step: Step,
    prefix: bytes,
) -> Generator[Command, Reply, tuple[Document, GatewaySearch | None]]:
    extracted = asking.query(document, wire, terms.max_query_chars)
    if extracted.unresolved and terms.completes:
        reply = yield Complete(asking.turns(document, wire), terms.max_query_chars)
        assert isinstance(reply, Completed)
        extracted = reply.query
    outcome.notices += asking.notices(extracted)
    if not step.forced and (idle := asking.asks_nothing(extracted)):
        outcome.kind = "pass"
        outcome.rule = f"the user asks nothing to be looked up: {idle}"
        return _drop_unwanted_tool(document, wire, terms, outcome), None
    if terms.mode != "inject":
        outcome.notices.append(f"mode {terms.mode!r} is not available yet; the search was injected")
    if not extracted.text:
        why = f"nothing in the last user message is a user's question: {extracted.why}"
        _degrade(outcome, "no_query", why if extracted.why else _NO_TEXT)
        return _drop_unwanted_tool(document, wire, terms, outcome, tried=tool), None
    outcome.query = extracted.text
    reply = yield Search(
        _web_query(extracted.text, tool),
        terms.decision.engine,
        1 if tool.context_size == "low" else terms.pages,
        prefix,
    )
    if isinstance(reply, SearchDone):
        outcome.notices += reply.answer.notices
        outcome.attempts = reply.answer.attempts
        injected = _inject(
            document,
            wire,
            terms,
            outcome,
            sealer,
            tool,
            reply.id,
            reply.answer,
            query=extracted.text,
        )
        if injected is not None:
            outcome.kind = "gateway"
            return injected
        return _drop_unwanted_tool(document, wire, terms, outcome, tried=tool), None
    assert isinstance(reply, SearchFailed)
    outcome.notices += reply.notices
    outcome.attempts = reply.attempts
    outcome.search_id = reply.id or None
    _degrade(outcome, reply.reason, reply.detail)
    if step.forced and reply.reason == "no_results" and reply.id:
        # The client insists on a search, and there was one: it shows as one without results.
        empty = GatewaySearch(id=reply.id, query=extracted.text)
        return _drop_used_tool(document, wire, tool, outcome), empty
    return _drop_unwanted_tool(document, wire, terms, outcome, tried=tool), None


def _inject(
    document: Document,
    wire: Wire,
    terms: Terms,
    outcome: Outcome,
    sealer: history.Sealer,
    tool: SearchTool,
    id_: str,
    answer: WebAnswer,
    *,
    query: str,
) -> tuple[Document, GatewaySearch] | None:
    low = tool.context_size == "low"
    try:
        rendered = material.render(
            answer.items,
            query=query,
            answer=answer.answer,
            marker=lambda data: history.marker(data, sealer),
            max_chars=terms.max_injected_chars // 2 if low else terms.max_injected_chars,
            max_snippet_chars=terms.max_snippet_chars,
            cite=not wire.wants_json(document),
        )
        if rendered is None:
            _degrade(outcome, "injection_failed", "no result fits under max_injected_chars")
            return None
        injected = wire.inject(document, rendered.text)
        injected = _drop_used_tool(injected, wire, tool, outcome)
        search = GatewaySearch(
            id=id_,
            query=query,
            sources=history.seal_sources(answer.items[: rendered.count], sealer),
        )
    except WireError as exc:
        _degrade(outcome, "injection_failed", str(exc))
        return None
    except Exception as exc:
        # Whatever a page may hold that nobody thought of: the request goes on without it.
        _degrade(outcome, "injection_failed", answers.fault(exc))
        return None
    outcome.search_id = id_
    outcome.answer = answer
    outcome.injected_chars = len(rendered.text)
    return injected, search


def _degrade(outcome: Outcome, reason: Reason, detail: str) -> None:
    outcome.kind = "degraded"
    outcome.reason = reason
    outcome.detail = detail


def _drop_used_tool(document: Document, wire: Wire, tool: SearchTool, outcome: Outcome) -> Document:
    """Take the tool out after its search, and with it a demand that the search has met."""
    if not tool.declared:
        return document
    if tool.choice == "required" and not tool.alone:
        outcome.notices.append(
            "the tool choice that demands some tool was lifted: the search that it could mean was "
            "done here"
        )
    return wire.strip_search_tool(document, searched=True)


def _drop_unwanted_tool(
    document: Document,
    wire: Wire,
    terms: Terms,
    outcome: Outcome,
    *,
    tried: SearchTool | None = None,
) -> Document:
    """Take the tool out where the upstream is known not to take it; ``tried`` if we searched."""
    if terms.accepts_tool:
        return document
    outcome.notices.append(
        "the search tool was taken out, since the upstream does not take it: "
        + terms.accepts_source
    )
    if tried is not None:
        return _drop_used_tool(document, wire, tried, outcome)
    return wire.strip_search_tool(document)


def _web_query(text: str, tool: SearchTool) -> WebQuery:
    return WebQuery(
        text=text,
        sites=tool.allowed_domains,
        blocked_sites=tool.blocked_domains,
        location=tool.location,
        context_size=tool.context_size,
    )


def refusing(terms: Terms) -> Terms:
    """Return the terms for an upstream that was seen to refuse the tool."""
    return replace(
        terms, accepts_tool=False, accepts_source="it answered 400 to one that carried it"
    )
