"""What owners and admins decide while the bot runs: kinds, the values that hold now, and a record of each change.

Values are sealed by the bot's key, for some are an owner's own words (how the bot is to be), which hold when that owner
is forgotten.
"""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum, StrEnum, auto

from core.features.access.storage import DENIED, deny, lock_roles
from core.history.conversation import PlaceSettings
from core.sealing.port import BOT, Sealing
from core.storage.database import Database, Query, Row
from core.storage.record import OF_USER, microseconds, moment, user_key
from core.types import ChatKey, Incoming, Locale, Localized, Role, UserKey, room_name, server_name


class DecisionKind(StrEnum):
    """The kinds that need no other feature; in brackets what the `name` is, and the values besides "" (undecided)."""

    ROLE = "standing"  # (a person as PLATFORM:ID) a Role, or DENIED
    ROOM = "room"  # (a room as PLATFORM:ID) ALLOWED
    ACTION = "action"  # (an action) ON or OFF
    PAUSE = "pause"  # ("") ON
    ACCESS = "access"  # ("") an access mode
    MODEL = "model"  # (a mode of thought) PROVIDER:MODEL; (ALL_MODES) those of all modes, as `of_modes` writes them
    PROMPT = "prompt"  # ("" or a room as PLATFORM:ID) how the bot is to be, in the owner's words
    POLICY = "policy"  # (a room as PLATFORM:ID, or "") the name of what chooses a conversation's context
    CONTEXT = "context"  # (a room as PLATFORM:ID) how many of its last messages a model is shown with a question; OFF
    TALK = "talk"  # (a room as PLATFORM:ID) TOGETHER or ALONE

    # Of who manages a server, or a group: (it, as PLATFORM:ID)
    SERVER_CHANNELS = "server.channels"  # the channels in which it is answered, as `of_entries` writes them
    SERVER_ROLES = "server.roles"  # the roles that are answered, as `of_entries` writes them
    SERVER_LIMITS = "server.limits"  # limits of each of its rooms, as `core.features.quotas.limits.written` writes them
    SERVER_PERSONA = "server.persona"  # how the bot is to be there
    SERVER_LANGUAGE = "server.language"  # the tag of the language of answers
    SERVER_CONTEXT = "server.context"  # (a room of it) as CONTEXT
    SERVER_TALK = "server.talk"  # (a room of it) as TALK


@dataclass(frozen=True, slots=True)
class Matter:
    """One kind of decision: who may decide it, and how it is told. A feature contributes its own."""

    kind: str

    about: Localized | None = None
    """What is said before the name; None if the name says it."""

    values: Mapping[str, Localized] = field(default_factory=dict)
    """What is said for a value; others are shown as they are."""

    for_owners: bool = False
    """Whether only owners may decide it."""

    of_people: bool = False
    """Whether the name is a person's, which is removed from the record when they are forgotten."""

    of_servers: bool = False
    """Whether it is decided by /server, which asks the platform who may."""

    shown: Callable[[str, Locale], str] | None = None
    """How a value without a sentence of its own is shown; None: as it is."""

    is_deed: bool = False
    """Whether it records what was done, which cannot be undone; the value is the time."""


ALLOWED, ON, OFF = "allowed", "on", "off"
TOGETHER, ALONE = "together", "alone"
OF_ROOMS = frozenset({DecisionKind.SERVER_CONTEXT, DecisionKind.SERVER_TALK})
"""Of what is decided by who manages a server: what holds for a room of it."""

OF_SERVERS = frozenset(kind for kind in DecisionKind if kind.startswith("server."))


def entries(value: str) -> dict[str, str]:
    """Map ids to names ("" for none): read a decided list of channels or roles, a line `ID=NAME` each."""
    return {id_: name for id_, _, name in (line.partition("=") for line in value.splitlines())}


def of_entries(entries: Mapping[str, str]) -> str:
    """Return a list of channels or roles as one value, "" for none: what `entries` reads."""
    return "\n".join(f"{id_}={name}" for id_, name in entries.items())


ALL_MODES = "all"
"""The name under which the models of all modes are decided at once, and taken back at once."""


def of_modes(models: Mapping[str, str]) -> str:
    """Return the decided models of the modes as one value, "" for none: `chat=openai:a heavy=openai:b`."""
    return " ".join(f"{mode}={models[mode]}" for mode in sorted(models))


