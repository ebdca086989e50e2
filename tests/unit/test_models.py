"""From settings to models."""

from __future__ import annotations

import subprocess
import sys
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest

from bot.models.chains import build_chains, options_of
from bot.models.presets import Mode
from bot.settings.models import ModelName, ModelSettings
from core.features.ledger.calls import ModelCall
from core.models import Models, complete
from core.ports import ChatModel
from tests.fakes import anthropic_server, openai_server
from tests.fakes.clock import FakeClock
from tests.fakes.http_server import Answer, Asked, LoopbackServer
from tests.fakes.wires import prompt


async def built(stack: AsyncExitStack, clock: FakeClock, **settings: Any) -> Models:
    return (await build_chains(ModelSettings(**settings), clock, stack)).models()


@pytest.mark.spec("T14")
async def test_each_mode_asks_its_own_model_in_its_own_manner(clock: FakeClock) -> None:
    claude, other = LoopbackServer([anthropic_server.says("c")]), LoopbackServer([openai_server.says("o")])
    async with claude.running(), other.running(), AsyncExitStack() as stack:
        models = await built(
            stack,
            clock,
            anthropic_api_key="k",
            anthropic_base_url=claude.url,
            ollama_base_url=other.url,
            model="anthropic:big",
            model_chat="ollama:small:1b",
            model_temperature=0.5,
            model_reasoning_heavy_effort="high",
            model_summary_max_tokens=99,
        )
        for model in (models.heavy, models.reasoning, models.chat, models.summary):
            await complete(model, prompt())
        names = [model.name for model in (models.heavy, models.reasoning, models.chat, models.summary)]
    assert names == ["anthropic:big", "anthropic:big", "ollama:small:1b", "anthropic:big"]
    heavy, reasoning, summary = claude.bodies
    assert heavy["output_config"] == {"effort": "high"}
    assert "output_config" not in reasoning  # an own address may be any server: it is sent no habits of the vendor's
    assert summary["max_tokens"] == 99
    (chat,) = other.bodies
    assert (chat["model"], chat["temperature"], chat["max_tokens"]) == (
        "small:1b",
        0.5,
        4_079,
    )  # what the prompt leaves of 4,096
    assert chat["reasoning_effort"] == "none"  # such servers think by default


async def test_the_vendors_own_address_is_asked_with_the_efforts_that_suit_each_mode(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bot.models import presets

    server = LoopbackServer([anthropic_server.says("c")])
    async with server.running(), AsyncExitStack() as stack:
        rows = dict(presets.PROVIDERS)
        rows["anthropic"] = replace(rows["anthropic"], url=server.url, key_setting="")
        monkeypatch.setattr("bot.models.chains.PROVIDERS", rows)
        monkeypatch.setattr("bot.settings.models.PROVIDERS", rows)
        models = await built(stack, clock, model="anthropic:big")
        for model in (models.heavy, models.reasoning, models.chat, models.summary):
            await complete(model, prompt())
    efforts = [body.get("output_config", {}).get("effort") for body in server.bodies]
    assert efforts == ["low", "low", None, "low"]
    assert "thinking" not in server.bodies[2]


@pytest.mark.parametrize(
    ("provider", "settings", "waits_s"),
    [
        ("anthropic", {}, (120.0, 30.0)),
        ("ollama", {}, (300.0, 120.0)),
        ("anthropic", {"model_first_token_timeout_s": 20}, (20.0, 30.0)),
        ("anthropic", {"model_timeout_s": 200}, (200.0, 200.0)),
    ],
)
def test_the_first_word_of_a_model_that_thinks_is_waited_for_longer_than_the_next(
    provider: str, settings: dict[str, Any], waits_s: tuple[float, float]
) -> None:
    options = options_of(ModelSettings(**settings), Mode.CHAT, ModelName(provider, "x"), None)
    assert (options.first_token_timeout_s, options.timeout_s) == waits_s


async def test_a_chain_falls_over_to_the_next_provider(clock: FakeClock) -> None:
    claude, other = LoopbackServer([anthropic_server.fails(401)]), LoopbackServer([openai_server.says("oi")])
    async with claude.running(), other.running(), AsyncExitStack() as stack:
        models = await built(
            stack,
            clock,
            anthropic_api_key="k",
            anthropic_base_url=claude.url,
            openai_base_url=other.url,
            model="anthropic:big,openai:small",
        )
        assert (await complete(models.chat, prompt())).text == "oi"


async def test_a_model_that_rests_rests_in_every_mode(clock: FakeClock) -> None:
    claude, other = LoopbackServer([anthropic_server.fails(401)]), LoopbackServer([openai_server.says("oi")])
    async with claude.running(), other.running(), AsyncExitStack() as stack:
        models = await built(
            stack,
            clock,
            anthropic_api_key="k",
            anthropic_base_url=claude.url,
            openai_base_url=other.url,
            model="anthropic:big,openai:small",
        )
        modes: list[ChatModel] = [models.heavy, models.reasoning, models.chat, models.summary]
        for model in modes:
            await complete(model, prompt())
    assert len(claude.asked) == 3


async def test_another_embedder_is_asked_at_its_address(clock: FakeClock) -> None:
    server = LoopbackServer([openai_server.embedding(8)])
    async with server.running(), AsyncExitStack() as stack:
        models = await built(
            stack,
            clock,
            model="ollama:x",
            ollama_base_url=server.url,
            model_embedding="ollama:tiny",
            model_embedding_dims=8,
        )
        assert models.embedder.space == "tiny@8"
        assert (await models.embedder.embed(["oi"])).shape == (1, 8)
    assert server.asked[0].path == "/v1/embeddings"


@pytest.mark.parametrize(
    ("model", "absent"),
    [("limited", ("anthropic", "openai")), ("anthropic:x", ("openai",)), ("openai:x", ("anthropic",))],
)
def test_only_the_sdk_that_is_configured_is_imported(model: str, absent: tuple[str, ...]) -> None:
    source = f"""
import asyncio, sys
from contextlib import AsyncExitStack
from bot.settings.models import ModelSettings
from bot.models.chains import build_chains
from core.clock import SystemClock
async def main():
    async with AsyncExitStack() as stack:
        await build_chains(
            ModelSettings(model={model!r}, anthropic_api_key="k", openai_api_key="k"), SystemClock(), stack
        )
asyncio.run(main())
found = [name for name in {absent!r} if name in sys.modules]
sys.exit(f"imported for nothing: {{found}}" if found else 0)
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


async def test_every_call_of_every_model_that_was_asked_is_told(clock: FakeClock) -> None:
    calls: list[ModelCall] = []

    async def record(call: ModelCall) -> None:
        calls.append(call)

    def down_then_well(asked: Asked) -> Answer:
        if asked.path.endswith("/embeddings"):
            return openai_server.embedding(8)(asked)
        return openai_server.fails(401) if asked.body["model"] == "a" else openai_server.says("oi")

    server = LoopbackServer([down_then_well])
    async with server.running(), AsyncExitStack() as stack:
        settings = ModelSettings(
            ollama_base_url=server.url, model="ollama:a,ollama:b", model_embedding="ollama:e", model_embedding_dims=8
        )
        models = (await build_chains(settings, clock, stack, record)).models()
        await complete(models.chat, prompt())
        await models.embedder.embed(["oi"])
        await models.embedder.embed(["oi"])  # from the cache: no call
    assert [(call.mode, call.model, call.outcome, call.cost_usd) for call in calls] == [
        ("chat", "ollama:a", "KeyRejected", 0.0),
        ("chat", "ollama:b", "end", 0.0),
        ("embedding", "ollama:e", "end", 0.0),
    ]
