"""`elefante setup` at a terminal: a newcomer's whole way, and Ctrl-C at every question and in every proof."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.clock import SystemClock
from tests.e2e.run_kit import ANA, bot
from tests.e2e.terminal import CTRL_C, ENTER, Terminal, environment
from tests.fakes import openai_server
from tests.fakes.http_server import HEAD, Answer, LoopbackServer
from tests.fakes.telegram_server import TOKEN, TelegramServer
from tests.unit.test_doctor import well

KEEP = ("TELEGRAM_TOKEN (is not shown", "DISCORD_TOKEN (is not shown", "MODEL (Enter")
INTERRUPTED = 130


@asynccontextmanager
async def terminal(env: Path, **variables: str) -> AsyncIterator[Terminal]:
    """Open set-up on a terminal of its own."""
    opened = Terminal(["setup"], environment(ELEFANTE_ENV=str(env), **variables), columns=200)
    try:
        yield opened
    finally:
        opened.close()


async def answer(at: Terminal, question: str, keys: str) -> None:
    """Wait for the question, below all that was said before, and type.

    What was typed is thrown away as the terminal begins to hide it, which is after the question.
    """

    def is_asked() -> bool:
        last = at.rows[-1] if at.rows else ""
        return question in last and not ("not shown" in last and at.echoes)

    await asyncio.to_thread(at.wait, is_asked)
    at.type(keys)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def test_a_newcomer_mends_each_mistake_and_opens_the_link_that_set_up_printed(tmp_path: Path) -> None:
    env = tmp_path / ".env"
    models = LoopbackServer([openai_server.fails(401), well])
    async with TelegramServer(SystemClock()) as telegram, models.running():
        env.write_text(
            f"TELEGRAM_API_BASE_URL={telegram.url}\nOLLAMA_BASE_URL={models.url}\nDATA_DIR={tmp_path / 'data'}\n"
        )
        async with terminal(env) as at:
            await answer(at, KEEP[0], f"1:wrong{ENTER}")
            await asyncio.to_thread(at.wait, "Telegram does not know this token")
            await answer(at, KEEP[0], f"{TOKEN}{ENTER}")
            await asyncio.to_thread(at.wait, "Telegram: connected as @elefante_bot")
            await answer(at, KEEP[1], ENTER)
            await answer(at, KEEP[2], f"ollama:tiny{ENTER}")
            await answer(at, "Save it anyway?", f"n{ENTER}")
            await answer(at, KEEP[2], f"ollama:tiny{ENTER}")
            await answer(at, "Make a key now", ENTER)
            await answer(at, "Run it as a service now", ENTER)
            assert await asyncio.to_thread(at.wait_end) == 0
            text = at.text
        assert "ollama refuses the key" in text
        assert "ollama:tiny answers: Olá!" in text
        assert TOKEN not in text, "what is secret is not echoed"
        assert f"TELEGRAM_TOKEN={TOKEN}\nMODEL=ollama:tiny\n" in env.read_text()
        [code] = re.findall(r"https://t\.me/elefante_bot\?start=(\S+) to own this bot", text)
        async with bot(telegram, tmp_path / "data") as process:
            telegram.says(ANA, f"/start {code}")
            await telegram.until(telegram.chat(ANA.id).screen)
            assert telegram.chat(ANA.id).screen()[0].startswith("Pronto: este bot agora é seu.")
            process.terminate()
            assert await process.wait() == 0


@pytest.mark.parametrize("typed", range(4))
async def test_one_interrupt_leaves_from_any_question_and_tells_what_was_written(tmp_path: Path, typed: int) -> None:
    env = tmp_path / ".env"
    async with TelegramServer(SystemClock()) as telegram:
        stored = f"TELEGRAM_API_BASE_URL={telegram.url}\nDATA_DIR={tmp_path / 'data'}\n"
        env.write_text(stored)
        async with terminal(env) as at:
            questions = [*KEEP, "OPENAI_API_KEY (is not shown)"]
            for question, said in zip(questions[:typed], (TOKEN, "", "openai:gpt-6-luna"), strict=False):
                await answer(at, question, f"{said}{ENTER}")
            await answer(at, questions[typed], CTRL_C)
            assert await asyncio.to_thread(at.wait_end) == INTERRUPTED
            text = at.text
    if typed:
        assert f"Left. Written to {env}: TELEGRAM_TOKEN. Nothing else was changed." in text
        assert env.read_text() == f"{stored}TELEGRAM_TOKEN={TOKEN}\n"
    else:
        assert f"Left. Nothing was written; {env} is as it was." in text
        assert env.read_text() == stored
    assert names(tmp_path) <= {".env", "data"}, "nothing half-written is left"


@pytest.mark.parametrize("proof", ["platform", "model"])
async def test_one_interrupt_leaves_at_once_while_something_is_proved(tmp_path: Path, proof: str) -> None:
    env = tmp_path / ".env"
    server = LoopbackServer([Answer(gates={HEAD: asyncio.Event()})])
    async with server.running():
        stored = f"TELEGRAM_API_BASE_URL={server.url}\nOLLAMA_BASE_URL={server.url}\n"
        env.write_text(stored)
        async with terminal(env) as at:
            await answer(at, KEEP[0], TOKEN + ENTER if proof == "platform" else ENTER)
            if proof == "model":
                await answer(at, KEEP[1], ENTER)
                await answer(at, KEEP[2], f"ollama:tiny{ENTER}")
            await asyncio.to_thread(at.wait, lambda: len(server.asked) > 0)
            at.type(CTRL_C)
            assert await asyncio.to_thread(at.wait_end) == INTERRUPTED
            assert f"Left. Nothing was written; {env} is as it was." in at.text
    assert env.read_text() == stored


@pytest.mark.long
async def test_one_interrupt_leaves_at_once_while_a_name_is_looked_up(tmp_path: Path) -> None:
    """The system's look-up cannot be broken off, and takes half a minute where there is no network."""
    env, asked = tmp_path / ".env", tmp_path / "asked"
    env.write_text("TELEGRAM_API_BASE_URL=http://telegram.invalid\n")
    (tmp_path / "sitecustomize.py").write_text(
        "import pathlib, socket, time\n"
        f"socket.getaddrinfo = lambda *_, **__: (pathlib.Path({str(asked)!r}).touch(), time.sleep(1e6))\n"
    )
    async with terminal(env, PYTHONPATH=str(tmp_path)) as at:
        await answer(at, KEEP[0], TOKEN + ENTER)
        await asyncio.to_thread(at.wait, asked.exists)
        at.type(CTRL_C)
        assert await asyncio.to_thread(at.wait_end) == INTERRUPTED
        assert f"Left. Nothing was written; {env} is as it was." in at.text
