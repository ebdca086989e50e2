"""All that is stored goes from one engine to the other and back, and is compared before anything switches."""

# ruff: noqa: S608 - names of tables

from __future__ import annotations

import json
import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, LiteralString

import numpy as np
import psycopg
import pytest

from bot.cli.storage import move_storage, progress, render_moved
from bot.settings.settings import load
from bot.wiring import _Stores
from core.dialogue import Usage
from core.enclosures import Attachment, AttachmentKind
from core.errors import BotError, StorageError
from core.features.access.storage import Account, Person, Stranger
from core.features.admin.storage import ALLOWED, Decision, DecisionKind
from core.features.broadcast.storage import Broadcasts
from core.features.ledger.calls import BOT, AdmittedMessage, Asker, ModelCall
from core.features.links.storage import LinkCode, LinkCodes
from core.features.reminders.reminders import Reminder, Schedule
from core.features.reminders.storage import ReminderStore
from core.storage.database import Database
from core.storage.inbox import SqlConfirmations, SqlPendingInputs, held_by_all
from core.storage.memories import SqlMemories
from core.storage.move import LEFT_BEHIND, Progress, move
from core.storage.move_postgres import TABLES, postgres_source, postgres_target
from core.storage.move_sqlite import sqlite_source, sqlite_target
from core.storage.postgres import open_postgres
from core.storage.sqlite import open_database
from core.storage.sqlite_migrations import MIGRATIONS, Migration
from core.stores import ChangeContext
from core.threads import Confirmation, PendingInput, Summary, ToldMemory, Transition, TurnState
from core.types import (
    ChatKey,
    ConversationKey,
    Incoming,
    Locale,
    MemoryDraft,
    MemoryKind,
    Message,
    MessageRole,
    Passage,
    Preferences,
    Role,
    UserKey,
    Vector,
)
from core.workers.port import Worker
from tests.e2e.command import Elefante
from tests.fakes.clock import START, FakeClock
from tests.fakes.memories import add
from tests.postgres import new_database, shared_server
from tests.profile import long

_PLATFORMS = ("telegram", "discord", "console")
_WORDS = "casa água key🐘 código Ünïcode 日本語 'quoted' \"said\" tab\there line\nbreak {json} $1 \\N % ; -- é".split(
    " "
)
_DIMS = 8


