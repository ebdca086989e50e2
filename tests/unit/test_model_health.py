"""A key refused, credit gone, a model unknown or silent: owners read once what to do, over real SDKs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from bot.models.chains import build_chains
from bot.models.health import SETTLE_S
from bot.models.hot import HotModels
from bot.settings.models import ModelSettings
from core.delivery.alerts import OwnerAlerts
from core.delivery.notifier import Notifier
from core.errors import BotError, CreditGone, KeyRejected, ModelUnknown, ProviderBusy, ProviderError, ProviderRefused
from core.models import complete
from core.providers.failure import Rejected, by_status
from core.types import Locale, UserKey
from tests.fakes import anthropic_server, openai_server
from tests.fakes.channel import OneChannel, RecordingChannel
from tests.fakes.clock import FakeClock
from tests.fakes.http_server import Answer, LoopbackServer, failure
from tests.fakes.wires import prompt
from tests.unit.test_doctor import well

OLGA = UserKey("test", "olga")
Script = Callable[[Any], Answer]


@dataclass
class Bench:
    """Models over a server, whose alarms one owner reads."""

    models: HotModels
    server: LoopbackServer
    clock: FakeClock
    alerts: OwnerAlerts
    owner: RecordingChannel

    async def ask(self, mode: str = "chat") -> str:
        """Ask the mode's model; return its words, or the name of the failure."""
        try:
            return (await complete(getattr(self.models.models, mode), prompt())).text
        except ProviderError as error:
            return type(error).__name__
        finally:
            await self.settle()

    async def settle(self) -> None:
        for _ in range(3):
            await self.clock.advance(0)

    @property
    def keys(self) -> list[str]:
        return list(self.alerts.open_now())

    def stops_answers(self) -> bool:
        return any(alarm.stops_answers for alarm in self.alerts.open_now().values())


@asynccontextmanager
async def bench(*answers: Any, locale: Locale = Locale.EN, **settings: Any) -> AsyncIterator[Bench]:
    server, clock = LoopbackServer(list(answers)), FakeClock()
    owner, notifier = RecordingChannel(clock), Notifier(clock)
    notifier.connect("test", OneChannel(owner))

    async def owners() -> dict[UserKey, Locale]:
        return {OLGA: locale}

    alerts = OwnerAlerts(owners, notifier, clock)
    async with server.running(), AsyncExitStack() as stack:
        own = {f"{name}_base_url": server.url for name in ("openai", "anthropic", "ollama")}
        keys = {"openai_api_key": "sk-SECRET", "anthropic_api_key": "sk-SECRET"}
        given = ModelSettings(**(own | keys | settings))
        chains = await build_chains(given, clock, stack)
        models = HotModels(given, chains, clock)
        chains.health.report_to(alerts)
        yield Bench(models, server, clock, alerts, owner)


def by_model(**scripts: Any) -> Script:
    """Answer by the model that is asked, named with _ for -."""

    def answer(asked: Any) -> Answer:
        script = scripts[asked.body["model"].replace("-", "_")]
        answered: Answer = script(asked) if callable(script) else script
        return answered

    return answer


QUOTA = failure(429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}})
POOR = anthropic_server.fails(400, "Your credit balance is too low to access the Anthropic API.")


@pytest.mark.parametrize(
    ("model", "answer", "key", "failure_name", "words"),
    [
        ("openai:m", openai_server.fails(401), "key-refused:openai", "KeyRejected", ["OPENAI_API_KEY", "key"]),
        ("anthropic:m", anthropic_server.fails(401), "key-refused:anthropic", "KeyRejected", ["ANTHROPIC_API_KEY"]),
        ("openai:m", QUOTA, "credit-gone:openai", "CreditGone", ["credit", "Top it up"]),
        ("openai:m", openai_server.fails(402), "credit-gone:openai", "CreditGone", ["credit"]),
        ("anthropic:m", POOR, "credit-gone:anthropic", "CreditGone", ["credit"]),
        (
            "openai:m",
            openai_server.fails(404),
            "model-unknown:openai:m",
            "ModelUnknown",
            ["no model m", "MODEL in .env"],
        ),
        ("anthropic:m", anthropic_server.fails(404), "model-unknown:anthropic:m", "ModelUnknown", ["no model m"]),
    ],
)
async def test_the_first_question_that_fails_for_good_tells_the_owner_and_the_first_answer_ends_it(
    model: str, answer: Answer, key: str, failure_name: str, words: list[str]
) -> None:
    async with bench(answer, model=model) as found:
        for _ in range(12):
            assert await found.ask() == failure_name
            await found.clock.advance(20)
        assert found.keys == [key]
        [told] = found.owner.texts
        assert all(word in told for word in [*words, "/admin model", "I cannot answer anybody"])
        assert "SECRET" not in told
        found.server.answers = [well]
        await found.clock.advance(400)
        assert found.stops_answers()
        assert await found.ask() == "Olá!"
        assert not found.stops_answers()
        await found.clock.advance(SETTLE_S)
        assert found.keys == []
        assert found.owner.texts[1:] == [f"{model} answers again."]


