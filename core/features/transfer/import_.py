"""/import: read a file of memories and reminders, count them, and save them as one act once the person says yes.

One /undo takes them all back.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from core.actions.change_report import UNDO, undo_button
from core.actions.memory_drafts import MAX_BINDING_CHARS, MAX_CONTENT_CHARS, to_bindings, to_kind
from core.commands.command import Command, Request
from core.confirmations import Confirmations
from core.errors import ChannelError, ChannelGone, FileTooLarge, InputError
from core.features.preferences.commands import NOT_REMEMBERING
from core.features.reminders.reminders import IMPORTED, Reminder, State
from core.features.reminders.service import Place, Refusal, Reminders
from core.features.reminders.telling import as_time
from core.features.transfer.export import FORMAT, VERSION
from core.features.transfer.reminder_entries import TakenReminder, from_entry, same
from core.memory.memories import Memories
from core.outgoing import Button
from core.stores import HistoryStore
from core.text.catalogue import counted, forms, text
from core.text.unicode import clean, fold, one_line
from core.types import ConversationKey, MemoryDraft, MemoryKind, UserKey, Vector

MAX_BYTES: Final = 5_000_000
MAX_MEMORIES: Final = 20_000
MAX_ROOMS: Final = 50
MAX_DEPTH: Final = 64
_CONTENTS: Final = ("content", "memory", "text")


class NotReadable(InputError):
    """The file has none of these forms; `line` is the first wrong one, 0 for the file as a whole."""

    def __init__(self, line: int = 0) -> None:
        super().__init__(f"line {line} cannot be read" if line else "the file cannot be read")
        self.line = line


class NotText(NotReadable):
    """The file is not UTF-8."""


class TooDeep(NotReadable):
    """The JSON is nested deeper than MAX_DEPTH."""


class TooNew(InputError):
    """The file was exported by a newer version of this program."""


class TooMany(InputError):
    """The file has more memories and reminders than MAX_MEMORIES."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A memory of the file; `shared` and `rooms` are what the file says only in a person's own export."""

    draft: MemoryDraft
    pinned: bool = False
    shared: bool = False
    rooms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Intake:
    """The memories of a file, each once; `refused` counts the entries that cannot be saved.

    `reminders` are those that were still to come, each once, if the file is an export; `unset` counts the others.
    """

    taken: tuple[Taken, ...]
    refused: int = 0
    reminders: tuple[TakenReminder, ...] = ()
    unset: int = 0


def read(raw: bytes, accounts: Collection[UserKey]) -> Intake:
    """Return what is in a file, for the person with those accounts.

    The rooms of a memory and of a reminder, and whether a memory is shared, are taken from the person's own export
    only: in somebody else's export these are another person's rooms and another person's choice.

    Raises:
        NotReadable, TooNew, TooMany: nothing of it can be imported.
    """
    try:
        document = _parsed(raw)
    except RecursionError as error:
        raise TooDeep from error
    if _is_too_deep(document):
        raise TooDeep
    entries, own = document, False
    timed: list[Any] = []
    if isinstance(document, dict):
        if document.get("format") == FORMAT:
            if not isinstance(document.get("version"), int) or document["version"] > VERSION:
                raise TooNew("it has a newer form")
            own = document.get("user") in [str(account) for account in accounts]  # it may be of any type
            if isinstance(document.get("reminders"), list):  # there were none before
                timed = document["reminders"]
        entries = document.get("memories")
    if not isinstance(entries, list):
        raise NotReadable
    if len(entries) + len(timed) > MAX_MEMORIES:
        raise TooMany("it holds too many")
    read_entries = [_entry(entry, own=own) for entry in entries]
    taken = [each for each in read_entries if each is not None]
    reminders = [from_entry(entry, accounts if own else ()) for entry in timed]
    coming = [each for each in reminders if each is not None]
    distinct = {same(each): each for each in coming}.values()
    return Intake(_distinct(taken), len(entries) - len(taken), tuple(distinct), len(timed) - len(coming))


