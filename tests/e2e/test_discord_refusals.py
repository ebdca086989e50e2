"""What Discord refuses for good, and answers that nobody understands: the person has the text, the bot goes on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web

from core.delivery.view import View
from core.outgoing import Button, OutgoingMessage
from core.types import Incoming
from tests.e2e.discord_kit import ANA, BIA, ME, ROOM, flow, running
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import Refused
from tests.fakes.handler import slowly
from tests.profile import long

REFUSALS = [(400, 50035), (403, 50013), (403, 160002), (404, 10008), (413, 40005)]
GONE = [(403, 50001)]
"""One of each kind; which codes are of which kind is in `tests/unit/test_platform_refusals.py`."""

GARBAGE = [b"<html>", b"null", b'{"id": "x"}']


async def answer(_: Incoming, view: View) -> None:
    await view.status("IA está pensando...")
    await view.show(OutgoingMessage("um **dois** três", choices=(Button("Desfazer", "/undo"),)))


class Front:
    """In front of the server: refuses or garbles calls of a method, by what they carry."""

    def __init__(self, server: DiscordServer, method: str, part: str) -> None:
        self._server, self._serve, self.method, self.part = server, server._serve, method, part
        self.refusal: tuple[int, int] | None = None
        self.body: bytes | None = None
        self.plain_goes = False
        self.done = False
        self.left = 1000
        server._serve = self.serve  # type: ignore[method-assign]

    async def serve(self, request: web.Request) -> web.StreamResponse:
        hit = request.method == self.method and self.part in request.path and self.left > 0
        if hit and self.plain_goes:
            given = await request.json()
            hit = bool(given.get("components") or given.get("embeds") or given.get("message_reference"))
            hit = hit and "três" in str(given.get("content"))
        if hit:
            self.left -= 1
            if self.done:
                await self._serve(request)
            if self.refusal is not None:
                status, code = self.refusal
                return _json(json.dumps(Refused(status, code, "no").body).encode(), status)
            assert self.body is not None
            return _json(self.body, 200)
        return await self._serve(request)


def _json(body: bytes, status: int) -> web.Response:
    return web.Response(status=status, body=body, headers={"Content-Type": "application/json"})


@pytest.mark.parametrize("refusal", [REFUSALS[0], *map(long, REFUSALS[1:]), *GONE], ids=str)
async def test_edits_that_are_refused_end_in_one_whole_message_and_no_stop_button(refusal: tuple[int, int]) -> None:
    clock = FakeClock()
    server = DiscordServer(clock)
    Front(server, "PATCH", "/messages").refusal = refusal
    async with server:
        channel = server.room(ROOM)
        async with running(server, clock, slowly(clock, "um dois três", 3.0)) as bot:
            await bot.answers(server.says(ANA, f"{ME} conte", room=ROOM))
            if refusal in GONE:
                assert bot.handler.failures
            else:
                assert channel.screen() == ["um dois três"]
            assert not any(note.buttons for note in channel.notes.values())


@pytest.mark.parametrize("refusal", [REFUSALS[0], *map(long, REFUSALS[1:])], ids=str)
async def test_an_answer_refused_in_its_form_is_there_once_as_plain_text(refusal: tuple[int, int]) -> None:
    clock = FakeClock()
    server = DiscordServer(clock)
    posts, edits = Front(server, "POST", "/messages"), Front(server, "PATCH", "/messages")
    posts.refusal = edits.refusal = refusal
    posts.plain_goes = True
    async with server:
        server.room(ROOM)
        async with running(server, clock, answer) as bot:
            await bot.answers(server.says(ANA, f"{ME} conte", room=ROOM))
            assert server.room(ROOM).screen() == ["um **dois** três"]
            edits.left = posts.left = 0
            await bot.answers(server.says(BIA, "conte"))
            assert server.direct(BIA).screen() == ["um **dois** três"]


@pytest.mark.parametrize("body", [GARBAGE[0], *map(long, GARBAGE[1:])], ids=lambda body: str(body[:20]))
@pytest.mark.parametrize("method", ["POST", "PATCH"])
@pytest.mark.parametrize("done", [True, False])
async def test_an_answer_nobody_understands_is_repeated_once_and_the_bot_goes_on(
    body: bytes, method: str, *, done: bool
) -> None:
    clock = FakeClock()
    server = DiscordServer(clock)
    front = Front(server, method, "/messages")
    front.body, front.done = body, done
    async with server, running(server, clock, answer) as bot:
        await bot.answers(server.says(ANA, "conte"))
        screen = server.direct(ANA).screen()
        assert sum("três" in text for text in screen) <= 1  # a nonce finds what is there already
        assert done or method == "PATCH" or not screen
        front.left = 0
        await bot.answers(server.says(BIA, "conte"))
        assert server.direct(BIA).screen() == ["um **dois** três"]
        assert not bot.task.done()


@pytest.mark.parametrize("refusal", [(400, 50035), (404, 10015), (401, 50027)], ids=str)
async def test_a_slash_command_whose_answer_is_refused_is_answered_elsewhere_and_thinks_no_more(
    refusal: tuple[int, int],
) -> None:
    clock = FakeClock()
    server = DiscordServer(clock)
    front = Front(server, "PATCH", "/webhooks")
    front.refusal = refusal
    async with server:
        server.room(ROOM)
        async with running(server, clock, answer) as bot:
            asked = await server.interactions.command(ANA, "ask", room=ROOM, message="conte")
            await flow(server, clock, lambda: bot.handler.answered and not server.busy)
            await flow(server, clock, lambda: not asked.thinking)
            told = [*server.room(ROOM).screen(), *server.direct(ANA).screen()]
            assert told == ["um **dois** três"]
            front.left = 0
            await bot.answers(server.says(BIA, "conte"))


def note(**more: Any) -> dict[str, Any]:
    author = {"id": str(ANA.id), "username": "Ana", "discriminator": "0", "avatar": None}
    return {
        "id": "1", "channel_id": "5", "author": author, "content": "oi", "timestamp": "2026-01-01T00:00:00+00:00",
        "edited_timestamp": None, "tts": False, "mention_everyone": False, "mentions": [], "mention_roles": [],
        "attachments": [], "embeds": [], "pinned": False, "type": 0,
    } | more  # fmt: skip


MALFORMED: list[tuple[str, dict[str, Any]]] = [
    ("MESSAGE_CREATE", {}), ("MESSAGE_CREATE", note(author=None)), ("MESSAGE_CREATE", note(author={"id": "x"})),
    ("MESSAGE_CREATE", note(timestamp="soon")), ("MESSAGE_CREATE", note(content=7)),
    ("MESSAGE_CREATE", note(id=None)),
    ("MESSAGE_CREATE", note(type="x")), ("MESSAGE_CREATE", note(mentions=[None])), ("INTERACTION_CREATE", {}),
    ("INTERACTION_CREATE", {"id": "1", "application_id": "2", "token": "t", "type": 2, "version": 1}),
    ("INTERACTION_CREATE", {"id": "1", "application_id": "2", "token": "t", "type": 3, "version": 1, "data": 7}),
    ("GUILD_CREATE", {}), ("GUILD_DELETE", {"id": None}), ("READY", {}), ("CHANNEL_CREATE", {"type": 99}),
    ("THREAD_CREATE", {"id": []}), ("WHAT_IS_THIS", {"x": None}),
    ("MESSAGE_CREATE", {"member": {}, "guild_id": "x"}),
]  # fmt: skip


async def test_an_event_of_any_shape_ends_nothing_and_what_comes_after_it_is_answered(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        for number, (event, data) in enumerate(MALFORMED, start=1):
            session, seen = server.gateway.session, len(server.gateway.identified)
            assert session is not None
            await server.gateway._send(session, event, data)
            if event == "READY":  # the library gives that session up, and another one begins
                await flow(server, clock, lambda: len(server.gateway.identified) > seen and server.gateway.online)  # noqa: B023
            await server.says(BIA, "oi")
            await flow(server, clock, lambda: server.direct(BIA).screen() == ["Você disse: oi"] * number)  # noqa: B023
            assert not bot.task.done(), (event, data)


@pytest.mark.long
async def test_a_connection_that_is_closed_with_any_code_is_opened_again(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        codes = [1000, 1011, 4000, 4001, 4002, 4003, 4005, 4007, 4008, 4009, 4010, 4012, 4999]
        for number, code in enumerate(codes, start=1):
            session = server.gateway.session
            assert session is not None
            assert session.socket is not None
            socket, session.socket = session.socket, None
            await socket.ws.close(code=code)
            await flow(server, clock, lambda: server.gateway.online)
            await server.says(BIA, "oi")
            await flow(server, clock, lambda: bot.handler.answered == number)  # noqa: B023
            assert not bot.task.done(), code


async def test_a_token_that_the_rest_api_takes_no_more_ends_the_platform_with_a_sentence(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        server.gateway.token = "another"
        await server.says(BIA, "oi")
        await flow(server, clock, bot.task.done)
        assert "DISCORD_TOKEN" in str(bot.task.exception())
