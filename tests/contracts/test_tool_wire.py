"""What both model leaves do with tools, over a real socket: calls, results, thoughts, refusals and faults."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from core.dialogue import Delta, Finish, Prompt, PromptTurn, Stop, StreamEvent, Thoughts, Tool, ToolCall, ToolResult
from core.errors import ProviderDown, ProviderError, StreamCut
from core.ports import ChatModel
from core.providers.openai import OpenAIEndpoint
from core.providers.responses import ResponsesModel
from core.providers.streamed import ModelOptions, prompt_tokens
from core.types import JSONValue, MessageRole
from tests.fakes import anthropic_server, openai_server
from tests.fakes.http_server import Answer, Asked, Break
from tests.fakes.openai_server import Manner
from tests.fakes.tool_calls import Call, Result
from tests.fakes.wires import WORDS, Wire, entries, gather, prompt, typed, wire

SCHEMA: dict[str, JSONValue] = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": {"type": "string"}}},
    "required": ["items"],
    "additionalProperties": False,
}
TOOLS = (Tool("MemorySave", "to keep what is asked", SCHEMA), Tool("MemorySearch", "to look something up", SCHEMA))
ITEMS = {"items": ["a senha é “ção” 🐘"]}
ARGUMENTS = json.dumps(ITEMS, ensure_ascii=False)
SAVE = Call("MemorySave", ITEMS)
SEARCH = Call("MemorySearch", {"items": ["x"]}, "call_2")
ASKED = replace(prompt(), tools=TOOLS)


@pytest.fixture(params=["anthropic", "openai", "responses"])
async def lab(request: pytest.FixtureRequest) -> AsyncIterator[Wire]:
    async with wire(request.param) as lab:
        yield lab


def strict(lab: Wire, *answers: Answer) -> list[Answer | Callable[[Asked], Answer]]:
    """The answers, each only to a request that the API would take."""

    def checked(answer: Answer) -> Callable[[Asked], Answer]:
        def give(asked: Asked) -> Answer:
            problem = lab.api.problem(asked.body)
            assert not problem, problem
            return answer

        return give

    return [checked(answer) for answer in answers]


def calls_of(events: Sequence[StreamEvent]) -> list[ToolCall]:
    return [event for event in events if isinstance(event, ToolCall)]


def made(events: Sequence[StreamEvent]) -> list[tuple[str, str]]:
    """The names and arguments of the calls."""
    return [(call.name, call.arguments) for call in calls_of(events)]


def said(events: Sequence[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, Delta))


def finish_of(events: Sequence[StreamEvent]) -> Finish:
    assert isinstance(events[-1], Finish)
    assert sum(isinstance(event, Finish) for event in events) == 1
    return events[-1]


def followed(asked: Prompt, events: Sequence[StreamEvent], *results: str, failed: bool = False) -> Prompt:
    """The prompt after the calls of an answer, with their results."""
    calls = tuple(calls_of(events))
    turns = (
        PromptTurn(MessageRole.ASSISTANT, said(events), calls, thoughts=finish_of(events).thoughts),
        PromptTurn(
            MessageRole.USER,
            "",
            results=tuple(ToolResult(call, text, failed) for call, text in zip(calls, results, strict=True)),
        ),
    )
    return replace(asked, turns=(*asked.turns, *turns))


async def cut_off(model: ChatModel, asked: Prompt = ASKED) -> tuple[list[StreamEvent], ProviderError]:
    """What came before a failure, and the failure."""
    events: list[StreamEvent] = []

    async def read() -> None:
        async with model.stream(asked) as stream:
            async for event in stream:
                events.append(event)  # noqa: PERF401 -- it is kept when the stream fails

    with pytest.raises(ProviderError) as caught:
        await read()
    return events, caught.value


# --- calls and results -----------------------------------------------------------------------------------------------


async def test_tools_are_offered_in_the_protocols_own_form_and_none_is_forced(lab: Wire) -> None:
    lab.server.answers = strict(lab, lab.api.says("oi"))
    async with lab.model() as model:
        await gather(model, ASKED)
    (body,) = lab.server.bodies
    assert lab.api.offered(body) == ["MemorySave", "MemorySearch"]
    assert "tool_choice" not in body
    assert json.dumps(SCHEMA) in json.dumps(body["tools"])


@pytest.mark.parametrize("chars", [1, 5, 1000])
async def test_a_call_comes_whole_after_the_text_before_it(lab: Wire, chars: int) -> None:
    lab.server.answers = strict(lab, lab.api.calls(replace(SAVE, chars=chars), SEARCH, text="Um momento. "))
    async with lab.model() as model:
        delta, first, second, finish = await gather(model, ASKED)
    assert delta == Delta("Um momento. ")
    assert made([first, second]) == [("MemorySave", ARGUMENTS), ("MemorySearch", '{"items": ["x"]}')]
    assert isinstance(finish, Finish)
    assert finish.stop is Stop.END
    assert finish.usage.output_tokens == 9


async def test_results_go_back_under_their_calls(lab: Wire) -> None:
    lab.server.answers = strict(lab, lab.api.calls(SAVE, SEARCH, text="Um momento."), lab.api.says("Pronto."))
    async with lab.model() as model:
        events = await gather(model, ASKED)
        assert said(await gather(model, followed(ASKED, events, "saved", " "))) == "Pronto."
    assert lab.api.told(lab.server.bodies[1]) == [Result("call_1", "saved"), Result("call_2", "-")]
    assert lab.server.bodies[1]["tools"] == lab.server.bodies[0]["tools"]
    assert (
        lab.api.words(entries(lab.server.bodies[1])[{"anthropic": -2, "openai": -3, "responses": -6}[lab.label]])
        == "Um momento."
    )


async def test_a_failed_call_is_marked_where_the_protocol_has_a_mark() -> None:
    async with wire("anthropic") as lab, lab.model() as model:
        lab.server.answers = strict(lab, lab.api.calls(SAVE), lab.api.says("oi"))
        await gather(model, followed(ASKED, await gather(model, ASKED), "no such memory", failed=True))
    assert lab.api.told(lab.server.bodies[1]) == [Result("call_1", "no such memory", failed=True)]


async def test_text_may_follow_results(lab: Wire) -> None:
    lab.server.answers = strict(lab, lab.api.calls(SAVE), lab.api.says("oi"))
    async with lab.model() as model:
        *turns, last = followed(ASKED, await gather(model, ASKED), "saved").turns
        await gather(model, replace(ASKED, turns=(*turns, replace(last, text="Answer now."))))
    assert lab.api.words(entries(lab.server.bodies[1])[-1]) == "Answer now."


@pytest.mark.parametrize("bad", ['{"items": [}', "", "[1]", "null", '{"a": "\ud800"}'])
async def test_malformed_arguments_are_handed_on_as_they_are_and_can_be_sent_back(lab: Wire, bad: str) -> None:
    lab.server.answers = strict(lab, lab.api.calls(Call("MemorySave", bad)), lab.api.says("oi"))
    async with lab.model() as model:
        events = await gather(model, ASKED)
        assert made(events) == [("MemorySave", bad or "{}")]
        await gather(model, followed(ASKED, events, "this is not JSON", failed=True))
    assert ("INVALID_JSON" in lab.server.asked[1].raw.decode()) == (bad in {'{"items": [}', "[1]", "null"})


async def test_ids_are_unique_in_a_turn_and_made_where_they_are_missing(lab: Wire) -> None:
    twice = replace(SEARCH, id="call_1")
    lab.server.answers = strict(lab, lab.api.calls(SAVE, twice), lab.api.calls(SAVE), lab.api.says("oi"))
    async with lab.model() as model:
        first = await gather(model, ASKED)
        asked = followed(ASKED, first, "a", "b")
        second = await gather(model, asked)
        await gather(model, followed(asked, second, "c"))
    ids = [call.id for call in calls_of([*first, *second])]
    assert len(set(ids)) == 3
    assert ids[0] == "call_1"
    assert all(len(own) == 9 and own.isalnum() for own in ids[1:])


@pytest.mark.parametrize("manner", list(Manner))
async def test_every_manner_of_streaming_calls_is_understood(manner: Manner) -> None:
    async with wire("openai") as lab, lab.model() as model:
        lab.server.answers = strict(
            lab,
            openai_server.calls(SAVE, SEARCH, replace(SEARCH, id="call_3"), manner=manner, reason="stop"),
            lab.api.says("oi"),
        )
        events = await gather(model, ASKED)
        assert [(name, json.loads(arguments)) for name, arguments in made(events)] == [
            ("MemorySave", ITEMS),
            ("MemorySearch", {"items": ["x"]}),
            ("MemorySearch", {"items": ["x"]}),
        ]
        await gather(model, followed(ASKED, events, "a", "b", "c"))


async def test_a_compatible_server_may_give_the_input_whole() -> None:
    async with wire("anthropic") as lab, lab.model() as model:
        block = {"type": "tool_use", "id": "a", "name": "MemorySave", "input": ITEMS}
        events = [
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_stop", "index": 0},
        ]
        frames = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]
        lab.server.answers = [Answer(frames=[*frames, *lab.api.closing("tool_use")])]
        assert [json.loads(arguments) for _, arguments in made(await gather(model, ASKED))] == [ITEMS]


# --- what a model wants back -----------------------------------------------------------------------------------------


async def test_claudes_thinking_goes_back_unchanged_before_its_calls_and_to_no_other_model() -> None:
    async with wire("anthropic") as lab:
        secret = {"type": "redacted_thinking", "data": "opaque"}
        events = [
            {"type": "content_block_start", "index": 9, "content_block": secret},
            {"type": "content_block_stop", "index": 9},
        ]
        frames = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]
        whole = lab.api.calls(SAVE, text="Um momento.")
        assert whole.frames is not None
        answer = replace(whole, frames=[*whole.frames[:6], *frames, *whole.frames[6:]])
        lab.server.answers = strict(lab, answer, lab.api.says("oi"), lab.api.says("oi"))
        endpoint = lab.endpoint(max_retries=0)
        first, other = endpoint.model(ModelOptions("m")), endpoint.model(ModelOptions("n"))
        answered = await gather(first, ASKED)
        thought = {"type": "thinking", "thinking": "SECRET THOUGHT", "signature": "SECRET"}
        assert finish_of(answered).thoughts == Thoughts("anthropic:m", (thought, secret))
        for model in (first, other):
            await gather(model, followed(ASKED, answered, "saved"))
        await endpoint.aclose()
    own, foreign = (entries(body)[1]["content"] for body in lab.server.bodies[1:])
    assert [block["type"] for block in own] == ["thinking", "redacted_thinking", "text", "tool_use"]
    assert own[:2] == [thought, secret]
    assert "SECRET" not in json.dumps(foreign)


@pytest.mark.parametrize(
    ("deltas", "back"),
    [
        ([{"reasoning_content": "a"}, {"reasoning_content": "b"}], {"reasoning_content": "ab"}),
        (
            [
                {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "a", "signature": None}]},
                {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "b", "signature": "s"}]},
                {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "e"}, 3]},
            ],
            {
                "reasoning_details": [
                    {"type": "reasoning.text", "index": 0, "text": "ab", "signature": "s"},
                    {"type": "reasoning.encrypted", "index": 1, "data": "e"},
                ]
            },
        ),
        ([{"reasoning": "a"}], {}),
    ],
)
async def test_reasoning_goes_back_only_where_and_as_the_server_sent_it(
    deltas: list[dict[str, Any]], back: dict[str, Any]
) -> None:
    async with wire("openai") as lab, lab.model() as model:
        whole = openai_server.calls(SAVE)
        assert whole.frames is not None
        plain = whole.frames[len(openai_server.opening()) :]
        answer = Answer(frames=[*map(openai_server.adds, deltas), *plain])
        lab.server.answers = strict(lab, answer, lab.api.says("oi"))
        await gather(model, followed(ASKED, await gather(model, ASKED), "saved"))
    message = entries(lab.server.bodies[1])[2]
    assert {name: value for name, value in message.items() if name.startswith("reasoning")} == back


async def test_geminis_signature_goes_back_with_its_call() -> None:
    signature = {"google": {"thought_signature": "SIGNED"}}
    for at_once in (True, False):
        async with wire("openai") as lab, lab.model() as model:
            named = {"id": "f1", "type": "function", "function": {"name": "MemorySave", "arguments": ARGUMENTS}}
            parts = [{**named, "extra_content": signature}] if at_once else [named, {"extra_content": signature}]
            frames = [openai_server.adds({"tool_calls": [entry]}) for entry in parts]
            lab.server.answers = strict(
                lab, Answer(frames=[*frames, *openai_server.closing("stop")]), lab.api.says("oi")
            )
            await gather(model, followed(ASKED, await gather(model, ASKED), "saved"))
        (call,) = entries(lab.server.bodies[1])[2]["tool_calls"]
        assert call["extra_content"] == signature


async def test_another_model_that_goes_on_is_told_of_the_calls_in_words() -> None:
    """One provider refuses ids, signatures and thoughts of another; what was done, and what came of it, is not lost."""
    async with wire("openai") as first, wire("anthropic") as second, first.model() as one, second.model() as other:
        first.server.answers = strict(first, openai_server.calls(replace(SAVE, id="functions.MemorySave:0")))
        second.server.answers = strict(second, second.api.says("Pronto."))
        assert said(await gather(other, followed(ASKED, await gather(one, ASKED), "saved: “ção”"))) == "Pronto."
    (body,) = second.server.bodies
    assert second.api.offered(body) == ["MemorySave", "MemorySearch"]
    assert '"tool": "MemorySave"' in second.api.words(entries(body)[1])
    assert "saved: “ção”" in second.api.words(entries(body)[2])


async def test_calls_in_a_prompt_without_tools_are_told_in_words(lab: Wire) -> None:
    lab.server.answers = strict(lab, lab.api.calls(SAVE), lab.api.says("oi"))
    async with lab.model() as model:
        asked = followed(ASKED, await gather(model, ASKED), "saved")
        await gather(model, replace(asked, tools=()))
    assert "MemorySave" in lab.api.words(entries(lab.server.bodies[1])[-2])
    assert "saved" in lab.api.words(entries(lab.server.bodies[1])[-1])


# --- faults ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [Break.CUT, Break.NOT])
@pytest.mark.parametrize("cut", [1, 3])
async def test_a_stream_cut_in_a_call_runs_nothing(lab: Wire, ending: Break, cut: int) -> None:
    lab.server.answers = [
        lab.api.calls(SAVE, text="Um momento.", cut=cut, ending=ending),
        lab.api.calls(SAVE, cut=cut, ending=ending),
    ]
    async with lab.model() as model:
        events, error = await cut_off(model)
        assert events == [Delta("Um momento.")]
        assert isinstance(error, StreamCut)
        events, error = await cut_off(model)
        assert events == []
        assert type(error) is ProviderDown


async def test_a_stream_cut_after_a_call_that_was_given_is_a_cut_answer() -> None:
    async with wire("anthropic") as lab, lab.model() as model:
        lab.server.answers = [lab.api.calls(SAVE, SEARCH, cut=len(SAVE.pieces) + 3 + 2)]
        events, error = await cut_off(model)
    assert made(events) == [("MemorySave", ARGUMENTS)]
    assert isinstance(error, StreamCut)


async def test_a_call_that_reached_the_length_limit_is_not_run(lab: Wire) -> None:
    unfinished = Call("MemorySave", '{"items": ["a sen', "call_3")
    lab.server.answers = [lab.api.calls(SEARCH, unfinished, stop=Stop.LENGTH)]
    async with lab.model() as model:
        events = await gather(model, ASKED)
    assert made(events) == [("MemorySearch", '{"items": ["x"]}')]
    assert finish_of(events).stop is Stop.LENGTH


async def test_a_model_that_thinks_long_may_be_silent_longer_before_its_first_word(lab: Wire) -> None:
    lab.server.answers = [lab.api.breaks(ending=Break.SILENCE), lab.api.breaks("metade", ending=Break.SILENCE)]
    async with lab.model(timeout_s=60.0, first_token_timeout_s=0.1) as model:
        _, error = await cut_off(model)
    assert "0.1 s" in str(error)
    async with lab.model(timeout_s=0.1, first_token_timeout_s=60.0) as model:
        events, error = await cut_off(model)
    assert events == [Delta("metade")]
    assert isinstance(error, StreamCut)


async def test_every_sign_of_thinking_has_the_patience_of_the_first_word(
    lab: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Timers are counted, not waited for: one for the request, one for each event; none of them runs out."""
    limits: list[float | None] = []
    timeout = asyncio.timeout

    def timer(delay_s: float | None) -> asyncio.Timeout:
        limits.append(delay_s)
        return timeout(delay_s)

    lab.server.answers = [lab.api.says("oi")]
    monkeypatch.setattr(asyncio, "timeout", timer)
    async with lab.model(timeout_s=301.0, first_token_timeout_s=307.0) as model:
        assert said(await gather(model, ASKED)) == "oi"
    timed = [limit for limit in limits if limit in {301.0, 307.0}]
    first = timed.index(301.0)
    assert first > 2, "the signs before the first word"
    assert set(timed[:first]) == {307.0}
    assert set(timed[first:]) == {301.0}


