"""How a decision is made: who may, what it changes, how it is told, and how it is taken back.

Knows standings and decisions. Does not know how one is asked for.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC

from core.commands.command import Request
from core.features.access.people import DENIED
from core.features.admin.decisions import ALLOWED, DEEDS, OF_PEOPLE, OFF, ON, Applied, Decision, DecisionKind
from core.text.markdown import verbatim
from core.text.unicode import one_line
from core.types import Locale, Localized, Role

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
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
    Role.OWNER.value: {PT: "dono", EN: "owner", ES: "dueño"},
    Role.ADMIN.value: {PT: "administrador", EN: "admin", ES: "administrador"},
    Role.MEMBER.value: {PT: "membro", EN: "member", ES: "miembro"},
    Role.GUEST.value: {PT: "convidado", EN: "guest", ES: "invitado"},
    Role.BLOCKED.value: {PT: "bloqueado", EN: "blocked", ES: "bloqueado"},
    DENIED: {PT: "recusado", EN: "denied", ES: "rechazado"},
    "": {PT: "desconhecido", EN: "stranger", ES: "desconocido"},
}
_UNSET: Localized = {PT: "como na configuração", EN: "as the settings say", ES: "según la configuración"}
_NEVER: Localized = {PT: "nunca", EN: "never", ES: "nunca"}
_NO_PERSONA: Localized = {PT: "nenhuma", EN: "none", ES: "ninguna"}
_VALUES: dict[DecisionKind, dict[str, Localized]] = {
    DecisionKind.ROLE: ROLES,
    DecisionKind.ROOM: {
        ALLOWED: {PT: "permitida", EN: "let in", ES: "permitida"},
        "": {PT: "não permitida", EN: "not let in", ES: "no permitida"},
    },
    DecisionKind.ACTION: {
        ON: {PT: "ligada", EN: "on", ES: "activada"},
        OFF: {PT: "desligada", EN: "off", ES: "desactivada"},
        "": _UNSET,
    },
    DecisionKind.PAUSE: {
        ON: {PT: "em pausa", EN: "paused", ES: "en pausa"},
        "": {PT: "atendendo", EN: "answering", ES: "atendiendo"},
    },
    DecisionKind.ACCESS: {
        "private": {PT: "privado", EN: "private", ES: "privado"},
        "members": {PT: "só membros", EN: "members only", ES: "solo miembros"},
        "open": {PT: "aberto a todos", EN: "open to everybody", ES: "abierto a todos"},
        "": _UNSET,
    },
    DecisionKind.QUOTA: {"": _UNSET},
    DecisionKind.MODEL: {"": _UNSET},
    DecisionKind.PROMPT: {OFF: _NO_PERSONA, "": _NO_PERSONA},
    DecisionKind.POLICY: {"": _UNSET},
    DecisionKind.DRAFTS: {
        ON: {PT: "ligados", EN: "on", ES: "activados"},
        OFF: {PT: "desligados", EN: "off", ES: "desactivados"},
        "": _UNSET,
    },
    DecisionKind.EXPORT: {"": _NEVER},
    DecisionKind.FORGET: {"": _NEVER},
    DecisionKind.BROADCAST: {"": _NEVER},
}
_ABOUT: dict[DecisionKind, Localized] = {
    DecisionKind.PAUSE: {PT: "o bot", EN: "the bot", ES: "el bot"},
    DecisionKind.ACCESS: {PT: "acesso", EN: "access", ES: "acceso"},
    DecisionKind.QUOTA: {PT: "cota", EN: "quota", ES: "cuota"},
    DecisionKind.MODEL: {PT: "modelo", EN: "model", ES: "modelo"},
    DecisionKind.PROMPT: {PT: "persona", EN: "persona", ES: "persona"},
    DecisionKind.POLICY: {PT: "política da conversa", EN: "history policy", ES: "política de la conversación"},
    DecisionKind.DRAFTS: {PT: "rascunhos", EN: "drafts", ES: "borradores"},
    DecisionKind.EXPORT: {PT: "exportação de", EN: "export of", ES: "exportación de"},
    DecisionKind.FORGET: {PT: "alguém foi esquecido", EN: "somebody was forgotten", ES: "se olvidó a alguien"},
    DecisionKind.BROADCAST: {PT: "comunicado a todos", EN: "broadcast to everybody", ES: "comunicado a todos"},
}
FORGOTTEN: Localized = {PT: "(alguém que foi esquecido)", EN: "(somebody forgotten)", ES: "(alguien olvidado)"}

TOLD: dict[Applied, Localized] = {
    Applied.DONE: {
        PT: "Feito. {what}\nPara voltar atrás: /admin undo",
        EN: "Done. {what}\nTo take it back: /admin undo",
        ES: "Hecho. {what}\nPara deshacerlo: /admin undo",
    },
    Applied.STALE: {
        PT: "Isso mudou nesse meio tempo; nada foi alterado. Veja como está e tente de novo.",
        EN: "That changed meanwhile; nothing was done. See how it stands and try again.",
        ES: "Eso cambió mientras tanto; no se cambió nada. Mira cómo está e inténtalo de nuevo.",
    },
    Applied.LAST_OWNER: {
        PT: "Não: o bot ficaria sem dono nessa plataforma. Nada foi alterado.",
        EN: "No: the bot would be left without an owner on that platform. Nothing was done.",
        ES: "No: el bot quedaría sin dueño en esa plataforma. No se cambió nada.",
    },
}
ALREADY: Localized = {PT: "Já é assim. {what}", EN: "That is so already. {what}", ES: "Ya es así. {what}"}
DECIDED: Localized = {
    PT: "Isso já foi decidido nesse meio tempo; nada foi alterado. {what}",
    EN: "That was decided meanwhile; nothing was done. {what}",
    ES: "Eso ya se decidió mientras tanto; no se cambió nada. {what}",
}
BY: Localized = {
    PT: "Quem decidiu: {by}, {at} (UTC)",
    EN: "Decided by: {by}, {at} (UTC)",
    ES: "Quién lo decidió: {by}, {at} (UTC)",
}
ONLY_OWNERS: Localized = {
    PT: "Isso só um dono pode mudar. Nada foi alterado.",
    EN: "Only an owner can change that. Nothing was done.",
    ES: "Eso solo lo puede cambiar un dueño. No se cambió nada.",
}
NOTHING_TO_UNDO: Localized = {
    PT: "Não há nada para desfazer.",
    EN: "There is nothing to undo.",
    ES: "No hay nada que deshacer.",
}