def _parsed(raw: bytes) -> Any:
    """Return the one JSON document, or the list of documents of a file with one a line."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotText from error
    try:
        return json.loads(text)
    except ValueError as error:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        if len(lines) < 2 or not lines[0][1].rstrip().endswith(("}", '"')):  # noqa: PLR2004 - it was meant as one
            raise NotReadable(getattr(error, "lineno", 0)) from error
        return [_line(number, line) for number, line in lines]


def _is_too_deep(document: Any) -> bool:
    """Whether the document has more levels than MAX_DEPTH; recursion over it could fail later."""
    level = [document]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return bool(level)


def _line(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise NotReadable(number) from error


def _entry(entry: Any, *, own: bool) -> Taken | None:
    """Return one memory, or None if the entry cannot be saved."""
    if isinstance(entry, str):
        entry = {"content": entry}
    if not isinstance(entry, Mapping):
        return None
    said = next((entry[name] for name in _CONTENTS if entry.get(name)), "")
    structured = isinstance(said, dict | list)
    content = clean(json.dumps(said, ensure_ascii=False) if structured else str(said))
    kind = to_kind("json" if structured else str(entry.get("type")), content)
    bindings = _bindings(entry.get("bindings"), content)
    if not content or not bindings or len(content) > MAX_CONTENT_CHARS:
        return None
    draft = MemoryDraft(kind, content, bindings)
    rooms = _texts(entry.get("rooms"))[:MAX_ROOMS] if own else ()
    return Taken(draft, entry.get("pinned") is True, own and entry.get("shared") is True, rooms)


def _bindings(given: Any, content: str) -> tuple[str, ...]:
    """Return the given phrases; without any, the beginning of the content."""
    return to_bindings(_texts(given)) or to_bindings([one_line(content, MAX_BINDING_CHARS)])


def _texts(given: Any) -> tuple[str, ...]:
    return tuple(each for each in given if isinstance(each, str)) if isinstance(given, list) else ()


def _distinct(taken: Iterable[Taken]) -> tuple[Taken, ...]:
    """Return each memory once; of two that are equal, the phrases of both, and only the rooms that both have."""
    found: dict[tuple[MemoryKind, str], Taken] = {}
    for each in taken:
        key = (each.draft.kind, fold(each.draft.content))  # as a memory compares them
        found[key] = _both(found[key], each) if key in found else each
    return tuple(found.values())


def _both(one: Taken, other: Taken) -> Taken:
    bindings = to_bindings((*one.draft.bindings, *other.draft.bindings))
    draft = MemoryDraft(one.draft.kind, one.draft.content, bindings)
    rooms = tuple(room for room in one.rooms if room in other.rooms)
    return Taken(draft, one.pinned or other.pinned, one.shared and other.shared, rooms)


_MEGABYTE: Final = 1_000_000
_EMBEDDED_AT_ONCE: Final = 50
"""Up to so many memories get vectors before they are saved; those of a larger file are found by words until then."""


class ImportCommand:
    """Offer /import."""

    def __init__(
        self, memories: Memories, history: HistoryStore, reminders: Reminders, confirmations: Confirmations
    ) -> None:
        self._memories = memories
        self._history = history
        self._reminders = reminders
        self._confirmations = confirmations

    @property
    def command(self) -> Command:
        """The command."""
        return Command("import", text("commands.import"), self._import, in_private=True, takes_file=True)

    async def _import(self, request: Request, argument: str) -> None:
        """Say what is in the file that came with the command, or save what was shown before."""
        if not request.turn.remembers:
            await request.tell(NOT_REMEMBERING)
        elif request.incoming.file:
            await self._preview(request)
        elif argument:
            await self._confirmed(request, argument)
        else:
            await request.tell(HOW_TO_IMPORT, megabytes=MAX_BYTES // _MEGABYTE)

    async def _preview(self, request: Request) -> None:
        await request.turn.status(READING[request.locale])
        held = await self._read(request)
        if held is None:
            return
        new, old = await self._sorted(request, held.reminders)
        if not held.taken and not new and not old:
            await request.tell(NOTHING_IN_IT)
            return
        locale, known = request.locale, len(await _known(request, held.taken))
        heard = sum(bool(each.shared or each.rooms) for each in held.taken)
        total, unset = len(new) + len(old), held.unset + len(held.reminders) - len(new) - len(old)
        held = replace(held, reminders=(*new, *old))
        code = await self._confirmations.ask(request.incoming.conversation, held)
        lines = [counted(IN_IT, locale, len(held.taken))] if held.taken else []
        lines += [counted(KNOWN, locale, known)] if known else []
        lines += [counted(REFUSED, locale, held.refused)] if held.refused else []
        lines += [counted(HEARD, locale, heard)] if heard else []
        lines += [counted(REMINDERS_IN_IT, locale, total)] if total else []
        lines += [counted(REMINDERS_KNOWN, locale, len(old))] if old else []
        lines += [counted(REMINDERS_LEFT, locale, unset)] if unset else []
        lines.append(TO_CONFIRM[locale].format(code=code))
        confirm = Button(counted(SAVE, locale, len(held.taken) + total), f"/import {code}", in_place=True)
        await request.turn.tell("\n".join(lines), choices=[confirm])

    async def _read(self, request: Request) -> Intake | None:
        """Return what is in the file, or None after saying why it cannot be imported."""
        accounts = await self._memories.accounts(request.incoming.user)
        try:
            raw = await request.fetch(MAX_BYTES)
            return await asyncio.to_thread(read, raw, accounts)
        except ChannelGone:
            raise
        except FileTooLarge:
            await request.tell(TOO_LARGE, megabytes=MAX_BYTES // _MEGABYTE)
        except ChannelError:
            await request.tell(NOT_HAD)
        except NotText:
            await request.tell(NOT_TEXT)
        except TooDeep:
            await request.tell(TOO_DEEP)
        except TooNew:
            await request.tell(TOO_NEW)
        except TooMany:
            await request.tell(TOO_MANY, count=MAX_MEMORIES)
        except NotReadable as error:
            await request.tell(BAD_LINE if error.line else BAD_FILE, line=error.line)
        return None

    async def _confirmed(self, request: Request, code: str) -> None:
        held = await self._confirmations.take(request.incoming.conversation, code, Intake)
        if held is None:
            await request.tell(NOT_CONFIRMED)
            return
        await request.turn.status(SAVING[request.locale])
        known = await _known(request, held.taken)
        await _save(request, held.taken, known)
        new, old = await self._sorted(request, held.reminders)
        set_now = await self._set(request, new)
        lines = [counted(SAVED, request.locale, len(held.taken) - len(known))] if held.taken else []
        lines += [counted(KNOWN, request.locale, len(known))] if known else []
        lines += [counted(REMINDERS_SET, request.locale, set_now)] if held.reminders else []
        lines += [counted(REMINDERS_KNOWN, request.locale, len(old))] if old else []
        choices = await undo_button(request.turn)
        if set_now and not choices and self._reminders.undo_within:
            choices = (Button(UNDO[request.locale], f"/undo {request.turn.memory.context.act}", in_place=True),)
        await request.turn.tell("\n".join(lines), choices=choices)

    async def _sorted(
        self, request: Request, taken: Sequence[TakenReminder]
    ) -> tuple[Sequence[TakenReminder], Sequence[TakenReminder]]:
        """Return those of the reminders that can be set, and those that the person has already."""
        reminders = self._reminders
        mine = await reminders.store.of(await self._memories.accounts(request.incoming.user))
        known = {same(each) for each in mine}
        possible = [
            each for each in taken if same(each) not in known and reminders.refusal(as_time(each.schedule)) is None
        ]
        return possible[: max(reminders.limits.most - len(mine), 0)], [each for each in taken if same(each) in known]

    async def _set(self, request: Request, taken: Sequence[TakenReminder]) -> int:
        """Set the reminders in the chats where the person has written, the others here; return how many were set."""
        incoming, batch = request.incoming, f"{IMPORTED}{request.turn.memory.context.act}"
        accounts = await self._memories.accounts(incoming.user) if taken else ()
        threads = [thread for account in accounts for thread in await self._history.threads(account)]
        written = {thread.conversation for thread in threads}
        here = Place(incoming.user, incoming.chat, private=True, locale=request.locale, name=incoming.user_name)
        made: list[Reminder] = []
        for each in taken:
            places = [replace(here, locale=each.locale or request.locale)]
            if each.user and each.chat and ConversationKey(each.chat, each.user) in written:
                places.insert(0, replace(places[0], user=each.user, chat=each.chat, private=each.private))
            for place in places:
                time, guessed = as_time(each.schedule), each.schedule.guessed
                done = await self._reminders.set(place, each.text, time, guessed=guessed, kind=each.kind)
                if isinstance(done, Reminder):
                    state = State.PAUSED if each.paused else done.state
                    await self._reminders.store.replace(done, replace(done, state=state, batch=batch))
                    made.append(done)
                if done is not Refusal.OFF_HERE:
                    break
        return len(made)


async def _known(request: Request, taken: Sequence[Taken]) -> set[str]:
    """Return the ids of the person's memories that the file has as well."""
    memory = request.turn.memory
    found = [await memory.store.find(memory.owner, each.draft.kind, each.draft.content) for each in taken]
    return {item.id for item in found if item is not None}


