"""`elefante chat` with a language model behind a real socket: the whole cycle, its ledger, and a key that is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Elefante
from tests.fakes import openai_server
from tests.fakes.http_server import LoopbackServer

SAVE = json.dumps({"items": [{"type": "text", "content": "zebra77", "bindings": ["senha do cofre"]}]})


def prompts(server: LoopbackServer) -> list[str]:
    """Return the last turn of every request."""
    return [body["messages"][-1]["content"] for body in server.bodies]


@pytest.mark.spec("T3", "T10", "T14")
async def test_a_turn_of_a_language_model_saves_and_is_in_the_ledger_with_its_person(tmp_path: Path) -> None:
    server = LoopbackServer()
    server.answers = [
        openai_server.says('{"action": "MemorySave"}'),
        openai_server.says(SAVE),
        openai_server.says('{"action": "Finish"}'),
        openai_server.says("Pronto."),
    ]
    async with server.running():
        models = {"MODEL": "openai:m", "OPENAI_BASE_URL": f"{server.url}/v1", "CYCLE": "stepwise"}
        code, out, err = await Elefante(tmp_path).meanwhile(
            "chat", said="Lembre que a senha do cofre é zebra77\n", **models
        )
    assert (code, out, err) == (0, "Guardei: “zebra77”\n\nPronto.\n→ /a ↩️ Desfazer\n", "")
    assert len(prompts(server)) == 4
    assert [body["messages"][0] for body in server.bodies] == [server.bodies[0]["messages"][0]] * 4
    assert Elefante(tmp_path).memories() == ["zebra77"]
    _, listed, _ = await Elefante(tmp_path).meanwhile("as", "me", "/memories")
    assert "🧠 senha do cofre: zebra77" in listed
    _, used, _ = await Elefante(tmp_path).meanwhile("usage", "--by", "user,mode", "--json")
    rows: list[dict[str, Any]] = json.loads(used)["rows"]
    assert {(row["user"], row["mode"]): row["calls"] for row in rows} == {
        ("console:ana", "reasoning_heavy"): 2,
        ("console:ana", "reasoning"): 1,
        ("console:ana", "chat"): 1,
    }


async def test_a_wrong_key_is_told_in_the_chat_without_the_key(tmp_path: Path) -> None:
    server = LoopbackServer()
    server.answers = [openai_server.fails(401)] * 4
    async with server.running():
        models = {"MODEL": "openai:m", "OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "sk-secret-key"}
        code, out, err = await Elefante(tmp_path).meanwhile("chat", said="oi\n", **models)
    assert code == 0
    assert "não aceitou a chave" in out
    log = (tmp_path / "data" / "elefante.log").read_text(encoding="utf-8")
    assert "sk-secret-key" not in out + err + log
