"""Discord on loopback: the part of its REST that this bot uses, and a gateway; strict where the real one is.

Exact JSON content type, bucket headers on a clock of the test's, 429 with `Via`, 2000 characters, nonces, interactions
with their 3 s and 15 min. Every request stands in `calls`, every change of the screen in `writes`.
Source: discord.com/developers/docs.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from core.ports import Clock
from tests.fakes.discord_components import labels
from tests.fakes.discord_gateway import Gateway
from tests.fakes.discord_interactions import Interactions, check_commands
from tests.fakes.discord_limits import Limits
from tests.fakes.discord_world import APP_ID, BOT, EPHEMERAL, OWNER_ID, Json, Note, Person, Refused, World, member
from tests.fakes.discord_writing import Writing

TOKEN = "dGVzdA.test-token.x"


@dataclass(frozen=True)
class Call:
    """One request: when (on the test's clock), what, and how it ended."""

    at_s: float
    method: str
    path: str
    body: Any
    status: int


@dataclass(frozen=True)
class Write:
    """One change of what a person sees."""

    at_s: float
    verb: str
    channel: int
    message: int
    text: str
    buttons: tuple[str, ...] = ()
    by: str = "Elefante"
    reply_to: int | None = None
    hidden: bool = False
    below: tuple[str, ...] = ()
    content: str = ""
    embeds: tuple[str, ...] = ()


class DiscordServer(World):
    """An async context; `api_url` is what DISCORD_API_BASE_URL would be."""

    def __init__(self, clock: Clock, limits: Limits | None = None, *, patience_s: float = 60.0) -> None:
        """`patience_s` is how long, in real seconds, `until` waits for what should happen at once."""
        super().__init__(clock)
        self._patience_s = patience_s
        self.limits = limits
        self.gateway = Gateway(self, TOKEN)
        self.interactions = Interactions(self)
        self.writing = Writing(self)
        self.calls: list[Call] = []
        self.writes: list[Write] = []
        self.story: list[Write] = []  # the writes, and between them what people did and what was refused
        self.commands: list[list[Json]] = []
        self.sessions_left = 1000
        self.recommended = 0  # shards; 0: as many as there are
        self.application_flags = 1 << 19
        self.installs: Json = {"0": {}, "1": {}}  # a new application may be installed by servers and by people
        self.team: list[tuple[Person, str]] = []  # who owns the application together, and as what
        self.busy = 0
        self.faults: list[Callable[[str, str], None]] = []  # each sees every call first and may raise
        self.swallow: Callable[[str, str], bool] = lambda _method, _path: False  # done, but the answer gets lost
        self.denies: Callable[[str, str], bool] = lambda _method, _path: False  # done, and said to have failed

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_get("/gateway/", self.gateway.serve)
        app.router.add_get("/attachments/{path:.*}", self._serve_file)
        app.router.add_route("*", "/api/v10/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.api_url = f"http://{host}:{port}/api/v10"
        self.gateway.url = f"ws://{host}:{port}/gateway/"
        self.cdn_url = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    # --- what a test does ---

    async def says(
        self, person: Person, text: str, *, room: int = 0, reply_to: int | None = None, age_s: float = 0.0, **more: Any
    ) -> Note:
        """A person writes: directly to the bot, unless a channel is named."""
        self.people[person.id] = person
        channel = self.channels.get(room) or self.room(room) if room else self.direct(person)
        note = Note(self.snowflake(age_s), channel.id, person, text, reply_to=reply_to, more=more)
        channel.notes[note.id] = note
        self.wrote("say", note)
        await self._tell("MESSAGE_CREATE", note)
        return note

    async def edits(self, note: Note, text: str) -> None:
        """A person changes what was sent."""
        note.content, note.edited_at = text, self.clock.now().isoformat()
        self.did(note.by, note.channel, f"(edited) {text}")
        await self._tell("MESSAGE_UPDATE", note)

    async def unfurls(self, note: Note) -> None:
        """Discord shows what is behind a link, which is told like an edit."""
        note.embeds.append({"type": "link", "url": "https://example.org", "title": "Example"})
        await self._tell("MESSAGE_UPDATE", note)

    async def deletes(self, *notes: Note) -> None:
        """A person deletes a message, or a moderator several at once."""
        channel = self.channels[notes[0].channel]
        place = {"channel_id": str(channel.id)} | ({"guild_id": str(channel.guild)} if channel.guild else {})
        ids = [str(note.id) for note in notes]
        for note in notes:
            del channel.notes[note.id]
            self.did(note.by, channel.id, f"(deleted) {note.content}")
        if len(ids) == 1:
            await self.gateway.tell("MESSAGE_DELETE", place | {"id": ids[0]})
        else:
            await self.gateway.tell("MESSAGE_DELETE_BULK", place | {"ids": ids})

    async def _tell(self, event: str, note: Note) -> None:
        """Send a message as it is now, without what the bot may not see."""
        channel = self.channels[note.channel]
        given = self.told(note)
        if channel.guild:
            given |= {"guild_id": str(channel.guild), "member": member(self.roles_of.get(note.by.id, ()))}
        await self.gateway.tell(event, given)

    def told(self, note: Note) -> Json:
        """A message as the bot gets it, by the intents of its session."""
        session, given = self.gateway.session, self.note_json(note)
        is_hidden = session is not None and not session.intents & (1 << 15)
        return self.hidden_from_bot(note, given) if is_hidden else given

    async def until(self, condition: Callable[[], object]) -> None:
        """Return when the condition holds; it is looked at whenever anything happened here."""
        async with asyncio.timeout(self._patience_s):
            while not condition():
                await self.stirred()

    @property
    def pulse(self) -> tuple[int, int]:
        """Changes with every call and every heartbeat."""
        return len(self.calls), self.gateway.heartbeats

    async def stirred(self) -> None:
        """Return when anything happened here."""
        self.gateway.changed.clear()
        await self.gateway.changed.wait()

    def done(self, method: str, part: str = "") -> list[Call]:
        """The calls that succeeded."""
        return [call for call in self.calls if call.method == method and part in call.path and call.status < 300]

    @property
    def invalid(self) -> list[Call]:
        """What Discord counts towards a ban: 401, 403 and 429."""
        return [call for call in self.calls if call.status in {401, 403, 429}]

    def wrote(self, verb: str, note: Note) -> None:
        """Note a change of the screen."""
        at_s = self.clock.monotonic()
        hidden = bool(note.flags & EPHEMERAL)
        write = Write(
            at_s, verb, note.channel, note.id, note.text, tuple(note.buttons), note.by.name, note.reply_to, hidden,
            tuple(labels(note.components)), note.content, tuple(str(one.get("description", "")) for one in note.embeds),
        )  # fmt: skip
        self.story.append(write)
        if note.by is BOT:
            self.writes.append(write)

    def did(self, person: Person, channel: int, text: str) -> None:
        """Note what a person did without writing a message."""
        self.story.append(Write(self.clock.monotonic(), "do", channel, 0, text, by=person.name))

    def opened(self, channel: int, text: str) -> None:
        """Note a form that somebody sees."""
        self.story.append(Write(self.clock.monotonic(), "form", channel, 0, text, hidden=True))

    def typed(self, channel: int) -> None:
        """Note that the bot is seen typing."""
        self.story.append(Write(self.clock.monotonic(), "typing", channel, 0, "", by=BOT.name))

    # --- HTTP ---

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        path = "/" + request.match_info["path"]
        body = await _read(request)
        self.busy += 1
        headers: dict[str, str] = {}
        try:
            headers |= self._spend(request.method, path)
            answer, status = await self._answer(request, path, body)
        except Refused as refused:
            answer, status, headers = refused.body, refused.status, headers | refused.headers
        finally:
            self.busy -= 1
        if status == 429:
            number = int(path.split("/")[2]) if path.startswith("/channels") else 0
            refusal = f"[refused: retry after {answer['retry_after']:g} s]"
            self.story.append(Write(self.clock.monotonic(), "refuse", number, 0, refusal))
        self.calls.append(Call(self.clock.monotonic(), request.method, path, body, status))
        self.gateway.changed.set()
        if self.swallow(request.method, path):
            assert request.transport is not None
            request.transport.close()
        if status < 300 and self.denies(request.method, path):
            answer, status = Refused(502, 0, "502: Bad Gateway").body, 502
        if status == 204:
            return web.Response(status=204, headers=headers)
        # A charset behind the type would make discord.py take the body for text.
        return web.Response(
            status=status, body=json.dumps(answer).encode(), headers=headers | {"Content-Type": "application/json"}
        )

    async def _serve_file(self, request: web.Request) -> web.StreamResponse:
        """Hand out an attachment, as the CDN does: without asking who wants it, and as long as its address is good."""
        content = self.uploaded.get(request.path) if request.query.get("hm") == str(self.signature) else None
        self.calls.append(Call(self.clock.monotonic(), "GET", request.path, {}, 404 if content is None else 200))
        if content is None:
            return web.Response(status=404, text="This content is no longer available.")
        return web.Response(body=content)

    def _spend(self, method: str, path: str) -> dict[str, str]:
        """Draw on the bucket of a request, and return the headers that say what is left."""
        for fault in self.faults:
            fault(method, path)
        parts = path.split("/")
        if self.limits is None or parts[1] not in {"channels", "webhooks"}:
            return {}
        major = "/".join(parts[:3] if parts[1] == "channels" else parts[:4])
        minor = next((minor for minor in ("threads", "reactions", "typing") if minor in parts), "")
        wait_s, everything, headers = self.limits.spend(f"{method}{minor} {major}", self.clock.monotonic())
        if wait_s:
            raise too_many(wait_s, everything=everything, headers=dict(headers))
        return dict(headers)

    async def _answer(self, request: web.Request, path: str, body: Any) -> tuple[Any, int]:
        parts = path.strip("/").split("/")
        if parts[0] in {"interactions", "webhooks"}:
            return self.interactions.answer(request.method, parts, body)
        if request.headers.get("Authorization") != f"Bot {self.gateway.token}":
            raise Refused(401, 0, "401: Unauthorized")
        if parts[0] == "channels":
            answer = self.writing.answer(request.method, parts, dict(request.query), body)
            if request.method == "POST" and parts[2:] == ["messages"]:  # who writes is told of it like everybody
                guild = self.channels[int(parts[1])].guild
                await self.gateway.tell("MESSAGE_CREATE", answer | ({"guild_id": str(guild)} if guild else {}))
            return answer, 204 if answer is None else 200
        if parts[0] == "guilds":
            return self._about_server(parts), 200
        return self._about_us(request.method, parts, body), 200

    def _about_server(self, parts: list[str]) -> Json:
        if parts[2:3] != ["members"]:
            return self.guild_json()
        person = self.people[int(parts[3])]
        return member(self.roles_of.get(person.id, ())) | {"user": person.json()}

    def _about_us(self, method: str, parts: list[str], body: Any) -> Any:
        match method, parts:
            case "GET", ["users", "@me"]:
                return BOT.json()
            case "POST", ["users", "@me", "channels"]:
                recipient = int(body["recipient_id"])
                return self.direct(self.people.get(recipient) or Person(recipient)).json()
            case "GET", ["oauth2", "applications", "@me"]:
                return self._application()
            case "GET", ["gateway", "bot"]:
                limits = {
                    "total": 1000,
                    "remaining": self.sessions_left,
                    "reset_after": 3_600_000,
                    "max_concurrency": 1,
                }
                return {
                    "url": self.gateway.url,
                    "shards": self.recommended or self.gateway.shards,
                    "session_start_limit": limits,
                }
            case "PUT", ["applications", _, *where, "commands"]:
                check_commands(body, in_guild=bool(where))
                self.commands.append(body)
                return [self._command(command) for command in body]
        raise Refused(404, 0, "404: Not Found")

    def _application(self) -> Json:
        owner = Person(OWNER_ID, "Dona", "pt-BR")
        return {
            "id": str(APP_ID), "name": "Elefante", "description": "", "icon": None, "bot_public": True,
            "bot_require_code_grant": False, "owner": owner.json(), "team": self._team(), "verify_key": "00",
            "flags": self.application_flags, "integration_types_config": self.installs,
        }  # fmt: skip

    def _team(self) -> Json | None:
        members: list[Json] = [
            {"user": person.json(), "role": role, "membership_state": 2, "team_id": "5"} for person, role in self.team
        ]
        named = {"id": "5", "name": "Equipe", "icon": None, "owner_user_id": str(self.team[0][0].id) if members else ""}
        return named | {"members": members} if members else None

    def _command(self, command: Json) -> Json:
        return {
            "id": str(self.snowflake()), "application_id": str(APP_ID), "version": "1", "type": 1,
            "description": "", "default_member_permissions": None, **command,
        }  # fmt: skip


async def _read(request: web.Request) -> Any:
    """Return the body of a request; files that come with it under `files`, as (name, content)."""
    if request.content_type != "multipart/form-data":
        return await request.json() if request.body_exists else {}
    body: Json = {}
    files = []
    form = await request.post()
    for name, part in form.items():
        if name == "payload_json":
            body = json.loads(str(part))
        elif isinstance(part, web.FileField):
            files.append((part.filename, part.file.read()))
    told = body["data"] if "type" in body else body
    told["files"] = files
    return body


def too_many(wait_s: float, *, everything: bool = False, headers: dict[str, str] | None = None) -> Refused:
    """A 429 as Discord sends it."""
    refused = Refused(429, 0, "You are being rate limited.")
    refused.body |= {"retry_after": wait_s, "global": everything}
    refused.headers |= {"Via": "1.1 google", "Retry-After": str(math.ceil(wait_s)), **(headers or {})}
    return refused
