"""What owners and admins decided while the bot runs, and the port of the store that holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum, auto
from typing import Protocol

from core.features.access.rules import AccessDecisions
from core.history.conversation import PlaceSettings, PlaceSettingsOf
from core.ports import Clock
from core.types import ChatKey, UserKey, room_name


class DecisionKind(StrEnum):
    """What a decision is about; in brackets what its `name` is, and the values it can have besides "" (undecided)."""

    ROLE = "standing"  # (a person as PLATFORM:ID) a Role, or DENIED
    ROOM = "room"  # (a room as PLATFORM:ID) ALLOWED
    ACTION = "action"  # (an action) ON or OFF
    PAUSE = "pause"  # ("") ON
    ACCESS = "access"  # ("") an access mode
    QUOTA = "quota"  # (a person or room as PLATFORM:ID, a Role, or "bot") limits, as `core.features.quotas` writes them
    MODEL = "model"  # (a mode of thought) PROVIDER:MODEL; (ALL_MODES) those of all modes, as `of_modes` writes them
    PROMPT = "prompt"  # ("" or a room as PLATFORM:ID) how the bot is to be, in the owner's words
    POLICY = "policy"  # (a room as PLATFORM:ID, or "") the name of what chooses a conversation's context
    REMINDERS = "reminders"  # (a room as PLATFORM:ID) OFF
    CONTEXT = "context"  # (a room as PLATFORM:ID) how many of its last messages a model is shown with a question
    OFFER = "offer"  # (a person as PLATFORM:ID) when an owner offered them to be one, too
    EXPORT = "export"  # (a person as PLATFORM:ID) when an owner last took out all that is kept of them
    FORGET = "forget"  # ("") when an owner last had somebody forgotten
    BROADCAST = "broadcast"  # ("") when an owner last had everybody told something


OF_PEOPLE = (DecisionKind.ROLE, DecisionKind.QUOTA, DecisionKind.OFFER, DecisionKind.EXPORT)
"""The kinds whose name can be a person's: it is removed from the record when the person is forgotten."""

DEEDS = (DecisionKind.EXPORT, DecisionKind.FORGET, DecisionKind.BROADCAST)
"""The kinds that record what was done rather than decided; they cannot be taken back."""

ALLOWED, ON, OFF = "allowed", "on", "off"

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
    """One decision: the value before and after. `undoes` is the id of the decision that it takes back, else 0.

    `by` is None, or `name` empty, if that person was forgotten. `id` is 0 until stored.
    """

    at: datetime
    by: UserKey | None
    matter: DecisionKind
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


class Decisions(AccessDecisions, Protocol):
    """What was decided while the bot runs, and who decided it when. A value and its record change together."""

    async def access_mode(self) -> str:
        """Return the decided access mode, "" if nothing is decided."""
        return await self.value(DecisionKind.ACCESS)

    async def is_let_in(self, room: str) -> bool:
        """Whether a room, named as PLATFORM:ID, is let in."""
        return await self.value(DecisionKind.ROOM, room) == ALLOWED

    async def is_paused(self) -> bool:
        """Whether only owners are answered for now."""
        return bool(await self.value(DecisionKind.PAUSE))

    async def reminders_off(self, chat: ChatKey) -> bool:
        """Whether reminders are off in that room."""
        return await self.value(DecisionKind.REMINDERS, room_name(chat)) == OFF

    async def room_messages(self, chat: ChatKey) -> int:
        """Return how many of the room's last messages a model is shown with a question; 0 for none."""
        value = await self.value(DecisionKind.CONTEXT, room_name(chat))
        return int(value) if value.isdecimal() else 0

    async def in_place(self, matter: DecisionKind, chat: ChatKey) -> str:
        """Return what is decided for a place or, where nothing is, for the bot; "" if nothing is."""
        values = await self.values(matter)
        return values.get(room_name(chat)) or values.get("", "")

    async def refresh(self) -> tuple[int, int]:
        """Take over what other processes decided; return what changes with every change of what is decided."""
        ...

    async def value(self, matter: DecisionKind, name: str = "") -> str:
        """Return the decided value of that kind and name, "" if there is none."""
        ...

    async def values(self, matter: DecisionKind) -> Mapping[str, str]:
        """Return every decided value of that kind, by name."""
        ...

    async def apply(self, decision: Decision) -> Applied:
        """Change the value and record that, if the value is `before` and no platform loses its last owner.

        A person who becomes a stranger again is not noted as one until they write.
        """
        ...

    async def newest(self, limit: int, *, on: tuple[DecisionKind, str] | None = None) -> Sequence[Decision]:
        """Return the newest decisions, the newest first: all of them, or those on one matter and name."""
        ...

    async def undoable(self) -> Decision | None:
        """Return the newest decision that undoes nothing, is not undone, and is not one of DEEDS."""
        ...

    async def forget(self, user: UserKey) -> None:
        """Remove that person's name from every record, and what was decided for them; a role stays."""
        ...


