"""Talking with a model of a small window, over a real socket: the server counts, and refuses what does not fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.dialogue import Stop
from tests.e2e.command import Elefante
from tests.fakes import openai_server
from tests.fakes.http_server import Answer, Asked, LoopbackServer

CHARS_A_TOKEN = 3.5
VLLM = (
    "This model's maximum context length is {window} tokens. However, you requested {asked} tokens ({prompt} in the "
    "messages, {answer} in the completion). Please reduce the length of the messages or completion."
)
SILENT = "the request exceeds the available context size. try increasing the context size"


def served(window: int, complaint: str = VLLM, said: str = "Olá, Ana!") -> Callable[[Asked], Answer]:
    """A server that counts the whole request, and thinks that every message is answered by Finish."""

    def answer(asked: Asked) -> Answer:
        body: dict[str, Any] = asked.body
        prompt = int(sum(len(message["content"]) for message in body["messages"]) / CHARS_A_TOKEN)
        cap = body.get("max_tokens") or body.get("max_completion_tokens") or 16
        if prompt + cap > window:
            facts = {"window": window, "asked": prompt + cap, "prompt": prompt, "answer": cap}
            return openai_server.fails(400, complaint.format(**facts))
        decides = "response_format" in body
        return openai_server.says('{"action": "Finish"}' if decides else said)

    return answer


async def talk(folder: Path, server: LoopbackServer, *said: str, **settings: str) -> str:
    async with server.running():
        models = {
            "MODEL": "openai:m",
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "TOKENIZER": "characters",
            "LANG": "pt_BR",
        }
        _, out, _ = await Elefante(folder).meanwhile("chat", said="\n".join(said) + "\n", **models | settings)
    return out


@pytest.mark.spec("H1", "H4")
@pytest.mark.parametrize(
    ("window", "cycle", "complaint"),
    [(2_048, "auto", VLLM), (2_048, "auto", SILENT), (2_048, "stepwise", VLLM), (8_192, "auto", VLLM)],
)
async def test_the_first_hello_is_answered_whatever_the_window(
    tmp_path: Path, window: int, cycle: str, complaint: str
) -> None:
    assert await talk(tmp_path, LoopbackServer([served(window, complaint)]), "oi", CYCLE=cycle) == "Olá, Ana!\n"


@pytest.mark.parametrize("told", [{}, {"MAX_CONTEXT_TOKENS": "4096"}])
async def test_a_long_talk_goes_on_in_a_small_window(tmp_path: Path, told: dict[str, str]) -> None:
    long = "conta mais sobre a viagem para Portugal em julho " * 40
    server = LoopbackServer([served(4_096, said="Claro. " + "Lisboa fica linda no verão. " * 30)])
    out = await talk(tmp_path, server, *[long] * 12, "e agora?", **told)
    assert out.count("Claro.") == 13
    assert "/reset" not in out
    calls = 2 * 13 + sum("[MENSAGENS]" in str(body) for body in server.bodies)
    assert len(server.asked) < 2 * calls  # what is refused for its length is asked once more, and shorter


async def test_a_long_talk_goes_on_where_the_server_never_says_how_small_its_window_is(tmp_path: Path) -> None:
    server = LoopbackServer([served(2_400, SILENT, said="Claro. " + "Lisboa fica linda no verão. " * 8)])
    out = await talk(tmp_path, server, *["conta mais sobre a viagem para Portugal " * 10] * 20)
    assert out.count("Claro.") == 20


async def test_a_message_that_is_too_long_is_told_how_long_it_may_be(tmp_path: Path) -> None:
    server = LoopbackServer([served(4_096)])
    out = await talk(tmp_path, server, "palavra " * 3_000, "oi", MAX_CONTEXT_TOKENS="4096")
    assert "longa demais para mim (o limite é de " in out
    assert " 0 caracteres" not in out
    assert out.endswith("Olá, Ana!\n")


@pytest.mark.parametrize("cycle", ["single", "stepwise"])
async def test_an_answer_without_a_word_is_said_to_be_one(tmp_path: Path, cycle: str) -> None:
    decided = [openai_server.says('{"action": "Finish"}')] if cycle == "stepwise" else []
    server = LoopbackServer([*decided, openai_server.says("", stop=Stop.END)])
    out = await talk(tmp_path, server, "oi", CYCLE=cycle)
    assert out.startswith("O modelo de linguagem não respondeu nada.")
    assert "…" not in out
