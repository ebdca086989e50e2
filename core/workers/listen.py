"""Hear what other workers tell by NOTIFY, on a connection of its own that no pooler stands in."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

import psycopg

from core.ports import Clock
from core.storage.postgres_connection import parameters
from core.workers.store import CHANNEL, Listen

_AGAIN_S: Final = 1.0

_log = logging.getLogger(__name__)


def listening(url: str, clock: Clock) -> Listen:
    """Return what listens for a worker: it calls back with each chat that is told, until it is cancelled."""
    named = parameters(url)

    async def listen(worker: int, heard: Callable[[str], None]) -> None:
        is_away = False
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(**named, autocommit=True) as connection:
                    is_away = False
                    for channel in (CHANNEL, f"{CHANNEL}_{worker}"):
                        await connection.execute(f'LISTEN "{channel}"'.encode())
                    heard("")  # what was told before
                    async for notice in connection.notifies():
                        heard(notice.payload)
            except psycopg.Error as error:  # meanwhile it looks each second
                if not is_away:
                    _log.warning("nothing is heard of other workers", extra={"error": type(error).__name__})
                is_away = True
            await clock.sleep(_AGAIN_S)

    return listen
