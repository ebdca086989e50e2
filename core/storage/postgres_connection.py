"""Connections to PostgreSQL: what a URL says, limits of time on both ends, and its errors as ours.

By default libpq waits for minutes for a host that answers nothing, and a server keeps the locks of a worker whose
machine is gone for two hours.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import PoolTimeout

from core.errors import ConfigError, Damaged, DiskFull, StorageDown, StorageError

SETTING: Final = "STORAGE_URL"

STATEMENT_S: Final = 30
"""The server ends a statement that takes longer."""

IDLE_S: Final = 5
"""For so long a process that stands still in the middle of a transaction keeps others waiting; as long as a lease."""

_CONNECT_S: Final = 5
_KEEPALIVE_S: Final = 5
_PROBES: Final = 2
_UNACKNOWLEDGED_S: Final = 10

_OURS: Final[dict[str, Any]] = {
    "connect_timeout": _CONNECT_S,
    "keepalives_idle": _KEEPALIVE_S,
    "keepalives_interval": _KEEPALIVE_S,
    "keepalives_count": _PROBES,
    "tcp_user_timeout": _UNACKNOWLEDGED_S * 1000,
}

_SESSION: Final = {
    "statement_timeout": f"{STATEMENT_S}s",
    # Between statements a job does not wait: whoever holds a transaction for longer is gone.
    "idle_in_transaction_session_timeout": f"{IDLE_S}s",
}

_DIRECT_SESSION: Final = _SESSION | {
    "tcp_keepalives_idle": f"{_KEEPALIVE_S}s",
    "tcp_keepalives_interval": f"{_KEEPALIVE_S}s",
    "tcp_keepalives_count": str(_PROBES),
    "tcp_user_timeout": f"{_UNACKNOWLEDGED_S}s",
    "client_connection_check_interval": "5s",
}

SET_LOCAL: Final = "SELECT " + ", ".join(f"set_config('{name}', '{value}', true)" for name, value in _SESSION.items())
"""Follows BEGIN behind a pooler in transaction mode, where what is set for a session would reach others."""


def parameters(url: str) -> dict[str, Any]:
    """Return the parameters of a connection; what the URL says counts before ours.

    Of several hosts it takes the one that can be written to.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        named: dict[str, Any] = {**conninfo_to_dict(url)}
    except psycopg.ProgrammingError as error:
        raise ConfigError(SETTING, "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE") from error
    if "," in str(named.get("host") or named.get("hostaddr") or ""):
        named = {"target_session_attrs": "read-write", **named}
    return _OURS | {"application_name": "elefante"} | named


def with_session(named: dict[str, Any]) -> dict[str, Any]:
    """Return parameters that set timeouts for the session, too; a pooler would refuse them."""
    ours = " ".join(f"-c {name}={value}" for name, value in _DIRECT_SESSION.items())
    return named | {"options": f"{ours} {named.get('options') or ''}".strip()}


def break_off(connection: psycopg.Connection) -> None:
    """End a connection that another thread waits for: its statement fails there as if the server had closed it."""
    with socket.socket(fileno=os.dup(connection.fileno())) as shared:
        shared.shutdown(socket.SHUT_RDWR)


# --- errors -----------------------------------------------------------------------------------------------------------

_ADVICE: Final[dict[type[psycopg.Error], str]] = {
    errors.InsufficientPrivilege: "grant its user the rights to the tables of this database",
    errors.UndefinedTable: "run `elefante migrate`",
    errors.UndefinedColumn: "run `elefante migrate`",
    errors.QueryCanceled: "a statement took too long; see what holds the server up",
}
"""What the owner can do."""

_STANDBY: Final = (
    "STORAGE_URL leads to a standby: name the primary, or all servers as HOST:PORT,HOST:PORT, "
    "and the primary among them is taken"
)

_AGAIN: Final = (errors.SerializationFailure, errors.DeadlockDetected)
_LOST_CLASSES: Final = ("08", "57P")
_LOST: Final = ("25006", "25P03", "53300")  # read only; idle in a transaction; too many connections
"""SQLSTATE of a server that is away for now. Errors of libpq itself have none."""

_BY_FILE: Final = (
    "the server's certificate cannot be checked, or is out of date; name the file of your provider's authority, or of "
    "all public ones: sslrootcert=FILE at the end of the URL (sslrootcert=system finds none)"
)

