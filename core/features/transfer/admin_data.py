"""/admin backup, export and forget: what owners do with the data. Knows what is asked before and put on record.

Does not know how a copy is made, nor where anything is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.commands.command import Request
from core.errors import StorageError
from core.features.access.rules import STAYS
from core.features.admin.decide import ROLES
from core.features.admin.decisions import Applied, Decision, DecisionKind
from core.features.admin.verb import Verb, person
from core.features.transfer.export import hand_over
from core.features.transfer.leftover import leftover
from core.outgoing import Button
from core.types import Locale, Localized, UserKey

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
CONFIRM = "confirm"
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Somebody:
    """Whom an owner has forgotten, once they confirm it."""

    user: UserKey


async def backup(request: Request, _: str) -> None:
    """Make a copy of everything and verify it."""
    await request.turn.status(COPYING[request.locale])
    try:
        made = await request.context.stores.copies.make()
    except StorageError as error:
        await request.tell(NO_BACKUP, reason=error)
        return
    name = f"{made.path.parent.name}/{made.path.name}"
    await request.tell(BACKED_UP, name=name, size=f"{made.size_bytes / _MIB:.1f}")


async def export(request: Request, argument: str) -> None:
    """Hand the owner all that is kept of somebody, and put that on record."""
    if name := await person(request, argument.split(), 1):
        await note(request.context, request.incoming.user, DecisionKind.EXPORT, name)
        await hand_over(request, _user(name))


async def forget(request: Request, argument: str) -> None:
    """Ask for a code, or forget somebody: first what is being answered for them is stopped, then all goes."""
    verb, _, code = argument.partition(" ")
    if verb.casefold() == CONFIRM:
        await _confirmed(request, code)
    elif name := await person(request, argument.split(), 1):
        user = _user(name)
        code = await request.context.confirmations.ask(request.incoming.conversation, Somebody(user))
        memories = request.context.stores.memories
        total = await memories.of(await memories.owner(user)).count()
        command = f"/admin forget {CONFIRM} {code}"
        asked = ASK[request.locale].format(user=name, total=total, command=command)
        await request.turn.tell(
            "\n".join([asked, *await _stays(request, user)]),
            choices=[Button(FORGET_THEM[request.locale], command, in_place=True)],
        )


async def _stays(request: Request, user: UserKey) -> list[str]:
    """Return what is not forgotten of somebody: the standing that owners gave them, if it is one that stays."""
    person, locale = await request.context.access.person(user), request.locale
    if person is None or person.role not in STAYS:
        return []
    return [STANDING_STAYS[locale].format(role=ROLES[person.role.value][locale])]


async def _confirmed(request: Request, code: str) -> None:
    context = request.context
    somebody = await context.confirmations.take(request.incoming.conversation, code, Somebody)
    if somebody is None:
        await request.tell(NOT_CONFIRMED)
        return
    accounts = await context.stores.memories.accounts(somebody.user)
    for conversation, running in list(request.running.items()):
        if conversation.user in accounts and conversation != request.incoming.conversation:
            running.stop()
    await context.erasure.forget(somebody.user)
    await note(context, request.incoming.user, DecisionKind.FORGET)
    lines = [DONE[request.locale], await leftover(context, request.locale, for_owner=True)]
    await request.turn.tell("\n".join(filter(None, lines)))


async def note(context: Any, by: UserKey, matter: DecisionKind, name: str = "") -> None:
    """Put on record that it was done, by whom and when."""
    decisions = context.stores.decisions
    applied = Applied.STALE
    while applied is Applied.STALE:  # two at the same moment: both are on record
        now = context.clock.now()
        before = await decisions.value(matter, name)
        applied = await decisions.apply(Decision(now, by, matter, name, before, now.isoformat(timespec="seconds")))


def _user(name: str) -> UserKey:
    platform, _, user = name.partition(":")
    return UserKey(platform, user)


COPYING: Localized = {PT: "Copiando tudo…", EN: "Copying everything…", ES: "Copiando todo…"}
BACKED_UP: Localized = {
    PT: "Cópia feita e conferida: `{name}` ({size} MB), na pasta de dados do bot.",
    EN: "Backup made and verified: `{name}` ({size} MB), in the bot's data folder.",
    ES: "Copia hecha y verificada: `{name}` ({size} MB), en la carpeta de datos del bot.",
}
NO_BACKUP: Localized = {
    PT: "Nenhuma cópia foi feita. {reason}",
    EN: "No backup was made. {reason}",
    ES: "No se hizo ninguna copia. {reason}",
}
ASK: Localized = {
    PT: "Isto apaga de vez tudo o que é de {user}: memórias ({total}), conversas, escolhas, e o nome onde estiver. Não "
    "há volta. Para confirmar, em até 10 minutos: {command}",
    EN: "This deletes all that is kept of {user} for good: memories ({total}), conversations, choices, and the name "
    "wherever it stands. It cannot be taken back. To confirm, within 10 minutes: {command}",
    ES: "Esto borra para siempre todo lo de {user}: memorias ({total}), conversaciones, preferencias, y el nombre "
    "donde esté. No se puede deshacer. Para confirmar, en 10 minutos como máximo: {command}",
}
STANDING_STAYS: Localized = {
    PT: "Só fica o número da conta, com o que ela é aqui: {role}.",
    EN: "Only the account's id stays, with what it is here: {role}.",
    ES: "Solo queda el número de la cuenta, con lo que es aquí: {role}.",
}
FORGET_THEM: Localized = {PT: "🗑️ Esquecer de vez", EN: "🗑️ Forget for good", ES: "🗑️ Olvidar para siempre"}
NOT_CONFIRMED: Localized = {
    PT: "Nada foi apagado: esse código não vale, ou não vale mais. Peça de novo com /admin forget PLATAFORMA:ID.",
    EN: "Nothing was deleted: that code does not hold, or no longer does. Ask again by /admin forget PLATFORM:ID.",
    ES: "No se borró nada: ese código no vale, o ya no vale. Pídelo de nuevo con /admin forget PLATAFORMA:ID.",
}
DONE: Localized = {
    PT: "Pronto: tudo foi esquecido.",
    EN: "Done: everything is forgotten.",
    ES: "Listo: se olvidó todo.",
}

BACKUP = Verb(
    "backup",
    {PT: "copia tudo, e confere", EN: "copy everything, verified", ES: "copia todo, y lo verifica"},
    backup,
    for_owners=True,
)
EXPORT_OF = Verb(
    "export",
    {PT: "tudo o que há de alguém", EN: "all that is kept of somebody", ES: "todo lo que hay de alguien"},
    export,
    " PLATFORM:ID",
    for_owners=True,
)
FORGET_OF = Verb(
    "forget",
    {PT: "apaga tudo de alguém", EN: "delete all of somebody", ES: "borra todo de alguien"},
    forget,
    " PLATFORM:ID",
    for_owners=True,
)
