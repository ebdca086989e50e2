"""The HTTP form of `core.ask`: `POST /api/chat/process` on 127.0.0.1, for programs of this machine.

A caller names the person who asks, so it listens on loopback only, and asks for a secret, as other users of the machine
connect, too. Pages in a browser are kept out: a foreign one can neither send JSON here nor use our name as its own.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from aiohttp import web

from adapters.running import Connected, ignored, listening
from core.ask import FieldError, ask
from core.ports import Clock, MessageHandler
from core.types import JSONValue, Message

PLATFORM: Final = "api"
PATH: Final = "/api/chat/process"
_HOST: Final = "127.0.0.1"
_LINES: Final = "application/x-ndjson"
"""What a request accepts that wants every message as it is said, a line each, the answer last."""

_HOST_NAMES: Final = frozenset({"127.0.0.1", "localhost"})
_MAX_BODY_BYTES: Final = 1 << 20
_NOT_ANSWERED: Final = "the bot does not answer this person: its owner lets them in by `elefante users allow api:ID`"
_UNAUTHORIZED: Final = "send the bot's HTTP_TOKEN: Authorization: Bearer TOKEN"
_NAMES: Final = {
    "message": "message",
    "chat_id": "chatId",
    "user_id": "userId",
    "session_id": "sessionId",
    "thread_id": "threadId",
    "language": "language",
}
"""The fields of `ask`, and what they are called in a request."""

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


def address(port: int) -> str:
    """Return the address of the server."""
    return f"http://{_HOST}:{port}{PATH}"


async def run(
    port: int,
    handler: MessageHandler,
    clock: Clock,
    stop: asyncio.Event,
    *,
    token: str,
    say: Callable[[str], None],
    connected: Connected = ignored,
) -> None:
    """Answer requests that bring the token until `stop` is set; `connected` is told when it listens.

    Raises:
        ConfigError: the port cannot be listened on.
    """

    @web.middleware
    async def authorized(request: web.Request, handler: Handler) -> web.StreamResponse:
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(
            given.strip().encode(errors="replace"), token.encode()
        ):
            return _refusal(HTTPStatus.UNAUTHORIZED, _UNAUTHORIZED)
        return await handler(request)

    async def process(request: web.Request) -> web.StreamResponse:
        told: asyncio.Queue[Message | None] = asyncio.Queue()
        is_stream = _LINES in request.headers.get("Accept", "")
        fields = await _fields(request)
        asking = asyncio.create_task(ask(handler, clock, platform=PLATFORM, on_message=told.put_nowait, **fields))
        asking.add_done_callback(lambda _: told.put_nowait(None))
        lines: web.StreamResponse | None = None
        try:
            while (message := await told.get()) is not None:
                if is_stream:
                    lines = lines or await _begun(request)
                    await lines.write(_line(message.to_wire()))
            answer = await asking
        finally:
            asking.cancel()
        if not answer.response and lines is None:
            return _refusal(HTTPStatus.FORBIDDEN, _NOT_ANSWERED, "userId")
        if not is_stream:
            return web.json_response(answer.to_json())
        lines = lines or await _begun(request)
        await lines.write(_line(answer.to_json()))
        return lines

    app = web.Application(client_max_size=_MAX_BODY_BYTES, middlewares=[_in_json, authorized])
    app.router.add_post(PATH, process)
    async with listening(app, _HOST, port, setting="HTTP_PORT"):
        connected(True)
        say(f"Programs of this machine ask at {address(port)}")
        await stop.wait()


async def _begun(request: web.Request) -> web.StreamResponse:
    """Return a response of JSON lines, begun."""
    lines = web.StreamResponse(headers={"Content-Type": _LINES})
    await lines.prepare(request)
    return lines


def _line(value: JSONValue) -> bytes:
    return f"{json.dumps(value, ensure_ascii=False)}\n".encode()


async def _fields(request: web.Request) -> dict[str, Any]:
    """Return the arguments of `ask` that the request holds."""
    try:
        body = json.loads(await request.read())
    except (ValueError, RecursionError):  # also bytes that are no text
        raise web.HTTPBadRequest(reason="the body is no JSON") from None
    if not isinstance(body, dict):
        raise web.HTTPBadRequest(reason="the body is no JSON object")
    return {ours: body[theirs] for ours, theirs in _NAMES.items() if body.get(theirs) is not None}


@web.middleware
async def _in_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse requests of browsers, and answer errors as JSON."""
    if urlsplit(f"//{request.host}").hostname not in _HOST_NAMES:
        return _refusal(HTTPStatus.FORBIDDEN, f"ask at {_HOST}, by that name")
    if request.method == "POST" and request.content_type != "application/json":
        return _refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send Content-Type: application/json")
    try:
        return await handler(request)
    except FieldError as error:
        names = [_NAMES[name] for name in error.fields]
        return _refusal(HTTPStatus.BAD_REQUEST, f"{error.advice}: {', '.join(names)}", names[0])
    except web.HTTPException as error:
        return _refusal(HTTPStatus(error.status), error.reason)


def _refusal(status: HTTPStatus, reason: str, field: str | None = None) -> web.Response:
    headers = {"WWW-Authenticate": "Bearer"} if status is HTTPStatus.UNAUTHORIZED else None
    return web.json_response({"error": reason, "field": field}, status=status, headers=headers)
