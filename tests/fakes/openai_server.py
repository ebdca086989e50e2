"""What Chat Completions and Embeddings send, well and badly."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import takewhile
from typing import Any, TypeAlias

from core.dialogue import Stop
from tests.fakes.http_server import Answer, Asked, Break, failure
from tests.fakes.tool_calls import Call, Result

Body: TypeAlias = Mapping[str, Any]

PATH = "/v1/chat/completions"
_STOPS = {Stop.END: "stop", Stop.LENGTH: "length", Stop.REFUSED: "content_filter"}
_KINDS = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    402: ("insufficient_credit", None),
    403: ("invalid_request_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
}
CONTEXT_TOO_LONG = "This model's maximum context length is 8192 tokens. Please reduce the length of the messages."


def _frame(data: object) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


def _chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
    return _frame({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})


PING = b": PROCESSING\n\n"
GARBLED = b'data: {"id": "c1", "choi\n\n'


def opening() -> list[bytes]:
    """What comes before the first text: reasoning in every manner that servers have."""
    return [
        _chunk({"role": "assistant", "content": ""}),
        PING,
        _chunk({"reasoning_content": "SECRET THOUGHT"}),
        _chunk({"reasoning": "SECRET THOUGHT", "content": None}),
        *(_chunk({"content": piece}) for piece in ("\n<th", "ink>SECRET", " THOUGHT</th", "ink>\n\n")),
    ]


def texts(pieces: Sequence[str]) -> list[bytes]:
    """Pieces of the answer."""
    return [_chunk({"content": piece}) for piece in pieces]


def closing(reason: str) -> list[bytes]:
    """The finish reason, then the usage in an event without choices."""
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 9,
        "total_tokens": 109,
        "prompt_tokens_details": {"cached_tokens": 50},
        "completion_tokens_details": {"reasoning_tokens": 4},
    }
    return [_chunk({}, reason), _frame({"id": "c1", "choices": [], "usage": usage}), b"data: [DONE]\n\n"]


def says(*pieces: str, stop: Stop = Stop.END) -> Answer:
    """A whole answer, with thinking before it: 100 tokens in, 50 of them cached, 9 out, 4 thought."""
    return Answer(frames=[*opening(), *texts(pieces), *closing(_STOPS[stop])])


class Manner(StrEnum):
    """How a server streams tool calls."""

    PIECES = "in pieces that have an index"
    REPEATED = "in pieces that all have index, id and name"
    UNINDEXED = "in pieces without an index"
    WHOLE = "each whole, with index 0"
    TOGETHER = "all in one piece, without index"
    NAMELESS = "each whole, without index and id"
    OBJECTS = "each whole, its arguments an object"


def calls(
    *made: Call,
    text: str = "",
    stop: Stop = Stop.END,
    cut: int | None = None,
    ending: Break = Break.NOT,
    manner: Manner = Manner.PIECES,
    reason: str = "tool_calls",
) -> Answer:
    """An answer with tool calls after its text; of all events of the calls only the first `cut`, and then no end."""
    frames = [_chunk({"tool_calls": pieces}) for pieces in _pieces(made, manner)]
    before = [*opening(), *texts([text] if text else [])]
    if cut is not None:
        return Answer(frames=[*before, *frames[:cut]], ending=ending, pings=PING)
    return Answer(frames=[*before, *frames, *closing(reason if stop is Stop.END else _STOPS[stop])])


def _pieces(made: Sequence[Call], manner: Manner) -> Iterator[list[dict[str, Any]]]:
    if manner is Manner.TOGETHER:
        yield [_entry(call, call.text, call.id) for call in made]
        return
    for index, call in enumerate(made):
        match manner:
            case Manner.WHOLE:
                yield [_entry(call, call.text, call.id) | {"index": 0}]
            case Manner.NAMELESS:
                yield [_entry(call, call.text)]
            case Manner.OBJECTS:
                yield [_entry(call, call.arguments, call.id) | {"index": index}]
            case _:
                place = {} if manner is Manner.UNINDEXED else {"index": index}
                yield [_entry(call, "", call.id) | place]
                for piece in call.pieces:
                    again = (
                        _entry(call, piece, call.id)
                        if manner is Manner.REPEATED
                        else {"function": {"arguments": piece}}
                    )
                    yield [again | place]


def _entry(call: Call, arguments: object, call_id: str = "") -> dict[str, Any]:
    named = {"id": call_id} if call_id else {}
    return {**named, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def adds(delta: dict[str, Any]) -> bytes:
    """An event with any other delta."""
    return _chunk(delta)


def offered(body: Body) -> list[str]:
    """The names of the tools in a request."""
    return [tool["function"]["name"] for tool in body.get("tools", ())]


def told(body: Body) -> list[Result]:
    """The results that end a request."""
    results = [Result(m["tool_call_id"], m["content"]) for m in takewhile(_is_result, reversed(body["messages"]))]
    return results[::-1]


def words(message: Body) -> str:
    """The text of a message."""
    return message["content"] or ""


def problem(body: Body) -> str:
    """What OpenAI would refuse in a request with tools, "" if nothing: a call is answered right after its message."""
    open_ids: set[str] = set()
    for message in body["messages"]:
        if _is_result(message):
            if message["tool_call_id"] not in open_ids:
                return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
            open_ids.remove(message["tool_call_id"])
            continue
        if open_ids:
            return f"an assistant message with 'tool_calls' must be followed by tool messages: {sorted(open_ids)}"
        made = message.get("tool_calls", ())
        if not made and not isinstance(message["content"], str):
            return "messages: content must be a string"
        if any(not isinstance(call["function"]["arguments"], str) for call in made):
            return "tool_calls: arguments must be a string"
        open_ids = {call["id"] for call in made}
    return "messages: calls without results" if open_ids else ""


def _is_result(message: Body) -> bool:
    return bool(message["role"] == "tool")


def refuses(words: str) -> Answer:
    """A refusal in OpenAI's newer manner: its own field, and a finish reason like any other."""
    return Answer(frames=[_chunk({"refusal": words}), *closing("stop")])


