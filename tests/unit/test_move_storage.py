"""All that is stored goes from one engine to the other and back, and is compared before anything switches."""

# ruff: noqa: S608 - names of tables

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from bot.cli.move_storage import _progress, move_storage, render
from bot.settings.settings import load
from core.errors import BotError, ConfigError, StorageError
from core.storage.database import Row
from core.storage.memories import SqlMemories
from core.storage.move import LEFT_BEHIND, TABLES, Position, Progress, Source, Target, Unequal, move
from core.storage.move_postgres import postgres_source, postgres_target
from core.storage.move_sqlite import sqlite_source, sqlite_target
from core.storage.postgres import open_postgres
from core.storage.sqlite import open_database
from core.stores import ChangeContext
from core.types import MemoryDraft, MemoryKind, UserKey
from tests.e2e.command import Elefante
from tests.fakes.clock import START
from tests.fakes.lived import Life
from tests.fakes.memories import add
from tests.postgres import new_database, shared_server
from tests.profile import long

OLD = Path(__file__).parents[1] / "data" / "database_v14.db.gz"
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
    """Return all rows of a file but what an engine keeps for itself, vectors as half floats."""
    with closing(sqlite3.connect(path)) as connection:
        names = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
            if name not in {*LEFT_BEHIND, "sqlite_sequence"}
        ]
        rows = {name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}
        rows["numbers"] = connection.execute("SELECT * FROM sqlite_sequence WHERE seq > 0").fetchall()
    rows["vectors"] = [(*row[:2], np.frombuffer(row[2], "<f4").astype("<f2").tobytes()) for row in rows["vectors"]]
    return {name: sorted(each, key=repr) for name, each in rows.items()}


class Told(Progress):
    """Records how far it is, and does something at a point."""

    def __init__(self, at: str = "", do: Callable[[], object] = lambda: None) -> None:
        self.begun: list[tuple[str, int, int]] = []
        self.at, self.do = at, do

    def begin(self, what: str, rows: int, done: int) -> None:
        self.begun.append((what, rows, done))
        if what == self.at:
            self.do()

    def advance(self, rows: int, table: str) -> None:
        assert rows >= 0
        if table == self.at and self.begun[-1][0] == "copying":
            self.do()


def moved(path: Path, url: str, told: Progress | None = None) -> dict[str, int]:
    with sqlite_source(path) as source, postgres_target(url, "there") as target:
        return dict(move(source, target, told or Told()).rows)


def moved_back(url: str, path: Path) -> dict[str, int]:
    with postgres_source(url, "there") as source, sqlite_target(path) as target:
        return dict(move(source, target, Told()).rows)


# --- there and back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, *map(long, range(2, 10))])
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


async def test_the_bot_goes_on_there_and_numbers_no_row_as_one_that_was(tmp_path: Path) -> None:
    path = await lived(tmp_path / "elefante.db")
    with closing(sqlite3.connect(path)) as connection:
        last = dict(connection.execute("SELECT name, seq FROM sqlite_sequence"))
        assert last["messages"] > connection.execute("SELECT max(id) FROM messages").fetchone()[0]
    url = new_database()
    moved(path, url)
    with psycopg.connect(url) as postgres:
        postgres.execute("UPDATE moving SET rows = 1")
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
    said = render(done)
    assert env.read_text() == f"LANGUAGE=en\nSTORAGE_URL={url}\n"
    assert load().engine == "postgres"
    for part in (
        f"{path} is as it was",
        f"mv {path} {path}.old",
        "`elefante move-storage sqlite:`",
        "STORAGE_URL=sqlite:",
    ):
        assert part in said
    with psycopg.connect(url) as postgres:
        assert postgres.execute("SELECT to_regclass('moving')").fetchall() == [(None,)]
    before = stored(path)
    with pytest.raises(StorageError, match=r"holds data, and nothing is put over it\. Move it away: mv"):
        move_storage(load(), "sqlite:")
    path.rename(home / "elefante.db.old")
    assert "with an empty database" in render(move_storage(load(), "sqlite:"))
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


