"""The schema of a PostgreSQL database: what the server must have, which version is there, and the way to ours.

The table `schema_history` has a row for each migration. Its `oldest` is the oldest version whose programs still work on
what it left: neighbouring versions run side by side while workers are exchanged one by one, so a migration adds and
fills, and what it makes superfluous goes in a later one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString

import psycopg
from psycopg import errors

from core.errors import ConfigError, SchemaTooNew, SchemaTooOld, StorageDown
from core.storage.database import Row
from core.storage.kept import FIND_MARK, Mark, mark_in, needs_mark
from core.storage.postgres_connection import SETTING
from core.storage.postgres_errors import reason, refusal, translated
from core.storage.postgres_migrations import Migration
from core.storage.record import program_version

_OLDEST_SERVER: Final = 16
_EXTENSIONS: Final[dict[LiteralString, tuple[int, int]]] = {"vector": (0, 7)}
"""The extensions, and the oldest versions that do; that of vector is the first with halfvec."""

_PACKAGES: Final = {"vector": "postgresql-{}-pgvector"}
_MADE: Final = "CREATE DATABASE elefante TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8';"
_LOCK: Final = 0x456C6566  # `Elef`: one process migrates at a time

_HISTORY: Final = """
CREATE TABLE IF NOT EXISTS schema_history (
    version BIGINT PRIMARY KEY, oldest BIGINT NOT NULL, program TEXT NOT NULL, at TIMESTAMPTZ NOT NULL DEFAULT now()
)
"""


@dataclass(frozen=True, slots=True)
class PostgresInspection:
    """What a look at a database found: versions of the server and of its extensions ("": the first start adds it).

    `version` is that of the schema, 0 of an empty database; `known` the present one.
    """

    server: str
    extensions: Mapping[str, str]
    version: int
    known: int
    people: int


def connected(named: dict[str, Any]) -> psycopg.Connection:
    """Return a connection without transactions and prepared statements.

    Raises:
        ConfigError: the server does not let us in; the advice says what to correct.
        StorageDown: none answers.
    """
    try:
        return psycopg.connect(**named, autocommit=True, prepare_threshold=None)
    except psycopg.OperationalError as error:
        if advice := refusal(error):
            raise ConfigError(SETTING, advice) from error
        place = f"{named.get('host') or 'localhost'}:{named.get('port') or 5432}"
        raise StorageDown(f"the database server at {place} cannot be reached: {reason(error)}") from error


def inspect(named: dict[str, Any], migrations: Sequence[Migration]) -> PostgresInspection:
    """Look at a database, and change nothing.

    Raises:
        ConfigError: something is missing that somebody has to give; the advice names the command.
        SchemaTooNew, SchemaTooOld: it was written by a program with whose schema this one cannot work.
        StorageError: it cannot be reached.
    """
    with translated(), connected(named) as connection:
        _check_server(connection)
        _check_path(connection)
        extensions = {name: _extension(connection, name, oldest) for name, oldest in _EXTENSIONS.items()}
        version = schema_version(connection, migrations)
        [(server,)] = connection.execute("SHOW server_version").fetchall()
        people = connection.execute("SELECT count(DISTINCT owner) FROM memories").fetchall() if version else [(0,)]
        return PostgresInspection(server.split()[0], extensions, version, len(migrations), people[0][0])


def is_to_be_marked(named: dict[str, Any], key_file: str) -> bool:
    """Return whether the database has to be marked as sealed; raises as `needs_mark`, and as `connected`."""
    with translated(), connected(named) as connection:

        def run(sql: str) -> list[Row]:
            return connection.execute(sql.encode()).fetchall()

        found = run("SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()")
        return needs_mark(run, frozenset(str(name) for (name,) in found), key_file)


def mark_there(named: dict[str, Any]) -> Mark | None:
    """Return the mark of a database that is sealed; raises as `connected`."""
    with translated(), connected(named) as connection:
        [(table,)] = connection.execute("SELECT to_regclass('kept')").fetchall()
        return mark_in(connection.execute(FIND_MARK.encode()).fetchall() if table is not None else [])


def prepare(named: dict[str, Any], migrations: Sequence[Migration]) -> bool:
    """Check the server, run the missing migrations in one transaction; return whether a pooler stands in between.

    `named` are the parameters of the connection.

    Raises:
        ConfigError: something is missing that somebody has to give; the advice names the command.
        SchemaTooNew, SchemaTooOld: it was written by a program with whose schema this one cannot work.
        StorageError: the server cannot be reached, or refused a migration; nothing was changed.
    """
    with translated(), connected(named) as connection:
        _check_server(connection)
        _check_path(connection)
        for name, oldest in _EXTENSIONS.items():
            _add_extension(connection, name, oldest)
        _migrate(connection, migrations)
        # A pooler gives out a cancel key of its own, with a number that is no backend's.
        [(backend,)] = connection.execute("SELECT pg_backend_pid()").fetchall()
        return bool(connection.info.backend_pid != backend)


def schema_version(connection: psycopg.Connection, migrations: Sequence[Migration]) -> int:
    """Return the schema version of a database that these migrations lead on from; 0 if it is empty.

    Raises:
        SchemaTooNew: a newer program wrote it, with which this one cannot work.
        SchemaTooOld: a program wrote it from whose version no migration leads here.
    """
    known = len(migrations)
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
        if version <= known and not migrations[version - 1].statements:  # before the baseline
            raise SchemaTooOld(version, program)
        return int(version)
    return 0


def _migrate(connection: psycopg.Connection, migrations: Sequence[Migration]) -> None:
    if _version(connection, migrations) >= len(migrations):
        return
    try:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            version = schema_version(connection, migrations)  # another process may have been faster
            connection.execute(_HISTORY)
            for number, migration in enumerate(migrations[version:], version + 1):
                if not migration.statements:  # before the baseline
                    continue
                for statement in migration.statements:
                    connection.execute(statement.encode())
                connection.execute(
                    "INSERT INTO schema_history (version, oldest, program) VALUES (%s, %s, %s)",
                    (number, migration.oldest or number, program_version()),
                )
    except errors.InsufficientPrivilege as error:
        raise ConfigError(SETTING, _right_to_make(connection)) from error


def _version(connection: psycopg.Connection, migrations: Sequence[Migration]) -> int:
    try:
        return schema_version(connection, migrations)
    except errors.InsufficientPrivilege as error:
        raise ConfigError(SETTING, _right_to_make(connection)) from error


def _right_to_make(connection: psycopg.Connection) -> str:
    """Return the command that gives the user what it needs: to be as the owner of the tables, or to make them."""
    owner = connection.execute("SELECT tableowner FROM pg_tables WHERE tablename = 'schema_history'").fetchone()
    if owner is not None and owner[0] != connection.info.user:
        return f'the tables belong to another user; as a superuser run: GRANT "{owner[0]}" TO {_user(connection)};'
    return f"its user may not make tables; as a superuser, in its database, run: {_grant(connection)}"


def _grant(connection: psycopg.Connection) -> str:
    return f"GRANT CREATE ON SCHEMA public TO {_user(connection)};"


def _check_server(connection: psycopg.Connection) -> None:
    if connection.info.server_version < _OLDEST_SERVER * 10_000:
        found = connection.info.server_version // 10_000
        raise ConfigError(SETTING, f"the server is PostgreSQL {found}; {_OLDEST_SERVER} or newer is needed")
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise ConfigError(SETTING, f"the database has the encoding {encoding}; make one by: {_MADE}")
    [(is_lower,)] = connection.execute("SELECT lower('ÇÃO') = 'ção'").fetchall()
    if not is_lower:
        raise ConfigError(SETTING, f"the locale of the database knows no letters but A to Z; make one by: {_MADE}")
    [(is_standby,)] = connection.execute("SELECT current_setting('transaction_read_only')::boolean").fetchall()
    if is_standby:
        raise errors.ReadOnlySqlTransaction


def _check_path(connection: psycopg.Connection) -> None:
    """Return if the user looks into a schema for its tables, and into those of the extensions."""
    [(here,)] = connection.execute("SELECT quote_ident(current_schema())").fetchall()
    set_path = f"ALTER ROLE {_user(connection)} SET search_path = "
    if here is None:
        raise ConfigError(SETTING, f'its search_path names no schema that is there; run: {set_path}"$user", public;')
    elsewhere = connection.execute(
        "SELECT extname, quote_ident(nspname) FROM pg_extension JOIN pg_namespace AS n ON n.oid = extnamespace "
        "WHERE extname = ANY(%s) AND NOT nspname = ANY(current_schemas(true))",
        (list(_EXTENSIONS),),
    )
    for name, schema in elsewhere.fetchall():
        command = f"{set_path}{here}, {schema};"
        raise ConfigError(
            SETTING, f"the extension {name} is in the schema {schema}, where its user does not look; run: {command}"
        )


def _add_extension(connection: psycopg.Connection, name: LiteralString, oldest: tuple[int, int]) -> None:
    if _extension(connection, name, oldest):
        return
    try:
        connection.execute(f"CREATE EXTENSION IF NOT EXISTS {name}")
    except errors.InsufficientPrivilege as error:
        advice = f"as a superuser, in the database {connection.info.dbname}, run: CREATE EXTENSION {name};"
        raise ConfigError(SETTING, advice) from error
    except errors.UniqueViolation:  # another process made it at the same moment
        pass


def _extension(connection: psycopg.Connection, name: str, oldest: tuple[int, int]) -> str:
    """Return the version of an extension in this database; "" if the server has it, and this database does not yet."""
    found = connection.execute(
        "SELECT default_version, coalesce(installed_version, '') FROM pg_available_extensions WHERE name = %s", (name,)
    ).fetchall()
    if not found:
        major = connection.info.server_version // 10_000
        advice = f"install the extension {name} on the database server (Debian: apt install {_PACKAGES[name]})"
        raise ConfigError(SETTING, advice.format(major))
    [(offered, installed)] = found
    if tuple(map(int, (installed or offered).split(".")[:2])) < oldest:
        advice = f"the extension {name} {installed or offered} is too old; update it on the server, then run: "
        raise ConfigError(SETTING, f"{advice}ALTER EXTENSION {name} UPDATE;")
    return str(installed)


def _user(connection: psycopg.Connection) -> str:
    return f'"{connection.info.user}"'
