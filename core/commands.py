"""What a person steers the bot with: a table from name to coroutine, the same on every platform.

Knows what each command does with a Turn. Does not know how a platform draws menus or hides answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from core.turn import Turn, memory_line
from core.types import Locale, Localized, MemoryItem

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
PAGE_SIZE = 10


@dataclass(frozen=True, slots=True)
class Command:
    """A command as menus show it. `run` gets the turn and what was written after the name, stripped."""

    name: str
    about: Localized
    run: Callable[[Turn, str], Awaitable[None]]
    usage: str = ""


async def help_(turn: Turn, _: str) -> None:
    """List the commands, and say what to write without one."""
    lines = [HELP_INTRO[turn.locale], ""]
    lines += [f"/{command.name}{command.usage} — {command.about[turn.locale]}" for command in COMMANDS.values()]
    await turn.tell("\n".join(lines))


async def reset(turn: Turn, _: str) -> None:
    """Close the thread (D6): the next message starts another. Memories stay."""
    await turn.conversation.reset()
    await turn.tell(RESET[turn.locale])


async def memories(turn: Turn, argument: str) -> None:
    """Show a page of the person's memories, or those that match some words."""
    if argument and not argument.isdigit():
        vectors = await turn.memory.embed([argument])
        hits = await turn.memory.search([argument], vectors, limit=PAGE_SIZE)
        found = [hit.item for hit in hits]
        title = FOUND[turn.locale] if found else NONE_FOUND[turn.locale]
        await turn.tell(_listed(title, found, 1))
        return
    total = await turn.memory.count()
    if not total:
        await turn.tell(NO_MEMORIES[turn.locale])
        return
    pages = -(-total // PAGE_SIZE)
    number = min(max(int(argument or "1"), 1), pages)
    items = await _page(turn, number)
    text = _listed(TITLE[turn.locale].format(total=total), items, (number - 1) * PAGE_SIZE + 1)
    if number < pages:
        text += "\n\n" + NEXT_PAGE[turn.locale].format(number=number, pages=pages, following=number + 1)
    await turn.tell(text)


async def stop(turn: Turn, _: str) -> None:
    """Say that there was nothing to stop: an answer that was running is stopped before a command gets here."""
    await turn.tell(NOTHING_TO_STOP[turn.locale])


async def _page(turn: Turn, number: int) -> list[MemoryItem]:
    items: list[MemoryItem] = []
    for _ in range(number):
        items = list(await turn.memory.page(limit=PAGE_SIZE, before=items[-1].id if items else ""))
    return items


def _listed(title: str, items: list[MemoryItem], first: int) -> str:
    return "\n".join([title, *(f"{first + at}. {memory_line(item)}" for at, item in enumerate(items))])


HELP_INTRO: Localized = {
    PT: "Sou o Elefante: guardo o que você pede e encontro depois. Escreva, por exemplo: "
    "“lembre que a senha do wi-fi é abc123” ou “qual é a senha do wi-fi?”.",
    EN: "I am Elefante: I keep what you ask me to, and find it later. Write, for example: "
    "“remember that the wifi password is abc123” or “what is the wifi password?”.",
    ES: "Soy Elefante: guardo lo que me pides y lo encuentro después. Escribe, por ejemplo: "
    "“recuerda que la contraseña del wifi es abc123” o “¿cuál es la contraseña del wifi?”.",
}
RESET: Localized = {
    PT: "Conversa nova. O que está na sua memória continua guardado.",
    EN: "A fresh conversation. What is in your memory stays.",
    ES: "Conversación nueva. Lo que está en tu memoria se queda.",
}
TITLE: Localized = {PT: "Suas memórias ({total}):", EN: "Your memories ({total}):", ES: "Tus memorias ({total}):"}
FOUND: Localized = {PT: "Encontrei:", EN: "Found:", ES: "Encontré:"}
NONE_FOUND: Localized = {
    PT: "Não encontrei nada com isso.",
    EN: "Nothing matches that.",
    ES: "No encontré nada con eso.",
}
NO_MEMORIES: Localized = {
    PT: "Você ainda não me pediu para lembrar de nada.",
    EN: "You have not asked me to remember anything yet.",
    ES: "Todavía no me pediste que recordara nada.",
}
NEXT_PAGE: Localized = {
    PT: "Página {number} de {pages}. Próxima: /memories {following}",
    EN: "Page {number} of {pages}. Next: /memories {following}",
    ES: "Página {number} de {pages}. Siguiente: /memories {following}",
}
NOTHING_TO_STOP: Localized = {
    PT: "Não há nada em andamento.",
    EN: "Nothing is running.",
    ES: "No hay nada en curso.",
}
UNKNOWN: Localized = {
    PT: "Não conheço o comando /{name}. Veja /help.",
    EN: "I do not know the command /{name}. See /help.",
    ES: "No conozco el comando /{name}. Mira /help.",
}

COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        Command("help", {PT: "mostra esta ajuda", EN: "show this help", ES: "muestra esta ayuda"}, help_),
        Command(
            "memories",
            {
                PT: "lista ou procura suas memórias",
                EN: "list or search your memories",
                ES: "lista o busca tus memorias",
            },
            memories,
            usage=" [N | …]",
        ),
        Command(
            "reset",
            {PT: "começa outra conversa", EN: "start a fresh conversation", ES: "empieza otra conversación"},
            reset,
        ),
        Command("stop", {PT: "interrompe a resposta", EN: "stop the running answer", ES: "detiene la respuesta"}, stop),
    )
}
_ALIASES = {"start": "help"}


async def run(turn: Turn, text: str) -> None:
    """Run the command that the text starts with ("/name argument"), or say that there is none."""
    head, _, argument = text.removeprefix("/").partition(" ")
    name = head.split("\n", 1)[0].casefold()
    command = COMMANDS.get(_ALIASES.get(name, name))
    if command is None:
        await turn.tell(UNKNOWN[turn.locale].format(name=name[:32]))
        return
    await command.run(turn, argument.strip())