# Failures before the login have no code (psycopg 3.3); their text is the server's, in English only if it speaks that.
_REFUSALS: Final[tuple[tuple[type[psycopg.Error] | tuple[()], str, str], ...]] = (
    ((), "root certificate file", _BY_FILE),
    ((), "certificate verify failed", _BY_FILE),
    ((), "does not match host name", "the server's certificate is for another name; write that one in the URL"),
    ((), "server does not support SSL", "the server has no encryption; set it up there, or leave out sslmode"),
    ((), "SSL required", "the server takes encrypted connections only; write sslmode=verify-full, or sslmode=require"),
    ((), "weak sslmode", "sslrootcert=system goes with sslmode=verify-full alone"),
    ((), "invalid sslmode", "sslmode is verify-full, verify-ca, require, prefer, allow or disable"),
    (errors.InvalidPassword, "password authentication failed", "the user or the password is wrong"),
    (errors.InvalidPassword, "no password supplied", "there is no password"),
    (
        errors.InvalidAuthorizationSpecification,
        "no pg_hba.conf entry",
        "the server does not let this user in from here, or only encrypted (?sslmode=require); see its pg_hba.conf",
    ),
    (
        errors.InvalidCatalogName,
        "does not exist",
        "there is no such user or database; make it by: CREATE DATABASE elefante;",
    ),
)
_ABSENCES: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (
        ("too many clients", "remaining connection slots", "no more connections allowed", "too many connections"),
        "it has no connection left: raise max_connections there, lower STORAGE_POOL, or put PgBouncer in front",
    ),
    (("session is read-only", "in a read-only transaction"), _STANDBY),
    (("the database system is", "terminating connection due to admin"), "it is starting or stopping"),
    (
        ("server closed the connection", "Connection reset", "Broken pipe", "SSL connection has been closed"),
        "it closed the connection: it is stopping, or a program in between ended it",
    ),
    (("timeout expired",), "it does not answer"),
    (("Connection refused", "No such file or directory"), "nothing listens at its address"),
    (("translate host name", "resolve"), "its name is not known"),
)


class CommitUnknown(psycopg.OperationalError):
    """The connection broke after COMMIT was sent: whether it was done is not known."""


def is_repeatable(error: psycopg.Error) -> bool:
    """Return whether a job that ended so changed nothing, and may do better if it is run again."""
    return isinstance(error, _AGAIN)


def is_away(error: psycopg.Error, connection: psycopg.Connection) -> bool:
    """Return whether a job that ended so changed nothing, and another connection may do better: now or in a while."""
    if isinstance(error, CommitUnknown):
        return False
    return connection.closed or isinstance(error, errors.ReadOnlySqlTransaction)


def is_lost(error: psycopg.Error) -> bool:
    """Return whether the connection ended with it, which itself may not know that yet."""
    return error.sqlstate is None or error.sqlstate.startswith(_LOST_CLASSES)


def refusal(error: BaseException) -> str:
    """Return what the owner has to correct so that the server lets us in; "" if it may only be away for now."""
    for kind, words, advice in _REFUSALS:
        if isinstance(error, kind) or words in str(error):
            return advice
    return ""


def reason(error: BaseException) -> str:
    """Return why there is no connection to the server, for the owner; nothing that anybody wrote is in it."""
    if advice := refusal(error):
        return advice
    said = str(error)
    unknown = f"the connection failed, and the server's log says why ({type(error).__name__})"
    return next((why for words, why in _ABSENCES if any(each in said for each in words)), unknown)


@contextmanager
def translated() -> Iterator[None]:
    """Turn PostgreSQL's errors into ours; they carry its name of the error and nothing that anybody wrote.

    Raises:
        DiskFull: the server has no room.
        Damaged: a table or an index is broken.
        StorageDown: the server cannot be reached now, or refuses connections.
        StorageError: anything else.
    """
    try:
        yield
    except psycopg.Error as error:
        raise _ours(error) from error


def _ours(error: psycopg.Error) -> StorageError:
    name = type(error).__name__
    if isinstance(error, errors.DiskFull):
        return DiskFull(f"the disk of the database server is full ({name}): make room there")
    if isinstance(error, (errors.DataCorrupted, errors.IndexCorrupted)):
        return Damaged(f"the database cannot be read ({name}): restore a backup of it")
    if isinstance(error, CommitUnknown):
        return StorageDown("the connection to the database broke: whether the last change was stored is not known")
    if is_repeatable(error):
        return StorageError(f"others changed the same at the same moment ({name}), again and again: try again later")
    if _is_down(error):
        why = str(error) if isinstance(error, PoolTimeout) else reason(error)
        return StorageDown(f"the database cannot be reached ({why}): it is tried again")
    advice = next((advice for kind, advice in _ADVICE.items() if isinstance(error, kind)), "")
    return StorageError(f"the database refused ({name})" + (f": {advice}" if advice else ""))


def _is_down(error: psycopg.Error) -> bool:
    if error.sqlstate is None:
        return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    return error.sqlstate.startswith(_LOST_CLASSES) or error.sqlstate in _LOST
