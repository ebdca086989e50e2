"""Document 2's endpoint, over a real socket: `POST /api/chat/process` on loopback."""

from __future__ import annotations

import asyncio
import io
import json
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest

from adapters import http
from core.dialogue import Prompt, Task
from core.errors import ConfigError
from core.features.access.storage import Person
from core.types import Role, UserKey
from tests.fakes.clock import START
from tests.fakes.house import House, Script

REQUEST = {
    "message": "Olá, me chamo Edmar",
    "chatId": "chat_abc123",
    "userId": "60d5ec49f1a2c8b1f8e4e1a1",
    "sessionId": "session_001",
}


def reply(prompt: Prompt) -> str:
    name = re.search(r"me chamo (\w+)", "\n".join(turn.text for turn in prompt.turns))
    return f"Seu nome é {name[1]}!" if name else "Ainda não sei seu nome!"


SECRET = "a-secret-of-this-test"
SCRIPT: Script = {Task.DECIDE: ["Finish"], Task.FINISH: reply}


@dataclass
class Client:
    """Sends what it is told, as it is, and returns the status and the JSON that came back."""

    url: str
    session: aiohttp.ClientSession
    said: list[str] = field(default_factory=list)

    async def post(self, body: object, **headers: str) -> tuple[int, Any]:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.send("POST", raw, **{"Content-Type": "application/json"} | headers)

    async def send(self, method: str, raw: bytes = b"", **headers: str) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {SECRET}"} | headers
        async with self.session.request(method, self.url, data=io.BytesIO(raw), headers=headers) as response:
            return response.status, await response.json()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@asynccontextmanager
async def serving(house: House) -> AsyncIterator[Client]:
    """Serve on loopback. The one who is asked for in REQUEST was let in, and Ana too."""
    for user in (REQUEST["userId"], "ana"):
        await house.people.put(Person(UserKey(http.PLATFORM, user), Role.MEMBER, "x", START))
    port, stop, up = free_port(), asyncio.Event(), asyncio.Event()
    async with house.chatbot() as handler, aiohttp.ClientSession() as session:
        client = Client(http.address(port), session)

        def say(line: str) -> None:
            client.said.append(line)
            up.set()

        server = asyncio.create_task(http.run(port, handler, house.clock, stop, token=SECRET, say=say))
        await up.wait()
        try:
            yield client
        finally:
            stop.set()
            await server


@pytest.mark.spec("J6")
async def test_document_2s_requests_are_answered_in_its_form_and_the_second_knows_the_first() -> None:
    async with serving(House(SCRIPT)) as client:
        assert client.said == [f"Programs of this machine ask at {client.url}"]
        assert client.url.endswith("/api/chat/process")
        status, first = await client.post(REQUEST)
        assert (status, first["response"], first["sessionId"]) == (200, "Seu nome é Edmar!", "session_001")
        assert re.fullmatch(r"2026-03-14T15:09:\d\d\.\d{3}Z", first["timestamp"])
        assert set(first) == {"response", "sessionId", "timestamp"}
        status, second = await client.post(REQUEST | {"message": "Como é meu nome?", "sessionId": None})
        assert (status, second["response"]) == (200, "Seu nome é Edmar!")
        assert second["sessionId"] not in {"", "session_001"}
        assert (await client.post(REQUEST | {"message": "Como é meu nome?", "chatId": "another"}))[1]["response"] == (
            "Ainda não sei seu nome!"
        )


@pytest.mark.spec("T1", "J6")
async def test_who_accepts_lines_gets_every_message_as_it_is_said_and_the_answer_last() -> None:
    async with serving(House(SCRIPT)) as client:
        headers = {"Accept": "application/x-ndjson", "Authorization": f"Bearer {SECRET}"}
        async with client.session.post(client.url, json=REQUEST, headers=headers) as response:
            assert (response.status, response.content_type) == (200, "application/x-ndjson")
            *messages, answer = [json.loads(line) async for line in response.content]
        assert [(each["modal"], each["chat-history"], each["content"]) for each in messages] == [
            ("textForReplace", False, "IA está pensando..."),
            ("text", False, "Seu nome é Edmar!"),
        ]
        assert (answer["response"], answer["sessionId"]) == ("Seu nome é Edmar!", "session_001")
        async with client.session.post(client.url, json=REQUEST | {"message": ""}, headers=headers) as response:
            assert (response.status, (await response.json())["field"]) == (400, "message")


