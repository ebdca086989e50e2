"""/export, /admin export and /admin backup: hand over all that is kept of a person, and copy the whole database."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final

from core.commands.command import Command, Request
from core.delivery.notifier import Notifier
from core.enclosures import enclosures_to_json
from core.errors import ChannelError, ChannelGone, StorageError
from core.features.access.rules import Access
from core.features.admin.admin import Verb
from core.features.admin.decisions import DecisionKind, Decisions, record_deed
from core.features.admin.names import EXAMPLE, SOMEBODY, Names
from core.features.ledger.calls import Ledger, Scope, Sum
from core.features.preferences.store import PreferenceStore
from core.features.reminders.reminders import ReminderStore, State
from core.features.transfer.files import Copies, Spool, private_file
from core.features.transfer.reminder_entries import to_entry
from core.memory.memories import Memories
from core.memory.user_memory import UserMemory
from core.outgoing import File, OutgoingMessage
from core.ports import Clock
from core.stores import HistoryStore
from core.text.catalogue import counted, forms, text
from core.threads import Summary
from core.types import Change, JSONValue, MemoryItem, Message, Thread, UserKey

FORMAT: Final = "elefante-export"
VERSION: Final = 1
MEDIA_TYPE: Final = "application/json"
CALENDAR_TYPE: Final = "text/calendar"
CALENDAR_SUFFIX: Final = ".ics"
_PAGE: Final = 200
_MAX_CHANGES: Final = 1000
_MAX_ID_CHARS: Final = 40
_EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)

_Record = Mapping[str, JSONValue]


@dataclass(slots=True)
class Tally:
    """How much was written."""

    memories: int = 0
    threads: int = 0
    messages: int = 0
    reminders: int = 0


def file_name(user: UserKey, at: datetime) -> str:
    """Return the name of the file of that person, made then."""
    name = "".join(char if char.isalnum() and char.isascii() else "-" for char in str(user))[:_MAX_ID_CHARS]
    return f"elefante-{name}-{at.astimezone(UTC):%Y%m%d-%H%M%S}.json"


class Takeout:
    """Write all that is kept of a person, on all their accounts."""

    def __init__(
        self,
        memories: Memories,
        history: HistoryStore,
        reminders: ReminderStore,
        *,
        access: Access,
        preferences: PreferenceStore,
        ledger: Ledger,
        clock: Clock,
    ) -> None:
        self._memories = memories
        self._history = history
        self._reminders = reminders
        self._access = access
        self._preferences = preferences
        self._ledger = ledger
        self._clock = clock

    async def write(self, user: UserKey, path: Path) -> Tally:
        """Write the file, readable by its owner only, and return how much is in it.

        Raises:
            FileExistsError: there is a file of that name.
            StorageError: it cannot be written, or what is kept cannot be read.
        """
        tally = Tally()
        with _written(path) as file:
            async for piece in self.pieces(user, tally):
                file.write(piece.encode("utf-8", "backslashreplace"))  # a lone surrogate, as JSON escapes it
        return tally

    async def write_calendar(self, user: UserKey, path: Path) -> int:
        """Write the person's open reminders for a calendar (RFC 5545); return how many, writing nothing if none.

        Raises:
            FileExistsError: there is a file of that name.
            StorageError: it cannot be written, or what is kept cannot be read.
        """
        from core.features.reminders.calendar import to_ics  # its library takes 28 ms to load

        reminders = await self._reminders.of(await self._memories.accounts(user))
        if reminders:
            with _written(path) as file:
                file.write(to_ics(reminders, self._clock.now()).encode())
        return len(reminders)

    async def pieces(self, user: UserKey, tally: Tally) -> AsyncIterator[str]:
        """Yield the JSON text of the file, and count in `tally` what was yielded."""
        accounts = await self._memories.accounts(user)
        memory = self._memories.of(accounts[0])
        now = _time(self._clock.now())
        head: _Record = {"format": FORMAT, "version": VERSION, "exported_at": now, "user": str(user)}
        yield "{" + _json(head)[1:-1]
        yield ',\n"accounts":' + _json([await self._account(account) for account in accounts])
        yield ',\n"memories":'
        async for piece in _array(_memories(memory, tally)):
            yield piece
        yield ',\n"deleted":' + _json([_change(each) for each in await _deleted(memory)])
        reminders = await self._reminders.of(accounts, frozenset(State))
        tally.reminders = len(reminders)
        yield ',\n"reminders":' + _json([to_entry(each) for each in reminders])
        yield ',\n"usage":' + _json(await self._usage(accounts))
        yield ',\n"threads":['
        async for piece in self._threads(accounts, tally):
            yield piece
        yield "]}\n"

    async def _account(self, user: UserKey) -> dict[str, JSONValue]:
        role, chosen = await self._access.role(user), await self._preferences.of(user)
        person, account = await self._access.person(user), await self._access.account(user)
        return {
            "user": str(user),
            "handle": account.handle if account else "",
            "role": role.value if role else None,
            "name": person.name if person else "",
            "since": _time(person.since) if person else None,
            "tag": account.language if account else "",
            "language": chosen.language or None,
            "remembers": chosen.remembers,
            "learn": chosen.learn.value if chosen.learn else None,
            "news": chosen.news,
            "zone": chosen.zone or None,
        }

    async def _usage(self, accounts: Sequence[UserKey]) -> list[JSONValue]:
        """Return what was asked of models for the person, by account, day and model."""
        by = ("user", "day", "model")
        return [_spent(each) for user in accounts for each in await self._ledger.sums(_EVER, by, Scope(user))]

    async def _threads(self, accounts: Sequence[UserKey], tally: Tally) -> AsyncIterator[str]:
        for account in accounts:
            for thread in await self._history.threads(account):
                summaries: list[JSONValue] = [_summary(each) for each in await self._history.summaries(thread.id)]
                head = {**_thread(thread), "summaries": summaries}
                yield (",\n" if tally.threads else "\n") + _json(head)[:-1] + ',"messages":'
                tally.threads += 1
                async for piece in _array(self._messages(thread, tally)):
                    yield piece
                yield "}"

    async def _messages(self, thread: Thread, tally: Tally) -> AsyncIterator[_Record]:
        after = 0
        while page := await self._history.since(thread.id, after, _PAGE):
            for message in page:
                yield _message(message)
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


async def _memories(memory: UserMemory, tally: Tally) -> AsyncIterator[_Record]:
    last = ""
    while page := await memory.page(limit=_PAGE, before=last):
        for item in page:
            yield {**_memory(item), "versions": [_change(each) for each in await memory.versions(item.id)]}
        tally.memories += len(page)
        last = page[-1].id


def _memory(item: MemoryItem) -> dict[str, JSONValue]:
    return {
        **item.to_json(),
        "created_at": _time(item.created_at),
        "updated_at": _time(item.updated_at),
        **({"until": _time(item.until)} if item.until else {}),
        "pinned": item.pinned,
        "shared": item.shared,
        "rooms": list(item.rooms),
        "sources": list(item.source_ids),
    }


def _change(change: Change) -> dict[str, JSONValue]:
    return {
        "act": change.act,
        "kind": change.kind.value,
        "at": _time(change.at),
        "before": _memory(change.before) if change.before else None,
        "after": _memory(change.after) if change.after else None,
        "undone": change.undone,
    }


async def _deleted(memory: UserMemory) -> Sequence[Change]:
    """Return the changes of deleted memories; they are kept only while they can be undone."""
    changes = await memory.store.changes(memory.owner, limit=_MAX_CHANGES)
    there = {item.id for item in await memory.get([change.memory_id for change in changes])}
    return [change for change in changes if change.memory_id not in there]


def _spent(entry: Sum) -> dict[str, JSONValue]:
    user, day, model = entry.keys
    return {
        "user": user,
        "day": day,
        "model": model,
        "calls": entry.calls,
        "failed": entry.failed,
        "input_tokens": entry.tokens.input_tokens,
        "output_tokens": entry.tokens.output_tokens,
        "cost_usd": None if entry.unpriced == entry.calls else round(entry.cost_usd, 6),
    }


def _thread(thread: Thread) -> dict[str, JSONValue]:
    chat, user = thread.conversation.chat, thread.conversation.user
    return {
        "id": thread.id,
        "user": str(user),
        "chat": chat.chat,
        "topic": chat.thread,
        "status": thread.status.value,
        "title": thread.title,
        "policy": thread.policy,
        "metadata": thread.metadata,
        "created_at": _time(thread.created_at),
        "updated_at": _time(thread.updated_at),
    }


def _summary(summary: Summary) -> dict[str, JSONValue]:
    at = _time(summary.at) if summary.at else None
    return {"text": summary.text, "after": summary.after, "through": summary.through, "at": at, "model": summary.model}


def _message(message: Message) -> dict[str, JSONValue]:
    return {
        "id": message.id,
        "at": _time(message.at) if message.at else None,
        **message.to_wire(),
        "turn": message.turn,
        "source_id": message.source_id,
        "memory_id": message.memory_id,
        "tokens": message.tokens,
        "duration_s": message.duration_s,
        "error": message.error,
        **({"room": message.room} if message.room else {}),
        **({"off_record": True} if message.off_record else {}),
        **({"question": message.question.to_json()} if message.question else {}),
        **enclosures_to_json(message.attachments, message.quotes),
        **({"offered": [draft.to_json() for draft in message.offered]} if message.offered else {}),
    }


async def _array(records: AsyncIterator[_Record]) -> AsyncIterator[str]:
    """Yield a JSON array, one record a line."""
    before = "[\n"
    async for record in records:
        yield before + _json(record)
        before = ",\n"
    yield "[]" if before == "[\n" else "]"


def _json(value: JSONValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds")


_MIB: Final = 1 << 20


class ExportCommands:
    """Offer /export to everybody, and the verbs export and backup to owners."""

    def __init__(
        self,
        takeout: Takeout,
        spool: Spool,
        copies: Copies,
        *,
        decisions: Decisions,
        names: Names,
        notifier: Notifier,
        clock: Clock,
    ) -> None:
        self._takeout = takeout
        self._spool = spool
        self._copies = copies
        self._decisions = decisions
        self._names = names
        self._notifier = notifier
        self._clock = clock

    @property
    def command(self) -> Command:
        """The command."""
        return Command("export", text("commands.export"), self._export, in_private=True)

    @property
    def verbs(self) -> Sequence[Verb]:
        """The verbs of /admin, in the order of its list."""
        about = text("admin.commands.export")
        return (
            Verb("backup", text("admin.commands.backup"), self._backup, for_owners=True),
            Verb(
                "export",
                about,
                self._export_of,
                " PERSON",
                EXAMPLE,
                for_owners=True,
                decisive=True,
                fields=SOMEBODY,
                complete=self._names.complete,
            ),
        )

    async def _export(self, request: Request, _: str) -> None:
        """Hand the person their own file."""
        await self._hand_over(request, request.incoming.user)

    async def _export_of(self, request: Request, argument: str) -> None:
        """Hand the owner the file of somebody, and put that on record."""
        user = await self._names.find(request, argument.split())
        await record_deed(self._decisions, self._clock, request.incoming.user, DecisionKind.EXPORT, str(user))
        await self._hand_over(request, user)

    async def _hand_over(self, request: Request, user: UserKey) -> None:
        """Send that person's file to the one who asks, and one for a calendar if there are reminders."""
        async with self._spool.place(file_name(user, self._clock.now())) as path:
            tally = await self._takeout.write(user, path)
            told = HERE[request.locale].format(
                memories=tally.memories,
                threads=tally.threads,
                messages=tally.messages,
                reminders=tally.reminders,
                user=user,
            )
            if await self._send(request, user, path, MEDIA_TYPE, told):
                calendar = path.with_suffix(CALENDAR_SUFFIX)
                if count := await self._takeout.write_calendar(user, calendar):
                    await self._send(request, user, calendar, CALENDAR_TYPE, counted(CALENDAR, request.locale, count))

    async def _send(self, request: Request, user: UserKey, path: Path, media_type: str, told: str) -> bool:
        """Send a file with a sentence; if the platform refuses it, say so and return False."""
        try:
            await request.answer.hand_over(File(path, path.name, media_type), told)
        except ChannelGone:
            raise
        except ChannelError:  # nothing more can be said in this turn: it is said beside it
            refused = OutgoingMessage(NOT_TAKEN[request.locale].format(size=_mebibytes(path), user=user))
            if not await self._notifier.tell(request.incoming.user, refused):
                raise
            return False
        return True

    async def _backup(self, request: Request, _: str) -> None:
        """Make a copy of the whole database and verify it."""
        await request.answer.status(COPYING[request.locale])
        try:
            made = await self._copies.make()
        except StorageError as error:
            await request.tell(NO_BACKUP, reason=error)
            return
        name = f"{made.path.parent.name}/{made.path.name}"
        await request.tell(BACKED_UP, name=name, size=f"{made.size_bytes / _MIB:.1f}")


def _mebibytes(path: Path) -> str:
    return f"{path.stat().st_size / _MIB:.1f}"


HERE = text("transfer.export.here")
CALENDAR = forms("transfer.export.calendar")
NOT_TAKEN = text("transfer.export.not_taken")
COPYING = text("transfer.admin.copying")
BACKED_UP = text("transfer.admin.backed_up")
NO_BACKUP = text("transfer.admin.no_backup")
