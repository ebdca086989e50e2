"""What gets no further than the access gate: too old, without a word, forged; and that nothing of it is stored."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from core.enclosures import Attachment, AttachmentKind
from core.errors import ChannelGone
from core.features.access.storage import DENIED, People
from core.features.admin.storage import ALLOWED, ON, Decision, DecisionKind, Decisions
from core.features.preferences.storage import PreferenceStore
from core.storage.database import Database
from core.storage.history import SqlHistory
from core.storage.inbox import SqlInbox
from core.storage.sqlite import open_database
from core.types import Role, UserKey
from tests.fakes.house import ANA, BIA, House
from tests.fakes.lobby import FINISH, Lobby

PHOTO = Attachment(AttachmentKind.PHOTO)

CARO = UserKey("test", "caro")
AWAY = "I was offline and have only just seen what you wrote. If it still matters, please send it again."
PRIVATE_LINE = "This bot is private and does not know you yet. Ask its owner to let you in."
DEAD = "That button no longer works. See /help."


async def test_what_is_too_old_gets_one_honest_line_a_chat_until_something_fresh_comes() -> None:
    async with Lobby() as lobby:
        await lobby.give(ANA, Role.OWNER)
        assert await lobby.say("hello there", ANA, stale=True) == [AWAY]
        assert await lobby.say("and the weather?", ANA, stale=True) == []
        assert await lobby.say("hello there", ANA, stale=True, room="r") == [AWAY]
        assert await lobby.say("/help", ANA, stale=True) == []
        assert not lobby.house.model.prompts
        assert await lobby.say("hello there", ANA) == ["Hello"]
        assert await lobby.say("hello there", ANA, stale=True) == [AWAY]
        assert [m.text for t in await lobby.house.history.threads(ANA) for m in await said(lobby, t.id)] == [
            "hello there",
            "Hello",
        ]


async def said(lobby: Lobby, thread_id: str) -> list[Any]:
    return list(await lobby.house.history.tail(thread_id, 9))


async def test_whoever_is_not_answered_is_not_told_that_the_bot_was_away() -> None:
    async with Lobby() as lobby:
        await lobby.give(ANA, Role.OWNER)
        await lobby.give(BIA, Role.BLOCKED)
        assert await lobby.say("hello there", BIA, stale=True) == []
        assert await lobby.say("hello there", CARO, stale=True) == [PRIVATE_LINE]
        assert await lobby.say("hello there", CARO, stale=True) == []
        assert await lobby.say("hello there", CARO, stale=True, room="r") == []
        assert await lobby.say("hello there", ANA, stale=True, room="r", addressed=False) == []


async def test_a_line_that_cannot_be_said_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    async with Lobby() as lobby:
        channel = lobby.house.channel()
        channel.faults = [ChannelGone("blocked")]
        await (await lobby.bot.receive(lobby.house.incoming("hi", user=CARO), channel))
        assert channel.texts == []
    assert "not delivered" in caplog.messages


@pytest.mark.parametrize("text", ["hello", "", "delete everything", "stop:/stop", "admin allow test:caro"])
async def test_a_pressed_text_that_is_no_command_is_never_thought_about(text: str) -> None:
    async with Lobby() as lobby:
        await lobby.give(ANA, Role.OWNER)
        assert await lobby.say(text, ANA, pressed=True) == [DEAD]
        assert not lobby.house.model.prompts
        assert not await lobby.house.inbox.owed("test")
        assert list(await lobby.house.history.threads(ANA)) == []


# --- over SQLite: rows are counted -----------------------------------------------------------------------------------


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(tmp_path / "elefante.db")
    yield opened
    await opened.close()


def on_disk(database: Database) -> House:
    people = People(database)
    house = House(
        FINISH,
        trusted=(),
        people=people,
        inbox=SqlInbox(database),
        history=SqlHistory(database),
        preferences=PreferenceStore(database),
    )
    house.decisions = Decisions(database)
    return house


async def rows(database: Database) -> Mapping[str, int]:
    tables = await database.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    return {name: (await database.rows(f"SELECT count(*) FROM {name}"))[0][0] for (name,) in tables}  # noqa: S608


TURNED_AWAY: list[tuple[str, dict[str, Any], dict[str, int]]] = [
    ("stranger", {}, {"strangers": 1, "accounts": 1}),
    ("stranger", {"text": "/start wrong"}, {"strangers": 1, "accounts": 1}),
    ("stranger", {"text": "/admin allow test:caro", "pressed": True}, {"strangers": 1, "accounts": 1}),
    ("stranger", {"stale": True}, {"strangers": 1, "accounts": 1}),
    ("stranger", {"room": "r"}, {}),
    ("stranger", {"room": "let in", "addressed": False}, {}),
    (DENIED, {}, {}),
    (DENIED, {"room": "r"}, {}),
    ("blocked", {}, {}),
    ("blocked", {"room": "let in"}, {}),
    ("blocked", {"text": "/help", "pressed": True, "room": "let in"}, {}),
    ("member", {"addressed": False, "room": "r"}, {}),
    ("member", {"stale": True}, {"accounts": 1}),
    ("member", {"pressed": True}, {"accounts": 1}),
    ("paused", {}, {}),
    ("paused", {"text": "/export", "pressed": True}, {}),
]


@pytest.mark.parametrize(("who", "how", "more"), TURNED_AWAY, ids=str)
async def test_of_what_is_turned_away_no_row_is_stored_but_who_asked(
    database: Database, who: str, how: dict[str, Any], more: dict[str, int]
) -> None:
    house = on_disk(database)
    async with Lobby(house) as lobby:
        await lobby.give(ANA, Role.OWNER)
        if who in {"member", "blocked", "paused"}:
            await lobby.give(CARO, Role.BLOCKED if who == "blocked" else Role.MEMBER)
        if who == DENIED:
            denied = Decision(house.clock.now(), ANA, DecisionKind.ROLE, str(CARO), "", DENIED)
            await house.decisions.apply(denied)
        now = house.clock.now()
        await house.decisions.apply(Decision(now, ANA, DecisionKind.ROOM, "test:let in", "", ALLOWED))
        if who == "paused":
            await house.decisions.apply(Decision(now, ANA, DecisionKind.PAUSE, "", "", ON))
        before = await rows(database)
        for _ in range(2):
            await lobby.say(**{"text": "remember the secret", "user": CARO, **how})
        after = await rows(database)
        assert {name: after[name] - before[name] for name in after if after[name] != before[name]} == more
        assert not house.model.prompts


async def test_what_is_answered_does_store_rows_so_that_the_counting_counts(database: Database) -> None:
    house = on_disk(database)
    async with Lobby(house) as lobby:
        await lobby.give(ANA, Role.OWNER)
        before = await rows(database)
        assert await lobby.say("hello there", ANA) == ["Hello"]
        after = await rows(database)
        assert {name for name in after if after[name] > before[name]} >= {"inbox", "messages", "threads"}
