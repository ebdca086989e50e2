"""Show one memory whole, with the buttons by which a person changes it, and memories in numbered lists, page by page.

People name a memory by its number in the list shown last where they are, or by its id.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from core.answering.outcomes import kept_with
from core.clock import zone_name
from core.commands.command import MOST_OFFERED, CompletionRequest, Request, offered
from core.enclosures import pointed_words
from core.memory.memories import Memories
from core.outgoing import MAX_COMMAND_BYTES, Button, Suggestion, memory_line
from core.stores import KeptStore, SaidMessage
from core.text.catalogue import Plurals, Sentences, counted, text, texts
from core.text.days import dated, noted, short_day, short_minute
from core.text.markdown import quoted, verbatim
from core.text.unicode import one_line
from core.types import (
    ChangeKind,
    ConversationKey,
    Locale,
    Localized,
    MemoryItem,
    MemoryKind,
    Message,
    UserKey,
    room_name,
)

CARD = Sentences("memories.card")
CARD_PLURALS = Plurals("memories.card")
LIST = Sentences("memories.list")
NAMED = Sentences("memories.named")
SOURCE = Sentences("memories.source")

MAX_PHRASE_CHARS: Final = 60
_MAX_LABEL_CHARS: Final = 40
_MAX_FORM_CHARS: Final = 4000
"""The longest text that a form can be filled in with. Source: Discord's text input, `value`."""
_MAX_IN_LINE_CHARS: Final = 300
_LISTS: Final = frozenset({"memories", "recall", "forget"})


async def show_card(
    request: Request, item: MemoryItem, origin: str = "", *, told: str = "", choices: Sequence[Button] = ()
) -> None:
    """Show a memory below `told`, what was done to it; `origin` is the list it was chosen from, without "/"."""
    versions = await request.turn.memory.versions(item.id)
    changes = sum(each.kind is ChangeKind.UPDATED and not each.undone for each in versions)
    lines = [*([told, ""] if told else []), f"{mark(item)}🧠 {heading(item)}", block(item), ""]
    lines += [*_facts(request, item, changes), *await place(request, item)]
    for said in (await messages_of(request, item))[-1:]:
        lines.append(f"💬 {await where_said(request, said, item)}: {quoted(words_of(said.message))}")
    await request.answer.tell("\n".join(lines), choices=[*choices, *_buttons(request.locale, item, origin)])


async def tell_unknown(request: Request) -> None:
    """Say that there is no such memory."""
    await request.answer.tell(
        NAMED.no_such_memory[request.locale], choices=[back(request.locale, "", NAMED.to_the_list)]
    )


def entry(item: MemoryItem, origin: str) -> Button:
    """Return the button that chooses a memory from a list, without its number."""
    label = one_line(item.bindings[0], _MAX_LABEL_CHARS)
    return Button(label, after(f"/memories show {item.id}", origin), in_place=True)


def after(command: str, origin: str) -> str:
    """Append the list that the command leads back to, if a button can hold both."""
    whole = f"{command} {origin}".rstrip()
    return whole if len(whole.encode()) <= MAX_COMMAND_BYTES else command


def back(locale: Locale, origin: str, label: Localized | None = None) -> Button:
    """Return the button back to the list that the person came from."""
    known = origin.split(maxsplit=1)[:1]
    command = f"/{origin}" if known and known[0] in _LISTS else "/memories"
    return Button((label or CARD.back)[locale], after(command, ""), in_place=True)


def heading(item: MemoryItem) -> str:
    """Return the name of a memory: the first phrase that it is found by."""
    return verbatim(one_line(item.bindings[0], MAX_PHRASE_CHARS)) + kept_with(item)


def mark(item: MemoryItem) -> str:
    """Return the sign before a pinned memory, "" before any other."""
    return "📌 " if item.pinned else ""


def block(item: MemoryItem) -> str:
    """Return the whole content, every character as it is."""
    if item.kind is MemoryKind.JSON:
        return fenced(item.content, "json")
    in_line = "\n" not in item.content and len(item.content) <= _MAX_IN_LINE_CHARS
    return verbatim(item.content) if in_line else fenced(item.content)


def form_text(item: MemoryItem) -> str:
    """Return the content as a form begins with it; "" if it is too long for that."""
    return item.content if len(item.content) <= _MAX_FORM_CHARS else ""