# --- caches ----------------------------------------------------------------------------------------------------------


def talk(*texts: str, task: str) -> Prompt:
    """A talk whose last entry has a volatile part."""
    roles = (MessageRole.USER, MessageRole.ASSISTANT)
    turns = [PromptTurn(roles[at % 2], text) for at, text in enumerate(texts)]
    turns[-1] = replace(turns[-1], volatile=task)
    return replace(ASKED, turns=tuple(turns), cache_key="talk 7")


async def test_the_volatile_part_is_sent_last_and_is_no_part_of_the_next_turn(lab: Wire) -> None:
    lab.server.answers = strict(lab, lab.api.says("oi"))
    async with lab.model() as model:
        await gather(model, talk("oi", task="<task>1</task>"))
        await gather(model, talk("oi", "olá", "e aí?", task="<task>2</task>"))
    assert lab.api.words(entries(lab.server.bodies[0])[-1]) == "oi\n\n<task>1</task>"
    assert "<task>1" not in lab.server.asked[1].raw.decode()
    assert lab.api.words(entries(lab.server.bodies[1])[-1]) == "e aí?\n\n<task>2</task>"


async def test_claude_reads_tools_system_and_all_that_was_said_from_the_cache() -> None:
    cache = anthropic_server.PrefixCache(least_bytes=0)
    usages: list[Mapping[str, int]] = []

    def give(answer: Answer) -> Callable[[Asked], Answer]:
        def counted(asked: Asked) -> Answer:
            problem = anthropic_server.problem(asked.body)
            assert not problem, problem
            usages.append(cache.usage(asked.body))
            return anthropic_server.counted(answer, dict(usages[-1]))

        return counted

    says, calls = anthropic_server.says("olá"), anthropic_server.calls(SAVE)
    async with wire("anthropic") as lab, lab.model() as model:
        lab.server.answers = [give(answer) for answer in (says, calls, says, says)]
        await gather(model, talk("oi " * 100, task="<task>1</task>"))
        asked = talk("oi " * 100, "olá " * 100, "e aí? " * 100, task="<task>2</task>")
        events = await gather(model, asked)
        finish = (await gather(model, followed(asked, events, "saved")))[-1]
        assert isinstance(finish, Finish)
        assert finish.usage.cached_tokens == usages[2]["cache_read_input_tokens"]
        await gather(model, talk("oi " * 100, "olá " * 100, "e aí? " * 100, "ok", "tchau", task="<task>3</task>"))
    first, second, third, fourth = usages
    assert first["cache_read_input_tokens"] == 0
    assert first["cache_creation_input_tokens"] > len("oi " * 100)
    assert second["cache_read_input_tokens"] == first["cache_creation_input_tokens"]
    known = second["cache_read_input_tokens"] + second["cache_creation_input_tokens"]
    assert third["cache_read_input_tokens"] == fourth["cache_read_input_tokens"] == known
    assert second["input_tokens"] < 200  # the task alone


