"""The cumulative summary: when it is made, of what, and what becomes of it when something fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from core.dialogue import Finish, Prompt, Stop, Task
from core.errors import EmptyReply, ProviderDown
from core.history.conversation import Conversation, Conversations
from core.history.summary import Summaries, Summarizer
from core.history.tokens import ByCharacters
from core.history.window import LAST_MESSAGES, HistoryLimits
from core.ports import Tokenizer
from core.storage.history import SqlHistory
from core.stores import HistoryStore
from core.types import ChatKey, ConversationKey, Message, MessageRole, Modal, UserKey
from tests.fakes.clock import FakeClock
from tests.fakes.model import Answer, ScriptedModel
from tests.fakes.ram import RamDatabase

ROOM = ConversationKey(ChatKey("console", "chat_abc123"), UserKey("console", "ana"))
EUROPE = (
    "O usuário Edmar está planejando uma viagem para Europa em julho/2026. Orçamento estimado: R$ 15.000. "
    "Já economizou R$ 5.000 em conta poupança. Preferências: voos diretos, hotéis 4 estrelas."
)
SMALL = HistoryLimits(threshold_tokens=100, max_summary_tokens=50)


@pytest.fixture
def store() -> HistoryStore:
    return SqlHistory(RamDatabase())


class Bench:
    """A conversation with a summary, over a store."""

    def __init__(
        self,
        store: HistoryStore,
        script: Sequence[Answer] | Callable[[Prompt], Answer],
        limits: HistoryLimits = SMALL,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        self.store = store
        self.clock = FakeClock(auto=True)
        self.asked = asyncio.Event()
        self.model = ScriptedModel({Task.SUMMARY: script}, name="scripted:nano")
        self.summarizer = Summarizer(store, self.model, tokenizer or ByCharacters(), self.clock, limits)
        self.summaries = Summaries(self.summarizer, self.clock)
        self.conversations = Conversations(store, self.clock, limits, summaries=self.summaries)

    async def open(self) -> Conversation:
        return await self.conversations.open(ROOM)

    async def talk(self, conversation: Conversation, messages: int, tokens: int) -> None:
        """Say so many messages, the person and the bot in turn, straight into the store."""
        for number in range(messages):
            role = MessageRole.ASSISTANT if number % 2 else MessageRole.USER
            await self.store.append(conversation.thread.id, Message(role, f"m{number + 1}", tokens=tokens))


@pytest.mark.spec("J2", "J3", "J4", "J5")
async def test_document_2s_long_talk_of_50_messages_and_3600_tokens(store: HistoryStore) -> None:
    """Of 50 messages that cost 3,600 tokens 46 are summarised and four kept, word for word."""
    bench = Bench(store, [EUROPE], HistoryLimits())
    conversation = await bench.open()
    await bench.talk(conversation, 50, 72)
    assert await store.totals(conversation.thread.id) == (50, 3600)
    assert await bench.summarizer.fold(conversation.thread.id)
    summary = await store.summary(conversation.thread.id)
    assert summary is not None
    assert (summary.text, summary.after, summary.through, summary.model) == (EUROPE, 0, 46, "scripted:nano")
    [prompt] = bench.model.prompts
    assert [message.text for message in prompt.context.history] == [f"m{n}" for n in range(1, 47)]
    context = await conversation.context("")
    assert context.summary == EUROPE
    assert [message.text for message in context.messages] == ["m47", "m48", "m49", "m50"]
    assert context.budget.summary + context.budget.window == summary.tokens + 4 * 72
    assert len(await store.since(conversation.thread.id, 0, 99)) == 50
    assert not await bench.summarizer.fold(conversation.thread.id)


@pytest.mark.spec("J4")
@pytest.mark.parametrize(("messages", "tokens", "due"), [(4, 2000, False), (5, 699, False), (5, 700, True)])
async def test_it_is_due_when_more_than_four_messages_reach_the_threshold(
    store: HistoryStore, messages: int, tokens: int, *, due: bool
) -> None:
    bench = Bench(store, [EUROPE], HistoryLimits())
    conversation = await bench.open()
    await bench.talk(conversation, messages, tokens)
    assert await bench.summarizer.is_due(conversation.thread.id) is due


@pytest.mark.spec("J3")
async def test_the_next_summary_is_made_of_the_last_one_and_what_left_the_window_since(store: HistoryStore) -> None:
    bench = Bench(store, ["first", "second"])
    conversation = await bench.open()
    for _ in range(2):
        await bench.talk(conversation, 10, 20)
        assert await bench.summarizer.fold(conversation.thread.id)
    prompt = bench.model.prompts[1]
    assert prompt.context.message == "first"
    assert "first" in prompt.turns[0].text
    assert [message.sequence for message in prompt.context.history] == list(range(7, 17))
    kept = [(summary.after, summary.through, summary.text) for summary in await store.summaries(conversation.thread.id)]
    assert kept == [(0, 6, "first"), (6, 16, "second")]


@pytest.mark.spec("J2")
async def test_the_window_begins_with_what_the_person_said_and_holds_two_cycles(store: HistoryStore) -> None:
    """A cycle of this bot has more messages than two: none is torn, and the last two stay whole."""
    bench = Bench(store, ["summary"])
    conversation = await bench.open()
    for cycle in range(5):
        for role, modal in (
            (MessageRole.USER, Modal.TEXT),
            (MessageRole.SYSTEM, Modal.MEMORY),
            (MessageRole.ASSISTANT, Modal.TEXT),
            (MessageRole.ASSISTANT, Modal.TEXT),
        ):
            await store.append(conversation.thread.id, Message(role, f"cycle {cycle}", modal, tokens=20))
    await bench.summarizer.fold(conversation.thread.id)
    summary = await store.summary(conversation.thread.id)
    assert summary is not None
    assert summary.through == 12
    assert {message.modal for message in bench.model.prompts[0].context.history} == {Modal.TEXT}


@pytest.mark.spec("J2")
async def test_a_window_without_the_persons_words_is_the_last_four_messages(store: HistoryStore) -> None:
    bench = Bench(store, ["summary"])
    conversation = await bench.open()
    for number in range(8):
        await store.append(conversation.thread.id, Message(MessageRole.ASSISTANT, str(number), tokens=20))
    await bench.summarizer.fold(conversation.thread.id)
    summary = await store.summary(conversation.thread.id)
    assert summary is not None
    assert summary.through == 4


async def test_what_only_recalled_memories_is_covered_without_asking_anybody(store: HistoryStore) -> None:
    bench = Bench(store, ["unasked"])
    conversation = await bench.open()
    for _ in range(8):
        await store.append(conversation.thread.id, Message(MessageRole.SYSTEM, {"id": "m"}, Modal.MEMORY, tokens=50))
    assert await bench.summarizer.fold(conversation.thread.id)
    assert bench.model.prompts == []
    summary = await store.summary(conversation.thread.id)
    assert summary is not None
    assert (summary.text, summary.through) == ("", 4)


async def test_a_long_way_is_gone_in_steps_that_a_model_can_read(store: HistoryStore) -> None:
    bench = Bench(store, lambda prompt: f"{prompt.context.message}+{len(prompt.context.history)}")
    conversation = await bench.open()
    await bench.talk(conversation, 504, 100)
    await bench.summarizer.fold(conversation.thread.id)
    summaries = await store.summaries(conversation.thread.id)
    assert [(summary.after, summary.through) for summary in summaries] == [
        (0, 60), (60, 120), (120, 180), (180, 240), (240, 300), (300, 360), (360, 420), (420, 480), (480, 500),
    ]  # fmt: skip
    assert summaries[-1].text == "+60+60+60+60+60+60+60+60+20"


async def test_a_message_too_big_for_a_step_is_a_step_of_its_own(store: HistoryStore) -> None:
    bench = Bench(store, ["summary"])
    conversation = await bench.open()
    await bench.talk(conversation, 6, 9_000)
    await bench.summarizer.fold(conversation.thread.id)
    assert [len(prompt.context.history) for prompt in bench.model.prompts] == [1, 1]


@pytest.mark.spec("J3")
async def test_a_summary_beyond_its_budget_is_folded_again(store: HistoryStore) -> None:
    bench = Bench(store, ["long+" * 100, "short enough"])
    conversation = await bench.open()
    await bench.talk(conversation, 10, 20)
    await bench.summarizer.fold(conversation.thread.id)
    assert [len(prompt.context.history) for prompt in bench.model.prompts] == [6, 0]
    assert bench.model.prompts[1].context.message == "long+" * 100
    summary = await store.summary(conversation.thread.id)
    assert summary is not None
    assert summary.text == "short enough"


@pytest.mark.spec("J3")
async def test_of_summaries_that_stay_too_long_the_shortest_is_taken_and_cut_to_its_budget(store: HistoryStore) -> None:
    bench = Bench(store, ["x" * 900, "Edmar. " * 60, "x" * 600])
    conversation = await bench.open()
    await bench.talk(conversation, 10, 20)
    await bench.summarizer.fold(conversation.thread.id)
    summary = await store.summary(conversation.thread.id)
    assert summary is not None
    assert (set(summary.text.split()), len(bench.model.prompts)) == ({"Edmar."}, 3)
    assert 25 < summary.tokens <= 50


def cut_beyond(messages: int) -> Callable[[Prompt], Answer]:
    """A model whose answer is cut off when it is given more messages than that."""

    def answer(prompt: Prompt) -> Answer:
        said = " ".join(message.text for message in prompt.context.history)
        return (
            (said[:5], Finish(Stop.LENGTH))
            if len(prompt.context.history) > messages
            else f"{prompt.context.message} {said}"
        )

    return answer


async def test_a_summary_that_was_cut_off_is_made_of_fewer_messages_and_misses_none(store: HistoryStore) -> None:
    bench = Bench(store, cut_beyond(2))
    conversation = await bench.open()
    await bench.talk(conversation, 10, 20)
    await bench.summarizer.fold(conversation.thread.id)
    summary = await store.summary(conversation.thread.id)
    assert summary is not None
    assert (summary.text.split(), summary.through) == ([f"m{number}" for number in range(1, 7)], 6)


@pytest.mark.spec("J3", "H6")
async def test_summaries_that_are_always_cut_off_stay_within_their_budget_for_ever(store: HistoryStore) -> None:
    bench = Bench(store, [("Edmar saves money for Europe. " * 40, Finish(Stop.LENGTH))])
    conversation = await bench.open()
    for _ in range(20):
        await bench.talk(conversation, 10, 20)
        await bench.summarizer.fold(conversation.thread.id)
    summary = await store.summary(conversation.thread.id)
    assert summary is not None
    assert summary.tokens <= 50
    assert (await conversation.context("")).budget.remaining > 0


async def test_an_empty_answer_neither_wipes_the_summary_nor_covers_what_it_did_not_read(store: HistoryStore) -> None:
    bench = Bench(store, ["Edmar", Finish(Stop.END)])
    conversation = await bench.open()
    await bench.talk(conversation, 10, 20)
    await bench.summarizer.fold(conversation.thread.id)
    await bench.talk(conversation, 10, 20)
    with pytest.raises(EmptyReply):
        await bench.summarizer.fold(conversation.thread.id)
    summary = await store.summary(conversation.thread.id)
    assert summary is not None
    assert (summary.text, summary.through) == ("Edmar", 6)


async def test_a_message_longer_than_a_call_takes_is_summarised_by_its_beginning(store: HistoryStore) -> None:
    bench = Bench(store, ["short"], replace(SMALL, max_context_tokens=2_000, batch_tokens=1_000))
    conversation = await bench.open()
    await store.append(conversation.thread.id, Message(MessageRole.USER, "word " * 6_000, tokens=7_500))
    await bench.talk(conversation, 10, 20)
    await bench.summarizer.fold(conversation.thread.id)
    assert all(len(prompt.turns[0].text) < 5_000 for prompt in bench.model.prompts)


@pytest.mark.spec("J8")
async def test_an_answer_never_waits_for_the_summary(store: HistoryStore) -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    class Slow(Summarizer):
        async def fold(self, thread_id: str) -> bool:
            asked.set()
            await go_on.wait()
            return await super().fold(thread_id)

    bench = Bench(store, ["summary"])
    bench.summaries._summarizer = Slow(store, bench.model, ByCharacters(), bench.clock, SMALL)
    async with bench.summaries:
        conversation = await bench.open()
        await bench.talk(conversation, 10, 20)
        conversation = await bench.open()  # as for the next message
        await conversation.add(Message(MessageRole.ASSISTANT, "answer", in_history=False))
        await asked.wait()
        assert len((await conversation.context("")).messages) == 11
        go_on.set()
        await bench.summaries.settle()
        assert (await conversation.context("")).summary == "summary"


@pytest.mark.spec("J8", "J9")
async def test_a_failed_summary_is_tried_again_and_nothing_is_lost(
    store: HistoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "core.history")
    bench = Bench(store, [ProviderDown("down"), ProviderDown("down"), "summary"])
    async with bench.summaries:
        conversation = await bench.open()
        await bench.talk(conversation, 10, 20)
        bench.summaries.schedule(conversation.thread.id)
        await bench.summaries.settle()
    assert bench.clock.monotonic() == 35
    assert len((await conversation.context("")).messages) == 4
    said = [record.message for record in caplog.records if record.name.startswith("core.history")]
    assert said == ["memory loaded", *["summary triggered", "summary failed"] * 2, "summary triggered", "summary done"]
    assert "m1" not in caplog.text


async def test_after_many_failures_it_waits_for_the_next_answer(store: HistoryStore) -> None:
    bench = Bench(store, [ProviderDown("down")])
    async with bench.summaries:
        conversation = await bench.open()
        await bench.talk(conversation, 10, 20)
        bench.summaries.schedule(conversation.thread.id)
        await bench.summaries.settle()
        assert len(bench.model.prompts) == 5
        assert len((await conversation.context("")).messages) == 10
        conversation = await bench.open()  # as for the next message
        await conversation.add(Message(MessageRole.ASSISTANT, "answer"))
        await bench.summaries.settle()
        assert len(bench.model.prompts) == 10


async def test_two_folds_never_run_for_one_thread_at_once_and_none_is_forgotten(store: HistoryStore) -> None:
    running: list[str] = []
    most = 0

    class Watched(Summarizer):
        async def fold(self, thread_id: str) -> bool:
            nonlocal most
            running.append(thread_id)
            most = max(most, running.count(thread_id))
            await asyncio.sleep(0)
            folded = await super().fold(thread_id)
            running.remove(thread_id)
            return folded

    bench = Bench(store, ["summary"])
    bench.summaries._summarizer = Watched(store, bench.model, ByCharacters(), bench.clock, SMALL)
    async with bench.summaries:
        conversation = await bench.open()
        bench.summaries.schedule(conversation.thread.id)
        await asyncio.sleep(0)
        await bench.talk(conversation, 10, 20)
        for _ in range(5):
            bench.summaries.schedule(conversation.thread.id)
        await bench.summaries.settle()
    assert most == 1
    assert await store.summary(conversation.thread.id) is not None


async def test_of_two_processes_that_fold_the_same_one_is_stored(store: HistoryStore) -> None:
    one, other = Bench(store, ["one"]), Bench(store, ["other"])
    conversation = await one.open()
    await one.talk(conversation, 10, 20)
    thread_id = conversation.thread.id
    await asyncio.gather(one.summarizer.fold(thread_id), other.summarizer.fold(thread_id))
    assert len(await store.summaries(thread_id)) == 1


async def test_leaving_breaks_off_what_is_under_way_and_begins_nothing_new(store: HistoryStore) -> None:
    def fail(_: Prompt) -> Answer:
        bench.asked.set()
        return ProviderDown("down")

    bench = Bench(store, fail)
    bench.summaries._clock = FakeClock()  # its retry never comes
    async with bench.summaries:
        conversation = await bench.open()
        await bench.talk(conversation, 10, 20)
        bench.summaries.schedule(conversation.thread.id)
        await bench.asked.wait()
    bench.summaries.schedule(conversation.thread.id)
    assert bench.summaries._running == {}
    assert await store.summary(conversation.thread.id) is None


async def test_a_policy_without_a_summary_makes_none(store: HistoryStore) -> None:
    bench = Bench(store, ["unasked"])
    async with bench.summaries:
        thread = (await bench.open()).thread
        await bench.conversations.set_policy(ROOM.user, thread.id, LAST_MESSAGES)
        conversation = await bench.open()
        await bench.talk(conversation, 10, 20)
        conversation = await bench.open()  # as for the next message
        await conversation.add(Message(MessageRole.ASSISTANT, "answer"))
        await bench.summaries.settle()
    assert bench.model.prompts == []
