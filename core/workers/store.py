"""Workers and their claims, in PostgreSQL: which worker lives, who has claimed what, and what one tells the others.

A claim is held as long as its row is there; it goes with the row of its worker. No two have the same epoch, by which
`PostgresDatabase.write` fences what is written under it.
"""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeAlias

import psycopg

from core.ports import Clock
from core.storage.database import Database, Query, Statement
from core.storage.inbox import ClaimChat, held_by_all
from core.storage.postgres_connection import parameters
from core.storage.record import OF_USER, moment, to_json, user_key
from core.stores import Accepted
from core.types import ChatKey, UserKey, room_name
from core.workers.port import Colleague

CHANNEL: Final = "elefante"
"""The channel of notices to all workers; one worker's own channel has its number appended."""

_NOW: Final = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
CHAT: Final = "chat:"
"""What the names of claims to chats begin with."""

_OF_CHAT: Final = f"'{CHAT}' || inbox.platform || ':' || inbox.chat"

# The lock on the worker's row makes sure that it is there until the claim is: else the claim would be refused.
_TAKE: Final = """
INSERT INTO claims (name, worker) SELECT names.value, workers.id FROM texts(?) AS names, workers WHERE workers.id = ?
FOR KEY SHARE OF workers ON CONFLICT (name) DO NOTHING
"""
_TAKE_BESIDE: Final = """
INSERT INTO claims (name, worker) SELECT ?, id FROM workers WHERE id = ? AND EXISTS (SELECT 1 FROM added)
FOR KEY SHARE OF workers ON CONFLICT (name) DO NOTHING
"""
_FREE: Final = f"""
SELECT json_list(name) FROM (
    SELECT {_OF_CHAT} AS name FROM inbox WHERE payload IS NOT NULL AND platform IN (SELECT value FROM texts(?))
    AND NOT EXISTS (SELECT 1 FROM claims WHERE claims.name = {_OF_CHAT})
    GROUP BY inbox.platform, inbox.chat ORDER BY min(id) LIMIT ?
) AS free
"""
_MINE: Final = f"""
SELECT claims.name, claims.epoch, inbox.platform, inbox.chat, inbox.topic, inbox.message_id
FROM claims LEFT JOIN inbox ON inbox.payload IS NOT NULL AND claims.name = {_OF_CHAT}
WHERE claims.worker = ? AND claims.name LIKE '{CHAT}%'
"""
_AT_ONCE: Final = "set_config('synchronous_commit', 'off', true)"
_DUTIES: Final = f"SELECT worker, name FROM claims WHERE name NOT LIKE '{CHAT}%' ORDER BY name"
_OWED: Final = "(SELECT count(*) FROM inbox WHERE platform = ? AND chat = ? AND payload IS NOT NULL)"
_END_OTHERS: Final = f"""
DELETE FROM claims WHERE worker != ? AND name IN (SELECT {_OF_CHAT} FROM inbox WHERE payload IS NOT NULL AND {OF_USER})
"""
_DROP_OWED: Final = f"""
DELETE FROM inbox WHERE payload IS NOT NULL
AND NOT EXISTS (SELECT 1 FROM claims WHERE claims.name = {_OF_CHAT} AND claims.worker = ?) AND {OF_USER}
"""


Shares: TypeAlias = Mapping[str, float]
"""How much of each limit is a worker's, or was used by it."""

Owed: TypeAlias = Mapping[str, tuple[int, AbstractSet[tuple[ChatKey, str]]]]
"""Chats by name, each with the epoch of its claim and the messages owed there."""

Listen: TypeAlias = Callable[[int, Callable[[str], None]], Coroutine[None, None, None]]
"""Call back with each chat that a worker is told of ("": any), until cancelled."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A worker, as the others see it: how many chats it answers, what it used of limits lately, and its shares."""

    id: int
    chats: int = 0
    used: Shares = field(default_factory=dict)
    shares: Shares = field(default_factory=dict)


ShareOut: TypeAlias = Callable[[Sequence[Peer]], Shares]
"""Given all workers, return the shares of one."""


