"""/link and /unlink: give two accounts of one person one memory, and part them again.

A code alone only shows that the person who enters it has seen the other account; somebody could be talked into
entering a stranger's. Therefore the bot first says whose code it is and what entering it gives away, and links the
accounts only on a "yes" in a message or press sent after that.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from core.commands.command import ON_DATA, Command, Request
from core.commands.menu import text_field
from core.features.feature import Contribution, Shared
from core.features.links.storage import LinkCode
from core.history.withholding import withhold
from core.outgoing import Button, OutgoingMessage
from core.stores import Share
from core.text.catalogue import Plurals, Sentences, counted, text
from core.text.unicode import one_line
from core.types import Locale, UserKey

LINKS = Sentences("links")
LINKS_PLURALS = Plurals("links")

VALID_FOR: Final = timedelta(minutes=10)
YES: Final = "yes"
_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ"  # none that is taken for a digit
_CODE_CHARS: Final = 8
_MAX_NAME_CHARS: Final = 64


def build(shared: Shared) -> Contribution:
    """Contribute /link and /unlink."""
    return Contribution(commands=LinkCommands(shared).commands, forgetters=(shared.stores.links,))


class LinkCommands:
    """Offer /link and /unlink."""

    def __init__(self, shared: Shared) -> None:
        self._codes = shared.stores.links
        self._memories = shared.memories
        self._history = shared.stores.history
        self._notifier = shared.notifier
        self._names = shared.names
        self._clock = shared.clock

    @property
    def commands(self) -> Sequence[Command]:
        """The two commands, in the order of menus."""
        return (
            Command(
                "link",
                text("commands.link"),
                self._link,
                usage=" [CODE]",
                in_private=True,
                fields=(text_field("code", text("menus.fields.link_code")),),
                topics=(ON_DATA,),
            ),
            Command("unlink", text("commands.unlink"), self._unlink, in_private=True, topics=(ON_DATA,)),
        )

    async def _link(self, request: Request, argument: str) -> None:
        """Give a code; or say what entering one gives away; or link the accounts."""
        code, _, said = argument.partition(" ")
        accounts = await self._memories.accounts(request.incoming.user)
        if len(accounts) > 1 and (await request.turn.memory.done()).linked:  # by this message, before a restart
            await self._tell_joined(request, accounts, _digest(code))
        elif len(accounts) > 1:
            await request.answer.tell(
                LINKS.linked[request.locale].format(accounts=await self._listed(accounts)),
                choices=[Button(LINKS.part[request.locale], "/unlink")],
            )
        elif not code:
            await self._give_code(request)
        else:
            await self._enter(request, code, sure=said.strip().casefold() == YES)

    async def _unlink(self, request: Request, argument: str) -> None:
        """Say how many memories each account would have, or part the accounts."""
        user = request.incoming.user
        accounts = await self._memories.accounts(user)
        if len(accounts) == 1:
            await request.tell(LINKS.not_linked)
            return
        if argument.strip().casefold() != YES:
            keeps = await self._keeps(request.locale, await self._memories.shares(user))
            await request.answer.tell(
                LINKS.unlink[request.locale].format(keeps=keeps),
                choices=[Button(LINKS.part[request.locale], f"/unlink {YES}")],
            )
            return
        await request.stop_answers(accounts)  # they would go on with the joint memory
        told = LINKS.parted[request.locale].format(keeps=await self._keeps(request.locale, await self._part(accounts)))
        await request.answer.tell(told)
        for other in accounts:
            if other != user:
                await self._notifier.tell(other, OutgoingMessage(told))

    async def _part(self, accounts: Sequence[UserKey]) -> Mapping[UserKey, Share]:
        """Part the accounts, and keep from each one's prompts what its threads showed of the others' memories.

        Return what each has then.
        """
        before = await self._memories.shares(accounts[0])
        for account in accounts:  # first: a crash must not leave parted accounts with each other's words
            await withhold(self._history, account, before[account].own)
        for other in accounts[1:]:
            await self._memories.unlink(accounts[0], other)
        after: dict[UserKey, Share] = {}
        for account in accounts:  # and what was said in between
            after |= await self._memories.shares(account)
            await withhold(self._history, account, before[account].own)
        return after

    async def _give_code(self, request: Request) -> None:
        incoming, now = request.incoming, self._clock.now()
        await self._codes.drop(now - VALID_FOR)
        code = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_CHARS))
        name = one_line(incoming.user_name, _MAX_NAME_CHARS)
        await self._codes.put(LinkCode(_digest(code), incoming.user, name, now))
        minutes = int(VALID_FOR.total_seconds() // 60)
        await request.tell(LINKS.code, code=f"{code[:4]}-{code[4:]}", minutes=minutes)

    async def _enter(self, request: Request, code: str, *, sure: bool) -> None:
        found = await self._codes.find(_digest(code))
        if found is None or self._clock.now() - found.at > VALID_FOR:
            await request.tell(NO_CODE)
        elif found.user == request.incoming.user:
            await request.tell(LINKS.same_account)
        elif len(await self._memories.accounts(found.user)) > 1:
            await request.tell(LINKS.other_linked)
        elif not sure or not _was_told(request, found):
            await self._ask(request, found, code)
        else:
            await self._join(request, found)

    async def _ask(self, request: Request, found: LinkCode, code: str) -> None:
        """Say whose code it is and what entering it gives away, and record that this was said."""
        user, account = request.incoming.user, await self._names.of_account(found.user, found.name)
        yours = counted(LINKS_PLURALS.yours, request.locale, await self._memories.of(user).count())
        other = counted(
            LINKS_PLURALS.others, request.locale, await self._memories.of(found.user).count(), account=account
        )
        await request.answer.tell(
            LINKS.ask[request.locale].format(yours=yours, other=other, account=account),
            choices=[Button(LINKS.join[request.locale], f"/link {_plain(code)} {YES}")],
        )
        await request.answer.view.flush()
        if found.asked != user:  # else the later time would make a yes that was pressed at once count as too early
            await self._codes.ask(found.digest, user, self._clock.now())

    async def _join(self, request: Request, found: LinkCode) -> None:
        """Link the accounts, unless the code was used or an account was linked in the meantime."""
        user = request.incoming.user
        try:
            await self._memories.link(
                found.user, user, request.turn.memory.context.message
            )  # first: nobody else can use a code of who is linked
        except ValueError:
            accounts = await self._memories.accounts(user)
            await request.tell(
                LINKS.linked if len(accounts) > 1 else LINKS.other_linked, accounts=await self._listed(accounts)
            )
            return
        await self._tell_joined(request, [found.user, user], found.digest)

    async def _tell_joined(self, request: Request, accounts: Sequence[UserKey], digest: str) -> None:
        """Say in both accounts that they are one now; then the code is used up."""
        told = LINKS.done[request.locale].format(accounts=await self._listed(accounts))
        await request.answer.tell(told)
        part = Button(LINKS.part[request.locale], "/unlink")
        if await self._codes.find(digest) is not None:  # else the other was told before a restart
            try:
                for other in accounts:
                    if other != request.incoming.user:
                        await self._notifier.tell(other, OutgoingMessage(told, choices=(part,)))
            finally:  # /unlink stops this answer
                await self._codes.take(digest)

    async def _keeps(self, locale: Locale, shares: Mapping[UserKey, Share]) -> str:
        """Say how many memories each account has, a line each."""
        return "\n".join(
            [
                counted(LINKS_PLURALS.keeps, locale, share.count, account=await self._names.of_account(account))
                for account, share in shares.items()
            ]
        )

    async def _listed(self, accounts: Sequence[UserKey]) -> str:
        return ", ".join([await self._names.of_account(account) for account in accounts])


def _was_told(request: Request, found: LinkCode) -> bool:
    """Whether the person was told what the code gives away before they sent this. Platforms count whole seconds."""
    incoming = request.incoming
    if found.asked != incoming.user or found.asked_at is None:
        return False
    return incoming.at >= found.asked_at.replace(microsecond=0)


def _plain(code: str) -> str:
    return code.replace("-", "").strip().upper()[:_CODE_CHARS]


def _digest(code: str) -> str:
    """Return the hash that is stored in place of the code: reading the database gives nobody a code."""
    return hashlib.sha256(_plain(code).encode()).hexdigest()


NO_CODE = text("links.no_code")
