"""Whichever write a crash follows, the screen ends as if there had been none: nothing twice, nothing left over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count, pairwise

import pytest

from core.answering.outcomes import AGAIN
from core.answering.parts import TurnLimits
from core.dialogue import Prompt, StreamEvent, Task
from core.enclosures import Attachment, AttachmentKind
from core.errors import ChannelGone, StorageError
from core.features.access.storage import Person
from core.features.admin.storage import ON, Decision, DecisionKind
from core.models import Cycle
from core.outgoing import ChannelLimits, OutgoingMessage
from core.storage.inbox import SqlInbox
from core.types import Incoming, Locale, MemoryDraft, MemoryKind, Modal, Role
from tests.fakes.channel import OneChannel, RecordingChannel
from tests.fakes.house import ANA, House, Script, over
from tests.fakes.model import Answer, ScriptedModel, call
from tests.fakes.ram import copy_of
from tests.profile import long

LONG = " ".join(f"w{number}" for number in range(50))


@dataclass
class Crash:
    """A process that ends at its n-th moment; what it had stored by then is in `stores`."""

    at: int
    keep: Callable[[], House]
    moments: list[str] = field(default_factory=list)
    stores: House | None = None

    @property
    def dead(self) -> bool:
        return self.stores is not None

    @property
    def in_doubt(self) -> bool:
        """Whether it came between a post and the record of its handle: then nobody knows of that message any more."""
        last = self.moments[: self.at]
        return last[-1] == "posted" or last[-2:] == ["posted", "before it is recorded"]

    def passes(self, moment: str) -> None:
        """Say what happened just now; from the n-th time on nobody is there any more."""
        self.moments.append(moment)
        if len(self.moments) == self.at:
            self.stores = self.keep()


class FragileInbox(SqlInbox):
    crash: Crash | None = None

    async def put_posted(self, incoming: Incoming, handles: Sequence[str]) -> None:
        self._check("before it is recorded")
        await super().put_posted(incoming, handles)
        self._check("recorded")

    async def close(self, incoming: Incoming) -> None:
        self._check("before it is closed")
        await super().close(incoming)

    def _check(self, moment: str) -> None:
        if self.crash is not None:
            self.crash.passes(moment)
            if self.crash.dead:
                raise StorageError("dead")


@dataclass(slots=True)
class FragileChannel(RecordingChannel):
    crash: Crash | None = None

    async def post(self, shown: OutgoingMessage) -> str:
        self._check("before a post")
        handle = await RecordingChannel.post(self, shown)
        self._check("posted")
        return handle

    async def edit(self, handle: str, shown: OutgoingMessage) -> str | None:
        self._check("before an edit")
        await RecordingChannel.edit(self, handle, shown)
        self._check("edited")
        return None

    async def remove(self, handle: str) -> None:
        self._check("before a removal")
        await RecordingChannel.remove(self, handle)
        self._check("removed")

    def _check(self, moment: str) -> None:
        if self.crash is not None:
            if not self.crash.dead:
                self.crash.passes(moment)
            if self.crash.dead:
                raise ChannelGone("dead")


@dataclass(slots=True)
class MarkingChannel(FragileChannel):
    """Notifies by new messages, and marks what may be there twice."""

    doubtful: bool = False

    async def post(self, shown: OutgoingMessage) -> str:
        handle = await FragileChannel.post(self, _again(shown) if self.doubtful or shown.again else shown)
        self.doubtful = False
        return handle

    async def edit(self, handle: str, shown: OutgoingMessage) -> str | None:
        return await FragileChannel.edit(self, handle, _again(shown) if shown.again else shown)

    def adopt(self, handles: Sequence[str]) -> Sequence[str]:
        known = FragileChannel.adopt(self, handles)
        self.doubtful = len(known) < len(handles)
        return known


def _again(shown: OutgoingMessage) -> OutgoingMessage:
    return replace(shown, text=f"↻ {shown.text}")


def decides(prompt: Prompt) -> str:
    """Search or save once in a turn, then finish; what was done stands in the conversation after a restart, too."""
    if prompt.context.message.startswith("forget"):
        return "MemoryDelete" if any(message.memory_id for message in prompt.context.history) else "MemorySearch"
    looks, keeps = ("MemorySearch", "I looked"), ("MemorySave", "I kept")
    wanted, done = {"look": looks, "show": looks, "keep": keeps}.get(prompt.context.message.split()[0], ("Finish", ""))
    said = any(done in message.text or message.modal is Modal.MEMORY for message in prompt.context.history)
    did = any(step.action == wanted or step.writes for step in prompt.context.steps)
    return "Finish" if said or did else wanted


def shown_id(prompt: Prompt) -> str:
    """Return the label of the memory that is in view."""
    return next(filter(None, (message.memory_id for message in prompt.context.history)))


AT_ONCE = TurnLimits(Cycle.STEPWISE, status_after_s=0.0)
SCRIPT: Script = {
    Task.DECIDE: decides,
    Task.SEARCH_QUERIES: ['{"items": ["wifi"]}'],
    Task.SAVE_DRAFTS: ['{"items": [{"type": "text", "content": "123", "bindings": ["code"]}]}'],
    Task.DELETE_IDS: lambda prompt: f'{{"ids": ["{shown_id(prompt)}"]}}',
    Task.SINGLE: lambda _: call("MemoryDelete", ids=["m1"]),
    Task.FINISH: lambda prompt: {"tell": LONG, "show wifi": "wifi is 909"}.get(prompt.context.message, "That is it."),
}


BROKEN_OFF = 40
"""A moment at which a part of the long answer is on the screen, and nothing of it is stored."""


class Paced(ScriptedModel):
    """Says no more before what it said can be on the screen."""

    async def _events(self, answer: Answer) -> AsyncIterator[StreamEvent]:
        async for event in super()._events(answer):
            yield event
            for _ in range(10):
                await asyncio.sleep(0)


async def a_house(limits: TurnLimits = AT_ONCE) -> House:
    house = House(SCRIPT, inbox=over(FragileInbox), limits=limits)
    house.models = replace(house.models, chat=Paced(SCRIPT))
    place = Attachment(AttachmentKind.LOCATION, detail="-23.5,-46.6")
    draft = MemoryDraft(MemoryKind.TEXT, "wifi is 909", ("wifi",), attachments=(place,))
    await house.memories.of(ANA).add([draft], {})
    return house


def after_the_crash(house: House) -> House:
    """What a new process finds."""
    return House(SCRIPT, clock=house.clock, database=copy_of(house.database), limits=house.limits)


def a_channel(house: House) -> FragileChannel:
    return FragileChannel(house.clock, ChannelLimits(max_chars=100, edit_interval_s=0.0))


async def answered(
    text: str, crash_at: int = 0, *, late: bool = False, limits: TurnLimits = AT_ONCE
) -> tuple[FragileChannel, Crash, House]:
    """Ask that in a process that dies at its n-th moment; a minute ago if it is answered `late`."""
    house = await a_house(limits)
    channel = a_channel(house)
    incoming = house.incoming(text)
    if late:
        channel = MarkingChannel(house.clock, replace(channel.limits, notifies=True))
        incoming = replace(incoming, at=incoming.at - timedelta(minutes=1))
    crash = Crash(crash_at, lambda: after_the_crash(house))
    assert isinstance(house.inbox, FragileInbox)
    channel.crash = house.inbox.crash = crash
    async with house.chatbot() as bot:
        await (await bot.receive(incoming, channel))
    channel.crash = None
    return channel, crash, house


async def resumed(
    text: str, *, limits: TurnLimits = AT_ONCE
) -> AsyncIterator[tuple[int, FragileChannel, Crash, House]]:
    """Ask that in processes that die at the first, the second … moment, and go on with it in a new one."""
    for at in count(1):
        channel, crash, _ = await answered(text, at, limits=limits)
        if crash.stores is None:
            assert at > 4
            return
        async with crash.stores.chatbot() as bot:
            await bot.resume("test", OneChannel(channel))
        yield at, channel, crash, crash.stores


@pytest.mark.parametrize(
    "text", ["/remember tea", *map(long, ("tell", "hello", "look for it", "keep 123", "/help", "/memories"))]
)
async def test_an_answer_goes_on_in_place_whichever_write_a_crash_follows(text: str) -> None:
    whole, _, _ = await answered(text)
    async for at, channel, crash, kept in resumed(text):
        assert not await kept.inbox.owed("test")
        seen = [shown.text for shown in channel.screen]
        texts = [shown.text for shown in whole.screen]
        passing = [shown for shown in channel.screen if not shown.stays]
        if crash.in_doubt:
            assert len(seen) <= len(texts) + 1, (at, seen)
            assert len(passing) <= 1, (at, seen)
        else:
            assert len(seen) == len(texts), (at, seen)
            assert not passing, (at, seen)
        if text != "/remember tea":  # what is kept already is told as that
            assert all(any(one in other for other in seen) for one in texts), (at, seen)
    assert at > 4


@pytest.mark.parametrize("text", [long("hello"), "look for it"])
async def test_a_late_answer_comes_anew_and_is_there_once_or_marked_whichever_write_a_crash_follows(text: str) -> None:
    whole, _, _ = await answered(text, late=True)
    at_once, _, _ = await answered(text)
    assert [shown.text for shown in whole.screen] == [shown.text for shown in at_once.screen]
    assert whole.log[-2].shown.notify
    assert whole.log[-1].verb == "remove"
    for at in count(1):
        channel, crash, _ = await answered(text, at, late=True)
        if crash.stores is None:
            break
        crash.stores.limits = replace(AT_ONCE, notify_after_s=0.0)  # then it goes on by edits
        async with crash.stores.chatbot() as bot:
            await bot.resume("test", OneChannel(channel))
        seen = [shown.text for shown in channel.screen if shown.stays]
        bare = [shown.removeprefix("↻ ") for shown in seen]
        assert set(bare) == {shown.text for shown in whole.screen}, (at, seen)
        assert len(set(seen)) == len(seen), "nothing is there twice without a mark"
        assert crash.in_doubt or len(seen) == len(whole.screen), (at, seen)
        assert sum(not shown.stays for shown in channel.screen) <= crash.in_doubt, (at, seen)
    assert at > 10


@pytest.mark.long
async def test_the_messages_of_an_answer_stay_in_their_order() -> None:
    async for at, channel, crash, _ in resumed("tell"):
        if not crash.in_doubt:
            words = [int(word[1:]) for shown in channel.screen for word in shown.text.split()]
            assert all(later == earlier + 1 for earlier, later in pairwise(words)), at


async def test_a_shorter_answer_after_the_restart_leaves_nothing_of_the_longer_one() -> None:
    channel, crash, _ = await answered("tell", BROKEN_OFF)
    assert crash.stores is not None
    before = len(channel.screen)
    crash.stores.model._script[Task.FINISH] = ["Short."]
    async with crash.stores.chatbot() as bot:
        await bot.resume("test", OneChannel(channel))
    assert before > 1
    assert [shown.text for shown in channel.screen] == ["Short."]


async def test_what_was_written_is_told_once_and_can_be_undone_whenever_the_crash_came() -> None:
    async for at, channel, _, kept in resumed("keep 123"):
        [told] = [shown for shown in channel.screen if shown.stays]
        assert told.text.count("Saved: “123”") == 1, at
        [undo] = told.choices
        async with kept.chatbot() as bot:
            await (await bot.receive(kept.incoming(undo.command, message_id="2"), channel))
        assert [item.content for item in await kept.memories.of(ANA).page(limit=9)] == ["wifi is 909"], at
    assert at > 10


@pytest.mark.parametrize("cycle", [Cycle.STEPWISE, Cycle.SINGLE])
async def test_what_was_asked_before_a_deletion_has_its_buttons_whenever_the_crash_came(cycle: Cycle) -> None:
    async for at, channel, _, kept in resumed("forget wifi", limits=replace(AT_ONCE, cycle=cycle)):
        asked = [shown for shown in channel.screen if shown.stays][-1]
        assert "wifi is 909" in asked.text, at
        assert [choice.label for choice in asked.choices] == ["🗑️ Delete", "Keep as it is"], at
        async with kept.chatbot() as bot:
            delete = kept.incoming(asked.choices[0].command, message_id="2")
            await (await bot.receive(delete, channel))
        assert not await kept.memories.of(ANA).page(limit=9), at
    assert at > 6


async def test_what_was_recalled_stands_below_the_answer_once_whenever_the_crash_came() -> None:
    async for at, channel, _, _ in resumed("look for it"):
        [told] = [shown for shown in channel.screen if shown.stays]
        assert (told.text, [item.content for item in told.memories]) == ("That is it.", ["wifi is 909"]), at
    assert at > 10


async def test_what_was_handed_back_is_there_once_whenever_the_crash_came() -> None:
    async for at, channel, crash, _ in resumed("show wifi"):
        handed = [shown for shown in channel.screen if shown.files]
        assert 1 <= len(handed) <= 1 + crash.in_doubt, (at, [shown.text for shown in channel.screen])
        assert next(shown.text for shown in channel.screen if shown.stays and not shown.files) == "wifi is 909"
    assert at > 10


async def test_what_was_begun_for_somebody_who_is_not_answered_any_more_is_taken_away() -> None:
    channel, crash, _ = await answered("tell", BROKEN_OFF)
    assert crash.stores is not None
    kept = crash.stores
    kept.trusted = ()
    await kept.people.put(Person(ANA, Role.BLOCKED, "ana", kept.clock.now()))
    async with kept.chatbot() as bot:
        await bot.resume("test", OneChannel(channel))
    assert channel.screen == []
    assert not await kept.inbox.owed("test")


async def test_while_the_bot_is_paused_nothing_of_an_answer_that_waits_stands_there() -> None:
    channel, crash, _ = await answered("tell", BROKEN_OFF)
    assert crash.stores is not None
    kept = crash.stores
    kept.trusted = ()
    await kept.people.put(Person(ANA, Role.MEMBER, "ana", kept.clock.now()))
    await kept.decisions.apply(Decision(kept.clock.now(), ANA, DecisionKind.PAUSE, "", "", ON))
    async with kept.chatbot() as bot:
        await bot.resume("test", OneChannel(channel))
    assert channel.screen == []
    await kept.decisions.apply(Decision(kept.clock.now(), ANA, DecisionKind.PAUSE, "", ON, ""))
    async with kept.chatbot() as bot:
        await bot.resume("test", OneChannel(channel))
    assert " ".join(shown.text for shown in channel.screen) == LONG


@pytest.mark.long
async def test_a_crash_that_was_cleaned_up_after_can_be_followed_by_another() -> None:
    for at in range(1, 20):
        channel, crash, _ = await answered("tell", at)
        if crash.stores is None or crash.in_doubt:
            continue
        house = crash.stores
        house.inbox = fragile = FragileInbox(house.database)
        second = Crash(4, lambda house=house: after_the_crash(house))  # type: ignore[misc]
        channel.crash = fragile.crash = second
        async with house.chatbot() as bot:
            await bot.resume("test", OneChannel(channel))
        channel.crash = None
        if second.stores is None:
            continue
        async with second.stores.chatbot() as bot:
            await bot.resume("test", OneChannel(channel))
        words = " ".join(shown.text for shown in channel.screen).split()
        assert len(words) >= len(LONG.split())
        if not second.in_doubt:
            assert words == LONG.split(), at


@pytest.mark.parametrize("second_at", [long(2), long(4), long(6), long(8), long(10)])
async def test_after_two_crashes_nothing_is_there_twice_without_a_mark(second_at: int) -> None:
    whole, _, _ = await answered("look for it", late=True)
    for at in count(1):
        channel, crash, _ = await answered("look for it", at, late=True)
        if crash.stores is None:
            break
        house = crash.stores
        house.inbox = fragile = FragileInbox(house.database)
        channel.crash = fragile.crash = second = Crash(second_at, lambda house=house: after_the_crash(house))  # type: ignore[misc]
        async with house.chatbot() as bot:
            await bot.resume("test", OneChannel(channel))
        channel.crash = None
        if second.stores is not None:
            async with second.stores.chatbot() as bot:
                await bot.resume("test", OneChannel(channel))
        seen = [shown.text for shown in channel.screen if shown.stays]
        bare = {shown.removeprefix("↻ ").removeprefix(f"{AGAIN[Locale.EN]}\n\n") for shown in seen}
        assert bare == {shown.text for shown in whole.screen}, (at, seen)
        assert len(set(seen)) == len(seen), (at, seen)
    assert at > 10


class Silent(ScriptedModel):
    """Never answers; says when it was asked."""

    def __init__(self) -> None:
        super().__init__({})
        self.began = asyncio.Event()

    @asynccontextmanager
    async def stream(self, prompt: Prompt) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        self.began.set()
        await asyncio.Event().wait()
        async with super().stream(prompt) as events:
            yield events


async def test_what_a_platform_breaks_off_as_it_closes_waits_for_nothing_on_the_screen_and_is_answered_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = await a_house()
    channel = a_channel(house)
    silent = Silent()
    monkeypatch.setattr(house.model, "stream", silent.stream)
    async with house.chatbot() as bot:
        await bot.receive(house.incoming("hello"), channel)
        await silent.began.wait()
        await bot.leave("another")
        assert not channel.screen[0].stays
        await bot.leave("test")
        assert [shown.text for shown in channel.screen] == ["…"]
    kept = after_the_crash(house)
    async with kept.chatbot() as bot:
        await bot.resume("test", OneChannel(channel))
    assert [shown.text for shown in channel.screen] == ["That is it."]
