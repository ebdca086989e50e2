"""A Bot API on loopback: the part of it that this bot uses, strict where the real one is.

HTTP status = error code, long poll with acknowledgement, one poller, UTF-16 limits, "not modified", flood waits on a
clock of the test's, drafts of 30 s. Everything that was asked stands in `calls`. Source: core.telegram.org/bots/api and
the server's own source for the words of its refusals.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from core.ports import Clock
from tests.fakes.telegram_people import BOT, BOT_ID, Json, member
from tests.fakes.telegram_wire import Call, Limits, Refused, menu
from tests.fakes.telegram_writing import Upload, Writing

TOKEN = "123456:test-token"
HOOKED = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook first"
TAKEN = "Conflict: terminated by setWebhook request"
POLLED = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
LONGEST = {"description": 512, "short_description": 120}
_JSON = {
    "allowed_updates",
    "caption_entities",
    "commands",
    "entities",
    "ephemeral_message_parameters",
    "link_preview_options",
    "media",
    "message_thread_id",
    "reply_markup",
    "reply_parameters",
    "results",
    "scope",
}


class TelegramServer(Writing):
    """An async context; `url` is what TELEGRAM_API_BASE_URL would be."""

    def __init__(self, clock: Clock, limits: Limits | None = None, *, patience_s: float = 60.0) -> None:
        super().__init__(clock, limits)
        self.patience_s = patience_s  # real seconds: how long a test waits for what should happen at once
        self.calls: list[Call] = []
        self.commands: dict[tuple[str, str], list[Json]] = {}  # by scope and language
        self.descriptions: dict[tuple[str, str], str] = {}  # by field and language
        self.token = TOKEN
        self.supports_inline = False
        self.allowed: list[str] = []  # the kinds of update that the bot asked for
        self.reads_all = False  # privacy mode is on
        self.webhook: Json | None = None
        self.busy = 0  # requests being worked on, long polls aside
        self.faults: list[Callable[[str, Json], None]] = []  # each sees every call first and may raise
        self.swallow: Callable[[str, Json], bool] = lambda _method, _params: False  # done, but the answer gets lost
        self.denies: Callable[[str, Json], bool] = lambda _method, _params: False  # done, and said to have failed
        self.offset = 0
        self.polled = False
        self.handed_out = 0  # the most updates that one answer held
        self._changed = asyncio.Event()
        self._poller: asyncio.Event | None = None

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_post("/bot{token}/{method}", self._serve)
        app.router.add_get("/file/bot{token}/documents/{file}", self._download)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    # --- what a test does ---

    def push(self, update: Any) -> Json:
        pushed = super().push(update)
        self._notify()
        return pushed

    async def until(self, condition: Callable[[], object]) -> None:
        """Return when the condition holds; it is looked at whenever anything happened here."""
        async with asyncio.timeout(self.patience_s):
            while not condition():
                await self.stirred()
                await asyncio.sleep(0)

    @property
    def pulse(self) -> int:
        """Changes with every call."""
        return len(self.calls)

    async def stirred(self) -> None:
        """Return when anything happened here."""
        await self._changed.wait()

    def done(self, *methods: str, chat_id: int | None = None) -> list[Call]:
        """The calls that succeeded."""
        return [
            call for call in self.calls
            if call.code == 200 and call.method in methods and chat_id in (None, call.chat_id)
        ]  # fmt: skip

    def flood(self, chat_id: int, wait_s: float) -> None:
        """Everything written to that chat is refused until the wait is over."""
        self.chat(chat_id).flooded_until_s = self.clock.monotonic() + wait_s

    # --- HTTP ---

    async def _serve(self, request: web.Request) -> web.Response:
        method = request.match_info["method"].lower()
        form = await request.post()
        params: Json = {}
        for key, value in form.items():
            if isinstance(value, web.FileField):
                params[key] = Upload(value.filename, value.file.read())
            else:
                params[key] = json.loads(str(value)) if key in _JSON else str(value)
        polling = method == "getupdates"
        self.busy += not polling
        try:
            answer, code = await self._answer(request.match_info["token"], method, params)
        finally:
            self.busy -= not polling
            self._notify()
        if self.swallow(method, params):
            assert request.transport is not None
            request.transport.close()
        if code == 200 and self.denies(method, params):
            answer, code = Refused(502, "Bad Gateway").body, 502
        return web.json_response(answer, status=code)

    async def _download(self, request: web.Request) -> web.Response:
        content = self.files.get(request.match_info["file"])
        if request.match_info["token"] != self.token or content is None:
            return web.json_response({"ok": False, "error_code": 404, "description": "Not Found"}, status=404)
        return web.Response(body=content)

    async def _answer(self, token: str, method: str, params: Json) -> tuple[Json, int]:
        message_id = None
        try:
            result = await self._result(token, method, params)
            answer, code = {"ok": True, "result": result}, 200
            if isinstance(result, dict):
                message_id = result.get("message_id")
        except Refused as refused:
            answer, code = refused.body, refused.code
        refusal = answer.get("description", "")
        self.calls.append(Call(self.clock.monotonic(), method, params, code, message_id, refusal))
        return answer, code

    async def _result(self, token: str, method: str, params: Json) -> Any:
        if token != self.token:
            raise Refused(401, "Unauthorized")
        for fault in list(self.faults):
            fault(method, params)
        call = getattr(self, f"_do_{method}", None)
        if call is None:
            raise Refused(404, "Not Found")
        result = call(params)
        return await result if asyncio.iscoroutine(result) else result

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    # --- methods ---

    def _do_getme(self, _: Json) -> Json:
        return BOT | {"supports_inline_queries": self.supports_inline, "can_read_all_group_messages": self.reads_all}

    def _do_getchatmember(self, params: Json) -> Json:
        chat = self._chat(params)
        is_admin = int(params["user_id"]) in chat.admins or (chat.administered and int(params["user_id"]) == BOT_ID)
        return member("administrator" if is_admin else "member")

    def hook(self, webhook: Json) -> None:
        """Have updates pushed there; who asks for them is sent away."""
        self.webhook = webhook
        if self._poller is not None:
            self._poller.set()

    def _do_deletewebhook(self, _: Json) -> bool:
        self.webhook = None
        return True

    def _do_setwebhook(self, params: Json) -> bool:
        self.hook(params)
        return True

    def _do_getwebhookinfo(self, _: Json) -> Json:
        url = self.webhook["url"] if self.webhook else ""
        return {"url": url, "has_custom_certificate": False, "pending_update_count": len(self.updates)}

    def _do_getmycommands(self, params: Json) -> list[Json]:
        return self.commands.get(menu(params), [])

    def _do_setmycommands(self, params: Json) -> bool:
        self._known(params)
        if not self.knows_ephemeral:
            params["commands"] = [{key: one[key] for key in ("command", "description")} for one in params["commands"]]
        self.commands[menu(params)] = params["commands"]
        return True

    def _do_getmydescription(self, params: Json, field: str = "description") -> Json:
        return {field: self.descriptions.get((field, params.get("language_code", "")), "")}

    def _do_setmydescription(self, params: Json, field: str = "description") -> bool:
        if len(params[field]) > LONGEST[field]:
            raise Refused(400, f"Bad Request: {field.replace('_', ' ')} is too long")
        self.descriptions[field, params.get("language_code", "")] = params[field]
        return True

    def _do_getmyshortdescription(self, params: Json) -> Json:
        return self._do_getmydescription(params, "short_description")

    def _do_setmyshortdescription(self, params: Json) -> bool:
        return self._do_setmydescription(params, "short_description")

    def _do_deletemycommands(self, params: Json) -> bool:
        self._known(params)
        self.commands.pop(menu(params), None)
        return True

    def _known(self, params: Json) -> None:
        """A menu of one chat needs the chat: somebody who never wrote to the bot has none with it."""
        scope = params.get("scope", {})
        if scope.get("type") == "chat" and scope["chat_id"] not in self.chats:
            raise Refused(400, "Bad Request: chat not found")

    async def _do_getupdates(self, params: Json) -> list[Json]:
        if self.webhook:
            raise Refused(409, HOOKED)
        if self._poller is not None:
            self._poller.set()  # the older one is sent away
        mine = self._poller = asyncio.Event()
        self.polled = True
        self.allowed = params.get("allowed_updates", self.allowed)
        self.offset = max(self.offset, int(params.get("offset", 0)))
        self.updates = [update for update in self.updates if update["update_id"] >= self.offset]
        try:
            async with asyncio.timeout(min(float(params.get("timeout", 0)), 50.0)):
                while not self.updates and not mine.is_set():
                    changed = asyncio.ensure_future(self._changed.wait())
                    gone = asyncio.ensure_future(mine.wait())
                    try:
                        await asyncio.wait({changed, gone}, return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        changed.cancel(), gone.cancel()
        except TimeoutError:
            pass
        if mine.is_set():
            raise Refused(409, TAKEN if self.webhook else POLLED)
        self._poller = None
        batch = self.updates[: int(params.get("limit", 100))]
        self.handed_out = max(self.handed_out, len(batch))
        return batch
