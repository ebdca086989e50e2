"""Parameters of a connection to PostgreSQL: what a URL says, and limits of time on both ends.

By default libpq waits for minutes for a host that answers nothing, and a server keeps the locks of a worker whose
machine is gone for two hours.
"""

from __future__ import annotations

import os
import socket
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from core.errors import ConfigError

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
