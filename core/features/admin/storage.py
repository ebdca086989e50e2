"""What owners decided, in the database: the values that hold now, and a record of each change."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from core.features.access.people import DENIED
from core.features.access.storage import deny, lock_roles
from core.features.admin.decisions import (
    ALL_MODES,
    DEEDS,
    OF_PEOPLE,
    Applied,
    Decision,
    DecisionKind,
    Decisions,
    by_mode,
    of_modes,
)
from core.storage.database import Database, Query, Row
from core.storage.record import OF_USER, microseconds, moment, user_key
from core.types import Role, UserKey


class SqlDecisions(Decisions):
    """Roles are rows of `people`, every other value one of `decided`; each change is recorded in `decisions`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def refresh(self) -> tuple[int, int]:
        """Return the number of the newest decision, and how many values hold that go without one: see `forget`."""
        [(newest, of_people)] = await self._database.rows(_SEEN, OF_PEOPLE)
        return int(newest), int(of_people)

    async def value(self, matter: DecisionKind, name: str = "") -> str:
        """Return what is decided of that matter and name, "" if nothing."""
        return _read(matter, name, await self._database.rows(*_value(matter, name)))

    async def values(self, matter: DecisionKind) -> Mapping[str, str]:
        """Return everything that is decided of that matter, by name."""
        if matter is DecisionKind.ROLE:
            return dict(await self._database.rows(_STANDINGS, (DENIED,)))
        return dict(
            await self._database.rows("SELECT name, value FROM decided WHERE matter = ? ORDER BY name", (matter,))
        )

    async def apply(self, decision: Decision) -> Applied:
        """Change the value and record that, if the value is `before`, and no platform loses its last owner."""

        def job(query: Query) -> Applied:
            # One after another: whoever knows the newest decision knows all before it.
            query.lock("decisions")
            if decision.matter is DecisionKind.ROLE:
                lock_roles(query, decision.name.partition(":")[0])
            rows = query.run(*_value(decision.matter, decision.name))
            if _read(decision.matter, decision.name, rows) != decision.before:
                return Applied.STALE
            if decision.matter is DecisionKind.ROLE:
                if not _keeps_an_owner(query, decision):
                    return Applied.LAST_OWNER
                _set_role(query, decision)
            elif _is_of_all_modes(decision.matter, decision.name):
                query.run("DELETE FROM decided WHERE matter = ?", (DecisionKind.MODEL,))
                for mode, model in by_mode(decision.after).items():
                    _set(query, replace(decision, name=mode, after=model))
            else:
                _set(query, decision)
            by = user_key(decision.by) if decision.by else ("", "")
            values = (decision.matter, decision.name, decision.before, decision.after, decision.undoes)
            query.run(
                f"INSERT INTO decisions ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (microseconds(decision.at), *by, *values),
            )
            return Applied.DONE

        return await self._database.write(job)

    async def newest(self, limit: int, *, on: tuple[DecisionKind, str] | None = None) -> Sequence[Decision]:
        """Return the newest decisions, the newest first: all of them, or those on one matter and name."""
        only = "WHERE matter = ? AND name = ?" if on else ""
        rows = await self._database.rows(f"{_SELECT} {only} ORDER BY id DESC LIMIT ?", (*(on or ()), limit))
        return [_decision(row) for row in rows]

    async def undoable(self) -> Decision | None:
        """Return the newest decision that takes nothing back and was not taken back, of what can be."""
        rows = await self._database.rows(
            f"""
            {_SELECT} WHERE undoes = 0 AND matter NOT IN ({_DEEDS}) AND id NOT IN (SELECT undoes FROM decisions)
            ORDER BY id DESC LIMIT 1
            """,
            DEEDS,
        )
        return _decision(rows[0]) if rows else None

    async def forget(self, user: UserKey) -> None:
        """Remove that person's name from every record, and what was decided for them; a role stays."""
        about = (*OF_PEOPLE, str(user))

        def job(query: Query) -> None:
            query.lock("decisions")
            query.run(f"""UPDATE decisions SET platform = '', "user" = '' WHERE {OF_USER}""", user_key(user))
            query.run(f"UPDATE decisions SET name = '' WHERE matter IN ({_MATTERS}) AND name = ?", about)
            query.run(f"DELETE FROM decided WHERE matter IN ({_MATTERS}) AND name = ?", about)

        await self._database.write(job)


