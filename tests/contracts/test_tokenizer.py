"""What every way to count tokens promises; and Claude's own count, over a real socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.history.tokens import TOKENIZERS
from core.ports import Tokenizer
from core.providers.anthropic import AnthropicTokenizer
from core.types import Message, MessageRole


class Counter(HTTPServer):
    """Counts words as Anthropic's endpoint would count tokens; or answers `status`."""

    status = 200
    asked: list[Any]


class _Answer(BaseHTTPRequestHandler):
    server: Counter

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(asked)
        words = len(asked["messages"][0]["content"].split()) + 7
        body = json.dumps({"input_tokens": words} if self.server.status == 200 else {"type": "error"}).encode()
        self.send_response(self.server.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def counter() -> Iterator[Counter]:
    server = Counter(("127.0.0.1", 0), _Answer)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module", params=[*TOKENIZERS, "anthropic"])
def tokenizer(request: pytest.FixtureRequest, counter: Counter) -> Iterator[Tokenizer]:
    if request.param != "anthropic":
        yield TOKENIZERS[request.param]()
        return
    asking = AnthropicTokenizer("key", f"http://127.0.0.1:{counter.server_port}", "claude-x")
    yield asking
    asking.close()


HOSTILE = ["", " ", "\x00", "\ud800", "\ufdfa" * 10, "a" * 5_000, "🐘" * 500, "<|endoftext|>", "Olá, me chamo Edmar"]


@pytest.mark.spec("H1")
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
def test_whatever_the_text_it_is_counted(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.count(text) >= 0
    assert tokenizer.count(text) == tokenizer.count(text)
    assert tokenizer.name


@pytest.mark.spec("H1")
def test_a_list_of_messages_is_counted_with_what_each_of_them_costs(tokenizer: Tokenizer) -> None:
    talk = [
        Message(MessageRole.SYSTEM, "be brief"),
        Message(MessageRole.USER, "Olá, como vai?"),
        Message(MessageRole.ASSISTANT, "", pair="1"),
        Message(MessageRole.TOOL, {"at": [1, 2]}, pair="1"),
    ]
    each = [tokenizer.count(text) for text in ("be brief", "Olá, como vai?", "", '{"at":[1,2]}')]
    assert tokenizer.count_tokens(talk) == sum(each)
    assert tokenizer.count_tokens(talk[:2]) == each[0] + each[1]
    assert tokenizer.count_tokens([]) == 0


@pytest.mark.spec("H1")
def test_the_providers_own_count_is_taken(counter: Counter) -> None:
    counter.status = 200
    asking = AnthropicTokenizer("key", f"http://127.0.0.1:{counter.server_port}", "claude-x")
    assert asking.count("three words here") == 10
    assert counter.asked[-1]["model"] == "claude-x"
    asking.close()


@pytest.mark.spec("H1")
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_a_provider_that_does_not_count_is_replaced_by_a_rule(counter: Counter, status: int) -> None:
    counter.status = status
    asking = AnthropicTokenizer("key", f"http://127.0.0.1:{counter.server_port}", "claude-x")
    asking._client.max_retries = 0
    assert asking.count("a" * 290) == 100
    asking.close()
    counter.status = 200


@given(st.text(max_size=60), st.text(max_size=60))
def test_more_text_is_never_cheaper_by_rule(text: str, more: str) -> None:
    for name in ("characters", "words"):
        counted = TOKENIZERS[name]()
        assert counted.count(text) <= counted.count(f"{text} {more}")
