"""Forgetting with a key: it is destroyed first, a receipt shows it, and no older copy brings anybody back."""

from __future__ import annotations

import asyncio
import re
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.archive import is_sealed
from bot.cli.backup import backup, restore
from bot.cli.backup import render as render_backup
from bot.cli.key import check, check_forgotten, drop, seal
from bot.cli.people import export, forget
from bot.cli.people import render_person as render_forgotten
from bot.cli.storage import move_storage
from bot.sealing import make_key
from bot.settings.settings import Settings, load
from bot.wiring import App, build, open_chatbot
from core.answering.chatbot import ChatBot
from core.errors import ConfigError, StorageError, WrongKey
from core.features.access.storage import Person
from core.features.privacy.forget import Erasure, keys_of
from core.outgoing import ChannelLimits
from core.types import ChatKey, Incoming, Role, UserKey
from tests import postgres
from tests.fakes.canaries import found, rows_found
from tests.fakes.channel import RecordingChannel

ANA, BIA = UserKey("telegram", "1"), UserKey("telegram", "2")
SAID = (
    "/remember the zqwifi password is zqbanana canary",
    "Remind me to water the zqplants canary tomorrow at 9",
    "do you like zqmusic canary?",
)


def settings_in(folder: Path, *, key: bool = True) -> Settings:
    path = folder / "etc" / "key"
    if key and not path.exists():
        make_key(path)
    return load(None, data_dir=folder / "data", timezone="UTC", **({"memory_key_file": path} if key else {}))


@asynccontextmanager
async def bot_of(settings: Settings) -> AsyncIterator[tuple[App, ChatBot]]:
    async with build(settings) as app, open_chatbot(app) as bot:
        for user, role in ((ANA, Role.OWNER), (BIA, Role.MEMBER)):
            await app.features.access.people.put(Person(user, role, "", app.clock.now()))
        yield app, bot


async def say(app: App, bot: ChatBot, user: UserKey, text: str, language: str = "en") -> str:
    channel = RecordingChannel(app.clock, ChannelLimits(4096, 0.0))
    at = datetime.now(UTC)
    said = Incoming(ChatKey("telegram", user.user), user, "Ana", f"{at}", text, at, language=language)
    await (await bot.receive(said, channel))
    return "\n".join(channel.texts)


async def talk(settings: Settings) -> None:
    async with bot_of(settings) as (app, bot):
        for text in SAID:
            for user in (ANA, BIA):
                await say(app, bot, user, text)


async def forget_all(app: App, bot: ChatBot, user: UserKey, language: str = "en") -> str:
    asked = await say(app, bot, user, "/forget all", language)
    [code] = re.findall(r"all ([A-Z]{4})", asked)
    return await say(app, bot, user, f"/forget all {code}", language)


async def remembered(settings: Settings, user: UserKey) -> str:
    async with bot_of(settings) as (app, bot):
        return await say(app, bot, user, "/memories")


async def test_a_bot_that_is_sealed_later_remembers_all(tmp_path: Path) -> None:
    await talk(settings_in(tmp_path, key=False))
    assert found([tmp_path])
    settings = settings_in(tmp_path)
    assert seal(settings)["rows"]
    assert found([tmp_path]) == []
    async with bot_of(settings) as (app, bot):
        assert "zqbanana" in await say(app, bot, ANA, "/recall zqwifi password")
        assert "zqplants" in await say(app, bot, ANA, "/reminders")
    await export(settings, BIA, tmp_path / "export.json")
    assert "zqmusic" in (tmp_path / "export.json").read_text()
    assert check(settings)["unreadable"] == {}
    assert found([tmp_path / "data" / "elefante.db", tmp_path / "data.keys"]) == []


