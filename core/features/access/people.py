"""Who people are to the bot, what they chose, what owners decided, and the sockets where that is kept.

Knows standings, choices and decisions. Does not know what a standing permits: that is `core/features/access/rules.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, StrEnum, auto
from typing import Protocol

from core.types import Locale, UserKey


class Role(StrEnum):
    """What a person is to the bot.

    A guest is answered within the guests' quotas: somebody made one, or nobody in particular where a room was let in or
    everybody is.
    """

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    GUEST = "guest"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Person:
    """A person whom somebody gave a standing. `name` is what the platform calls them, cleaned, for people to read."""

    user: UserKey
    role: Role
    name: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Stranger:
    """Somebody without a standing who wrote: when they were last told that the bot is private, or since when denied.

    `language` is the tag of what they speak ("" if that cannot be told). Nothing is kept of what they wrote.
    """

    user: UserKey
    name: str
    at: datetime
    language: str = ""
    denied: bool = False


DENIED = "denied"
"""What is decided of a stranger to whom nothing is said, and of whom nobody is asked, for a while."""

DENIED_FOR = timedelta(days=30)
"""How long."""


class People(Protocol):
    """Who has which standing. Whoever has none is a stranger; of whoever has one nothing is noted as of a stranger."""

    async def find(self, user: UserKey) -> Person | None:
        """Return the person, or None for a stranger."""
        ...

    async def put(self, person: Person) -> None:
        """Give a person a standing, in place of the one they had."""
        ...

    async def claim(self, person: Person) -> bool:
        """Make them the first owner of their platform. False, and nothing changed, if it has an owner."""
        ...

    async def all(self) -> Sequence[Person]:
        """Return everybody who has a standing, the oldest first."""
        ...

    async def remove(self, user: UserKey) -> None:
        """Make a person a stranger again. One who is a stranger is fine."""
        ...

    async def rename(self, user: UserKey, name: str) -> None:
        """Keep what the platform calls a person now. A stranger is fine, and stays one."""
        ...

    async def note_stranger(self, stranger: Stranger, every: timedelta, denied_for: timedelta = DENIED_FOR) -> bool:
        """Note that a stranger wrote; a denial longer ago than `denied_for` is over.

        False, and nothing changed, if they were noted less than `every` before, or denied less than that.
        """
        ...

    async def deny(self, user: UserKey, at: datetime) -> None:
        """Make a person a stranger who was denied then, in place of whatever they were."""
        ...

    async def stranger(self, user: UserKey) -> Stranger | None:
        """Return what is noted of a stranger, None if nothing."""
        ...

    async def strangers(self, limit: int) -> Sequence[Stranger]:
        """Return the strangers who wrote last and were not denied, the newest first."""
        ...

    async def denied(self) -> Sequence[Stranger]:
        """Return the strangers who were denied, the last one first."""
        ...

    async def drop_strangers(self, before: datetime) -> None:
        """Forget the strangers who were noted before then."""
        ...


@dataclass(frozen=True, slots=True)
class Preferences:
    """What a person chose: a language (None: that of what they write), and whether anything new is remembered.

    `drafts` is whether answers stream as drafts where the platform has those (None: as the owner set it); `news`
    whether they want what owners tell everybody.
    """

    language: Locale | None = None
    remembers: bool = True
    drafts: bool | None = None
    news: bool = True


class PreferenceStore(Protocol):
    """What each person chose."""

    async def of(self, user: UserKey) -> Preferences:
        """Return what they chose; the defaults, where they chose nothing."""
        ...

    async def put(self, user: UserKey, preferences: Preferences) -> None:
        """Keep what they chose, in place of what they chose before."""
        ...

    async def forget(self, user: UserKey) -> None:
        """Go back to the defaults, and keep nothing of them."""
        ...


@dataclass(frozen=True, slots=True)
class LinkCode:
    """A code by which somebody's other account may be linked to theirs: `digest` is what is kept of it.

    `asked` is the account that was told last what entering it gives away, and `asked_at` when.
    """

    digest: str
    user: UserKey
    name: str
    at: datetime
    asked: UserKey | None = None
    asked_at: datetime | None = None


class LinkCodes(Protocol):
    """The codes that wait to be entered, at most one for each account."""

    async def put(self, code: LinkCode) -> None:
        """Keep it, in place of the one that the account had."""
        ...

    async def find(self, digest: str) -> LinkCode | None:
        """Return the code, or None if there is none of that digest."""
        ...

    async def take(self, digest: str) -> bool:
        """Forget the code of that digest, and return whether there was one: of several who take it, one has it."""
        ...

    async def drop(self, before: datetime) -> None:
        """Forget what was put before then."""
        ...

    async def forget(self, user: UserKey) -> None:
        """Forget the account's code, and that it was asked about another's. None is fine."""
        ...


class DecisionKind(StrEnum):
    """What a decision is about; in brackets what its `name` is, and the values it can have besides "" (undecided)."""

    ROLE = "standing"  # (a person as PLATFORM:ID) a Role, or DENIED
    ROOM = "room"  # (a room as PLATFORM:ID) ALLOWED
    ACTION = "action"  # (an action) ON or OFF
    PAUSE = "pause"  # ("") ON
    ACCESS = "access"  # ("") an access mode
    QUOTA = "quota"  # (a person or room as PLATFORM:ID, a Role, or "bot") limits, as `core.features.quotas` writes them
    MODEL = "model"  # (a mode of thought) PROVIDER:MODEL
    PROMPT = "prompt"  # ("" or a room as PLATFORM:ID) how the bot is to be, in the owner's words
    POLICY = "policy"  # (a room as PLATFORM:ID, or "") the name of what chooses a conversation's context
    DRAFTS = "drafts"  # (a room as PLATFORM:ID, or "") ON or OFF: whether answers stream as drafts
    EXPORT = "export"  # (a person as PLATFORM:ID) when an owner last took out all that is kept of them
    FORGET = "forget"  # ("") when an owner last had somebody forgotten
    BROADCAST = "broadcast"  # ("") when an owner last had everybody told something


OF_PEOPLE = (DecisionKind.ROLE, DecisionKind.QUOTA, DecisionKind.EXPORT)
"""The matters in which a name can be a person's: it goes from the record with the person."""