class SqlWorkers:
    """Rows of `workers` and `claims`. Signs of life go over a connection of their own, where no job is in their way.

    The database's clock decides how long a worker was not heard of. Every method raises StorageError if the database
    cannot be used.
    """

    def __init__(self, database: Database, beats: Database | None = None) -> None:
        self._database = database
        self._beats = beats or database

    async def now(self) -> datetime:
        """Return the time on the database's clock."""
        [(now_us,)] = await self._beats.rows(f"SELECT {_NOW}")
        return moment(now_us)

    async def join(self, program: str, former: int = 0) -> int:
        """Add a worker, and return its number; remove the row of that process's former one."""

        def job(query: Query) -> int:
            query.run("DELETE FROM workers WHERE id = ?", (former,))
            added = f"INSERT INTO workers (started, beat, program) VALUES ({_NOW}, {_NOW}, ?) RETURNING id"
            [(worker,)] = query.run(added, (program,))
            return int(worker)

        return await self._database.write(job)

    async def beat(self, worker: int, chats: int, used: Shares, share_out: ShareOut) -> Sequence[Peer] | None:
        """Keep a worker alive, and set its shares unless another does so; return all workers, None if it is dead."""

        def job(query: Query) -> Sequence[Peer] | None:
            alive = f"UPDATE workers SET beat = {_NOW}, chats = ?, used = ? WHERE id = ? RETURNING id"
            if not query.run(alive, (chats, to_json(dict(used)), worker)):
                return None
            # Who stands still while it shares out would be waited for by all others, until they were dead, too.
            [(is_ours,)] = query.run("SELECT pg_try_advisory_xact_lock(hashtextextended('shares', 0))")
            peers = [
                Peer(each, busy, json.loads(lately), json.loads(shares))
                for each, busy, lately, shares in query.run("SELECT id, chats, used, shares FROM workers ORDER BY id")
            ]
            if not used or not is_ours:
                return peers
            shares = share_out(peers)
            query.run("UPDATE workers SET shares = ? WHERE id = ?", (to_json(dict(shares)), worker))
            return [Peer(peer.id, peer.chats, peer.used, shares) if peer.id == worker else peer for peer in peers]

        return await self._beats.write(job)

    async def bury(self, lease_s: float) -> int:
        """Delete the workers that did not renew their rows for so long, with their claims; return how many."""
        dead = f"SELECT id FROM workers WHERE beat < {_NOW} - ?"
        lease_us = int(lease_s * 1_000_000)
        if not await self._database.rows(dead, (lease_us,)):
            return 0

        def job(query: Query) -> int:
            # One that another worker is about to bury, or that is about to claim something, is left for the next time.
            bury = f"DELETE FROM workers WHERE id IN ({dead} FOR UPDATE SKIP LOCKED) RETURNING id"
            if buried := len(query.run(bury, (lease_us,))):
                query.run("SELECT pg_notify(?, '')", (CHANNEL,))
            return buried

        return await self._database.write(job)

    async def leave(self, worker: int) -> None:
        """Remove a worker with its claims."""

        def job(query: Query) -> None:
            query.run("DELETE FROM workers WHERE id = ?", (worker,))
            query.run("SELECT pg_notify(?, '')", (CHANNEL,))

        await self._database.write(job)

    async def present(self, lease_s: float) -> Sequence[Colleague]:
        """Return the workers that were heard of for so long, the oldest first; duties are claims that are no chats."""

        def job(query: Query) -> Sequence[Colleague]:
            duties: dict[int, list[str]] = {}
            for worker, name in query.run(_DUTIES):
                duties.setdefault(worker, []).append(name)
            found = []
            for worker, started, program, chats in query.run(
                f"SELECT id, started, program, chats FROM workers WHERE beat >= {_NOW} - ? ORDER BY started, id",
                (int(lease_s * 1_000_000),),
            ):
                version, _, process = program.partition(" ")
                found.append(Colleague(moment(started), version, process, chats, tuple(duties.get(worker, ()))))
            return found

        return await self._database.read(job)

    async def take(self, worker: int, name: str) -> int:
        """Claim that name, if it is free, for a worker that lives; return the epoch of its claim, 0 if it has none."""

        def job(query: Query) -> int:
            _take(query, worker, [name])
            mine = query.run("SELECT epoch FROM claims WHERE worker = ? AND name = ?", (worker, name))
            return int(mine[0][0]) if mine else 0

        return await self._database.write(job)

    async def end(self, epochs: Collection[int]) -> None:
        """End claims."""
        ended = "DELETE FROM claims WHERE epoch IN (SELECT value FROM numbers(?))"
        await self._database.write(lambda query: query.run(ended, (to_json(list(epochs)),)))

    async def end_others(self, worker: int, users: Collection[UserKey]) -> None:
        """End other workers' claims to chats in which these people are owed an answer, and drop what they are owed."""

        def job(query: Query) -> None:
            for user in users:
                query.run(_END_OTHERS, (worker, *user_key(user)))
                query.run(_DROP_OWED, (worker, *user_key(user)))

        await self._database.write(job)

    async def owed(self, worker: int, platforms: Collection[str], room: int) -> Owed:
        """Claim up to `room` chats in which something is owed, the longest first; return all claimed by the worker."""

        def job(query: Query) -> Owed:
            if room and platforms:
                [(free,)] = query.run(_FREE, (to_json(list(platforms)), room))
                _take(query, worker, json.loads(free))
            owed: dict[str, tuple[int, set[tuple[ChatKey, str]]]] = {}
            for name, epoch, *message in query.run(_MINE, (worker,)):
                _, messages = owed.setdefault(name.removeprefix(CHAT), (epoch, set()))
                if message[0] is not None:
                    *chat, message_id = message
                    messages.add((ChatKey(*chat), message_id))
            return owed

        return await self._database.write(job)

    async def release(self, name: str, epoch: int) -> bool:
        """End the claim to a chat unless something is owed there; return whether it has ended."""
        _, platform, chat = name.split(":", 2)

        def job(query: Query) -> bool:
            query.lock("chat", platform, chat)
            ended = f"DELETE FROM claims WHERE epoch = ? AND {_OWED} = 0 RETURNING epoch"
            if query.run(ended, (epoch, platform, chat)):
                return True
            return not query.run("SELECT 1 FROM claims WHERE epoch = ?", (epoch,))

        return await self._database.write(job)

    async def wake(self, told: Collection[tuple[int, str]]) -> None:
        """Tell workers, or all (0), of chats; "": of any."""
        # In the transaction that accepts a message it would hold up all others that accept one.
        rows = [(f"{CHANNEL}_{worker}" if worker else CHANNEL, name) for worker, name in told]
        notify = f"SELECT {_AT_ONCE}, pg_notify(value ->> 0, value ->> 1) FROM tuples(?)"
        await self._database.rows(notify, (to_json([list(row) for row in rows]),))