@pytest.mark.parametrize(("language", "said"), [("en", "Receipt"), ("pt-BR", "Recibo"), ("es", "Recibo")])
async def test_the_receipt_shows_that_the_key_is_gone(tmp_path: Path, language: str, said: str) -> None:
    settings = settings_in(tmp_path)
    await talk(settings)
    async with bot_of(settings) as (app, bot):
        key = app.database.sealing.key_id(ANA)
        assert key is not None
        assert not check_forgotten(settings, key.hex())["ok"]
        await say(app, bot, ANA, f"/language {language}")
        told = await forget_all(app, bot, ANA, language)
        assert f"{said} {key.hex()}" in told
        assert "elefante key check --forgotten" in told
        assert re.search(r"\b1 mem", told)
        report = check_forgotten(settings, key.hex())
        assert report["ok"]
        assert (report["keys_left"], report["values_left"], report["keys_noted"]) == (0, 0, 1)
        assert "zqbanana" in await say(app, bot, BIA, "/recall zqwifi password")
    assert check(settings)["unreadable"] == {}


async def test_a_backup_brings_nobody_back_who_was_forgotten(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    await talk(settings)
    made = Path((await backup(settings))["file"])
    assert is_sealed(made)
    done = await forget(settings, BIA)
    assert done["copies"] == []
    assert done["sealed_copies"] == [str(made)]
    assert f"--forgotten {done['receipt']}" in render_forgotten(done)
    for _ in range(2):
        restored = await restore(settings, made)
        assert restored["forgotten"] == [str(BIA)]
        assert restored["removed_rows"] > 3
        assert str(BIA) in render_backup(restored)
        assert "zqbanana" in await remembered(settings, ANA)
        assert "zqbanana" not in await remembered(settings, BIA)
        assert check(settings)["unreadable"] == {}
    [kept] = [path for path in made.parent.iterdir() if path != made and path.suffix == ".db"][:1]
    assert is_sealed(kept)


async def test_an_older_file_put_there_by_hand_brings_nobody_back_either(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    await talk(settings)
    older, keys = tmp_path / "older.db", tmp_path / "older-keys.db"
    shutil.copyfile(settings.database_path, older)
    shutil.copyfile(settings.people_keys, keys)
    receipt = (await forget(settings, BIA))["receipt"]
    shutil.copyfile(older, settings.database_path)
    assert not check_forgotten(settings, receipt)["ok"]  # what it was sealed with is gone, and its values are there
    async with build(settings) as app:
        assert app.revived.owners == (BIA,)
    assert check_forgotten(settings, receipt)["ok"]
    shutil.copyfile(keys, settings.people_keys)  # a copy of the keys, made before
    assert not check_forgotten(settings, receipt)["ok"]
    assert "zqbanana" in await remembered(settings, ANA)
    assert check_forgotten(settings, receipt)["ok"]
    assert check(settings)["unreadable"] == {}


async def test_a_forgetting_that_broke_off_is_ended_by_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_in(tmp_path)
    await talk(settings)

    async def broken(*_: object) -> None:
        raise StorageError("the disk is gone")

    async with build(settings) as app:
        key = app.database.sealing.key_id(BIA)
        assert key is not None
        monkeypatch.setattr(type(app.features.stores.history), "forget", broken)
        with pytest.raises(StorageError):
            await app.features.get(Erasure).forget(BIA)
    monkeypatch.undo()
    assert not check_forgotten(settings, key.hex())["ok"]
    async with build(settings) as app:
        assert app.revived.owners == (BIA,)
        assert await app.conversations.store.threads(BIA) == []
    assert check_forgotten(settings, key.hex())["ok"]
    async with build(settings) as app:
        assert app.revived.owners == ()


async def test_a_sealed_backup_is_refused_where_its_key_is_not(tmp_path: Path) -> None:
    settings = settings_in(tmp_path / "here")
    await talk(settings)
    made = Path((await backup(settings))["file"])
    for there in (settings_in(tmp_path / "there", key=False), settings_in(tmp_path / "there")):
        with pytest.raises((WrongKey, StorageError)):
            await restore(there, made)
        assert not there.database_path.exists()


async def test_a_backup_of_before_is_named_as_readable_and_sealed_again(tmp_path: Path) -> None:
    plain = settings_in(tmp_path, key=False)
    await talk(plain)
    made = Path((await backup(plain))["file"])
    settings = settings_in(tmp_path)
    assert seal(settings)["plain"] == [str(made)]
    done = await forget(settings, BIA)
    assert done["copies"] == [str(made)]
    restored = await restore(settings, made)
    assert restored["in_the_clear"]
    assert "elefante key seal" in render_backup(restored)
    seal(settings)
    assert check(settings)["unreadable"] == {}


async def test_without_a_key_the_copies_that_are_left_are_named(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, key=False)
    await talk(settings)
    made = Path((await backup(settings))["file"])
    async with bot_of(settings) as (app, bot):
        told = await forget_all(app, bot, ANA)
    assert made.name in told
    assert "Receipt" not in told


def test_what_is_no_receipt_is_said_to_be_none(tmp_path: Path) -> None:
    assert keys_of("00ff00ff00ff00ff-0123456789ABCDEF") == ["00ff00ff00ff00ff", "0123456789abcdef"]
    for text in ("", "banana", "00ff00ff00ff00ff-", "00ff"):
        with pytest.raises(ConfigError, match="no receipt"):
            check_forgotten(settings_in(tmp_path), text)


def test_no_name_of_a_person_stands_in_the_record(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)

    async def run() -> None:
        await talk(settings)
        await forget(settings, BIA)

    asyncio.run(run())
    with closing(sqlite3.connect(settings.database_path)) as connection:
        kept = connection.execute("SELECT name, value FROM kept WHERE name LIKE 'forgotten:%'").fetchall()
    assert len(kept) == 1
    assert BIA.platform not in str(kept)


@pytest.mark.long
async def test_a_server_holds_nobodys_words_and_forgets_with_a_receipt(tmp_path: Path) -> None:
    settings = settings_in(tmp_path).model_copy(update={"storage_url": SecretStr(postgres.new_database())})
    await talk(settings)
    assert rows_found(settings.storage_url.get_secret_value()) == 0
    assert check(settings)["unreadable"] == {}
    done = await forget(settings, BIA)
    assert check_forgotten(settings, done["receipt"])["ok"]
    assert "zqbanana" in await remembered(settings, ANA)
    async with build(settings) as app:
        assert not app.database.searches_vectors
    opened = settings.model_copy(update={"vectors": "open"})
    with pytest.raises(StorageError, match="vectors"):
        async with build(opened):
            pass
    assert seal(settings, opens=True)["rows"]
    assert rows_found(settings.storage_url.get_secret_value())
    assert seal(opened)["rows"]
    async with build(opened) as app:
        assert app.database.searches_vectors
    assert "zqbanana" in await remembered(opened, ANA)
    assert check(opened)["unreadable"] == {}


@pytest.mark.long
async def test_what_is_sealed_moves_to_a_server_and_back_as_it_is(tmp_path: Path) -> None:
    here, url = settings_in(tmp_path), postgres.new_database()
    await talk(here)
    assert await asyncio.to_thread(move_storage, here, url)
    there = here.model_copy(update={"storage_url": SecretStr(url)})
    assert rows_found(there.storage_url.get_secret_value()) == 0
    assert "zqbanana" in await remembered(there, ANA)
    assert check(there)["unreadable"] == {}
    here.database_path.rename(tmp_path / "old.db")
    assert await asyncio.to_thread(move_storage, there, "sqlite:")
    assert "zqbanana" in await remembered(here, BIA)
    assert check(here)["unreadable"] == {}


async def test_what_no_key_opens_any_more_is_given_up_by_a_word_of_the_owner(tmp_path: Path) -> None:
    """The key file is older than what somebody said: check says whose that is, and a verb gives it up."""
    settings, older = settings_in(tmp_path), tmp_path / "older-keys.db"
    async with bot_of(settings) as (app, bot):
        await say(app, bot, ANA, SAID[0])
        shutil.copyfile(settings.people_keys, older)
        for text in SAID:
            await say(app, bot, BIA, text)
    shutil.copyfile(older, settings.people_keys)
    assert set(check(settings)["unreadable"]) == {str(BIA)}
    with pytest.raises(StorageError, match="elefante key check"):
        async with build(settings):
            pass
    assert drop(settings)["keys"] == 1
    async with build(settings) as app:
        assert app.revived.owners == (BIA,)
    assert drop(settings)["keys"] == 0
    assert check(settings)["unreadable"] == {}
    assert "zqbanana" in await remembered(settings, ANA)
