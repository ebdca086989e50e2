"""/export: all that is kept of a person, as JSON lines. Knows what there is. Does not send files."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

from core.commands.command import Command, Request
from core.types import JSONValue, Locale, Localized, Message, Thread

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
MAX_CHARS = 100_000
"""Some 25 posts of Telegram: beyond that a chat is no place to read it."""

_PAGE = 500


async def export(request: Request, _: str) -> None:
    """Show it all, or say that it is too much for a chat."""
    lines: list[str] = []
    chars = 0
    async for record in records(request):
        lines.append(_line(record))
        chars += len(lines[-1]) + 1
        if chars > MAX_CHARS:
            await request.tell(TOO_LONG, user=request.incoming.user)
            return
    await request.turn.tell("\n".join(["```json", *lines, "```"]))


async def records(request: Request) -> AsyncIterator[dict[str, JSONValue]]:
    """Yield who the person is here, what they chose, every memory, thread, message and summary of theirs."""
    user, kept = request.incoming.user, request.desk.kept
    chosen = await kept.preferences.of(user)
    yield {
        "kind": "person",
        "user": str(user),
        "standing": request.standing.value if request.standing else None,
        "language": chosen.language.value if chosen.language else None,
        "remembers": chosen.remembers,
    }
    last = ""
    while page := await request.turn.memory.page(limit=_PAGE, before=last):
        for item in page:
            yield {"kind": "memory", **item.to_json()}
        last = page[-1].id
    for thread in await kept.history.threads(user):
        yield _thread(thread)
        for summary in await kept.history.summaries(thread.id):
            yield {"kind": "summary", "thread": thread.id, "text": summary.text}
        after = 0
        while messages := await kept.history.since(thread.id, after, _PAGE):
            for message in messages:
                yield _message(thread, message)
            after = messages[-1].sequence


def _thread(thread: Thread) -> dict[str, JSONValue]:
    chat = thread.conversation.chat
    return {
        "kind": "thread",
        "id": thread.id,
        "platform": chat.platform,
        "chat": chat.chat,
        "topic": chat.thread,
        "status": thread.status.value,
        "title": thread.title,
        "created_at": thread.created_at.isoformat(timespec="seconds"),
    }


def _message(thread: Thread, message: Message) -> dict[str, JSONValue]:
    return {
        "kind": "message",
        "thread": thread.id,
        "at": message.at.isoformat(timespec="seconds") if message.at else None,
        **message.to_wire(),
    }


def _line(record: dict[str, JSONValue]) -> str:
    """Return it on one line that ends no block of code, whatever people wrote."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).replace("`", "\\u0060")


TOO_LONG: Localized = {
    PT: "É coisa demais para uma conversa. Quem cuida do bot pode gravar suas memórias em um arquivo: "
    "elefante memories export --user {user}",
    EN: "That is too much for a chat. The bot's owner can write your memories into a file: "
    "elefante memories export --user {user}",
    ES: "Es demasiado para un chat. El dueño del bot puede guardar tus memorias en un archivo: "
    "elefante memories export --user {user}",
}

EXPORT = Command(
    "export",
    {PT: "mostra tudo o que guardo de você", EN: "show all I keep of you", ES: "muestra todo lo que guardo de ti"},
    export,
    in_private=True,
)
