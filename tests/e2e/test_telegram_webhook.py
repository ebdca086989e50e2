"""Webhook mode: the same intake, pushed. Real HTTP, with and without TLS of our own."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from adapters.telegram.config import TelegramConfig, Webhook
from core.errors import ConfigError
from tests.e2e.telegram_kit import Bot, flow, running, set_by
from tests.fakes.clock import FakeClock
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TOKEN, TelegramServer
from tests.fakes.telegram_wire import Refused

ANA = Person(7)
OPENSSL = (
    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1 "
    "-addext subjectAltName=IP:127.0.0.1"
)
HEADER = "X-Telegram-Bot-Api-Secret-Token"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def pushed_to(
    server: TelegramServer, clock: FakeClock, **more: Any
) -> AsyncIterator[tuple[Bot, str, aiohttp.ClientSession]]:
    port = free_port()
    url = f"{'https' if more else 'http'}://127.0.0.1:{port}/hook/elefante"
    config = replace(TelegramConfig(TOKEN), webhook=Webhook(url, port=port, **more))
    async with running(server, clock, config=config) as bot, aiohttp.ClientSession() as session:
        await flow(server, clock, lambda: server.webhook or bot.task.done())
        yield bot, url, session


async def test_a_pushed_update_is_taken_before_telegram_is_told_so_and_answered(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, pushed_to(server, clock) as (bot, url, session):
        assert server.webhook is not None
        assert server.webhook["url"] == url
        assert "message" in server.webhook["allowed_updates"]
        server.says(ANA, "oi")
        for _ in range(2):  # Telegram repeats what it is not sure of
            headers = {HEADER: server.webhook["secret_token"]}
            async with session.post(url, json=server.updates[0], headers=headers) as response:
                assert response.status == 200
            assert [incoming.text for incoming in bot.handler.received] == ["oi"]
        await flow(server, clock, lambda: server.chats[7].screen() == ["Você disse: oi"])
        assert bot.handler.answered == 1
        assert not any(call.method == "getupdates" for call in server.calls)


async def test_it_listens_at_the_host_and_the_port_that_are_set_behind_a_proxy_that_speaks_tls() -> None:
    clock, port = FakeClock(), free_port()
    config = set_by(
        telegram_webhook_url="https://bot.example.org/hook",
        telegram_webhook_host="127.0.0.2",
        telegram_webhook_port=port,
    )
    async with TelegramServer(clock) as server, running(server, clock, config=config) as bot:
        await flow(server, clock, lambda: server.webhook or bot.task.done())
        assert server.webhook is not None
        assert server.webhook["url"] == "https://bot.example.org/hook"
        server.says(ANA, "oi")
        async with aiohttp.ClientSession() as session:
            headers = {HEADER: server.webhook["secret_token"]}
            async with session.post(
                f"http://127.0.0.2:{port}/hook", json=server.updates[0], headers=headers
            ) as response:
                assert response.status == 200
            with pytest.raises(aiohttp.ClientConnectorError):
                await session.post(f"http://127.0.0.1:{port}/hook", json=server.updates[0], headers=headers)
        await flow(server, clock, lambda: bot.handler.answered == 1)


@pytest.mark.parametrize("secret", [None, "", "wrong", "ünïcode"])
async def test_who_does_not_know_the_secret_is_not_listened_to(clock: FakeClock, secret: str | None) -> None:
    async with TelegramServer(clock) as server, pushed_to(server, clock) as (bot, url, session):
        server.says(ANA, "sou eu mesmo")
        headers = {} if secret is None else {HEADER: secret}
        async with session.post(url, json=server.updates[0], headers=headers) as response:
            assert response.status == 403
        assert not bot.handler.received


async def test_what_is_no_update_is_refused_or_left_out_and_the_next_one_is_taken(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, pushed_to(server, clock) as (bot, url, session):
        assert server.webhook is not None
        headers = {HEADER: server.webhook["secret_token"]}
        for body, status in ((b"{", 400), (b"[1]", 200), (b'{"update_id": 1, "message": {}}', 200)):
            async with session.post(url, data=body, headers=headers | {"Content-Type": "application/json"}) as response:
                assert response.status == status
        server.says(ANA, "oi")
        async with session.post(url, json=server.updates[0], headers=headers) as response:
            assert response.status == 200
        assert [incoming.text for incoming in bot.handler.received] == ["oi"]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificate with openssl")
async def test_a_certificate_of_our_own_is_served_and_shown_to_telegram(clock: FakeClock, tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    asked = f"{OPENSSL} -keyout {key} -out {cert}"
    openssl = await asyncio.create_subprocess_exec("openssl", *asked.split(), stderr=asyncio.subprocess.DEVNULL)
    assert await openssl.wait() == 0
    async with TelegramServer(clock) as server, pushed_to(server, clock, cert=cert, key=key) as (bot, url, session):
        assert server.webhook is not None
        headers = {HEADER: server.webhook["secret_token"]}
        server.says(ANA, "oi")
        trusting = ssl.create_default_context(cafile=str(cert))
        async with session.post(url, json=server.updates[0], headers=headers, ssl=trusting) as response:
            assert response.status == 200
        assert [incoming.text for incoming in bot.handler.received] == ["oi"]
        assert server.webhook["certificate"].content == cert.read_bytes()


async def test_a_certificate_that_cannot_be_used_stops_the_run_and_names_the_setting(tmp_path: Path) -> None:
    clock = FakeClock()
    nothing = tmp_path / "nothing.pem"
    async with TelegramServer(clock) as server, pushed_to(server, clock, cert=nothing, key=nothing) as (bot, _, __):
        with pytest.raises(ConfigError, match="TELEGRAM_WEBHOOK_CERT"):
            await bot.task


@pytest.mark.parametrize(
    ("refusal", "setting"),
    [
        (Refused(400, "Bad Request: bad webhook: HTTPS url must be provided for webhook"), "TELEGRAM_WEBHOOK_URL"),
        (Refused(401, "Unauthorized"), "TELEGRAM_TOKEN"),
    ],
)
async def test_a_webhook_that_telegram_refuses_stops_the_run_and_names_the_setting(
    refusal: Refused, setting: str
) -> None:
    clock = FakeClock()

    def fault(method: str, _: object) -> None:
        if method == "setwebhook":
            raise refusal

    async with TelegramServer(clock) as server:
        server.faults.append(fault)
        async with pushed_to(server, clock) as (bot, _, __):
            with pytest.raises(ConfigError, match=setting):
                await bot.task


async def test_a_telegram_that_does_not_answer_is_told_later(clock: FakeClock) -> None:
    outages = iter([Refused(502, "Bad Gateway")] * 2)

    def fault(method: str, _: object) -> None:
        if method == "setwebhook" and (refusal := next(outages, None)):
            raise refusal

    async with TelegramServer(clock) as server:
        server.faults.append(fault)
        async with pushed_to(server, clock):
            assert server.webhook
            assert clock.monotonic() == pytest.approx(3.0)


async def test_a_port_in_use_stops_the_run_and_names_the_setting(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, pushed_to(server, clock) as (_, url, __):
        port = int(url.split(":")[2].split("/")[0])
        config = replace(TelegramConfig(TOKEN), webhook=Webhook(url, port=port))
        async with running(server, clock, config=config) as second:
            await flow(server, clock, second.task.done)
            with pytest.raises(ConfigError, match="TELEGRAM_WEBHOOK_PORT"):
                await second.task


@pytest.mark.parametrize(
    "body", ["[" * 50_000, '{"update_id": 5, "message": {"message_id": "x"}}', '{"message": 7}', "[]"]
)
async def test_a_body_of_any_shape_is_not_pushed_for_ever_and_ends_nothing(clock: FakeClock, body: str) -> None:
    async with TelegramServer(clock) as server, pushed_to(server, clock) as (bot, url, session):
        assert server.webhook is not None
        headers = {HEADER: server.webhook["secret_token"]}
        async with session.post(url, data=body.encode(), headers=headers) as response:
            assert response.status in {200, 400}
        server.says(ANA, "oi")
        async with session.post(url, json=server.updates[0], headers=headers) as response:
            assert response.status == 200
        await flow(server, clock, lambda: bot.handler.answered == 1)