DEEDS = (DecisionKind.EXPORT, DecisionKind.FORGET, DecisionKind.BROADCAST)
"""The matters in which something was done rather than decided: it is on record, and cannot be taken back."""

ALLOWED, ON, OFF = "allowed", "on", "off"


@dataclass(frozen=True, slots=True)
class Decision:
    """What somebody decided: `before` and `after` are values of the matter. `undoes` is the id of what it takes back.

    `by` is None, and `name` empty, where it was somebody who was forgotten. `id` is 0 until stored.
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
    """What became of a decision. Only what is DONE changed anything."""

    DONE = auto()
    STALE = auto()  # the value is not what it was when this was decided
    LAST_OWNER = auto()  # its platform would be left without an owner


class Decisions(Protocol):
    """What was decided while the bot runs, and who decided it when. A value and its record change together."""

    async def value(self, matter: DecisionKind, name: str = "") -> str:
        """Return what is decided of that matter and name, "" if nothing."""
        ...

    async def values(self, matter: DecisionKind) -> Mapping[str, str]:
        """Return everything that is decided of that matter, by name."""
        ...

    async def apply(self, decision: Decision) -> Applied:
        """Change the value and record that, if the value is `before`, and no platform loses its last owner.

        Who is made a stranger again is one who has not written yet.
        """
        ...

    async def last(self, matter: DecisionKind, name: str) -> Decision | None:
        """Return the newest decision on that, None if there is none."""
        ...

    async def newest(self, limit: int) -> Sequence[Decision]:
        """Return the newest decisions, the newest first."""
        ...

    async def undoable(self) -> Decision | None:
        """Return the newest decision that takes nothing back and was not taken back; never a deed."""
        ...

    async def forget(self, user: UserKey) -> None:
        """Take that person's name off every record, and let go of what was decided for them; a standing stays."""
        ...
