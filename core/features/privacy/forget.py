"""/forget, /admin forget and /privacy: delete what is kept of a person, and say what that is and who reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from core.actions.change_report import deleted_text, erase_button, undo_button
from core.actions.proposal import Deletion
from core.commands.command import STAFF, Command, Request
from core.commands.menu import choice_field, completed_field, text_field
from core.confirmations import Confirmations
from core.features.access.gate import ROLES
from core.features.access.rules import STAYS, Access
from core.features.admin.admin import Verb
from core.features.admin.decisions import DecisionKind, Decisions, record_deed
from core.features.admin.names import EXAMPLE, SOMEBODY, Names
from core.features.memories.completion import MemoryCompletion
from core.features.memories.listed import ListedMemories, found, is_number
from core.features.preferences.commands import learning
from core.features.privacy.erasure import Erasure
from core.features.transfer.files import Copies
from core.history.withholding import Redaction
from core.memory.memories import Memories
from core.models import Models
from core.outgoing import Button, memory_line
from core.ports import Clock
from core.stores import HistoryStore
from core.text.catalogue import counted, forms, in_words, text
from core.text.days import noted
from core.text.markdown import verbatim
from core.types import MemoryItem, Role, UserKey

WITHIN = ("limited:", "usem3")
"""How the names of models begin that run inside the bot: what they read stays on the machine."""


class PrivacyCommand:
    """Offer /privacy; `logs_words` is whether the log has what people ask, `copies` are made of all that is kept."""

    def __init__(self, models: Models, decisions: Decisions, *, logs_words: bool, copies: Copies) -> None:
        self._models = models
        self._decisions = decisions
        self._logs_words = logs_words
        self._where, self._gone = (SERVER, GONE_SERVER) if copies.on_server else (FILE, GONE_FILE)
        self._daily = copies.daily

    @property
    def command(self) -> Command:
        """The command."""
        return Command("privacy", text("commands.privacy"), self._privacy, is_listed=True)

    async def _privacy(self, request: Request, _: str) -> None:
        models = self._models
        asked = dict.fromkeys(model.name for model in (models.heavy, models.reasoning, models.chat, models.summary))
        elsewhere = [name for name in (*asked, models.embedder.space) if not name.startswith(WITHIN)]
        readers = (READERS if elsewhere else NOBODY)[request.locale].format(names=", ".join(elsewhere))
        logged = (LOGGED if self._logs_words else NOT_LOGGED)[request.locale]
        within = request.turn.memory.undo_within
        undo = (UNDO_FOR if within else FINAL)[request.locale].format(
            within=in_words(within, request.locale), gone=self._gone[request.locale]
        )
        learned = learning(request.person.learn, request.locale, limited=models.is_limited)
        where = self._where[request.locale]
        if self._daily:
            where = f"{where} {counted(DAILY, request.locale, self._daily)}"
        said = PRIVACY[request.locale].format(readers=readers, logged=logged, where=where, undo=undo, learned=learned)
        if most := await self._decisions.room_messages(request.incoming.chat):
            said = f"{said}\n{ROOM_IS_READ[request.locale].format(most=most)}"
        await request.answer.tell(said)


ROOM_IS_READ = text("pointing.room_is_read")
READERS = text("privacy.readers")
NOBODY = text("privacy.nobody")
PRIVACY = text("privacy.privacy")
FILE = text("privacy.where.file")
SERVER = text("privacy.where.server")
DAILY = forms("privacy.where.daily")
GONE_FILE = text("privacy.gone.file")
GONE_SERVER = text("privacy.gone.server")
UNDO_FOR = text("privacy.undo_for")
FINAL = text("privacy.final")
NOT_LOGGED = text("privacy.not_logged")
LOGGED = text("privacy.logged")


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
    """Offer /forget; `logs_words` is whether the log has what people ask, which /forget all does not reach."""

    def __init__(
        self,
        listed: ListedMemories,
        memories: Memories,
        history: HistoryStore,
        *,
        confirmations: Confirmations,
        access: Access,
        erasure: Erasure,
        logs_words: bool,
    ) -> None:
        self._listed = listed
        self._memories = memories
        self._history = history
        self._confirmations = confirmations
        self._access = access
        self._erasure = erasure
        self._logs_words = logs_words

    @property
    def command(self) -> Command:
        """The command."""
        return Command(
            "forget",
            text("commands.forget"),
            self._forget,
            usage=" N | … | said | all",
            in_private=True,
            is_listed=True,
            fields=(
                completed_field("memory", text("menus.fields.forget")),
                choice_field("what", text("menus.fields.forget_more"), _MORE),
                text_field("code", text("menus.fields.forget_code")),
            ),
            complete=MemoryCompletion(self._memories),
        )

    async def _forget(self, request: Request, argument: str) -> None:
        """Delete what is named, or show what a search finds and ask for a yes."""
        first, _, rest = argument.partition(" ")
        if first.casefold() == ALL:
            await self._all(request, rest)
        elif first.casefold() == CONFIRM and rest.strip():
            await self._confirmed(request, rest)
        elif first.casefold() == SAID:
            await self._said(request, rest.strip())
        elif not argument:
            await request.tell(HOW_TO_FORGET)
        elif deleted := (await request.turn.memory.done()).deleted:  # before a restart
            await _delete(request, deleted)
        elif (item := await self._listed.named(request, argument)) is not None:
            await _delete(request, [item.id])
        elif is_number(argument):
            await request.tell(NO_SUCH_MEMORY)
        else:
            await self._preview(request, argument)

    async def _preview(self, request: Request, query: str) -> None:
        """Show what a search finds, to be confirmed as a whole or chosen from."""
        hits = await found(request, query)
        # What only means something like the words is no part of what is deleted by one press, where others have them.
        items = [hit.item for hit in [each for each in hits if each.lexical] or hits]
        if not items:
            await request.tell(NO_SUCH_MEMORY)
            return
        wanted = Deletion(tuple(item.id for item in items), tuple(item.updated_at for item in items))
        code = await self._confirmations.ask(request.incoming.conversation, wanted)
        confirm = Button(counted(DELETE_THOSE, request.locale, len(items)), f"/forget {CONFIRM} {code}", in_place=True)
        await self._listed.show(
            request,
            WOULD_GO[request.locale],
            items,
            after=TO_CONFIRM[request.locale].format(code=code),
            choices=[confirm],
            origin=f"forget {query}",
        )

    async def _confirmed(self, request: Request, code: str) -> None:
        wanted = await self._confirmations.take(request.incoming, code, Deletion)
        if wanted is None:
            await request.tell(NOT_CONFIRMED)
        else:
            await _delete(request, wanted.memory_ids)

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
        if await self._confirmations.take(request.incoming, code, Everything) is None:
            await self._ask_for_all(request, accounts)
            return
        await request.stop_answers(accounts)
        await self._erasure.forget(user)
        log_stays = LOG_STAYS[request.locale] if self._logs_words else ""
        copies = await self._erasure.copies_left(request.locale, for_owner=request.role is Role.OWNER)
        await request.answer.tell("\n".join([f"{FORGOT_ALL[request.locale]} {log_stays}".rstrip(), copies]).rstrip())

    async def _ask_for_all(self, request: Request, accounts: Sequence[UserKey]) -> None:
        given, locale = await self._access.role(request.incoming.user), request.locale
        code = await self._confirmations.ask(request.incoming.conversation, Everything())
        asked = CONFIRM_ALL[locale].format(total=await request.turn.memory.count(), code=code)
        others = ", ".join(verbatim(str(account)) for account in accounts if account != request.incoming.user)
        linked = LINKED_GO[locale].format(accounts=others) if others else ""
        role = (STAFF_STAYS if given in STAFF else MEMBER_GOES)[locale] if given else ""
        await request.answer.tell("\n".join(line for line in (asked, linked, role) if line))


class ForgetVerb:
    """Offer /admin forget: an owner erases everything of a person, and that is put on record."""

    def __init__(
        self,
        memories: Memories,
        erasure: Erasure,
        decisions: Decisions,
        *,
        access: Access,
        confirmations: Confirmations,
        names: Names,
        clock: Clock,
    ) -> None:
        self._memories = memories
        self._erasure = erasure
        self._decisions = decisions
        self._access = access
        self._confirmations = confirmations
        self._names = names
        self._clock = clock

    @property
    def verb(self) -> Verb:
        """The verb."""
        about = text("admin.commands.forget")
        return Verb(
            "forget",
            about,
            self._forget,
            " PERSON",
            EXAMPLE,
            for_owners=True,
            decisive=True,
            fields=SOMEBODY,
            complete=self._names.complete,
        )

    async def _forget(self, request: Request, argument: str) -> None:
        """Say what would be erased and ask for a code, or erase it."""
        word, _, code = argument.partition(" ")
        if word.casefold() == CONFIRM:
            await self._confirmed(request, code)
        else:
            user = await self._names.find(request, argument.split())
            code = await self._confirmations.ask(request.incoming.conversation, Somebody(user))
            total = await self._memories.of(await self._memories.owner(user)).count()
            command = f"/admin forget {CONFIRM} {code}"
            asked = ASK[request.locale].format(user=user, total=total, command=command)
            await request.answer.tell(
                "\n".join([asked, *await self._role_stays(request, user)]),
                choices=[Button(FORGET_THEM[request.locale], command, in_place=True)],
            )

    async def _role_stays(self, request: Request, user: UserKey) -> list[str]:
        """Return a line on the role that the person keeps, if they have one that stays."""
        found, locale = await self._access.person(user), request.locale
        if found is None or found.role not in STAYS:
            return []
        return [ROLE_STAYS[locale].format(role=ROLES[found.role.value][locale])]

    async def _confirmed(self, request: Request, code: str) -> None:
        somebody = await self._confirmations.take(request.incoming, code, Somebody)
        if somebody is None:
            await request.tell(SOMEBODY_NOT_CONFIRMED)
            return
        await request.stop_answers(await self._memories.accounts(somebody.user))
        await self._erasure.forget(somebody.user)
        await record_deed(self._decisions, self._clock, request.incoming.user, DecisionKind.FORGET)
        lines = [DONE[request.locale], await self._erasure.copies_left(request.locale, for_owner=True)]
        await request.answer.tell("\n".join(filter(None, lines)))


async def _delete(request: Request, memory_ids: Sequence[str]) -> None:
    deleted: Sequence[MemoryItem] = await request.turn.memory.delete(memory_ids)
    if before := await deleted_text(request.turn, memory_ids, deleted):
        await request.answer.tell(before)
    elif deleted:
        lines = [
            FORGOT[request.locale],
            *(memory_line(noted(item, request.person.zone, request.locale)) for item in deleted),
        ]
        choices = (*await undo_button(request.turn), *erase_button(request.locale, deleted))
        await request.answer.tell("\n".join(lines), choices=choices)
    else:
        await request.tell(NO_SUCH_MEMORY)


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

REMOVED = forms("privacy.forget_said.removed")
NOTHING_LEFT = text("privacy.forget_said.nothing_left")

ASK = text("privacy.admin.ask")
ROLE_STAYS = text("privacy.admin.role_stays")
FORGET_THEM = text("privacy.admin.forget_them")
SOMEBODY_NOT_CONFIRMED = text("privacy.admin.not_confirmed")
DONE = text("privacy.admin.done")
