"""/threads and /context: a person sees and steers their conversations. Knows ids and numbers, and no message.

Threads are numbered as `/threads` last showed them: the one used last first.
"""

from __future__ import annotations

from core.commands.command import Command, Request
from core.text.markdown import verbatim
from core.types import Locale, Localized, Thread, ThreadStatus

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
VERBS = ("name", "switch", "archive")
MAX_LISTED = 20
MAX_TITLE_CHARS = 80


async def threads(request: Request, argument: str) -> None:
    """List the person's conversations, or name one, go on with one, or put one away."""
    verb, _, rest = argument.partition(" ")
    number, _, title = rest.strip().partition(" ")
    known = await _known(request)
    if not verb:
        await _list(request, known)
    elif verb not in VERBS:
        await request.tell(HOW)
    elif not number.isdecimal() or not 0 < int(number) <= len(known):
        await request.tell(NO_SUCH, count=len(known))
    else:
        await _steer(request, verb, known[int(number) - 1], title.strip()[:MAX_TITLE_CHARS])


async def _steer(request: Request, verb: str, thread: Thread, title: str) -> None:
    conversations, user = request.turn.conversation.conversations, request.incoming.user
    if verb == "name" and not title:
        await request.tell(HOW)
    elif verb == "name":
        await conversations.rename(user, thread.id, title)
        await _list(request, await _known(request))
    elif verb == "archive":
        await conversations.archive(user, thread.id)
        await request.tell(ARCHIVED, title=_title(thread, request.locale))
    elif thread.conversation != request.incoming.conversation:
        await request.tell(ELSEWHERE)
    else:
        await conversations.switch(user, thread.id)
        await request.tell(SWITCHED, title=_title(thread, request.locale))


async def context(request: Request, _: str) -> None:
    """Say what of the conversation a model is shown, and what it costs, by part."""
    shown = await request.turn.conversation.context("")
    budget = shown.budget
    await request.tell(
        CONTEXT,
        messages=len(shown.messages),
        system=budget.system,
        summary=budget.summary,
        window=budget.window,
        memories=budget.memories,
        answer=budget.answer,
        remaining=budget.remaining,
        max_tokens=budget.max_tokens,
    )


async def _known(request: Request) -> list[Thread]:
    return list(await request.turn.conversation.conversations.threads(request.incoming.user))[:MAX_LISTED]


async def _list(request: Request, known: list[Thread]) -> None:
    here = request.incoming.conversation
    lines = [TITLE[request.locale]]
    for number, thread in enumerate(known, 1):
        mark = " ←" if thread.conversation == here and thread.status is ThreadStatus.ACTIVE else ""
        lines.append(f"{number}. {_title(thread, request.locale)} · {thread.updated_at:%Y-%m-%d}{mark}")
    await request.turn.tell("\n".join([*lines, "", HOW[request.locale]]))


def _title(thread: Thread, locale: Locale) -> str:
    return verbatim(thread.title) if thread.title else f"{UNNAMED[locale]} {thread.created_at:%Y-%m-%d %H:%M}"


TITLE: Localized = {PT: "Suas conversas:", EN: "Your conversations:", ES: "Tus conversaciones:"}
UNNAMED: Localized = {PT: "conversa de", EN: "conversation of", ES: "conversación del"}
HOW: Localized = {
    PT: "Dar um nome: /threads name N NOME. Continuar outra: /threads switch N. Guardar: /threads archive N.",
    EN: "To name one: /threads name N NAME. To go on with another: /threads switch N. To put away: /threads archive N.",
    ES: "Nombrar: /threads name N NOMBRE. Seguir con otra: /threads switch N. Archivar: /threads archive N.",
}
NO_SUCH: Localized = {
    PT: "Diga o número da conversa, de 1 a {count}. Veja /threads.",
    EN: "Say the conversation's number, from 1 to {count}. See /threads.",
    ES: "Di el número de la conversación, de 1 a {count}. Mira /threads.",
}
ELSEWHERE: Localized = {
    PT: "Essa conversa é de outro lugar; continue-a lá.",
    EN: "That conversation belongs to another place; go on with it there.",
    ES: "Esa conversación es de otro lugar; síguela allí.",
}
SWITCHED: Localized = {PT: "Continuamos: {title}.", EN: "Going on with: {title}.", ES: "Seguimos con: {title}."}
ARCHIVED: Localized = {PT: "Guardada: {title}.", EN: "Put away: {title}.", ES: "Archivada: {title}."}
CONTEXT: Localized = {
    PT: "Mostro ao modelo {messages} mensagens desta conversa. Em tokens: instruções {system}, resumo {summary}, "
    "mensagens {window}, memórias {memories}, reservados para a resposta {answer}; livres {remaining} de "
    "{max_tokens}.",
    EN: "A model is shown {messages} messages of this conversation. In tokens: instructions {system}, "
    "summary {summary}, messages {window}, memories {memories}, kept for the answer {answer}; "
    "free {remaining} of {max_tokens}.",
    ES: "Muestro al modelo {messages} mensajes de esta conversación. En tokens: instrucciones {system}, "
    "resumen {summary}, mensajes {window}, memorias {memories}, reservados para la respuesta {answer}; "
    "libres {remaining} de {max_tokens}.",
}

THREADS = Command(
    "threads",
    {PT: "lista suas conversas", EN: "list your conversations", ES: "lista tus conversaciones"},
    threads,
    usage=" [name | switch | archive N]",
    in_private=True,
)
CONTEXT_COMMAND = Command(
    "context",
    {PT: "o que o modelo vê da conversa", EN: "what the model sees of this", ES: "lo que el modelo ve de esto"},
    context,
)
