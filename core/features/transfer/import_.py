"""/import: save the memories of a file.

They are counted first, and saved as one act once the person says yes: one /undo takes them all back.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from core.actions.change_report import undo_button
from core.commands.command import Command, Request
from core.confirmations import Confirmations
from core.errors import ChannelError, ChannelGone, FileTooLarge
from core.features.preferences.commands import NOT_REMEMBERING
from core.features.transfer import parsing
from core.features.transfer.parsing import Intake, Taken
from core.memory.memories import Memories
from core.outgoing import Button
from core.text.catalogue import forms, text
from core.text.plural import counted
from core.types import Vector

_MEGABYTE: Final = 1_000_000
_EMBEDDED_AT_ONCE: Final = 50
"""Up to so many memories get vectors before they are saved; those of a larger file are found by words until then."""


class ImportCommand:
    """Offer /import."""

    def __init__(self, memories: Memories, confirmations: Confirmations) -> None:
        self._memories = memories
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
            await request.tell(HOW_TO_IMPORT, megabytes=parsing.MAX_BYTES // _MEGABYTE)

    async def _preview(self, request: Request) -> None:
        await request.turn.status(READING[request.locale])
        held = await self._read(request)
        if held is None:
            return
        if not held.taken:
            await request.tell(NOTHING_IN_IT)
            return
        locale, known = request.locale, len(await _known(request, held.taken))
        heard = sum(bool(each.shared or each.rooms) for each in held.taken)
        code = await self._confirmations.ask(request.incoming.conversation, held)
        lines = [counted(IN_IT, locale, len(held.taken))]
        lines += [counted(KNOWN, locale, known)] if known else []
        lines += [counted(REFUSED, locale, held.refused)] if held.refused else []
        lines += [counted(HEARD, locale, heard)] if heard else []
        lines.append(TO_CONFIRM[locale].format(code=code))
        confirm = Button(counted(SAVE, locale, len(held.taken)), f"/import {code}", in_place=True)
        await request.turn.tell("\n".join(lines), choices=[confirm])

    async def _read(self, request: Request) -> Intake | None:
        """Return what is in the file, or None after saying why it cannot be imported."""
        accounts = await self._memories.accounts(request.incoming.user)
        try:
            raw = await request.fetch(parsing.MAX_BYTES)
            return await asyncio.to_thread(parsing.read, raw, accounts)
        except ChannelGone:
            raise
        except FileTooLarge:
            await request.tell(TOO_LARGE, megabytes=parsing.MAX_BYTES // _MEGABYTE)
        except ChannelError:
            await request.tell(NOT_HAD)
        except parsing.NotText:
            await request.tell(NOT_TEXT)
        except parsing.TooDeep:
            await request.tell(TOO_DEEP)
        except parsing.TooNew:
            await request.tell(TOO_NEW)
        except parsing.TooMany:
            await request.tell(TOO_MANY, count=parsing.MAX_MEMORIES)
        except parsing.NotReadable as error:
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
        lines = [counted(SAVED, request.locale, len(held.taken) - len(known))]
        lines += [counted(KNOWN, request.locale, len(known))] if known else []
        await request.turn.tell("\n".join(lines), choices=await undo_button(request.turn))


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
