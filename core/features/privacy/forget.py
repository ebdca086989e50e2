"""/forget: one memory, those that a search finds, or everything of a person. Knows what has to be confirmed first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.actions.erase import erase_button
from core.actions.proposal import Deletion
from core.actions.undo import undo_button
from core.commands.command import STAFF, Command, Request
from core.features.memories.memories import found, show_list
from core.features.memories.names import is_number, named
from core.features.privacy.forget_said import forget_said
from core.features.transfer.leftover import leftover
from core.outgoing import Button
from core.text.markdown import verbatim
from core.text.plural import Counted, counted
from core.turn import memory_line
from core.types import Locale, Localized, MemoryItem, Role

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
ALL, CONFIRM, SAID = "all", "confirm", "said"


@dataclass(frozen=True, slots=True)
class Everything:
    """What a person confirms by the code of /forget all."""


async def forget(request: Request, argument: str) -> None:
    """Delete what is named, or show what would go."""
    first, _, rest = argument.partition(" ")
    if first.casefold() == ALL:
        await _forget_all(request, rest)
    elif first.casefold() == CONFIRM and rest.strip():
        await _forget_confirmed(request, rest)
    elif first.casefold() == SAID:
        await forget_said(request, rest.strip())
    elif not argument:
        await request.tell(HOW_TO_FORGET)
    elif (item := await named(request, argument)) is not None:
        await _delete(request, [item.id])
    elif is_number(argument):
        await request.tell(NO_SUCH_MEMORY)
    else:
        await _preview(request, argument)


async def _preview(request: Request, query: str) -> None:
    """Show what a search finds, to be confirmed whole or chosen from."""
    items = await found(request, query)
    if not items:
        await request.tell(NO_SUCH_MEMORY)
        return
    wanted = Deletion(tuple(item.id for item in items))
    code = await request.context.confirmations.ask(request.incoming.conversation, wanted)
    confirm = Button(counted(DELETE_THOSE, request.locale, len(items)), f"/forget {CONFIRM} {code}", in_place=True)
    await show_list(
        request,
        WOULD_GO[request.locale],
        items,
        after=TO_CONFIRM[request.locale].format(code=code),
        choices=[confirm],
        origin=f"forget {query}",
    )


async def _forget_confirmed(request: Request, code: str) -> None:
    wanted = await request.context.confirmations.take(request.incoming.conversation, code, Deletion)
    if wanted is None:
        await request.tell(NOT_CONFIRMED)
    else:
        await _delete(request, wanted.memory_ids)


async def _delete(request: Request, memory_ids: Sequence[str]) -> None:
    deleted: Sequence[MemoryItem] = await request.turn.memory.delete(memory_ids)
    if deleted:
        lines = [FORGOT[request.locale], *(memory_line(item, request.turn.zone) for item in deleted)]
        choices = (*await undo_button(request.turn), *erase_button(request.locale, deleted))
        await request.turn.tell("\n".join(lines), choices=choices)
    else:
        await request.tell(NO_SUCH_MEMORY)


async def _forget_all(request: Request, code: str) -> None:
    """Ask for the code, or forget the person: first what is being answered elsewhere is stopped, then all goes."""
    context, user, here = request.context, request.incoming.user, request.incoming.conversation
    given = await context.access.role(user)
    stays = STAFF_STAYS if given in STAFF else MEMBER_GOES if given else NOTHING_STAYS
    accounts = await context.stores.memories.accounts(user)
    if await context.confirmations.take(here, code, Everything) is None:
        code = await context.confirmations.ask(here, Everything())
        asked = CONFIRM_ALL[request.locale].format(total=await request.turn.memory.count(), code=code)
        others = ", ".join(verbatim(str(account)) for account in accounts if account != user)
        linked = LINKED_GO[request.locale].format(accounts=others) if others else ""
        await request.turn.tell("\n".join(line for line in (asked, linked, stays[request.locale]) if line))
        return
    for conversation, running in list(request.running.items()):
        if conversation.user in accounts and (conversation != here or request.incoming.pressed):
            running.stop()
    await context.erasure.forget(user)
    log_stays = LOG_STAYS[request.locale] if context.stores.logs_words else ""
    copies_stay = await leftover(context, request.locale, for_owner=request.role is Role.OWNER)
    await request.turn.tell("\n".join([f"{FORGOT_ALL[request.locale]} {log_stays}".rstrip(), copies_stay]).rstrip())


HOW_TO_FORGET: Localized = {
    PT: "Diga o que apagar: /forget NÚMERO (da última lista de /memories ou /recall), /forget PALAVRAS (mostro antes o "
    "que iria), /forget said (as suas mensagens sobre o que já apagou), ou /forget all (tudo).",
    EN: "Say what to delete: /forget NUMBER (of the last list of /memories or /recall), /forget WORDS (I show first "
    "what would go), /forget said (your messages about what you deleted), or /forget all (everything).",
    ES: "Di qué borrar: /forget NÚMERO (de la última lista de /memories o /recall), /forget PALABRAS (antes muestro lo "
    "que se iría), /forget said (tus mensajes sobre lo que ya borraste), o /forget all (todo).",
}
FORGOT: Localized = {PT: "Apaguei:", EN: "Deleted:", ES: "Borré:"}
NO_SUCH_MEMORY: Localized = {
    PT: "Não apaguei nada: não sei qual memória é essa. Veja /memories ou /recall, e use o número da lista.",
    EN: "Nothing was deleted: I do not know which memory that is. See /memories or /recall, and use the list's number.",
    ES: "No borré nada: no sé qué memoria es esa. Mira /memories o /recall, y usa el número de la lista.",
}
WOULD_GO: Localized = {
    PT: "Isto seria apagado (ainda não apaguei nada):",
    EN: "This would be deleted (nothing is yet):",
    ES: "Esto se borraría (todavía no borré nada):",
}
DELETE_THOSE: Counted = {
    PT: {"one": "🗑️ Apagar esta", "other": "🗑️ Apagar estas {count}"},
    EN: {"one": "🗑️ Delete this one", "other": "🗑️ Delete these {count}"},
    ES: {"one": "🗑️ Borrar esta", "other": "🗑️ Borrar estas {count}"},
}
TO_CONFIRM: Localized = {
    PT: "Para apagar exatamente o que está acima, em até 10 minutos: sim, ou /forget confirm {code}. Para apagar "
    "só uma: /forget NÚMERO.",
    EN: "To delete exactly what is above, within 10 minutes: yes, or /forget confirm {code}. To delete only one: "
    "/forget NUMBER.",
    ES: "Para borrar exactamente lo de arriba, en 10 minutos como máximo: sí, o /forget confirm {code}. Para borrar "
    "solo una: /forget NÚMERO.",
}
NOT_CONFIRMED: Localized = {
    PT: "Nada foi apagado: esse código não vale, ou não vale mais. Peça de novo com /forget.",
    EN: "Nothing was deleted: that code does not hold, or no longer does. Ask again by /forget.",
    ES: "No borré nada: ese código no vale, o ya no vale. Pídelo de nuevo con /forget.",
}
CONFIRM_ALL: Localized = {
    PT: "Isto apaga de vez tudo o que é seu: memórias ({total}), conversas, escolhas, e o seu nome onde estiver. "
    "Não há volta. Para confirmar: /forget all {code}",
    EN: "This deletes all that is yours for good: memories ({total}), conversations, choices, and your name wherever "
    "it stands. It cannot be taken back. To confirm: /forget all {code}",
    ES: "Esto borra para siempre todo lo tuyo: memorias ({total}), conversaciones, preferencias, y tu nombre donde "
    "esté. No se puede deshacer. Para confirmar: /forget all {code}",
}
LINKED_GO: Localized = {
    PT: "Vale também para as contas unidas a esta: {accounts}.",
    EN: "That goes for the accounts linked to this one, too: {accounts}.",
    ES: "Vale también para las cuentas unidas a esta: {accounts}.",
}
STAFF_STAYS: Localized = {
    PT: "Fica só o número da sua conta com o papel que você tem aqui.",
    EN: "What stays is your account's id with the role that you have here.",
    ES: "Queda solo el número de tu cuenta con el rol que tienes aquí.",
}
MEMBER_GOES: Localized = {
    PT: "Também esqueço que você pode falar comigo: depois, alguém precisa deixar você entrar de novo.",
    EN: "I also forget that you may talk to me: afterwards somebody has to let you in again.",
    ES: "También olvido que puedes hablar conmigo: después, alguien tiene que dejarte entrar de nuevo.",
}
NOTHING_STAYS: Localized = {PT: "", EN: "", ES: ""}
FORGOT_ALL: Localized = {
    PT: "Pronto: esqueci tudo.",
    EN: "Done: everything is forgotten.",
    ES: "Listo: olvidé todo.",
}
LOG_STAYS: Localized = {
    PT: "Menos o registro do bot: quem cuida dele escolheu anotar nele o que se pergunta, e só ela pode apagá-lo.",
    EN: "All but the bot's log: its owner chose to have questions written there, and only the owner can delete it.",
    ES: "Menos el registro del bot: su dueño eligió anotar en él lo que se pregunta, y solo él puede borrarlo.",
}

FORGET = Command(
    "forget",
    {PT: "apaga memórias, ou tudo", EN: "delete memories, or everything", ES: "borra memorias, o todo"},
    forget,
    usage=" N | … | said | all",
    in_private=True,
)