@pytest.mark.spec("J6")
@pytest.mark.parametrize(
    ("change", "field", "reason"),
    [
        ({"message": None}, "message", "missing: message"),
        ({"message": "  "}, "message", "missing: message"),
        ({"chatId": ""}, "chatId", "missing: chatId"),
        ({"userId": None, "chatId": None}, "chatId", "missing: chatId, userId"),
        ({"userId": 42}, "userId", "not text: userId"),
        ({"message": ["oi"]}, "message", "not text: message"),
        ({"sessionId": {}}, "sessionId", "not text: sessionId"),
        ({"chatId": "c" * 201}, "chatId", "200 characters"),
        ({"userId": "\ud800"}, "userId", "cannot be shown"),
        ({"threadId": "a b"}, "threadId", "3 to 64"),
    ],
)
async def test_a_field_that_is_missing_or_wrong_is_named(change: dict[str, Any], field: str, reason: str) -> None:
    async with serving(House(SCRIPT)) as client:
        status, told = await client.post(REQUEST | change)
        assert (status, told["field"]) == (400, field)
        assert reason in told["error"]
        assert (await client.post(REQUEST))[0] == 200


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"oi"', b"\xff", b"[" * 9000, b"1" * 5000])
async def test_what_is_no_json_object_is_refused_in_json(body: bytes) -> None:
    async with serving(House(SCRIPT)) as client:
        status, told = await client.post(body)
        assert (status, told["field"]) == (400, None)
        assert told["error"].startswith("the body is no JSON")


async def test_a_body_beyond_the_limit_is_refused_and_a_message_beyond_it_is_answered_in_words() -> None:
    house = House(SCRIPT)
    async with serving(house) as client:
        assert (await client.post(REQUEST | {"message": "a" * (1 << 20)}))[0] == 413
        status, told = await client.post(REQUEST | {"message": "a" * 40_000})
        assert status == 200
        assert "32000" in told["response"]
    assert not house.model.prompts


async def test_no_page_in_a_browser_can_ask_in_its_visitors_name() -> None:
    house = House(SCRIPT)
    async with serving(house) as client:
        raw = json.dumps(REQUEST).encode()
        assert (await client.send("POST", raw, **{"Content-Type": "text/plain"}))[0] == 415
        assert (await client.post(REQUEST, Host="evil.example"))[0] == 403
        assert (await client.send("OPTIONS", Origin="https://evil.example"))[0] == 405
        assert (await client.send("GET"))[0] == 405
    assert not house.model.prompts


@pytest.mark.spec("J6")
@pytest.mark.parametrize(
    "given",
    ["", "Bearer", "Bearer ", f"Bearer {SECRET}x", f"Bearer {SECRET[:-1]}", f"Basic {SECRET}", SECRET, "Bearer é"],
)
async def test_who_does_not_bring_the_token_is_nobody(given: str) -> None:
    house = House(SCRIPT)
    async with serving(house) as client:
        status, told = await client.post(REQUEST, Authorization=given)
        assert (status, told["error"]) == (401, "send the bot's HTTP_TOKEN: Authorization: Bearer TOKEN")
        assert (await client.post(REQUEST, Authorization=f"bearer {SECRET}"))[0] == 200


@pytest.mark.spec("J6")
async def test_who_was_not_let_in_is_refused_and_nobody_owns_the_bot_by_asking_here() -> None:
    house = House(SCRIPT)
    async with serving(house) as client:
        status, told = await client.post(REQUEST | {"userId": "stranger"})
        assert status == 200
        assert "não conhece você" in told["response"]
        status, told = await client.post(REQUEST | {"userId": "stranger"})
        assert (status, told["field"]) == (403, "userId")
        for command in ("/admin", "/admin export api:ana", "/admin users"):
            _, told = await client.post(REQUEST | {"message": command})
            assert told["response"] == "Só o dono deste bot pode fazer isso."
    assert not house.model.prompts


@pytest.mark.spec("D1", "J6")
async def test_a_thread_may_be_named_in_a_request() -> None:
    house = House(SCRIPT)
    async with serving(house) as client:
        await client.post(REQUEST | {"threadId": "work-1"})
        asked = REQUEST | {"message": "Como é meu nome?"}
        assert (await client.post(asked | {"threadId": "home-1"}))[1]["response"] == "Ainda não sei seu nome!"
        assert (await client.post(asked | {"threadId": "work-1"}))[1]["response"] == "Seu nome é Edmar!"
        status, told = await client.post(asked | {"threadId": "work-1", "userId": "ana"})
        assert status == 200
        assert told["response"] == "Esse identificador já é de outra conversa. Escolha outro."
    thread = await house.history.thread("work-1")
    assert thread is not None
    assert thread.metadata["origin"] == "api"


async def test_a_port_that_is_taken_is_named_with_its_setting() -> None:
    house = House(SCRIPT)
    async with serving(house) as client, house.chatbot() as handler:
        port = int(client.url.split(":")[2].partition("/")[0])
        with pytest.raises(ConfigError, match="HTTP_PORT: cannot listen"):
            await http.run(port, handler, house.clock, asyncio.Event(), token=SECRET, say=client.said.append)
