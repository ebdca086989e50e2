"""Models of any window, alone and as the fallback of a larger one: what they are shown fits them, and they answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from core.answering.loop import tools_of
from core.answering.parts import TurnLimits
from core.answering.prompting import EXAMPLES, SYSTEM, single_forms
from core.dialogue import Finish, Prompt, StreamEvent, Task, Tool, Usage
from core.errors import ContextTooLong, ProviderDown
from core.history.conversation import Conversations
from core.history.tokens import ByCharacters, Calibration, O200k, ReportingModel, TokenizerInUse, counted, offered
from core.history.window import LAST_MESSAGES, HistoryLimits
from core.limited import LimitedMind
from core.models import MODES, Cycle, HotModel, Models, complete
from core.ports import ChatModel
from core.providers.fallback import ChainLink, Circuit, FallbackModel
from core.types import Message, MessageRole
from tests.fakes.clock import FakeClock
from tests.fakes.house import House, Script
from tests.fakes.model import HashEmbedder, ScriptedModel
from tests.fakes.wires import prompt
from tests.unit.test_cycle import run

FILLER = " and some more words of a long message" * 20
SCRIPT: Script = {Task.DECIDE: lambda _: "Finish", Task.FINISH: ["answered"], Task.SINGLE: ["answered"]}


class Narrow(ChatModel):
    """A model that refuses what its window cannot hold, in its own tokens: `chars` characters each."""

    def __init__(self, name: str, window: int, *, chars: int = 4, tells: bool = True) -> None:
        self._inside = ScriptedModel(SCRIPT, name)
        self._window = window
        self._chars = chars
        self._tells = tells
        self.refused = 0

    @property
    def name(self) -> str:
        return self._inside.name

    @property
    def prompts(self) -> list[Prompt]:
        return self._inside.prompts

    @asynccontextmanager
    async def stream(self, prompt: Prompt) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        texts = [prompt.system, offered(prompt.tools), *(turn.whole_text for turn in prompt.turns)]
        tokens = sum(map(len, texts)) // self._chars
        if tokens > self._window:
            self.refused += 1
            raise ContextTooLong("too long", self._window if self._tells else 0)
        async with self._inside.stream(prompt) as events:
            yield self._counted(events, tokens)

    async def _counted(self, events: AsyncIterator[StreamEvent], tokens: int) -> AsyncIterator[StreamEvent]:
        async for event in events:
            yield replace(event, usage=Usage(tokens, 5)) if isinstance(event, Finish) else event


def house_of(clock: FakeClock, *models: ChatModel, known: dict[str, int] | None = None) -> House:
    """A bot with one chain of models in every mode, whose windows are known or not."""
    house, calibration = House(SCRIPT, clock=clock), Calibration()
    for name, window in (known or {}).items():
        calibration.observe_window(name, window)
    chain = FallbackModel([ChainLink(ReportingModel(model, calibration), Circuit(clock)) for model in models])
    heavy, reasoning, chat, summary = (HotModel(chain) for _ in MODES)
    house.models = Models(heavy, reasoning, chat, summary, house.embedder)
    house.conversations = Conversations(
        house.history,
        clock,
        HistoryLimits(LAST_MESSAGES, max_messages=1_000),
        system=SYSTEM,
        calibration=calibration,
        model_of=lambda _: chain.name,
    )
    return house


@pytest.mark.parametrize(
    ("form", "asked", "examples", "told_at_length"),
    [
        (0, {Task.SINGLE}, True, True),
        (1, {Task.SINGLE}, True, False),
        (2, {Task.SINGLE}, False, False),
        (None, {Task.DECIDE, Task.FINISH}, False, False),
    ],
)
async def test_a_small_window_gets_shorter_instructions_and_the_smallest_a_call_for_each_step(
    clock: FakeClock, form: int | None, asked: set[Task], examples: bool, told_at_length: bool
) -> None:
    forms = single_forms(tools_of(House().registry))
    window = 2_048 if form is None else ByCharacters().count(forms[form].text) * 100 // 54
    model = Narrow("a:1", window)
    house = house_of(clock, model, known={"a:1": window})
    house.limits = TurnLimits(cycle=Cycle.AUTO)
    channel = house.channel()
    async with house.chatbot() as bot:
        for number in range(12):
            incoming = house.incoming(f"message {number}{FILLER}", message_id=str(number))
            await (await bot.receive(incoming, channel))
    assert channel.texts == ["answered"] * 12
    assert model.refused == 0
    assert {prompt.context.task for prompt in model.prompts} == asked
    last = model.prompts[-1]
    assert (EXAMPLES in last.system) is examples
    assert any("\n" in tool.description for tool in last.tools) is told_at_length
    assert len(last.context.history) >= 2


async def talked(house: House, turns: int = 12) -> list[str]:
    return [(await run(house, f"message {number}{FILLER}")).texts[-1] for number in range(turns)]


@pytest.mark.spec("H1", "H3")
@pytest.mark.parametrize("window", [2_048, 4_096, 2_000_000])
@pytest.mark.parametrize("tells", [True, False])
@pytest.mark.parametrize("chars", [4, 2])
async def test_a_model_of_any_window_answers_every_turn(clock: FakeClock, window: int, tells: bool, chars: int) -> None:
    model = Narrow("a:1", window if chars == 4 else window * 2, chars=chars, tells=tells)
    house = house_of(clock, model)
    assert await talked(house) == ["answered"] * 12
    assert model.refused <= 3


async def test_a_prompt_that_a_server_would_cut_silently_is_not_sent(clock: FakeClock) -> None:
    model = Narrow("a:1", 10**9)
    house = house_of(clock, model, known={"a:1": 2_048})
    assert await talked(house) == ["answered"] * 12
    assert all(counted(prompt) < 2_048 for prompt in model.prompts)
    with pytest.raises(ContextTooLong) as caught:
        await complete(house.models.chat, prompt("word " * 2_000))
    assert (caught.value.window_tokens, caught.value.model) == (2_048, "a:1")


@pytest.mark.parametrize("known", [{}, {"b:2": 2_048}])
async def test_a_fallback_with_a_smaller_window_answers_what_fits_it(clock: FakeClock, known: dict[str, int]) -> None:
    down = ScriptedModel({task: [ProviderDown("a:1 is down")] for task in Task}, "a:1")
    small = Narrow("b:2", 2_048)
    house = house_of(clock, down, small, known=known)
    conversation = await house.conversations.open(house.incoming("").conversation)
    for number in range(200):
        role = MessageRole.ASSISTANT if number % 2 else MessageRole.USER
        await conversation.add(Message(role, f"message {number}{FILLER}", turn=str(number // 2)))
    assert (await run(house, "and now?")).texts[-1] == "answered"
    assert small.refused <= 1
    shown = small.prompts[-1].context.history
    assert shown[-1].text == "and now?"
    assert 3 <= len(shown) <= 6


async def test_the_shortened_prompt_comes_to_the_model_that_found_it_too_long(clock: FakeClock) -> None:
    slow = ScriptedModel({Task.FINISH: [ProviderDown("silent for 120 s")]}, "a:1")
    chain = FallbackModel(
        [ChainLink(ReportingModel(model, Calibration()), Circuit(clock)) for model in (slow, Narrow("b:2", 100))]
    )
    with pytest.raises(ContextTooLong):
        await complete(chain, prompt("word " * 200))
    assert (await complete(chain, prompt("word"))).text == "answered"
    assert len(slow.prompts) == 1
    await clock.advance(60)
    await complete(chain, prompt("word"))
    assert len(slow.prompts) == 2


async def test_the_longest_form_of_instructions_that_leaves_room_is_taken(clock: FakeClock) -> None:
    tool = Tool("MemorySave", "when they ask to remember", {"type": "object"})
    forms = ["s" * 8_000 + offered([tool]), "s" * 2_000, "s" * 400]
    calibration = Calibration()
    conversations = Conversations(House().history, clock, calibration=calibration, model_of=lambda _: "a:1")
    taken = []
    for window in (32_000, 2_048, 400, 100):
        calibration.observe_window("a:1", window)
        taken.append(await conversations.longest_fitting(forms, "chat"))
    assert taken == [0, 1, 2, None]


def test_tokens_are_counted_as_the_model_in_use_counts_them() -> None:
    present, made = ["openai:x"], []

    def of(name: str) -> ByCharacters | O200k:
        made.append(name)
        return O200k() if name.startswith("openai:") else ByCharacters()

    tokenizer = TokenizerInUse(lambda: present[0], of)
    assert (tokenizer.name, tokenizer.is_slow, tokenizer.count("Olá, me chamo Edmar")) == ("o200k_base", True, 11)
    present[0] = "ollama:y"
    assert (tokenizer.name, tokenizer.is_slow, tokenizer.count("Olá, me chamo Edmar")) == ("characters", False, 8)
    present[0] = "openai:x"
    assert tokenizer.name == "o200k_base"
    assert made == ["openai:x", "ollama:y"]


async def test_limited_mode_at_the_end_of_a_chain_answers_step_by_step(clock: FakeClock) -> None:
    house = House(clock=clock, limits=TurnLimits(cycle=Cycle.AUTO))
    down = ScriptedModel({task: [ProviderDown("a:1 is down")] for task in Task}, "a:1")
    chain = FallbackModel([ChainLink(down, Circuit(clock)), ChainLink(LimitedMind(house.embedder), Circuit(clock))])
    heavy, reasoning, chat, summary = (HotModel(chain) for _ in MODES)
    house.models = Models(heavy, reasoning, chat, summary, house.embedder)
    said = []
    async with house.chatbot() as bot:
        for number, text in enumerate(("remember that the wifi password is 1234", "what is the wifi password?") * 3):
            channel = house.channel()
            await (await bot.receive(house.incoming(text, message_id=str(number)), channel))
            said.append(channel.texts[-1])
    assert "Saved" in said[0]
    assert all("1234" in text for text in said[1::2])


def chain_of(*names: str) -> ChatModel:
    return HotModel(FallbackModel([ChainLink(ScriptedModel({}, name), Circuit(FakeClock())) for name in names]))


@pytest.mark.parametrize(
    ("heavy", "chat", "single"),
    [
        (("a:1",), ("a:1",), {Cycle.AUTO, Cycle.SINGLE}),
        (("a:1", "b:2"), ("a:1", "b:2"), {Cycle.AUTO, Cycle.SINGLE}),
        (("a:1", "limited:mind"), ("a:1", "limited:mind"), {Cycle.AUTO, Cycle.SINGLE}),
        (("a:1", "b:2"), ("b:2", "a:1"), {Cycle.SINGLE}),
        (("a:1",), ("a:1", "b:2"), {Cycle.SINGLE}),
        (("limited:mind",), ("limited:mind",), set()),
        (("a:1",), ("limited:mind",), set()),
    ],
)
def test_a_turn_is_one_call_where_one_model_does_all(
    heavy: tuple[str, ...], chat: tuple[str, ...], single: set[Cycle]
) -> None:
    models = Models(chain_of(*heavy), chain_of(*heavy), chain_of(*chat), chain_of("c:3"), HashEmbedder())
    for present in (models, models.now()):
        assert {cycle for cycle in Cycle if cycle.is_single(present)} == single
