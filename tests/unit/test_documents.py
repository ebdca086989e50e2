"""What the documents ask of a turn, seen from outside: what is stored, what is shown, what a model is asked."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from core.actions import ACTIONS
from core.actions.action import Action, Registry
from core.actions.memory_drafts import DraftAnswer, to_draft
from core.actions.memory_save import MEMORY_SAVE, Drafts
from core.actions.memory_update import MEMORY_UPDATE, Changes, MemoryPatch
from core.actions.memory_update import changed as with_change
from core.answering.turn import Turn
from core.dialogue import Outcome, Prompt, Step, StreamEvent, Task
from core.errors import InputError, ThreadTaken
from core.history.conversation import Conversations
from core.history.tokens import ByCharacters, Calibration
from core.threads import Summary, is_thread_id
from core.types import ChatKey, ConversationKey, MemoryItem, MemoryKind, Message, MessageRole, Modal, ThreadStatus
from tests.fakes.channel import RecordingChannel
from tests.fakes.clock import START, FakeClock
from tests.fakes.house import ANA, BIA, House, Script
from tests.fakes.model import Answer, ScriptedModel
from tests.fakes.talk import talking
from tests.unit.test_cycle import QUERY, SAVE, run

PLACE = ConversationKey(ChatKey("test", "c"), ANA)


async def wire(house: House) -> list[dict[str, Any]]:
    """Every message of Ana's conversation, as document 1 serialises it."""
    [thread] = await house.history.threads(ANA)
    return [dict(message.to_wire()) for message in await house.history.since(thread.id)]


# --- document 1: the messages of a turn -------------------------------------------------------------------------------


@pytest.mark.spec("T1", "T2", "T7", "T9")
async def test_every_message_of_a_turn_has_the_four_keys_with_what_document_1_gives_it() -> None:
    house = House(
        {
            Task.DECIDE: ["MemorySearch", "Finish"],
            Task.SEARCH_QUERIES: [QUERY],
            Task.FINISH: ["It is 123456"],
        }
    )
    memory_id = (await house.keep("123456", "aliexpress password")).id
    await run(house, "what is my aliexpress password?")
    asked, memory, answer = await wire(house)
    assert asked == {
        "chat-history": True,
        "modal": "text",
        "role": "user",
        "content": "what is my aliexpress password?",
    }
    assert (memory["chat-history"], memory["modal"], memory["role"]) == (True, "memory", "system")
    assert memory["content"]["id"] == memory_id
    shown = house.model.asked(Task.FINISH)[0].context.history[1]  # what is kept is its id: it is shown as it is by then
    assert isinstance(shown.content, dict)
    assert shown.content["content"] == "123456"
    assert answer == {"chat-history": False, "modal": "text", "role": "assistant", "content": "It is 123456"}
    for message in (asked, memory, answer):
        assert list(message) == ["chat-history", "modal", "role", "content"]
        assert json.loads(json.dumps(message)) == message


@pytest.mark.spec("T9")
async def test_one_memory_message_for_each_memory_found_which_the_next_decision_reads() -> None:
    house = House({Task.DECIDE: ["MemorySearch", "Finish"], Task.SEARCH_QUERIES: ['["code"]']})
    kept = {(await house.keep(content, "code")).id for content in ("1", "2", "3")}
    await run(house, "what are my codes?")
    _, *memories, _ = await wire(house)
    assert {memory["content"]["id"] for memory in memories} == kept
    assert len(memories) == 3
    following = house.model.asked(Task.DECIDE)[1].context.history
    assert [message.modal for message in following[-4:]] == [Modal.TEXT] + [Modal.MEMORY] * 3


CHANGES = {
    "MemorySave": (Task.SAVE_DRAFTS, SAVE),
    "MemoryUpdate": (Task.UPDATE_DRAFTS, '{"items": [{"id": "ID", "type": null, "content": "new", "bindings": null}]}'),
    "MemoryDelete": (Task.DELETE_IDS, '{"ids": ["ID"]}'),
}
STATUSES = {
    "MemorySearch": [
        "Searching memories...",
        "Searching memories, preparing...",
        "Searching memories, looking them up...",
    ],
    "MemorySave": ["Saving memories...", "Saving memories, preparing...", "Saving memories, writing..."],
    "MemoryUpdate": ["Updating memories...", "Updating memories, writing..."],
    "MemoryDelete": ["Deleting memories..."],  # it is asked about first
}


