"""/threads and /context: a person lists and steers their conversations.

Conversations are numbered by last use, newest first: a number means the place in the list at the time of the command.
Menus name them by their ids.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import tzinfo

from core.commands.command import ON_ANSWERS, Command, CompletionRequest, Request, offered
from core.commands.menu import MenuEntry, completed_field, text_field
from core.features.feature import Contribution, Shared
from core.outgoing import Suggestion
from core.text.catalogue import Sentences, text
from core.text.days import short_day, short_minute
from core.text.markdown import verbatim
from core.types import Locale, Thread, ThreadStatus

THREADS = Sentences("conversations.threads")

JSON = "json"
LIST = "list"
VERBS = ("name", "switch", "archive")
MAX_LISTED = 20
MAX_TITLE_CHARS = 80


async def threads(request: Request, argument: str) -> None:
    """List the person's conversations, or rename, resume or archive one."""
    verb, _, rest = argument.partition(" ")
    name, _, title = rest.strip().partition(" ")
    known = await _known(request)
    named = {**{thread.id: thread for thread in known}, **{str(at): thread for at, thread in enumerate(known, 1)}}
    if verb in {"", LIST}:
        await _list(request, known)
    elif verb not in VERBS:
        await request.tell(THREADS.how)
    elif name not in named:
        await request.tell(THREADS.no_such, count=len(known))
    else:
        await _steer(request, verb, named[name], title.strip()[:MAX_TITLE_CHARS])


async def _steer(request: Request, verb: str, thread: Thread, title: str) -> None:
    conversations, user = request.turn.conversation.conversations, request.incoming.user
    if verb == "name" and not title:
        await request.tell(THREADS.how)
    elif verb == "name":
        await conversations.rename(user, thread.id, title)
        await _list(request, await _known(request))
    elif verb == "archive":
        await conversations.archive(user, thread.id)
        await request.tell(THREADS.archived, title=_title(thread, request))
    elif thread.conversation != request.incoming.conversation:
        await request.tell(THREADS.elsewhere)
    else:
        await conversations.switch(user, thread.id)
        await request.tell(THREADS.switched, title=_title(thread, request))


async def context(request: Request, argument: str) -> None:
    """Say which part of the conversation a model is shown, and what each part costs in tokens; as JSON for "json"."""
    shown = await request.turn.conversation.context("", lookup=request.turn.memory.get, zone=request.person.zone)
    if argument.strip().casefold() == JSON:
        await request.answer.tell(f"```json\n{json.dumps(shown.to_json(), ensure_ascii=False, indent=1)}\n```")
        return
    budget = shown.budget
    await request.tell(
        THREADS.context,
        messages=len(shown.messages),
        system=budget.system,
        summary=budget.summary,
        window=budget.window,
        memories=budget.memories,
        answer=budget.answer,
        remaining=budget.remaining,
        max_tokens=budget.max_tokens,
    )


async def _known(request: Request) -> Sequence[Thread]:
    return (await request.turn.conversation.conversations.store.threads(request.incoming.user))[:MAX_LISTED]


async def _list(request: Request, known: Sequence[Thread]) -> None:
    here = request.incoming.conversation
    lines = [THREADS.title[request.locale]]
    for number, thread in enumerate(known, 1):
        mark = " ←" if thread.conversation == here and thread.status is ThreadStatus.ACTIVE else ""
        lines.append(
            f"{number}. {_title(thread, request)} ·"
            f" {short_day(thread.updated_at.astimezone(request.person.zone), request.locale)}{mark}"
        )
    await request.answer.tell("\n".join([*lines, "", THREADS.how[request.locale]]))


def _title(thread: Thread, request: Request) -> str:
    return verbatim(thread.title) if thread.title else _unnamed(thread, request.person.zone, request.locale)


def _unnamed(thread: Thread, zone: tzinfo, locale: Locale) -> str:
    return f"{THREADS.unnamed[locale]} {short_minute(thread.created_at.astimezone(zone), locale)}"


_ONE = completed_field("conversation", text("menus.fields.thread"), required=True)
_VERBS = (
    MenuEntry(LIST, text("menus.threads.list")),
    MenuEntry("switch", text("menus.threads.switch"), " N", fields=(_ONE,)),
    MenuEntry(
        "name",
        text("menus.threads.name"),
        " N TITLE",
        fields=(_ONE, text_field("title", text("menus.fields.title"), required=True)),
    ),
    MenuEntry("archive", text("menus.threads.archive"), " N", fields=(_ONE,)),
)


def build(shared: Shared) -> Contribution:
    """Contribute /threads and /context."""
    history, zone = shared.stores.history, shared.stores.quotas.zone  # the zone of those who have told none

    async def complete(request: CompletionRequest) -> Sequence[Suggestion]:
        """Return the conversations by their ids; only in private."""
        known = await history.threads(request.incoming.user) if request.incoming.private else ()
        told = [Suggestion(each.title or _unnamed(each, zone, request.locale), each.id) for each in known[:MAX_LISTED]]
        return offered(request.typed, told)

    listing = Command(
        "threads",
        text("commands.threads"),
        threads,
        usage=" [name | switch | archive N]",
        in_private=True,
        in_conversation=True,
        in_order=True,
        is_listed=True,
        complete=complete,
        verbs=_VERBS,
        topics=(ON_ANSWERS,),
    )
    return Contribution(
        commands=(
            listing,
            Command("context", text("commands.context"), context, in_conversation=True, topics=(ON_ANSWERS,)),
        )
    )
