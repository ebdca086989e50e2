"""What Chat Completions and Embeddings send, well and badly."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from core.dialogue import Stop
from tests.fakes.http_server import Answer, Asked, Break, failure

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
    """What comes before the first text: reasoning in every manner that servers have, and a tool call."""
    call = {"index": 0, "id": "t", "type": "function", "function": {"name": "x", "arguments": '"SECRET TOOL"'}}
    return [
        _chunk({"role": "assistant", "content": ""}),
        PING,
        _chunk({"reasoning_content": "SECRET THOUGHT"}),
        _chunk({"reasoning": "SECRET THOUGHT", "content": None}),
        _chunk({"tool_calls": [call]}),
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
    """A whole answer, with thinking and a tool call before it: 100 tokens in, 50 of them cached, 9 out, 4 thought."""
    return Answer(frames=[*opening(), *texts(pieces), *closing(_STOPS[stop])])


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
