"""Make decisions: who may, what each changes, how it is told and taken back, and how it is put into force.

Decisions are put into force at the start, when they are made, and when another process made them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from typing import Final

from core.commands.command import Request
from core.features.access.gate import ROLES, minute
from core.features.admin.names import Names
from core.features.admin.storage import (
    ALLOWED,
    ALONE,
    OFF,
    ON,
    TOGETHER,
    Applied,
    Decision,
    DecisionKind,
    Decisions,
    Matter,
    by_mode,
)
from core.models import MODES
from core.ports import Clock
from core.text.catalogue import Sentences, text, texts
from core.text.markdown import verbatim
from core.text.unicode import one_line
from core.types import Locale, Role, UserKey, places_of, room_name

DECIDE = Sentences("admin.decide")

MAX_CHANGES: Final = 20
_ABOVE_ADMINS: Final = {Role.OWNER.value, Role.ADMIN.value}
_MAX_VALUE_CHARS: Final = 120


class Decider:
    """Make, undo and record decisions of owners and admins, tell them what changed, and put it into force.

    `matters` are the kinds of decision; what a feature adds to that list later counts, too.
    """

    def __init__(self, decisions: Decisions, names: Names, clock: Clock, matters: Sequence[Matter]) -> None:
        self._decisions = decisions
        self._names = names
        self._clock = clock
        self._matters = matters
        self._effects: dict[str, Callable[[str, str], None]] = {}
        self._in_force: dict[tuple[str, str], str] = {}
        self._seen = (0, 0)
        self.after: dict[str, Callable[[Request, Decision], Awaitable[None]]] = {}
        """Called with each decision of that kind once it was told."""

    def matter(self, kind: str) -> Matter:
        """Return how decisions of that kind are told; one of a feature that is gone is told as it is."""
        return next((each for each in (*MATTERS, *self._matters) if each.kind == kind), Matter(kind, for_owners=True))

    async def decide(
        self, request: Request, kind: str, name: str, after: str, *, only_undecided: bool = False
    ) -> Decision | None:
        """Decide, tell what that changed, and return it; None if nothing was changed.

        With `only_undecided`, an earlier decision is kept, and told.
        """
        before, locale = await self._decisions.value(kind, name), request.locale
        if name == room_name(request.incoming.chat):
            await self._names.titles.note_here(request.incoming)
        if before == after or (before and only_undecided):
            told = DECIDE.already if before == after else DECIDE.decided
            subject = await self._subject(kind, name, locale, _here(request))
            holds = f"{subject}: {self.value_text(kind, before, locale)}"
            await request.answer.tell(
                "\n".join([told[locale].format(what=holds), *await self._whose(kind, name, locale)])
            )
            return None
        decision = Decision(self._clock.now(), request.incoming.user, kind, name, before, after)
        return decision if await self._make_and_tell(request, decision) else None

    async def undo(self, request: Request, places: Collection[str] = ()) -> None:
        """Take back the newest decision that was not taken back, or of those of who manages `places`."""
        deeds = [each.kind for each in self._matters if each.is_deed]
        last = await self._decisions.undoable(deeds, places=places)
        if last is None or (not last.name and self.matter(last.matter).of_people):
            await request.tell(DECIDE.nothing_to_undo)
            return
        now, by = self._clock.now(), request.incoming.user
        back = Decision(now, by, last.matter, last.name, last.after, last.before, undoes=last.id)
        await self._make_and_tell(request, back)

    async def make(self, decision: Decision) -> Applied:
        """Store a decision, and put it into force if it changed something."""
        kind = decision.matter
        held = await self._decisions.values(kind) if kind in self._effects else {}
        applied = await self._decisions.apply(decision)
        if applied is Applied.DONE:
            self._in_force = {(kind, name): value for name, value in held.items()} | self._in_force
            await self.put_in_force()
        return applied

    async def record(self, kind: str, by: UserKey, name: str = "") -> None:
        """Record that a deed of that kind was done, by whom and when; its value is the time."""
        applied = Applied.STALE
        while applied is Applied.STALE:  # two at the same moment: both are recorded
            now, before = self._clock.now(), await self._decisions.value(kind, name)
            done = Decision(now, by, kind, name, before, now.isoformat(timespec="seconds"))
            applied = await self._decisions.apply(done)

    async def changes(self, locale: Locale, places: Collection[str] = ()) -> Sequence[str]:
        """Return the newest decisions, or those of who manages `places`, a line each: when, by whom, what."""
        return [
            f"{minute(each.at, locale)} · {await self._by(each, locale)} · {await self._told(each, locale, places)}"
            + (f" {UNDONE[locale]}" if each.undoes else "")
            for each in await self._decisions.newest(MAX_CHANGES, places=places)
        ]

    def on(self, kind: str, effect: Callable[[str, str], None]) -> None:
        """Call `effect` with the name and the new value of every decision of that kind from now on.

        The value of a kind without an effect is looked up each time it is needed.
        """
        self._effects[kind] = effect

    async def catch_up(self) -> None:
        """Put into force what another process, such as the command line, decided meanwhile."""
        if (seen := await self._decisions.refresh()) != self._seen:
            await self.put_in_force()
            self._seen = seen

    async def put_in_force(self) -> None:
        """Put into force every stored decision that is not in force yet."""
        for kind, effect in self._effects.items():
            values = await self._decisions.values(kind)
            gone = [name for (of, name), value in self._in_force.items() if of == kind and value]
            for name in dict.fromkeys((*values, *gone)):
                if self._in_force.get((kind, name), "") != (value := values.get(name, "")):
                    self._in_force[kind, name] = value
                    effect(name, value)

    async def _told(self, decision: Decision, locale: Locale, here: Collection[str] = ()) -> str:
        """Return a decision on one line: what it is about, the value before, the value after.

        A server by one of the names `here` is not named: it is told there.
        """
        kind = decision.matter
        before, after = (self.value_text(kind, value, locale) for value in (decision.before, decision.after))
        return f"{await self._subject(kind, decision.name, locale, here)}: {before} → {after}"

    def value_text(self, kind: str, value: str, locale: Locale) -> str:
        """Return the word for a value; text that an owner wrote is kept as it is, on one line."""
        matter = self.matter(kind)
        told = matter.values.get(value)
        if matter.is_deed and told is None:
            return minute(datetime.fromisoformat(value), locale)
        if told is None and matter.shown is not None:
            return matter.shown(value, locale)
        models = by_mode(value) if kind == DecisionKind.MODEL and "=" in value else {}
        if set(models) == set(MODES) and len(set(models.values())) == 1:
            value = models[MODES[0]]
        return told[locale] if told else verbatim(one_line(value, _MAX_VALUE_CHARS))

    async def _make_and_tell(self, request: Request, decision: Decision) -> bool:
        matter = self.matter(decision.matter)
        if not may(request.role, decision, matter):
            await request.tell(DECIDE.only_owners)
            return False
        applied = await self.make(decision)
        if applied is Applied.DONE and matter.of_people and decision.name:
            await self._names.learn(request, decision.name)
        what = await self._told(decision, request.locale, _here(request))
        is_done = applied is Applied.DONE
        if is_done and request.incoming.pressed:  # what takes the place of the question tells who answered it
            what = "\n".join([what, *await self._whose(decision.matter, decision.name, request.locale)])
        await request.tell(TOLD[applied], what=what, undo="/server undo" if matter.of_servers else "/admin undo")
        if is_done and decision.matter in self.after:
            await self.after[decision.matter](request, decision)
        return is_done

    async def _whose(self, kind: str, name: str, locale: Locale) -> list[str]:
        """Return a line on who decided that last, and when; none if nobody did."""
        newest = await self._decisions.newest(1, on=(kind, name))
        if not newest:
            return []
        [last] = newest
        return [DECIDE.by[locale].format(by=await self._by(last, locale), at=minute(last.at, locale))]

    async def _by(self, decision: Decision, locale: Locale) -> str:
        return DECIDE.forgotten[locale] if decision.by is None else await self._names.of_person(decision.by)

    async def _subject(self, kind: str, name: str, locale: Locale, here: Collection[str]) -> str:
        matter = self.matter(kind)
        platform, _, key = name.partition(":")
        if not name or (matter.of_servers and name in here):
            named = ""
        elif matter.of_people and key and not await self._names.titles.of(name):
            named = await self._names.of_person(UserKey(platform, key))
        else:
            named = await self._names.of_room(name)
        return f"{matter.about[locale]} {named}".rstrip() if matter.about else named or DECIDE.forgotten[locale]


def _here(request: Request) -> frozenset[str]:
    return places_of(request.incoming.chat)


def may(role: Role, decision: Decision, matter: Matter) -> bool:
    """Whether a person of that role may decide so: owners everything; admins nothing on owners, admins or costs.

    Of servers it was checked before, with their platform.
    """
    if matter.of_servers:
        return True
    if role is not Role.ADMIN or matter.for_owners:
        return role is Role.OWNER
    return decision.matter != DecisionKind.ROLE or not {decision.before, decision.after} & _ABOVE_ADMINS


UNSET = text("admin.decide.unset")
NEVER = text("admin.decide.never")
"""The value of a deed that was not done yet."""

_ROOM = {ALLOWED: text("admin.decide.values.room.allowed"), "": text("admin.decide.values.room.not_allowed")}
_ACTION = {ON: text("admin.decide.values.action.on"), OFF: text("admin.decide.values.action.off"), "": UNSET}
_PAUSE = {ON: text("admin.decide.values.pause.on"), "": text("admin.decide.values.pause.off")}
_ACCESS = texts("admin.decide.values.access", ("private", "members", "open")) | {"": UNSET}
TALKS = texts("pointing.talk", (TOGETHER, ALONE)) | {"": text("pointing.talk.undecided")}
_NO_PERSONA = dict.fromkeys((OFF, ""), text("admin.decide.no_persona"))
MATTERS: Final = (
    Matter(DecisionKind.ROLE, values=ROLES, of_people=True),
    Matter(DecisionKind.ROOM, values=_ROOM),
    Matter(DecisionKind.ACTION, values=_ACTION),
    Matter(DecisionKind.PAUSE, text("admin.decide.about.pause"), _PAUSE, for_owners=True),
    Matter(DecisionKind.ACCESS, text("admin.decide.about.access"), _ACCESS, for_owners=True),
    Matter(DecisionKind.MODEL, text("admin.decide.about.model"), {"": UNSET}, for_owners=True),
    Matter(DecisionKind.PROMPT, text("admin.decide.about.prompt"), _NO_PERSONA, for_owners=True),
    Matter(DecisionKind.POLICY, text("admin.decide.about.policy"), {"": UNSET}),
    Matter(DecisionKind.TALK, text("pointing.talk.about"), TALKS),
    Matter(DecisionKind.CONTEXT, text("pointing.decide.about"), dict.fromkeys(("", OFF), text("pointing.decide.off"))),
)

TOLD = texts("admin.decide.told", Applied)
UNDONE = text("admin.survey.undone")
