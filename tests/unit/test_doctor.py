"""`elefante doctor`: a tiny call of every model, and the next step for each that does not answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bot import doctor
from bot import doctor as verb
from bot.settings.models import ModelSettings
from bot.settings.settings import load
from core.dialogue import Stop
from tests.fakes import anthropic_server, openai_server
from tests.fakes.http_server import Answer, Asked, LoopbackServer
from tests.fakes.wires import Api


def well(asked: Asked) -> Answer:
    """Answer a choice by its JSON, and anything else by a word."""
    typed = "response_format" in asked.body or "output_config" in asked.body
    api: Api = anthropic_server if asked.path == anthropic_server.PATH else openai_server
    if asked.path.endswith("/embeddings"):
        return openai_server.embedding(8)(asked)
    return api.says('{"action": "Finish"}' if typed else "Olá!")


async def examined(*answers: Any, **settings: Any) -> tuple[dict[str, Any], str]:
    server = LoopbackServer(list(answers))
    async with server.running():
        document = await verb.doctor(
            ModelSettings(
                model="anthropic:claude-haiku-5-5",
                anthropic_api_key="sk-SECRET",  # type: ignore[arg-type]  # pydantic wraps it
                anthropic_base_url=server.url,
                ollama_base_url=server.url,
                model_embedding="ollama:tiny",
                model_embedding_dims=8,
                **settings,
            )
        )
    return document, verb.render(document)


async def test_every_mode_and_the_embedder_are_asked_once_and_the_cost_is_said() -> None:
    document, text = await examined(well)
    assert document["ok"]
    assert [finding["name"] for finding in document["findings"]] == [
        "reasoning_heavy",
        "reasoning",
        "chat",
        "summary",
        "embedding",
    ]
    assert [finding["detail"] for finding in document["findings"]] == [
        "Finish",
        "Finish",
        "Olá!",
        "Olá!",
        "a vector of 8",
    ]
    assert all(finding["total_ms"] >= 0 for finding in document["findings"])
    one = (20 * 0.10 + 30 * 0.125 + 50 * 0.01 + 9 * 0.50) / 1e6
    assert document["cost_usd"] == pytest.approx(4 * one)
    assert f"US$ {4 * one:.6f}" in text
    assert "Olá! (Messages API, tools; " in text


async def test_the_chat_model_is_asked_as_a_turn_asks_it_and_the_form_that_it_takes_is_said() -> None:
    def picky(asked: Asked) -> Answer:
        if "tools" in asked.body:
            return openai_server.fails(400, "gemma does not support tools")
        return well(asked)

    document, text = await examined(picky, model_chat="ollama:gemma", model_reasoning_heavy="limited")
    chat = next(finding for finding in document["findings"] if finding["name"] == "chat")
    assert chat["ok"]
    assert "(Chat Completions, calls as JSON that the server holds to a schema; " in text


async def test_every_model_of_a_chain_is_asked_not_only_the_one_that_answers_first() -> None:
    document, text = await examined(well, model_chat="ollama:a,ollama:b,limited")
    chat = [finding for finding in document["findings"] if finding["name"] == "chat"]
    assert [finding["model"] for finding in chat] == ["ollama:a", "ollama:b", "limited"]
    assert document["ok"]
    assert "limited mode" in text


async def test_a_bad_answer_is_asked_for_again_and_both_calls_are_counted() -> None:
    answers = [anthropic_server.says("Dance"), well]
    document, _ = await examined(*answers)
    twice, once = (finding["cost_usd"] for finding in document["findings"][:2])
    assert twice == pytest.approx(2 * once)


@pytest.mark.parametrize(
    ("answer", "advice"),
    [
        (anthropic_server.fails(401), "mend ANTHROPIC_API_KEY: https://platform.claude.com"),
        (anthropic_server.fails(402), "its account has no credit; top it up: https://platform"),
        (anthropic_server.fails(429), "over its limit"),
        (anthropic_server.fails(404), "anthropic has no model 'claude-haiku-5-5' for you"),
        (anthropic_server.fails(400), "refuses the question; is there a model 'claude-haiku-5-5'"),
        (anthropic_server.fails(500), "running and reachable? ANTHROPIC_BASE_URL names another address"),
        (anthropic_server.says("", stop=Stop.REFUSED), "choose another model"),
    ],
)
async def test_a_failure_comes_with_its_next_step(answer: Answer, advice: str) -> None:
    document, text = await examined(answer)
    assert not document["ok"]
    assert advice in text
    assert "SECRET" not in text


async def test_without_a_model_nothing_is_asked_and_nothing_costs() -> None:
    document = await verb.doctor(ModelSettings())
    assert document["ok"]
    assert document["cost_usd"] == 0.0
    assert "limited mode" in verb.render(document)


@pytest.mark.parametrize(
    ("here", "changed", "said"),
    [
        (
            (),
            {},
            (
                "extras here: none; pictures: asked about (elefante[ocr] reads the words on them); "
                "recordings: not heard (MODEL_TRANSCRIPTION)"
            ),
        ),
        (
            ("ocr", "voice"),
            {"model_transcription": "embedded"},
            "extras here: ocr, voice; pictures: their words are read; recordings: written down by embedded",
        ),
        (
            ("ocr",),
            {"model": "openai:gpt-5.2", "openai_api_key": "k", "model_transcription": "openai:whisper-1"},
            (
                "extras here: ocr; pictures: shown to the model and their words are read; "
                "recordings: written down by openai:whisper-1"
            ),
        ),
        (
            (),
            {"model": "openai:gpt-5.2", "openai_api_key": "k", "model_pictures": False},
            (
                "extras here: none; pictures: asked about (elefante[ocr] reads the words on them); "
                "recordings: not heard (MODEL_TRANSCRIPTION)"
            ),
        ),
    ],
)
def test_it_is_said_which_extras_are_here_and_what_becomes_of_pictures_and_recordings(
    monkeypatch: pytest.MonkeyPatch, here: tuple[str, ...], changed: dict[str, Any], said: str
) -> None:
    monkeypatch.setattr(doctor, "is_installed", lambda extra: extra in here)
    assert doctor.told_extras(load(storage_url="memory:", **changed)) == said


async def test_check_and_doctor_have_a_line_on_extras() -> None:
    settings = load(storage_url="memory:")
    for document, render in (
        (await verb.check(settings), verb.render),
        (await verb.examine(settings), verb.render),
    ):
        assert document["ok"]
        assert doctor.told_extras(settings) in render(document)


async def test_settings_come_first_and_one_that_does_not_exist_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = tmp_path / ".env"
    env.write_text(f"TELEGRAM_TOKN=1\nDATA_DIR={tmp_path / 'data'}\n", "utf-8")
    monkeypatch.setenv("ELEFANTE_ENV", str(env))
    document = await verb.examine(load())
    assert document["ok"], "it may be a setting of something else"
    first, second, *_ = verb.render(document).splitlines()
    assert f"settings in {env}" in first
    assert f"data in {tmp_path / 'data'}" in second
    assert f"warn  settings         TELEGRAM_TOKN in {env} is not a setting; write TELEGRAM_TOKEN" in verb.render(
        document
    )


@pytest.mark.parametrize(("priced", "warned"), [(False, ["openrouter:acme/large"]), (True, [])])
async def test_a_limit_in_money_wants_prices_and_a_providers_list_may_tell_them(
    tmp_path: Path, priced: bool, warned: list[str]
) -> None:
    pricing = {"pricing": {"prompt": "0.0000004", "completion": "0.0000016"}} if priced else {}
    listed = json.dumps({"data": [{"id": "acme/large"} | pricing]}).encode()
    server = LoopbackServer([well], listed=Answer(200, {}, listed))
    async with server.running():
        settings = load(
            None,
            data_dir=tmp_path,
            model="openrouter:acme/large",
            openrouter_api_key="k",
            openrouter_base_url=server.url,
            quota_bot="cost_day=5",
        )
        document = await verb.examine(settings)
    found = [finding["model"] for finding in document["findings"] if finding["name"] == "price"]
    assert found == warned
