"""This process among the workers of the bot: the only one over SQLite, one of several over PostgreSQL."""

from __future__ import annotations

import os
import socket
from contextlib import AsyncExitStack
from importlib import metadata
from typing import Final

from bot.settings.settings import Settings
from core.clock import SystemClock
from core.errors import ConfigError
from core.ports import Clock
from core.storage.database import Database
from core.storage.inbox import ClaimChat, held_by_all
from core.workers.port import Worker

_DIRECT: Final = "STORAGE_DIRECT_URL"
_WHICH: Final = """
SELECT oid::bigint, pg_postmaster_start_time()::text FROM pg_database WHERE datname = current_database()
"""
"""Differs between any two databases, also if one is a copy of the other."""


def process_name() -> str:
    """Return HOST:PID of this process, by which people tell workers apart."""
    return f"{socket.gethostname()}:{os.getpid()}"


async def open_worker(
    settings: Settings, database: Database, clock: Clock, stack: AsyncExitStack
) -> tuple[Worker, ClaimChat]:
    """Return the worker, and what claims the chats of accepted messages for it.

    Raises:
        ConfigError: STORAGE_DIRECT_URL leads to another database, or to none that can be used.
        StorageError: the database cannot be reached.
    """
    if settings.engine != "postgres":
        return Worker(), held_by_all
    from core.storage.postgres import open_postgres  # what only one of several needs, psycopg among it
    from core.workers.cluster import LEASE_S, ClusterWorker
    from core.workers.store import SqlWorkers, claims_of, listening

    direct = settings.storage_direct_url or settings.storage_url
    try:
        beats = await open_postgres(
            direct.get_secret_value(), pool=1, wait_s=LEASE_S, stalled_s=LEASE_S, sealing=database.sealing
        )
    except ConfigError as error:
        raise ConfigError(_DIRECT if settings.storage_direct_url else error.setting, error.advice) from error
    stack.push_async_callback(beats.close)
    if settings.storage_direct_url and await beats.rows(_WHICH) != await database.rows(_WHICH):
        raise ConfigError(_DIRECT, "it leads to another database than STORAGE_URL: name the same, on the same server")
    worker = ClusterWorker(
        SqlWorkers(database, beats),
        clock,
        program=f"{metadata.version('elefante')} {process_name()}",
        set_clock=clock.set if isinstance(clock, SystemClock) else None,
        listen=None if beats.is_pooled else listening(direct.get_secret_value(), clock),
    )
    return worker, claims_of(worker.wants)
