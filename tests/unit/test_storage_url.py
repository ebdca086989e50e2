"""Whether what is said and remembered is on the disk or in RAM is one setting, and both bots are whole."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

import bot.run
from adapters.console import conversation
from bot.settings.settings import Settings, load
from bot.wiring import App, build, open_chatbot
from core.ask import ask
from core.errors import ConfigError, StorageDown, StorageError
from core.features.access.storage import Person
from core.types import ChatKey, ConversationKey, Role, UserKey
from tests.e2e.command import ROOT, execute
from tests.fakes.clock import START, FakeClock
from tests.postgres import database_of
from tests.profile import long

ANA = UserKey("api", "ana")
Elefante = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def elefante(tmp_path: Path) -> Elefante:
    """Run the command where nothing is but its home."""

    def run(*arguments: str, said: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
        own = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "DATA_DIR": str(tmp_path / "data"), "LANG": "en_US"}
        environment = {"PYTHONPATH": str(ROOT), "ELEFANTE_ENV": os.devnull} | own | settings
        return execute(arguments, tmp_path, environment, said)

    return run


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


async def say(app: App, *texts: str) -> list[str]:
    """Say that to a bot, as a member, and return its answers."""
    await app.features.access.people.put(Person(ANA, Role.MEMBER, "Ana", START))
    async with open_chatbot(app) as bot:
        handler = bot
        asked: dict[str, Any] = {"chat_id": "c", "user_id": ANA.user, "language": "en"}
        return [(await ask(handler, app.clock, message=text, **asked)).response for text in texts]


@pytest.mark.spec("D8")
@pytest.mark.parametrize(("storage", "kept"), [("sqlite:", True), ("memory:", False)])
async def test_a_bot_remembers_either_way_and_only_one_on_the_disk_still_does_when_it_is_started_again(
    tmp_path: Path, storage: str, *, kept: bool
) -> None:
    settings = load(None, data_dir=tmp_path / "data", storage_url=storage)
    async with build(settings) as app:
        _, found = await say(app, "remember that my locker code is 4417", "what is my locker code?")
        assert "4417" in found
        assert await app.features.memories.of(ANA).count() == 1
        assert len(await app.conversations.store.threads(ANA)) == 1
    async with build(settings) as app:
        assert await app.features.memories.of(ANA).count() == (1 if kept else 0)
        assert len(await app.conversations.store.threads(ANA)) == (1 if kept else 0)
        assert bool(await app.features.access.people.find(ANA)) is kept
    assert bool(files(tmp_path)) is kept


@pytest.mark.spec("D8")
async def test_in_memory_everything_works_that_works_on_the_disk(tmp_path: Path) -> None:
    async with build(load(None, data_dir=tmp_path / "data", storage_url="memory:")) as app:
        said = await say(
            app, "remember that my code is 4417", "/memories", "/undo", "/memories", "/reset", "/privacy", "/export"
        )
        assert "4417" in said[1]
        assert "4417" not in said[3]
        assert said[6].startswith("Everything I keep about you.")
        await app.parts.inbox.forget(ANA)
        await app.conversations.store.forget(ANA)
        assert await app.store.forget(ANA) == 0
        assert await app.conversations.store.threads(ANA) == []
        assert await app.database.integrity() == []
        with pytest.raises(StorageError):
            await app.features.stores.copies.make()
    assert files(tmp_path) == []


@pytest.mark.spec("D8")
async def test_what_is_in_memory_is_never_read_from_a_database_that_lies_in_the_folder(tmp_path: Path) -> None:
    async with build(load(None, data_dir=tmp_path)) as app:
        await say(app, "remember that my locker code is 4417")
    before = (tmp_path / "elefante.db").read_bytes()
    async with build(load(None, data_dir=tmp_path, storage_url="memory:")) as app:
        assert await app.features.memories.of(ANA).count() == 0
    assert (tmp_path / "elefante.db").read_bytes() == before


@pytest.mark.spec("D8")
@pytest.mark.long
def test_the_command_in_memory_talks_and_leaves_nothing_behind(elefante: Elefante, tmp_path: Path) -> None:
    said = "Remember that my locker code is 4417\nwhat is my locker code?\n"
    done = elefante("chat", said=said, STORAGE_URL="memory:")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("4417") >= 2
    assert elefante("check", STORAGE_URL="memory:").returncode == 0
    assert files(tmp_path) == []


@pytest.mark.spec("D8")
@pytest.mark.parametrize("verb", [("as", "me", "/remember x"), ("users", "list"), ("backup",)])
def test_a_verb_on_what_is_stored_says_that_nothing_is(
    elefante: Elefante, tmp_path: Path, verb: tuple[str, ...]
) -> None:
    done = elefante(*verb, STORAGE_URL="memory:")
    assert done.returncode == 2
    assert done.stderr.startswith("elefante: STORAGE_URL: nothing is stored with memory:")
    assert files(tmp_path) == []


@pytest.mark.parametrize("written", ["memory", "memory:", "memory://", " Memory: "])
def test_the_setting_may_be_written_as_a_word_or_as_an_address(written: str) -> None:
    assert load(None, storage_url=written).in_memory
    assert not load(None, storage_url="sqlite").in_memory


@pytest.mark.spec("D3", "D8")
def test_a_storage_that_there_is_not_is_named_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match=r"STORAGE_URL: .*sqlite: .*memory: .*postgresql://"):
        load(None, storage_url="mongodb://127.0.0.1")


@pytest.mark.spec("D3")
def test_the_log_lies_in_its_own_folder_and_one_that_cannot_be_used_is_named(
    elefante: Elefante, tmp_path: Path
) -> None:
    elefante("chat", said="hi\n", LOG_DIR=str(tmp_path / "logs"))
    lines = (tmp_path / "logs" / "elefante.log").read_text().splitlines()
    assert "message received" in [json.loads(line)["event"] for line in lines]
    assert not (tmp_path / "data" / "elefante.log").exists()
    elefante("chat", said="hi\n", LOG_DIR=str(tmp_path / "ram"), STORAGE_URL="memory:")
    assert (tmp_path / "ram" / "elefante.log").exists()
    (tmp_path / "file").touch()
    done = elefante("chat", LOG_DIR=str(tmp_path / "file"))
    assert (done.returncode, done.stderr.startswith("elefante: LOG_DIR: cannot use")) == (2, True)


@pytest.mark.spec("D3", "D1")
@pytest.mark.long
async def test_the_terminal_goes_on_with_the_default_thread_and_with_another_that_is_named(
    elefante: Elefante, tmp_path: Path
) -> None:
    named = {"DEFAULT_THREAD": "work", "CONSOLE_USER": "ana"}
    elefante("chat", said="first\n", **named)
    elefante("chat", "--thread", "home", said="second\n/reset\nthird\n", **named)
    elefante("chat", said="fourth\n", **named)
    elefante("chat", "--thread", "home", said="fifth\n", **named)
    owner = UserKey("console", "ana")
    async with build(Settings(data_dir=tmp_path / "data")) as app:
        store = app.conversations.store
        said = {
            thread.id: [m.text for m in await store.since(thread.id) if m.role.value == "user"]
            for thread in await store.threads(owner)
        }
        assert said.pop("work") == ["first", "fourth"]
        assert said.pop("home") == ["second"]
        assert said.pop("home-2") == ["fifth"]
        assert list(said.values()) == [["third"]]
        thread = await store.thread("work")
        assert thread is not None
        assert thread.conversation == conversation(owner) == ConversationKey(ChatKey("console", "terminal"), owner)


@pytest.mark.spec("D3", "D1")
def test_a_thread_that_cannot_be_is_named_at_the_start(elefante: Elefante) -> None:
    done = elefante("chat", DEFAULT_THREAD="a b")
    assert (done.returncode, done.stderr) == (2, "elefante: DEFAULT_THREAD: write 3 to 64 of a-z, A-Z, 0-9, - and _\n")
    done = elefante("chat", "--thread", "x")
    assert (done.returncode, "3 to 64" in done.stderr) == (2, True)


SECRET = "s3cr3t/@:word"
POSTGRES = "postgresql://ana:s3cr3t%2F%40%3Aword@db.example:6432/bot?sslmode=require"


@pytest.mark.parametrize(
    ("url", "place"),
    [
        (POSTGRES, "db.example:6432/bot"),
        ("postgres://ana@db/bot", "db:5432/bot"),
        ("postgresql://ana:x@one:1,two:2/bot?target_session_attrs=read-write", "one:1,two:2/bot"),
        ("postgresql://ana:x@one,two:2/bot", "one:5432,two:2/bot"),
        ("postgresql:///bot?host=/run/postgresql", "/run/postgresql:5432/bot"),
        ("postgresql://ana:x@[::1]:5/bot", "::1:5/bot"),
    ],
)
def test_postgresql_is_named_by_where_it_is_and_never_by_its_password(url: str, place: str) -> None:
    settings = load(None, storage_url=url)
    assert settings.engine == "postgres"
    assert settings.storage_place == place
    assert "password" not in settings.storage_address


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ana:s3cr3t@db",
        "postgresql://ana:s3cr3t@db:99999/bot",
        "postgresql://ana:s3cr3t@db:port/bot",
        "postgresql://ana:p@s3cr3t@db/bot",
        "postgresql://ana:p/s3cr3t@db/bot",
    ],
)
@pytest.mark.parametrize("setting", ["STORAGE_URL", "STORAGE_DIRECT_URL"])
def test_a_url_that_cannot_be_meant_is_refused_and_not_shown(url: str, setting: str) -> None:
    with pytest.raises(ConfigError, match=rf"{setting}: .*postgresql://.*@ as %40") as refused:
        load(None, **{setting.lower(): url})
    assert "s3cr3t" not in str(refused.value)


def test_the_password_is_a_secret_however_it_is_written() -> None:
    settings = load(None, storage_url=POSTGRES, storage_direct_url="postgresql://ana@db/bot?password=dir3ct%20word")
    assert {SECRET, "s3cr3t%2F%40%3Aword", "dir3ct word", "dir3ct%20word"} <= set(settings.secrets())
    for shown in (repr(settings), str(settings), settings.storage_address, settings.storage_place):
        assert "s3cr3t" not in shown
        assert "dir3ct" not in shown


async def test_a_direct_url_that_leads_elsewhere_is_named(tmp_path: Path) -> None:
    url, other = database_of(str(tmp_path)), database_of("other")
    nowhere = f"{url.rpartition('/')[0]}/nowhere"
    for direct, said in ((other, "another database than STORAGE_URL"), (nowhere, "no such user or database")):
        settings = load(None, data_dir=tmp_path, storage_url=url, storage_direct_url=direct)
        with pytest.raises(ConfigError, match=said) as refused:
            await enter(build(settings))
        assert refused.value.setting == "STORAGE_DIRECT_URL"
    await enter(build(load(None, data_dir=tmp_path, storage_url=url, storage_direct_url=url)))


async def enter(app: AbstractAsyncContextManager[App]) -> None:
    async with app:
        pass


@pytest.mark.parametrize("verb", ["check", "chat", long("doctor"), long("usage"), long("as me /memories")])
def test_a_server_that_is_away_is_named_without_its_password(elefante: Elefante, tmp_path: Path, verb: str) -> None:
    with closed_port() as port:
        done = elefante(*verb.split(), STORAGE_URL=f"postgresql://ana:s3cr3t@127.0.0.1:{port}/bot")
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert f"the database server at 127.0.0.1:{port} cannot be reached" in said
    assert "s3cr3t" not in said + "".join(path.read_text() for path in tmp_path.rglob("*.log"))
    assert "Traceback" not in said


@pytest.mark.parametrize("verb", ["backup", "restore"])
def test_copies_of_postgresql_are_made_by_its_own_programs_and_the_command_is_given(
    elefante: Elefante, verb: str
) -> None:
    done = elefante(verb, "copy of it.dump", STORAGE_URL=POSTGRES)
    said = "user=ana dbname=bot host=db.example port=6432 sslmode=require"
    own = {
        "backup": f"pg_dump --format=custom --file='copy of it.dump' --dbname='{said}'",
        "restore": f"pg_restore --clean --if-exists --no-owner --dbname='{said}' 'copy of it.dump'",
    }
    assert (done.returncode, done.stdout) == (1, "")
    assert own[verb] in done.stderr


@pytest.mark.long
def test_every_verb_works_over_postgresql_and_makes_no_file_of_its_own(elefante: Elefante, tmp_path: Path) -> None:
    def call(*verb: str, said: str = "") -> str:
        done = elefante(*verb, said=said, STORAGE_URL=url, CONSOLE_USER="ana")
        assert done.returncode == 0, (verb, done.stderr)
        return done.stdout

    url = database_of(str(tmp_path))
    assert "with vector" in call("check")
    assert "with vector" in call("doctor")
    call("migrate")
    assert "There is nothing to migrate: schema" in call("migrate")
    assert "4417" in call("chat", said="Remember that my locker code is 4417\nwhat is my locker code?\n")
    assert "4417" in call("as", "me", "/memories")
    assert "4417" in call("as", "me", "/recall locker")
    assert "schema" in (checked := call("check"))
    assert "FAISS" not in checked, "the server searches"
    for verb in (("users", "list"), ("usage",), ("as", "me", "/reminders"), ("as", "me", "/threads"), ("reindex",)):
        call(*verb)
    call("export", str(tmp_path / "all.json"))
    assert "4417" in (tmp_path / "all.json").read_text()
    call("forget", "--yes")
    assert "4417" not in call("as", "me", "/memories")
    assert not list(tmp_path.rglob("*.db"))


async def test_a_start_waits_for_the_database_and_a_stop_ends_the_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    told = asyncio.Event()

    def say(line: str) -> None:
        said.append(line)
        told.set()

    monkeypatch.setattr(bot.run, "say", say)
    with closed_port() as port:
        away = load(None, data_dir=tmp_path, storage_url=f"postgresql://ana:s3cr3t@127.0.0.1:{port}/bot")
        stop = asyncio.Event()
        waiting = asyncio.create_task(bot.run._reached(away, stop))
        await told.wait()
        assert not waiting.done()
        stop.set()
        await waiting
    assert len(said) == 1
    assert f"127.0.0.1:{port}" in said[0]
    assert "s3cr3t" not in said[0]
    there = load(None, data_dir=tmp_path, storage_url=database_of(str(tmp_path)))
    await bot.run._reached(there, asyncio.Event())
    assert len(said) == 1


async def test_a_start_finds_a_database_within_five_seconds_of_its_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, back_s, tries_s = FakeClock(), 35.0, list[float]()

    class Connection:
        def close(self) -> None: ...

    async def connected(_: object, __: object) -> Connection:
        tries_s.append(clock.monotonic() - began_s)
        if tries_s[-1] < back_s:
            raise StorageDown("away")
        return Connection()

    began_s = clock.monotonic()
    monkeypatch.setattr(asyncio, "to_thread", connected)
    monkeypatch.setattr(bot.run, "SystemClock", lambda: clock)
    away = load(None, data_dir=tmp_path, storage_url="postgresql://ana@127.0.0.1:1/bot")
    reached = asyncio.create_task(bot.run._reached(away, asyncio.Event()))
    await clock.advance(back_s + 5.0)
    assert reached.done()
    assert len(tries_s) < back_s


@pytest.mark.long
async def test_one_terminal_is_open_at_a_time_over_one_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: asyncio.Queue[str] = asyncio.Queue()
    monkeypatch.setattr(bot.run, "say", said.put_nowait)
    url = database_of(str(tmp_path))

    async def talk(name: str, opened: asyncio.Event, left: asyncio.Event) -> None:
        settings = load(None, data_dir=tmp_path / name, storage_url=url)
        async with build(settings) as app, app.worker.at_work(), bot.run.only_terminal(app):
            opened.set()
            await left.wait()

    opened, left = [asyncio.Event(), asyncio.Event()], [asyncio.Event(), asyncio.Event()]
    first = asyncio.create_task(talk("first", opened[0], left[0]))
    await opened[0].wait()
    second = asyncio.create_task(talk("second", opened[1], left[1]))
    assert "another `elefante chat` is open" in await said.get()
    assert not opened[1].is_set()
    left[0].set()
    await opened[1].wait()
    left[1].set()
    await asyncio.gather(first, second)


@pytest.mark.parametrize(
    ("language", "where", "gone", "copies"),
    [
        (
            "en",
            "in a database on a server",
            "gone from the database",
            "on its disk, the server overwrites what was deleted",
        ),
        ("pt-BR", "em um banco de dados, em um servidor", "some do banco de dados", "o servidor vai gravando por cima"),
        (
            "es",
            "en una base de datos, en un servidor",
            "desaparece de la base de datos",
            "el servidor va sobrescribiendo",
        ),
    ],
)
async def test_what_postgresql_does_with_what_is_deleted_is_told_as_it_is(
    tmp_path: Path, language: str, where: str, gone: str, copies: str
) -> None:
    settings = load(None, data_dir=tmp_path, storage_url=database_of(str(tmp_path)))
    async with build(settings) as app:
        _, privacy, asked = await say(app, f"/language {language}", "/privacy", "/forget all")
        assert where in privacy
        assert gone in privacy
        [code] = re.findall(r"/forget all (\w+)", asked)
        [forgotten] = await say(app, f"/forget all {code}")
        assert copies in forgotten
        with pytest.raises(StorageError, match="pg_dump --format=custom"):
            await app.features.stores.copies.make()


@pytest.mark.parametrize(
    ("language", "kept", "told"),
    [
        ("en", 7, "the newest 7 stay: what you delete is still in those for up to 7 days"),
        ("pt-BR", 3, "as 3 mais novas ficam: o que você apaga ainda está nelas por até 3 dias"),
        ("es", 1, "solo queda la más nueva: lo que borras sigue en ella hasta la del día siguiente"),
        ("en", 0, ""),
    ],
)
async def test_privacy_names_the_daily_backups_and_how_long_they_stay(
    tmp_path: Path, language: str, kept: int, told: str
) -> None:
    async with build(load(None, data_dir=tmp_path, backups_kept=kept)) as app:
        _, privacy = await say(app, f"/language {language}", "/privacy")
    assert told in privacy
    assert bool(told) == any(word in privacy for word in ("day a backup", "dia é feita uma", "día se hace una"))


@contextmanager
def closed_port() -> Iterator[int]:
    """Give a port on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]
