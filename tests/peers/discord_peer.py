"""simcord as a Discord on loopback: its routes and events, which it keeps in one process, over HTTP and a gateway.

simcord drives a client in its own process; ours is another process, so a client that does nothing stands in, and what
simcord tells it is told to ours, too. What simcord refuses or does not know stands in `refused`.
"""

from __future__ import annotations

import asyncio
import copy
import io
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import discord
from aiohttp import WSMsgType, web

from tests.fakes.discord_gateway import HEARTBEAT_ACK, HEARTBEAT_MS, HELLO, Socket

TOKEN = "dGVzdA.test-token.x"


class DiscordPeer:
    """Routes and gateway over simcord's `env`."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.refused: list[str] = []
        self.requests: list[str] = []
        self._sockets: list[tuple[Socket, discord.Intents]] = []
        self._sending: asyncio.Queue[tuple[Socket, Mapping[str, Any]]] = asyncio.Queue()
        self._told = 0
        env.backend.subscribers.append(self._tell)

    @property
    def online(self) -> bool:
        """Whether our bot listens."""
        return bool(self._sockets)

    def be_now(self) -> None:
        """Set simcord's clock, which stands still: the times in ids have to be those of our bot's."""
        clock = self.env.backend.clock
        clock._epoch = datetime.now(UTC) - timedelta(seconds=clock.elapsed)

    # --- gateway ---

    def _tell(self, event: str, payload: Mapping[str, Any]) -> None:
        from simcord.intents import censor_message, prune_guild_create, required_intent

        for socket, intents in self._sockets:
            needed = required_intent(event, payload)
            if needed is not None and not getattr(intents, needed):
                continue
            told, me = copy.deepcopy(dict(payload)), self.env.backend.bot_user.id
            if event in {"MESSAGE_CREATE", "MESSAGE_UPDATE"} and not intents.message_content:
                censor_message(told, me, backend=self.env.backend)
            if event == "GUILD_CREATE":
                prune_guild_create(told, intents, me)
            self._send(socket, event, told)

    def _send(self, socket: Socket, event: str, data: Mapping[str, Any]) -> None:
        self._told += 1
        self._sending.put_nowait((socket, {"op": 0, "t": event, "s": self._told, "d": data}))

    async def pump(self) -> None:
        """Send what is to be told, in order, for ever."""
        while True:
            socket, payload = await self._sending.get()
            await socket.send(dict(payload))

    async def gateway(self, request: web.Request) -> web.StreamResponse:
        """Speak with our bot."""
        ws = web.WebSocketResponse()
        await ws.prepare(request)
        socket = Socket(ws)
        await socket.send({"op": HELLO, "d": {"heartbeat_interval": HEARTBEAT_MS}})
        async for message in ws:
            if message.type is WSMsgType.TEXT:
                heard = json.loads(message.data)
                if heard["op"] == 1:
                    await socket.send({"op": HEARTBEAT_ACK})
                elif heard["op"] == 2:
                    self._welcome(socket, heard["d"], f"ws://{request.host}/gateway/")
        return ws

    def _welcome(self, socket: Socket, identified: Mapping[str, Any], url: str) -> None:
        from simcord.backend import serializers

        backend = self.env.backend
        guilds = [{"id": str(guild), "unavailable": True} for guild in backend.guilds]
        self._send(socket, "READY", {
            "v": 10, "user": serializers.user_payload(backend.bot_user), "guilds": guilds, "session_id": "s",
            "resume_gateway_url": url, "shard": identified["shard"],
            "application": {"id": str(backend.application_id), "flags": 0},
        })  # fmt: skip
        for guild in backend.guilds.values():
            self._send(socket, "GUILD_CREATE", serializers.guild_create_payload(backend, guild))
        self._sockets.append((socket, discord.Intents._from_value(identified["intents"])))

    # --- REST ---

    async def rest(self, request: web.Request) -> web.StreamResponse:
        """Answer a request as simcord's routes do."""
        from simcord.backend.errors import BackendError
        from simcord.http.router import dispatch

        path, name = "/" + request.match_info["path"], f"{request.method} /{request.match_info['path']}"
        self.be_now()
        if path == "/gateway/bot":  # simcord needs none
            limits = {"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": 1}
            return _json({"url": f"ws://{request.host}/gateway/", "shards": 1, "session_start_limit": limits})
        body, files = await _read(request)
        self.requests.append(name)
        try:
            answer = dispatch(
                self.env.backend, request.method, path, json=body, params=dict(request.query), files=files
            )
        except BackendError as error:
            self.refused.append(f"{name}: {error}")
            return _json(error.to_json(), error.status)
        return web.Response(status=204) if answer is None else _json(answer)


def _json(answer: Any, status: int = 200) -> web.Response:
    # A charset behind the type would make discord.py take the body for text.
    return web.Response(status=status, body=json.dumps(answer).encode(), headers={"Content-Type": "application/json"})


async def _read(request: web.Request) -> tuple[Any, list[Any]]:
    """Return the JSON of a request, and the files that came with it as simcord takes them."""
    if request.content_type != "multipart/form-data":
        return (await request.json() if request.body_exists else None), []
    form = await request.post()
    files = [
        SimpleNamespace(fp=io.BytesIO(part.file.read()), filename=part.filename, description=None)
        for part in form.values()
        if isinstance(part, web.FileField)
    ]
    return json.loads(str(form["payload_json"])), files


@asynccontextmanager
async def discord_peer() -> AsyncIterator[tuple[DiscordPeer, dict[str, str]]]:
    """Open a world; with the settings that lead our bot there."""
    import simcord

    async with simcord.run(discord.Client(intents=discord.Intents.all())) as env:
        peer = DiscordPeer(env)
        peer.be_now()
        app = web.Application()
        app.router.add_get("/gateway/", peer.gateway)
        app.router.add_route("*", "/api/v10/{path:.*}", peer.rest)
        runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        pump = asyncio.create_task(peer.pump())
        host, port = runner.addresses[0][:2]
        try:
            yield peer, {"DISCORD_TOKEN": TOKEN, "DISCORD_API_BASE_URL": f"http://{host}:{port}/api/v10"}
        finally:
            pump.cancel()
            await runner.cleanup()
