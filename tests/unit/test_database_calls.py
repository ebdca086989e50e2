"""How often one message asks the database: each call is a hop to its thread, or to its server."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from core.limited import LimitedMind
from core.storage.sqlite import SqliteDatabase
from tests.fakes.house import House
from tests.fakes.model import HashEmbedder

GREETING, QUESTION = 20, 29


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    counted: Counter[str] = Counter()
    for name in ("rows", "read", "write"):
        real = getattr(SqliteDatabase, name)

        async def spy(database: SqliteDatabase, *given: Any, _name: str = name, _real: Any = real) -> Any:
            counted[_name] += 1
            return await _real(database, *given)

        monkeypatch.setattr(SqliteDatabase, name, spy)
    return counted


async def test_a_message_asks_the_database_for_each_thing_once(calls: Counter[str]) -> None:
    house = House(embedder=HashEmbedder())
    house.answered_by(LimitedMind(house.embedder))
    async with house.chatbot() as bot:

        async def asked(text: str, number: int) -> int:
            calls.clear()
            await (await bot.receive(house.incoming(text, message_id=str(number)), house.channel()))
            return calls.total()

        await asked("remember that my locker is 4417", 1)
        assert await asked("good morning", 2) <= GREETING
        await asked("what is my locker?", 3)
        assert await asked("what is my locker?", 4) <= QUESTION
