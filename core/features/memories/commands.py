"""/memories, /recall and /remember: look through memories, edit, pin or share one, and save a text."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from core.actions.memory_drafts import MAX_CONTENT_CHARS, to_kind, whole
from core.actions.memory_save import (
    MEMORY_SAVE,
    NAME,
    SAVING,
    SaveRequest,
    SaveResult,
    buttons,
    hinted,
    keep,
    keep_beside,
    told,
)
from core.actions.memory_send import hand_over
from core.actions.proposal import narrowed_text, undo_button
from core.actions.things import called, things_of, with_things
from core.answering.loop import UNREAD
from core.answering.turn import Turn
from core.commands.command import ON_MEMORIES, Command, CompletionRequest, Request
from core.commands.menu import choice_field, completed_field, number_field, text_field
from core.dialogue import Outcome, Step
from core.enclosures import pointed_words
from core.errors import ProviderError
from core.features.feature import Contribution, Shared
from core.features.memories.card import (
    PAGE_SIZE,
    SHOW,
    ListedMemories,
    MemoryCompletion,
    Page,
    after,
    back,
    block,
    fenced,
    form_text,
    heading,
    is_number,
    messages_of,
    place,
    show_card,
    tell_unknown,
    where_said,
    words_of,
)
from core.features.memories.confirm import CONFIRM_COMMAND
from core.features.pending_input import PendingReplies
from core.memory.memories import Memories
from core.memory.timed import timed_anew
from core.memory.user_memory import renewed_bindings
from core.outgoing import Button, Suggestion
from core.stores import HistoryStore
from core.text.catalogue import Plurals, Sentences, counted, text
from core.text.language import name_in
from core.text.markdown import verbatim
from core.text.pointing import points_only
from core.times.wording import zone_told
from core.types import ChangeKind, Localized, MemoryDraft, MemoryItem

EDIT = Sentences("memories.edit")
FLAGS = Sentences("memories.flags")
LIST = Sentences("memories.list")
PROFILE = Sentences("memories.profile")
SOURCE = Sentences("memories.source")
SOURCE_PLURALS = Plurals("memories.source")

_log = logging.getLogger(__name__)


def build(shared: Shared) -> Contribution:
    """Contribute /remember, /recall, /memories, and the command of the buttons of proposals."""
    listed = ListedMemories(shared.stores.kept)
    browsing = MemoryCommands(listed, shared.memories, shared.stores.history, shared.replies)
    return Contribution(
        commands=(REMEMBER, *browsing.commands, CONFIRM_COMMAND),
        forgetters=(listed, shared.stores.pending_inputs, shared.stores.confirmations),
        offers=(listed, browsing),
    )


async def remember(request: Request, text: str) -> None:
    """Save the text as memories, and say which; as a reply, without a text, what it replies to.

    The things that came along, or with what it replies to, are kept with it.
    """
    turn = request.turn
    pointed = pointed_words(turn.asked.quotes) if not text or points_only(text) else ""
    things = await things_of(turn) if turn.asked.attachments or turn.asked.quotes else ()
    if things and not text and not pointed:
        await turn.enclosed.read()
        pointed = called(turn, things)
    if not text and not pointed:
        await request.tell(WHAT_IS_IT if things else UNREAD if turn.asked.quotes else HOW_TO_REMEMBER)
    elif why := turn.person.why_not_remembering:
        await request.tell(why)
    elif pointed:
        turn.log.asked = await turn.conversation.add(replace(turn.asked, content=text))
        own = await with_things(turn, whole(pointed))
        await _tell(turn, await keep_beside(turn, *own))  # what others say of themselves replaces nothing
    else:
        turn.log.asked = await turn.conversation.add(replace(turn.asked, content=text))
        await turn.answer.status(SAVING[turn.person.locale])
        wanted = await _wanted(turn)
        drafts = wanted.drafts if wanted.drafts and not wanted.missing else whole(text)
        await _tell(turn, await keep(turn, await with_things(turn, drafts), wanted.hints))


async def _tell(turn: Turn, kept: SaveResult) -> None:
    step = Step(NAME, Outcome.DONE, items=(*kept.written, *kept.known))
    await turn.answer.report(step, await told(turn, kept), await buttons(turn, kept))


async def _wanted(turn: Turn) -> SaveRequest:
    """Return the drafts that the models make of the text; none if they fail: the text is then saved as it is."""
    try:
        return await hinted(turn, await MEMORY_SAVE.ask(turn))
    except ProviderError as error:
        _log.warning("kept as it is", extra={"error": type(error).__name__})
        return SaveRequest()


WHAT_IS_IT = text("files.what_is_it")
HOW_TO_REMEMBER = text("memories.remember.how_to_remember")

REMEMBER = Command(
    "remember",
    text("commands.remember"),
    remember,
    usage=" …",
    in_order=True,
    writes=ChangeKind.SAVED,
    fields=(text_field("text", text("menus.fields.remember"), required=True),),
    topics=(ON_MEMORIES,),
    wish=text("help.wishes.remember"),
)


PROFILE_WORD: Final = "profile"
VERBS: Final = ("show", "source", "edit", "pin", "unpin", "things")
"""What /memories does with one memory, named by its number or id."""

_MAX_MESSAGES: Final = 10
_MAX_MESSAGE_CHARS: Final = 1500


class MemoryCommands:
    """Offer /memories and /recall, and `share` for /memory."""

    def __init__(
        self, listed: ListedMemories, memories: Memories, history: HistoryStore, replies: PendingReplies
    ) -> None:
        self._listed = listed
        self._memories = memories
        self._history = history
        self._replies = replies
        self._verbs: Mapping[str, Callable[[Request, MemoryItem, str], Awaitable[None]]] = dict(
            zip(VERBS, (show_card, self._source, self._edit, self._pin, self._unpin, _things), strict=True)
        )

    @property
    def commands(self) -> Sequence[Command]:
        """The two commands, in the order of menus."""
        return (
            Command(
                "recall",
                text("commands.recall"),
                self._recall,
                usage=" …",
                in_private=True,
                searches=True,
                fields=(text_field("text", text("menus.fields.recall"), required=True),),
                topics=(ON_MEMORIES,),
                wish=text("help.wishes.recall"),
            ),
            Command(
                "memories",
                text("commands.memories"),
                self._browse,
                usage=" [N | profile | …]",
                in_private=True,
                searches=True,
                is_listed=True,
                fields=(
                    completed_field("memory", text("menus.fields.memory")),
                    choice_field("kind", text("menus.fields.kind"), {PROFILE_WORD: text("menus.kinds.profile")}),
                    number_field("page", text("menus.fields.page")),
                ),
                complete=MemoryCompletion(self._memories),
                begins=self._begun,
                topics=(ON_MEMORIES,),
                wish=text("help.wishes.memories"),
            ),
        )

    async def share(self, request: Request, argument: str, *, shared: bool) -> None:
        """Let the memory that the argument names be told in every room where its owner talks to the bot, or not."""
        name, _, origin = argument.partition(" ")
        item = await self._listed.named(request, name)
        if not name:
            await request.tell(FLAGS.how_to_share)
        elif item is None:
            await tell_unknown(request)
        else:
            await self._flag(
                request, item, origin.strip(), FLAGS.now_shared if shared else FLAGS.not_shared, shared=shared
            )

    async def _browse(self, request: Request, argument: str) -> None:
        """Show a page of the memories, do something with one, or show those that a search finds."""
        first, *rest = argument.split(maxsplit=2)[:3] or ["1"]
        if argument.strip().casefold() == PROFILE_WORD:
            await self._profile(request)
        elif rest and first.casefold() in VERBS:
            await self._one(request, first.casefold(), *rest)
        elif is_number(first) and not rest:
            await self._page(request, int(first))
        elif not is_number(first) and (item := await self._listed.named(request, first)) is not None:
            await show_card(request, item)
        else:
            await self._recall(request, argument)

    async def _recall(self, request: Request, query: str) -> None:
        """Search as the bot does, and show what was found."""
        if not query:
            await request.tell(LIST.how_to_recall)
            return
        items = [hit.item for hit in await request.turn.memory.find(query, limit=PAGE_SIZE)]
        title = (LIST.found if items else LIST.none_found)[request.locale]
        await self._listed.show_memories(request, title, items, origin=f"recall {query}")

    async def _one(self, request: Request, verb: str, name: str, rest: str = "") -> None:
        item = await self._listed.named(request, name)
        if item is None:
            await self._replies.settle(request)
            await tell_unknown(request)
        else:
            await self._verbs[verb](request, item, rest)

    async def _profile(self, request: Request) -> None:
        """Show what stands in every prompt of the person: who they are, and the memories of their profile."""
        turn, locale = request.turn, request.locale
        zone = zone_told(turn.person.own_zone.key, turn.services.clock.now(), locale) if turn.person.own_zone else ""
        language = name_in(turn.person.language, locale) if turn.person.language else ""
        facts = [
            told[locale].format(**{what: verbatim(fact)})
            for told, what, fact in (
                (PROFILE.name, "name", turn.person.name),
                (PROFILE.language, "language", language),
                (PROFILE.zone, "zone", zone),
            )
            if fact
        ]
        items = await self._memories.profiles.of(turn.memory)
        title = "\n".join([PROFILE.title[locale], *facts])
        after = (PROFILE.how if items else PROFILE.empty)[locale]
        await self._listed.show_memories(request, title, items, origin=f"memories {PROFILE_WORD}", after=after)

    async def _page(self, request: Request, number: int) -> None:
        locale, total = request.locale, await request.turn.memory.count()
        if not total:
            await request.tell(NO_MEMORIES)
            return
        page = Page.of("memories", number, total)
        items = await request.turn.memory.page(limit=PAGE_SIZE, skip=page.before)
        profile = Button(PROFILE.button[locale], f"/memories {PROFILE_WORD}", in_place=True)
        await self._listed.show_memories(
            request,
            LIST.title[locale].format(total=total),
            items,
            origin=f"memories {page.number}",
            page=page,
            choices=[profile] if page.number == 1 else [],
        )

    async def _source(self, request: Request, item: MemoryItem, origin: str) -> None:
        """Show the messages that the memory rests on, with date, account and room, and say how many are gone."""
        said = await messages_of(request, item)
        versions = [
            each for change in await request.turn.memory.versions(item.id) for each in (change.before, change.after)
        ]
        rooms = {room for each in (item, *versions) if each for room in each.rooms}
        everywhere = replace(item, rooms=tuple(rooms))
        lines = [SOURCE.source_of[request.locale].format(memory=heading(item))]
        for each in said[-_MAX_MESSAGES:]:
            said_text = words_of(each.message)
            shown = said_text if len(said_text) <= _MAX_MESSAGE_CHARS else said_text[:_MAX_MESSAGE_CHARS] + "…"
            lines += ["", await where_said(request, each, everywhere), fenced(shown)]
        if len(said) > _MAX_MESSAGES:
            lines += ["", counted(SOURCE_PLURALS.older, request.locale, len(said) - _MAX_MESSAGES)]
        if gone := len(item.source_ids) - len(said):
            lines += ["", counted(SOURCE_PLURALS.gone, request.locale, gone)]
        if not item.source_ids:
            lines += ["", SOURCE.no_source[request.locale]]
        lines += ["", *await place(request, item)]
        to_card = Button(SHOW[request.locale], after(f"/memories show {item.id}", origin), in_place=True)
        await request.answer.tell("\n".join(lines), choices=[to_card, back(request.locale, origin)])

    async def _edit(self, request: Request, item: MemoryItem, content: str) -> None:
        """Replace the content without asking a model; without one, take the person's next message for it."""
        if why := request.person.why_not_remembering:
            await request.tell(why)
        elif not content:
            await self._replies.await_text(request, f"/memories edit {item.id}")
            asked = EDIT.ask[request.locale].format(memory=heading(item))
            await request.answer.tell("\n".join([asked, "", block(item)]))
            return
        elif len(content) > MAX_CONTENT_CHARS:
            await request.tell(EDIT.too_long, max_chars=MAX_CONTENT_CHARS)
        else:
            await _change(request, item, content)
        await self._replies.settle(request)

    async def _begun(self, request: CompletionRequest) -> Sequence[Suggestion]:
        """Return the content of the memory that a button edits, as it is now."""
        items = await self._memories.known(request.incoming.user, request.incoming.text.split()[-1:])
        return [Suggestion("", text) for text in map(form_text, items) if text]

    async def _pin(self, request: Request, item: MemoryItem, origin: str) -> None:
        await self._flag(request, item, origin, FLAGS.pinned, pinned=True)

    async def _unpin(self, request: Request, item: MemoryItem, origin: str) -> None:
        await self._flag(request, item, origin, FLAGS.unpinned, pinned=False)

    async def _flag(
        self,
        request: Request,
        item: MemoryItem,
        origin: str,
        told: Localized,
        *,
        pinned: bool | None = None,
        shared: bool | None = None,
    ) -> None:
        flagged = await request.turn.memory.flag(item.id, pinned=pinned, shared=shared)
        if flagged is None:
            await tell_unknown(request)
        else:
            await show_card(request, flagged, origin, told=told[request.locale])


