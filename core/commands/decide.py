"""How a decision is made: who may, what it changes, how it is told, and how it is taken back.

Knows standings and decisions. Does not know how one is asked for.
"""

from __future__ import annotations

from core.commands.command import Request
from core.people import ALLOWED, OFF, ON, Applied, Decision, Matter, Standing
from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
_ABOVE_ADMINS = {Standing.OWNER.value, Standing.ADMIN.value}


def may(standing: Standing | None, decision: Decision) -> bool:
    """Whether somebody of that standing may decide so: owners all, admins all but owners, admins and the pause."""
    if standing is not Standing.ADMIN or decision.matter is Matter.PAUSE:
        return standing is Standing.OWNER
    return decision.matter is not Matter.STANDING or not {decision.before, decision.after} & _ABOVE_ADMINS


async def decide(request: Request, matter: Matter, name: str, after: str) -> None:
    """Decide, and tell what that changed."""
    before = await request.desk.kept.decisions.value(matter, name)
    decision = Decision(request.desk.clock.now(), request.incoming.user, matter, name, before, after)
    if before == after:
        await request.turn.tell(ALREADY[request.locale].format(what=describe_value(decision, request.locale)))
    else:
        await _apply(request, decision)


async def undo(request: Request) -> None:
    """Take back the newest decision that was not taken back."""
    last = await request.desk.kept.decisions.undoable()
    if last is None or (last.matter is Matter.STANDING and not last.name):
        await request.tell(NOTHING_TO_UNDO)
        return
    now, by = request.desk.clock.now(), request.incoming.user
    await _apply(request, Decision(now, by, last.matter, last.name, last.after, last.before, undoes=last.id))


async def _apply(request: Request, decision: Decision) -> None:
    if not may(request.standing, decision):
        await request.tell(ONLY_OWNERS)
        return
    applied = await request.desk.kept.decisions.apply(decision)
    if applied is Applied.DONE and decision.matter is Matter.ACTION:
        request.desk.turn_action(decision.name, decision.after)
    await request.tell(TOLD[applied], what=describe(decision, request.locale))


def describe(decision: Decision, locale: Locale) -> str:
    """Return what was decided, on one line: what it is about, the value before, the value after."""
    before, after = (_VALUES[decision.matter][value][locale] for value in (decision.before, decision.after))
    return f"{_subject(decision, locale)}: {before} → {after}"


def describe_value(decision: Decision, locale: Locale) -> str:
    """Return what is so after the decision, on one line."""
    return f"{_subject(decision, locale)}: {_VALUES[decision.matter][decision.after][locale]}"


def _subject(decision: Decision, locale: Locale) -> str:
    if decision.matter is Matter.PAUSE:
        return BOT[locale]
    return f"`{decision.name}`" if decision.name else FORGOTTEN[locale]


STANDINGS: dict[str, Localized] = {
    Standing.OWNER.value: {PT: "dono", EN: "owner", ES: "dueño"},
    Standing.ADMIN.value: {PT: "administrador", EN: "admin", ES: "administrador"},
    Standing.MEMBER.value: {PT: "membro", EN: "member", ES: "miembro"},
    Standing.BLOCKED.value: {PT: "bloqueado", EN: "blocked", ES: "bloqueado"},
    "": {PT: "desconhecido", EN: "stranger", ES: "desconocido"},
}
_VALUES: dict[Matter, dict[str, Localized]] = {
    Matter.STANDING: STANDINGS,
    Matter.ROOM: {
        ALLOWED: {PT: "permitida", EN: "let in", ES: "permitida"},
        "": {PT: "não permitida", EN: "not let in", ES: "no permitida"},
    },
    Matter.ACTION: {
        ON: {PT: "ligada", EN: "on", ES: "activada"},
        OFF: {PT: "desligada", EN: "off", ES: "desactivada"},
        "": {PT: "como na configuração", EN: "as the settings say", ES: "según la configuración"},
    },
    Matter.PAUSE: {
        ON: {PT: "em pausa", EN: "paused", ES: "en pausa"},
        "": {PT: "atendendo", EN: "answering", ES: "atendiendo"},
    },
}
BOT: Localized = {PT: "o bot", EN: "the bot", ES: "el bot"}
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
