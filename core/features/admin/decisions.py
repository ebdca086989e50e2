"""What owners and admins decide while the bot runs: the kinds of decision, and the record of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, StrEnum, auto

from core.types import Locale, Localized, UserKey


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
