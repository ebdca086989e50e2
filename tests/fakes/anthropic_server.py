"""What Anthropic's Messages API sends, well and badly."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from core.dialogue import Stop
from tests.fakes.http_server import Answer, Break, failure

PATH = "/v1/messages"
_STOPS = {Stop.END: "end_turn", Stop.LENGTH: "max_tokens", Stop.REFUSED: "refusal"}
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    422: "invalid_request_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}
CONTEXT_TOO_LONG = "prompt is too long: 1000042 tokens > 1000000 maximum"


def _frame(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


PING = _frame("ping")
GARBLED = b'event: content_block_delta\ndata: {"type": "content_block_delta", "del\n\n'


def opening() -> list[bytes]:
    """What comes before the first text: usage so far, and a block of thinking."""
    usage = {"input_tokens": 20, "cache_creation_input_tokens": 30, "cache_read_input_tokens": 50, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    return [
        _frame("message_start", message=message),
        PING,
        _frame("content_block_start", index=0, content_block={"type": "thinking", "thinking": "", "signature": ""}),
        _frame("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "SECRET THOUGHT"}),
        _frame("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "SECRET"}),
        _frame("content_block_stop", index=0),
        _frame("content_block_start", index=1, content_block={"type": "tool_use", "id": "t", "name": "x", "input": {}}),
        _frame("content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": '"SECRET TOOL"'}),
        _frame("content_block_stop", index=1),
        _frame("content_block_start", index=2, content_block={"type": "text", "text": ""}),
    ]


def texts(pieces: Sequence[str]) -> list[bytes]:
    """Pieces of the answer."""
    return [_frame("content_block_delta", index=2, delta={"type": "text_delta", "text": piece}) for piece in pieces]


def closing(reason: str) -> list[bytes]:
    """The stop reason and the final counts."""
    usage = {"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}}
    return [
        _frame("content_block_stop", index=2),
        _frame("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage=usage),
        _frame("message_stop"),
    ]


def says(*pieces: str, stop: Stop = Stop.END) -> Answer:
    """A whole answer, with thinking and a tool call before it: 100 tokens in, 50 of them cached, 9 out, 4 thought."""
    return Answer(frames=[*opening(), *texts(pieces), *closing(_STOPS[stop])])


def breaks(*pieces: str, ending: Break = Break.NOT) -> Answer:
    """An answer that never says that it is done."""
    return Answer(frames=[*opening(), *texts(pieces)], ending=ending, pings=PING)


def garbles(*pieces: str) -> Answer:
    """An answer with an event that is not JSON."""
    return Answer(frames=[*opening(), *texts(pieces), GARBLED, *closing("end_turn")])


def errs(kind: str, *pieces: str) -> Answer:
    """An error inside the stream, after the pieces."""
    error = {"type": kind, "message": "SECRET: Overloaded"}
    return Answer(frames=[*opening(), *texts(pieces), _frame("error", error=error)])


def fails(status: int, message: str = "SECRET", headers: dict[str, str] | None = None) -> Answer:
    """An HTTP error in the vendor's form."""
    error = {"type": _KINDS.get(status, "api_error"), "message": message}
    return failure(status, {"type": "error", "error": error, "request_id": "req_1"}, headers)