@pytest.mark.parametrize(("label", "sent"), [("openai", None), ("responses", "talk 7")])
async def test_the_cache_key_is_sent_to_openai_alone(label: str, sent: str | None) -> None:
    async with wire(label) as lab, lab.model() as model:
        lab.server.answers = strict(lab, lab.api.says("oi"))
        await gather(model, replace(ASKED, cache_key="talk 7"))
    assert lab.server.bodies[0].get("prompt_cache_key") == sent


async def test_openai_is_asked_by_the_responses_api_at_its_own_address_alone() -> None:
    own, other = OpenAIEndpoint("sk-1"), OpenAIEndpoint("sk-1", "http://127.0.0.1:9/v1")
    assert [endpoint.api for endpoint in (own, other)] == ["Responses API", "Chat Completions"]
    for endpoint in (own, other):
        assert isinstance(endpoint.model(ModelOptions("m")), ResponsesModel) is (endpoint is own)
        await endpoint.aclose()


async def test_what_openais_model_thought_goes_back_sealed_before_its_call_and_nothing_is_stored() -> None:
    async with wire("responses") as lab, lab.model() as model:
        lab.server.answers = strict(lab, lab.api.calls(SAVE), lab.api.says("Pronto."))
        events = await gather(model, ASKED)
        await gather(model, followed(ASKED, events, "saved"))
    first, second = lab.server.bodies
    assert (first["store"], first["include"]) == (False, ["reasoning.encrypted_content"])
    thought, call, result = second["input"][-3:]
    assert thought == {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "SEALED"}
    assert (call["type"], result["type"]) == ("function_call", "function_call_output")


