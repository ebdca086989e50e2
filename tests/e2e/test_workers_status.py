"""Two `elefante run` over one PostgreSQL, from one folder: one claim link, and a status that knows both."""

from __future__ import annotations

import json
import re
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from core.clock import SystemClock
from tests.e2e.command import Elefante
from tests.e2e.run_kit import ANA, bot, link_of
from tests.fakes.telegram_server import TelegramServer
from tests.postgres import database_of


@pytest.mark.long
async def test_two_workers_from_one_folder_share_a_link_and_are_both_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = database_of(str(tmp_path))
    monkeypatch.setenv("STORAGE_URL", url)
    command = Elefante(tmp_path)
    shared = {"STORAGE_URL": url, "DATA_DIR": str(tmp_path / "data")}
    code, out, _ = await command.meanwhile("status", **shared)
    assert (code, out.splitlines()[0][:24]) == (1, "FAIL  no `elefante run` ")
    async with TelegramServer(SystemClock(), patience_s=60.0) as server, AsyncExitStack() as stack:
        one = await stack.enter_async_context(bot(server, tmp_path / "data"))
        two = await stack.enter_async_context(bot(server, tmp_path / "data"))
        first, second = await link_of(one), await link_of(two)
        assert first == second
        server.says(ANA, f"/start {first}")
        await server.until(server.chats[ANA.id].screen)
        told = await until_ok(command, shared)
        assert {worker["process"].rpartition(":")[2] for worker in told["workers"]} == {str(one.pid), str(two.pid)}
        duties = [duty for worker in told["workers"] for duty in worker["duties"]]
        assert [duty.rpartition(":")[2] for duty in duties].count("poll") == 1
        _, out, _ = await command.meanwhile("status", **shared)
        assert out.startswith("ok    running, 2 workers over PostgreSQL ")
        server.says(ANA, "/admin status")
        await server.until(lambda: any("share the work: 2" in text or "trabalho: 2" in text for text in shown(server)))
        [text] = [text for text in shown(server) if "PostgreSQL" in text]
        assert len(re.findall(r"• \S+:\d+ · ", text)) == 2
        for process in (one, two):
            process.terminate()
            assert await process.wait() == 0
        code, _, _ = await command.meanwhile("status", **shared)
        assert code == 1
    assert files(tmp_path / "data") == ["elefante.log"]


def shown(server: TelegramServer) -> list[str]:
    return server.chats[ANA.id].screen()


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def until_ok(command: Elefante, shared: dict[str, str]) -> Any:
    """Ask until all platforms of all workers are connected, and return what was told."""
    code, out, err = 1, "", ""
    for _ in range(100):
        code, out, err = await command.meanwhile("status", "--json", **shared)
        told = json.loads(out)
        if code == 0 and len(told["workers"]) == 2 and all(worker["platforms"] for worker in told["workers"]):
            return told
    raise AssertionError(out + err)
