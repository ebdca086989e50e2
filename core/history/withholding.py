"""Withhold from models text about memories that were deleted or replaced, or that belong to another person.

Each message records the versions of memories that it tells of (`core.threads.ToldMemory`). Every prompt looks up
whether these are still current, so that an undo brings the text back; `Redaction` removes it once undo is over. After
accounts were separated, all that the bot said since it showed a memory of the other one is withheld for good
(`Withheld`, stored in the thread's metadata). The person's own words stay.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, tzinfo
from hashlib import blake2b
from typing import Final, TypeAlias

from core.stores import HistoryStore, MemoryStore
from core.text.words import FUNCTION_WORDS, folded_words
from core.threads import Summary, ToldMemory
from core.types import JSONValue, MemoryItem, Message, Modal, Thread, UserKey, is_said_by_person

Lookup: TypeAlias = Callable[[Sequence[str]], Awaitable[Sequence[MemoryItem]]]
"""Return the memories of those ids that exist and may be spoken of in the chat of the prompt."""

MemoriesOf: TypeAlias = Callable[[UserKey, Sequence[str]], Awaitable[Sequence[MemoryItem]]]
"""Return the memories of those ids that the person has."""

_BATCH: Final = 500
_NAME: Final = re.compile(r"(?<=[\w,;:] )[^\W\d_a-zß-ÿ]\w+")
"""A word with a capital letter inside a sentence."""

_LONG_NUMBER: Final = re.compile(r"(?!(?:19|20)\d\d$)(?=.*\d.*\d.*\d|\w*\d\w*[^\W\d]|[^\W\d]\w*\d)\w+")
"""Three digits or more, or digits with letters, but no year: not said by chance."""


def told_of(item: MemoryItem) -> ToldMemory:
    """Return the record of a message that tells of this version of the memory."""
    return ToldMemory(item.id, blake2b(item.content.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest())


def tells(text: str, content: str, *, by_person: bool = False) -> bool:
    """Return whether a text gives a content away: it contains a long number or a name of it, or else half of its words.

    A text `by_person` must say the content itself: a statement needs half of its words, not numbers only, a question
    all of them.
    """
    said, held = (set(folded_words(each)) - FUNCTION_WORDS for each in (text, content))
    common, numbers = said & held, {word for word in held if _LONG_NUMBER.fullmatch(word)}
    if by_person and not numbers:
        least = len(held) if text.rstrip().endswith("?") else max(min(2, len(held)), len(held) / 2)
        return len(common) >= least and not all(map(str.isdigit, common))
    names = set() if by_person else {word for name in _NAME.findall(content) for word in folded_words(name)}
    if not common.isdisjoint(numbers | names):
        return True
    return not numbers and 2 * len(common) >= max(min(len(said), len(held)), 1)


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The present memories, and what each of some messages tells of."""

    items: Mapping[str, MemoryItem]
    told: Mapping[int, Sequence[ToldMemory]]

    def holds(self, told: ToldMemory) -> bool:
        """Return whether that version of the memory is the present one."""
        item = self.items.get(told.memory_id)
        return item is not None and not told.redacted and told.version in {"", told_of(item).version}

    def is_stale(self, message: Message) -> bool:
        """Return whether the message tells of a version that is no longer the present one."""
        return not all(self.holds(each) for each in self.told.get(message.id, ()))

    def is_newer(self, message: Message) -> bool:
        """Return whether the memory that the message shows was changed since."""
        item = self.items.get(message.memory_id) if message.modal is Modal.MEMORY else None
        return item is not None and (message.at is None or item.updated_at > message.at)

    def present(self, messages: Sequence[Message], turn: str, zone: tzinfo) -> tuple[Message, ...]:
        """Return the messages for a model: memories in their present state, stale messages withheld.

        The person's message of the turn itself always stays.
        """
        return tuple(
            withheld(message) if self._is_withheld(message, turn) else message
            for message in recalled(messages, self.items, zone)
        )

    def _is_withheld(self, message: Message, turn: str) -> bool:
        if _is_recalled(message) or (turn and message.turn == turn and is_said_by_person(message)):
            return False
        return self.is_stale(message)


def recalled(messages: Sequence[Message], items: Mapping[str, MemoryItem], zone: tzinfo) -> tuple[Message, ...]:
    """Return the messages with the content of the memories that they show, without those whose memory is gone."""
    shown: dict[str, JSONValue] = {}  # a memory may have been shown often
    kept = []
    for message in messages:
        if not _is_recalled(message):
            kept.append(message)
        elif item := items.get(message.memory_id):
            if item.id not in shown:
                shown[item.id] = item.in_zone(zone).to_json()
            kept.append(replace(message, content=shown[item.id]))
    return tuple(kept)


def _is_recalled(message: Message) -> bool:
    return message.modal is Modal.MEMORY and message.memory_id != ""


def withheld(message: Message) -> Message:
    """Return the message without its words. The ids of memories in its question stay: they tell nothing of them."""
    question = message.question and replace(message.question, subject="")
    return replace(message, content="", attachments=(), quotes=(), question=question, offered=())


