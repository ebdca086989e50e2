"""A model is proved before it is put in place, over a real SDK and a real socket; what is wrong with it is told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from bot.models.chains import build_chains
from bot.models.health import DOWN
from bot.models.hot import MODE_OF, HotModels
from bot.models.presets import PROVIDERS
from bot.settings.models import ModelSettings
from core.dialogue import Prompt, PromptContext, PromptTurn, Task
from core.features.admin.machine import Doubt, Proof
from core.features.ledger.calls import ModelCall
from core.history.tokens import Calibration
from core.models import MODES, complete
from core.types import Locale, MessageRole
from tests.fakes import openai_server
from tests.fakes.clock import FakeClock
from tests.fakes.http_server import Answer, Asked, Break, LoopbackServer, failure
from tests.unit.test_doctor import well

HERE = "where the server is"


@asynccontextmanager
async def hot_models(
    *answers: Any, patience_s: float = 60.0, **settings: Any
) -> AsyncIterator[tuple[HotModels, LoopbackServer, list[ModelCall]]]:
    """Models that are limited by the settings, beside a server that answers so."""
    server, calls, clock = LoopbackServer(list(answers)), [], FakeClock()

    async def record(call: ModelCall) -> None:
        calls.append(call)

    async with server.running(), AsyncExitStack() as stack:
        settings = {name: server.url if value == HERE else value for name, value in settings.items()}
        given = ModelSettings(ollama_base_url=server.url, **settings)
        chains = await build_chains(given, clock, stack, record, Calibration())
        yield HotModels(given, chains, clock, patience_s=patience_s), server, calls


def test_every_mode_of_the_core_has_its_settings() -> None:
    assert tuple(MODE_OF) == MODES


@pytest.mark.parametrize("mode", MODES)
async def test_a_model_is_asked_as_its_mode_would_and_then_answers(mode: str) -> None:
    async with hot_models(well) as (models, server, calls):
        assert models.is_limited(mode)
        assert await models.prove(mode, "ollama:tiny") == Proof()
        assert [call.mode for call in calls] == [MODE_OF[mode].value]
        typed = "response_format" in server.asked[0].body
        assert typed is (mode in {"heavy", "reasoning"})
        models.put(mode, "ollama:tiny")
        assert models.held(mode) == "ollama:tiny"
        assert models.usual(mode) == "limited"
        assert not models.is_limited(mode)
        place = getattr(models.models, mode)
        assert place.name == "ollama:tiny"
        assert models.models.now() != models.models
        models.put(mode, "")
        assert place.name.startswith("limited:")


@pytest.mark.parametrize(
    ("name", "proof"),
    [
        ("gpt", Proof(Doubt.PROVIDER, "gpt", ", ".join((*PROVIDERS, "limited")))),
        ("ollama:", Proof(Doubt.FORM, "ollama:")),
        ("limited:x", Proof(Doubt.FORM, "limited:x")),
        ("openai:x", Proof(Doubt.KEY, "openai:x", "OPENAI_API_KEY")),
        ("limited,anthropic:x", Proof(Doubt.KEY, "anthropic:x", "ANTHROPIC_API_KEY")),
        ("limited", Proof()),
    ],
)
async def test_what_cannot_be_asked_is_doubted_without_asking_anybody(name: str, proof: Proof) -> None:
    async with hot_models(well) as (models, server, _):
        assert await models.prove("chat", name) == proof
        assert server.asked == []


async def test_a_name_that_the_provider_refuses_is_told_without_its_words() -> None:
    async with hot_models(failure(404, {"error": {"message": "no SECRET here", "code": "model_not_found"}})) as (
        models,
        _,
        __,
    ):
        proof = await models.prove("chat", "ollama:none")
    assert (proof.doubt, proof.about) == (Doubt.ANSWER, "ollama:none")
    assert proof.why[Locale.EN] == "it has no such model, or none for my key (HTTP 404)"
    assert proof.why[Locale.PT].startswith("ele não tem esse modelo")


async def test_silence_is_borne_for_so_long_only() -> None:
    async with hot_models(Answer(frames=[openai_server.PING], ending=Break.SILENCE), patience_s=0.2) as (models, _, __):
        assert await models.prove("chat", "ollama:slow") == Proof(Doubt.ANSWER, "ollama:slow", why=DOWN)


async def test_of_several_each_is_asked_and_the_next_answers_for_the_one_before() -> None:
    def by_name(asked: Asked) -> Answer:
        return well(asked) if asked.body["model"] == "good" else failure(401, {})

    async with hot_models(by_name) as (models, server, _):
        proof = await models.prove("chat", "ollama:good, ollama:bad")
        assert (proof.doubt, proof.about) == (Doubt.ANSWER, "ollama:bad")
        models.put("chat", "ollama:bad,ollama:good")
        assert (await complete(models.models.chat, a_prompt())).text == "Olá!"
    assert [asked.body["model"] for asked in server.asked] == ["good", "bad", "bad", "good"]


async def test_a_cost_that_nobody_knows_is_no_reason_against_it_but_known() -> None:
    async with hot_models(well, openai_base_url=HERE) as (models, _, __):
        assert await models.prove("chat", "openai:nobody-knows-it") == Proof(priced=False)


async def test_a_model_that_lost_its_key_leaves_the_settings_own_in_place(caplog: pytest.LogCaptureFixture) -> None:
    async with hot_models(well) as (models, _, __):
        models.put("chat", "openai:x")
        assert models.held("chat") == "limited"
        assert models.is_limited("chat")
        models.put("chat", "gpt")
        assert models.held("chat") == "limited"
    assert caplog.messages.count("a model that was decided cannot be asked") == 2


@pytest.mark.spec("H1")
async def test_what_a_model_reports_of_tokens_is_learnt_of_it_and_not_of_another() -> None:
    calibration = Calibration()
    server = LoopbackServer([well])
    async with server.running(), AsyncExitStack() as stack:
        given = ModelSettings(model="ollama:tiny", model_chat="ollama:other", ollama_base_url=server.url)
        models = (await build_chains(given, FakeClock(), stack, calibration=calibration)).models()
        await complete(models.heavy, a_prompt())
    assert calibration.ratio("ollama:tiny") != 1.0
    assert calibration.ratio("ollama:other") == 1.0
    assert calibration.window("ollama:other") == 4_096


def a_prompt() -> Prompt:
    words = "word " * 200
    return Prompt(
        "", (PromptTurn(MessageRole.USER, words),), PromptContext(Task.FINISH, Locale.EN, words, FakeClock().now())
    )


@pytest.mark.parametrize(
    ("written", "nearest"),
    [
        ("openai:gpt-6-lun", "openai:gpt-6-luna"),
        ("opnai:gpt-6-luna", "openai:gpt-6-luna"),
        ("gpt-6-luna", "openai:gpt-6-luna"),
        ("olama:of-my-own", "ollama:of-my-own"),
        ("openai:gpt-6-luna", ""),
        ("ollama:of-my-own", ""),
        ("zzz", ""),
    ],
)
async def test_the_nearest_model_is_told_for_one_that_is_not_put_in_place(written: str, nearest: str) -> None:
    async with hot_models(failure(404, {}), openai_base_url=HERE) as (models, _, __):
        assert (await models.prove("chat", written)).nearest == nearest
