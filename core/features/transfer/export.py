"""/export, /admin export and /admin backup: hand over all that is kept of a person, and copy the whole database."""

from __future__ import annotations

import asyncio
import json
import mimetypes
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, BinaryIO, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from core.commands.command import ON_DATA, Command, Request
from core.enclosures import Attachment
from core.errors import ChannelError, ChannelGone, StorageError
from core.features.admin.admin import Verb
from core.features.feature import Shared
from core.features.ledger.calls import SpendingScope
from core.features.transfer.entries import (
    Entry,
    from_change,
    from_memory,
    from_message,
    from_thread,
    from_usage,
    plain,
)
from core.features.transfer.files import private_file
from core.features.transfer.foreign import FOLDER
from core.memory.user_memory import UserMemory
from core.outgoing import File, OutgoingMessage
from core.text.catalogue import Plurals, Sentences, counted, text
from core.types import Change, Role, Thread, UserKey

ADMIN = Sentences("transfer.admin")
TRANSFER_EXPORT = Sentences("transfer.export")
EXPORT_PLURALS = Plurals("transfer.export")

FORMAT: Final = "elefante-export"
VERSION: Final = 1
MEDIA_TYPE: Final = "application/json"
CALENDAR_TYPE: Final = "text/calendar"
EXPORT: Final = "export"
"""The kind of decision that records when an owner took out all that is kept of a person (PLATFORM:ID)."""

CALENDAR_SUFFIX: Final = ".ics"
ARCHIVE_SUFFIX: Final = ".zip"
INSIDE: Final = "memories.json"
"""What the JSON document is called inside an archive."""

_PAGE: Final = 200
_MAX_CHANGES: Final = 1000
_MAX_ID_CHARS: Final = 40
_EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Tally:
    """How much was written, and into which file."""

    path: Path = Path()
    files: int = 0
    memories: int = 0
    threads: int = 0
    messages: int = 0
    besides: dict[str, int] = field(default_factory=dict)
    """By the name of a section."""

    things: dict[str, Attachment] = field(default_factory=dict)
    """What memories keep, by its digest."""


def file_name(user: UserKey, at: datetime) -> str:
    """Return the name of the file of that person, made then."""
    name = "".join(char if char.isalnum() and char.isascii() else "-" for char in str(user))[:_MAX_ID_CHARS]
    return f"elefante-{name}-{at.astimezone(UTC):%Y%m%d-%H%M%S}.json"


def name_inside(sha256: str, thing: Attachment | None) -> str:
    """Return the name of a file inside an archive: its digest, and for people the name that it came with."""
    name = thing.name if thing is not None else ""
    kept = "".join("-" if char in '/\\:*?"<>|' or not char.isprintable() else char for char in name).strip(". ")
    if "." not in kept:
        kind = kept or (thing.kind.value.replace(" ", "-") if thing is not None else "file")
        kept = f"{kind}{mimetypes.guess_extension(thing.media_type if thing is not None else '') or ''}"
    return f"{FOLDER}/{sha256}/{kept}"


