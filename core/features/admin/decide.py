"""Make decisions: who may, what each changes, how it is told and taken back, and how it is put into force.

Decisions are put into force at the start, when they are made, and when another process made them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC
from typing import TypeAlias

from core.commands.command import Request
from core.features.access.gate import ROLES
from core.features.access.rules import Access
from core.features.admin.decisions import (
    ALL_MODES,
    ALLOWED,
    DEEDS,
    OF_PEOPLE,
    OFF,
    ON,
    Applied,
    Decision,
    DecisionKind,
    Decisions,
    by_mode,
)
from core.models import MODES
from core.ports import Clock
from core.text.catalogue import text
from core.text.markdown import verbatim
from core.text.unicode import one_line
from core.types import Locale, Localized, Role

_ABOVE_ADMINS = {Role.OWNER.value, Role.ADMIN.value}
_OWNERS_ONLY = {
    DecisionKind.PAUSE,
    DecisionKind.ACCESS,
    DecisionKind.QUOTA,
    DecisionKind.MODEL,
    DecisionKind.PROMPT,
    DecisionKind.OFFER,
    *DEEDS,
}
_MAX_VALUE_CHARS = 120

Effect: TypeAlias = Callable[[str, str], None]
"""Called with the name and the new value of a decision."""


class DecisionEffects:
    """Effects by kind of decision. The value of a kind without one is looked up each time it is needed."""

    def __init__(self, decisions: Decisions) -> None:
        self._decisions = decisions
        self._effects: dict[DecisionKind, Effect] = {}
        self._in_force: dict[tuple[DecisionKind, str], str] = {}
        self._seen = (0, 0)

    def on(self, kind: DecisionKind, effect: Effect) -> None:
        """Call `effect` for every decision of that kind from now on; register before `put_in_force`."""
        self._effects[kind] = effect

    def take_effect(self, kind: DecisionKind, name: str, value: str) -> None:
        """Put one decision into force at once."""
        if kind in self._effects:
            self._in_force[kind, name] = value
            self._effects[kind](name, value)

    async def catch_up(self) -> None:
        """Put into force what another process, such as the command line, decided meanwhile."""
        if (seen := await self._decisions.refresh()) != self._seen:
            await self.put_in_force()
            self._seen = seen

    async def put_in_force(self) -> None:
        """Put into force every stored decision that is not in force yet."""
        for kind in self._effects:
            values = await self._decisions.values(kind)
            gone = [name for (of, name), value in self._in_force.items() if of is kind and value]
            for name in dict.fromkeys((*values, *gone)):
                if self._in_force.get((kind, name), "") != values.get(name, ""):
                    self.take_effect(kind, name, values.get(name, ""))


def may(role: Role, decision: Decision) -> bool:
    """Whether a person of that role may decide so: owners everything; admins nothing on owners, admins or costs."""
    if role is not Role.ADMIN or decision.matter in _OWNERS_ONLY:
        return role is Role.OWNER
    return decision.matter is not DecisionKind.ROLE or not {decision.before, decision.after} & _ABOVE_ADMINS


class Decider:
    """Make, undo and record decisions of owners and admins, and tell them what changed."""

    def __init__(self, decisions: Decisions, access: Access, clock: Clock, effects: DecisionEffects) -> None:
        self._decisions = decisions
        self._access = access
        self._clock = clock
        self._effects = effects
        self.after: dict[DecisionKind, Callable[[Request, Decision], Awaitable[None]]] = {}
        """Called with each decision of that kind once it was told."""

    async def decide(
        self, request: Request, kind: DecisionKind, name: str, after: str, *, only_undecided: bool = False
    ) -> Decision | None:
        """Decide, tell what that changed, and return it; None if nothing was changed.

        With `only_undecided`, an earlier decision is kept, and told.
        """
        before, locale = await self._decisions.value(kind, name), request.locale
        if before == after or (before and only_undecided):
            told = ALREADY if before == after else DECIDED
            line = told[locale].format(what=describe_value(kind, name, before, locale))
            await request.answer.tell("\n".join([line, *await self._whose(kind, name, locale)]))
            return None
        decision = Decision(self._clock.now(), request.incoming.user, kind, name, before, after)
        return decision if await self._apply(request, decision) else None

    async def undo(self, request: Request) -> None:
        """Take back the newest decision that was not taken back."""
        last = await self._decisions.undoable()
        if last is None or (last.matter in OF_PEOPLE and not last.name):
            await request.tell(NOTHING_TO_UNDO)
            return
        now, by = self._clock.now(), request.incoming.user
        await self._apply(request, Decision(now, by, last.matter, last.name, last.after, last.before, undoes=last.id))

    async def _apply(self, request: Request, decision: Decision) -> bool:
        if not may(request.role, decision):
            await request.tell(ONLY_OWNERS)
            return False
        applied = await self._decisions.apply(decision)
        what = describe(decision, request.locale)
        if applied is Applied.DONE:
            if (decision.matter, decision.name) == (DecisionKind.MODEL, ALL_MODES):
                after = by_mode(decision.after)
                for mode in by_mode(decision.before) | after:
                    self._effects.take_effect(decision.matter, mode, after.get(mode, ""))
            else:
                self._effects.take_effect(decision.matter, decision.name, decision.after)
            if request.incoming.pressed:  # what takes the place of the question tells later readers who answered it
                what = "\n".join([what, *await self._whose(decision.matter, decision.name, request.locale)])
        await request.tell(TOLD[applied], what=what)
        if applied is Applied.DONE and decision.matter in self.after:
            await self.after[decision.matter](request, decision)
        return applied is Applied.DONE

    async def _whose(self, kind: DecisionKind, name: str, locale: Locale) -> list[str]:
        """Return a line on who decided that last, and when; none if nobody did."""
        newest = await self._decisions.newest(1, on=(kind, name))
        if not newest:
            return []
        [last] = newest
        person = None if last.by is None else await self._access.person(last.by)
        by = FORGOTTEN[locale] if last.by is None else f"`{last.by}`"
        named = f" {verbatim(one_line(person.name, _MAX_VALUE_CHARS))}" if person is not None and person.name else ""
        return [BY[locale].format(by=f"{by}{named}", at=f"{last.at.astimezone(UTC):%Y-%m-%d %H:%M}")]


def describe(decision: Decision, locale: Locale) -> str:
    """Return a decision on one line: what it is about, the value before, the value after."""
    before, after = (value_text(decision.matter, value, locale) for value in (decision.before, decision.after))
    return f"{_subject(decision.matter, decision.name, locale)}: {before} → {after}"


def describe_value(kind: DecisionKind, name: str, value: str, locale: Locale) -> str:
    """Return what holds, on one line: what it is about, and the value."""
    return f"{_subject(kind, name, locale)}: {value_text(kind, value, locale)}"


def value_text(kind: DecisionKind, value: str, locale: Locale) -> str:
    """Return the word for a value; text that an owner wrote is kept as it is, on one line."""
    told = _VALUES[kind].get(value)
    models = by_mode(value) if kind is DecisionKind.MODEL and "=" in value else {}
    if set(models) == set(MODES) and len(set(models.values())) == 1:
        value = models[MODES[0]]
    return told[locale] if told else verbatim(one_line(value, _MAX_VALUE_CHARS))


def _subject(kind: DecisionKind, name: str, locale: Locale) -> str:
    named = f"`{name}`" if name else ""
    if kind in _ABOUT:
        return f"{_ABOUT[kind][locale]} {named}".rstrip()
    return named or FORGOTTEN[locale]


_UNSET = text("admin.decide.unset")
_NEVER = text("admin.decide.never")
_NO_PERSONA = text("admin.decide.no_persona")
_VALUES: dict[DecisionKind, dict[str, Localized]] = {
    DecisionKind.ROLE: ROLES,
    DecisionKind.ROOM: {
        ALLOWED: text("admin.decide.values.room.allowed"),
        "": text("admin.decide.values.room.not_allowed"),
    },
    DecisionKind.ACTION: {
        ON: text("admin.decide.values.action.on"),
        OFF: text("admin.decide.values.action.off"),
        "": _UNSET,
    },
    DecisionKind.PAUSE: {
        ON: text("admin.decide.values.pause.on"),
        "": text("admin.decide.values.pause.off"),
    },
    DecisionKind.ACCESS: {
        "private": text("admin.decide.values.access.private"),
        "members": text("admin.decide.values.access.members"),
        "open": text("admin.decide.values.access.open"),
        "": _UNSET,
    },
    DecisionKind.QUOTA: {"": _UNSET},
    DecisionKind.MODEL: {"": _UNSET},
    DecisionKind.PROMPT: {OFF: _NO_PERSONA, "": _NO_PERSONA},
    DecisionKind.POLICY: {"": _UNSET},
    DecisionKind.REMINDERS: {
        OFF: text("admin.decide.values.reminders.off"),
        "": text("admin.decide.values.reminders.on"),
    },
    DecisionKind.CONTEXT: {"": text("pointing.decide.off")},
    DecisionKind.OFFER: {"": text("admin.decide.no_offer")},
    DecisionKind.EXPORT: {"": _NEVER},
    DecisionKind.FORGET: {"": _NEVER},
    DecisionKind.BROADCAST: {"": _NEVER},
}
_ABOUT: dict[DecisionKind, Localized] = {
    DecisionKind.PAUSE: text("admin.decide.about.pause"),
    DecisionKind.ACCESS: text("admin.decide.about.access"),
    DecisionKind.QUOTA: text("admin.decide.about.quota"),
    DecisionKind.MODEL: text("admin.decide.about.model"),
    DecisionKind.PROMPT: text("admin.decide.about.prompt"),
    DecisionKind.POLICY: text("admin.decide.about.policy"),
    DecisionKind.REMINDERS: text("admin.decide.about.reminders"),
    DecisionKind.CONTEXT: text("pointing.decide.about"),
    DecisionKind.OFFER: text("admin.decide.about.offer"),
    DecisionKind.EXPORT: text("admin.decide.about.export"),
    DecisionKind.FORGET: text("admin.decide.about.forget"),
    DecisionKind.BROADCAST: text("admin.decide.about.broadcast"),
}
FORGOTTEN = text("admin.decide.forgotten")

TOLD: dict[Applied, Localized] = {
    Applied.DONE: text("admin.decide.told.done"),
    Applied.STALE: text("admin.decide.told.stale"),
    Applied.LAST_OWNER: text("admin.decide.told.last_owner"),
}
ALREADY = text("admin.decide.already")
DECIDED = text("admin.decide.decided")
BY = text("admin.decide.by")
ONLY_OWNERS = text("admin.decide.only_owners")
NOTHING_TO_UNDO = text("admin.decide.nothing_to_undo")
