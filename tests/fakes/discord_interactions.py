"""Interactions as Discord keeps them: 3 s to be acknowledged, once; 15 minutes to be answered.

Source: discord.com/developers/docs/interactions/receiving-and-responding.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes.discord_refusal import Refused
from tests.fakes.discord_world import APP_ID, BOT, DM, EPHEMERAL, LOADING, Channel, Json, Note, Person, member
from tests.fakes.discord_writing import apply

if TYPE_CHECKING:
    from tests.fakes.discord_server import DiscordServer

ACKNOWLEDGE_S, LIFE_S = 3.0, 900.0
CHANNEL_MESSAGE, DEFERRED_MESSAGE, DEFERRED_UPDATE = 4, 5, 6


@dataclass
class Interaction:
    """One use of a command or a button; `notes` are its answers, the response first."""

    id: int
    token: str
    channel: Channel
    person: Person
    at_s: float
    pressed: Note | None = None
    kind: int = 0
    notes: list[Note] = field(default_factory=list)

    @property
    def screen(self) -> list[str]:
        """What the person sees of the answers."""
        return [note.text for note in self.notes if not note.flags & LOADING]

    @property
    def thinking(self) -> bool:
        """Whether the client still says that the bot is thinking."""
        return any(note.flags & LOADING for note in self.notes)


class Interactions:
    """All of them, by token."""

    def __init__(self, server: DiscordServer) -> None:
        self._server = server
        self.all: dict[str, Interaction] = {}

    async def command(
        self, person: Person, name: str, *, room: int = 0, context: int | None = None, **options: Any
    ) -> Interaction:
        """A person uses a slash command; `context` 2 is where the bot was brought along, and is no member."""
        kinds: dict[type, int] = {str: 3, bool: 5}
        given = [{"name": key, "type": kinds[type(value)], "value": value} for key, value in options.items()]
        name, *sub = name.split()  # "admin status" is a command of a group
        if sub:
            given = [{"name": sub[0], "type": 1, "options": given}]
        data: Json = {"id": "1", "name": name, "type": 1, "options": given}
        payload: Json = {"type": 2, "data": data} | ({} if context is None else {"context": context})
        return await self._happen(person, room, payload, None)

    async def press(self, person: Person, note: Note, button: str) -> Interaction:
        """A person presses a button."""
        data: Json = {"custom_id": button, "component_type": 2}
        payload = {"type": 3, "data": data, "message": self._server.note_json(note)}
        channel = self._server.channels[note.channel]
        return await self._happen(person, 0 if channel.type == DM else channel.id, payload, note)

    async def _happen(self, person: Person, room: int, payload: Json, pressed: Note | None) -> Interaction:
        server = self._server
        server.people[person.id] = person
        channel = server.channels.get(room) or server.room(room) if room else server.direct(person)
        made = Interaction(server.snowflake(), "", channel, person, server.clock.monotonic(), pressed)
        made.token = f"token{made.id}"
        given = " ".join(f"{one['name']}:{one.get('value', '')}" for one in payload["data"].get("options", []))
        server.did(person, channel.id, f"/{payload['data']['name']} {given}".rstrip() if pressed is None else "[⏹️]")
        self.all[made.token] = made
        who: Json = {"user": person.json()}
        if channel.guild:
            who = {"guild_id": str(channel.guild), "member": member() | {**who, "permissions": "0"}}
        await server.gateway.tell("INTERACTION_CREATE", {
            "id": str(made.id), "application_id": str(APP_ID), "token": made.token, "version": 1,
            "channel_id": str(channel.id), "channel": channel.json(), "locale": person.locale,
            "context": 0 if channel.guild else 1,
            "attachment_size_limit": 1, "entitlements": [], "app_permissions": "0",
            "authorizing_integration_owners": {}, **who, **payload,
        })  # fmt: skip
        return made

    def answer(self, method: str, parts: list[str], body: Json) -> tuple[Any, int]:
        """Answer a request to `/interactions` or `/webhooks`."""
        found = self.all.get(parts[2])
        if found is None:
            raise Refused(404, 10015, "Unknown Webhook")
        age_s = self._server.clock.monotonic() - found.at_s
        if parts[0] == "interactions":
            return self._acknowledge(found, body, age_s)
        if age_s > LIFE_S:
            raise Refused(401, 50027, "Invalid Webhook Token")
        if not found.kind:
            raise Refused(404, 10015, "Unknown Webhook")
        if method == "POST":
            return self._server.note_json(self._add(found, body, "follow")), 200
        note = self._note(found, parts[4])
        if method == "DELETE":
            found.notes.remove(note)
            found.channel.notes.pop(note.id, None)
            return {}, 204
        if method == "PATCH":
            self._change(note, body, "edit")
        return self._server.note_json(note), 200

    def _acknowledge(self, found: Interaction, body: Json, age_s: float) -> tuple[Any, int]:
        if age_s > ACKNOWLEDGE_S:
            raise Refused(404, 10062, "Unknown interaction")
        if found.kind:
            raise Refused(400, 40060, "Interaction has already been acknowledged.")
        found.kind = body["type"]
        data = body.get("data") or {}
        if found.kind == CHANNEL_MESSAGE:
            self._add(found, data, "respond")
        elif found.kind == DEFERRED_MESSAGE:
            flags = LOADING | int(data.get("flags", 0))
            found.notes.append(Note(self._server.snowflake(), found.channel.id, BOT, flags=flags))
            self._stand(found, found.notes[-1])
        return self._callback(found), 200

    def _callback(self, found: Interaction) -> Json:
        """What `with_response` asks for."""
        about: Json = {"id": str(found.id), "type": 2}
        if not found.notes:
            return {"interaction": about}
        note = found.notes[0]
        about["response_message_id"] = str(note.id)
        return {"interaction": about, "resource": {"type": found.kind, "message": self._server.note_json(note)}}

    def _add(self, found: Interaction, body: Json, verb: str) -> Note:
        note = Note(self._server.snowflake(), found.channel.id, BOT)
        self._change(note, body, verb)
        found.notes.append(note)
        self._stand(found, note)
        return note

    def _stand(self, found: Interaction, note: Note) -> None:
        if not note.flags & EPHEMERAL:
            found.channel.notes[note.id] = note

    def _change(self, note: Note, body: Json, verb: str) -> None:
        note.flags &= ~LOADING
        apply(note, body)
        self._server.wrote(verb, note)

    @staticmethod
    def _note(found: Interaction, which: str) -> Note:
        for note in found.notes:
            if which == "@original" or int(which) == note.id:
                return note
        raise Refused(404, 10008, "Unknown Message")


def check_command(command: Json) -> None:
    """Refuse a command that Discord would refuse."""
    names = [command["name"], *(command.get("name_localizations") or {}).values()]
    if not all(re.fullmatch(r"[-_'\w]{1,32}", name) and name == name.lower() for name in names):
        raise Refused(400, 50035, "Invalid Form Body: name")
    texts = [command["description"], *(command.get("description_localizations") or {}).values()]
    if not all(1 <= len(text) <= 100 for text in texts) or len(command.get("options", [])) > 25:
        raise Refused(400, 50035, "Invalid Form Body: description")
    for option in command.get("options", []):
        check_command(option)
