"""/import: read a file of memories and reminders, count them, and save them as one act once the person says yes.

One /undo takes them all back.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from typing import BinaryIO, Final

from core.actions.proposal import UNDO, undo_button
from core.commands.command import ON_DATA, Command, Request
from core.commands.menu import FILE
from core.enclosures import Attachment
from core.errors import ChannelError, ChannelGone, FileQuotaExceeded, FileTooLarge
from core.features.admin.decide import NEVER
from core.features.admin.storage import Matter
from core.features.feature import Contribution, Shared
from core.features.transfer.entries import Taken
from core.features.transfer.export import EXPORT, ExportCommands, Takeout
from core.features.transfer.foreign import files_inside
from core.features.transfer.intake import (
    MAX_ARCHIVE_BYTES,
    MAX_BYTES,
    MEGABYTE,
    TOO_LARGE,
    Intake,
    Refused,
    is_archive,
    read,
)
from core.memory.user_memory import UserMemory
from core.outgoing import Button
from core.text.catalogue import Counted, Plurals, Sentences, counted, text
from core.text.markdown import quoted
from core.types import MemoryDraft

IMPORT = Sentences("transfer.import")
IMPORT_PLURALS = Plurals("transfer.import")

SHOWN: Final = 5
"""So many memories of a file are shown before it is saved."""

_CANCEL: Final = "no"
_EMBEDDED_AT_ONCE: Final = 50
"""Up to so many memories get vectors before they are saved; those of a larger file are found by words until then."""


class ImportCommand:
    """Offer /import."""

    def __init__(self, shared: Shared) -> None:
        self._memories = shared.memories
        self._sections = shared.added.sections

    @property
    def command(self) -> Command:
        """The command."""
        return Command(
            "import", text("commands.import"), self._import, in_private=True, fields=(FILE,), topics=(ON_DATA,)
        )

    async def _import(self, request: Request, argument: str) -> None:
        """Say what is in the file that came with the command, or save what was shown before."""
        if why := request.person.why_not_remembering:
            await request.tell(why)
        elif (file := request.file) is not None:
            await self._preview(request, file)
        elif argument.startswith(f"{_CANCEL} "):
            if await request.confirmed(argument[len(_CANCEL) :], Intake, over=NOT_CONFIRMED):
                await request.tell(IMPORT.cancelled)
        elif argument:
            await self._confirmed(request, argument)
        else:
            megabytes, archive = MAX_BYTES // MEGABYTE, MAX_ARCHIVE_BYTES // MEGABYTE
            await request.tell(IMPORT.how_to_import, megabytes=megabytes, archive=archive)

    async def _preview(self, request: Request, file: Attachment) -> None:
        await request.answer.status(IMPORT.reading[request.locale])
        held = await self._read(request, file)
        if held is None:
            return
        locale, total, besides = request.locale, 0, list[tuple[Counted, int]]()
        for section in self._sections:
            told, count = await section.preview(
                request, held.besides.get(section.name, []), held.unread.get(section.name, 0)
            )
            besides += told
            total += count
        if not held.taken and not total:
            await request.tell(IMPORT.nothing_noted if held.of_talk else IMPORT.nothing_in_it)
            return
        counts = (
            (IMPORT_PLURALS.in_it, len(held.taken)),
            (IMPORT_PLURALS.known, len(await known_of(request.turn.memory, held.taken))),
            (IMPORT_PLURALS.refused, held.refused),
            (IMPORT_PLURALS.heard, sum(bool(each.shared or each.rooms) for each in held.taken)),
            (IMPORT_PLURALS.files, held.files),
            (IMPORT_PLURALS.unkept, held.unkept),
            *besides,
        )
        code = await request.ask(held)
        lines = [counted(told, locale, count) for told, count in counts if count]
        lines += [f"- {quoted(each.draft.content)}" for each in held.taken[:SHOWN]]
        lines += [IMPORT.of_talk[locale]] if held.of_talk else []
        lines.append(IMPORT.to_confirm[locale].format(code=code))
        choices = [
            Button(counted(IMPORT_PLURALS.save, locale, len(held.taken) + total), f"/import {code}", in_place=True),
            Button(IMPORT.cancel[locale], f"/import {_CANCEL} {code}", in_place=True),
        ]
        await request.answer.tell("\n".join(lines), choices=choices)

    async def _read(self, request: Request, file: Attachment) -> Intake | None:
        """Return what is in the file, or None after saying why it cannot be imported."""
        accounts = await self._memories.accounts(request.incoming.user)
        try:
            raw = await request.fetch(file, MAX_ARCHIVE_BYTES)
            held = await asyncio.to_thread(read, BytesIO(raw), accounts, self._sections, name=file.name)
            return await with_files(request.turn.memory, held, BytesIO(raw))
        except ChannelGone:
            raise
        except FileTooLarge:
            await request.answer.tell(Refused(TOO_LARGE, max_bytes=MAX_ARCHIVE_BYTES).told[request.locale])
        except ChannelError:
            await request.tell(IMPORT.not_had)
        except Refused as error:
            await request.answer.tell(error.told[request.locale])
        return None

    async def _confirmed(self, request: Request, code: str) -> None:
        held = await request.confirmed(code, Intake, over=NOT_CONFIRMED)
        if held is None:
            return
        await request.answer.status(IMPORT.saving[request.locale])
        changed = await request.turn.memory.changed()  # before a restart
        saved = {key for key, each in changed.items() if each.before is None}
        known = await known_of(request.turn.memory, held.taken) - saved
        await save(request.turn.memory, held.taken, known)
        besides, can_undo = list[tuple[Counted, int]](), False
        for section in self._sections:
            told, is_undoable = await section.save(request, held.besides.get(section.name, []))
            besides += told
            can_undo = can_undo or is_undoable
        counts = (
            (IMPORT_PLURALS.saved, len(held.taken) - len(known), bool(held.taken)),
            (IMPORT_PLURALS.known, len(known), bool(known)),
            *((told, count, True) for told, count in besides),
        )
        lines = [counted(told, request.locale, count) for told, count, is_told in counts if is_told]
        choices = await undo_button(request.turn)
        if can_undo and not choices:
            choices = (Button(UNDO[request.locale], f"/undo {request.turn.memory.context.act}", in_place=True),)
        await request.answer.tell("\n".join(lines), choices=choices)


async def known_of(memory: UserMemory, taken: Sequence[Taken]) -> set[str]:
    """Return the ids of the person's memories that the file has as well."""
    drafts = [each.draft for each in taken]
    find = memory.store.find
    found = [await find(memory.owner, each.kind, each.content, attachments=each.attachments) for each in drafts]
    return {item.id for item in found if item is not None}


