"""What a PostgreSQL database lacks is a sentence with the command to give; neighbouring versions share a database."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

import core.storage.postgres_schema as schema
from core.errors import ConfigError, SchemaTooNew, SchemaTooOld, StorageDown
from core.storage.postgres import PostgresDatabase, open_postgres
from core.storage.postgres_schema import MIGRATIONS, Migration
from tests.postgres import HAS_POSTGRES, WHY_NOT, new_database, own_server, shared_server

pytestmark = pytest.mark.skipif(not HAS_POSTGRES, reason=WHY_NOT)


def do(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.fixture
def role() -> Iterator[str]:
    """Give the name of a role that may log in, and no more."""
    name = f"role_{uuid.uuid4().hex[:8]}"
    do(shared_server().url(), f"CREATE ROLE {name} LOGIN")
    yield name
    with psycopg.connect(shared_server().url(), autocommit=True) as connection:
        connection.execute(f"DROP ROLE IF EXISTS {name}")


def as_role(url: str, role: str) -> str:
    return url.replace("postgres@", f"{role}@")


async def opens(url: str, *more: Migration) -> PostgresDatabase:
    return await open_postgres(url, [*MIGRATIONS, *more])


async def advice(url: str) -> str:
    """Return what the owner is told, without the setting's name."""
    with pytest.raises(ConfigError) as refused:
        await opens(url)
    assert refused.value.setting == "STORAGE_URL"
    return refused.value.advice


def command(advice: str) -> str:
    """Return the command at the end of an advice."""
    [found] = re.findall(r"[A-Z]+ [^:;]*;$", advice)
    return str(found)


async def test_each_right_that_is_missing_is_told_with_the_command_that_gives_it(role: str) -> None:
    url = new_database()
    told = await advice(as_role(url, role))
    assert "CREATE EXTENSION vector" in told
    do(url, command(told))
    told = await advice(as_role(url, role))
    assert "may not make tables" in told
    do(url, command(told))
    database = await opens(as_role(url, role))
    await database.close()
    do(url, f"DROP OWNED BY {role}")


async def test_who_has_no_right_to_the_tables_of_another_is_told_how_to_get_it(role: str) -> None:
    url = new_database()
    await (await opens(url)).close()
    told = await advice(as_role(url, role))
    assert told.startswith("the tables belong to another user")
    do(url, command(told))
    await (await opens(as_role(url, role))).close()


async def test_tables_or_an_extension_where_nobody_looks_are_told_with_the_command(role: str) -> None:
    url = new_database()
    do(url, "CREATE SCHEMA extensions", "CREATE EXTENSION vector SCHEMA extensions")
    do(
        url,
        f"GRANT USAGE ON SCHEMA extensions TO {role}",
        f"GRANT CREATE ON SCHEMA public TO {role}",
        f"ALTER ROLE {role} SET search_path = nowhere",
    )
    told = await advice(as_role(url, role))
    assert "names no schema that is there" in told
    do(url, command(told))
    told = await advice(as_role(url, role))
    assert "the extension vector is in the schema extensions" in told
    do(url, command(told))
    await (await opens(as_role(url, role))).close()
    do(url, f"DROP OWNED BY {role}")


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("ENCODING 'SQL_ASCII' LOCALE 'C'", "has the encoding SQL_ASCII"),
        ("ENCODING 'UTF8' LOCALE 'C'", "knows no letters but A to Z"),
    ],
)
async def test_a_database_of_another_encoding_or_locale_is_told_how_to_make_one(made: str, said: str) -> None:
    server, name = shared_server(), f"test_{uuid.uuid4().hex[:8]}"
    do(server.url(), f"CREATE DATABASE {name} TEMPLATE template0 {made}")
    told = await advice(server.url(name))
    assert said in told
    other = f"test_{uuid.uuid4().hex[:8]}"
    do(server.url(), command(told).replace("elefante", other))
    await (await opens(server.url(other))).close()