async def changed(action: str) -> tuple[House, list[str]]:
    """Search, so that there is a memory in view, then do that; return the house and every status that was told."""
    task, answer = CHANGES[action]
    house = House({Task.DECIDE: ["MemorySearch", action, "Finish"], Task.SEARCH_QUERIES: [QUERY]})
    memory_id = (await house.keep("123456", "aliexpress password")).id
    house.model._script[task] = [answer.replace("ID", memory_id)]
    told: list[str] = []
    await run(house, "remember that my new aliexpress password is 123456", told=told)
    return house, told


@pytest.mark.spec("T10", "T11", "T12")
@pytest.mark.parametrize("action", CHANGES)
async def test_what_was_done_is_told_in_a_text_that_stays_in_the_history(action: str) -> None:
    house, _ = await changed(action)
    _, _, report, *answers = await wire(house)  # after the question and the memory
    assert (report["role"], report["modal"], report["chat-history"]) == ("assistant", "text", True)
    assert report["content"].strip()
    assert [answer["chat-history"] for answer in answers] == ([] if action == "MemoryDelete" else [False])  # it asks


@pytest.mark.spec("T4", "T9", "T10", "T11", "T12")
@pytest.mark.parametrize("action", CHANGES)
async def test_every_action_says_first_what_it_is_about_to_do(action: str) -> None:
    _, told = await changed(action)
    thinking = "AI is thinking..."
    ends = [at for at, status in enumerate(told) if status == thinking]
    assert told[ends[0] + 1 : ends[1]] == STATUSES["MemorySearch"]
    assert told[ends[1] + 1 : ends[1] + 1 + len(STATUSES[action])] == STATUSES[action]


TWO = """{"items": [
    {"type": "text", "content": "123456", "bindings": ["user data", " ", "aliexpress password", "user data"]},
    {"type": "text", "content": "red door", "bindings": ["house", "entrance"]}]}"""


async def unembedded(house: House) -> list[str]:
    return list((await house.store.unembedded(ANA, house.embedder.space, 99)).values())


@pytest.mark.spec("T10", "T11")
async def test_every_binding_of_every_memory_is_kept_and_has_a_vector_also_after_a_change() -> None:
    house = House({Task.DECIDE: ["MemorySave", "Finish", "MemorySearch", "MemoryUpdate", "Finish"]})
    house.model._script[Task.SAVE_DRAFTS] = [TWO]
    house.model._script[Task.SEARCH_QUERIES] = ['["house"]']
    await run(house, "remember that my aliexpress password is 123456, and that I have a red door")
    kept = {item.content: item for item in await house.memories.of(ANA).page(limit=9)}
    assert {content: item.bindings for content, item in kept.items()} == {
        "123456": ("user data", "aliexpress password"),
        "red door": ("house", "entrance"),
    }
    assert await unembedded(house) == []
    change = {"id": kept["red door"].id, "type": None, "content": "blue door", "bindings": ["gate", "way in"]}
    house.model._script[Task.UPDATE_DRAFTS] = [json.dumps({"items": [change]})]
    await run(house, "what is my house like? it has a blue door now")
    [door] = await house.memories.of(ANA).get([kept["red door"].id])
    assert (door.content, door.bindings) == ("blue door", ("gate", "way in"))
    assert await unembedded(house) == []


@pytest.mark.spec("T9")
async def test_every_query_is_embedded_and_finds_its_memory() -> None:
    house = House({Task.DECIDE: ["MemorySearch", "Finish"], Task.SEARCH_QUERIES: ['["house door", "shop password"]']})
    kept = {(await house.keep("red", "house door")).id, (await house.keep("123456", "shop password")).id}
    house.embedder.calls.clear()
    await run(house, "what do you know?")
    assert {"house door", "shop password"} <= {text for call in house.embedder.calls for text in call}
    memories = [message["content"]["id"] for message in await wire(house) if message["modal"] == "memory"]
    assert set(memories) == kept