def by_mode(value: str) -> dict[str, str]:
    """Map each mode to its model: read what `of_modes` wrote."""
    return {mode: model for mode, _, model in (pair.partition("=") for pair in value.split())}


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision: the value before and after.

    `by` is None, or `name` empty, if that person was forgotten. `undoes` is the id of the decision that it takes back,
    else 0. `id` is 0 until stored.
    """

    at: datetime
    by: UserKey | None
    matter: str
    name: str
    before: str
    after: str
    undoes: int = 0
    id: int = 0


class Applied(Enum):
    """The result of a decision. Only one that is DONE changed anything."""

    DONE = auto()
    STALE = auto()  # the value is not what it was when this was decided
    LAST_OWNER = auto()  # its platform would be left without an owner


class Decisions:
    """What was decided while the bot runs, and who decided it when. A value and its record change together.

    Roles are rows of `people`, every other value one of `decided`; each change is recorded in `decisions`. All values
    but roles are kept in RAM until a `refresh` finds a change: whoever begins something by what is decided (to take a
    message in, to answer it) calls that first.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._seen = (-1, 0)
        self._values: Mapping[str, Mapping[str, str]] | None = None

    async def refresh(self) -> tuple[int, int]:
        """Take over what other processes decided; return what changes with every change of what is decided.

        That is the number of the newest decision and how many values there are: `forget` is no decision.
        """
        [(newest, values)] = await self._database.rows(_SEEN)
        if (now := (int(newest), int(values))) != self._seen:
            self._seen, self._values = now, None
        return now

    async def value(self, matter: str, name: str = "") -> str:
        """Return the decided value of that kind and name, "" if there is none."""
        if matter == DecisionKind.ROLE:
            return _first(await self._database.rows(_STANDING, _of_role(name)))
        values = await self.values(matter)
        return of_modes(values) if _is_of_all_modes(matter, name) else values.get(name, "")

    async def values(self, matter: str) -> Mapping[str, str]:
        """Return every decided value of that kind, by name."""
        if matter == DecisionKind.ROLE:
            return dict(await self._database.rows(_STANDINGS, (DENIED,)))
        return (await self._decided()).get(matter, {})

    async def _decided(self) -> Mapping[str, Mapping[str, str]]:
        """Return all values by their kinds and names."""
        if self._values is not None:
            return self._values
        seen, decided = self._seen, defaultdict[str, dict[str, str]](dict)
        for matter, name, value in await self._database.rows("SELECT matter, name, value FROM decided ORDER BY name"):
            decided[matter][name] = _opened(self._database.sealing, matter, name, value)
        if seen == self._seen:  # else something was decided while this was read
            self._values = decided
        return decided

    async def apply(self, decision: Decision) -> Applied:
        """Change the value and record that, if the value is `before` and no platform loses its last owner.

        A person who becomes a stranger again is not noted as one until they write.
        """

        def job(query: Query) -> Applied:
            # One after another: whoever knows the newest decision knows all before it.
            query.lock("decisions")
            if decision.matter == DecisionKind.ROLE:
                lock_roles(query, decision.name.partition(":")[0])
            if _present(query, decision.matter, decision.name) != decision.before:
                return Applied.STALE
            if decision.matter == DecisionKind.ROLE:
                if not _keeps_an_owner(query, decision):
                    return Applied.LAST_OWNER
                _set_role(query, decision)
            elif _is_of_all_modes(decision.matter, decision.name):
                query.run("DELETE FROM decided WHERE matter = ?", (DecisionKind.MODEL,))
                for mode, model in by_mode(decision.after).items():
                    _set(query, replace(decision, name=mode, after=model))
            else:
                _set(query, decision)
            by = user_key(decision.by) if decision.by else ("", "")
            at_us, named = microseconds(decision.at), (decision.matter, decision.name)
            row = _decision_row(at_us, decision.matter)
            before, after = [
                query.sealing.seal(BOT, column, row, value)
                for column, value in zip(_STATES, (decision.before, decision.after), strict=True)
            ]
            query.run(
                f"INSERT INTO decisions ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (at_us, *by, *named, before, after, decision.undoes),
            )
            return Applied.DONE

        applied = await self._database.write(job)
        await self.refresh()  # also where it was not what it was taken for
        return applied

    async def newest(
        self, limit: int, *, on: tuple[str, str] | None = None, places: Collection[str] = ()
    ) -> Sequence[Decision]:
        """Return the newest decisions, the newest first: all, those on one matter and name, or of those `places`."""
        only = "matter = ? AND name = ?" if on else "1 = 1"
        of_places, names = _of_servers(places)
        rows = await self._database.rows(
            f"{_SELECT} WHERE {only} {of_places} ORDER BY id DESC LIMIT ?", (*(on or ()), *names, limit)
        )
        return [_decision(self._database.sealing, row) for row in rows]

    async def undoable(self, deeds: Collection[str] = (), *, places: Collection[str] = ()) -> Decision | None:
        """Return the newest decision that undoes nothing, is not undone, and is not of one of those kinds.

        With `places`, it is one that who manages those servers decided for them.
        """
        of_places, names = _of_servers(places)
        rows = await self._database.rows(
            f"""
            {_SELECT} WHERE undoes = 0 AND matter NOT IN ({_marks(deeds or ("",))}) {of_places}
            AND id NOT IN (SELECT undoes FROM decisions) ORDER BY id DESC LIMIT 1
            """,
            (*(deeds or ("",)), *names),
        )
        return _decision(self._database.sealing, rows[0]) if rows else None

    async def forget(self, user: UserKey) -> None:
        """Remove that person's id from every record, and what was decided for them; a role stays."""

        def job(query: Query) -> None:
            query.lock("decisions")
            query.run(f"""UPDATE decisions SET platform = '', "user" = '' WHERE {OF_USER}""", user_key(user))
            query.run("UPDATE decisions SET name = '' WHERE name = ?", (str(user),))
            query.run("DELETE FROM decided WHERE name = ?", (str(user),))

        await self._database.write(job)
        await self.refresh()

    async def access_mode(self) -> str:
        """Return the decided access mode, "" if nothing is decided."""
        return await self.value(DecisionKind.ACCESS)

    async def is_let_in(self, room: str) -> bool:
        """Whether a room, named as PLATFORM:ID, is let in."""
        return await self.value(DecisionKind.ROOM, room) == ALLOWED

    async def is_paused(self) -> bool:
        """Whether only owners are answered for now."""
        return bool(await self.value(DecisionKind.PAUSE))

    async def room_messages(self, chat: ChatKey) -> int:
        """Return how many of the room's last messages a model is shown with a question; 0 for none."""
        room = room_name(chat)
        value = await self.value(DecisionKind.CONTEXT, room) or await self.value(DecisionKind.SERVER_CONTEXT, room)
        return int(value) if value.isdecimal() else 0

    async def talks_together(self, chat: ChatKey) -> bool:
        """Return whether people continue one conversation there: as decided; where nothing is, in threads."""
        room = room_name(chat)
        value = await self.value(DecisionKind.TALK, room) or await self.value(DecisionKind.SERVER_TALK, room)
        return value == TOGETHER or (not value and chat.is_thread)

    async def lets_answer(self, incoming: Incoming) -> bool:
        """Whether who manages its server lets the bot answer that person in that channel."""
        server, here = server_name(incoming.chat), incoming.chat.without_aside
        channels = entries(await self.value(DecisionKind.SERVER_CHANNELS, server)).keys()
        roles = entries(await self.value(DecisionKind.SERVER_ROLES, server)).keys()
        is_here = not channels or not channels.isdisjoint((here.chat, here.thread))
        return is_here and (not roles or not roles.isdisjoint(incoming.groups))

    async def language_in(self, chat: ChatKey) -> str:
        """Return the tag of the language that was decided for the chat's server, "" for none."""
        return await self.value(DecisionKind.SERVER_LANGUAGE, server_name(chat))

    async def in_place(self, matter: str, chat: ChatKey) -> str:
        """Return what is decided for a place or, where nothing is, for the bot; "" if nothing is."""
        values = await self.values(matter)
        return values.get(room_name(chat)) or values.get("", "")

    async def place_settings(self, chat: ChatKey) -> PlaceSettings:
        """Return how the bot is to be in a place."""
        persona = (
            await self.value(DecisionKind.PROMPT, room_name(chat))
            or await self.value(DecisionKind.SERVER_PERSONA, server_name(chat))
            or await self.value(DecisionKind.PROMPT)
        )
        return PlaceSettings(
            await self.in_place(DecisionKind.POLICY, chat),
            "" if persona == OFF else persona,
            await self.room_messages(chat),
            await self.talks_together(chat),
        )


