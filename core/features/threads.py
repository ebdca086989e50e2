"""/threads and /context: a person lists and steers their conversations.

Conversations are numbered by last use, newest first: a number means the place in the list at the time of the command.
"""

from __future__ import annotations

from core.commands.command import Command, Request
from core.text.catalogue import text
from core.text.markdown import verbatim
from core.types import Thread, ThreadStatus

VERBS = ("name", "switch", "archive")
MAX_LISTED = 20
MAX_TITLE_CHARS = 80


async def threads(request: Request, argument: str) -> None:
    """List the person's conversations, or rename, resume or archive one."""
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
        await request.tell(ARCHIVED, title=_title(thread, request))
    elif thread.conversation != request.incoming.conversation:
        await request.tell(ELSEWHERE)
    else:
        await conversations.switch(user, thread.id)
        await request.tell(SWITCHED, title=_title(thread, request))


async def context(request: Request, _: str) -> None:
    """Say which part of the conversation a model is shown, and what each part costs in tokens."""
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
    return list(await request.turn.conversation.conversations.store.threads(request.incoming.user))[:MAX_LISTED]


async def _list(request: Request, known: list[Thread]) -> None:
    here = request.incoming.conversation
    lines = [TITLE[request.locale]]
    for number, thread in enumerate(known, 1):
        mark = " ←" if thread.conversation == here and thread.status is ThreadStatus.ACTIVE else ""
        lines.append(
            f"{number}. {_title(thread, request)} · {thread.updated_at.astimezone(request.turn.zone):%Y-%m-%d}{mark}"
        )
    await request.turn.tell("\n".join([*lines, "", HOW[request.locale]]))


def _title(thread: Thread, request: Request) -> str:
    begun = thread.created_at.astimezone(request.turn.zone)
    return verbatim(thread.title) if thread.title else f"{UNNAMED[request.locale]} {begun:%Y-%m-%d %H:%M}"


TITLE = text("conversations.threads.title")
UNNAMED = text("conversations.threads.unnamed")
HOW = text("conversations.threads.how")
NO_SUCH = text("conversations.threads.no_such")
ELSEWHERE = text("conversations.threads.elsewhere")
SWITCHED = text("conversations.threads.switched")
ARCHIVED = text("conversations.threads.archived")
CONTEXT = text("conversations.threads.context")

THREADS = Command(
    "threads",
    text("commands.threads"),
    threads,
    usage=" [name | switch | archive N]",
    in_private=True,
    in_conversation=True,
    in_order=True,
    is_listed=True,
)
CONTEXT_COMMAND = Command("context", text("commands.context"), context, in_conversation=True)