async def test_an_old_server_and_an_old_extension_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    url = new_database()
    monkeypatch.setattr(schema, "_EXTENSIONS", {"vector": (99, 0)})
    assert re.search(r"vector [\d.]+ is too old; .*ALTER EXTENSION vector UPDATE;$", await advice(url))
    monkeypatch.setattr(schema, "_OLDEST_SERVER", 99)
    assert re.fullmatch(r"the server is PostgreSQL \d+; 99 or newer is needed", await advice(url))


def remove_extension(folder: Path) -> None:
    [control] = folder.rglob("vector.control")
    control.unlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="the server's programs are a copy only where root runs the tests")
async def test_an_extension_that_is_not_installed_is_told_with_its_package() -> None:
    with own_server() as server:
        remove_extension(server.folder)
        assert "apt install postgresql-18-pgvector" in await advice(server.url())


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://postgres@127.0.0.1:{port}/nowhere", "CREATE DATABASE elefante;"),
        ("postgresql://nobody@127.0.0.1:{port}/postgres", "no such user"),
        ("postgresql://[", "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE"),
        ("postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=require", "the server has no encryption"),
        ("postgresql://u@127.0.0.1:{encrypted}/x?sslmode=verify-full&sslrootcert=/none", "sslrootcert=FILE"),
    ],
)
async def test_a_url_that_leads_nowhere_is_told_so(url: str, said: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as encrypted:
        answering = asyncio.create_task(asyncio.to_thread(agree_to_encrypt, encrypted))
        try:
            assert said in await advice(url.format(port=shared_server().port, encrypted=encrypted.getsockname()[1]))
        finally:
            encrypted.shutdown(socket.SHUT_RDWR)
            await answering


def agree_to_encrypt(server: socket.socket) -> None:
    with suppress(OSError):  # nobody came
        asked, _ = server.accept()
        with asked:
            asked.recv(8)
            asked.sendall(b"S")


async def test_a_server_that_is_away_at_the_start_is_not_a_setting_that_is_wrong() -> None:
    with pytest.raises(StorageDown, match="nothing listens at its address"):
        await opens("postgresql://postgres@127.0.0.1:9/postgres")


async def test_processes_that_start_together_migrate_once() -> None:
    url = new_database()
    databases = await asyncio.gather(*(opens(url) for _ in range(4)))
    rows = await databases[0].rows("SELECT version FROM schema_history ORDER BY version")
    assert rows == [(number,) for number, each in enumerate(MIGRATIONS, 1) if each.statements]
    for database in databases:
        await database.close()


async def test_a_migration_that_fails_changes_nothing() -> None:
    url = new_database()
    with pytest.raises(Exception, match="UndefinedTable"):
        await opens(url, Migration(("CREATE TABLE half (id BIGINT)", "DROP TABLE nothing")))
    database = await opens(url)
    assert await database.rows("SELECT to_regclass('half'), max(version) FROM schema_history") == [
        (None, len(MIGRATIONS))
    ]
    await database.close()


async def test_programs_of_neighbouring_versions_work_side_by_side_and_older_ones_are_refused() -> None:
    url, now = new_database(), len(MIGRATIONS)
    adds = Migration(("ALTER TABLE people ADD COLUMN later TEXT NOT NULL DEFAULT ''",), oldest=now)
    removes = Migration(("ALTER TABLE people DROP COLUMN later",), oldest=now + 1)
    old = await opens(url)
    new = await opens(url, adds)
    old_again = await opens(url)  # one of the old version that is started while they are exchanged
    for database in (old, new, old_again):
        await database.rows("SELECT * FROM people")
    newest = await opens(url, adds, removes)
    with pytest.raises(SchemaTooNew, match=rf"schema {now + 2} .* from schema {now + 1} on .* update the program"):
        await opens(url)
    for database in (old, new, old_again, newest):
        await database.close()


async def test_a_database_of_before_the_baseline_is_refused_with_what_to_do() -> None:
    url = new_database()
    await (await opens(url)).close()
    do(
        url,
        "DELETE FROM schema_history",
        "INSERT INTO schema_history (version, oldest, program) VALUES (1, 1, '0.1.0')",
    )
    with pytest.raises(SchemaTooOld, match=r"schema 1 of an older .* with Elefante 0\.1\.0 \(`elefante export"):
        await opens(url)
