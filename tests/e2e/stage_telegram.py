"""The stage on Telegram. Knows where people sit and what went over the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from core.ports import Door
from core.types import UserKey
from tests.e2e.stage import ADA, ANA, BIA, EVA, OTHER, PRIVATE, ROOM, Button, Shown, Stage
from tests.e2e.telegram_kit import idle, serving
from tests.fakes.telegram_people import BOT_ID, Person, Post
from tests.fakes.telegram_server import TelegramServer

PEOPLE = {name: Person(number, name, "en") for number, name in enumerate((ANA, BIA, EVA, ADA), 7)}
ROOMS = {ROOM: -1001, OTHER: -1002}
_READERS = {person.id: name for name, person in PEOPLE.items()} | {number: name for name, number in ROOMS.items()}
_WRITES = {"sendmessage", "editmessagetext", "senddocument", "sendphoto", "sendmessagedraft"}


class TelegramStage(Stage):
    """Everybody has a private chat; there are two groups."""

    platform = "telegram"
    server: TelegramServer

    def user(self, who: str) -> UserKey:
        return UserKey("telegram", str(PEOPLE[who].id))

    def room(self, where: str) -> str:
        return f"telegram:{ROOMS[where]}"

    async def says(self, who: str, text: str, where: str) -> None:
        self.said += 1
        if where == PRIVATE:
            self.server.says(PEOPLE[who], text)
            return
        command, space, rest = text.partition(" ")
        said = f"{command}@elefante_bot{space}{rest}" if text.startswith("/") else f"@elefante_bot {text}"
        self.server.says(PEOPLE[who], said, chat_id=ROOMS[where])

    async def touches(self, who: str, button: Button) -> None:
        self.said += 1
        own = self.server.chat(PEOPLE[who].id)
        if button.to in {who, *ROOMS}:
            chat = own if button.to == who else self.server.chat(ROOMS[button.to])
            post = chat.posts[int(button.message)]
        else:  # it is in a chat that they do not see: they send what stands in it from their own
            chat, post = own, own.ours()[-1] if own.ours() else Post(1, BOT_ID, "?", [])
        self.server.forges(PEOPLE[who], button.data, chat, post)

    def shown(self) -> Sequence[Shown]:
        return [
            Shown(
                _READERS.get(call.chat_id, str(call.chat_id)),
                str(call.message_id or call.params.get("message_id", "")),
                call.text or str(call.params.get("caption", "")),
                str(call.params),
            )
            for call in self.server.calls
            if call.method in _WRITES and (call.code == 200 or "is not modified" in call.refusal)
        ]

    def buttons(self, who: str) -> list[Button]:
        chat = self.server.chat(ROOMS.get(who) or PEOPLE[who].id)
        return [
            Button(who, str(post.id), one["text"], one["callback_data"])
            for post in chat.ours()
            for row in post.buttons
            for one in row
        ]

    def waits(self) -> bool:
        taken = not self.server.updates or self.server.offset > self.server.updates[-1]["update_id"]
        return not taken or bool(self.server.queries)

    async def idle(self) -> None:
        await idle(self.server)

    def serving(self, door: Door) -> AbstractAsyncContextManager[object]:
        return serving(self.server, self.clock, door)


@asynccontextmanager
async def telegram(folder: Path, **given: Any) -> AsyncIterator[TelegramStage]:
    """Open Telegram, with nobody listening yet."""
    stage = TelegramStage(folder, **given)
    async with TelegramServer(stage.clock) as stage.server:
        yield stage
