"""PostgreSQL's errors as ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg import errors
from psycopg_pool import PoolTimeout

from core.errors import Damaged, DiskFull, StorageDown, StorageError

_ADVICE: Final[dict[type[psycopg.Error], str]] = {
    errors.InsufficientPrivilege: "grant it the right to the tables of this database",
    errors.ReadOnlySqlTransaction: "STORAGE_URL leads to a standby: name the primary",
    errors.UndefinedTable: "run `elefante migrate`",
    errors.UndefinedColumn: "run `elefante migrate`",
}
"""What the owner can do."""

_AGAIN: Final = (errors.SerializationFailure, errors.DeadlockDetected)
_DOWN: Final = (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout)


class CommitUnknown(psycopg.OperationalError):
    """The connection broke after COMMIT was sent: whether it was done is not known."""


def is_repeatable(error: psycopg.Error) -> bool:
    """Return whether a job that ended so changed nothing, and may do better if it is run again."""
    if isinstance(error, (CommitUnknown, PoolTimeout, errors.DiskFull, errors.QueryCanceled)):
        return False
    return isinstance(error, (*_AGAIN, *_DOWN))


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
        name = type(error).__name__
        if isinstance(error, errors.DiskFull):
            raise DiskFull(f"the disk of the database server is full ({name}): make room there") from error
        if isinstance(error, (errors.DataCorrupted, errors.IndexCorrupted)):
            raise Damaged(f"the database cannot be read ({name}): restore a backup of it") from error
        if isinstance(error, _DOWN):
            raise StorageDown(f"the database cannot be reached ({name}): it is tried again") from error
        advice = next((advice for kind, advice in _ADVICE.items() if isinstance(error, kind)), "")
        raise StorageError(f"the database refused ({name})" + (f": {advice}" if advice else "")) from error