@pytest.mark.parametrize("locale", Locale)
async def test_every_alarm_has_its_sentence_in_every_language(locale: Locale) -> None:
    answers = (openai_server.fails(401), QUOTA, openai_server.fails(404), openai_server.fails(500))
    texts = []
    for answer in answers:
        async with bench(answer, model="openai:gpt-x", locale=locale) as found:
            for _ in range(4):
                await found.ask()
            found.server.answers = [well]
            await found.clock.advance(400)
            await found.ask()
            await found.clock.advance(SETTLE_S)
            texts += found.owner.texts
    assert len(set(texts)) == 5
    assert all("gpt-x" in text and "{" not in text for text in texts)


async def test_one_key_is_one_alarm_for_every_model_and_the_embedder() -> None:
    async with bench(
        openai_server.fails(401),
        model="openai:a",
        model_summary="openai:b",
        model_embedding="openai:tiny",
        model_embedding_dims=8,
    ) as found:
        for mode in ("heavy", "reasoning", "chat", "summary"):
            await found.ask(mode)
        with pytest.raises(KeyRejected):
            await found.models.models.embedder.embed(["x"])
        await found.settle()
        assert len(found.owner.texts) == 1
        assert found.keys == ["key-refused:openai"]


@pytest.mark.parametrize(
    ("mode", "settings", "meanwhile"),
    [
        (
            "chat",
            {"model": "openai:a,ollama:b", "model_summary": "limited"},
            "Meanwhile ollama:b answers in its place.",
        ),
        ("chat", {"model": "openai:a,limited"}, "in limited mode"),
        ("summary", {"model": "limited", "model_summary": "openai:a"}, "do not summarise"),
    ],
)
async def test_it_is_told_what_people_notice_meanwhile(mode: str, settings: Any, meanwhile: str) -> None:
    async with bench(by_model(a=openai_server.fails(401), b=well), **settings) as found:
        await found.ask(mode)
        [told] = found.owner.texts
        assert meanwhile in told
        assert not found.stops_answers()


async def test_a_chain_that_does_not_answer_is_told_when_all_of_it_rests_and_over_when_one_answers() -> None:
    answers = {"a": openai_server.fails(500), "b": openai_server.fails(503)}
    async with bench(by_model(**answers), model="openai:a,ollama:b") as found:
        for _ in range(2):
            await found.ask()
        assert found.owner.texts == []
        await found.ask()
        [told] = found.owner.texts
        assert "openai:a, ollama:b" in told
        assert "HTTP 503" in told
        assert found.keys == ["models-resting:openai:a,ollama:b"]
        await found.clock.advance(400)
        found.server.answers = [by_model(a=openai_server.fails(500), b=well)]
        assert await found.ask() == "Olá!"
        await found.clock.advance(SETTLE_S)
        assert found.owner.texts[1:] == ["ollama:b answers again."]


async def test_a_rate_limit_is_an_alarm_only_if_it_lasts() -> None:
    async with bench(openai_server.fails(429), model="openai:a") as found:
        for _ in range(8):
            await found.ask()
            await found.clock.advance(1)
        assert len(found.server.asked) > 3
        assert found.owner.texts == []
        await found.clock.advance(120)
        await found.ask()
        assert found.keys == ["models-resting:openai:a"]


