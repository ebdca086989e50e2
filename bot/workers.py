"""This process among the workers of the bot: the only one over SQLite, one of several over PostgreSQL."""

from __future__ import annotations

import os
import socket
from contextlib import AsyncExitStack
from importlib import metadata

from bot.settings.settings import Settings
from core.ports import Clock
from core.storage.database import Database
from core.storage.inbox import ClaimChat, held_by_all
from core.workers import LEASE_S, OneWorker, Worker


def process_name() -> str:
    """Return HOST:PID of this process, by which people tell workers apart."""
    return f"{socket.gethostname()}:{os.getpid()}"


async def open_worker(
    settings: Settings, database: Database, clock: Clock, stack: AsyncExitStack
) -> tuple[OneWorker | Worker, ClaimChat]:
    """Return the worker, and what claims the chats of accepted messages for it.

    Raises:
        ConfigError: STORAGE_DIRECT_URL leads to no database that can be used.
        StorageError: the database cannot be reached.
    """
    if settings.engine != "postgres":
        return OneWorker(), held_by_all
    from core.storage.claims import SqlWorkers, claims_of  # these load psycopg
    from core.storage.postgres import open_postgres
    from core.storage.postgres_listen import listening

    direct = settings.storage_direct_url or settings.storage_url
    beats = await open_postgres(direct.get_secret_value(), pool=1, wait_s=LEASE_S)
    stack.push_async_callback(beats.close)
    worker = Worker(
        SqlWorkers(database, beats),
        clock,
        program=f"{metadata.version('elefante')} {process_name()}",
        listen=None if beats.is_pooled else listening(direct.get_secret_value(), clock),
    )
    return worker, claims_of(worker.wants)