def fenced(text: str, language: str = "") -> str:
    """Return the text as a code block whose fence is longer than any run of backquotes in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}{language}\n{text}\n{fence}"


async def place(request: Request, item: MemoryItem) -> list[str]:
    """Return where the memory was said, and in which rooms it may be told, a line each."""
    locale, here = request.locale, room_name(request.incoming.chat)
    called = request.turn.services.room_called
    elsewhere = [await called(room, locale) for room in item.rooms if room != here]
    lines = [] if item.rooms else [(CARD.in_private if item.shared else CARD.only_in_private)[locale]]
    if here in item.rooms:
        lines.append(CARD.here[locale])
    if elsewhere:
        lines.append(counted(CARD_PLURALS.elsewhere, locale, len(elsewhere), rooms=", ".join(elsewhere)))
    return [*lines, *([CARD.shared[locale]] if item.shared else [])]


async def messages_of(request: Request, item: MemoryItem) -> list[SaidMessage]:
    """Return the messages of a memory that still have words, of all accounts of the person, the oldest first."""
    memory, store = request.turn.memory, request.turn.conversation.store
    said = [
        each
        for account in await memory.store.accounts(request.incoming.user)
        for each in await store.said(account, item.source_ids)
        if words_of(each.message)  # not removed at the person's wish
    ]
    return sorted(said, key=lambda each: each.message.id)


def words_of(message: Message) -> str:
    """Return the words of a message, or, where it has none of its own, those that it points at."""
    return message.text or pointed_words(message.quotes)


async def where_said(request: Request, said: SaidMessage, item: MemoryItem) -> str:
    """Return date, platform and room of a message; a chat that is none of the memory's rooms was private."""
    locale, room, at = request.locale, room_name(said.chat), said.message.at
    date = ""
    if at is not None:
        local = at.astimezone(request.person.zone)
        date = f"{short_minute(local, locale)} {zone_name(local)} · "
    called = await request.turn.services.room_called(room, locale) if room in item.rooms else ""
    said_in = SOURCE.in_room[locale].format(room=called) if called else SOURCE.in_private[locale]
    return f"{date}{said.chat.platform.title()} · {said_in}"


def _facts(request: Request, item: MemoryItem, changes: int) -> list[str]:
    locale = request.locale
    item = item.in_zone(request.person.zone)
    phrases = ", ".join(verbatim(one_line(phrase, MAX_PHRASE_CHARS)) for phrase in item.bindings)
    dates = CARD.kept[locale].format(date=short_day(item.created_at, locale), kind=KINDS[item.kind][locale])
    if changes:
        dates += " " + counted(CARD_PLURALS.changed, locale, changes, date=short_day(item.updated_at, locale))
    dates += dated(item, request.person.zone, locale)
    return [CARD.found_by[locale].format(phrases=phrases), dates]


def _buttons(locale: Locale, item: MemoryItem, origin: str) -> list[Button]:
    pin, share = ("unpin" if item.pinned else "pin"), ("unshare" if item.shared else "share")
    things = [Button(SHOW_THINGS[locale], f"/memories things {item.id}")] if item.attachments else []
    return [
        *things,
        Button(CARD.source[locale], after(f"/memories source {item.id}", origin), in_place=True),
        Button(EDIT[locale], f"/memories edit {item.id}", asks=EDITED[locale], text=form_text(item), in_place=True),
        Button(CARD.delete[locale], f"/forget {item.id}", in_place=True),
        Button(
            (CARD.unpin if item.pinned else CARD.pin)[locale],
            after(f"/memories {pin} {item.id}", origin),
            in_place=True,
        ),
        Button(
            (CARD.unshare if item.shared else CARD.share)[locale],
            after(f"/memory {share} {item.id}", origin),
            in_place=True,
        ),
        back(locale, origin),
    ]


KINDS = texts("memories.card.kinds", MemoryKind)
EDIT = text("memories.card.edit")
EDITED = text("memories.card.edited")
SHOW = text("memories.card.show")
SHOW_THINGS = text("files.show")


PAGE_SIZE: Final = 10
_MAX_LISTS: Final = 20
_MAX_NUMBER_CHARS: Final = 6
_MOST_READ: Final = 500
"""Of the newest memories, in which typed letters are looked for."""


@dataclass(frozen=True, slots=True)
class Row:
    """What a number of a list stands for: its id, its line, and the button that chooses it, both without the number."""

    id: str
    line: str
    button: Button