class Takeout:
    """Write all that is kept of a person, on all their accounts."""

    def __init__(self, shared: Shared) -> None:
        self._memories = shared.memories
        self._history = shared.stores.history
        self._sections = shared.added.sections
        self._access = shared.access
        self._preferences = shared.stores.preferences
        self._ledger = shared.stores.quotas.ledger
        self._clock = shared.clock

    async def write(self, user: UserKey, path: Path) -> Tally:
        """Write the file, readable by its owner only, and return how much is in it.

        Where anything is kept beside words it is a ZIP archive, with .zip in place of .json, of memories.json and of
        each file under `files/DIGEST/NAME`.

        Raises:
            FileExistsError: there is a file of that name.
            StorageError: it cannot be written, or what is kept cannot be read.
        """
        files, owner = self._memories.files, await self._memories.owner(user)
        digests = sorted(await files.digests(owner))
        tally = Tally(path.with_suffix(ARCHIVE_SUFFIX) if digests else path)
        with _written(tally.path) as file:
            if not digests:
                await self._write_json(user, tally, file)
                return tally
            with ZipFile(file, "w", ZIP_DEFLATED) as archive:
                with archive.open(INSIDE, "w", force_zip64=True) as entry:
                    await self._write_json(user, tally, entry)
                for sha256 in digests:
                    if (content := await files.get(owner, sha256)) is not None:
                        name = name_inside(sha256, tally.things.get(sha256))
                        await asyncio.to_thread(archive.writestr, name, content, ZIP_STORED)
                        tally.files += 1
        return tally

    async def _write_json(self, user: UserKey, tally: Tally, file: IO[bytes]) -> None:
        async for piece in self.pieces(user, tally):
            file.write(piece.encode("utf-8", "backslashreplace"))  # a lone surrogate, as JSON escapes it

    async def write_calendar(self, user: UserKey, path: Path) -> int:
        """Write what is to come for a calendar (RFC 5545); return how many events, writing nothing if there are none.

        Raises:
            FileExistsError: there is a file of that name.
            StorageError: it cannot be written, or what is kept cannot be read.
        """
        accounts = await self._memories.accounts(user)
        for section in self._sections:
            content, events = await section.calendar(accounts)
            if events:
                with _written(path) as file:
                    file.write(content)
                return events
        return 0

    async def pieces(self, user: UserKey, tally: Tally) -> AsyncIterator[str]:
        """Yield the JSON text of the file, and count in `tally` what was yielded."""
        accounts = await self._memories.accounts(user)
        memory = self._memories.of(accounts[0])
        head = {"format": FORMAT, "version": VERSION, "exported_at": self._clock.now(), "user": user}
        yield _json(head)[:-1]
        yield ',\n"accounts":' + _json([await self._account(account) for account in accounts])
        yield ',\n"memories":'
        async for piece in _array(_memories(memory, tally)):
            yield piece
        yield ',\n"deleted":' + _json([from_change(each) for each in await _deleted(memory)])
        for section in self._sections:
            entries = await section.entries(accounts)
            tally.besides[section.name] = len(entries)
            yield f',\n"{section.name}":' + _json(entries)
        yield ',\n"usage":' + _json(await self._usage(accounts))
        yield ',\n"threads":['
        async for piece in self._threads(accounts, tally):
            yield piece
        yield "]}\n"

    async def _account(self, user: UserKey) -> Entry:
        role, chosen = await self._access.role(user), await self._preferences.of(user)
        person, account = await self._access.people.find(user), await self._access.people.account(user)
        return {
            "user": user,
            "handle": account.handle if account else "",
            "role": role,
            "name": person.name if person else "",
            "since": person.since if person else None,
            "tag": account.language if account else "",
            "language": chosen.language or None,
            "remembers": chosen.remembers,
            "learn": chosen.learn,
            "news": chosen.news,
            "zone": chosen.zone or None,
            "shows_steps": chosen.shows_steps,
        }

    async def _usage(self, accounts: Sequence[UserKey]) -> Sequence[Entry]:
        """Return what was asked of models for the person, by account, day and model."""
        by = ("user", "day", "model")
        sums = [await self._ledger.sums(_EVER, by, SpendingScope(user)) for user in accounts]
        return [from_usage(each) for of_account in sums for each in of_account]

    async def _threads(self, accounts: Sequence[UserKey], tally: Tally) -> AsyncIterator[str]:
        for account in accounts:
            for thread in await self._history.threads(account):
                head = from_thread(thread, await self._history.summaries(thread.id))
                yield (",\n" if tally.threads else "\n") + _json(head)[:-1] + ',"messages":'
                tally.threads += 1
                async for piece in _array(self._messages(thread, tally)):
                    yield piece
                yield "}"

    async def _messages(self, thread: Thread, tally: Tally) -> AsyncIterator[Entry]:
        after = 0
        while page := await self._history.since(thread.id, after, _PAGE):
            for message in page:
                yield from_message(message)
            tally.messages += len(page)
            after = page[-1].sequence


@contextmanager
def _written(path: Path) -> Iterator[BinaryIO]:
    """Open a new file of its owner's; raise StorageError if it cannot be written, FileExistsError if it is there."""
    try:
        with os.fdopen(private_file(path), "wb") as file:
            yield file
    except FileExistsError:
        raise
    except OSError as error:
        raise StorageError(f"the file cannot be written: {error.strerror}") from error


async def _memories(memory: UserMemory, tally: Tally) -> AsyncIterator[Entry]:
    last = ""
    while page := await memory.page(limit=_PAGE, before=last):
        for item in page:
            tally.things |= {each.sha256: each for each in item.attachments if each.sha256}
            passages = await memory.passages(item.id) if item.attachments else ()
            versions = [from_change(each) for each in await memory.versions(item.id)]
            yield {**from_memory(item, passages), "versions": versions}
        tally.memories += len(page)
        last = page[-1].id


