"""Two real workers behind a load balancer: an update may come to either, to both, and again, and is answered once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest

from adapters.telegram.webhook import secret
from core.clock import SystemClock
from tests.crash.kills import SlowModel
from tests.crash.workers import Fleet, Outcome, Watch, look, settings_of
from tests.e2e.test_telegram_webhook import HEADER, free_port
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TOKEN, TelegramServer
from tests.postgres import HAS_POSTGRES, WHY_NOT, new_database, shared_server

pytestmark = [pytest.mark.long, pytest.mark.skipif(not HAS_POSTGRES, reason=WHY_NOT)]

ANA = Person(1000, "Ana")


async def test_an_update_that_load_balancers_send_anywhere_and_again_is_answered_once(tmp_path: Path) -> None:
    url, model, ports = new_database(), SlowModel(), (free_port(), free_port())
    watch, outcome = Watch(shared_server(), url.rpartition("/")[2]), Outcome()
    own = {"TELEGRAM_WEBHOOK_URL": "https://bot.example.org/hook"}
    async with (
        TelegramServer(SystemClock(), patience_s=120.0) as telegram,
        model.running(),
        Fleet(url, model.url, tmp_path, **settings_of(telegram), **own) as fleet,
        aiohttp.ClientSession() as session,
    ):

        async def post(number: int, *to: int) -> None:
            """Push what was said to workers at once."""

            async def one(port: int) -> None:
                where, shown = f"http://127.0.0.1:{port}/hook", {HEADER: secret(TOKEN)}
                async with session.post(where, json=telegram.updates[number], headers=shown) as response:
                    assert response.status == 200

            await asyncio.gather(*(one(ports[worker]) for worker in to))

        async def until_listening(worker: int) -> None:
            while True:
                try:
                    async with session.post(f"http://127.0.0.1:{ports[worker]}/hook") as response:
                        assert response.status == 403
                        return
                except aiohttp.ClientConnectionError:
                    await asyncio.sleep(0.05)

        workers = [await fleet.grow(TELEGRAM_WEBHOOK_PORT=str(port)) for port in ports]
        for worker in range(2):
            await until_listening(worker)
        await telegram.until(lambda: telegram.webhook)
        outcome.asked = 4
        for number in range(outcome.asked):
            telegram.says(ANA, f"ask-{number}")
        await post(0, 0)
        await post(1, 1)
        await post(2, 0, 1)
        await telegram.until(lambda: any("w0." in post.text for post in telegram.chat(ANA.id).ours()))
        await fleet.kill(workers[0])  # which has the chat
        for number in range(outcome.asked):
            await post(number, 1, 1)
        await watch.until_answered(outcome.asked)
        for number in range(outcome.asked):
            await post(number, 1)
        await watch.until_answered(outcome.asked)
        assert await fleet.stop() == [0]
        look(telegram, 1, outcome)
    assert outcome.left.lost == []
    assert outcome.left.unmarked == 0
    assert outcome.disorder == []