async def save(memory: UserMemory, taken: Sequence[Taken], known: Collection[str]) -> None:
    """Save what the file has; a memory that is known already may be told where it could before, and nowhere else."""
    drafts = [each.draft for each in taken]
    items = await memory.add(drafts, None if len(drafts) <= _EMBEDDED_AT_ONCE else {})
    said_in: defaultdict[str, list[str]] = defaultdict(list)
    for each, item in zip(taken, items, strict=True):
        shared = item.shared if item.id in known else each.shared
        if (each.pinned or item.pinned, shared) != (item.pinned, item.shared):
            await memory.flag(item.id, pinned=each.pinned or item.pinned, shared=shared)
        for room in each.rooms if item.id not in known else ():
            said_in[room].append(item.id)
    for room, memory_ids in said_in.items():
        await memory.store.flag(memory.owner, memory_ids, room=room)


async def with_files(memory: UserMemory, held: Intake, file: BinaryIO) -> Intake:
    """Keep the files that memories of an archive name, and return these without the things whose bytes are not had.

    They are kept before anybody says yes; what nobody does is swept.
    """
    files, owner = memory.files, memory.owner
    wanted = {thing.sha256 for each in held.taken for thing in each.draft.attachments if thing.sha256}
    had = set(wanted & await files.digests(owner)) if wanted else set()
    room = max(files.quota - await files.used(owner), 0)
    inside = files_inside(file, wanted - had, room) if is_archive(file) else iter(())
    with suppress(FileQuotaExceeded):  # others of theirs came meanwhile
        while (found := await asyncio.to_thread(next, inside, None)) is not None:
            had.add(await files.put(owner, found[1]))
    taken = [replace(each, draft=_kept(each.draft, had)) for each in held.taken]
    there, left = (sum(len(each.draft.attachments) for each in some) for some in (held.taken, taken))
    return replace(held, taken=tuple(taken), files=len(had), unkept=there - left)


def _kept(draft: MemoryDraft, had: Collection[str]) -> MemoryDraft:
    """Return a draft with those of its things whose bytes are had, or that have none."""
    things = tuple(thing for thing in draft.attachments if not thing.sha256 or thing.sha256 in had)
    return replace(draft, attachments=things, passages=draft.passages if things else ())


NOT_CONFIRMED = text("transfer.import.not_confirmed")


def build(shared: Shared) -> Contribution:
    """Contribute /export, /import, and the verbs export and backup."""
    takeout = Takeout(shared)
    export, taking = ExportCommands(shared, takeout), ImportCommand(shared)
    about = text("admin.decide.about.export")
    return Contribution(
        commands=(export.command, taking.command),
        verbs=export.verbs,
        matters=(Matter(EXPORT, about, {"": NEVER}, for_owners=True, of_people=True, is_deed=True),),
        offers=(takeout,),
    )