async def known(
    store: HistoryStore,
    messages: Sequence[Message],
    lookup: Lookup,
    known_told: dict[int, Sequence[ToldMemory]] | None = None,
) -> Knowledge:
    """Look up the memories that the messages show and tell of.

    What they tell of is asked for once if `known_told` is handed on from one prompt of a turn to the next.
    """
    known_told = {} if known_told is None else known_told
    unknown = [message.id for message in messages if message.id not in known_told and not _is_recalled(message)]
    found = await store.told(unknown)
    known_told |= {i: found.get(i, ()) for i in unknown}
    told = {message.id: known_told.get(message.id, ()) for message in messages}
    ids = [message.memory_id for message in messages if message.memory_id]
    ids += [each.memory_id for those in told.values() for each in those]
    return Knowledge(await _items(lookup, ids), told)


async def clean_summary(
    store: HistoryStore, thread_id: str, lookup: Lookup
) -> tuple[Summary | None, tuple[MemoryItem, ...]]:
    """Return the newest summary without deleted or replaced memories, and the memories that it may tell of."""
    newest = await store.summary(thread_id)
    if newest is None:
        return None, ()
    first = await store.first_told(thread_id)
    knowledge = Knowledge(await _items(lookup, [each.memory_id for each in first]), {})
    stale = min((sequence for each, sequence in first.items() if not knowledge.holds(each)), default=newest.through + 1)
    clean: Summary | None = newest
    if newest.through >= stale:
        clean = next((one for one in reversed(await store.summaries(thread_id)) if one.through < stale), None)
    through = clean.through if clean else 0
    told = {each.memory_id for each, sequence in first.items() if sequence <= through}
    return clean, tuple(item for item in knowledge.items.values() if item.id in told)


class Redaction:
    """Remove text about memories that were deleted or replaced, once that can no longer be undone."""

    def __init__(self, history: HistoryStore, memories: MemoryStore) -> None:
        self._history = history
        self._memories = memories

    async def run(self, before: datetime) -> None:
        """Redact, for everybody, text about memories gone since before `before`; finish interrupted `forget`s."""
        await self._history.purge()
        for user in await self._history.tellers():
            if gone := await self.past(user, before):
                await self._history.redact(user, gone)

    async def past(self, user: UserKey, before: datetime | None = None) -> Collection[ToldMemory]:
        """Return the outdated versions that the person's threads tell of.

        With `before`, only those that can no longer be undone and were not redacted yet.
        """
        owner = (await self._memories.accounts(user))[0]
        told = await self._history.told_by(user)
        wanted = [each for each in told if before is None or not each.redacted]
        if not wanted:
            return ()

        async def lookup(ids: Sequence[str]) -> Sequence[MemoryItem]:
            return await self._memories.get(owner, ids)

        knowledge = Knowledge(await _items(lookup, [each.memory_id for each in wanted]), {})
        stale = [each for each in wanted if not knowledge.holds(each)]
        if before is None or not stale:
            return stale
        recent = await self._memories.changes(owner, since=before, not_undone=True)
        undoable = {change.memory_id for change in recent}
        earlier = await self._memories.earlier(owner, list({each.memory_id for each in stale}))
        kept = {(item.current, told_of(item).version) for item in earlier}  # still remembered, as what was true once
        return [each for each in stale if each.memory_id not in undoable and (each.memory_id, each.version) not in kept]


async def _items(lookup: Lookup, ids: Iterable[str]) -> Mapping[str, MemoryItem]:
    wanted = list(dict.fromkeys(ids))
    batches = [wanted[at : at + _BATCH] for at in range(0, len(wanted), _BATCH)]
    return {item.id: item for batch in batches for item in await lookup(batch)}


_METADATA_KEY: Final = "withheld"
_PAGE: Final = 500


@dataclass(frozen=True, slots=True)
class Withheld:
    """Messages of a sequence greater than `after` and up to `through`, and those of `turn`, which was running then."""

    after: int
    through: int
    turn: str = ""

    def hides(self, message: Message) -> bool:
        """Return whether the message is withheld from models."""
        inside = self.after < message.sequence <= self.through or (bool(self.turn) and message.turn == self.turn)
        return inside and not is_said_by_person(message)


NOTHING: Final = Withheld(0, 0)


def withheld_of(thread: Thread) -> Withheld:
    """Return what is withheld of a thread; NOTHING if its metadata has no valid entry."""
    match thread.metadata.get(_METADATA_KEY):
        case {"after": int(after), "through": int(through), "turn": str(turn)}:
            return Withheld(after, through, turn)
    return NOTHING


async def withhold(store: HistoryStore, user: UserKey, theirs: Collection[str]) -> None:
    """Withhold, in every thread of the person that showed a memory not in `theirs`, all messages since it did.

    Summaries that cover it are removed, and made again from the rest.
    """
    for thread in await store.threads(user):
        if foreign := await store.shown_memories(thread.id) - frozenset(theirs):
            await _withhold_since(store, thread, foreign)


async def _withhold_since(store: HistoryStore, thread: Thread, foreign: Collection[str]) -> None:
    """Extend what is withheld to the thread's present end, if it showed any of those since the last time."""
    before = withheld_of(thread)
    first, through, turn = 0, before.through, before.turn
    while page := await store.since(thread.id, through, _PAGE):
        shown = [message.sequence for message in page if message.memory_id in foreign]
        first = first or min(shown, default=0)
        through, turn = page[-1].sequence, page[-1].turn
    if first:
        withheld = Withheld(before.after if before.through else first - 1, through, turn)
        await store.describe(replace(thread, metadata={**thread.metadata, _METADATA_KEY: asdict(withheld)}))
        await store.drop_summaries(thread.id, withheld.after)
