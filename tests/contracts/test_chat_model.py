"""The promise of ChatModel, held by every implementation."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import pytest

from core.dialogue import Delta, Finish, Stop, StreamEvent, Task
from core.limited import LimitedMind
from core.models import complete
from core.ports import ChatModel
from core.providers.anthropic import AnthropicEndpoint
from core.providers.openai import OpenAIEndpoint
from core.providers.streamed import ModelOptions
from tests.fakes.http_server import Answer, Asked
from tests.fakes.model import HashEmbedder, ScriptedModel
from tests.fakes.wires import Api, entries, gather, prompt, wire

SAID = "Guardei: a senha é 123456."


def echo(text: str) -> list[str]:
    """What the models that can be told say: their question again, in pieces."""
    return re.findall(r"\S+ ?", f"Você disse: {text}")


def echoing(api: Api) -> Callable[[Asked], Answer]:
    return lambda asked: api.says(*echo(api.words(entries(asked.body)[-1])))


@pytest.fixture(
    params=[
        "anthropic",
        "openai",
        "responses",
        "llmock-anthropic",
        "llmock-openai",
        "llmock-responses",
        "scripted",
        "limited",
    ]
)
async def model(request: pytest.FixtureRequest) -> AsyncIterator[ChatModel]:
    """Every implementation, told what to say where it can be told."""
    async with AsyncExitStack() as stack:
        match request.param.split("-"):
            case ["scripted"]:
                yield ScriptedModel({Task.FINISH: lambda prompt: "".join(echo(prompt.turns[-1].text))})
            case ["limited"]:
                yield LimitedMind(HashEmbedder())
            case ["llmock", vendor]:
                mock = request.getfixturevalue("llmock")
                mock.reply(SAID, times=None)
                endpoint = (
                    AnthropicEndpoint("key", mock.base_url("anthropic"))
                    if vendor == "anthropic"
                    else OpenAIEndpoint("key", mock.base_url("openai"), responses=vendor == "responses")
                )
                stack.push_async_callback(endpoint.aclose)
                yield endpoint.model(ModelOptions("m"))
            case [label]:
                lab = await stack.enter_async_context(wire(label))
                lab.server.answers = [echoing(lab.api)]
                yield await stack.enter_async_context(lab.model())


def text_of(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, Delta))


@pytest.mark.spec("T14")
async def test_an_answer_is_deltas_and_then_exactly_one_finish(model: ChatModel) -> None:
    *deltas, finish = await gather(model, prompt())
    assert deltas
    assert all(isinstance(delta, Delta) and delta.text for delta in deltas)
    assert isinstance(finish, Finish)
    assert finish.stop is Stop.END


async def test_usage_adds_up(model: ChatModel) -> None:
    usage = (await complete(model, prompt())).usage
    assert 0 <= usage.cached_tokens <= usage.input_tokens
    assert 0 <= usage.reasoning_tokens <= usage.output_tokens


async def test_a_reader_may_leave_early_and_the_model_answers_again(model: ChatModel) -> None:
    async with model.stream(prompt()) as events:
        first = await anext(events)
    assert isinstance(first, Delta)
    assert text_of(await gather(model, prompt())).startswith(first.text)


async def test_a_reader_may_leave_before_the_first_event(model: ChatModel) -> None:
    async with model.stream(prompt()):
        pass
    assert text_of(await gather(model, prompt()))


async def test_a_readers_own_error_comes_out_as_it_is(model: ChatModel) -> None:
    async def read() -> None:
        async with model.stream(prompt()) as events:
            async for _ in events:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await read()


async def test_questions_side_by_side_do_not_mix(model: ChatModel) -> None:
    questions = [prompt(f"lembre que a porta {n} é azul") for n in range(8)]
    one_by_one = [text_of(await gather(model, question)) for question in questions]
    together = await asyncio.gather(*(gather(model, question) for question in questions))
    assert [text_of(events) for events in together] == one_by_one


async def test_cancelling_the_reader_cancels(model: ChatModel) -> None:
    started = asyncio.Event()

    async def read() -> None:
        async with model.stream(prompt()) as events:
            async for _ in events:
                started.set()
                await asyncio.Event().wait()

    task = asyncio.create_task(read())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_it_is_named_by_provider_and_model(model: ChatModel) -> None:
    provider, _, name = model.name.partition(":")
    assert provider
    assert name


async def test_text_that_no_json_can_carry_is_borne(model: ChatModel) -> None:
    assert text_of(await gather(model, prompt("lone \ud800 surrogate \x00 and nul")))
