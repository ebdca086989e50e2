"""/forget: one memory, by its number or id; or everything of a person, once they have confirmed it."""

from __future__ import annotations

from dataclasses import dataclass

from core.commands.command import STAFF, Command, Request
from core.turn import memory_line
from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
ALL = "all"
_MAX_NUMBER_CHARS = 6


@dataclass(frozen=True, slots=True)
class Everything:
    """What a person confirms by the code of /forget all."""


async def forget(request: Request, argument: str) -> None:
    """Delete what is named."""
    first, _, rest = argument.partition(" ")
    if first.casefold() == ALL:
        await _forget_all(request, rest)
    elif argument:
        await _forget_one(request, argument)
    else:
        await request.tell(HOW_TO_FORGET)


async def _forget_one(request: Request, name: str) -> None:
    memory_id = name.casefold()
    if name.isdecimal() and len(name) <= _MAX_NUMBER_CHARS:
        memory_id = request.desk.listed(request.incoming.conversation, int(name))
    deleted = await request.turn.memory.delete([memory_id]) if memory_id else ()
    if deleted:
        await request.turn.tell("\n".join([FORGOT[request.locale], *map(memory_line, deleted)]))
    else:
        await request.tell(NO_SUCH_MEMORY)


async def _forget_all(request: Request, code: str) -> None:
    """Ask for the code, or forget the person: first what is being answered elsewhere is stopped, then all goes."""
    desk, user, here = request.desk, request.incoming.user, request.incoming.conversation
    stays = STAFF_STAYS if request.standing in STAFF else MEMBER_GOES if request.standing else NOTHING_STAYS
    if desk.confirmations.take(user, code, Everything) is None:
        code = desk.confirmations.ask(user, Everything())
        asked = CONFIRM[request.locale].format(total=await request.turn.memory.count(), code=code)
        await request.turn.tell(f"{asked}\n{stays[request.locale]}".rstrip())
        return
    for conversation, running in list(request.running.items()):
        if conversation.user == user and conversation != here:
            running.stop()
    await desk.forget(user)
    log_stays = LOG_STAYS[request.locale] if desk.kept.logs_words else ""
    await request.turn.tell(f"{FORGOT_ALL[request.locale]} {log_stays}".rstrip())


HOW_TO_FORGET: Localized = {
    PT: "Diga o que apagar: /forget NÚMERO (da última lista de /memories ou /recall), /forget ID, ou /forget all.",
    EN: "Say what to delete: /forget NUMBER (of the last list of /memories or /recall), /forget ID, or /forget all.",
    ES: "Di qué borrar: /forget NÚMERO (de la última lista de /memories o /recall), /forget ID, o /forget all (todo).",
}
FORGOT: Localized = {PT: "Apaguei:", EN: "Deleted:", ES: "Borré:"}
NO_SUCH_MEMORY: Localized = {
    PT: "Não apaguei nada: não sei qual memória é essa. Veja /memories ou /recall, e use o número da lista.",
    EN: "Nothing was deleted: I do not know which memory that is. See /memories or /recall, and use the list's number.",
    ES: "No borré nada: no sé qué memoria es esa. Mira /memories o /recall, y usa el número de la lista.",
}
CONFIRM: Localized = {
    PT: "Isto apaga de vez tudo o que é seu: memórias ({total}), conversas, escolhas, e o seu nome onde estiver. "
    "Não há volta. Para confirmar: /forget all {code}",
    EN: "This deletes all that is yours for good: memories ({total}), conversations, choices, and your name wherever "
    "it stands. It cannot be taken back. To confirm: /forget all {code}",
    ES: "Esto borra para siempre todo lo tuyo: memorias ({total}), conversaciones, preferencias, y tu nombre donde "
    "esté. No se puede deshacer. Para confirmar: /forget all {code}",
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
    {PT: "apaga uma memória, ou tudo", EN: "delete one memory, or everything", ES: "borra una memoria, o todo"},
    forget,
    usage=" N | ID | all",
    in_private=True,
)