@pytest.mark.spec("T11", "T12")
@pytest.mark.parametrize("action", ["MemoryUpdate", "MemoryDelete"])
async def test_an_id_that_was_not_shown_is_told_as_not_done_beside_what_is(action: str) -> None:
    house = House({Task.DECIDE: ["MemorySearch", action, "Finish"], Task.SEARCH_QUERIES: [QUERY]})
    memory_id = (await house.keep("123456", "aliexpress password")).id
    ids = [memory_id, "zzzzzzzzzz"]
    changes = [{"id": each, "type": None, "content": "999", "bindings": None} for each in ids]
    task = CHANGES[action][0]
    house.model._script[task] = [json.dumps({"items": changes} if action == "MemoryUpdate" else {"ids": ids})]
    turn = await house.turn("my aliexpress password is 999 now", house.channel())
    await house.think(turn)
    step = turn.log.steps[1]
    assert (step.refused_ids, step.missing) == (("zzzzzzzzzz",), ("",))


@pytest.mark.spec("T10", "T11")
async def test_with_remembering_off_an_action_that_is_run_all_the_same_writes_nothing() -> None:
    house = House()
    memory_id = (await house.keep("123456", "aliexpress password")).id
    turn = await house.turn("my aliexpress password is 999 now", house.channel())
    turn.log.asked, turn.person.remembers = await turn.conversation.add(turn.asked), False
    await turn.answer.recall(await turn.memory.get([memory_id]))
    saved = await MEMORY_SAVE.run(turn, Drafts([DraftAnswer("text", "999", ["aliexpress"])]))
    updated = await MEMORY_UPDATE.run(turn, Changes([MemoryPatch(memory_id, "text", "999", None)]))
    assert [item.content for item in await house.memories.of(ANA).page(limit=9)] == ["123456"]
    assert [saved.outcome, updated.outcome] == [Outcome.NOTHING] * 2


@pytest.mark.spec("T10", "T11")
def test_a_draft_keeps_its_end_and_a_change_its_type() -> None:
    draft = to_draft(DraftAnswer("text", "parking spot B12", ["parking"], until="2026-12-01"), UTC)
    assert draft is not None
    assert draft.until == datetime(2026, 12, 2, tzinfo=UTC)
    item = MemoryItem("m", MemoryKind.TEXT, "one", ("b",), START, START)
    rewritten = with_change(item, MemoryPatch("m", "json", '{"a": 1}', None))
    assert rewritten is not None
    assert rewritten.kind is MemoryKind.JSON


ANSWER = "One is here. Two is there. Three is gone."
ASKED = "There are two. Which shop is it for? Tell me."


class Halting(ScriptedModel):
    """Halts in its last answer until the person sees a part of it: `seen`."""

    channel: RecordingChannel
    clock: FakeClock
    last = ""
    seen = ""

    async def _events(self, answer: Answer) -> AsyncIterator[StreamEvent]:
        async for event in super()._events(answer):
            yield event
            for _ in range(100 if answer == self.last and not self.seen else 0):
                await self.clock.advance(0.01)
                shown = [text for text in self.channel.texts if text and self.last.startswith(text[:10])]
                self.seen = shown[-1] if shown else ""


async def halted(house: House, text: str, answer: str) -> tuple[str, RecordingChannel]:
    """Say that to a bot whose chat model halts in that answer; return what was to be seen meanwhile, and in the end."""
    channel, model = house.channel(), Halting(house.script)
    model.channel, model.clock, model.last = channel, cast("FakeClock", house.clock), answer
    house.models = replace(house.models, chat=model)
    turn = await house.turn(text, channel)
    await house.think(turn)
    return model.seen, channel