@dataclass(frozen=True, slots=True)
class Page:
    """The page of that number, of so many, or the nearest that there is; `command`, without "/", shows another."""

    command: str
    number: int
    pages: int

    @classmethod
    def of(cls, command: str, number: int, total: int) -> Page:
        """Return the page of a list of `total` rows."""
        pages = max(-(-total // PAGE_SIZE), 1)
        return cls(command, min(max(number, 1), pages), pages)

    @property
    def before(self) -> int:
        """How many rows come before it."""
        return (self.number - 1) * PAGE_SIZE


class ListedMemories:
    """Show lists, and keep for all workers which memory each number stands for, until the next list there.

    `kept` has the lists of one person under one name, for the conversations in which they saw one last. Lists of a
    further `kind` are of other things than memories.
    """

    def __init__(self, kept: KeptStore, kind: str = "memories") -> None:
        self._kept = kept
        self._kind = kind

    async def show_memories(
        self,
        request: Request,
        title: str,
        items: Sequence[MemoryItem],
        *,
        origin: str,
        page: Page | None = None,
        after: str = "",
        choices: Sequence[Button] = (),
    ) -> None:
        """Show memories; `origin` is the command, without "/", that shows them again."""
        zone, locale = request.person.zone, request.locale
        lines = [f"{mark(item)}{memory_line(noted(item, zone, locale))}" for item in items]
        rows = [Row(item.id, line, entry(item, origin)) for item, line in zip(items, lines, strict=True)]
        await self.show(request, title, rows, page=page, after=after, choices=choices)

    async def show(
        self,
        request: Request,
        title: str,
        rows: Sequence[Row],
        *,
        page: Page | None = None,
        after: str = "",
        choices: Sequence[Button] = (),
    ) -> None:
        """Show the rows of a page, numbered through all pages, with buttons for each row and for the pages beside."""
        locale, page = request.locale, page or Page("", 1, 1)
        numbered = dict(enumerate(rows, page.before + 1))
        await self.put(request.incoming.conversation, {number: row.id for number, row in numbered.items()})
        lines = [title, *(f"{number}. {row.line}" for number, row in numbered.items())]
        if page.pages > 1:
            after = LIST.page[locale].format(number=page.number, pages=page.pages, command=page.command)
        turns = [
            Button(label[locale], f"/{page.command} {to}", in_place=True)
            for label, to in ((LIST.previous, page.number - 1), (LIST.next, page.number + 1))
            if 1 <= to <= page.pages
        ]
        menu = [replace(row.button, label=f"{number}. {row.button.label}") for number, row in numbered.items()]
        lines += ["", after] if after else []
        await request.answer.tell("\n".join(lines), choices=[*turns, *choices], menu=menu)

    async def named(self, request: Request, name: str) -> MemoryItem | None:
        """Return the person's memory of that number or id; None if they have none, also for an id of others (T15)."""
        here = request.incoming.conversation
        memory_id = await self.memory_id(here, int(name)) if is_number(name) else name.casefold()
        return next(iter(await request.turn.memory.get([memory_id])), None) if memory_id else None

    async def put(self, conversation: ConversationKey, memory_ids: Mapping[int, str]) -> None:
        """Keep a list that was just shown; the person's oldest lists go first."""
        here = _place(conversation)

        def change(kept: str | None) -> str:
            lists = json.loads(kept or "{}")
            lists.pop(here, None)
            lists[here] = memory_ids
            return json.dumps(dict([*lists.items()][-_MAX_LISTS:]))

        await self._kept.change(self._name(conversation.user), change)

    async def memory_id(self, conversation: ConversationKey, number: int) -> str:
        """Return the id of the memory that has the number in the last list there, or ""."""
        lists = json.loads(await self._kept.get(self._name(conversation.user)) or "{}")
        return str(lists.get(_place(conversation), {}).get(str(number), ""))

    async def forget(self, user: UserKey) -> None:
        """Drop the lists shown to that account."""
        await self._kept.delete(self._name(user))

    def _name(self, user: UserKey) -> str:
        return f"listed:{self._kind}:{user}"


def _place(conversation: ConversationKey) -> str:
    return json.dumps([conversation.chat.chat, conversation.chat.thread])


def is_number(name: str) -> bool:
    """Whether the text can be a number in a list."""
    return name.isascii() and name.isdecimal() and len(name) <= _MAX_NUMBER_CHARS


@dataclass(frozen=True, slots=True)
class MemoryCompletion:
    """Offers the newest memories with the typed letters in them, then what the typed words find; only in private."""

    memories: Memories

    async def __call__(self, request: CompletionRequest) -> Sequence[Suggestion]:
        """Return the memories by their ids."""
        if not request.incoming.private:
            return ()
        memory = self.memories.of(await self.memories.owner(request.incoming.user))
        found = offered(request.typed, map(_choice, await memory.page(limit=_MOST_READ)))
        if request.typed and len(found) < MOST_OFFERED:
            hits = [_choice(hit.item) for hit in await memory.search([request.typed], {}, limit=MOST_OFFERED)]
            found = list({choice.value: choice for choice in (*found, *offered("", hits))}.values())
        return found[:MOST_OFFERED]


def _choice(item: MemoryItem) -> Suggestion:
    return Suggestion(f"{mark(item)}{item.bindings[0]}: {item.content}", item.id)
