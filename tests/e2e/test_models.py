"""A configured model works as a person would use it: a real process, a real SDK, a model that says what it is told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.cli.usage import usage
from bot.logs import JsonLines
from bot.settings.settings import load
from bot.wiring import build, open_chatbot
from core.dialogue import Stop
from core.types import ChatKey, Incoming, UserKey
from tests.e2e.command import Elefante
from tests.fakes.channel import RecordingChannel
from tests.fakes.http_server import Answer, Asked, LoopbackServer
from tests.fakes.wires import Api, Wire, wire

DRAFT = {"type": "text", "content": "a senha do wifi é abacate42", "bindings": ["senha do wifi"]}


def thought(body: Mapping[str, Any]) -> str:
    """What a sensible model answers: it saves what it is asked to keep, looks for what it is asked, quotes its find."""
    turns = [message for message in body["messages"] if message["role"] != "system"]
    last = turns[-1]
    schema = json.dumps(body.get("response_format") or body.get("output_config") or "")
    if '"enum": ["MemorySearch"' in schema:
        said = json.dumps(last["content"], ensure_ascii=False)
        first = r"so far:\nnone" in said
        wish = "MemorySave" if "Lembre" in said else "MemorySearch"
        return json.dumps({"action": wish if first else "Finish"})
    if "bindings" in schema:
        return json.dumps({"items": [DRAFT]})
    if "items" in schema:
        return json.dumps({"items": ["senha do wifi"]})
    said = json.dumps(turns)
    return "É abacate42." if "<memory>" in said else "Anotado." if "Lembre" in said else "Não sei dizer."


def saying(api: Api) -> Any:
    return lambda asked: api.says(thought(asked.body))


def settings(lab: Wire) -> dict[str, str]:
    """What an owner would write into `.env`."""
    provider = lab.label.upper()
    return {
        "MODEL": f"{lab.label}:m",
        f"{provider}_API_KEY": "sk-SECRET",
        f"{provider}_BASE_URL": lab.server.url,
        "CYCLE": "stepwise",
    }


@pytest.mark.spec("T3", "T4", "T9", "T10", "T14")
@pytest.mark.parametrize("label", ["anthropic", "openai"])
async def test_with_a_key_the_bot_saves_forgets_nothing_over_a_restart_and_counts_its_calls(
    label: str, tmp_path: Path
) -> None:
    async with wire(label) as lab:
        lab.server.answers = [saying(lab.api)]
        environment = settings(lab) | {"DATA_DIR": str(tmp_path)}
        code, out, err = await Elefante(tmp_path).meanwhile(
            "chat", said="Lembre que a senha do wifi é abacate42\n", **environment
        )
        assert (code, err) == (0, "")
        assert "Anotado." in out
        code, out, err = await Elefante(tmp_path).meanwhile("chat", said="Qual é a senha do wifi?\n", **environment)
        assert (code, err) == (0, "")
        assert "É abacate42." in out
        sums = await usage(load(None, data_dir=tmp_path), by=["mode", "outcome"])
    rows = {(row["mode"], row["outcome"]): row["calls"] for row in sums["rows"]}
    assert rows.keys() == {("reasoning_heavy", "end"), ("reasoning", "end"), ("chat", "end")}
    assert sum(rows.values()) == len(lab.server.asked)


async def told(*texts: str, folder: Path, **environment: str) -> list[str]:
    """What the person reads, from a bot in this process that is put together as any other; it ends without work."""
    settings = load(None, data_dir=folder, **{name.lower(): value for name, value in environment.items()})
    async with build(settings) as app, open_chatbot(app) as handler:
        channel = RecordingChannel(app.clock)
        person = UserKey("console", "ana")
        for number, text in enumerate(texts):
            incoming = Incoming(
                ChatKey("console", "ana"), person, "Ana", str(number), text, app.clock.now(), language="pt-br"
            )
            await (await handler.receive(incoming, channel))
        if app.conversations.summaries is not None:
            await app.conversations.summaries.settle()
    return channel.texts


QUESTION = "Qual é a senha do wifi?"


@pytest.mark.spec("J9")
async def test_the_log_tells_each_step_of_an_answer_with_its_tokens_and_none_of_its_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fruits = [f"Gosto muito de {fruit} e de {'x' * 200}" for fruit in ("uva", "pera", "kiwi")]
    async with wire("openai") as lab:
        lab.server.answers = [saying(lab.api)]
        await told(*fruits, folder=tmp_path, **settings(lab), TOKEN_THRESHOLD="100", RECENT_WINDOW_SIZE="2")
    ours = ("bot", "core", "adapters")
    log: list[dict[str, Any]] = [
        JsonLines.event(each) for each in caplog.records if each.name.partition(".")[0] in ours
    ]
    events = [line["event"] for line in log]
    first = [events.index(event) for event in ("message received", "memory loaded", "tokens used", "turn")]
    assert first == sorted(first)
    assert events.count("message received") == events.count("memory loaded") == 3
    assert events.index("summary triggered") < events.index("summary done")
    used = [line for line in log if line["event"] == "tokens used"]
    assert len(used) == len(lab.server.asked)
    assert {line["mode"] for line in used} >= {"reasoning_heavy", "chat", "summary"}
    assert all(
        line["known"] and line["input_tokens"] > 0 and line["output_tokens"] > 0 and line["model"] for line in used
    )
    assert not [word for word in ("uva", "pera", "kiwi") if word in json.dumps(log, ensure_ascii=False)]


@pytest.mark.spec("D4")
async def test_a_bad_key_is_told_to_the_person_without_the_key(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with wire("openai") as lab:
        lab.server.answers = [lab.api.fails(401)]
        said = "".join(await told("Oi", folder=tmp_path, **settings(lab)))
    assert "não aceitou a chave" in said
    assert "SECRET" not in said + caplog.text


async def test_an_answer_that_breaks_off_keeps_what_came_and_says_so(tmp_path: Path) -> None:
    def breaking(asked: Asked) -> Answer:
        text = thought(asked.body)
        return lab.api.says(text) if text.startswith("{") else lab.api.breaks("Metade da ", "resposta")

    async with wire("openai") as lab:
        lab.server.answers = [breaking]
        said = "".join(await told(QUESTION, folder=tmp_path, **settings(lab)))
    assert "Metade da resposta" in said
    assert "interrompida" in said


async def test_an_answer_that_is_too_long_says_so(tmp_path: Path) -> None:
    def long(asked: Asked) -> Answer:
        text = thought(asked.body)
        return lab.api.says(text) if text.startswith("{") else lab.api.says("Era uma vez", stop=Stop.LENGTH)

    async with wire("anthropic") as lab:
        lab.server.answers = [long]
        said = "".join(await told(QUESTION, folder=tmp_path, **settings(lab)))
    assert "Era uma vez" in said
    assert "tamanho máximo" in said


async def test_the_next_of_a_chain_answers_when_the_first_is_busy(tmp_path: Path) -> None:
    busy = LoopbackServer()
    async with wire("openai") as lab, busy.running():
        lab.server.answers = [saying(lab.api)]
        busy.answers = [lab.api.fails(429, headers={"retry-after-ms": "", "retry-after": "600"})]
        environment = settings(lab) | {"MODEL": "ollama:first,openai:second", "OLLAMA_BASE_URL": busy.url}
        assert "Não sei dizer." in await told(QUESTION, folder=tmp_path, **environment)
    assert len(busy.asked) == 1  # the wait it named is kept by every mode
