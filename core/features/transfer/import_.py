"""/import: read a file of memories and reminders, count them, and save them as one act once the person says yes.

One /undo takes them all back.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from typing import Final

from core.actions.change_report import UNDO, undo_button
from core.commands.command import Command, Request
from core.commands.menu import FILE
from core.confirmations import Confirmations
from core.errors import ChannelError, ChannelGone, FileTooLarge, InputError
from core.features.preferences.commands import NOT_REMEMBERING
from core.features.reminders.reminders import IMPORTED, Reminder, State
from core.features.reminders.service import Refusal, Reminders
from core.features.reminders.telling import as_time, place_of
from core.features.transfer.intake import (
    MAX_BYTES,
    MAX_MEMORIES,
    MAX_UNPACKED_BYTES,
    Intake,
    NothingKnown,
    NotText,
    Taken,
    TooDeep,
    TooLarge,
    TooMany,
    TooNew,
    read,
)
from core.features.transfer.reminder_entries import TakenReminder, same
from core.memory.memories import Memories
from core.memory.user_memory import UserMemory
from core.outgoing import Button
from core.stores import HistoryStore
from core.text.catalogue import counted, forms, text
from core.text.markdown import quoted
from core.types import ConversationKey, Vector

_MEGABYTE: Final = 1_000_000
SHOWN: Final = 5
"""So many memories of a file are shown before it is saved."""

_CANCEL: Final = "no"
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
        return Command("import", text("commands.import"), self._import, in_private=True, fields=(FILE,))

    async def _import(self, request: Request, argument: str) -> None:
        """Say what is in the file that came with the command, or save what was shown before."""
        if not request.person.remembers:
            await request.tell(NOT_REMEMBERING)
        elif request.incoming.file:
            await self._preview(request)
        elif argument.startswith(f"{_CANCEL} "):
            held = await self._confirmations.take(request.incoming, argument[len(_CANCEL) :], Intake)
            await request.tell(CANCELLED if held else NOT_CONFIRMED)
        elif argument:
            await self._confirmed(request, argument)
        else:
            await request.tell(HOW_TO_IMPORT, megabytes=MAX_BYTES // _MEGABYTE)

    async def _preview(self, request: Request) -> None:
        await request.answer.status(READING[request.locale])
        held = await self._read(request)
        if held is None:
            return
        new, old = await self._sorted(request, held.reminders)
        if not held.taken and not new and not old:
            await request.tell(NOTHING_NOTED if held.of_talk else NOTHING_IN_IT)
            return
        locale, known = request.locale, len(await known_of(request.turn.memory, held.taken))
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
        lines += [OF_TALK[locale]] if held.of_talk else []
        lines += [f"- {quoted(each.draft.content)}" for each in held.taken[:SHOWN]]
        lines.append(TO_CONFIRM[locale].format(code=code))
        choices = [
            Button(counted(SAVE, locale, len(held.taken) + total), f"/import {code}", in_place=True),
            Button(CANCEL[locale], f"/import {_CANCEL} {code}", in_place=True),
        ]
        await request.answer.tell("\n".join(lines), choices=choices)

    async def _read(self, request: Request) -> Intake | None:
        """Return what is in the file, or None after saying why it cannot be imported."""
        accounts = await self._memories.accounts(request.incoming.user)
        incoming = request.incoming
        name = next((each.name for each in incoming.attachments if each.name), incoming.file.partition("?")[0])
        try:
            raw = await request.fetch(MAX_BYTES)
            return await asyncio.to_thread(read, BytesIO(raw), accounts, name=name)
        except ChannelGone:
            raise
        except FileTooLarge:
            await request.tell(TOO_LARGE, megabytes=MAX_BYTES // _MEGABYTE)
        except ChannelError:
            await request.tell(NOT_HAD)
        except InputError as error:
            line = getattr(error, "line", 0)
            why = REFUSALS.get(type(error), BAD_LINE if line else BAD_FILE)
            await request.tell(why, line=line, count=MAX_MEMORIES, megabytes=MAX_UNPACKED_BYTES // _MEGABYTE)
        return None

    async def _confirmed(self, request: Request, code: str) -> None:
        held = await self._confirmations.take(request.incoming, code, Intake)
        if held is None:
            await request.tell(NOT_CONFIRMED)
            return
        await request.answer.status(SAVING[request.locale])
        changed = await request.turn.memory.changed()  # before a restart
        saved = {key for key, each in changed.items() if each.before is None}
        known = await known_of(request.turn.memory, held.taken) - saved
        await save(request.turn.memory, held.taken, known)
        mine = {same(each) for each in await self._reminders.done(place_of(request.turn))}
        new, known_ones = await self._sorted(request, held.reminders)
        old = [each for each in known_ones if same(each) not in mine]
        set_now = await self._set(request, new) + len(known_ones) - len(old)
        lines = [counted(SAVED, request.locale, len(held.taken) - len(known))] if held.taken else []
        lines += [counted(KNOWN, request.locale, len(known))] if known else []
        lines += [counted(REMINDERS_SET, request.locale, set_now)] if held.reminders else []
        lines += [counted(REMINDERS_KNOWN, request.locale, len(old))] if old else []
        choices = await undo_button(request.turn)
        if set_now and not choices and self._reminders.undo_within:
            choices = (Button(UNDO[request.locale], f"/undo {request.turn.memory.context.act}", in_place=True),)
        await request.answer.tell("\n".join(lines), choices=choices)

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
        here = replace(place_of(request.turn), private=True, name=incoming.user_name)
        made: list[Reminder] = []
        for each in taken:
            places = [replace(here, locale=each.locale or request.locale)]
            if each.user and each.chat and ConversationKey(each.chat, each.user) in written:
                places.insert(0, replace(places[0], user=each.user, chat=each.chat, private=each.private))
            for place in places:
                time, guessed = as_time(each.schedule), each.schedule.guessed
                state = State.PAUSED if each.paused else State.WAITING
                done = await self._reminders.set(
                    place, each.text, time, guessed=guessed, kind=each.kind, state=state, batch=batch
                )
                made += [done] if isinstance(done, Reminder) else []
                if done is not Refusal.OFF_HERE:
                    break
        return len(made)


async def known_of(memory: UserMemory, taken: Sequence[Taken]) -> set[str]:
    """Return the ids of the person's memories that the file has as well."""
    found = [await memory.store.find(memory.owner, each.draft.kind, each.draft.content) for each in taken]
    return {item.id for item in found if item is not None}


