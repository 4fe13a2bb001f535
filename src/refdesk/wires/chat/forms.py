"""One answer in its two forms: a whole completion as chunks, and chunks put together."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Raw

from refdesk.errors import UpstreamError, WireError
from refdesk.wires.base import Gathered
from refdesk.wires.document import Document, dump, elements, kind, members, plain, string
from refdesk.wires.sse import Decoder, encode, joined, one_line

_HEAD: Final = ("id", "created", "model", "service_tier", "system_fingerprint")
_TEXTS: Final = ("content", "reasoning_content", "reasoning", "refusal")
"""Members of a delta that are strung together; of the others the last one counts."""
_DONE: Final = b"[DONE]"
_BOM: Final = b"\xef\xbb\xbf"


def streamed(answer: bytes, asked: Document) -> bytes:
    """
    Write a whole completion as chunks; the usage only where it was asked for.

    Raises:
        UpstreamError: The answer is no JSON object with a list of choices (``bad_response``).
    """
    try:
        told = Document.read(answer.removeprefix(_BOM)).table()
        choices = [_opened(raw) for raw in elements(told.get("choices") or b"null")]
    except WireError as exc:
        raise UpstreamError(
            f"the upstream's answer is no chat completion: {exc}", fault="bad_response"
        ) from exc
    head: dict[str, Any] = {key: told[key] for key in _HEAD if key in told}
    head = {**head, "object": "chat.completion.chunk"}
    out: list[bytes] = []

    def send(place: Any, delta: dict[str, Any], reason: Any = None, **more: Any) -> None:
        choice = {"index": place, "delta": delta, "finish_reason": reason, **more}
        out.append(encode(one_line(plain(dump({**head, "choices": [choice]})))))

    for at, choice in enumerate(choices):
        place = choice.get("index", at)
        message = _opened(choice.get("message"))
        annotations = message.pop("annotations", None)
        texts = {name: message.pop(name) for name in _TEXTS if name in message}
        if calls := _list(message.get("tool_calls")):
            message["tool_calls"] = [{"index": n, **_opened(c)} for n, c in enumerate(calls)]
        send(place, {"role": "assistant", **message})
        for name in ("reasoning_content", "reasoning", "content", "refusal"):
            if string(texts.get(name)):
                send(place, {name: texts[name]})
        logprobs = {"logprobs": choice["logprobs"]} if "logprobs" in choice else {}
        last = {} if annotations is None else {"annotations": annotations}
        send(place, last, choice.get("finish_reason") or "stop", **logprobs)
    if "usage" in told and _wants_usage(asked):
        out.append(encode(one_line(plain(dump({**head, "choices": [], "usage": told["usage"]})))))
    out.append(encode(_DONE))
    return b"".join(out)


def gathered(stream: bytes, asked: Document) -> Gathered:
    """
    Put a stream of chunks together.

    Raises:
        UpstreamError: It holds no chunk of this wire, or nothing but an error.
    """
    head: dict[str, Any] = {}
    usage: Raw | None = None
    choices: dict[int, _Choice] = {}
    done = False
    decoder = Decoder()
    events = [*decoder.feed(stream)]
    if (rest := decoder.finish()) is not None:
        events.append(rest)
    for event in events:
        if event.data.startswith(_DONE):
            done = True
            continue
        try:
            chunk = Document.read(event.data).table()
        except WireError:
            continue
        if (error := chunk.get("error")) is not None and kind(error) == "object":
            said = string(_opened(error).get("message")) or "an error"
            raise UpstreamError(f"the upstream's stream ended in an error: {said}", fault="cut")
        head |= {key: chunk[key] for key in _HEAD if key in chunk}
        if kind(chunk.get("usage")) == "object":
            usage = chunk["usage"]
        for raw in _list(chunk.get("choices")):
            part = _opened(raw)
            place = bytes(part.get("index") or b"0")
            number = int(place) if place.isdigit() and len(place) < 6 else 0
            choices.setdefault(number, _Choice()).add(part)
    if not choices:
        raise UpstreamError("the upstream's stream holds no answer", fault="bad_response")
    whole: dict[str, Any] = {**head, "object": "chat.completion"}
    whole["choices"] = [choices[number].whole(number) for number in sorted(choices)]
    if usage is not None:
        whole["usage"] = usage
    ended = all(choice.reason is not None for choice in choices.values())
    return Gathered(body=plain(dump(whole)), complete=done or ended)


class _Choice:
    """What the chunks of one choice add up to."""

    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._texts: dict[str, list[Raw]] = {}
        self._annotations: list[Raw] = []
        self._calls: dict[int, dict[str, Any]] = {}
        self._arguments: dict[int, list[Raw]] = {}
        self.reason: Raw | None = None

    def add(self, choice: dict[str, Raw]) -> None:
        """Take what a chunk says of the choice."""
        if string(choice.get("finish_reason")):
            self.reason = choice["finish_reason"]
        for name, raw in _opened(choice.get("delta")).items():
            if name in _TEXTS:
                self._texts.setdefault(name, []).append(raw)
            elif name == "annotations":
                self._annotations += _list(raw)
            elif name == "tool_calls":
                for at, each in enumerate(_list(raw)):
                    self._add_call(at, _opened(each))
            elif kind(raw) != "null":
                self._message[name] = raw

    def _add_call(self, at: int, call: dict[str, Raw]) -> None:
        place = bytes(call.get("index") or b"%d" % at)
        number = int(place) if place.isdigit() and len(place) < 6 else at
        function = _opened(call.get("function"))
        if (piece := function.pop("arguments", None)) is not None:
            self._arguments.setdefault(number, []).append(piece)
        whole = self._calls.setdefault(number, {"function": {}})
        told = {name: raw for name, raw in call.items() if name not in ("index", "function")}
        whole |= {name: raw for name, raw in told.items() if kind(raw) != "null"}
        whole["function"] |= {name: raw for name, raw in function.items() if kind(raw) != "null"}

    def whole(self, number: int) -> dict[str, Any]:
        """Return the choice of a whole completion."""
        message: dict[str, Any] = {"role": "assistant", "content": None, **self._message}
        for name, texts in self._texts.items():
            if any(kind(text) == "string" for text in texts):
                message[name] = joined(texts)
        for at, call in self._calls.items():
            call["function"]["arguments"] = joined(self._arguments.get(at, []))
        if self._calls:
            message["tool_calls"] = [self._calls[at] for at in sorted(self._calls)]
        if self._annotations:
            message["annotations"] = self._annotations
        return {"index": number, "message": message, "finish_reason": self.reason}


def _wants_usage(asked: Document) -> bool:
    options = _opened(asked.get("stream_options"))
    wanted = options.get("include_usage")
    return wanted is not None and bytes(wanted) == b"true"


def _opened(raw: Raw | bytes | None) -> dict[str, Any]:
    return dict(members(raw)) if raw is not None and kind(raw) == "object" else {}


def _list(raw: Raw | None) -> list[Raw]:
    return elements(raw) if raw is not None and kind(raw) == "array" else []
