"""/admin backup, export and forget: what owners do with the data. Knows what is asked before and put on record.

Does not know how a copy is made, nor where anything is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.commands.command import Request
from core.errors import StorageError
from core.features.access.card import ROLES
from core.features.access.rules import STAYS
from core.features.admin.decisions import DecisionKind, record_deed
from core.features.admin.verb import Verb, person
from core.features.transfer.export import hand_over
from core.features.transfer.leftover import leftover
from core.outgoing import Button
from core.text.catalogue import text
from core.types import UserKey

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
    if user := await person(request, argument.split(), request.context.notifier.seen):
        await record_deed(
            request.context.stores.decisions,
            request.context.clock,
            request.incoming.user,
            DecisionKind.EXPORT,
            str(user),
        )
        await hand_over(request, user)


async def forget(request: Request, argument: str) -> None:
    """Ask for a code, or forget somebody: first what is being answered for them is stopped, then all goes."""
    verb, _, code = argument.partition(" ")
    if verb.casefold() == CONFIRM:
        await _confirmed(request, code)
    elif user := await person(request, argument.split(), request.context.notifier.seen):
        code = await request.context.confirmations.ask(request.incoming.conversation, Somebody(user))
        memories = request.context.stores.memories
        total = await memories.of(await memories.owner(user)).count()
        command = f"/admin forget {CONFIRM} {code}"
        asked = ASK[request.locale].format(user=user, total=total, command=command)
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
    await record_deed(context.stores.decisions, context.clock, request.incoming.user, DecisionKind.FORGET)
    lines = [DONE[request.locale], await leftover(context, request.locale, for_owner=True)]
    await request.turn.tell("\n".join(filter(None, lines)))


COPYING = text("transfer.admin.copying")
BACKED_UP = text("transfer.admin.backed_up")
NO_BACKUP = text("transfer.admin.no_backup")
ASK = text("transfer.admin.ask")
STANDING_STAYS = text("transfer.admin.standing_stays")
FORGET_THEM = text("transfer.admin.forget_them")
NOT_CONFIRMED = text("transfer.admin.not_confirmed")
DONE = text("transfer.admin.done")

BACKUP = Verb(
    "backup",
    text("admin.commands.backup"),
    backup,
    for_owners=True,
)
EXPORT_OF = Verb(
    "export",
    text("admin.commands.export"),
    export,
    " PLATFORM:ID",
    for_owners=True,
)
FORGET_OF = Verb(
    "forget",
    text("admin.commands.forget"),
    forget,
    " PLATFORM:ID",
    for_owners=True,
)
