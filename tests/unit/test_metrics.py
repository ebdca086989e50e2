"""What METRICS serves, over a real socket: numbers that Prometheus reads, and whether the process is ready."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from bot.metrics import Metrics, MetricsServer
from bot.run import readings
from bot.settings.settings import load
from bot.wiring import App, build, open_chatbot
from core.clock import SystemClock
from core.dialogue import Usage
from core.errors import ConfigError, StorageError
from core.features.admin.machine import Link, PlatformState
from core.features.ledger.calls import ModelCall
from core.ports import Clock
from core.storage.database import PoolUse
from core.stores import Backlog
from core.tasks import Phase
from core.types import ChatKey, Incoming, UserKey
from tests.architecture.tree import ROOT
from tests.fakes.channel import RecordingChannel
from tests.fakes.clock import START, FakeClock
from tests.fakes.http_server import LoopbackServer
from tests.fakes.openai_server import says
from tests.postgres import HAS_POSTGRES, WHY_NOT, database_of
from tests.unit.test_http import free_port

DASHBOARD = ROOT / "docs" / "grafana.json"
ANA, CHAT, WORDS = "ana-4711", "chat-0815", "my safe opens with zebra77"


@dataclass
class Client:
    """Asks the server, and reads what it answers."""

    url: str
    session: aiohttp.ClientSession

    async def get(self, path: str) -> tuple[int, str]:
        async with self.session.get(f"{self.url}{path}") as response:
            return response.status, await response.text()

    async def ready(self) -> tuple[int, list[str]]:
        status, text = await self.get("/readyz")
        assert "\n" not in text
        answer = json.loads(text)
        assert answer["ready"] is (status == 200)
        return status, answer["reasons"]

    async def numbers(self) -> dict[tuple[str, ...], float]:
        """Return each sample: its name and the values of its labels, in the order of their names."""
        status, text = await self.get("/metrics")
        assert status == 200
        return {
            (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }


@dataclass
class Scene:
    """A bot with its server."""

    client: Client
    server: MetricsServer
    stop: asyncio.Event
    app: App
    clock: FakeClock

    def connects(self, link: Link = Link.CONNECTED) -> None:
        self.app.features.platforms.all["telegram"] = PlatformState("telegram", link, START)


@asynccontextmanager
async def serving(own: Clock | None = None, **settings: Any) -> AsyncIterator[Scene]:
    """Serve a bot on a clock that a test moves, or on that one."""
    clock, stop, port = FakeClock(), asyncio.Event(), free_port()
    server = MetricsServer(Metrics(), stop)
    written = {"storage_url": "memory:", "language": "en"} | settings
    async with (
        aiohttp.ClientSession() as session,
        server.at("127.0.0.1", port),
        build(load(None, **written), clock=own or clock, metrics=server.metrics) as app,
    ):
        yield Scene(Client(f"http://127.0.0.1:{port}", session), server, stop, app, clock)


def incoming(text: str) -> Incoming:
    return Incoming(ChatKey("console", CHAT), UserKey("console", ANA), "Ana", "1", text, START, language="en")


async def test_the_process_is_alive_from_the_start_and_ready_once_storage_and_a_platform_answer() -> None:
    async with serving() as scene:
        client = scene.client
        assert await client.get("/healthz") == (200, '{"ok": true}')
        assert await client.ready() == (503, ["the bot is starting"])
        scene.server.bot = readings(scene.app)
        assert await client.ready() == (503, ["no platform is connected"])
        scene.connects(Link.CONNECTING)
        assert await client.ready() == (503, ["no platform is connected"])
        scene.connects()
        assert await client.ready() == (200, [])
        numbers = await client.numbers()
        assert (numbers["elefante_storage_up",], numbers["elefante_messages_owed", "telegram"]) == (1, 0)
        await scene.app.database.close()
        assert await client.ready() == (503, ["the storage does not answer"])
        numbers = await client.numbers()
        assert numbers["elefante_storage_up",] == 0
        assert not {"elefante_messages_owed", "elefante_oldest_owed_seconds"} & {name for name, *_ in numbers}
        scene.stop.set()
        assert await client.ready() == (503, ["the bot is stopping"])
        assert (await client.get("/healthz"))[0] == 200


@pytest.mark.skipif(not HAS_POSTGRES, reason=WHY_NOT)
async def test_a_worker_of_which_the_others_do_not_hear_is_not_ready() -> None:
    async with serving(SystemClock(), storage_url=database_of("lonely")) as scene:
        scene.server.bot = readings(scene.app)
        scene.connects()
        assert await scene.client.ready() == (503, ["the other workers do not hear of this one"])
        async with scene.app.worker.at_work():
            assert await scene.client.ready() == (200, [])


async def test_a_storage_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang() -> dict[str, Backlog]:
        await asyncio.Event().wait()
        raise StorageError("never")

    monkeypatch.setattr("bot.metrics._PATIENCE_S", 0.01)
    async with serving() as scene:
        monkeypatch.setattr(type(scene.app.parts.inbox), "backlog", lambda _: hang())
        scene.server.bot = readings(scene.app)
        scene.connects()
        assert await scene.client.ready() == (503, ["the storage does not answer"])
        assert (await scene.client.numbers())["elefante_storage_up",] == 0


async def test_a_turn_and_its_calls_are_counted_and_nobody_is_named() -> None:
    model = LoopbackServer([says("Hello there.")])
    async with model.running():
        wire = {"model": "openai:m", "openai_base_url": f"{model.url}/v1", "openai_api_key": "sk-secret"}
        async with serving(SystemClock(), **wire) as scene, open_chatbot(scene.app) as chatbot:
            scene.server.bot = readings(scene.app)
            channel = RecordingChannel(SystemClock())
            await (await chatbot.receive(incoming(WORDS), channel))
            numbers = await scene.client.numbers()
            _, text = await scene.client.get("/metrics")
    assert channel.texts == ["Hello there."]
    assert numbers["elefante_turns_total", "completed", "console"] == 1
    assert {key[1]: value for key, value in numbers.items() if key[0] == "elefante_turn_seconds_count"} == {
        "waiting": 1,
        "model": 1,
        "delivery": 1,
        "own": 1,
    }
    calls = {key: value for key, value in numbers.items() if key[0] == "elefante_model_calls_total"}
    assert calls == {("elefante_model_calls_total", "chat", "openai:m", "end"): 1}
    assert numbers["elefante_model_call_seconds_count", "chat", "openai:m"] == 1
    assert numbers["elefante_model_tokens_total", "input", "chat", "openai:m"] > 0
    assert numbers["elefante_model_tokens_total", "output", "chat", "openai:m"] > 0
    assert not [word for word in (ANA, CHAT, "zebra77", "Hello", "sk-secret") if word in text]


async def test_what_is_owed_is_counted_with_the_age_of_the_oldest() -> None:
    async with serving() as scene:
        scene.server.bot = readings(scene.app)
        scene.connects()
        scene.app.features.platforms.all["discord"] = PlatformState("discord", Link.ENDED, START)
        inbox, asked = scene.app.parts.inbox, replace(incoming("hi"), chat=ChatKey("telegram", "c"))
        for number in ("1", "2"):
            await inbox.accept(replace(asked, message_id=number))
            await scene.clock.advance(30)
        numbers = await scene.client.numbers()
        assert (numbers["elefante_messages_owed", "telegram"], numbers["elefante_messages_owed", "discord"]) == (2, 0)
        assert numbers["elefante_oldest_owed_seconds", "telegram"] == 60
        assert numbers["elefante_platform_connected", "telegram"] == 1
        assert numbers["elefante_platform_connected", "discord"] == 0
        for number in ("1", "2"):
            await inbox.close(replace(asked, message_id=number))
        numbers = await scene.client.numbers()
        assert numbers["elefante_messages_owed", "telegram"] == 0
        assert numbers["elefante_oldest_owed_seconds", "telegram"] == 0


async def test_the_pool_is_shown_where_the_engine_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving() as scene:
        scene.server.bot = readings(scene.app)
        assert not [name for name, *_ in await scene.client.numbers() if name.startswith("elefante_pool_connections")]
        monkeypatch.setattr(type(scene.app.database), "pool", lambda _: PoolUse(limit=10, size=4, idle=1, waiting=2))
        scene.server.bot = readings(scene.app)
        numbers = await scene.client.numbers()
        connections = {state: numbers["elefante_pool_connections", state] for state in ("idle", "used", "closed")}
        assert connections == {"idle": 1, "used": 3, "closed": 6}
        assert numbers["elefante_pool_waiting",] == 2


async def test_a_port_that_is_taken_is_told_by_the_settings_name() -> None:
    server, port = MetricsServer(Metrics(), asyncio.Event()), free_port()
    async with server.at("127.0.0.1", port):
        with pytest.raises(ConfigError, match="METRICS: cannot listen on"):
            async with server.at("127.0.0.1", port):
                pass


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("", None),
        ("9464", ("127.0.0.1", 9464)),
        (":9464", ("127.0.0.1", 9464)),
        ("192.0.2.7:9464", ("192.0.2.7", 9464)),
        ("localhost:9464", ("localhost", 9464)),
        ("[::1]:9464", ("::1", 9464)),
    ],
)
def test_the_address_is_this_machines_own_unless_it_says_otherwise(
    written: str, address: tuple[str, int] | None
) -> None:
    assert load(None, metrics=written).metrics_address == address


@pytest.mark.parametrize("written", ["on", "localhost", "0", "a:", "x:70000", "http://a:1", "a/b:1", "1:2:3", "a:1/b"])
def test_what_is_no_address_is_refused_with_how_to_write_one(written: str) -> None:
    with pytest.raises(ConfigError, match="METRICS: write HOST:PORT"):
        load(None, metrics=written)


# --- the dashboard ---


@pytest.fixture
async def exposed(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """Map every name that is ever served to its labels."""
    async with serving() as scene:
        monkeypatch.setattr(type(scene.app.database), "pool", lambda _: PoolUse(limit=10, size=4, idle=1, waiting=2))
        scene.server.bot, metrics = readings(scene.app), scene.server.metrics
        scene.connects()
        metrics.turn_ended("telegram", "", dict.fromkeys(Phase, 0.0))
        metrics.model_called(ModelCall(START, None, "chat", "finish", "openai:m", "end", 1.0, usage=Usage(1, 1)))
        metrics.wrote("telegram")(200)
        _, text = await scene.client.get("/metrics")
    families = text_string_to_metric_families(text)
    return {sample.name: set(sample.labels) for family in families for sample in family.samples}


def panels(document: Any) -> Iterator[Any]:
    for panel in document["panels"]:
        yield panel
        yield from panel.get("panels", ())


def test_the_dashboard_shows_every_metric_and_asks_for_no_other(exposed: dict[str, set[str]]) -> None:
    document, names = json.loads(DASHBOARD.read_text("utf-8")), exposed
    asked = set()
    for panel in panels(document):
        for target in panel.get("targets", ()):
            expression = target["expr"]
            found = re.findall(r"\b(?:elefante|process)_\w+", expression)
            assert found, expression
            asked.update(found)
            assert set(found) <= set(names), expression
            labels = set().union(*(names[name] for name in found)) | {"instance", "job"}
            used = {label.strip() for by in re.findall(r"\bby \(([^)]*)\)", expression) for label in by.split(",")}
            used |= set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", expression))
            used |= set(re.findall(r"{{(\w+)}}", target.get("legendFormat", "")))
            assert used <= labels, expression
    shown, ours = ({re.sub(r"_(bucket|count|sum)$", "", name) for name in each} for each in (asked, names))
    assert {name for name in ours if name.startswith("elefante_")} <= shown


def test_grafana_can_load_the_dashboard() -> None:
    document = json.loads(DASHBOARD.read_text("utf-8"))
    assert document["title"] == "Elefante"
    assert document["schemaVersion"] >= 36
    assert "id" not in document or document["id"] is None  # else an import would look for that one
    [source] = [one for one in document["templating"]["list"] if one["type"] == "datasource"]
    assert source["query"] == "prometheus"
    ids = set[int]()
    for panel in panels(document):
        assert panel["id"] not in ids
        ids.add(panel["id"])
        if panel["type"] != "row":
            assert panel["datasource"] == {"type": "prometheus", "uid": f"${{{source['name']}}}"}
            assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


def test_the_page_names_every_metric_and_no_other(exposed: dict[str, set[str]]) -> None:
    page = (ROOT / "docs" / "operating.md").read_text("utf-8")
    ours = {re.sub(r"_(bucket|count|sum)$", "", name) for name in exposed if name.startswith("elefante_")}
    assert set(re.findall(r"`(elefante_\w+)", page)) == ours