@pytest.mark.spec("T7")
async def test_finish_is_streamed_by_the_chat_model_and_nothing_is_decided_after_it() -> None:
    house = House(
        {
            Task.DECIDE: ["Finish", "MemorySave"],
            Task.FINISH: [ANSWER],
            Task.SAVE_DRAFTS: [SAVE],
        }
    )
    seen, channel = await halted(house, "hi", ANSWER)
    assert seen.startswith("One is here.")
    assert "gone" not in seen
    assert channel.texts == [ANSWER]
    assert len(house.model.asked(Task.DECIDE)) == 1
    assert not house.model.asked(Task.SAVE_DRAFTS)


@pytest.mark.spec("T8")
async def test_a_question_is_streamed_after_the_search_and_its_answer_begins_the_next_turn() -> None:
    house = House(
        {
            Task.DECIDE: ["MemorySearch", "Question", "Finish"],
            Task.SEARCH_QUERIES: [QUERY],
            Task.QUESTION: [ASKED],
        }
    )
    seen, _ = await halted(house, "what is my password?", ASKED)
    question = (await wire(house))[-1]
    assert question == {
        "chat-history": True,
        "modal": "text",
        "role": "assistant",
        "content": ASKED,
    }
    assert seen.startswith("There are two.")
    assert "Tell me" not in seen
    assert len(house.model.asked(Task.DECIDE)) == 2
    await house.say("aliexpress")
    [next_decision] = house.model.asked(Task.DECIDE)[2:]
    assert [message.text for message in next_decision.context.history[-2:]] == [
        ASKED,
        "aliexpress",
    ]


@pytest.mark.spec("T13")
async def test_a_tool_takes_its_place_in_the_table_and_the_cycle_without_another_change() -> None:
    async def use(turn: Turn, _: None) -> Step:
        for role, text in ((MessageRole.ASSISTANT, "weather(Lisbon)"), (MessageRole.TOOL, "rain")):
            await turn.conversation.add(Message(role, text, turn=turn.asked.turn, pair="call-1"))
        return Step("UseTool", Outcome.DONE, detail="it rains")

    tool = Action("UseTool", "The person asks for something that only a tool knows.", use)
    house = House({Task.DECIDE: ["UseTool", "Finish"], Task.FINISH: ["It rains."]})
    house.registry = Registry((*ACTIONS[:-1], tool, ACTIONS[-1]))
    channel = await run(house, "will it rain?")
    assert "UseTool" in house.model.asked(Task.DECIDE)[0].context.choices
    assert [(m.role, m.text) for m in house.model.asked(Task.FINISH)[0].context.history[-2:]] == [
        (MessageRole.ASSISTANT, "weather(Lisbon)"),
        (MessageRole.TOOL, "rain"),
    ]
    assert channel.texts == ["It rains."]
    house.registry.disable("UseTool")
    await run(house, "will it rain?")
    assert "UseTool" not in house.model.asked(Task.DECIDE)[-1].context.choices
    assert not [action.name for action in ACTIONS if "tool" in action.name.casefold()], "named, and not built"


# --- document 2: what a model is shown --------------------------------------------------------------------------------


@pytest.mark.spec("J1")
async def test_a_prompt_is_guidelines_then_the_summary_then_the_window_word_for_word_then_the_message() -> None:
    house = House({Task.DECIDE: ["Finish"], Task.FINISH: ["first answer", "second answer", "third answer"]})
    await house.say("first question", "second question")
    bare = house.model.asked(Task.FINISH)[-1]
    assert "[HISTÓRICO_RESUMIDO]" not in "".join(turn.text for turn in bare.turns)
    conversation = await house.conversations.open(PLACE)
    await house.conversations.set_policy(ANA, conversation.thread.id, "summary")
    await house.history.fold(conversation.thread.id, Summary("Ana has a cat.", through=2, tokens=5))
    await house.say("third question")
    prompt = house.model.asked(Task.FINISH)[-1]
    for mark in ("[HISTÓRICO_RESUMIDO]", "[JANELA_ATUAL]", "<memory>", "long-term memory"):
        assert mark in prompt.system
    text = "\n".join(f"{turn.role.value}: {turn.text}" for turn in prompt.turns)
    parts = (
        "[HISTÓRICO_RESUMIDO]",
        "Ana has a cat.",
        "[JANELA_ATUAL]",
        "second question",
        "assistant: second answer",
        "third question",
    )
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "first" not in text
    roles = [turn.role for turn in prompt.turns]
    assert roles == [MessageRole.USER, MessageRole.ASSISTANT, MessageRole.USER]


