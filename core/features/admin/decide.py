"""How a decision is made: who may, what it changes, how it is told, and how it is taken back.

Knows standings and decisions. Does not know how one is asked for.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC

from core.commands.command import Request
from core.features.access.people import DENIED
from core.features.admin.decisions import ALLOWED, DEEDS, OF_PEOPLE, OFF, ON, Applied, Decision, DecisionKind
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
    *DEEDS,
}
_MAX_VALUE_CHARS = 120


def may(role: Role, decision: Decision) -> bool:
    """Whether somebody of that standing may decide so: owners all; admins neither who is above, nor what costs."""
    if role is not Role.ADMIN or decision.matter in _OWNERS_ONLY:
        return role is Role.OWNER
    return decision.matter is not DecisionKind.ROLE or not {decision.before, decision.after} & _ABOVE_ADMINS


async def decide(
    request: Request, matter: DecisionKind, name: str, after: str, *, only_undecided: bool = False
) -> Decision | None:
    """Decide, tell what that changed, and return it; None if nothing was changed.

    With `only_undecided`, what somebody decided before is left as it is, and told.
    """
    before = await request.context.stores.decisions.value(matter, name)
    decision = Decision(request.context.clock.now(), request.incoming.user, matter, name, before, after)
    if before == after or (before and only_undecided):
        text = ALREADY if before == after else DECIDED
        told = text[request.locale].format(what=describe_value(replace(decision, after=before), request.locale))
        await request.turn.tell("\n".join([told, *await _whose(request, matter, name)]))
        return None
    return decision if await _apply(request, decision) else None


async def undo(request: Request) -> None:
    """Take back the newest decision that was not taken back."""
    last = await request.context.stores.decisions.undoable()
    if last is None or (last.matter in OF_PEOPLE and not last.name):
        await request.tell(NOTHING_TO_UNDO)
        return
    now, by = request.context.clock.now(), request.incoming.user
    await _apply(request, Decision(now, by, last.matter, last.name, last.after, last.before, undoes=last.id))


async def _apply(request: Request, decision: Decision) -> bool:
    if not may(request.role, decision):
        await request.tell(ONLY_OWNERS)
        return False
    applied = await request.context.stores.decisions.apply(decision)
    what = describe(decision, request.locale)
    if applied is Applied.DONE:
        request.context.effects.take_effect(decision.matter, decision.name, decision.after)
        if request.incoming.pressed:  # what takes the place of the question tells later readers who answered it
            what = "\n".join([what, *await _whose(request, decision.matter, decision.name)])
    await request.tell(TOLD[applied], what=what)
    return applied is Applied.DONE


async def _whose(request: Request, matter: DecisionKind, name: str) -> list[str]:
    """Return a line on who decided that last, and when; none if nobody did."""
    last = await request.context.stores.decisions.last(matter, name)
    if last is None:
        return []
    person = None if last.by is None else await request.context.access.person(last.by)
    by = FORGOTTEN[request.locale] if last.by is None else f"`{last.by}`"
    named = f" {verbatim(one_line(person.name, _MAX_VALUE_CHARS))}" if person is not None and person.name else ""
    return [BY[request.locale].format(by=f"{by}{named}", at=f"{last.at.astimezone(UTC):%Y-%m-%d %H:%M}")]


def describe(decision: Decision, locale: Locale) -> str:
    """Return what was decided, on one line: what it is about, the value before, the value after."""
    before, after = (value_text(decision.matter, value, locale) for value in (decision.before, decision.after))
    return f"{_subject(decision, locale)}: {before} → {after}"


def describe_value(decision: Decision, locale: Locale) -> str:
    """Return what is so after the decision, on one line."""
    return f"{_subject(decision, locale)}: {value_text(decision.matter, decision.after, locale)}"


def value_text(matter: DecisionKind, value: str, locale: Locale) -> str:
    """Return the word for a value; what an owner wrote stands as it is, on one line."""
    told = _VALUES[matter].get(value)
    return told[locale] if told else verbatim(one_line(value, _MAX_VALUE_CHARS))


def _subject(decision: Decision, locale: Locale) -> str:
    name = f"`{decision.name}`" if decision.name else ""
    if decision.matter in _ABOUT:
        return f"{_ABOUT[decision.matter][locale]} {name}".rstrip()
    return name or FORGOTTEN[locale]


ROLES: dict[str, Localized] = {
    Role.OWNER.value: text("admin.decide.roles.owner"),
    Role.ADMIN.value: text("admin.decide.roles.admin"),
    Role.MEMBER.value: text("admin.decide.roles.member"),
    Role.GUEST.value: text("admin.decide.roles.guest"),
    Role.BLOCKED.value: text("admin.decide.roles.blocked"),
    DENIED: text("admin.decide.roles.denied"),
    "": text("admin.decide.roles.stranger"),
}
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
