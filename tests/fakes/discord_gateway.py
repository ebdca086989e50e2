"""A Discord gateway on loopback: one zlib stream a connection, HELLO to READY, heartbeats, resume, intents.

Source: discord.com/developers/docs/events/gateway.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from contextlib import suppress
from dataclasses import dataclass, field

from aiohttp import WSMsgType, web

from tests.fakes.discord_world import APP_ID, BOT, Json, World

HEARTBEAT_MS = 41_250
GUILDS, GUILD_MESSAGES, DIRECT_MESSAGES, MESSAGE_CONTENT = 1 << 0, 1 << 9, 1 << 12, 1 << 15
DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT, INVALID_SESSION, HELLO, HEARTBEAT_ACK = 0, 1, 2, 6, 7, 9, 10, 11
BAD_TOKEN, INVALID_API_VERSION, DISALLOWED_INTENTS = 4004, 4012, 4014


@dataclass
class Session:
    """What is told to a client from its IDENTIFY on; kept for RESUME."""

    id: str
    intents: int
    shard: int = 0
    events: list[Json] = field(default_factory=list)
    socket: Socket | None = None


class Socket:
    """One connection, with the compression that lasts as long as it does."""

    def __init__(self, ws: web.WebSocketResponse) -> None:
        self.ws = ws
        self._stream = zlib.compressobj()

    async def send(self, payload: Json) -> None:
        packed = self._stream.compress(json.dumps(payload).encode()) + self._stream.flush(zlib.Z_SYNC_FLUSH)
        await self.ws.send_bytes(packed)


class Gateway:
    """All sessions. `content_allowed` is the switch of the message-content intent in the developer portal."""

    def __init__(self, world: World, token: str) -> None:
        self.world = world
        self.token = token
        self.url = ""
        self.content_allowed = True
        self.shards = 1
        self.sessions: dict[str, Session] = {}
        self.identified: list[Json] = []
        self.identified_s: list[float] = []
        self.resumed = 0
        self.refuse_resume = False
        self.refusing = 0  # so many more connections
        self.heartbeats = 0
        self.changed = asyncio.Event()

    @property
    def session(self) -> Session | None:
        """The newest session, if there is one."""
        return self._session(0)

    def _session(self, shard: int) -> Session | None:
        found = [session for session in self.sessions.values() if session.shard == shard]
        return found[-1] if found else None

    @property
    def listening(self) -> dict[int, Socket]:
        """The sockets of shards to which somebody listens, each that of the newest session."""
        found = {shard: self._session(shard) for shard in range(self.shards)}
        return {shard: one.socket for shard, one in found.items() if one is not None and one.socket is not None}

    @property
    def online(self) -> bool:
        """Whether a client listens."""
        return self.session is not None and self.session.socket is not None

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Speak with one client."""
        if self.refusing:
            self.refusing -= 1
            return web.Response(status=503)
        if request.query.get("compress") != "zlib-stream" or request.query.get("encoding") != "json":
            return web.Response(status=400, text="this gateway speaks compressed JSON")
        ws = web.WebSocketResponse()
        await ws.prepare(request)
        socket = Socket(ws)
        await socket.send({"op": HELLO, "d": {"heartbeat_interval": HEARTBEAT_MS}})
        async for message in ws:
            if message.type is WSMsgType.TEXT:
                await self._hear(socket, json.loads(message.data))
        for session in self.sessions.values():
            if session.socket is socket:
                session.socket = None
        self.changed.set()
        return ws

    async def tell(self, event: str, data: Json) -> None:
        """Send an event to whoever listens for it; a session that is offline gets it when it resumes."""
        session = self._session((int(data.get("guild_id") or 0) >> 22) % self.shards)
        if session is None:
            return
        await self._send(session, event, data)

    async def _send(self, session: Session, event: str, data: Json) -> None:
        payload = {"op": DISPATCH, "t": event, "s": len(session.events) + 1, "d": data}
        session.events.append(payload)
        if session.socket is not None:
            with suppress(ConnectionResetError):  # the client is gone, and was not missed yet
                await session.socket.send(payload)

    async def drop(self, *, resumable: bool = True) -> None:
        """Cut the line; without `resumable` what happens meanwhile is never told."""
        session = self.session
        assert session is not None
        self.refuse_resume = not resumable
        if session.socket is not None:
            socket, session.socket = session.socket, None
            await socket.ws.close(code=4000)
        if not resumable:
            self.sessions.clear()

    async def end(self) -> None:
        """End the session by a code after which clients begin anew (https://discord.com/developers/docs/topics/opcodes-and-status-codes)."""
        assert self.session is not None
        assert self.session.socket is not None
        socket, self.session.socket = self.session.socket, None
        self.sessions.clear()
        await socket.ws.close(code=INVALID_API_VERSION)

    async def _hear(self, socket: Socket, payload: Json) -> None:
        match payload["op"]:
            case 1:
                self.heartbeats += 1
                await socket.send({"op": HEARTBEAT_ACK})
            case 2:
                await self._identify(socket, payload["d"])
            case 6:
                await self._resume(socket, payload["d"])
        self.changed.set()

    async def _identify(self, socket: Socket, data: Json) -> None:
        self.identified.append(data)
        self.identified_s.append(self.world.clock.monotonic())
        if data["token"] != self.token:
            await socket.ws.close(code=BAD_TOKEN)
            return
        if data["intents"] & MESSAGE_CONTENT and not self.content_allowed:
            await socket.ws.close(code=DISALLOWED_INTENTS)
            return
        session = Session(f"s{len(self.identified)}", data["intents"], data["shard"][0], socket=socket)
        self.sessions[session.id] = session
        guild = self.world.guild_json()
        await self._send(session, "READY", {
            "v": 10, "user": BOT.json(), "guilds": [{"id": guild["id"], "unavailable": True}],
            "session_id": session.id, "resume_gateway_url": self.url, "shard": data["shard"],
            "application": {"id": str(APP_ID), "flags": 0},
        })  # fmt: skip
        if (int(guild["id"]) >> 22) % self.shards == session.shard:
            await self._send(session, "GUILD_CREATE", guild)

    async def _resume(self, socket: Socket, data: Json) -> None:
        session = self.sessions.get(data["session_id"])
        if session is None or self.refuse_resume:
            self.refuse_resume = False
            await socket.send({"op": INVALID_SESSION, "d": False})
            return
        self.resumed += 1
        session.socket = socket
        for event in session.events[data["seq"] :]:
            await socket.send(event)
        await socket.send({"op": DISPATCH, "t": "RESUMED", "s": len(session.events), "d": {}})
