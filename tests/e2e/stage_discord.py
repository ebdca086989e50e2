"""The stage on Discord. Knows where people sit and what went over the wire, and who sees what is hidden."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from core.ports import Door
from core.types import UserKey
from tests.e2e.discord_kit import ME, idle, serving
from tests.e2e.stage import ADA, ANA, BIA, EVA, OTHER, PRIVATE, ROOM, Button, Shown, Stage
from tests.fakes.discord_interactions import Interaction
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import BOT, EPHEMERAL, OWNER_ID, Channel, Note, Person

PEOPLE = {name: Person(OWNER_ID + at, name, "en-US") for at, name in enumerate((ANA, BIA, EVA, ADA))}
ROOMS = {ROOM: 10**17 + 100, OTHER: 10**17 + 101}

_ASKS = re.compile(r"elefante:do:p?f")
"""What opens a form first."""


class DiscordStage(Stage):
    """Everybody has direct messages; there are two channels, in which each also sees what is hidden from the others."""

    platform = "discord"
    server: DiscordServer

    def user(self, who: str) -> UserKey:
        return UserKey("discord", str(PEOPLE[who].id))

    def room(self, where: str) -> str:
        return f"discord:{ROOMS[where]}"

    async def says(self, who: str, text: str, where: str) -> None:
        self.said += 1
        if where == PRIVATE:
            await self.server.says(PEOPLE[who], text)
        else:
            await self.server.says(PEOPLE[who], f"{ME} {text}", room=ROOMS[where])

    async def slash(self, who: str, name: str, where: str, **options: Any) -> str:
        """Let somebody use a slash command, and return what they were answered."""
        room = 0 if where == PRIVATE else ROOMS[where]

        async def deed() -> None:
            self.said += 1
            await self.server.interactions.command(PEOPLE[who], name, room=room, **options)

        return await self._after(deed(), who, where)

    async def touches(self, who: str, button: Button) -> None:
        note = self._notes()[int(button.message)]
        if button.to not in {who, *ROOMS}:  # they do not see it: they send what stands in it from a message of theirs
            own = self.server.direct(PEOPLE[who])
            note = Note(self.server.snowflake(), own.id, BOT, "?")
            own.notes[note.id] = note
        pressed = await self.server.interactions.press(PEOPLE[who], note, button.data, forged=True)
        if _ASKS.match(button.data):
            await self.rest()
            await self.server.interactions.submit(PEOPLE[who], pressed, "rewritten by hand")
        self.said += 1

    def shown(self) -> Sequence[Shown]:
        hidden = self._hidden()
        written = [
            Shown(hidden.get(write.message) or self._reader(write.channel), str(write.message), write.text, str(write))
            for write in self.server.writes
        ]
        forms = [
            Shown(self._name(used), f"form {used.id}", str(used.form.get("title")), str(used.form))
            for used in self.server.interactions.all.values()
            if used.form
        ]
        return [*forms, *written]

    def buttons(self, who: str) -> list[Button]:
        hidden = self._hidden()
        found = []
        for note in self._notes().values():
            if note.by is BOT and (hidden.get(note.id) or self._reader(note.channel)) == who:
                for row in note.components:
                    for item in row["components"]:
                        for one in item.get("options") or [item]:
                            data = one.get("value") or one["custom_id"]
                            found.append(Button(who, str(note.id), str(one.get("label")), data))
        return found

    def waits(self) -> bool:
        return any(not used.kind or used.thinking for used in self.server.interactions.all.values())

    async def idle(self) -> None:
        await idle(self.server)

    def serving(self, door: Door) -> AbstractAsyncContextManager[object]:
        return serving(self.server, self.clock, door)

    def _notes(self) -> dict[int, Note]:
        channels: list[Channel] = list(self.server.channels.values())
        notes = {note.id: note for channel in channels for note in channel.notes.values()}
        return notes | {note.id: note for used in self.server.interactions.all.values() for note in used.notes}

    def _hidden(self) -> dict[int, str]:
        """Who sees a message that nobody else does."""
        return {
            note.id: self._name(used)
            for used in self.server.interactions.all.values()
            for note in used.notes
            if note.flags & EPHEMERAL
        }

    def _name(self, used: Interaction) -> str:
        return used.person.name

    def _reader(self, channel_id: int) -> str:
        channel = self.server.channels[channel_id]
        if channel.recipient is not None:
            return channel.recipient.name
        return next(name for name, number in ROOMS.items() if number == channel_id)


@asynccontextmanager
async def discord(folder: Path, **given: Any) -> AsyncIterator[DiscordStage]:
    """Open Discord, with nobody listening yet."""
    stage = DiscordStage(folder, **given)
    async with DiscordServer(stage.clock) as stage.server:
        for number in ROOMS.values():
            stage.server.room(number)
        for person in PEOPLE.values():
            stage.server.direct(person)
        yield stage
