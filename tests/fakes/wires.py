"""The two wire protocols behind one face, so that one test holds both leaves to the same promise."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from core.dialogue import Prompt, PromptContext, PromptTurn, Stop, StreamEvent, Task, Tool
from core.ports import ChatModel
from core.providers.anthropic import AnthropicEndpoint
from core.providers.openai import OpenAIEmbedder, OpenAIEndpoint
from core.providers.streamed import ModelOptions
from core.types import JSONValue, Locale, MessageRole
from tests.fakes import anthropic_server, openai_server, responses_server
from tests.fakes.http_server import Answer, Break, LoopbackServer
from tests.fakes.tool_calls import Call, Result

KEY = "sk-SECRET-KEY"
WORDS = "minha senha é SECRET WORDS"


def prompt(
    text: str = WORDS,
    *,
    earlier: tuple[str, ...] = (),
    schema: dict[str, JSONValue] | None = None,
    system: str = "You are Elefante.",
    task: Task = Task.FINISH,
    tools: tuple[Tool, ...] = (),
) -> Prompt:
    """A question; `earlier` are the turns before it, the person's first."""
    roles = (MessageRole.USER, MessageRole.ASSISTANT)
    turns = [PromptTurn(roles[index % 2], said) for index, said in enumerate((*earlier, text))]
    context = PromptContext(task, Locale.PT, text, datetime(2026, 3, 14, tzinfo=UTC), choices=("Finish", "Question"))
    return Prompt(system, tuple(turns), context, schema, tools=tools)


async def gather(model: ChatModel, question: Prompt) -> list[StreamEvent]:
    """Every event of an answer."""
    async with model.stream(question) as events:
        return [event async for event in events]


def entries(body: Mapping[str, Any]) -> Any:
    """The conversation in a request of any protocol."""
    return body["messages"] if "messages" in body else body["input"]


def typed(body: Mapping[str, Any]) -> Any:
    """The form that a request of any protocol asks the answer to have; None: any."""
    own = body.get("output_config") or body.get("text") or {}
    return body.get("response_format") or own.get("format")


class Api(Protocol):
    """What the modules of answers have in common."""

    PATH: str
    CONTEXT_TOO_LONG: str

    def opening(self) -> list[bytes]: ...
    def texts(self, pieces: Sequence[str]) -> list[bytes]: ...
    def closing(self, reason: str) -> list[bytes]: ...
    def says(self, *pieces: str, stop: Stop = Stop.END) -> Answer: ...
    def breaks(self, *pieces: str, ending: Break = Break.NOT) -> Answer: ...
    def garbles(self, *pieces: str) -> Answer: ...
    def errs(self, kind: str, *pieces: str) -> Answer: ...
    def fails(self, status: int, message: str = "", headers: dict[str, str] | None = None) -> Answer: ...
    def calls(
        self, *made: Call, text: str = "", stop: Stop = Stop.END, cut: int | None = None, ending: Break = Break.NOT
    ) -> Answer: ...
    def offered(self, body: Mapping[str, Any]) -> list[str]: ...
    def told(self, body: Mapping[str, Any]) -> list[Result]: ...
    def words(self, message: Mapping[str, Any]) -> str: ...
    def problem(self, body: Mapping[str, Any]) -> str: ...


Endpoint = AnthropicEndpoint | OpenAIEndpoint


@dataclass
class Wire:
    """A leaf and the server that it talks to. `api` is the vendor's module of answers."""

    label: str
    api: Api
    server: LoopbackServer
    connect: Callable[..., Endpoint]

    def endpoint(self, **how: Any) -> Endpoint:
        """An account at the server."""
        how = {"responses": True, **how} if self.label == "responses" else how
        return self.connect(KEY, self.server.url + ("" if self.label == "anthropic" else "/v1"), **how)

    @asynccontextmanager
    async def model(self, **knobs: Any) -> AsyncIterator[ChatModel]:
        """A model of an account that retries nothing."""
        endpoint = self.endpoint(max_retries=0)
        try:
            yield endpoint.model(ModelOptions("m", **knobs))
        finally:
            await endpoint.aclose()


@asynccontextmanager
async def wire(label: str) -> AsyncIterator[Wire]:
    """A running server and its leaf."""
    server = LoopbackServer()
    async with server.running():
        if label == "anthropic":
            yield Wire(label, anthropic_server, server, AnthropicEndpoint)
        else:
            api = responses_server if label == "responses" else openai_server
            yield Wire(label, api, server, OpenAIEndpoint)


@asynccontextmanager
async def openai_embedder(server: LoopbackServer, **how: Any) -> AsyncIterator[OpenAIEmbedder]:
    """An embedder whose endpoint is the server."""
    async with server.running():
        endpoint = OpenAIEndpoint(KEY, f"{server.url}/v1", max_retries=0)
        made = OpenAIEmbedder(endpoint, "text-embedding-3-small", 8, **how)
        try:
            yield made
        finally:
            await made.close()