class KeptDecisions(Decisions):
    """Decisions whose values are kept in RAM, as they are at each `refresh`; roles are read each time.

    Whoever begins something by what is decided (to take a message in, to answer it) calls `refresh` first.
    """

    def __init__(self, store: Decisions) -> None:
        self._store = store
        self._seen = (-1, 0)
        self._values: dict[DecisionKind, Mapping[str, str]] = {}

    async def refresh(self) -> tuple[int, int]:
        """Forget the values that are kept if anything was decided since the last call."""
        if (now := await self._store.refresh()) != self._seen:
            self._seen, self._values = now, {}
        return now

    async def value(self, matter: DecisionKind, name: str = "") -> str:
        """Return the decided value of that kind and name, "" if there is none."""
        if matter is DecisionKind.ROLE:
            return await self._store.value(matter, name)
        values = await self.values(matter)
        return of_modes(values) if (matter, name) == (DecisionKind.MODEL, ALL_MODES) else values.get(name, "")

    async def values(self, matter: DecisionKind) -> Mapping[str, str]:
        """Return every decided value of that kind, by name."""
        kept = self._values  # another one, if something is decided while this is read
        if matter in kept:
            return kept[matter]
        values = await self._store.values(matter)
        if matter is not DecisionKind.ROLE:
            kept[matter] = values
        return values

    async def apply(self, decision: Decision) -> Applied:
        """Change the value and record that, if the value is `before` and no platform loses its last owner."""
        applied = await self._store.apply(decision)
        await self.refresh()  # also where it was not what it was taken for
        return applied

    async def newest(self, limit: int, *, on: tuple[DecisionKind, str] | None = None) -> Sequence[Decision]:
        """Return the newest decisions, the newest first: all of them, or those on one matter and name."""
        return await self._store.newest(limit, on=on)

    async def undoable(self) -> Decision | None:
        """Return the newest decision that undoes nothing, is not undone, and is not one of DEEDS."""
        return await self._store.undoable()

    async def forget(self, user: UserKey) -> None:
        """Remove that person's name from every record, and what was decided for them; a role stays."""
        await self._store.forget(user)
        await self.refresh()


async def record_deed(decisions: Decisions, clock: Clock, by: UserKey, matter: DecisionKind, name: str = "") -> None:
    """Record that one of the DEEDS was done, by whom and when; its value is the time."""
    applied = Applied.STALE
    while applied is Applied.STALE:  # two at the same moment: both are recorded
        now = clock.now()
        before = await decisions.value(matter, name)
        applied = await decisions.apply(Decision(now, by, matter, name, before, now.isoformat(timespec="seconds")))


def place_settings_by(decisions: Decisions) -> PlaceSettingsOf:
    """Return the function that tells how the bot is to be in a place; it looks each time."""

    async def place_settings(chat: ChatKey) -> PlaceSettings:
        persona = await decisions.in_place(DecisionKind.PROMPT, chat)
        return PlaceSettings(
            await decisions.in_place(DecisionKind.POLICY, chat),
            "" if persona == OFF else persona,
            await decisions.room_messages(chat),
        )

    return place_settings