def breaks(*pieces: str, ending: Break = Break.NOT) -> Answer:
    """An answer that never says that it is done."""
    return Answer(frames=[*opening(), *texts(pieces)], ending=ending, pings=PING)


def garbles(*pieces: str) -> Answer:
    """An answer with an event that is not JSON."""
    return Answer(frames=[*opening(), *texts(pieces), GARBLED, *closing("stop")])


def errs(kind: str, *pieces: str) -> Answer:
    """An error inside the stream, after the pieces, as OpenRouter sends it."""
    code = {"overloaded_error": 529, "rate_limit_error": 429}.get(kind, 502)
    return Answer(
        frames=[*opening(), *texts(pieces), _frame({"error": {"code": code, "message": "SECRET: Overloaded"}})]
    )


def fails(status: int, message: str = "SECRET", headers: dict[str, str] | None = None) -> Answer:
    """An HTTP error in the vendor's form."""
    kind, code = _KINDS.get(status, ("server_error", None))
    return failure(status, {"error": {"message": message, "type": kind, "param": None, "code": code}}, headers)


def embedding(dims: int, *, shuffled: bool = False) -> Callable[[Asked], Answer]:
    """Answer with one vector a text, of any length but 1; equal texts get equal vectors."""

    def answer(asked: Asked) -> Answer:
        texts = asked.body["input"]
        rows = [
            {
                "object": "embedding",
                "index": index,
                "embedding": [1.0 + (hash((text, at)) % 1000) for at in range(dims)],
            }
            for index, text in enumerate(texts)
        ]
        if shuffled:
            rows.reverse()
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        body = {"object": "list", "model": asked.body["model"], "data": rows, "usage": usage}
        return Answer(body=json.dumps(body).encode())

    return answer
