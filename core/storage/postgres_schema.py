"""The schema of a PostgreSQL database: what the server must have, which version is there, and the way to ours.

The table `schema_history` has a row for each migration. Its `oldest` is the oldest version whose programs still work on
what it left: neighbouring versions run side by side while workers are exchanged one by one, so a migration adds and
fills, and what it makes superfluous goes in a later one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import psycopg
from psycopg import errors

from core.errors import ConfigError, SchemaTooNew
from core.storage.postgres_errors import translated
from core.storage.postgres_migrations import Migration
from core.storage.record import program_version

_OLDEST_SERVER: Final = 16
_OLDEST_VECTOR: Final = (0, 7)  # the first with halfvec
_LOCK: Final = 0x456C6566  # `Elef`: one process migrates at a time
_SETTING: Final = "STORAGE_URL"
_CONNECT_S: Final = 10

_HISTORY: Final = """
CREATE TABLE IF NOT EXISTS schema_history (
    version BIGINT PRIMARY KEY, oldest BIGINT NOT NULL, program TEXT NOT NULL, at TIMESTAMPTZ NOT NULL DEFAULT now()
)
"""


def prepare(url: str, migrations: Sequence[Migration]) -> bool:
    """Check the server, run the missing migrations in one transaction; return whether a pooler stands in between.

    Raises:
        ConfigError: something is missing that somebody has to give; the advice names the command.
        SchemaTooNew: a newer program wrote it, with which this one cannot work.
        StorageError: the server cannot be reached, or refused a migration; nothing was changed.
    """
    with translated():
        try:
            connection = psycopg.connect(url, autocommit=True, prepare_threshold=None, connect_timeout=_CONNECT_S)
        except psycopg.ProgrammingError as error:
            raise ConfigError(_SETTING, "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE") from error
        except psycopg.OperationalError as error:
            raise _refused(error) or error from error
        with connection:
            _check_server(connection)
            _migrate(connection, migrations)
            # A pooler gives out a cancel key of its own, with a number that is no backend's.
            [(backend,)] = connection.execute("SELECT pg_backend_pid()").fetchall()
            return bool(connection.info.backend_pid != backend)


def schema_version(connection: psycopg.Connection, known: int) -> int:
    """Return the schema version of a database; 0 if it is empty. This program knows versions up to `known`.

    Raises:
        SchemaTooNew: a newer program wrote it, with which this one cannot work.
    """
    [(table,)] = connection.execute("SELECT to_regclass('schema_history')").fetchall()
    if table is None:
        return 0
    rows = connection.execute("SELECT version, oldest, program FROM schema_history ORDER BY version DESC LIMIT 1")
    for version, oldest, program in rows.fetchall():
        if oldest > known:
            raise SchemaTooNew(
                f"the database has schema {version} of Elefante {program}, on which programs from schema {oldest} on "
                f"can work; this is Elefante {program_version()}, which knows {known}: update the program"
            )
        return int(version)
    return 0


def _migrate(connection: psycopg.Connection, migrations: Sequence[Migration]) -> None:
    if schema_version(connection, len(migrations)) >= len(migrations):
        return
    try:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            version = schema_version(connection, len(migrations))  # another process may have been faster
            connection.execute(_HISTORY)
            for number, migration in enumerate(migrations[version:], version + 1):
                for statement in migration.statements:
                    connection.execute(statement)
                connection.execute(
                    "INSERT INTO schema_history (version, oldest, program) VALUES (%s, %s, %s)",
                    (number, migration.oldest or number, program_version()),
                )
    except errors.InsufficientPrivilege as error:
        advice = (
            f"its user may not make tables; as its owner run: GRANT CREATE ON SCHEMA public TO {_user(connection)};"
        )
        raise ConfigError(_SETTING, advice) from error


def _check_server(connection: psycopg.Connection) -> None:
    if connection.info.server_version < _OLDEST_SERVER * 10_000:
        found = connection.info.server_version // 10_000
        raise ConfigError(_SETTING, f"the server is PostgreSQL {found}; {_OLDEST_SERVER} or newer is needed")
    [(encoding,)] = connection.execute("SHOW server_encoding").fetchall()
    if encoding != "UTF8":
        made = "CREATE DATABASE elefante TEMPLATE template0 ENCODING 'UTF8';"
        raise ConfigError(_SETTING, f"the database has the encoding {encoding}; make one by: {made}")
    try:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except errors.InsufficientPrivilege as error:
        database = connection.info.dbname
        advice = f"as a superuser, in the database {database}, run: CREATE EXTENSION vector;"
        raise ConfigError(_SETTING, advice) from error
    except (errors.UndefinedFile, errors.FeatureNotSupported) as error:
        major = connection.info.server_version // 10_000
        advice = f"install pgvector on the database server (Debian: apt install postgresql-{major}-pgvector)"
        raise ConfigError(_SETTING, advice) from error
    [(version,)] = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchall()
    if tuple(map(int, version.split(".")[:2])) < _OLDEST_VECTOR:
        advice = f"pgvector {version} is too old; update it on the server, then run: ALTER EXTENSION vector UPDATE;"
        raise ConfigError(_SETTING, advice)


def _refused(error: psycopg.OperationalError) -> ConfigError | None:
    """Return what to correct if the server, or its name, refused the URL; None if it may only be away for now."""
    advice = {
        errors.InvalidPassword: "the user or the password is wrong",
        errors.InvalidAuthorizationSpecification: "the server does not let this user in; see its pg_hba.conf",
        errors.InvalidCatalogName: "there is no such database; make it by: CREATE DATABASE elefante;",
    }.get(type(error))
    # libpq's own failures, and those of before the login, have no code (psycopg 3.3); their text is the server's.
    for words, said in (
        ("password authentication failed", "the user or the password is wrong"),
        ("no password supplied", "there is no password in it"),
        ("no pg_hba.conf entry", "the server does not let this user in from here; see its pg_hba.conf"),
        ("does not exist", "there is no such user or database; make it by: CREATE DATABASE elefante;"),
    ):
        advice = advice or (said if words in str(error) else None)
    return ConfigError(_SETTING, advice) if advice else None


def _user(connection: psycopg.Connection) -> str:
    return f'"{connection.info.user}"'
