"""What OpenAI's Responses API sends, well and badly."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, TypeAlias

from core.dialogue import Stop
from tests.fakes.http_server import Answer, Break
from tests.fakes.openai_server import CONTEXT_TOO_LONG, fails
from tests.fakes.tool_calls import Call, Result

Body: TypeAlias = Mapping[str, Any]

__all__ = [
    "CONTEXT_TOO_LONG",
    "PATH",
    "breaks",
    "calls",
    "closing",
    "errs",
    "fails",
    "garbles",
    "offered",
    "opening",
    "problem",
    "says",
    "texts",
    "told",
    "words",
]

PATH = "/v1/responses"
PING = b": keepalive\n\n"
GARBLED = b'event: response.output_text.delta\ndata: {"type": "resp\n\n'
THOUGHT: dict[str, Any] = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [],
    "encrypted_content": "SEALED",
    "status": None,
}
_REASONS = {Stop.LENGTH: "max_output_tokens", Stop.REFUSED: "content_filter"}


def _event(kind: str, **data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


def _done(item: Mapping[str, Any]) -> bytes:
    return _event("response.output_item.done", output_index=0, item=item)


def opening() -> list[bytes]:
    """What comes before the first text: the model thinks."""
    return [
        _event("response.created", response={"id": "r", "status": "in_progress", "usage": None, "error": None}),
        PING,
        _event("response.in_progress", response={"id": "r", "status": "in_progress"}),
        _event("response.output_item.added", output_index=0, item={**THOUGHT, "encrypted_content": None}),
        _event("response.reasoning_summary_text.delta", delta="SECRET THOUGHT"),
        _done(THOUGHT),
    ]


def texts(pieces: Sequence[str]) -> list[bytes]:
    """Pieces of the answer."""
    return [_event("response.output_text.delta", item_id="m", content_index=0, delta=piece) for piece in pieces]


def closing(reason: str) -> list[bytes]:
    """The end; `reason` is "" for a whole answer. The usage is in it."""
    usage = {
        "input_tokens": 100,
        "output_tokens": 9,
        "total_tokens": 109,
        "input_tokens_details": {"cached_tokens": 50},
        "output_tokens_details": {"reasoning_tokens": 4},
    }
    if not reason:
        return [_event("response.completed", response={"status": "completed", "usage": usage, "error": None})]
    ended = {"status": "incomplete", "usage": usage, "incomplete_details": {"reason": reason}}
    return [_event("response.incomplete", response=ended)]


def says(*pieces: str, stop: Stop = Stop.END) -> Answer:
    """A whole answer, with thinking before it: 100 tokens in, 50 of them cached, 9 out, 4 thought."""
    return Answer(frames=[*opening(), *texts(pieces), *closing(_REASONS.get(stop, ""))])


def calls(
    *made: Call, text: str = "", stop: Stop = Stop.END, cut: int | None = None, ending: Break = Break.NOT
) -> Answer:
    """An answer with tool calls after its text; of all events of the calls only the first `cut`, and then no end."""
    frames = [frame for call in made for frame in _called(call, is_cut=stop is Stop.LENGTH)]
    before = [*opening(), *texts([text] if text else [])]
    if cut is not None:
        return Answer(frames=[*before, *frames[:cut]], ending=ending, pings=PING)
    return Answer(frames=[*before, *frames, *closing(_REASONS.get(stop, ""))])


def _called(call: Call, *, is_cut: bool) -> list[bytes]:
    item = {"type": "function_call", "id": f"fc_{call.id}", "call_id": call.id, "name": call.name, "arguments": ""}
    pieces = [_event("response.function_call_arguments.delta", delta=piece) for piece in call.pieces]
    whole = item | {"arguments": call.text, "status": "incomplete" if is_cut else "completed"}
    return [_event("response.output_item.added", item=item), *pieces, _done(whole)]


def offered(body: Body) -> list[str]:
    """The names of the tools in a request."""
    return [tool["name"] for tool in body.get("tools", ())]


def told(body: Body) -> list[Result]:
    """The results that end a request."""
    results = [Result(item["call_id"], item["output"]) for item in takewhile(_is_result, reversed(body["input"]))]
    return results[::-1]


def words(message: Body) -> str:
    """The text of an item."""
    return str(message.get("content") or "")


def problem(body: Body) -> str:
    """What OpenAI would refuse in a request with tools, "" if nothing: each call is answered, and none is unknown."""
    made = [item["call_id"] for item in body["input"] if item.get("type") == "function_call"]
    answered = [item["call_id"] for item in body["input"] if _is_result(item)]
    if made != answered:
        return f"No tool output found for function call {sorted(set(made) ^ set(answered))}."
    for item in body["input"]:
        if item.get("type") == "reasoning" and not item.get("encrypted_content"):
            return "Item 'rs_1' not found. Items are not persisted when `store` is set to false."
        if "status" in item:
            return "Unknown parameter: 'input[1].status'."
    return ""


def _is_result(item: Body) -> bool:
    return bool(item.get("type") == "function_call_output")


def refuses(said: str) -> Answer:
    """A refusal in pieces of its own."""
    return Answer(frames=[_event("response.refusal.delta", delta=said), *closing("")])


def breaks(*pieces: str, ending: Break = Break.NOT) -> Answer:
    """An answer that never says that it is done."""
    return Answer(frames=[*opening(), *texts(pieces)], ending=ending, pings=PING)


def garbles(*pieces: str) -> Answer:
    """An answer with an event that is not JSON."""
    return Answer(frames=[*opening(), *texts(pieces), GARBLED, *closing("")])


def errs(kind: str, *pieces: str) -> Answer:
    """An error inside the stream, after the pieces."""
    known = {"rate_limit_error": "rate_limit_exceeded", "overloaded_error": "server_is_overloaded"}
    code = known.get(kind, "server_error")
    error = {"code": code, "message": "SECRET: Overloaded"}
    return Answer(frames=[*opening(), *texts(pieces), _event("response.failed", response={"error": error})])
