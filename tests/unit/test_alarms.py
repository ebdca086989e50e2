"""The disk is looked at, a failed start is told, alarms outlive a restart and are sent by webhook and e-mail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from pathlib import Path
from typing import Any

import pytest

from bot.alarms import FAILED_MARK, poster, tell_start_failed, watching
from bot.settings.settings import Settings, load
from bot.wiring import App, build
from core.errors import BotError, ConfigError, Damaged, StorageDown
from core.types import Locale, UserKey
from tests.fakes.channel import OneChannel, RecordingChannel
from tests.fakes.clock import FakeClock
from tests.fakes.http_server import Answer, LoopbackServer
from tests.postgres import database_of


@dataclass
class SmtpServer:
    """Speaks as much of RFC 5321 as a relay needs. `mails` are what it took; with `refuses` it takes nothing."""

    mails: list[EmailMessage] = field(default_factory=list)
    refuses: bool = False
    port: int = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Listen on a free port of 127.0.0.1."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 here\r\n")
        while line := await reader.readline():
            verb = line.split()[0].upper() if line.split() else b""
            if verb == b"DATA":
                writer.write(b"354 go on\r\n")
                raw = await reader.readuntil(b"\r\n.\r\n")
                self.mails.append(BytesParser(EmailMessage, policy=default).parsebytes(raw[:-3]))
            is_refused = self.refuses and verb == b"RCPT"
            writer.write(b"550 no\r\n" if is_refused else b"221 bye\r\n" if verb == b"QUIT" else b"250 ok\r\n")
            await writer.drain()
            if verb == b"QUIT":
                break
        writer.close()


OLGA = UserKey("telegram", "olga")
MB = 1_000_000
REFUSED = ConfigError("TELEGRAM_TOKEN", "it was refused")


@dataclass
class Disk:
    """A disk with so many megabytes free; None: it cannot be looked at."""

    free_mb: int | None = 600

    def __call__(self, _: Path) -> int:
        if self.free_mb is None:
            raise OSError("gone")
        return self.free_mb * MB


@dataclass
class Bench:
    app: App
    clock: FakeClock
    owner: RecordingChannel
    disk: Disk

    async def minutes(self, minutes: float = 1) -> None:
        for _ in range(int(minutes * 4)):
            await self.clock.advance(15)

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for threads and servers, and let time pass meanwhile."""
        async with asyncio.timeout(60):
            while not condition():
                await self.clock.advance(15)
                await asyncio.sleep(0.001)


