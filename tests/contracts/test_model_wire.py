"""What both model leaves do with a real socket: text as it comes, and every failure by what one can do about it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest

from core.dialogue import Delta, Finish, Prompt, Stop, Usage
from core.errors import (
    BadReply,
    ContextTooLong,
    CreditGone,
    KeyRejected,
    ModelUnknown,
    ProviderBusy,
    ProviderDown,
    ProviderError,
    ProviderRefused,
    StreamCut,
)
from core.models import choose, complete, complete_as
from core.ports import ChatModel
from core.providers.streamed import ModelOptions
from core.types import JSONValue
from tests.fakes import anthropic_server, openai_server
from tests.fakes.http_server import HEAD, Answer, Break
from tests.fakes.tool_calls import Call
from tests.fakes.wires import KEY, WORDS, Api, Wire, entries, gather, prompt, typed, wire

SCHEMA: dict[str, JSONValue] = {
    "type": "object",
    "properties": {"action": {"type": "string", "enum": ["Finish", "Question"]}},
    "required": ["action"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Queries:
    """A typed answer."""

    items: list[str]


@pytest.fixture(params=["anthropic", "openai", "responses"])
async def lab(request: pytest.FixtureRequest) -> AsyncIterator[Wire]:
    async with wire(request.param) as lab:
        yield lab


async def failing(model: ChatModel, question: Prompt | None = None) -> tuple[str, ProviderError]:
    """Ask, and return what was said and what it failed with. Nothing of it may hold a secret."""
    said = ""

    async def read() -> None:
        nonlocal said
        async with model.stream(question or prompt()) as events:
            async for event in events:
                assert isinstance(event, Delta)
                said += event.text

    with pytest.raises(ProviderError) as caught:
        await read()
    assert "SECRET" not in f"{caught.value!r} {caught.value} {caught.value.__cause__}"
    assert caught.value.__suppress_context__
    return said, caught.value


async def test_nothing_is_sent_before_the_context_is_entered(lab: Wire) -> None:
    async with lab.model() as model:
        model.stream(prompt())
        await asyncio.sleep(0)
    assert not lab.server.asked


async def test_text_comes_while_the_model_is_still_writing(lab: Wire) -> None:
    whole = lab.api.says("um ", "dois")
    assert whole.frames is not None
    rest = asyncio.Event()
    before_second = len(lab.api.opening()) + 1
    lab.server.answers = [Answer(frames=whole.frames, gates={before_second: rest})]
    async with lab.model() as model, model.stream(prompt()) as events:
        assert await anext(events) == Delta("um ")
        rest.set()
        assert await anext(events) == Delta("dois")


@pytest.mark.parametrize("stop", list(Stop))
async def test_the_end_a_length_stop_and_a_refusal_are_told_apart(lab: Wire, stop: Stop) -> None:
    lab.server.answers = [lab.api.says("oi", stop=stop)]
    async with lab.model() as model, model.stream(prompt()) as events:
        *_, last = [event async for event in events]
    written = 30 if lab.api is anthropic_server else 0  # the other protocol does not tell
    usage = Usage(100, 9, cached_tokens=50, reasoning_tokens=4, cache_write_tokens=written)
    assert last == Finish(stop, usage)


async def test_a_refusal_in_a_field_of_its_own_is_a_refusal() -> None:
    async with wire("openai") as lab, lab.model() as model:
        lab.server.answers = [openai_server.refuses("SECRET")]
        with pytest.raises(ProviderRefused):
            await complete(model, prompt())


async def test_thoughts_and_tools_never_leak(lab: Wire) -> None:
    lab.server.answers = [
        lab.api.says("<b>", "oi", " <think> is a word"),
        lab.api.calls(Call("x", {"SECRET": "TOOL"}), text="oi"),
    ]
    async with lab.model() as model:
        assert (await complete(model, prompt())).text == "<b>oi <think> is a word"
        assert [type(event) for event in await gather(model, prompt())] == [Delta, Finish]


# --- failures --------------------------------------------------------------------------------------------------------


Fault = Callable[[Api], Answer]

FAULTS: dict[str, tuple[Fault, type[ProviderError], str]] = {
    **{
        f"HTTP {status}": (lambda api, status=status: api.fails(status), failure, "")  # type: ignore[misc]
        for status, failure in {
            400: ProviderDown,
            401: KeyRejected,
            402: CreditGone,
            403: KeyRejected,
            404: ModelUnknown,
            413: ContextTooLong,
            429: ProviderBusy,
            500: ProviderDown,
            503: ProviderDown,
            529: ProviderBusy,
        }.items()
    },
    "too long": (lambda api: api.fails(400, api.CONTEXT_TOO_LONG), ContextTooLong, ""),
    "declined": (lambda api: api.fails(400, "blocked by content_filter"), ProviderRefused, ""),
    "cut in the middle": (lambda api: api.breaks("metade ", "da", ending=Break.CUT), StreamCut, "metade da"),
    "ends in the middle": (lambda api: api.breaks("metade ", "da", ending=Break.NOT), StreamCut, "metade da"),
    "cut before a word": (lambda api: api.breaks(ending=Break.CUT), ProviderDown, ""),
    "ends before a word": (lambda api: api.breaks(ending=Break.NOT), ProviderDown, ""),
    "no JSON in the middle": (lambda api: api.garbles("metade"), StreamCut, "metade"),
    "no JSON before a word": (lambda api: api.garbles(), BadReply, ""),
    "overloaded inside": (lambda api: api.errs("overloaded_error"), ProviderBusy, ""),
    "busy inside": (lambda api: api.errs("rate_limit_error"), ProviderBusy, ""),
    "another error inside": (lambda api: api.errs("x"), ProviderDown, ""),
    "an error in the middle": (lambda api: api.errs("overloaded_error", "metade"), StreamCut, "metade"),
    "a page": (lambda _: Answer(body=b"<html>proxy</html>", headers={"content-type": "text/html"}), ProviderDown, ""),
}
"""What goes wrong: how the server answers, what that is to us, and what was said before."""


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.spec("D4")
async def test_a_fault_is_a_failure_that_says_what_to_do(lab: Wire, fault: str) -> None:
    answer, failure, said = FAULTS[fault]
    lab.server.answers = [answer(lab.api)]
    async with lab.model() as model:
        heard, error = await failing(model)
    assert heard == said
    assert isinstance(error, failure)
    assert isinstance(error, StreamCut) == (failure is StreamCut)
    assert model.name in str(error)
    assert fault.removeprefix("HTTP ") in str(error) or not fault.startswith("HTTP")


async def test_the_wait_that_a_busy_provider_names_is_told(lab: Wire) -> None:
    lab.server.answers = [
        lab.api.fails(429, headers={"retry-after-ms": "", "retry-after": "12"}),
        lab.api.fails(429, headers={"retry-after-ms": ""}),
        lab.api.fails(
            529,
            headers={
                "retry-after-ms": "",
                "date": "Sat, 14 Mar 2026 15:00:00 GMT",
                "retry-after": "Sat, 14 Mar 2026 15:01:30 GMT",
            },
        ),
    ]
    waits = []
    async with lab.model() as model:
        for _ in lab.server.answers:
            _, error = await failing(model)
            assert isinstance(error, ProviderBusy)
            waits.append(error.retry_after_s)
    assert waits == [12.0, 0.0, 90.0]


async def test_a_short_wait_is_slept_out_and_asked_again(lab: Wire) -> None:
    lab.server.answers = [lab.api.fails(429), lab.api.fails(529), lab.api.says("oi")]
    endpoint = lab.endpoint()
    assert (await complete(endpoint.model(ModelOptions("m")), prompt())).text == "oi"
    assert len(lab.server.asked) == 3
    await endpoint.aclose()


async def test_a_long_wait_is_handed_on_at_once(lab: Wire) -> None:
    lab.server.answers = [lab.api.fails(429, headers={"retry-after-ms": "", "retry-after": "3600"})]
    endpoint = lab.endpoint()
    _, error = await failing(endpoint.model(ModelOptions("m")))
    assert isinstance(error, ProviderBusy)
    assert error.retry_after_s == 3600
    assert len(lab.server.asked) == 1
    await endpoint.aclose()


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (Answer(429, body=b'{"error": {"message": "SECRET", "code": "insufficient_quota"}}'), KeyRejected),
        (
            Answer(400, body=b'[{"error": {"code": 400, "message": "API key not valid. SECRET"}}]'),
            KeyRejected,
        ),  # Gemini
        (Answer(frames=[b'data: {"error": {"message": "SECRET", "code": "server_error"}}\n\n']), ProviderDown),
    ],
)
async def test_compatible_servers_tell_faults_in_their_own_way(answer: Answer, failure: type[ProviderError]) -> None:
    async with wire("openai") as lab, lab.model() as model:
        lab.server.answers = [answer]
        assert isinstance((await failing(model))[1], failure)


async def test_a_server_that_is_not_there_is_down(lab: Wire) -> None:
    lab.server.url = "http://127.0.0.1:9"
    async with lab.model() as model:
        assert isinstance((await failing(model))[1], ProviderDown)


@pytest.mark.parametrize(
    ("label", "frames"),
    [
        (
            "anthropic",
            [b'event: message_delta\ndata: {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}\n\n'],
        ),
        ("openai", [b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": null}\n\ndata: 3\n\n']),
    ],
)
async def test_an_answer_whose_usage_is_left_out_is_borne(label: str, frames: list[bytes]) -> None:
    async with wire(label) as lab, lab.model() as model:
        lab.server.answers = [Answer(frames=[*lab.api.texts(["oi"]), *frames])]
        reply = await complete(model, prompt())
    assert (reply.text, reply.usage) == ("oi", Usage())


async def test_blank_words_are_not_sent_as_such(lab: Wire) -> None:
    lab.server.answers = [lab.api.says("oi")]
    async with lab.model() as model:
        await complete(model, prompt("oi", earlier=("oi", " \n")))
    assert '" \\n"' not in json.dumps(lab.server.bodies[0])


async def test_a_slow_first_word_ends_at_the_modes_timeout(lab: Wire) -> None:
    lab.server.answers = [lab.api.breaks(ending=Break.SILENCE)]
    async with lab.model(timeout_s=0.1) as model:
        _, error = await failing(model)
    assert type(error) is ProviderDown
    assert "0.1 s" in str(error)


@pytest.mark.parametrize("held", [HEAD, 0])
async def test_a_server_that_takes_the_request_and_says_nothing_is_down(lab: Wire, held: int) -> None:
    lab.server.answers = [Answer(frames=[b""], gates={held: asyncio.Event()})]
    async with lab.model(timeout_s=0.1) as model:
        assert isinstance((await failing(model))[1], ProviderDown)


async def test_the_connection_is_closed_when_the_reader_leaves(lab: Wire) -> None:
    lab.server.answers = [lab.api.breaks("um", "dois", ending=Break.SILENCE)]
    async with lab.model() as model:
        async with model.stream(prompt()) as events:
            await anext(events)
            assert not lab.server.hung_up.is_set()
        async with asyncio.timeout(60):
            await lab.server.hung_up.wait()


# --- requests --------------------------------------------------------------------------------------------------------


async def test_knobs_that_are_not_set_are_not_sent(lab: Wire) -> None:
    lab.server.answers = [lab.api.says("oi")]
    async with lab.model() as model:
        await complete(model, prompt())
    (body,) = lab.server.bodies
    assert not {"temperature", "effort", "reasoning_effort", "verbosity", "output_config", "thinking"} & body.keys()
    assert lab.server.asked[0].path == lab.api.PATH
    assert KEY in str(lab.server.asked[0].headers)


@pytest.mark.spec("J7", "D3")
async def test_knobs_that_are_set_are_sent_in_the_protocols_own_form(lab: Wire) -> None:
    lab.server.answers = [lab.api.says("oi")]
    async with lab.model(effort="high", verbosity="low", temperature=0.25, max_tokens=77) as model:
        await complete(model, prompt())
    (body,) = lab.server.bodies
    assert body["temperature"] == 0.25
    if lab.label == "anthropic":
        assert body["output_config"] == {"effort": "high"}
        assert body["max_tokens"] == 77
    elif lab.label == "responses":
        assert body["reasoning"] == {"effort": "high"}
        assert body["text"] == {"verbosity": "low"}
        assert (body["max_output_tokens"], body["store"]) == (77, False)
    else:
        assert (body["reasoning_effort"], body["verbosity"], body["max_tokens"]) == ("high", "low", 77)
        assert body["stream_options"] == {"include_usage": True}


@pytest.mark.spec("J7")
async def test_a_knob_that_the_model_refuses_is_left_out_once_and_for_all(lab: Wire) -> None:
    def picky(asked: object) -> Answer:
        if "temperature" in lab.server.bodies[-1]:
            return lab.api.fails(400, "`temperature` is deprecated for this model")
        return lab.api.says("oi")

    lab.server.answers = [picky]
    async with lab.model(temperature=0.0, effort="high") as model:
        await complete(model, prompt())
        await complete(model, prompt())
    assert ["temperature" in body for body in lab.server.bodies] == [True, False, False]
    assert all(
        not body.keys().isdisjoint({"output_config", "reasoning_effort", "reasoning"}) for body in lab.server.bodies
    )


async def test_what_one_model_refuses_is_still_sent_to_another_of_the_same_account(lab: Wire) -> None:
    def picky(asked: object) -> Answer:
        body = lab.server.bodies[-1]
        if body["model"] == "old" and "temperature" in body:
            return lab.api.fails(400, "Unsupported parameter: 'temperature'")
        return lab.api.says("oi")

    lab.server.answers = [picky]
    endpoint = lab.endpoint()
    for name in ("old", "new", "old"):
        await complete(endpoint.model(ModelOptions(name, temperature=0.0)), prompt())
    await endpoint.aclose()
    assert [(body["model"], "temperature" in body) for body in lab.server.bodies] == [
        ("old", True),
        ("old", False),
        ("new", True),
        ("old", False),
    ]


async def test_a_refusal_that_names_nothing_we_sent_is_not_tried_again(lab: Wire) -> None:
    lab.server.answers = [lab.api.fails(400, "no")]
    async with lab.model(temperature=0.0) as model:
        await failing(model, prompt(schema=SCHEMA))
    assert len(lab.server.asked) == 1


@pytest.mark.spec("T4")
async def test_a_typed_answer_is_asked_for_by_the_providers_own_schema(lab: Wire) -> None:
    lab.server.answers = [lab.api.says('{"action": "Finish"}')]
    async with lab.model() as model:
        await complete(model, prompt(schema=SCHEMA))
    (body,) = lab.server.bodies
    form = typed(body)
    assert form["type"] == "json_schema"
    assert form.get("json_schema", form)["schema"] == SCHEMA
    if lab.label != "anthropic":
        assert form.get("json_schema", form)["strict"] is True
    assert "Question" not in json.dumps(entries(body))


async def test_a_server_without_schemas_is_asked_in_words_once_and_for_all(lab: Wire) -> None:
    def simple(asked: object) -> Answer:
        body = lab.server.bodies[-1]
        if typed(body) is not None:
            return lab.api.fails(400, "response_format is not supported: use output_config.format elsewhere")
        return lab.api.says('Sure! ```json\n{"action": "Finish"}\n```')

    lab.server.answers = [simple]
    async with lab.model() as model:
        await complete(model, prompt(schema=SCHEMA))
        reply = await complete(model, prompt(schema=SCHEMA))
    assert '{"action": "Finish"}' in reply.text
    tries = len(lab.server.bodies)
    assert tries == (4 if lab.label == "openai" else 3)  # OpenAI's protocol has JSON mode in between
    for body in lab.server.bodies[-2:]:
        last = lab.api.words(entries(body)[-1])
        assert '"enum":["Finish","Question"]' in last
        assert WORDS in last


async def test_json_mode_stands_in_for_schemas_where_the_server_has_it() -> None:
    async with wire("openai") as lab, lab.model() as model:

        def deepseek(asked: object) -> Answer:
            if lab.server.bodies[-1]["response_format"]["type"] == "json_schema":
                return openai_server.fails(400, "This response_format type is unavailable now")
            return openai_server.says('{"action": "Finish"}')

        lab.server.answers = [deepseek]
        await complete(model, prompt(schema=SCHEMA))
    first, second = lab.server.bodies
    assert first["response_format"]["type"] == "json_schema"
    assert second["response_format"] == {"type": "json_object"}
    assert "JSON schema" in second["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("label", "known", "seen"),
    [
        ("anthropic", "disabled", ["disabled"]),
        ("anthropic", "between_tools", ["disabled", "between_tools"]),
        ("anthropic", "", ["disabled", "between_tools", "effort low"]),
        ("openai", "none", ["none"]),
        ("openai", "low", ["none", "minimal", "low"]),
        ("openai", "", ["none", "minimal", "low", "nothing"]),
    ],
)
async def test_not_thinking_is_asked_for_in_the_first_form_that_the_model_knows(
    label: str, known: str, seen: list[str]
) -> None:
    async with wire(label) as lab, lab.model(effort="none") as model:

        def form_of(body: dict[str, JSONValue]) -> str:
            match body:
                case {"thinking": {"type": str(kind)}} | {"reasoning_effort": str(kind)}:
                    return kind
                case {"output_config": {"effort": str(effort)}}:
                    return f"effort {effort}"
            return "nothing"

        def picky(asked: object) -> Answer:
            form = form_of(lab.server.bodies[-1])
            if form in {known, "effort low", "nothing"}:
                return lab.api.says("oi")
            return lab.api.fails(400, f"Unsupported value: thinking / reasoning_effort does not support '{form}'")

        lab.server.answers = [picky]
        await complete(model, prompt())
        await complete(model, prompt())
    assert [form_of(body) for body in lab.server.bodies] == [*seen, seen[-1]]


@pytest.mark.parametrize(
    ("refused", "complaint", "sent"),
    [
        ("reasoning_effort", "Unrecognized request argument supplied: reasoning_effort", "max_tokens"),
        ("max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.", "max_completion_tokens"),
    ],
)
async def test_a_parameter_unknown_as_such_is_sent_once(refused: str, complaint: str, sent: str) -> None:
    async with wire("openai") as lab, lab.model(effort="none") as model:

        def picky(asked: object) -> Answer:
            is_refused = refused in lab.server.bodies[-1]
            return openai_server.fails(400, complaint) if is_refused else openai_server.says("oi")

        lab.server.answers = [picky]
        await complete(model, prompt())
    assert len(lab.server.bodies) == 2
    assert lab.server.bodies[-1][sent] == 1024


@pytest.mark.spec("J1")
async def test_what_stays_the_same_comes_first_and_byte_for_byte(lab: Wire) -> None:
    """Two calls of one turn differ in their last message only; Anthropic is told where the same part ends."""
    lab.server.answers = [lab.api.says("oi")]
    async with lab.model() as model:
        for last in ("decide", "answer"):
            await complete(model, prompt(last, earlier=("oi", "olá")))
    one, other = lab.server.bodies
    assert entries(one)[:-1] == entries(other)[:-1]
    assert entries(one)[-1] != entries(other)[-1]
    raw = [asked.raw for asked in lab.server.asked]
    same = next(at for at, (a, b) in enumerate(zip(*raw, strict=False)) if a != b)
    assert raw[0][:same].endswith(b'"')
    if lab.label == "anthropic":
        mark = {"type": "ephemeral"}
        assert one["system"][0]["cache_control"] == mark
        assert entries(one)[-2]["content"][0] == {"type": "text", "text": "olá", "cache_control": mark}


async def test_a_prompt_without_a_system_text_has_no_empty_one(lab: Wire) -> None:
    lab.server.answers = [lab.api.says("oi")]
    async with lab.model() as model:
        await complete(model, prompt(system=""))
    assert "system" not in str(lab.server.bodies)


async def test_a_window_that_is_full_before_the_first_word_is_too_small() -> None:
    async with wire("anthropic") as lab, lab.model() as model:
        full = lab.api.closing("model_context_window_exceeded")
        lab.server.answers = [
            Answer(frames=[*lab.api.opening(), *full]),
            Answer(frames=[*lab.api.opening(), *lab.api.texts(["oi"]), *full]),
        ]
        with pytest.raises(ContextTooLong):
            await complete(model, prompt())
        assert (await complete(model, prompt())).stop is Stop.LENGTH


@pytest.mark.spec("T4")
async def test_an_unknown_action_name_is_asked_about_once_more(lab: Wire) -> None:
    lab.server.answers = [lab.api.says('{"action": "Dance"}'), lab.api.says('{"action": "Finish"}')]
    async with lab.model() as model:
        assert await choose(model, prompt(), ("Finish", "Question")) == "Finish"
    assert "Dance" in json.dumps(entries(lab.server.bodies[1])[-2])
    assert "exactly one of these names" in json.dumps(entries(lab.server.bodies[1])[-1])


async def test_truncated_json_is_asked_for_once_more_and_then_given_up(lab: Wire) -> None:
    cut = lab.api.says('{"items": ["senha do al', stop=Stop.LENGTH)
    lab.server.answers = [cut, lab.api.says('{"items": ["senha"]}'), cut, cut]
    async with lab.model() as model:
        assert (await complete_as(Queries, model, prompt())).items == ["senha"]
        with pytest.raises(BadReply):
            await complete_as(Queries, model, prompt())