async def _deleted(memory: UserMemory) -> Sequence[Change]:
    """Return the changes of deleted memories; they are kept only while they can be undone."""
    changes = await memory.store.changes(memory.owner, limit=_MAX_CHANGES)
    there = {item.id for item in await memory.get([change.memory_id for change in changes])}
    return [change for change in changes if change.memory_id not in there]


async def _array(entries: AsyncIterator[Entry]) -> AsyncIterator[str]:
    """Yield a JSON array, one entry a line."""
    before = "[\n"
    async for entry in entries:
        yield before + _json(entry)
        before = ",\n"
    yield "[]" if before == "[\n" else "]"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=plain)


_MIB: Final = 1 << 20


class ExportCommands:
    """Offer /export to everybody, and the verbs export and backup to owners."""

    def __init__(self, shared: Shared, takeout: Takeout) -> None:
        self._takeout = takeout
        self._spool = shared.stores.spool
        self._copies = shared.stores.copies
        self._decider = shared.decider
        self._names = shared.names
        self._notifier = shared.notifier
        self._clock = shared.clock

    @property
    def command(self) -> Command:
        """The command."""
        return Command("export", text("commands.export"), self._export, in_private=True, topics=(ON_DATA,))

    @property
    def verbs(self) -> Sequence[Verb]:
        """The verbs of /admin, in the order of its list."""
        about = text("admin.commands.export")
        return (
            Verb("backup", text("admin.commands.backup"), self._backup, for_owners=True),
            self._names.verb("export", about, self._export_of, for_owners=True, decisive=True),
        )

    async def _export(self, request: Request, _: str) -> None:
        """Hand the person their own file."""
        await self._hand_over(request, request.incoming.user)

    async def _export_of(self, request: Request, argument: str) -> None:
        """Hand the owner the file of somebody, and put that on record."""
        user = await self._names.find(request, argument.split())
        await self._decider.record(EXPORT, request.incoming.user, str(user))
        await self._hand_over(request, user)

    async def _hand_over(self, request: Request, user: UserKey) -> None:
        """Send that person's file to the one who asks, and one for a calendar if anything is to come."""
        async with self._spool.place(file_name(user, self._clock.now())) as path:
            tally = await self._takeout.write(user, path)
            is_own = user == request.incoming.user
            told = (TRANSFER_EXPORT.here if is_own else TRANSFER_EXPORT.here_of)[request.locale].format(
                memories=tally.memories,
                threads=tally.threads,
                messages=tally.messages,
                reminders=tally.besides.get("reminders", 0),
                user=await self._names.of_person(user),
            )
            if tally.files:
                told = f"{told} {counted(EXPORT_PLURALS.files, request.locale, tally.files)}"
            media_type = mimetypes.guess_type(tally.path)[0] or MEDIA_TYPE
            if await self._send(request, user, tally.path, media_type, told):
                calendar = path.with_suffix(CALENDAR_SUFFIX)
                if count := await self._takeout.write_calendar(user, calendar):
                    await self._send(
                        request, user, calendar, CALENDAR_TYPE, counted(EXPORT_PLURALS.calendar, request.locale, count)
                    )

    async def _send(self, request: Request, user: UserKey, path: Path, media_type: str, told: str) -> bool:
        """Send a file with a sentence; if the platform refuses it, say so and return False."""
        try:
            await request.answer.hand_over([File(path, path.name, media_type)], told)
        except ChannelGone:
            raise
        except ChannelError:  # nothing more can be said in this turn: it is said beside it
            not_taken = (
                TRANSFER_EXPORT.not_taken
                if user == request.incoming.user and request.role is not Role.OWNER
                else TRANSFER_EXPORT.not_taken_of
            )
            refused = OutgoingMessage(not_taken[request.locale].format(size=_mebibytes(path), user=user))
            if not await self._notifier.tell(request.incoming.user, refused):
                raise
            return False
        return True

    async def _backup(self, request: Request, _: str) -> None:
        """Make a copy of the whole database and verify it."""
        await request.answer.status(ADMIN.copying[request.locale])
        try:
            made = await self._copies.make()
        except StorageError as error:
            await request.tell(ADMIN.no_backup, reason=error)
            return
        name = f"{made.path.parent.name}/{made.path.name}"
        await request.tell(ADMIN.backed_up, name=name, size=f"{made.size_bytes / _MIB:.1f}")


def _mebibytes(path: Path) -> str:
    return f"{path.stat().st_size / _MIB:.1f}"