@pytest.fixture(autouse=True)
def _no_time_for_last_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a real clock, while those under way wait for a fake one."""
    monkeypatch.setattr("bot.alarms._LAST_NOTICES_S", 0.0)


@asynccontextmanager
async def running(folder: Path, disk: Disk | None = None, **settings: Any) -> AsyncIterator[Bench]:
    clock, disk = FakeClock(), disk or Disk()
    async with build(Settings(data_dir=folder, language="en", **settings), clock=clock) as app:
        await app.features.access.own(OLGA, "Olga")
        owner = RecordingChannel(clock)
        async with watching(app, disk):
            app.features.notifier.connect("telegram", OneChannel(owner))
            await rest(clock)
            yield Bench(app, clock, owner, disk)


async def rest(clock: FakeClock) -> None:
    """Let the threads of the database, and what is on its way to a server, have their turn."""
    for _ in range(20):
        await asyncio.sleep(0.005)
        await clock.advance(0)


async def test_a_disk_that_fills_is_told_once_and_again_when_there_is_room(tmp_path: Path) -> None:
    async with running(tmp_path) as bench:
        await bench.minutes(3)
        assert bench.owner.texts == []
        bench.disk.free_mb = 499
        await bench.until(lambda: bench.owner.texts)
        await bench.minutes(60)
        [told] = bench.owner.texts
        assert "499 MB" in told
        assert str(tmp_path) in told
        bench.disk.free_mb = 510  # little more than the limit: it may be less in a minute
        await bench.minutes(2)
        assert len(bench.app.features.alerts.open_now()) == 1
        bench.disk.free_mb = None
        await bench.minutes(2)
        assert len(bench.app.features.alerts.open_now()) == 1
        bench.disk.free_mb = 700
        await bench.until(lambda: len(bench.owner.texts) == 2)
        assert "700 MB" in bench.owner.texts[1]


async def test_the_limit_is_a_setting_and_nought_is_none(tmp_path: Path) -> None:
    async with running(tmp_path, Disk(1), disk_alert_mb=0) as bench:
        await bench.minutes(2)
        assert bench.app.features.alerts.open_now() == {}


async def test_an_alarm_that_is_open_survives_a_restart(tmp_path: Path) -> None:
    told: list[list[str]] = []
    for _ in range(3):
        async with running(tmp_path, Disk(100)) as bench:
            await bench.until(lambda: told or bench.owner.texts)
            await bench.minutes(2)
            await rest(bench.clock)
            told.append(bench.owner.texts)
        assert list(bench.app.features.alerts.open_now()) == ["disk-low"]
    assert [len(texts) for texts in told] == [1, 0, 0]


async def test_of_two_workers_over_one_database_one_tells_an_alarm_and_one_its_end(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        here, there = [
            await stack.enter_async_context(
                running(tmp_path / name, storage_url=database_of(str(tmp_path)), disk_alert_mb=0)
            )
            for name in ("here", "there")
        ]
        for each in (here, there):
            each.app.features.alerts.tell("model", dict.fromkeys(Locale, "Trouble."))
        await here.until(lambda: here.owner.texts + there.owner.texts)
        await there.app.features.alerts.catch_up()
        for each in (here, there):
            each.app.features.alerts.over("model", dict.fromkeys(Locale, "Over."))
        await here.until(lambda: len(here.owner.texts + there.owner.texts) > 1)
        await there.minutes(2)
        await rest(here.clock)
        assert sorted(here.owner.texts + there.owner.texts) == ["Over.", "Trouble."]


async def test_a_webhook_takes_the_text_as_json() -> None:
    server = LoopbackServer([Answer()])
    async with server.running():
        assert await poster(f"{server.url}/hook?a=b")("⚠️ Trouble")
    [asked] = server.asked
    assert (asked.path, asked.body) == ("/hook?a=b", {"text": "⚠️ Trouble"})


@pytest.mark.parametrize("status", [302, 404, 500])
async def test_a_webhook_that_refuses_or_is_not_there_took_nothing(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    server = LoopbackServer([Answer(status)])
    async with server.running():
        assert not await poster(f"{server.url}/SECRET")("x")
    assert not await poster(f"{server.url}/SECRET")("x")  # nobody listens any more
    assert "SECRET" not in caplog.text


async def test_an_email_has_a_subject_a_sender_and_the_text() -> None:
    server = SmtpServer()
    async with server.running():
        assert await poster(f"smtp://127.0.0.1:{server.port}/?to=ana@example.com&from=bot@example.com")("⚠️ Olá\nmais")
    [mail] = server.mails
    assert (mail["To"], mail["From"], mail["Subject"]) == ("ana@example.com", "bot@example.com", "Elefante: ⚠️ Olá")
    assert mail.get_content().splitlines() == ["⚠️ Olá", "mais"]


async def test_a_password_is_not_sent_without_tls_and_a_refusal_is_no_success() -> None:
    server = SmtpServer()
    async with server.running():
        assert not await poster(f"smtp://ana:SECRET@127.0.0.1:{server.port}/?to=ana@example.com")("x")
        assert not await poster(f"smtps://ana:SECRET@127.0.0.1:{server.port}/?to=ana@example.com")("x")
        server.refuses = True
        assert not await poster(f"smtp://127.0.0.1:{server.port}/?to=ana@example.com")("x")
    assert server.mails == []


@pytest.mark.parametrize(
    "url", ["example.com", "ftp://example.com", "https://", "smtps://u:p@host:465", "smtp://host:x/?to=a@b"]
)
def test_an_address_that_is_none_is_refused_with_what_to_write(url: str) -> None:
    with pytest.raises(ConfigError, match=r"ALERT_URL: write https://…, or smtps://") as refused:
        load(None, alert_url=url)
    assert "u:p" not in str(refused.value)


def test_the_address_is_a_secret_of_the_log() -> None:
    settings = load(None, alert_url="https://example.com/SECRET")
    assert "https://example.com/SECRET" in settings.secrets()
    assert "SECRET" not in repr(settings)


async def test_a_start_that_fails_again_and_again_is_told_once_and_so_is_its_end(tmp_path: Path) -> None:
    server = LoopbackServer([Answer(500), Answer(), Answer(), Answer()])
    async with server.running():
        settings = load(None, data_dir=tmp_path, alert_url=server.url, language="en")
        for _ in range(4):  # the first is not taken
            await tell_start_failed(settings, REFUSED)
        assert (tmp_path / FAILED_MARK).stat().st_mode & 0o777 == 0o600
        assert ["TELEGRAM_TOKEN in .env is refused" in body["text"] for body in server.bodies] == [True, True]
        for _ in range(2):
            async with running(tmp_path, alert_url=server.url) as bench:
                await bench.until(lambda: len(server.bodies) == 3)
                assert bench.owner.texts == []
        assert "started again" in server.bodies[2]["text"]
        assert not (tmp_path / FAILED_MARK).exists()


@pytest.mark.parametrize("language", Locale)
@pytest.mark.parametrize(
    ("error", "named"),
    [
        (REFUSED, "TELEGRAM_TOKEN"),
        (Damaged("the file is no database"), "elefante check"),
        (StorageDown("no answer at 127.0.0.1"), ""),
        (BotError("telegram ended"), "elefante run"),
    ],
)
async def test_a_start_that_failed_is_told_in_one_language_with_what_to_do(
    tmp_path: Path, language: Locale, error: BotError, named: str
) -> None:
    server = LoopbackServer([Answer()])
    async with server.running():
        await tell_start_failed(load(None, data_dir=tmp_path, alert_url=server.url, language=language), error)
    [told] = [body["text"] for body in server.bodies]
    assert named in told
    own = error.advice if isinstance(error, ConfigError) else str(error)
    assert own not in told, "the program's own words are English"


async def test_without_an_address_a_start_that_fails_writes_nothing(tmp_path: Path) -> None:
    await tell_start_failed(Settings(data_dir=tmp_path), REFUSED)
    assert not (tmp_path / FAILED_MARK).exists()
