"""`elefante run` with METRICS: what Prometheus, an orchestrator and a log collector see of one real process."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from core.clock import SystemClock
from tests.e2e.command import start
from tests.e2e.run_kit import ANA
from tests.fakes.telegram_server import TOKEN, TelegramServer
from tests.unit.test_http import free_port

pytestmark = pytest.mark.long


async def get(url: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status, await response.text()


async def numbers(url: str) -> dict[tuple[str, ...], float]:
    _, text = await get(url)
    families = text_string_to_metric_families(text)
    return {(each.name, *each.labels.values()): each.value for family in families for each in family.samples}


async def test_one_process_is_watched_from_its_start_to_its_stop(tmp_path: Path) -> None:
    port = free_port()
    own = {"METRICS": str(port), "LOG_TO": "stderr", "LANGUAGE": "en", "DATA_DIR": str(tmp_path)}
    said: list[str] = []
    async with TelegramServer(SystemClock(), patience_s=60.0) as server:
        settings = {"TELEGRAM_TOKEN": TOKEN, "TELEGRAM_API_BASE_URL": server.url} | own
        process = await start("run", environment=os.environ | settings)
        assert process.stderr is not None

        async def until_said(what: str) -> str:
            assert process.stderr is not None
            while line := (await process.stderr.readline()).decode():
                said.append(line)
                if what in line:
                    return line
            raise AssertionError(said)

        try:
            url = (await until_said("Metrics and health at ")).split()[-1]
            assert url == f"http://127.0.0.1:{port}"
            assert (await get(f"{url}/healthz"))[0] == 200
            link = re.search(r"\?start=(\S+)", await until_said("?start="))
            assert link is not None
            server.says(ANA, f"/start {link[1]}")
            await server.until(server.chat(ANA.id).screen)
            assert await get(f"{url}/readyz") == (200, '{"ready": true, "reasons": []}')
            server.flood(ANA.id, 1.0)
            server.says(ANA, "/help")
            await server.until(lambda: any("/memories" in text for text in server.chat(ANA.id).screen()))
            await until_said('"event": "telegram asks to wait"')
            await until_said('"event": "turn"')
            server.says(ANA, "/memories")
            await until_said('"event": "turn"')
            found = await numbers(f"{url}/metrics")
            assert found["elefante_turns_total", "completed", "telegram"] == 2
            assert found["elefante_writes_total", "telegram", "200"] >= 2
            assert found["elefante_writes_total", "telegram", "429"] >= 1
            assert found["elefante_messages_owed", "telegram"] == 0
            assert found["elefante_platform_connected", "telegram"] == 1
            assert found["process_cpu_seconds_total",] > 0
        finally:
            process.send_signal(signal.SIGTERM)
            _, rest = await process.communicate()
    assert process.returncode == 0
    said += rest.decode().splitlines()
    lines: list[dict[str, Any]] = [json.loads(line) for line in said if not line.startswith("elefante: ")]
    turns = [line["turn"] for line in lines if line["event"] == "turn"]
    assert len(set(turns)) == 2
    assert [line["turn"] for line in lines if line["event"] == "message received"] == turns
    assert {line["turn"] for line in lines if line["event"] == "telegram asks to wait"} == {turns[0]}
    assert not (tmp_path / "elefante.log").exists()
    assert TOKEN not in "".join(said)