_MATTERS = ", ".join("?" for _ in OF_PEOPLE)
_SEEN = f"""
SELECT (SELECT coalesce(max(id), 0) FROM decisions), (SELECT count(*) FROM decided WHERE matter IN ({_MATTERS}))
"""
_DEEDS = ", ".join("?" for _ in DEEDS)
_STANDINGS = """
SELECT platform || ':' || "user", standing FROM people
UNION ALL SELECT platform || ':' || "user", ? FROM strangers WHERE denied = 1 ORDER BY 1
"""
_COLUMNS = 'at, platform, "user", matter, name, before, after, undoes'
_SELECT = f"SELECT {_COLUMNS}, id FROM decisions"


_STANDING = f"""
SELECT standing FROM people WHERE {OF_USER}
UNION ALL SELECT ? FROM strangers WHERE {OF_USER} AND denied = 1
"""


def _value(matter: DecisionKind, name: str) -> tuple[str, tuple[str, ...]]:
    """Return the query for a value, and its parameters."""
    if matter is DecisionKind.ROLE:
        platform, _, user = name.partition(":")
        return _STANDING, (platform, user, DENIED, platform, user)
    if _is_of_all_modes(matter, name):
        return "SELECT name, value FROM decided WHERE matter = ?", (matter,)
    return "SELECT value FROM decided WHERE matter = ? AND name = ?", (matter, name)


def _read(matter: DecisionKind, name: str, rows: Sequence[Row]) -> str:
    """Return the value that the query for it found."""
    if _is_of_all_modes(matter, name):
        return of_modes(dict(rows))
    return str(rows[0][0]) if rows else ""


def _is_of_all_modes(matter: DecisionKind, name: str) -> bool:
    return matter is DecisionKind.MODEL and name == ALL_MODES


def _keeps_an_owner(query: Query, decision: Decision) -> bool:
    if decision.before != Role.OWNER or decision.after == Role.OWNER:
        return True
    platform, _, user = decision.name.partition(":")
    others = 'SELECT 1 FROM people WHERE platform = ? AND "user" != ? AND standing = ? LIMIT 1'
    return bool(query.run(others, (platform, user, Role.OWNER)))


def _set_role(query: Query, decision: Decision) -> None:
    platform, _, user = decision.name.partition(":")
    if decision.after == DENIED:
        deny(query, UserKey(platform, user), decision.at)
        return
    if decision.after:
        _give_role(query, platform, user, decision)
    else:
        query.run(f"DELETE FROM people WHERE {OF_USER}", (platform, user))
    query.run(f"DELETE FROM strangers WHERE {OF_USER}", (platform, user))


def _give_role(query: Query, platform: str, user: str, decision: Decision) -> None:
    query.run(
        f"""
        INSERT INTO people (platform, "user", standing, name, since)
        VALUES (?, ?, ?, coalesce((SELECT name FROM strangers WHERE {OF_USER}), ''), ?)
        ON CONFLICT (platform, "user") DO UPDATE SET standing = excluded.standing
        """,
        (platform, user, decision.after, platform, user, microseconds(decision.at)),
    )


def _set(query: Query, decision: Decision) -> None:
    key = (decision.matter, decision.name)
    query.run("DELETE FROM decided WHERE matter = ? AND name = ?", key)
    if decision.after:
        query.run("INSERT INTO decided (matter, name, value) VALUES (?, ?, ?)", (*key, decision.after))


def _decision(row: Row) -> Decision:
    at, platform, user, matter, name, before, after, undoes, number = row
    by = UserKey(platform, user) if user else None
    return Decision(moment(at), by, DecisionKind(matter), name, before, after, undoes, number)
