"""The chain: who is asked when, and who is left alone."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import replace

import pytest

from core.dialogue import Delta, Finish, Prompt, PromptTurn, Stop, StreamEvent, Task, Tool, ToolCall, ToolResult
from core.errors import (
    BadReply,
    ContextTooLong,
    EmptyReply,
    KeyRejected,
    ProviderBusy,
    ProviderDown,
    ProviderError,
    ProviderRefused,
    StreamCut,
)
from core.models import choose, complete
from core.ports import ChatModel
from core.providers.failure import Rejected
from core.providers.fallback import FIRST_REST_S, LONGEST_REST_S, ChainLink, Circuit, FallbackModel
from core.tasks import Trace, traced
from core.types import ChatKey, Incoming, MessageRole, UserKey
from tests.fakes.clock import START, FakeClock
from tests.fakes.model import Answer, Calls, ScriptedModel
from tests.fakes.wires import gather, prompt

DOWN = ProviderDown("a:1 is down")


def scripted(name: str, *answers: Answer) -> ScriptedModel:
    return ScriptedModel({Task.FINISH: answers}, name)


def chain(clock: FakeClock, *models: ChatModel) -> FallbackModel:
    return FallbackModel([ChainLink(model, Circuit(clock)) for model in models])


async def read(model: ChatModel) -> str:
    """Read an answer as it comes."""
    async with model.stream(prompt()) as events:
        return "".join([event.text async for event in events if isinstance(event, Delta)])


async def ask(model: ChatModel) -> str:
    return (await complete(model, prompt())).text


@pytest.mark.parametrize("failure", [DOWN, ProviderBusy("busy"), KeyRejected("key"), BadReply("x"), Rejected("x", "y")])
async def test_when_the_first_does_not_answer_the_next_does_and_the_log_says_so(
    clock: FakeClock, failure: ProviderError, caplog: pytest.LogCaptureFixture
) -> None:
    model = chain(clock, scripted("a:1", failure), scripted("b:2", "oi"))
    with caplog.at_level(logging.WARNING):
        assert await ask(model) == "oi"
    assert "b:2" in caplog.text
    assert model.name == "a:1"


@pytest.mark.parametrize("failure", [ProviderRefused("no"), ContextTooLong("long")])
async def test_what_is_about_the_question_is_not_asked_of_another(clock: FakeClock, failure: ProviderError) -> None:
    second = scripted("b:2", "oi")
    with pytest.raises(type(failure)):
        await ask(chain(clock, scripted("a:1", failure), second))
    assert not second.prompts


async def test_when_nobody_answers_the_last_failure_is_told(clock: FakeClock) -> None:
    with pytest.raises(KeyRejected):
        await ask(chain(clock, scripted("a:1", DOWN), scripted("b:2", KeyRejected("key"))))


class Breaking(ChatModel):
    """Says a word and breaks off; says whether it was closed."""

    def __init__(self) -> None:
        self.asked = 0
        self.closed = 0

    @property
    def name(self) -> str:
        return "breaking:1"

    @asynccontextmanager
    async def stream(self, prompt: Prompt) -> AsyncIterator[AsyncIterator[StreamEvent]]:  # noqa: ARG002
        self.asked += 1
        try:
            yield self._events()
        finally:
            self.closed += 1

    async def _events(self) -> AsyncIterator[StreamEvent]:
        yield Delta("metade")
        raise StreamCut("cut")


async def test_an_answer_that_has_begun_is_nobody_elses(clock: FakeClock) -> None:
    second = scripted("b:2", "oi")
    broken = Breaking()
    with pytest.raises(StreamCut):
        await read(chain(clock, broken, second))
    assert not second.prompts
    assert broken.closed == 1


async def test_a_cut_answer_that_nobody_saw_is_asked_for_again_and_then_of_the_next(clock: FakeClock) -> None:
    cut = ("half", StreamCut("cut"))
    first, second = scripted("a:1", cut, cut), scripted("b:2", "oi")
    assert await ask(chain(clock, first, second)) == "oi"
    assert len(first.prompts) == 2
    assert await ask(chain(clock, scripted("a:1", cut, "whole"), second)) == "whole"


@pytest.mark.parametrize("empty", [Finish(Stop.END), Finish(Stop.LENGTH), ("\n ", Finish(Stop.END))])
async def test_an_answer_without_a_word_is_asked_for_again_and_then_of_the_next(
    clock: FakeClock, empty: Answer
) -> None:
    first, second = scripted("a:1", empty, empty), scripted("b:2", "oi")
    assert await read(chain(clock, first, second)) == "oi"
    assert len(first.prompts) == 2
    assert await read(chain(clock, scripted("a:1", empty, "late"), second)) == "late"
    with pytest.raises(EmptyReply):
        await read(chain(clock, scripted("a:1", empty)))


async def test_a_refusal_without_a_word_is_a_refusal(clock: FakeClock) -> None:
    second = scripted("b:2", "oi")
    with pytest.raises(ProviderRefused):
        await ask(chain(clock, scripted("a:1", Finish(Stop.REFUSED)), second))
    assert not second.prompts


async def test_leaving_early_closes_the_model_that_answers(clock: FakeClock) -> None:
    broken = Breaking()
    async with chain(clock, broken).stream(prompt()) as events:
        assert await anext(events) == Delta("metade")
    assert broken.closed == 1


async def test_a_model_that_keeps_failing_rests_and_comes_back_by_itself(clock: FakeClock) -> None:
    first, second = scripted("a:1", DOWN, DOWN, DOWN, "voltei"), scripted("b:2", "oi")
    model = chain(clock, first, second)
    assert [await ask(model) for _ in range(5)] == ["oi"] * 5
    assert len(first.prompts) == 3
    await clock.advance(FIRST_REST_S)
    assert await ask(model) == "voltei"


async def test_a_failed_return_doubles_the_rest_up_to_a_limit(clock: FakeClock) -> None:
    circuit = Circuit(clock)
    rests = []
    for _ in range(5000):  # two weeks of an outage
        circuit.failed(DOWN)
        rests.append(circuit.rest_s)
    assert rests[:6] == [0.0, 0.0, FIRST_REST_S, 2 * FIRST_REST_S, 4 * FIRST_REST_S, 8 * FIRST_REST_S]
    assert rests[-1] == LONGEST_REST_S
    circuit.succeeded()
    assert circuit.rest_s == 0.0


async def test_a_call_that_was_under_way_does_not_shorten_a_rest(clock: FakeClock) -> None:
    circuit = Circuit(clock)
    circuit.failed(ProviderBusy("busy", 60.0))
    circuit.failed(DOWN)
    assert circuit.rest_s == 60.0


async def test_a_wait_that_a_provider_names_is_kept(clock: FakeClock) -> None:
    first, second = scripted("a:1", ProviderBusy("busy", 20.0), "voltei"), scripted("b:2", "oi")
    model = chain(clock, first, second)
    assert await ask(model) == "oi"
    await clock.advance(19.5)
    assert await ask(model) == "oi"
    await clock.advance(1.0)
    assert await ask(model) == "voltei"


async def test_when_all_rest_the_wait_is_told_and_nobody_is_asked(clock: FakeClock) -> None:
    only = scripted("a:1", ProviderBusy("busy", 20.0))
    model = chain(clock, only)
    with pytest.raises(ProviderBusy):
        await ask(model)
    with pytest.raises(ProviderBusy) as caught:
        await ask(model)
    assert caught.value.retry_after_s == 20.0
    assert len(only.prompts) == 1


@pytest.mark.parametrize(("failure", "told"), [(DOWN, ProviderDown), (KeyRejected("key"), KeyRejected)])
async def test_who_asks_a_resting_model_is_told_what_is_wrong_with_it(
    clock: FakeClock, failure: ProviderError, told: type[ProviderError]
) -> None:
    only = scripted("a:1", failure)
    model = chain(clock, only)
    for _ in range(4):
        with pytest.raises(ProviderError):
            await ask(model)
    with pytest.raises(ProviderError) as caught:
        await ask(model)
    assert type(caught.value) is told
    assert "left alone for another 10 s" in str(caught.value)
    assert len(only.prompts) == 3


NOTHING = Finish(Stop.END)


def question_of(user: str) -> AbstractContextManager[None]:
    key = UserKey("test", user)
    return traced(Trace("1", 0.0, Incoming(ChatKey("test", user), key, user, user, "oi", START)))


@pytest.mark.parametrize("unusable", [NOTHING, BadReply("x")])
async def test_one_persons_empty_answers_leave_the_model_to_all_others(clock: FakeClock, unusable: Answer) -> None:
    only = scripted("a:1", *[unusable] * 10)
    model = chain(clock, only)
    for _ in range(5):
        with question_of("ana"), pytest.raises((EmptyReply, BadReply)):
            await ask(model)
    only.answer(Task.FINISH, ["hello"])
    with question_of("bia"):
        assert await ask(model) == "hello"


async def test_a_model_that_answers_nobody_rests_and_says_whose_questions_failed(clock: FakeClock) -> None:
    model = chain(clock, scripted("a:1", *[NOTHING] * 10))
    for user in ("ana", "ana", "bia"):
        with question_of(user), pytest.raises(EmptyReply):
            await ask(model)
    with question_of("caro"), pytest.raises(EmptyReply, match=r"left alone .* failures of 2 people"):
        await ask(model)


async def test_an_outage_is_the_servers_whoever_sees_it(clock: FakeClock) -> None:
    model = chain(clock, scripted("a:1", DOWN))
    for _ in range(3):
        with question_of("ana"), pytest.raises(ProviderDown):
            await ask(model)
    with question_of("bia"), pytest.raises(ProviderDown, match=r"left alone .* failures of its server"):
        await ask(model)


async def test_a_question_that_a_model_cannot_take_does_not_make_it_rest(clock: FakeClock) -> None:
    answers: Sequence[Answer] = [Rejected("no", "why")] * 5
    first = scripted("a:1", *answers)
    model = chain(clock, first, scripted("b:2", "oi"))
    for _ in range(5):
        await ask(model)
    assert len(first.prompts) == 5


async def test_a_whole_answer_forgets_earlier_failures(clock: FakeClock) -> None:
    first = scripted("a:1", DOWN, DOWN, "oi", DOWN, DOWN, "fim")
    model = chain(clock, first, scripted("b:2", "dois"))
    assert [await ask(model) for _ in range(6)] == ["dois", "dois", "oi", "dois", "dois", "fim"]


async def test_a_cut_answer_counts_as_a_failure(clock: FakeClock) -> None:
    broken = Breaking()
    model = chain(clock, broken, scripted("b:2", "oi"))
    for _ in range(3):
        with pytest.raises(StreamCut):
            await read(model)
    assert await read(model) == "oi"
    assert broken.asked == 3


def deciding(name: str, *answers: Answer) -> ScriptedModel:
    return ScriptedModel({Task.DECIDE: answers}, name)


async def test_a_decision_cut_off_by_the_limit_is_asked_again_and_then_of_the_next(clock: FakeClock) -> None:
    first = deciding("a:1", ("Finish is one way, but", Finish(Stop.LENGTH)))
    second = deciding("b:2", '{"action": "Question"}')
    names = ["Finish", "Question"]
    assert await choose(chain(clock, first, second), prompt(task=Task.DECIDE), names) == "Question"
    assert [len(first.prompts), len(second.prompts)] == [2, 1]


async def test_the_last_of_a_chain_is_told_what_was_wrong_with_its_cut_decision(clock: FakeClock) -> None:
    only = deciding("a:1", ("Finish is one way, but", Finish(Stop.LENGTH)), '{"action": "Question"}')
    assert await choose(chain(clock, only), prompt(task=Task.DECIDE), ["Finish", "Question"]) == "Question"
    assert "exactly one" in only.prompts[-1].turns[-1].text


async def test_a_decision_that_is_whole_before_the_limit_counts(clock: FakeClock) -> None:
    first = deciding("a:1", ('{"action": "Finish"}\n\n\n', Finish(Stop.LENGTH)))
    second = deciding("b:2", '{"action": "Question"}')
    assert await choose(chain(clock, first, second), prompt(task=Task.DECIDE), ["Finish", "Question"]) == "Finish"


async def test_a_call_without_a_word_is_an_answer_and_the_next_model_may_take_the_call_after_it(
    clock: FakeClock,
) -> None:
    """Between two calls of a turn another model goes on; it is asked with all that was called."""
    asked = replace(prompt(), tools=(Tool("Dance", "to dance", {"type": "object"}),))
    first = ScriptedModel({Task.FINISH: [Calls([("Dance", {})]), DOWN]}, "a:1")
    second = scripted("b:2", "oi")
    model = chain(clock, first, second)
    call, finish = await gather(model, asked)
    assert isinstance(call, ToolCall)
    assert isinstance(finish, Finish)
    assert not second.prompts
    turns = (
        PromptTurn(MessageRole.ASSISTANT, "", (call,)),
        PromptTurn(MessageRole.USER, "", results=(ToolResult(call, "danced"),)),
    )
    followed = replace(asked, turns=(*asked.turns, *turns))
    assert Delta("oi") in await gather(model, followed)
    assert second.prompts == [followed]
