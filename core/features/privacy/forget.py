"""/forget: one memory, those that a search finds, or everything of a person. Knows what has to be confirmed first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.actions.buttons import erase_button, undo_button
from core.actions.proposal import Deletion
from core.commands.command import STAFF, Command, Request
from core.features.memories.memories import found, show_list
from core.features.memories.names import is_number, named
from core.features.privacy.forget_said import forget_said
from core.features.transfer.leftover import leftover
from core.outgoing import Button
from core.text.catalogue import forms, text
from core.text.markdown import verbatim
from core.text.plural import counted
from core.turn import memory_line
from core.types import MemoryItem, Role

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
    stays = STAFF_STAYS if given in STAFF else MEMBER_GOES if given else None
    accounts = await context.stores.memories.accounts(user)
    if await context.confirmations.take(here, code, Everything) is None:
        code = await context.confirmations.ask(here, Everything())
        asked = CONFIRM_ALL[request.locale].format(total=await request.turn.memory.count(), code=code)
        others = ", ".join(verbatim(str(account)) for account in accounts if account != user)
        linked = LINKED_GO[request.locale].format(accounts=others) if others else ""
        await request.turn.tell(
            "\n".join(line for line in (asked, linked, stays[request.locale] if stays else "") if line)
        )
        return
    for conversation, running in list(request.running.items()):
        if conversation.user in accounts and (conversation != here or request.incoming.pressed):
            running.stop()
    await context.erasure.forget(user)
    log_stays = LOG_STAYS[request.locale] if context.stores.logs_words else ""
    copies_stay = await leftover(context, request.locale, for_owner=request.role is Role.OWNER)
    await request.turn.tell("\n".join([f"{FORGOT_ALL[request.locale]} {log_stays}".rstrip(), copies_stay]).rstrip())


HOW_TO_FORGET = text("privacy.forget.how_to_forget")
FORGOT = text("privacy.forget.forgot")
NO_SUCH_MEMORY = text("privacy.forget.no_such_memory")
WOULD_GO = text("privacy.forget.would_go")
DELETE_THOSE = forms("privacy.forget.delete_those")
TO_CONFIRM = text("privacy.forget.to_confirm")
NOT_CONFIRMED = text("privacy.forget.not_confirmed")
CONFIRM_ALL = text("privacy.forget.confirm_all")
LINKED_GO = text("privacy.forget.linked_go")
STAFF_STAYS = text("privacy.forget.staff_stays")
MEMBER_GOES = text("privacy.forget.member_goes")
FORGOT_ALL = text("privacy.forget.forgot_all")
LOG_STAYS = text("privacy.forget.log_stays")

FORGET = Command(
    "forget",
    text("commands.forget"),
    forget,
    usage=" N | … | said | all",
    in_private=True,
)