async def test_an_embedder_that_is_down_is_told_with_what_it_means() -> None:
    async with bench(openai_server.fails(500), model_embedding="ollama:tiny", model_embedding_dims=8) as found:
        for text in "abc":
            with pytest.raises(BotError):
                await found.models.models.embedder.embed([text])
        await found.settle()
        [told] = found.owner.texts
        assert told.endswith("I find memories by their words alone.")
        found.server.answers = [well]
        await found.models.models.embedder.embed(["d"])
        await found.settle()
        await found.clock.advance(SETTLE_S)
        assert found.owner.texts[1:] == ["ollama:tiny answers again."]


async def test_putting_another_model_in_place_closes_the_alarm_of_the_one_before() -> None:
    async with bench(by_model(a=openai_server.fails(404), b=well), model="openai:a") as found:
        await found.ask()
        assert found.keys == ["model-unknown:openai:a"]
        assert (await found.models.prove("chat", "openai:b")).doubt is None
        found.models.put("chat", "openai:b")
        await found.settle()
        assert found.keys == ["model-unknown:openai:a"]  # it is asked in three other modes
        for mode in ("heavy", "reasoning", "summary"):
            found.models.put(mode, "openai:b")
        await found.settle()
        assert not found.stops_answers()
        await found.clock.advance(SETTLE_S)
        assert found.keys == []
        assert found.owner.texts[1:] == ["openai:a is no longer in use: what I reported about it is settled."]


async def test_a_model_that_is_only_proved_raises_no_alarm_and_a_proof_that_succeeds_ends_one() -> None:
    async with bench(openai_server.fails(401), model="openai:a") as found:
        await found.models.prove("chat", "openai:other")
        assert found.keys == []
        for _ in range(4):
            await found.ask()
        assert found.keys == ["key-refused:openai"]
        found.server.answers = [well]
        assert (await found.models.prove("chat", "openai:a")).doubt is None
        await found.settle()
        assert not found.stops_answers()
        assert await found.ask() == "Olá!"  # at once: it rests no more


async def test_a_model_that_admin_put_in_place_is_mended_there_and_not_in_the_settings() -> None:
    async with bench(by_model(a=well, b=openai_server.fails(404)), model="openai:a") as found:
        found.models.put("chat", "openai:b")
        await found.ask()
        [told] = found.owner.texts
        assert "put in place by /admin model" in told
        assert "/admin model default" in told
        assert ".env and restart" not in told


async def test_the_setting_that_names_the_model_and_the_providers_own_pages_are_told() -> None:
    async with bench(openai_server.fails(404), model="ollama:a", model_chat="openai:b") as found:
        await found.ask()
        assert "MODEL_CHAT in .env" in found.owner.texts[0]
        assert found.server.url in found.owner.texts[0]


@pytest.mark.parametrize(
    ("status", "kind", "words", "expected"),
    [
        (429, "insufficient_quota", "", CreditGone),
        (429, "rate_limit_exceeded", "Rate limit reached", ProviderBusy),
        (429, None, "You exceeded your current quota, please check your plan and billing details", ProviderBusy),
        (400, "billing_hard_limit_reached", "", CreditGone),
        (402, None, "Insufficient Balance", CreditGone),
        (403, None, "Your team has run out of credits", CreditGone),
        (403, None, "The model requires moderation and your input was flagged", ProviderRefused),
        (403, "permission_error", "", KeyRejected),
        (401, "authentication_error", "invalid x-api-key", KeyRejected),
        (400, None, "API key not valid", KeyRejected),
    ],
)
def test_no_credit_is_told_from_a_wrong_key_and_a_busy_moment(
    status: int, kind: str | None, words: str, expected: type[ProviderError]
) -> None:
    assert type(by_status("a:1", status, kind, words, {})) is expected


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (404, "model_not_found", "The model `x` does not exist"),
        (403, "model_not_found", "Project `p` does not have access to model `x`"),
        (404, "not_found_error", "model: claude-x"),
        (400, None, "x/y is not a valid model ID"),
        (400, None, "Model Not Exist"),
        (404, None, 'model "x" not found, try pulling it first'),
    ],
)
def test_a_model_that_is_unknown_is_no_provider_that_is_down(status: int, kind: str | None, words: str) -> None:
    error = by_status("a:1", status, kind, words, {})
    assert isinstance(error, Rejected)
    assert isinstance(error.instead, ModelUnknown)


def test_a_parameter_that_is_refused_is_no_unknown_model() -> None:
    error = by_status("a:1", 400, None, "Unsupported value: temperature", {})
    assert isinstance(error, Rejected)
    assert error.instead is None