class Life:
    """What happens to a bot, by a dice."""

    def __init__(self, database: Database, seed: int) -> None:
        self._dice = random.Random(seed)  # noqa: S311 - a test repeats
        self._stores = _Stores(database, load(None), FakeClock(), Worker(), held_by_all)

    async def live(self, people: int) -> None:
        """Let so many people come, talk and leave, and their bot be run."""
        users = [UserKey(self._dice.choice(_PLATFORMS), f"{number}:é") for number in range(people)]
        for number, user in enumerate(users):
            await self._come(user, number)
            await self._talk(user, number)
            await self._remember(user, number)
            await self._wait(user, number)
        await self._run(users)
        await self._stores.memories.link(users[-1], users[0])  # refers to a row that comes later
        await self._leave(users[1], users[2])

    def _text(self) -> str:
        return " ".join(self._dice.choices(_WORDS, k=self._dice.randint(1, 12)))

    def _at(self) -> datetime:
        return START + timedelta(microseconds=self._dice.randrange(10**12))

    async def _come(self, user: UserKey, number: int) -> None:
        at = self._at()
        if number % 3:
            await self._stores.people.put(Person(user, self._dice.choice(list(Role)), self._text(), at))
        else:
            await self._stores.people.note_stranger(Stranger(user, self._text(), at, "pt-br"), timedelta(0))
        await self._stores.people.put_account(Account(user, f"handle{number}", "en"))
        await self._stores.preferences.put(user, Preferences(language="pt", zone="America/Sao_Paulo"))

    async def _talk(self, user: UserKey, number: int) -> None:
        history = self._stores.history
        place = ConversationKey(ChatKey(user.platform, f"c{number % 3}", ""), user)
        thread = await history.open_thread(place, START, {"origin": "test", "list": [1, None]})
        for turn in range(self._dice.randint(2, 6)):
            await history.append(
                thread.id,
                Message(MessageRole.USER, self._text(), at=self._at(), turn=f"t{turn}", source_id=f"{turn}", tokens=3),
            )
            answer = await history.append(
                thread.id,
                Message(
                    MessageRole.ASSISTANT, self._text(), at=self._at(), turn=f"t{turn}", duration_s=self._dice.random()
                ),
            )
            await history.enter(thread.id, Transition(f"t{turn}", TurnState.PENDING, self._at()))
            await history.tell({answer.id: [ToldMemory(f"m{turn}", "v")]})
        if number % 2:  # as an import leaves them: searches to come index them
            await history.update(thread.id, await history.since(thread.id))
        await history.fold(thread.id, Summary(self._text(), through=2, tokens=7, at=START, model="a:1"))

    async def _remember(self, user: UserKey, number: int) -> None:
        store = self._stores.memories
        for act in range(self._dice.randint(1, 5)):
            content = f"{self._text()} {number} {act}"
            draft = MemoryDraft(MemoryKind.TEXT, content, (self._text(), f"key {act}"))
            if act % 2:
                photo = Attachment(AttachmentKind.PHOTO, self._text(), handle="x", sha256=f"{act:064x}", width=3)
                pages = tuple(Passage(self._text() or "x", page) for page in range(3))
                draft = replace(draft, attachments=(photo,), passages=pages)
            vectors = {text: self._vector() for text in (*draft.bindings, content)}
            [item] = await add(
                store, user, [draft], at=self._at(), vectors=vectors, space=f"x@{_DIMS}", source_ids=[number + 1],
                context=ChangeContext(f"act{number}.{act}", "telegram:-100"),
            )  # fmt: skip
            if act == 1:
                changed = MemoryDraft(MemoryKind.JSON, '{"a": 1.50}', ("other",))
                await store.update(user, item.id, changed, at=self._at(), context=ChangeContext("u"), keeps_past=True)
            elif act == 2:
                await store.delete(user, [item.id], at=self._at(), context=ChangeContext("d"))
            elif act == 3:
                await store.flag(user, [item.id], pinned=True, shared=True)

    def _vector(self) -> Vector:
        vector = np.array([self._dice.gauss(0, 1) for _ in range(_DIMS)], np.float32)
        return vector / np.float32(np.linalg.norm(vector))

    async def _wait(self, user: UserKey, number: int) -> None:
        chat = ChatKey(user.platform, f"c{number}", "")
        place = ConversationKey(chat, user)
        photo = Attachment(AttachmentKind.PHOTO)
        incoming = Incoming(chat, user, "Ana", str(number), self._text(), self._at(), attachments=(photo,))
        await self._stores.inbox.accept(incoming)
        await self._stores.inbox.put_posted(incoming, ["p1", ""])
        if number % 2:
            await self._stores.inbox.close(incoming)
        schedule = Schedule(datetime(2026, 3, 14, 12, 0), "UTC", "FREQ=DAILY")  # noqa: DTZ001 - wall
        database = self._stores.database
        reminder = Reminder(user, chat, self._text(), schedule, START, created_at=START)
        await ReminderStore(database).add(reminder, most=9)
        await SqlPendingInputs(database).put(place, PendingInput("/memories edit x", self._at()))
        await SqlConfirmations(database).put(place, Confirmation("abc", "Delete", '{"ids": []}', self._at()))
        await LinkCodes(database).put(LinkCode(f"digest{number}", user, self._text(), START, user, self._at()))

    async def _run(self, users: list[UserKey]) -> None:
        ledger = self._stores.ledger
        for number in range(4 * len(users)):
            user = self._dice.choice([*users, None])
            usage = self._dice.choice([None, Usage(self._dice.randrange(10**6), 3, 2, 1)])
            call = ModelCall(
                self._at(), user, "chat", "finish", "a:1", "end", self._dice.random(), None, usage,
                self._dice.choice([None, self._dice.random() / 3]), self._dice.choice(["", "telegram:-100"]),
            )  # fmt: skip
            await ledger.record(call)
            await ledger.admit(AdmittedMessage(Asker(user or users[0]), self._at()))
            await ledger.tell_once(BOT, f"2026-{number}", 80, START)
        await self._stores.kept.put("alerts", "{}")
        for number in range(3):
            broadcasts = Broadcasts(self._stores.database)
            draft = await broadcasts.draft(users[0], Locale.PT, self._text(), self._at())
            await broadcasts.begin(draft.id, users[number:])
            room = Decision(self._at(), users[number], DecisionKind.ROOM, f"telegram:-10{number}", "", ALLOWED)
            await self._stores.decisions.apply(room)

    async def _leave(self, *users: UserKey) -> None:
        """Let people go, with the last rows of some tables: their numbers are not given again."""
        for user in users:
            await self._talk(user, 0)
            await self._remember(user, 0)
            await self._stores.memories.forget(user)
            await self._stores.history.forget(user)
            await self._stores.ledger.forget(user)