async def save(memory: UserMemory, taken: Sequence[Taken], known: Collection[str]) -> None:
    """Save what the file has; a memory that is known already may be told where it could before, and nowhere else."""
    drafts = [each.draft for each in taken]
    vectors: Mapping[str, Vector] = {}
    if len(drafts) <= _EMBEDDED_AT_ONCE:
        vectors = await memory.embed([phrase for draft in drafts for phrase in memory.phrases_of(draft)])
    items = await memory.add(drafts, vectors)
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
CANCEL = text("transfer.import.cancel")
CANCELLED = text("transfer.import.cancelled")
OF_TALK = text("transfer.import.of_talk")
NOTHING_NOTED = text("transfer.import.nothing_noted")
NOTHING_IN_IT = text("transfer.import.nothing_in_it")
TOO_LARGE = text("transfer.import.too_large")
NOT_HAD = text("transfer.import.not_had")
BAD_FILE = text("transfer.import.bad_file")
BAD_LINE = text("transfer.import.bad_line")
REFUSALS: Final = {
    NotText: text("transfer.import.not_text"),
    TooDeep: text("transfer.import.too_deep"),
    NothingKnown: text("transfer.import.nothing_known"),
    TooNew: text("transfer.import.too_new"),
    TooMany: text("transfer.import.too_many"),
    TooLarge: text("transfer.import.too_much_inside"),
}
"""Why a file is refused, by the type of the error; BAD_FILE or BAD_LINE otherwise."""

REMINDERS_IN_IT = forms("transfer.import.reminders_in_it")
REMINDERS_KNOWN = forms("transfer.import.reminders_known")
REMINDERS_LEFT = forms("transfer.import.reminders_left")
REMINDERS_SET = forms("transfer.import.reminders_set")
