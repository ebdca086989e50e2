"""What Anthropic's Messages API sends, well and badly."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias

from core.dialogue import Stop
from tests.fakes.http_server import Answer, Break, failure
from tests.fakes.tool_calls import Call, Result

Body: TypeAlias = Mapping[str, Any]

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
_MOST_MARKS = 4
_LOOK_BACK = 20
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
    """A whole answer, with thinking before it: 100 tokens in, 50 of them cached, 9 out, 4 thought."""
    return Answer(frames=[*opening(), *texts(pieces), *closing(_STOPS[stop])])


def calls(
    *made: Call, text: str = "", stop: Stop = Stop.END, cut: int | None = None, ending: Break = Break.NOT
) -> Answer:
    """An answer with tool calls after its text; of all events of the calls only the first `cut`, and then no end."""
    frames = [frame for index, call in enumerate(made, 3) for frame in _call(index, call)]
    before = [*opening(), *texts([text] if text else []), _frame("content_block_stop", index=2)]
    if cut is not None:
        return Answer(frames=[*before, *frames[:cut]], ending=ending, pings=PING)
    return Answer(frames=[*before, *frames, *closing("tool_use" if stop is Stop.END else _STOPS[stop])[1:]])


def _call(index: int, call: Call) -> list[bytes]:
    block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
    pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *call.pieces)]
    return [
        _frame("content_block_start", index=index, content_block=block),
        *(_frame("content_block_delta", index=index, delta=delta) for delta in pieces),
        _frame("content_block_stop", index=index),
    ]


def offered(body: Body) -> list[str]:
    """The names of the tools in a request."""
    return [tool["name"] for tool in body.get("tools", ())]


def told(body: Body) -> list[Result]:
    """The results in the last message."""
    return [
        Result(block["tool_use_id"], block["content"], block.get("is_error", False))
        for block in body["messages"][-1]["content"]
        if block["type"] == "tool_result"
    ]


def words(message: Body) -> str:
    """The text of a message."""
    return "\n\n".join(block["text"] for block in message["content"] if block["type"] == "text")


def problem(body: Body) -> str:
    """What the API would refuse in a request with tools, "" if nothing.

    Source: Anthropic's guides: each call is answered in the next message, whose results come first; calls need tools;
    at most four breakpoints; no blank text; ids of letters, digits, `_` and `-`.
    """
    return next(_problems(body), "")


def _problems(body: Body) -> Iterator[str]:
    open_ids: set[str] = set()
    for message in body["messages"]:
        kinds = [block["type"] for block in message["content"]]
        results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        uses = [block for block in message["content"] if block["type"] == "tool_use"]
        if set(results) != open_ids or len(results) != len(open_ids):
            yield f"messages: tool_use ids {sorted(open_ids)} were answered by {sorted(results)}"
        if "tool_result" in kinds[len(results) :]:
            yield "messages: tool_result blocks must come first"
        if not kinds or not all(block.get("text", "-").strip() for block in message["content"]):
            yield "messages: text content blocks must be non-empty"
        if not all(isinstance(use["input"], dict) and re.fullmatch(r"[A-Za-z0-9_-]+", use["id"]) for use in uses):
            yield "messages: tool_use: input must be an object, and the id be of letters, digits, _ and -"
        if (uses or results) and not body.get("tools"):
            yield "messages: tool blocks need tools"
        open_ids = {use["id"] for use in uses}
    roles = [message["role"] for message in body["messages"]]
    if open_ids or roles[0] != "user" or roles[-1] != "user" or any(one == two for one, two in pairwise(roles)):
        yield "messages: roles must alternate, from user to user"
    marks = json.dumps([body.get("tools"), body.get("system"), body["messages"]]).count('"cache_control"')
    if marks > _MOST_MARKS:
        yield "a maximum of 4 blocks with cache_control may be provided"


class PrefixCache:
    """Count what a request reads from the cache and writes into it, in bytes, by Anthropic's rules.

    Source: Anthropic's guide to prompt caching. Tools, system and messages are one row of blocks. What stands before a
    breakpoint, it included, is written. A request reads the longest part that was written before and is identical; at
    each breakpoint, the last first, that block and up to 20 before it are looked at. Fewer than `least_bytes` are never
    written.
    """

    def __init__(self, least_bytes: int = 4096) -> None:
        self._least_bytes = least_bytes
        self._written: set[bytes] = set()

    def usage(self, body: Body) -> dict[str, int]:
        """Return the request's usage, in bytes instead of tokens, and keep what it writes."""
        blocks = list(_row(body))
        prefixes, length, digest = [], 0, hashlib.sha256(str(body["model"]).encode())
        for block, _ in blocks:
            length += len(block)
            digest.update(block + b"\0")
            prefixes.append((length, digest.digest()))
        marks = [at for at, (_, is_marked) in enumerate(blocks) if is_marked]
        found = (
            prefixes[at][0]
            for mark in reversed(marks)
            for at in range(mark, max(mark - _LOOK_BACK, 0) - 1, -1)
            if prefixes[at][1] in self._written
        )
        read = next(found, 0)
        kept = [prefixes[mark] for mark in marks if prefixes[mark][0] >= self._least_bytes]
        self._written |= {key for _, key in kept}
        written = max((end for end, _ in kept), default=read) - read
        return {
            "input_tokens": length - read - max(written, 0),
            "cache_creation_input_tokens": max(written, 0),
            "cache_read_input_tokens": read,
            "output_tokens": 1,
        }


def _row(body: Body) -> Iterator[tuple[bytes, bool]]:
    """Yield each block of a request, with its role, and whether it is a breakpoint."""
    settings = {name: body.get(name) for name in ("thinking", "output_config")}
    for part, blocks in (
        ("tools", body.get("tools", ())),
        ("system", body.get("system", ())),
        *((f"{message['role']} {settings}", message["content"]) for message in body["messages"]),
    ):
        for block in blocks:
            plain = {name: value for name, value in block.items() if name != "cache_control"}
            yield f"{part}{json.dumps(plain, ensure_ascii=False)}".encode(), "cache_control" in block


def counted(answer: Answer, usage: dict[str, int]) -> Answer:
    """The same answer with that usage in its first event."""
    assert answer.frames is not None
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    return replace(answer, frames=[_frame("message_start", message=message), *answer.frames[1:]])


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