def test_a_long_move_tells_where_it_is_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with _progress() as progress:
        for what, rows in (("copying", 100_000), ("comparing", 200_000)):
            progress.begin(what, rows, 0)
            for _ in range(rows // 1_000):
                progress.advance(1_000, "messages")
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2 * (1 + 10)
    assert said[:2] == ["copying 100,000 rows", "copying messages: 10,000 of 100,000 rows"]
    assert said[-1] == "comparing messages: 200,000 of 200,000 rows"


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
    assert "(NUL, or none of UTF-8): 2." in render(done)
    with psycopg.connect(url) as postgres:
        names = [name for (name,) in postgres.execute("SELECT name FROM people").fetchall()]
    assert len([name for name in names if name.startswith("a\ufffd")]) == 3


@pytest.mark.long
def test_a_database_of_an_older_version_is_migrated_first_with_a_backup(home: Path) -> None:
    (home / "elefante.db").write_bytes(gzip.decompress(OLD.read_bytes()))
    done = move_storage(load(), new_database())
    assert done["migrated_from"] == 14
    assert "was of an older version (schema 14), and was migrated first" in render(done)
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
async def test_no_bot_starts_on_what_is_moved_half(home: Path) -> None:
    url = new_database()
    with pytest.raises(KeyboardInterrupt):
        moved(home / "elefante.db", url, Told("memories", interrupted))
    with pytest.raises(ConfigError, match="is not complete: run `elefante move-storage`"):
        await open_postgres(url)
    moved(home / "elefante.db", url)
    await (await open_postgres(url)).close()


@pytest.mark.long
def test_what_the_environment_says_counts_more_and_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_URL", "sqlite:")
    done = move_storage(load(), new_database())
    assert done["settings"] is None
    assert "write the new STORAGE_URL yourself: it is set in the environment" in render(done)


# --- broken off ------------------------------------------------------------------------------------------------------


def interrupted() -> None:
    raise KeyboardInterrupt


class Counted:
    """Counts what is written to a target."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.rows = 0

    def put(self, table: str, columns: Sequence[str], rows: Sequence[Row], step: str, position: Position) -> None:
        self._target.put(table, columns, rows, step, position)
        self.rows += len(rows)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)


@pytest.mark.long
@pytest.mark.parametrize("engine", ["postgres", "sqlite"])
def test_broken_off_after_each_table_it_goes_on_and_copies_nothing_twice(home: Path, engine: str) -> None:
    url, back = new_database(), home / "back.db"
    if engine == "sqlite":
        moved(home / "elefante.db", url)

    @contextmanager
    def ends() -> Iterator[tuple[Source, Target]]:
        if engine == "postgres":
            with sqlite_source(home / "elefante.db") as file, postgres_target(url, "there") as server:
                yield file, server
        else:
            with postgres_source(url, "there") as source, sqlite_target(back) as target:
                yield source, target

    written = 0
    for table in TABLES:
        with ends() as (source, target):
            counted = Counted(target)
            with pytest.raises(KeyboardInterrupt):
                move(source, counted, Told(table.name, interrupted))
        written += counted.rows
    with ends() as (source, target):
        done = move(source, target, told := Told())
    assert told.begun[0] == ("copying", written, written), "nothing was left to copy"
    assert done.before == written == sum(done.rows.values())
    if engine == "postgres":
        moved_back(url, back)
    assert stored(back) == stored(home / "elefante.db")


@pytest.mark.long
async def test_what_was_written_to_the_source_meanwhile_is_moved_too(home: Path) -> None:
    url, path = new_database(), home / "elefante.db"
    with pytest.raises(KeyboardInterrupt):
        moved(path, url, Told("terms", interrupted))
    database = await open_database(path)
    await add(SqlMemories(database), ANA, [MemoryDraft(MemoryKind.TEXT, "new", ("key",))], at=START)
    await database.close()
    told = Told()
    moved(path, url, told)
    assert told.begun[0][2] == 0, "it began anew"
    moved_back(url, home / "back.db")
    assert stored(home / "back.db") == stored(path)


@pytest.mark.long
def test_a_move_that_ended_before_the_switch_switches_and_a_bot_that_ran_there_is_kept(home: Path) -> None:
    url, path = new_database(), home / "elefante.db"
    moved(path, url)  # and then the power went
    told = move_storage(load(), url)
    assert told["rows_copied_before"] == told["rows"]
    assert load().engine == "postgres"
    (home / ".env").write_text("")
    moved_back(url, again := home / "back.db")
    with psycopg.connect(url) as postgres:
        postgres.execute("UPDATE people SET name = 'changed'")
    with pytest.raises(StorageError, match="holds data"):
        moved_back(url, again)
    (home / ".env").write_text("")
    with pytest.raises(StorageError, match="holds other data"):
        move_storage(load(), url)


# --- compared --------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (
            "DELETE FROM terms WHERE ctid = (SELECT min(ctid) FROM terms)",
            r"terms of \w+:\d+:é: \d+ rows instead of \d+",
        ),
        (
            "UPDATE messages SET content = '\"x\"' WHERE id = 1",
            r"messages of \w+:0:é: \d+ rows, not all of them the same",
        ),
        ("UPDATE memories SET pinned = 1 - pinned WHERE id = (SELECT max(id) FROM memories)", "memories of "),
        ("UPDATE decided SET value = 'x'", "decided of nobody: 3 rows, not all of them the same"),
        ("UPDATE vectors SET vector = (SELECT vector FROM vectors ORDER BY phrase DESC LIMIT 1)", "vectors of "),
        ("UPDATE owners SET linked = NULL", "owners of "),
        ("SELECT setval('messages_id_seq', 1)", "the next number of messages"),
    ],
)
def test_a_copy_that_is_not_equal_is_named_and_made_anew(home: Path, sql: str, said: str) -> None:
    url, path = new_database(), home / "elefante.db"
    words = {row for rows in stored(path)["memories"] for row in rows if isinstance(row, str) and len(row) > 20}

    def spoil() -> None:
        with psycopg.connect(url) as postgres:
            postgres.execute(sql)

    with pytest.raises(Unequal, match=said) as failed:
        moved(path, url, Told("comparing", spoil))
    assert not [word for word in words if word in str(failed.value)]
    moved(path, url, told := Told())
    assert told.begun[0][2] == 0, "all of it is copied anew"


# --- every table -----------------------------------------------------------------------------------------------------


@pytest.mark.long
async def test_every_table_is_moved_or_left_behind_on_purpose_and_after_what_it_refers_to(tmp_path: Path) -> None:
    """A new table belongs into TABLES or LEFT_BEHIND of core/storage/move.py."""
    url = new_database()
    await (await open_postgres(url)).close()
    await (await open_database(tmp_path / "x.db")).close()
    known = [table.name for table in TABLES]
    with psycopg.connect(url) as postgres, closing(sqlite3.connect(tmp_path / "x.db")) as sqlite:
        there = postgres.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        here = sqlite.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name != 'sqlite_sequence'"
        ).fetchall()
        for names in (there, here):
            assert {name for (name,) in names} - LEFT_BEHIND == set(known)
        refers = postgres.execute(
            "SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint WHERE contype = 'f'"
        ).fetchall()
        assert refers
        for table, other in refers:
            if table in LEFT_BEHIND:
                continue
            assert known.index(other) < known.index(table) or (table == other and TABLES[known.index(table)].later)
        for table in TABLES:
            unique = postgres.execute(
                "SELECT array_agg(attname::text ORDER BY attname) FROM pg_index "
                "JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey) "
                "WHERE indrelid = %s::regclass AND indisunique AND indpred IS NULL "
                "GROUP BY indexrelid",
                (table.name,),
            ).fetchall()
            assert (sorted(table.key),) in unique, f"the key of {table.name} names its rows"