# --- other forms -----------------------------------------------------------------------------------------------------


def forms(lab: Wire) -> list[str]:
    """In which form each request so far offered the tools."""
    found = []
    for body in lab.server.bodies:
        form = typed(body)
        found.append("native" if "tools" in body else form["type"] if form else "words")
    return found


def answer(text: str) -> dict[str, Any]:
    return {"tool": "Answer", "answer": text}


def replying(*entries: dict[str, Any]) -> str:
    return json.dumps({"reply": entries}, ensure_ascii=False)


def refusing(lab: Wire, refused: Sequence[str], given: Answer, complaint: str, status: int = 400) -> None:
    """Make the server refuse forms."""

    def picky(asked: Asked) -> Answer:
        if forms(lab)[-1] in refused:
            return lab.api.fails(status, complaint)
        problem = lab.api.problem(asked.body)
        assert not problem, problem
        return given

    lab.server.answers = [picky]


@pytest.mark.parametrize(
    ("status", "complaint"),
    [
        (400, "registry.ollama.ai/library/gemma does not support tools"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        (404, "No endpoints found that support tool use."),
        (500, "tools param requires --jinja flag"),
        (500, "Unsupported param: tools"),
    ],
)
async def test_a_model_that_refuses_tools_is_asked_for_one_typed_answer_once_and_for_all(
    lab: Wire, status: int, complaint: str
) -> None:
    call = {"tool": "MemorySave", **ITEMS}
    refusing(lab, ["native"], lab.api.says(replying(answer("Já vai."), call)), complaint, status)
    async with lab.model() as model:
        events = await gather(model, ASKED)
        assert said(events) == "Já vai."
        assert [(name, json.loads(arguments)) for name, arguments in made(events)] == [("MemorySave", ITEMS)]
        await gather(model, followed(ASKED, events, "saved"))
    assert forms(lab) == ["native", "json_schema", "json_schema"]
    body = lab.server.bodies[-1]
    assert json.loads(lab.api.words(entries(body)[-2])) == {"reply": [answer("Já vai."), call]}
    assert lab.api.words(entries(body)[-1]) == '<tool-result tool="MemorySave">\nsaved\n</tool-result>'
    system = json.dumps(body.get("system") or body.get("instructions") or entries(body)[0])
    assert "to keep what is asked" in system
    assert "to look something up" in system


@pytest.mark.parametrize("effort", ["medium", None])
@pytest.mark.parametrize("knows_none", [True, False])
async def test_a_model_that_takes_no_tools_while_it_thinks_stops_thinking_before_it_loses_them(
    effort: str | None, knows_none: bool
) -> None:
    def picky(asked: Asked) -> Answer:
        if not knows_none and asked.body.get("reasoning_effort") == "none":
            return openai_server.fails(
                400, "Unsupported value: 'reasoning_effort' does not support 'none' with this model."
            )
        if "tools" in asked.body and asked.body.get("reasoning_effort") != "none":
            return openai_server.fails(
                400,
                "Function tools with reasoning_effort are not supported for m in /v1/chat/completions. To use "
                "function tools, use /v1/responses or set reasoning_effort to 'none'.",
            )
        return openai_server.says("oi" if "tools" in asked.body else replying(answer("oi")))

    async with wire("openai") as lab, lab.model(effort=effort) as model:
        lab.server.answers = [picky]
        assert said(await gather(model, ASKED)) == "oi"
    assert forms(lab)[-1] == ("native" if knows_none else "json_schema")


async def test_a_model_without_any_of_it_is_asked_in_words(lab: Wire) -> None:
    said_so = lab.api.says("Sure!\n```json\n", replying(answer("Oi, Ana.")), "\n```")
    refused = ["native", "json_schema", "json_object"]
    refusing(lab, refused, said_so, "tools, response_format and output_config.format are unknown")
    async with lab.model() as model:
        assert said(await gather(model, ASKED)) == "Sure!\nOi, Ana."
        assert said(await gather(model, ASKED)) == "Sure!\nOi, Ana."
    assert forms(lab)[-2:] == ["words", "words"]
    last = lab.api.words(entries(lab.server.bodies[-1])[-1])
    assert last.startswith(WORDS)
    assert '{"reply": [...]}' in last


async def test_an_answer_in_json_is_shown_while_it_is_written(lab: Wire) -> None:
    whole = lab.api.says('{"reply": [{"tool": "Answer", "answer": "Oi, ', 'Ana."}]}')
    assert whole.frames is not None
    rest = asyncio.Event()
    lab.server.answers = [replace(whole, gates={len(lab.api.opening()) + 1: rest})]
    async with lab.model(tools=False) as model, model.stream(ASKED) as events:
        assert await anext(events) == Delta("Oi, ")
        rest.set()
        assert await anext(events) == Delta("Ana.")


async def test_a_typed_answer_cut_in_a_call_runs_nothing(lab: Wire) -> None:
    text = replying(answer("Já vai."), {"tool": "MemorySave", "arguments": ITEMS})[:-8]
    lab.server.answers = [lab.api.says(text, stop=Stop.LENGTH), lab.api.breaks(text)]
    async with lab.model(tools=False) as model:
        events = await gather(model, ASKED)
        assert (said(events), made(events)) == ("Já vai.", [])
        events, error = await cut_off(model)
    assert (said(events), made(events)) == ("Já vai.", [])
    assert isinstance(error, StreamCut)


@pytest.mark.parametrize(
    "written",
    [
        '{"name": "MemorySave", "arguments": %s}',
        '```json\n{"name": "MemorySave", "parameters": %s}\n```\n',
        '<tool_call>\n{"name": "MemorySave", "arguments": %s}\n</tool_call>',
        '[TOOL_CALLS] [{"name": "MemorySave", "arguments": %s}]',
        '{"type": "function", "function": {"name": "MemorySave", "arguments": %s}}',
    ],
)
async def test_a_call_written_as_text_is_a_call_and_the_model_is_asked_otherwise_from_then_on(
    lab: Wire, written: str
) -> None:
    text = written % ARGUMENTS
    lab.server.answers = strict(lab, lab.api.says(*text), lab.api.says(replying(answer("Pronto."))))
    async with lab.model() as model:
        events = await gather(model, ASKED)
        assert (said(events), made(events)) == ("", [("MemorySave", ARGUMENTS)])
        assert said(await gather(model, followed(ASKED, events, "saved"))) == "Pronto."
    assert forms(lab) == ["native", "json_schema"]


@pytest.mark.parametrize(
    "written",
    [
        '{"name": "MemorySave", "arguments": %s}',
        '{{"name": "MemorySave", "arguments": %s}}',
        '<tool_call>{"name": "MemorySave", "arguments": %s}</tool_call>',
        '```json\n{"name": "MemorySave", "arguments": %s}\n```',
    ],
)
async def test_a_model_that_calls_tools_may_also_write_a_call(lab: Wire, written: str) -> None:
    text = written.replace("%s", ARGUMENTS)
    lab.server.answers = strict(lab, lab.api.calls(SAVE), lab.api.says(*text), lab.api.says("oi"))
    async with lab.model() as model:
        assert made(await gather(model, ASKED)) == [("MemorySave", ARGUMENTS)]
        events = await gather(model, ASKED)
        assert (said(events), made(events)) == ("", [("MemorySave", ARGUMENTS)])
        await gather(model, ASKED)
    assert forms(lab) == ["native"] * 3


@pytest.mark.parametrize("written", ["```json\n%s\n```", "%s", "<tool_call>%s</tool_call>", "{%s}"])
async def test_a_call_written_beside_one_as_the_protocol_has_it_is_no_text(lab: Wire, written: str) -> None:
    call = f'{{"name": "{SEARCH.name}", "arguments": {SEARCH.arguments}}}'
    text = written.replace("%s", call)
    lab.server.answers = strict(lab, lab.api.calls(SEARCH, text=text))
    async with lab.model() as model:
        events = await gather(model, ASKED)
    assert said(events) == ""
    assert [name for name, _ in made(events)] == [SEARCH.name] * (1 if "```" in written else 2)


async def test_json_that_is_no_call_is_text(lab: Wire) -> None:
    text = '```json\n{"name": "Ana", "arguments": {"a": 1}}\n```'
    lab.server.answers = strict(lab, lab.api.says(*text))
    async with lab.model() as model:
        events = await gather(model, ASKED)
        await gather(model, ASKED)
    assert (said(events), made(events)) == (text, [])
    assert forms(lab) == ["native"] * 2


@pytest.mark.parametrize("text", ["記憶とは何ですか", "你好世界", "สวัสดี", "नमस्ते", "🐘🎉"])
def test_each_sign_of_a_dense_script_counts_as_a_token(text: str) -> None:
    more = prompt_tokens(replace(ASKED, system=text * 300)) - prompt_tokens(replace(ASKED, system=""))
    assert more == len(text) * 300


def test_three_letters_count_as_a_token() -> None:
    assert prompt_tokens(replace(ASKED, system="não " * 300)) - prompt_tokens(replace(ASKED, system="")) == 400


async def test_a_model_without_tools_answers_in_the_form_when_it_may_call_no_more(lab: Wire) -> None:
    call = {"tool": "MemorySave", **ITEMS}
    lab.server.answers = [lab.api.says(replying(call)), lab.api.says(replying(answer("Feito.")))]
    async with lab.model(tools=False) as model:
        events = await gather(model, ASKED)
        last = replace(followed(ASKED, events, "saved"), tools=())
        assert said(await gather(model, last)) == "Feito."
    assert forms(lab) == ["json_schema"] * 2