async def _things(request: Request, item: MemoryItem, origin: str) -> None:
    """Hand over what the memory keeps."""
    del origin
    await hand_over(request.turn, item)


async def _change(request: Request, item: MemoryItem, content: str) -> None:
    memory, locale = request.turn.memory, request.locale
    if content == item.content and item.id not in await memory.changed():
        await show_card(request, item, told=EDIT.same[locale])
        return
    phrases = renewed_bindings(item.bindings, item.content, content)
    turn, draft = request.turn, MemoryDraft(to_kind(item.kind.value, content), content, phrases)
    draft = timed_anew(draft, item, turn.services.times, turn.search.said_at, locale)
    changed = await memory.update(
        item.id,
        kind=draft.kind,
        content=draft.content,
        bindings=None if draft.bindings == item.bindings else draft.bindings,
        until=draft.until,
        meant=draft.meant,
    )
    if changed is None:  # deleted while it was being embedded
        await tell_unknown(request)
        return
    told = EDIT.changed[locale] if changed.kind is item.kind else f"{EDIT.changed[locale]} {EDIT.now_text[locale]}"
    told = f"{narrowed_text(request.turn, [item], [changed])}\n{told}".strip()
    await show_card(request, changed, told=told, choices=await undo_button(request.turn))


NO_MEMORIES = text("memories.list.no_memories")