_VALUE = "decided.value"
_STATES = ("decisions.before", "decisions.after")

_SEEN = "SELECT (SELECT coalesce(max(id), 0) FROM decisions), (SELECT count(*) FROM decided)"
_STANDINGS = """
SELECT platform || ':' || "user", standing FROM people
UNION ALL SELECT platform || ':' || "user", ? FROM strangers WHERE denied = 1 ORDER BY 1
"""
_COLUMNS = 'at, platform, "user", matter, name, before, after, undoes'
_SELECT = f"SELECT {_COLUMNS}, id FROM decisions"


_STANDING = f"""
SELECT standing FROM people WHERE {OF_USER}
UNION ALL SELECT ? FROM strangers WHERE {OF_USER} AND denied = 1
"""


def _present(query: Query, matter: str, name: str) -> str:
    """Return the value that is decided, "" if there is none."""
    if matter == DecisionKind.ROLE:
        return _first(query.run(_STANDING, _of_role(name)))
    values = {
        each: _opened(query.sealing, matter, each, value)
        for each, value in query.run("SELECT name, value FROM decided WHERE matter = ?", (matter,))
    }
    return of_modes(values) if _is_of_all_modes(matter, name) else values.get(name, "")


def _of_role(name: str) -> tuple[str, ...]:
    """Return the parameters of _STANDING."""
    platform, _, user = name.partition(":")
    return (platform, user, DENIED, platform, user)