def claims_of(wants: Callable[[str], tuple[int, int] | None]) -> ClaimChat:
    """Return what claims the chats of messages that are accepted, for a worker (`ClusterWorker.wants`)."""

    def claim_chat(query: Query, chat: ChatKey, message: Statement) -> Accepted | None:
        if (wanted := wants(chat.platform)) is None:
            return held_by_all(query, chat, message)
        (accept, values), (worker, room) = message, wanted
        name, here = CHAT + room_name(chat), (chat.platform, chat.chat)
        taken = query.run(
            f"""
            WITH added AS ({accept}), taken AS ({_TAKE_BESIDE} RETURNING epoch, worker)
            SELECT (SELECT count(*) FROM added), {_OWED}, epoch, worker FROM (SELECT 1) AS one LEFT JOIN taken ON true
            """,
            (*values, name, worker if room else 0, *here),
        )
        [(added, owed, epoch, holder)] = taken
        if not added:
            return None
        if epoch is None:
            found = query.run("SELECT epoch, worker FROM claims WHERE name = ?", (name,))
            epoch, holder = found[0] if found else (0, 0)
        return Accepted(holder, epoch, follows=bool(owed)) if holder else Accepted()

    return claim_chat


def _take(query: Query, worker: int, names: Sequence[str]) -> None:
    if names:
        query.run(_TAKE, (to_json(list(names)), worker))


# --- notices ----------------------------------------------------------------------------------------------------------

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
