"""`elefante run` with nothing but HTTP_PORT: a real process that programs of the same machine ask."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.e2e.command import start
from tests.unit.test_http import free_port

SECRET = "a-secret-of-this-test"
KEPT = {
    name: value
    for name, value in os.environ.items()
    if name in {"PATH", "HOME", "ELEFANTE_ENV"} or name.startswith("COV")
}


async def post(url: str, message: str, **more: str) -> tuple[int, Any]:
    body = {"message": message, "chatId": "c", "userId": "ana", "language": "en"} | more
    headers = {"Authorization": f"Bearer {SECRET}"}
    async with aiohttp.ClientSession(headers=headers) as session, session.post(url, json=body) as response:
        return response.status, await response.json()


@pytest.mark.spec("J6", "D8")
async def test_a_process_without_a_platform_answers_programs_and_keeps_nothing_on_the_disk(tmp_path: Path) -> None:
    port = free_port()
    own = {"DATA_DIR": str(tmp_path / "data"), "STORAGE_URL": "memory:", "HTTP_PORT": str(port), "HTTP_TOKEN": SECRET}
    process = await start("run", environment=KEPT | own)
    assert process.stderr is not None
    try:
        said = [(await process.stderr.readline()).decode() for _ in range(5)]
        url = f"http://127.0.0.1:{port}/api/chat/process"
        assert said[1] == "elefante: nothing is written to the disk, no log\n"
        assert said[-1] == f"elefante: Programs of this machine ask at {url}\n"
        assert (await post(url, "remember that my locker code is 4417"))[0] == 200
        status, told = await post(url, "what is my locker code?", sessionId="s1")
        assert (status, told["sessionId"]) == (200, "s1")
        assert "4417" in told["response"]
        assert "4417" not in (await post(url, "what is my locker code?", userId="bia"))[1]["response"]
        for command in ("/admin", "/admin export api:bia"):  # who asks here owns nothing by that
            assert (await post(url, command))[1]["response"] == "Only this bot's owner can do that."
        assert (await post(url, ""))[0] == 400
        with socket.socket() as beside, pytest.raises(ConnectionRefusedError):
            beside.connect(("127.0.0.2", port))  # loopback, too, and not listened on
    finally:
        process.send_signal(signal.SIGTERM)
        _, err = await process.communicate()
    assert (process.returncode, err.decode()) == (0, "")
    assert list(tmp_path.iterdir()) == []  # noqa: ASYNC240 (the process has ended)


@pytest.mark.parametrize("token", [{"HTTP_TOKEN": SECRET}, {}, {"HTTP_TOKEN": "short"}])
async def test_a_port_that_is_taken_or_no_secret_stops_the_start(tmp_path: Path, token: dict[str, str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        process = await start("run", environment=KEPT | {"DATA_DIR": str(tmp_path), "HTTP_PORT": port} | token)
        _, err = await process.communicate()
    assert process.returncode == 2
    assert (
        f"HTTP_PORT: cannot listen on 127.0.0.1:{port}" if SECRET in token.values() else "write HTTP_TOKEN="
    ) in err.decode()
