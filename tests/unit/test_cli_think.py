"""`elefante think`: what the bot would do in the open conversation, and that it does none of it."""

from __future__ import annotations

import asyncio
import json
import uuid
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from typer.testing import CliRunner

from bot.cli.main import app
from bot.settings.settings import load
from bot.wiring import build
from core.features.privacy.forget import Erasure
from core.types import ChatKey, ConversationKey, MemoryDraft, MemoryKind, Message, MessageRole, UserKey
from tests.fakes.clock import START
from tests.postgres import database_of
from tests.profile import long

BIA = UserKey("telegram", "5")
_ROWS: Final = 'SELECT t::text FROM "{}" AS t'


@pytest.fixture(params=["sqlite", long("postgres")])
def data(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of a bot that knows a password."""
    if request.param == "postgres":
        monkeypatch.setenv("STORAGE_URL", database_of(str(tmp_path)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CONSOLE_USER", "ana")
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    monkeypatch.setattr("bot.cli.shell.logs.configure", lambda *_: None)  # it would take the place of pytest's own
    run("as", "me", "/remember the wifi password is abc123")
    return tmp_path / "data"


def run(*arguments: str, said: str = "") -> str:
    done = CliRunner().invoke(app, arguments, input=said, catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def thought(*arguments: str) -> Any:
    return json.loads(run("think", "--json", *arguments))


def files(folder: Path) -> set[str]:
    """The names of what is in the folder, but for the files of the open database."""
    return {path.name for path in folder.iterdir()} - {"elefante.db-shm", "elefante.db-wal"}


def known() -> list[str]:
    run("export", name := f"{uuid.uuid4().hex}.json")
    return [each["content"] for each in json.loads(Path(name).read_text("utf-8"))["memories"]]


@pytest.mark.usefixtures("data")
def test_a_yes_answers_what_was_asked_in_the_open_conversation_and_nothing_is_done() -> None:
    asked = run("chat", said="forget the wifi password\n")
    assert "abc123" in asked
    agreed, declined, again = thought("yes", "no", "yes")["thoughts"]
    assert agreed["means"].startswith("/confirm yes ")
    assert [(step["writes"], step["items"][0]["content"]) for step in agreed["steps"]] == [
        ("deleted", "the wifi password is abc123")
    ]
    assert agreed["shown"][0]["buttons"][0]["command"].startswith("/undo ")
    assert declined["means"].startswith("/confirm no ")
    assert declined["steps"] == []
    assert again["steps"], "each message is the next one: what another would have done was not done"
    assert agreed["conversation"] == declined["conversation"] != ""
    assert known() == ["the wifi password is abc123"]
    assert "Deleted" in run("chat", said="yes\n")


@pytest.mark.usefixtures("data")
def test_what_a_message_is_taken_for_and_what_was_found_is_shown_with_the_evidence() -> None:
    found = thought("what is the wifi password?")
    [part] = found["reading"]
    assert part["text"] == "what is the wifi password?"
    assert part["intent"]
    assert part["because"]
    [hit] = found["steps"][0]["hits"]
    assert 0.5 < hit["chance"] <= 1
    assert found["means"] == ""
    assert found["messages"][0]["content"] == "what is the wifi password?"
    assert {"chat-history", "modal", "role", "content"} == set(found["messages"][0])
    assert [(step["action"], step["outcome"]) for step in found["steps"]] == [
        ("MemorySearch", "done"),
        ("Finish", "done"),
    ]
    assert "abc123" in found["shown"][-1]["text"]
    shown = run("think", "what is the wifi password?")
    assert "› what is the wifi password?\n" in shown
    assert f"  {part['intent']}: “what is the wifi password?” ({part['because']})\n" in shown
    assert f"     {hit['chance']:.0%} (cosine {hit['dense']:.2f}, words {hit['lexical']:.2f}) by “" in shown


@pytest.mark.usefixtures("data")
def test_what_would_be_asked_is_shown_with_its_buttons_and_an_older_question_is_not() -> None:
    asks = thought("forget the wifi password")["asks"]
    assert "abc123" in asks["question"]
    assert [button["command"].split()[:2] for button in asks["buttons"]] == [["/confirm", "yes"], ["/confirm", "no"]]
    assert f"] {asks['buttons'][0]['command'][:12]}" in run("think", "forget the wifi password")
    run("chat", said="me lembra de pagar às 8\n")
    assert "asks" not in thought("/memories")


@pytest.mark.usefixtures("data")
def test_what_would_be_saved_is_shown_and_not_saved() -> None:
    saved, plain = thought("remember that my locker code is 4417"), run("think", "remember that my locker code is 4417")
    assert {step["writes"] for step in saved["steps"] if step["items"]} == {"saved"}
    assert "     saved: " in plain
    assert known() == ["the wifi password is abc123"]


def test_a_command_writes_no_file_and_forgets_nothing(data: Path) -> None:
    history = data / "console-history"
    history.write_text("what was typed")
    before = files(data)
    assert "Memories: 1" in thought("/export")["shown"][-1]["text"]
    assert thought("/admin backup")["shown"]

    async def forget() -> None:
        settings = load(env_file=None)
        async with build(settings, dry=BIA) as dry:
            await dry.features.get(Erasure).forget(settings.console_owner)

    asyncio.run(forget())
    assert history.read_text() == "what was typed"
    assert files(data) == before
    assert known() == ["the wifi password is abc123"]


@pytest.mark.usefixtures("data")
def test_a_person_elsewhere_is_answered_where_they_talked_last_and_a_stranger_is_told_off() -> None:
    async def talk() -> str:
        async with build(load(env_file=None)) as bot:
            await bot.features.access.own(BIA, "Bia")
            conversation = await bot.conversations.open(ConversationKey(ChatKey("telegram", "-100"), BIA))
            await conversation.add(Message(MessageRole.USER, "oi", at=START, room="telegram:-100"))
            return conversation.thread.id

    thread = asyncio.run(talk())
    there = thought("/export", "--user", str(BIA))
    assert there["conversation"] == thread
    assert "particular" in there["shown"][0]["text"], "others read along in that room"
    stranger = thought("hello", "--user", "telegram:6")
    assert (stranger["conversation"], stranger["steps"], stranger["reading"]) == ("", [], [])
    assert "private" in stranger["shown"][0]["text"]
    assert "nothing was written" in run("think", "hello", "--user", "telegram:6")


async def test_of_postgresql_a_copy_has_all_of_the_person_and_nothing_there_is_changed(tmp_path: Path) -> None:
    url, linked = database_of(str(tmp_path)), UserKey("discord", "5")
    async with build(load(None, data_dir=tmp_path, storage_url=url)) as bot:
        for user in (BIA, linked, UserKey("telegram", "6")):
            await bot.features.access.own(user, user.user)
            draft = MemoryDraft(MemoryKind.TEXT, f"the code of {user} is 4417", ("code",))
            await bot.features.stores.memories.of(user).add(
                [draft], await bot.features.stores.memories.of(user).embed(["code"])
            )
        await bot.store.link(BIA, linked)
    before = rows(url)
    async with build(load(None, data_dir=tmp_path, storage_url=url), dry=linked) as dry:
        memory = dry.features.stores.memories.of(BIA)
        found = await memory.page(limit=9)
        assert sorted(item.content for item in found) == [f"the code of {user} is 4417" for user in (linked, BIA)]
        assert await dry.features.stores.memories.of(UserKey("telegram", "6")).count() == 0
        assert len(await memory.search(["code"])) == 2
        await dry.features.get(Erasure).forget(BIA)
        assert await dry.features.stores.memories.of(BIA).count() == 0
    assert rows(url) == before


def rows(url: str) -> dict[str, list[str]]:
    """Every row of every table, as text."""
    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        return {
            name: sorted(text for (text,) in connection.execute(_ROWS.format(name)).fetchall()) for (name,) in tables
        }