def _first(rows: Sequence[Row]) -> str:
    return str(rows[0][0]) if rows else ""


def _decided_row(matter: str, name: str) -> str:
    """Return what names a decided value to the sealing."""
    return f"{matter}|{name}"


def _opened(sealing: Sealing, matter: str, name: str, value: str) -> str:
    return sealing.open(_VALUE, _decided_row(matter, name), value)


def _is_of_all_modes(matter: str, name: str) -> bool:
    return matter == DecisionKind.MODEL and name == ALL_MODES


def _keeps_an_owner(query: Query, decision: Decision) -> bool:
    if decision.before != Role.OWNER or decision.after == Role.OWNER:
        return True
    platform, _, user = decision.name.partition(":")
    others = 'SELECT 1 FROM people WHERE platform = ? AND "user" != ? AND standing = ? LIMIT 1'
    return bool(query.run(others, (platform, user, Role.OWNER)))


def _set_role(query: Query, decision: Decision) -> None:
    platform, _, user = decision.name.partition(":")
    if decision.after == DENIED:
        deny(query, UserKey(platform, user), decision.at)
        return
    if decision.after:
        _give_role(query, platform, user, decision)
    else:
        query.run(f"DELETE FROM people WHERE {OF_USER}", (platform, user))
    query.run(f"DELETE FROM strangers WHERE {OF_USER}", (platform, user))


def _give_role(query: Query, platform: str, user: str, decision: Decision) -> None:
    query.run(
        f"""
        INSERT INTO people (platform, "user", standing, name, since)
        VALUES (?, ?, ?, coalesce((SELECT name FROM strangers WHERE {OF_USER}), ''), ?)
        ON CONFLICT (platform, "user") DO UPDATE SET standing = excluded.standing
        """,
        (platform, user, decision.after, platform, user, microseconds(decision.at)),
    )


def _of_servers(places: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """Return what holds of decisions on those servers, as a condition and its parameters; nothing for no places."""
    if not places:
        return "", ()
    kinds = sorted(OF_SERVERS)
    return f"AND matter IN ({_marks(kinds)}) AND name IN ({_marks(places)})", (*kinds, *places)


def _marks(values: Collection[str]) -> str:
    return ", ".join("?" for _ in values)


def _set(query: Query, decision: Decision) -> None:
    key = (decision.matter, decision.name)
    query.run("DELETE FROM decided WHERE matter = ? AND name = ?", key)
    if decision.after:
        value = query.sealing.seal(BOT, _VALUE, _decided_row(*key), decision.after)
        query.run("INSERT INTO decided (matter, name, value) VALUES (?, ?, ?)", (*key, value))


def _decision_row(at_us: int, matter: str) -> str:
    """Return what names a decision to the sealing: its name may be removed."""
    return f"{at_us}|{matter}"


def _decision(sealing: Sealing, row: Row) -> Decision:
    at, platform, user, matter, name, *states, undoes, number = row
    before, after = [
        sealing.open(column, _decision_row(at, matter), value) for column, value in zip(_STATES, states, strict=True)
    ]
    by = UserKey(platform, user) if user else None
    return Decision(moment(at), by, matter, name, before, after, undoes, number)