async def _save(request: Request, taken: Sequence[Taken], known: Collection[str]) -> None:
    """Save what the file has; a memory that is known already may be told where it could before, and nowhere else."""
    memory = request.turn.memory
    drafts = [each.draft for each in taken]
    vectors: Mapping[str, Vector] = {}
    if len(drafts) <= _EMBEDDED_AT_ONCE:
        vectors = await memory.embed([phrase for draft in drafts for phrase in memory.phrases_of(draft)])
    items = await memory.save(drafts, vectors)
    said_in: defaultdict[str, list[str]] = defaultdict(list)
    for each, item in zip(taken, items, strict=True):
        shared = item.shared if item.id in known else each.shared
        if (each.pinned or item.pinned, shared) != (item.pinned, item.shared):
            await memory.flag(item.id, pinned=each.pinned or item.pinned, shared=shared)
        for room in each.rooms if item.id not in known else ():
            said_in[room].append(item.id)
    for room, memory_ids in said_in.items():
        await memory.store.flag(memory.owner, memory_ids, room=room)


READING = text("transfer.import.reading")
SAVING = text("transfer.import.saving")
HOW_TO_IMPORT = text("transfer.import.how_to_import")
IN_IT = forms("transfer.import.in_it")
KNOWN = forms("transfer.import.known")
REFUSED = forms("transfer.import.refused")
HEARD = forms("transfer.import.heard")
SAVE = forms("transfer.import.save")
TO_CONFIRM = text("transfer.import.to_confirm")
SAVED = forms("transfer.import.saved")
NOT_CONFIRMED = text("transfer.import.not_confirmed")
NOTHING_IN_IT = text("transfer.import.nothing_in_it")
TOO_LARGE = text("transfer.import.too_large")
TOO_MANY = text("transfer.import.too_many")
TOO_NEW = text("transfer.import.too_new")
NOT_HAD = text("transfer.import.not_had")
NOT_TEXT = text("transfer.import.not_text")
TOO_DEEP = text("transfer.import.too_deep")
BAD_FILE = text("transfer.import.bad_file")
BAD_LINE = text("transfer.import.bad_line")
REMINDERS_IN_IT = forms("transfer.import.reminders_in_it")
REMINDERS_KNOWN = forms("transfer.import.reminders_known")
REMINDERS_LEFT = forms("transfer.import.reminders_left")
REMINDERS_SET = forms("transfer.import.reminders_set")
