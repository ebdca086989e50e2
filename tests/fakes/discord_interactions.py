"""Interactions as Discord keeps them: 3 s to be acknowledged, once; 15 minutes to be answered.

Source: discord.com/developers/docs/interactions/receiving-and-responding.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes.discord_components import check_form, find, need
from tests.fakes.discord_world import (
    APP_ID,
    BOT,
    DM,
    EPHEMERAL,
    LOADING,
    Channel,
    Json,
    Note,
    Person,
    Refused,
    Role,
    member,
    role_json,
)
from tests.fakes.discord_writing import MAX_FILE_BYTES, apply

if TYPE_CHECKING:
    from tests.fakes.discord_server import DiscordServer

ACKNOWLEDGE_S, LIFE_S = 3.0, 900.0
CHANNEL_MESSAGE, DEFERRED_MESSAGE, DEFERRED_UPDATE, OFFERED, MODAL = 4, 5, 6, 8, 9
COMMAND, COMPONENT, TYPING, SUBMIT = 2, 3, 4, 5
MAX_FOLLOW_UPS = 5
MAX_OPTIONS, MAX_COMMAND_CHARS = 25, 8000
SLASH, ON_PERSON, ON_MESSAGE = 1, 2, 3
GROUP, INTEGER = 2, 4
MOST_OF_A_KIND = {SLASH: 100, ON_PERSON: 15, ON_MESSAGE: 15}


@dataclass
class Interaction:
    """One use of a command, a button or a form; `notes` are its answers, the response first.

    The response to one whose deferred answer is an update is the message that was `pressed`. `form` is what opened;
    `offered` are the labels and values that a field offers while somebody `types`. `along` says that the bot is no
    member there, so that no more than 5 follow-ups are taken.
    """

    id: int
    token: str
    channel: Channel
    person: Person
    at_s: float
    pressed: Note | None = None
    kind: int = 0
    notes: list[Note] = field(default_factory=list)
    form: Json = field(default_factory=dict)
    along: bool = False
    followed: int = 0
    types: bool = False
    submitted: bool = False
    offered: list[tuple[str, str]] | None = None

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
        self, person: Person, name: str, /, *, room: int = 0, context: int | None = None, **options: Any
    ) -> Interaction:
        """A person uses a slash command; `context` 2 is where the bot was brought along, and is no member."""
        resolved: Json = {}
        given = [self._option(key, value, resolved) for key, value in options.items()]
        filled_in = " ".join(f"{one['name']}:{one['value']}" for one in given)
        told = f"/{name} {filled_in}".rstrip()
        name, *sub = name.split()  # "admin status" is a command of a group
        if sub:
            given = [{"name": sub[0], "type": 1, "options": given}]
        data: Json = {"id": "1", "name": name, "type": 1, "options": given, "resolved": resolved}
        payload: Json = {"type": COMMAND, "data": data} | ({} if context is None else {"context": context})
        return await self._happen(person, room, payload, None, told)

    async def point_at_message(
        self, person: Person, name: str, note: Note, *, context: int | None = None
    ) -> Interaction:
        """A person chooses something from the menu of a message."""
        resolved = {"messages": {str(note.id): self._server.note_json(note)}}
        data = {"id": "1", "name": name, "type": ON_MESSAGE, "target_id": str(note.id), "resolved": resolved}
        payload: Json = {"type": COMMAND, "data": data} | ({} if context is None else {"context": context})
        return await self._happen(person, self._room(note), payload, None, f"⋯ {name}")

    async def point_at_person(self, person: Person, name: str, target: Person, *, room: int) -> Interaction:
        """A person chooses something from the menu of another, in a server."""
        resolved = {
            "users": {str(target.id): target.json()},
            "members": {str(target.id): member() | {"permissions": "0"}},
        }
        data = {"id": "1", "name": name, "type": ON_PERSON, "target_id": str(target.id), "resolved": resolved}
        return await self._happen(person, room, {"type": COMMAND, "data": data}, None, f"⋯ {name}: {target.name}")

    async def typing(
        self, person: Person, name: str, field: str, /, *, room: int = 0, typed: str, **filled_in: Any
    ) -> Interaction:
        """A person is filling in a field of a slash command, and has not sent it; others are `filled_in` already."""
        option: Json = {"name": field, "type": 3, "value": typed, "focused": True}
        options: list[Json] = [*(self._option(key, value, {}) for key, value in filled_in.items()), option]
        command, *verb = name.split()
        if verb:
            options = [{"name": verb[0], "type": 1, "options": options}]
        data: Json = {"id": "1", "name": command, "type": 1, "options": options, "resolved": {}}
        return await self._happen(person, room, {"type": TYPING, "data": data}, None, f"/{name} {field}:{typed}…")

    async def press(self, person: Person, note: Note, button: str, *, forged: bool = False) -> Interaction:
        """A person presses a button, or chooses an entry of a menu, by its label or id; `forged`: that is not there."""
        item: Json = {"type": 2, "custom_id": button}
        option: Json | None = None
        if not forged:
            item, option = find(note.components, button)
        data: Json = {"custom_id": item["custom_id"], "component_type": item["type"]}
        said = item.get("label") or (item.get("emoji") or {}).get("name") or button
        if option is not None:
            data["values"], said = [option["value"]], option["label"]
        payload = {"type": COMPONENT, "data": data, "message": self._server.note_json(note)}
        return await self._happen(person, self._room(note), payload, note, f"[{said}]")

    async def submit(self, person: Person, opened: Interaction, text: str) -> Interaction:
        """A person fills in the form that a press opened, and sends it."""
        [label] = opened.form["components"]
        field_id = label["component"]["custom_id"]
        answered = {"type": 18, "id": 1, "component": {"type": 4, "id": 2, "custom_id": field_id, "value": text}}
        data = {"custom_id": opened.form["custom_id"], "components": [answered]}
        note, room = opened.pressed, 0 if opened.channel.type == DM else opened.channel.id
        payload = {"type": SUBMIT, "data": data} | ({"message": self._server.note_json(note)} if note else {})
        return await self._happen(person, room, payload, note, f"({opened.form['title']}) {text}")

    def _room(self, note: Note) -> int:
        channel = self._server.channels[note.channel]
        return 0 if channel.type == DM else channel.id

    def _option(self, name: str, value: Any, resolved: Json) -> Json:
        """What is told of a field that was filled in; a person, channel, role or file is told beside it."""
        if isinstance(value, Person):
            resolved["users"] = {str(value.id): value.json()}
            return {"name": name, "type": 6, "value": str(value.id)}
        if isinstance(value, Channel):
            told = {"id": str(value.id), "name": value.name, "type": value.type, "permissions": "0"}
            resolved["channels"] = {str(value.id): told}
            return {"name": name, "type": 7, "value": str(value.id)}
        if isinstance(value, Role):
            resolved["roles"] = {str(value.id): role_json(value.id, value.name)}
            return {"name": name, "type": 8, "value": str(value.id)}
        if isinstance(value, tuple):
            file = self._server.upload(*value)
            resolved["attachments"] = {file["id"]: file}
            return {"name": name, "type": 11, "value": file["id"]}
        kind = 5 if isinstance(value, bool) else INTEGER if isinstance(value, int) else 3
        return {"name": name, "type": kind, "value": value}

    async def _happen(self, person: Person, room: int, payload: Json, pressed: Note | None, told: str) -> Interaction:
        server = self._server
        server.people[person.id] = person
        channel = server.channels.get(room) or server.room(room) if room else server.direct(person)
        made = Interaction(server.snowflake(), "", channel, person, server.clock.monotonic(), pressed)
        made.token = f"token{made.id}"
        made.along = payload.get("context") == 2
        made.types, made.submitted = payload["type"] == TYPING, payload["type"] == SUBMIT
        server.did(person, channel.id, told)
        self.all[made.token] = made
        who: Json = {"user": person.json()}
        if channel.guild:
            who = {
                "guild_id": str(channel.guild),
                "member": member(server.roles_of.get(person.id, ())) | {**who, "permissions": "0"},
            }
        owners = {"1": str(person.id)} if made.along else {"0": str(channel.guild)}
        await server.gateway.tell("INTERACTION_CREATE", {
            "id": str(made.id), "application_id": str(APP_ID), "token": made.token, "version": 1,
            "channel_id": str(channel.id), "channel": channel.json(), "locale": person.locale,
            "context": 0 if channel.guild else 1,
            "attachment_size_limit": MAX_FILE_BYTES, "entitlements": [], "app_permissions": "0",
            "authorizing_integration_owners": owners, **who, **payload,
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
            found.followed += 1
            if found.along and found.followed > MAX_FOLLOW_UPS:
                raise Refused(400, 40094, "This interaction has hit the maximum number of follow up messages.")
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
        need(body["type"] != DEFERRED_UPDATE or found.pressed is not None, "type")
        need(body["type"] != MODAL or not found.submitted, "type")
        found.kind = body["type"]
        data = body.get("data") or {}
        need((found.kind == OFFERED) == found.types, "type")
        if found.kind == OFFERED:
            need(len(data["choices"]) <= MAX_OPTIONS, "choices: Must be 25 or fewer in length.")
            found.offered = [(one["name"], one["value"]) for one in data["choices"]]
            need(all(1 <= len(text) <= 100 for one in found.offered for text in one), "choices: length")
        elif found.kind == CHANNEL_MESSAGE:
            self._add(found, data, "respond")
        elif found.kind == DEFERRED_MESSAGE:
            found.notes.append(self._new(found, LOADING | int(data.get("flags", 0))))
            self._stand(found, found.notes[-1])
        elif found.kind == DEFERRED_UPDATE:
            assert found.pressed is not None
            found.notes.append(found.pressed)
        elif found.kind == MODAL:
            check_form(data)
            found.form = data
            begun = data["components"][0]["component"].get("value") or ""
            self._server.opened(found.channel.id, f"({data['title']}) {begun}".rstrip())
        return self._callback(found), 200

    def _callback(self, found: Interaction) -> Json:
        """What `with_response` asks for."""
        about: Json = {"id": str(found.id), "type": 2}
        if not found.notes:
            return {"interaction": about}
        note = found.notes[0]
        about["response_message_id"] = str(note.id)
        return {"interaction": about, "resource": {"type": found.kind, "message": self._server.note_json(note)}}

    def _new(self, found: Interaction, flags: int = 0) -> Note:
        """A message that tells what it answers. Source: discord.com/developers/docs/resources/message, the object."""
        asked = {"id": str(found.id), "type": 2, "user": found.person.json(), "authorizing_integration_owners": {}}
        about = {"interaction_metadata": asked}
        return Note(self._server.snowflake(), found.channel.id, BOT, flags=flags, more=about)

    def _add(self, found: Interaction, body: Json, verb: str) -> Note:
        note = self._new(found)
        self._change(note, body, verb)
        found.notes.append(note)
        self._stand(found, note)
        return note

    def _stand(self, found: Interaction, note: Note) -> None:
        if not note.flags & EPHEMERAL:
            found.channel.notes[note.id] = note

    def _change(self, note: Note, body: Json, verb: str) -> None:
        note.flags &= ~LOADING
        apply(self._server, note, body)
        self._server.wrote(verb, note)

    @staticmethod
    def _note(found: Interaction, which: str) -> Note:
        for note in found.notes:
            if which == "@original" or int(which) == note.id:
                return note
        raise Refused(404, 10008, "Unknown Message")


def check_commands(commands: Sequence[Json], *, in_guild: bool) -> None:
    """Refuse what overwrites all commands if Discord would, such as too many of a kind, or a name twice."""
    for kind, most in MOST_OF_A_KIND.items():
        names = [each["name"] for each in commands if each.get("type", SLASH) == kind]
        need(len(names) <= most, f"Maximum number of application commands of type {kind} reached")
        need(len(set(names)) == len(names), "APPLICATION_COMMANDS_DUPLICATE_NAME")
    for command in commands:
        is_global = command.get("contexts") or command.get("integration_types")
        need(not (in_guild and is_global), "contexts: not of the commands of one server")
        if command.get("type", SLASH) == SLASH:
            _check_command(command)
        else:
            need(all(1 <= len(name) <= 32 for name in _names(command)), "name: Must be between 1 and 32 in length.")
            need(not command.get("description") and not command.get("options"), "description: context menus have none")


def _names(command: Json) -> list[str]:
    return [command["name"], *(command.get("name_localizations") or {}).values()]


def _check_command(command: Json) -> None:
    """Refuse a slash command, or a field of one, that Discord would refuse."""
    names = _names(command)
    need(all(re.fullmatch(r"[-_'\w]{1,32}", name) and name == name.lower() for name in names), "name")
    texts = [command["description"], *(command.get("description_localizations") or {}).values()]
    options, choices = command.get("options", []), command.get("choices") or []
    need(all(1 <= len(text) <= 100 for text in texts), "description: Must be between 1 and 100 in length.")
    need(len(options) <= MAX_OPTIONS and len(choices) <= MAX_OPTIONS, "options: Must be 25 or fewer in length.")
    need(not (choices and command.get("autocomplete")), "choices: none beside autocomplete")
    fields = [option for option in options if option["type"] > GROUP]
    need(fields in ([], options), "options: verbs and fields do not mix")
    required = [bool(option.get("required")) for option in fields]
    need(required == sorted(required, reverse=True), "options: Required options must be placed before others")
    need(len({option["name"] for option in options}) == len(options), "APPLICATION_COMMAND_OPTIONS_NAME_INVALID")
    shown = [name for each in choices for name in _names(each)]
    need(all(1 <= len(name) <= 100 for name in shown), "choices: name: Must be between 1 and 100 in length.")
    need(len({each["value"] for each in choices}) == len(choices), "choices: The value is used twice")
    bounds = [command[key] for key in ("min_value", "max_value") if key in command]
    need(not bounds or command["type"] == INTEGER, "min_value, max_value: of numbers only")
    for option in options:
        _check_command(option)
    need(length(command) <= MAX_COMMAND_CHARS, "Command exceeds maximum size (8000)")


def length(command: Json) -> int:
    """What Discord counts of a command: of each text its longest language, and all that is below it."""
    said = sum(_longest(command, key) for key in ("name", "description"))
    words = sum(_longest(choice, "name") + len(str(choice["value"])) for choice in command.get("choices") or [])
    return said + words + sum(map(length, command.get("options", [])))


def _longest(told: Json, key: str) -> int:
    return max(map(len, [told[key], *(told.get(f"{key}_localizations") or {}).values()]))
