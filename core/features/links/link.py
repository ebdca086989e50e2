"""/link and /unlink: two accounts of one person, one memory. Knows codes, and what is to be said before it is done.

A code shows that whoever enters it has seen the other account. That is not enough: somebody could be talked into
entering a stranger's. So the one who enters it is told whose it is and what they would hand over, and says yes to that
in a message or press of its own, sent after they were told.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from core.commands.command import Command, Request
from core.features.links.codes import LinkCode
from core.history.withholding import withhold
from core.outgoing import Button, OutgoingMessage
from core.text.catalogue import forms, text
from core.text.markdown import verbatim
from core.text.plural import counted
from core.text.unicode import one_line
from core.types import UserKey

VALID_FOR: Final = timedelta(minutes=10)
YES: Final = "yes"
_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ"  # none that is taken for a digit
_CODE_CHARS: Final = 8
_MAX_NAME_CHARS: Final = 64


async def link(request: Request, argument: str) -> None:
    """Give a code, or show what entering one would do, or do it."""
    code, _, said = argument.partition(" ")
    accounts = await request.context.stores.memories.accounts(request.incoming.user)
    if len(accounts) > 1:
        await request.turn.tell(
            LINKED[request.locale].format(accounts=_listed(accounts)),
            choices=[Button(PART[request.locale], "/unlink")],
        )
    elif not code:
        await _give_code(request)
    else:
        await _enter(request, code, sure=said.strip().casefold() == YES)


async def unlink(request: Request, argument: str) -> None:
    """Say who keeps what, or part the accounts."""
    context, user = request.context, request.incoming.user
    memories = context.stores.memories
    accounts = await memories.accounts(user)
    if len(accounts) == 1:
        await request.tell(NOT_LINKED)
        return
    counts = await memories.counts(accounts[0])
    keeps = "\n".join(
        counted(KEEPS, request.locale, counts.get(account, 0), account=verbatim(str(account))) for account in accounts
    )
    if argument.strip().casefold() != YES:
        await request.turn.tell(
            UNLINK[request.locale].format(keeps=keeps), choices=[Button(PART[request.locale], f"/unlink {YES}")]
        )
        return
    await _part(request, accounts)
    await request.turn.tell(PARTED[request.locale].format(keeps=keeps))
    for other in accounts:
        if other != user:
            await context.notifier.tell(other, OutgoingMessage(PARTED[request.locale].format(keeps=keeps)))


async def _part(request: Request, accounts: Sequence[UserKey]) -> None:
    """Part the accounts; what each heard of the others' memories stays out of its prompts from now on."""
    memories, history = request.context.stores.memories, request.context.stores.history
    for conversation, running in list(request.running.items()):
        if conversation.user in accounts and (
            conversation != request.incoming.conversation or request.incoming.pressed
        ):
            running.stop()  # it would go on with the joint memory

    async def withhold_others() -> None:
        for account in accounts:
            await withhold(history, account, await memories.from_account(account))

    await withhold_others()  # first: a crash must not leave parted accounts with each other's words
    for other in accounts[1:]:
        await memories.unlink(accounts[0], other)
    await withhold_others()  # and what was said in between


async def _give_code(request: Request) -> None:
    context, incoming = request.context, request.incoming
    now = context.clock.now()
    await context.stores.links.drop(now - VALID_FOR)
    code = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_CHARS))
    name = one_line(incoming.user_name, _MAX_NAME_CHARS)
    await context.stores.links.put(LinkCode(_digest(code), incoming.user, name, now))
    minutes = int(VALID_FOR.total_seconds() // 60)
    await request.tell(CODE, code=f"{code[:4]}-{code[4:]}", minutes=minutes)


async def _enter(request: Request, code: str, *, sure: bool) -> None:
    context, user = request.context, request.incoming.user
    memories = context.stores.memories
    found = await context.stores.links.find(_digest(code))
    if found is None or context.clock.now() - found.at > VALID_FOR:
        await request.tell(NO_CODE)
    elif found.user == user:
        await request.tell(SAME_ACCOUNT)
    elif len(await memories.accounts(found.user)) > 1:
        await request.tell(OTHER_LINKED)
    elif not sure or not _was_told(request, found):
        await _ask(request, found, code)
    else:
        await _join(request, found)


def _was_told(request: Request, found: LinkCode) -> bool:
    """Whether the person was told what the code gives away before they sent this. Platforms count whole seconds."""
    incoming = request.incoming
    if found.asked != incoming.user or found.asked_at is None:
        return False
    return incoming.at >= found.asked_at.replace(microsecond=0)


async def _join(request: Request, found: LinkCode) -> None:
    """Link the accounts, unless the code was used or an account was linked in the meantime."""
    context, user = request.context, request.incoming.user
    if not await context.stores.links.take(found.digest):
        await request.tell(NO_CODE)
        return
    try:
        await context.stores.memories.link(found.user, user)
    except ValueError:
        accounts = await context.stores.memories.accounts(user)
        await request.tell(LINKED if len(accounts) > 1 else OTHER_LINKED, accounts=_listed(accounts))
        return
    told = DONE[request.locale].format(accounts=_listed([found.user, user]))
    await request.turn.tell(told)
    await context.notifier.tell(found.user, OutgoingMessage(told, choices=(Button(PART[request.locale], "/unlink"),)))


async def _ask(request: Request, found: LinkCode, code: str) -> None:
    """Say whose code it is and what entering it gives away, and note that this was said."""
    memories, links, user = request.context.stores.memories, request.context.stores.links, request.incoming.user
    mine = await memories.of(user).count()
    theirs = await memories.of(found.user).count()
    name = f" ({verbatim(found.name)})" if found.name else ""
    yours = counted(YOURS, request.locale, mine)
    other = counted(OTHERS, request.locale, theirs, account=verbatim(str(found.user)) + name)
    await request.turn.tell(
        ASK[request.locale].format(yours=yours, other=other, account=verbatim(str(found.user)) + name),
        choices=[Button(JOIN[request.locale], f"/link {_plain(code)} {YES}")],
    )
    await request.turn.view.flush()
    if found.asked != user:  # else a yes that is pressed at once would never come late enough
        await links.put(replace(found, asked=user, asked_at=request.context.clock.now()))


def _listed(accounts: Sequence[UserKey]) -> str:
    return ", ".join(verbatim(str(account)) for account in accounts)


def _plain(code: str) -> str:
    return code.replace("-", "").strip().upper()[:_CODE_CHARS]


def _digest(code: str) -> str:
    """Return what is kept of a code: who reads the database cannot enter it."""
    return hashlib.sha256(_plain(code).encode()).hexdigest()


CODE = text("links.code")
ASK = text("links.ask")
YOURS = forms("links.yours")
OTHERS = forms("links.others")
JOIN = text("links.join")
PART = text("links.part")
DONE = text("links.done")
LINKED = text("links.linked")
UNLINK = text("links.unlink")
KEEPS = forms("links.keeps")
PARTED = text("links.parted")
NOT_LINKED = text("links.not_linked")
NO_CODE = text("links.no_code")
SAME_ACCOUNT = text("links.same_account")
OTHER_LINKED = text("links.other_linked")

LINK = Command(
    "link",
    text("commands.link"),
    link,
    usage=" [CODE]",
    in_private=True,
)
UNLINK_COMMAND = Command(
    "unlink",
    text("commands.unlink"),
    unlink,
    in_private=True,
)