@pytest.mark.spec("J9")
async def test_the_log_tells_of_the_message_and_of_what_was_loaded_before_anything_is_thought(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "core")
    house = House({Task.DECIDE: ["Finish"]})
    async with house.chatbot() as bot:
        for message_id in ("1", "1", "2"):  # a repeat is no message
            incoming = house.incoming("a secret question", message_id=message_id)
            await (await bot.receive(incoming, house.channel()))
    told = [
        vars(record)
        for record in caplog.records
        if record.name in {"core.answering.pipeline", "core.answering.chatbot", "core.history.conversation"}
    ]
    assert [line["msg"] for line in told] == ["message received", "memory loaded", "turn"] * 2
    assert (told[0]["platform"], told[0]["chars"], told[0]["private"]) == ("test", 17, True)
    assert (told[4]["messages"], told[1]["thread_id"]) == (2, told[2]["thread_id"])
    assert "secret" not in caplog.text


# --- document 3: each model has its own limit -------------------------------------------------------------------------


@pytest.mark.spec("H1")
async def test_each_mode_is_shown_what_its_own_model_takes() -> None:
    house = House({Task.DECIDE: lambda prompt: "Finish" if prompt.context.steps else "MemorySearch"})
    house.model._script[Task.SEARCH_QUERIES] = [QUERY]
    await house.say(*(f"message {number} " + "x" * 400 for number in range(13)))
    calibration = Calibration()
    calibration.observe_window("test:chat", 1_700)
    calibration.observe_window("test:reasoning", 1_200)
    house.conversations = Conversations(
        house.history, house.clock, calibration=calibration, model_of=lambda mode: f"test:{mode}"
    )
    house.model.prompts.clear()
    await house.say("and now?")

    def shown(task: Task) -> int:
        return len(house.model.asked(task)[0].context.history)

    assert shown(Task.SEARCH_QUERIES) < shown(Task.FINISH) < shown(Task.DECIDE)
    for task, limit in ((Task.SEARCH_QUERIES, 1_200), (Task.FINISH, 1_700)):
        prompt = house.model.asked(task)[0]
        assert sum(ByCharacters().count(turn.text) for turn in prompt.turns) < limit


# --- document 4: threads ----------------------------------------------------------------------------------------------


@pytest.mark.spec("D1")
@pytest.mark.parametrize("name", ["ab", "a" * 65, "a b", "ação", "a/b", "../x", "abc\n", ""])
async def test_no_thread_has_an_id_of_another_alphabet_or_length(name: str) -> None:
    house = House()
    assert not is_thread_id(name)
    if name:
        with pytest.raises(InputError, match="3 to 64"):
            await house.conversations.open(PLACE, name)
        assert await house.history.threads(ANA) == []
    conversation = await house.conversations.open(PLACE)
    assert is_thread_id(conversation.thread.id)


@pytest.mark.spec("D1")
async def test_a_thread_that_is_named_is_begun_gone_on_with_and_told_apart() -> None:
    house = House()
    first = await house.conversations.open(PLACE)
    await house.conversations.set_policy(ANA, first.thread.id, "last-tokens")
    for name in ("a-Z_9", "x" * 64):
        named = await house.conversations.open(PLACE, name)
        assert named.thread.id == name
        assert named.thread.policy == "last-tokens"
        assert named.thread.metadata == first.thread.metadata == {"origin": "test", "version": ""}
        await named.add(Message(MessageRole.USER, name))
    assert (await house.conversations.open(PLACE)).thread.id == "x" * 64
    again = await house.conversations.open(PLACE, "a-Z_9")
    assert [m.text for m in (await again.context("")).messages] == ["a-Z_9"]
    assert {t.id: t.status for t in await house.history.threads(ANA)} == {
        first.thread.id: ThreadStatus.ARCHIVED,
        "a-Z_9": ThreadStatus.ACTIVE,
        "x" * 64: ThreadStatus.ARCHIVED,
    }


