"""`elefante chat` with a language model behind a real socket: the whole cycle, its ledger, and a key that is wrong."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import openai_server
from tests.fakes.http_server import LoopbackServer

ROOT = Path(__file__).parents[2]
SAVE = json.dumps({"items": [{"type": "text", "content": "zebra77", "bindings": ["senha do cofre"]}]})


async def elefante(folder: Path, *arguments: str, said: str = "", **settings: str) -> tuple[int, str, str]:
    """Run the command and return its exit code and what it wrote."""
    usual = {"PATH": os.environ["PATH"], "HOME": str(folder), "DATA_DIR": str(folder / "data"), "CONSOLE_USER": "ana"}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bot",
        *arguments,
        env=usual | {"PYTHONPATH": str(ROOT), "LANG": "pt_BR.UTF-8"} | settings,
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(said.encode()), 180)
    return process.returncode or 0, out.decode(), err.decode()


def prompts(server: LoopbackServer) -> list[str]:
    """Return the last turn of every request."""
    return [body["messages"][-1]["content"] for body in server.bodies]


@pytest.mark.spec("T3", "T10", "T14")
async def test_a_turn_of_a_language_model_saves_and_is_in_the_ledger_with_its_person(tmp_path: Path) -> None:
    server = LoopbackServer()
    server.answers = [
        openai_server.says('{"action": "MemorySave"}'),
        openai_server.says(SAVE),
        openai_server.says("Guardei a ", "senha do cofre."),
        openai_server.says('{"action": "Finish"}'),
        openai_server.says("Pronto."),
    ]
    async with server.running():
        models = {"MODEL": "openai:m", "OPENAI_BASE_URL": f"{server.url}/v1"}
        code, out, err = await elefante(tmp_path, "chat", said="Lembre que a senha do cofre é zebra77\n", **models)
    assert (code, out, err) == (0, "Guardei: “zebra77”\n\nGuardei a senha do cofre.\n→ /a ↩️ Desfazer\nPronto.\n", "")
    assert len(prompts(server)) == 5
    assert [body["messages"][0] for body in server.bodies] == [server.bodies[0]["messages"][0]] * 5
    _, listed, _ = await elefante(tmp_path, "memories", "list", "--json")
    (memory,) = json.loads(listed)["memories"]
    assert (memory["content"], memory["bindings"]) == ("zebra77", ["senha do cofre"])
    _, used, _ = await elefante(tmp_path, "usage", "--by", "user,mode", "--json")
    rows: list[dict[str, Any]] = json.loads(used)["rows"]
    assert {(row["user"], row["mode"]): row["calls"] for row in rows} == {
        ("console:ana", "reasoning_heavy"): 2,
        ("console:ana", "reasoning"): 1,
        ("console:ana", "chat"): 2,
    }


async def test_a_wrong_key_is_told_in_the_chat_without_the_key(tmp_path: Path) -> None:
    server = LoopbackServer()
    server.answers = [openai_server.fails(401)] * 4
    async with server.running():
        models = {"MODEL": "openai:m", "OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "sk-secret-key"}
        code, out, err = await elefante(tmp_path, "chat", said="oi\n", **models)
    assert code == 0
    assert "não aceitou a chave" in out
    log = (tmp_path / "data" / "elefante.log").read_text(encoding="utf-8")
    assert "sk-secret-key" not in out + err + log