ANA = UserKey("telegram", "ana")
Rows = dict[str, list[tuple[Any, ...]]]


async def lived(path: Path, *, seed: int = 1, people: int = 6) -> Path:
    """Make the database of a bot with a past."""
    database = await open_database(path)
    try:
        await Life(database, seed).live(people)
    finally:
        await database.close()
    return path


@pytest.fixture
async def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of a bot with a past, and its settings file."""
    (tmp_path / ".env").write_text("LANGUAGE=en\n")
    monkeypatch.setenv("ELEFANTE_ENV", str(tmp_path / ".env"))
    monkeypatch.delenv("STORAGE_URL", raising=False)
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    await lived(tmp_path / "elefante.db")
    return tmp_path


def stored(path: Path) -> Rows:
    """Return all rows of a file but what an engine keeps for itself."""
    with closing(sqlite3.connect(path)) as connection:
        names = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
            if name not in {*LEFT_BEHIND, "sqlite_sequence"}
        ]
        rows = {name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}
        rows["numbers"] = connection.execute("SELECT * FROM sqlite_sequence WHERE seq > 0").fetchall()
    return {name: sorted(each, key=repr) for name, each in rows.items()}


def at(point: str, do: Callable[[], object]) -> Progress:
    """Return a progress that does something when rows were copied, or the comparing begins."""
    done: list[str] = []

    def progress(what: str, rows: int, whole: int) -> None:
        if what == point and (rows or what == "comparing") and what not in done:
            done.append(what)
            do()

    return progress


def quiet(what: str, rows: int, whole: int) -> None:
    """Tell nothing."""


def moved(path: Path, url: str, progress: Progress = quiet) -> dict[str, int]:
    with sqlite_source(path) as source, postgres_target(url, "there") as target:
        return dict(move(source, target, progress).rows)


def moved_back(url: str, path: Path) -> dict[str, int]:
    with postgres_source(url, "there") as source, sqlite_target(path) as target:
        return dict(move(source, target, quiet).rows)


# --- there and back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, *map(long, range(2, 6))])
async def test_what_was_moved_there_and_back_is_equal_row_by_row(tmp_path: Path, seed: int) -> None:
    path = await lived(tmp_path / "elefante.db", seed=seed, people=4 + 5 * seed)
    before, url = path.read_bytes(), new_database()
    rows = moved(path, url)
    assert path.read_bytes() == before
    assert [name for name, count in rows.items() if not count] == [], "of each table something is moved"
    assert moved_back(url, tmp_path / "back.db") == rows
    assert stored(tmp_path / "back.db") == stored(path)
    assert sorted(os.listdir(tmp_path)) == ["back.db", "elefante.db"]  # noqa: PTH208 - of names only
    assert (tmp_path / "back.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.long
async def test_the_bot_goes_on_there_and_numbers_no_row_as_one_that_was(tmp_path: Path) -> None:
    path = await lived(tmp_path / "elefante.db")
    with closing(sqlite3.connect(path)) as connection:
        last = dict(connection.execute("SELECT name, seq FROM sqlite_sequence"))
        assert last["messages"] > connection.execute("SELECT max(id) FROM messages").fetchone()[0]
    url = new_database()
    moved(path, url)
    database = await open_postgres(url)
    store = SqlMemories(database)
    owners = await store.owners()
    assert owners
    for owner in owners:
        assert await store.page(owner, limit=99)
    new = MemoryDraft(MemoryKind.TEXT, "new", ("key",))
    await add(store, ANA, [new], at=START, context=ChangeContext("act"))
    for table in ("memories", "changes", "owners"):
        [(number,)] = await database.rows(f"SELECT max(id) FROM {table}")
        assert number == last[table] + 1
    await database.close()


def test_the_command_moves_switches_and_says_how_to_go_back(home: Path) -> None:
    url, path, env = new_database(), home / "elefante.db", home / ".env"
    done = move_storage(load(), url)
    said = render_moved(done)
    assert env.read_text() == f"LANGUAGE=en\nSTORAGE_URL={url}\n"
    assert load().engine == "postgres"
    for part in (
        f"{path} is as it was",
        f"mv {path} {path}.old",
        "`elefante move-storage sqlite:`",
        "STORAGE_URL=sqlite:",
    ):
        assert part in said
    before = stored(path)
    with psycopg.connect(url) as postgres:
        postgres.execute("UPDATE people SET name = 'new' || name")
    with pytest.raises(StorageError, match=r"holds data \(people\), and nothing is put over it\. Move it away: mv"):
        move_storage(load(), "sqlite:")
    with psycopg.connect(url) as postgres:
        postgres.execute("UPDATE people SET name = substr(name, 4)")
    path.rename(home / "elefante.db.old")
    assert "with an empty database" in render_moved(move_storage(load(), "sqlite:"))
    assert load().engine == "sqlite"
    assert stored(path) == before


@pytest.mark.long
def test_the_real_command_is_brief_and_tells_no_password(home: Path) -> None:
    url = new_database().replace("postgres@", "postgres:s3cr3t-word@")
    elefante = Elefante(home)
    given = {"ELEFANTE_ENV": str(home / ".env"), "DATA_DIR": str(home)}
    without = elefante("move-storage", **given)
    assert (without.returncode, without.stderr[:16]) == (2, "elefante: TARGET")
    done = elefante("move-storage", url, **given)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "of some hundred rows the end is enough"
    again = elefante("move-storage", url, "--json", **given)
    assert json.loads(again.stdout)["error"].startswith("TARGET: all is in 127.0.0.1:")
    for said in (done.stdout, done.stderr, again.stdout, again.stderr, (home / "elefante.log").read_text()):
        assert "s3cr3t-word" not in said
    assert f"STORAGE_URL={url}\n" in (home / ".env").read_text()
    assert (home / ".env").stat().st_mode & 0o777 == 0o600


def test_a_long_move_tells_what_it_does_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as told:
        for what, rows in (("copying", 100_000), ("comparing", 200_000)):
            for done in range(0, rows + 1, 1_000):
                told(what, done, rows)
    assert capsys.readouterr().err.splitlines() == ["copying 100,000 rows", "comparing 200,000 rows"]


@pytest.mark.long
def test_one_postgresql_goes_to_another_and_to_a_schema_of_its_own(home: Path) -> None:
    first, second = new_database(), f"{(apart := new_database())}?options=-csearch_path%3Dapart,public"
    with psycopg.connect(apart, autocommit=True) as postgres:
        postgres.execute("CREATE TABLE invoices (id int)")  # another program's, in another schema
        postgres.execute("CREATE SCHEMA apart")
    move_storage(load(), first)
    (home / ".env").write_text((home / ".env").read_text() + f"STORAGE_DIRECT_URL={first}\n")
    move_storage(load(), second)
    assert load().storage_url.get_secret_value() == second
    assert load().storage_direct_url is None, "it led to the old one"
    moved_back(second, home / "back.db")
    assert stored(home / "back.db") == stored(home / "elefante.db")


@pytest.mark.long
async def test_what_postgresql_cannot_hold_is_replaced_and_counted(home: Path) -> None:
    with closing(sqlite3.connect(home / "elefante.db")) as connection, connection:
        connection.execute("UPDATE people SET name = 'a' || char(0) || 'b' WHERE rowid = 1")
        connection.execute("UPDATE people SET name = CAST(x'61eda08062' AS TEXT) WHERE rowid = 2")  # half of a pair
        connection.execute("UPDATE people SET name = 'a\ufffdb' WHERE rowid = 3")
    url = new_database()
    done = move_storage(load(), url)
    assert done["replaced"] == 2
    assert "(NUL, or none of UTF-8): 2." in render_moved(done)
    with psycopg.connect(url) as postgres:
        names = [name for (name,) in postgres.execute("SELECT name FROM people").fetchall()]
    assert len([name for name in names if name.startswith("a\ufffd")]) == 3


@pytest.mark.long
def test_a_database_of_an_older_version_is_migrated_first_with_a_backup(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later: tuple[Migration, ...] = (*MIGRATIONS, ("CREATE INDEX people_since ON people (since)",))
    for module in ("bot.cli.storage", "core.storage.move_sqlite"):
        monkeypatch.setattr(f"{module}.MIGRATIONS", later)
    done = move_storage(load(), new_database())
    assert done["migrated_from"] == len(MIGRATIONS)
    assert f"was of an older version (schema {len(MIGRATIONS)}), and was migrated first" in render_moved(done)
    assert list((home / "backups").glob("before-update-*.db"))


# --- what is refused -------------------------------------------------------------------------------------------------


def refused(to: str) -> str:
    before = os.environ.get("ELEFANTE_ENV", "")
    env = Path(before).read_text()
    with pytest.raises(BotError) as failed:
        move_storage(load(), to)
    assert Path(before).read_text() == env, "nothing is switched"
    return str(failed.value)


@pytest.mark.long
def test_a_place_that_is_none_is_named(home: Path) -> None:
    assert refused("mongodb://x").startswith("TARGET: write sqlite:")
    assert refused("").startswith("TARGET: write sqlite:")
    assert refused("memory:").startswith("TARGET: memory: keeps nothing")
    assert refused("sqlite:") == f"TARGET: all is in {home / 'elefante.db'} already"
    port = shared_server().port
    assert "there is no such" in refused(f"postgresql://postgres@127.0.0.1:{port}/nowhere")
    assert "no such user" in refused(f"postgresql://nobody:secret@127.0.0.1:{port}/postgres")
    said = refused("postgresql://u:top-secret@127.0.0.1:1/x")
    assert "cannot be reached" in said
    assert "top-secret" not in said


@pytest.mark.long
def test_without_a_right_or_a_database_it_says_what_is_missing(home: Path) -> None:
    url = new_database()
    with psycopg.connect(url, autocommit=True) as postgres:
        postgres.execute("CREATE EXTENSION vector")
        postgres.execute("DROP ROLE IF EXISTS guest_of_move")
        postgres.execute("CREATE ROLE guest_of_move LOGIN")
    said = refused(url.replace("postgres@", "guest_of_move@"))
    assert "GRANT CREATE ON SCHEMA public" in said
    (home / "elefante.db").unlink()
    assert "there is nothing to move yet" in refused(url)


@pytest.mark.long
def test_a_target_with_other_data_is_left_as_it_is(home: Path) -> None:
    ours, others = new_database(), new_database()
    with postgres_target(ours, "x"), psycopg.connect(ours) as postgres:
        postgres.execute("INSERT INTO spaces (name) VALUES ('x')")
    assert "holds other data (spaces)" in refused(ours)
    with psycopg.connect(others, autocommit=True) as postgres:
        postgres.execute("CREATE TABLE invoices (id int)")
    assert "tables of another program" in refused(others)
    with psycopg.connect(others) as postgres:
        tables = postgres.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    assert tables == [("invoices",)]


@pytest.mark.long
async def test_a_bot_that_runs_is_named(home: Path) -> None:
    database = await open_database(home / "elefante.db")
    assert "has" in (said := refused(new_database()))
    assert f"(process {os.getpid()})" in said or "process" in said
    assert "stop it first" in said
    await database.close()


@pytest.mark.long
@pytest.mark.parametrize("is_source", [True, False])
def test_workers_that_run_are_told(home: Path, *, is_source: bool) -> None:
    url, other = new_database(), new_database()
    if is_source:
        move_storage(load(), url)
        other, url = url, other
    else:
        with postgres_target(url, "x"):
            pass
        other = url
    with psycopg.connect(other) as postgres:
        beat = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
        postgres.execute(
            f"INSERT INTO workers (started, beat, program) VALUES (0, {beat}, 'x'), (0, {beat} - 20000000, 'x')"
        )
    assert "workers that run on" in (said := refused(url))
    assert ": 1. Stop them first" in said
    with psycopg.connect(other) as postgres:
        postgres.execute("UPDATE workers SET beat = 0")
    move_storage(load(), url)


@pytest.mark.long
def test_what_the_environment_says_counts_more_and_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_URL", "sqlite:")
    done = move_storage(load(), new_database())
    assert done["settings"] is None
    assert "write the new STORAGE_URL yourself: it is set in the environment" in render_moved(done)


# --- broken off, and compared ----------------------------------------------------------------------------------------


def interrupted() -> None:
    raise KeyboardInterrupt


@pytest.mark.long
def test_what_is_broken_off_leaves_nothing_and_is_made_anew(home: Path) -> None:
    url, path = new_database(), home / "elefante.db"
    for point in ("copying", "comparing"):
        with pytest.raises(KeyboardInterrupt):
            moved(path, url, at(point, interrupted))
        with psycopg.connect(url) as postgres:
            assert postgres.execute("SELECT count(*) FROM messages").fetchall() == [(0,)]
    moved(path, url)
    for point in ("copying", "comparing"):
        with (
            pytest.raises(KeyboardInterrupt),
            postgres_source(url, "there") as source,
            sqlite_target(home / "back.db") as target,
        ):
            move(source, target, at(point, interrupted))
        assert not list(home.glob("back.db*"))
    moved_back(url, home / "back.db")
    assert stored(home / "back.db") == stored(path)


@pytest.mark.long
def test_no_worker_starts_while_its_database_is_moved(home: Path) -> None:
    url = new_database()

    def start() -> None:
        insert = "INSERT INTO workers (started, beat, program) VALUES (0, 0, 'x')"
        with psycopg.connect(url, options="-clock_timeout=100") as postgres:
            with pytest.raises(psycopg.errors.LockNotAvailable):
                postgres.execute(insert)
            held.append(insert)

    held: list[str] = []
    moved(home / "elefante.db", url, at("copying", start))
    assert held


@pytest.mark.long
def test_a_move_that_ended_before_the_switch_switches(home: Path) -> None:
    url, path = new_database(), home / "elefante.db"
    rows = moved(path, url)  # and then the power went
    assert move_storage(load(), url)["rows"] == sum(rows.values())
    assert load().engine == "postgres"
    moved_back(url, home / "back.db")
    assert moved_back(url, home / "back.db") == rows


@pytest.mark.long
@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("DELETE FROM terms WHERE ctid = (SELECT min(ctid) FROM terms)", "terms"),
        ("UPDATE messages SET content = '\"x\"' WHERE id = 1", "messages"),
        ("UPDATE vectors SET vector = (SELECT vector FROM vectors ORDER BY phrase DESC LIMIT 1)", "vectors"),
        ("UPDATE owners SET linked = NULL", "owners"),
        ("SELECT setval('messages_id_seq', 1)", "the next number of messages"),
    ],
)
def test_a_copy_that_is_not_equal_is_named_and_not_kept(home: Path, sql: LiteralString, said: str) -> None:
    url, path = new_database(), home / "elefante.db"
    with (
        pytest.raises(StorageError, match=f"the copy is not equal, and nothing was switched: {said}$"),
        sqlite_source(path) as source,
        postgres_target(url, "there") as target,
    ):
        move(source, target, at("comparing", lambda: target.run(sql)))
    moved(path, url)


# --- every table -----------------------------------------------------------------------------------------------------


async def test_both_engines_have_the_same_tables_and_each_has_an_owner_or_none(tmp_path: Path) -> None:
    """A new table belongs into core/storage/move_postgres.py, or into LEFT_BEHIND of core/storage/move.py."""
    url = new_database()
    await (await open_database(tmp_path / "x.db")).close()
    with postgres_target(url, "x") as there, sqlite_source(tmp_path / "x.db") as here:
        assert there.columns().keys() == here.columns().keys() == {table.name for table in TABLES}