@pytest.mark.spec("D1", "D6")
async def test_a_named_thread_that_was_reset_goes_on_under_the_next_number_and_knows_nothing() -> None:
    house = House()
    for number in ("", "-2", "-3"):
        conversation = await house.conversations.open(PLACE, "work")
        assert conversation.thread.id == f"work{number}"
        assert (await conversation.context("")).messages == ()
        await conversation.add(Message(MessageRole.USER, "hi"))
        await conversation.reset()


@pytest.mark.spec("D1", "T15")
async def test_the_id_of_anothers_thread_opens_nothing() -> None:
    house = House()
    theirs = (await house.conversations.open(ConversationKey(PLACE.chat, BIA), "work")).thread
    for place in (PLACE, ConversationKey(ChatKey("test", "other"), BIA)):
        with pytest.raises(ThreadTaken):
            await house.conversations.open(place, "work")
    assert await house.history.threads(ANA) == []
    assert await house.history.thread("work") == theirs


@pytest.mark.spec("D6")
async def test_reset_marks_the_thread_reset_and_what_was_said_in_it_stays_in_the_history(tmp_path: Any) -> None:
    async with talking(tmp_path) as talk:
        await talk.say("my name is Edmar")
        [before] = await talk.house.history.threads(ANA)
        await talk.say("/reset")
        after = await talk.house.history.thread(before.id)
        assert after is not None
        assert after.status is ThreadStatus.RESET
        assert "my name is Edmar" in [m.text for m in await talk.house.history.since(before.id)]
        await talk.say("hello")
        statuses = {t.id: t.status for t in await talk.house.history.threads(ANA)}
        assert sorted(statuses.values()) == [ThreadStatus.ACTIVE, ThreadStatus.RESET]


@pytest.mark.spec("D1")
async def test_a_message_that_waits_for_a_restart_is_answered_in_the_thread_that_it_named(tmp_path: Any) -> None:
    async with talking(tmp_path) as talk:
        incoming = replace(talk.house.incoming("hello"), thread_id="work")
        assert await talk.house.inbox.accept(incoming)
        await talk.restart()
        assert [owed.thread_id for owed in await talk.house.inbox.owed("test")] == ["work"]


SCRIPT: Script = {Task.DECIDE: ["Finish"]}


@pytest.mark.spec("T2", "T3", "T4")
async def test_a_decision_is_asked_with_the_message_the_history_and_every_action_and_answers_a_name_only() -> None:
    house = House(SCRIPT)
    await house.say("first", "second")
    decision: Prompt = house.model.asked(Task.DECIDE)[-1]
    assert decision.context.message == "second"
    assert [(m.role, m.text, m.in_history) for m in decision.context.history] == [
        (MessageRole.USER, "first", True),
        (MessageRole.ASSISTANT, "ok", False),
        (MessageRole.USER, "second", True),
    ]
    able = [action for action in house.registry.enabled if action.needs is None]  # nothing is in view
    assert decision.context.choices == tuple(action.name for action in able)
    assert all(f"- {action.name}: {action.when}" in decision.turns[-1].text for action in able)


@pytest.mark.spec("T3")
async def test_the_cycle_goes_on_until_an_action_ends_it() -> None:
    house = House(
        {
            Task.DECIDE: ["MemorySave", "MemorySearch", "Question"],
            Task.SAVE_DRAFTS: [SAVE],
            Task.SEARCH_QUERIES: [QUERY],
        }
    )
    turn = await house.turn("hi", house.channel())
    await house.think(turn)
    assert [step.action for step in turn.log.steps] == ["MemorySave", "MemorySearch", "Question"]
