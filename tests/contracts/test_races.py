"""Many workers write at the same moment over one PostgreSQL: nothing is lost, doubled, or given to two."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import cycle, islice
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo

import pytest

from core.dialogue import Usage
from core.features.access.storage import Account, People, Person
from core.features.admin.storage import Applied, Decision, DecisionKind, Decisions
from core.features.broadcast.storage import Broadcasts
from core.features.ledger.calls import BOT, Asker, ModelCall, SpendingScope
from core.features.ledger.storage import Ledger
from core.features.links.storage import LinkCode, LinkCodes
from core.features.quotas.limits import QUOTA, Defaults, Limits, read
from core.features.quotas.quotas import Quotas
from core.features.reminders.reminders import DueClaim, Reminder, ReminderState, Schedule
from core.features.reminders.storage import ReminderStore
from core.storage.database import Database, Query, Row
from core.storage.history import SqlHistory
from core.storage.inbox import SqlInbox, SqlPendingInputs
from core.storage.memories import SqlMemories
from core.storage.postgres import PostgresQuery
from core.stores import ChangeContext
from core.threads import PendingInput, Summary, ThreadRecord
from core.types import (
    ChatKey,
    ConversationKey,
    Incoming,
    Locale,
    MemoryDraft,
    MemoryKind,
    Message,
    MessageRole,
    Role,
    ThreadStatus,
    UserKey,
)
from tests.contracts.engines import ENGINES
from tests.fakes.clock import START, FakeClock
from tests.fakes.memories import add, unchanged
from tests.profile import long

S = TypeVar("S")
T = TypeVar("T")
WORKERS, AT_ONCE = 3, 24
ANA, BIA, CARO = UserKey("telegram", "ana"), UserKey("telegram", "bia"), UserKey("discord", "caro")
HERE = ConversationKey(ChatKey("telegram", "c"), ANA)
_WAITING = """
    SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()
"""


@dataclass(frozen=True)
class Workers:
    """Databases of several workers over the same tables."""

    databases: Sequence[Database]

    async def race(self, act: Callable[[Database, int], Awaitable[T]], times: int = AT_ONCE) -> list[T]:
        """Do something many times at once, by turns in each worker's database; return what each came to."""
        those = islice(cycle(self.databases), times)
        return await asyncio.gather(*(act(database, number) for number, database in enumerate(those)))

    async def one_in_the_middle(
        self, after: str, first: Callable[[Database], Awaitable[S]], second: Callable[[Database], Awaitable[T]]
    ) -> tuple[S, T]:
        """Begin an act, hold it after its first statement with those words, and do another meanwhile, if it can be."""
        held, go_on, run = threading.Event(), threading.Event(), PostgresQuery.run

        def hold(query: PostgresQuery, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
            rows = run(query, sql, parameters)
            if after in sql and not held.is_set():
                held.set()
                go_on.wait()
            return rows

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PostgresQuery, "run", hold)
            one = asyncio.ensure_future(first(self.databases[0]))
            await asyncio.to_thread(held.wait)
            other = asyncio.ensure_future(second(self.databases[1]))
            while not other.done() and not await self.databases[2].rows(_WAITING):  # noqa: ASYNC110 - it tells only who asks
                await asyncio.sleep(0.01)
            go_on.set()
            return await one, await other


@pytest.fixture
async def workers(tmp_path: Path) -> AsyncIterator[Workers]:
    opened = [await ENGINES["postgres"](tmp_path / "elefante.db") for _ in range(WORKERS)]
    yield Workers(opened)
    for database in opened:
        await database.close()


def draft(text: str) -> MemoryDraft:
    return MemoryDraft(MemoryKind.TEXT, text, (f"key of {text}",))


def said(number: int, text: str = "oi") -> Message:
    return Message(
        MessageRole.USER, text, at=START + timedelta(seconds=number), turn=f"t{number}", source_id=f"{number}"
    )


async def test_each_message_of_a_thread_has_a_place_of_its_own(workers: Workers) -> None:
    thread = await SqlHistory(workers.databases[0]).open_thread(HERE, START)
    stored = await workers.race(lambda database, i: SqlHistory(database).append(thread.id, said(i % 20)), 60)
    assert sorted({message.sequence for message in stored}) == [*range(1, 21)]
    assert len({message.id for message in stored}) == 20, "a message that came three times was stored once"
    assert (await SqlHistory(workers.databases[0]).totals(thread.id))[0] == 20


async def test_a_conversation_has_one_active_thread(workers: Workers) -> None:
    opened = await workers.race(lambda database, _: SqlHistory(database).open_thread(HERE, START))
    assert len({thread.id for thread in opened}) == 1
    history = SqlHistory(workers.databases[0])
    record = ThreadRecord(replace(opened[0], conversation=replace(HERE, user=BIA)), (said(1),))
    restored = await workers.race(lambda database, _: SqlHistory(database).restore(record))
    assert len({thread.id for thread in restored}) == AT_ONCE
    assert [thread.status for thread in await history.threads(BIA)].count(ThreadStatus.ACTIVE) == 1
    await workers.race(
        lambda database, i: SqlHistory(database).mark(restored[i].id, ThreadStatus.ACTIVE, START + timedelta(seconds=i))
    )
    assert [thread.status for thread in await history.threads(BIA)].count(ThreadStatus.ACTIVE) == 1


async def test_summaries_follow_one_another(workers: Workers) -> None:
    thread = await SqlHistory(workers.databases[0]).open_thread(HERE, START)
    folded = await workers.race(
        lambda database, i: SqlHistory(database).fold(thread.id, Summary("s", through=i + 1, after=0, tokens=1))
    )
    assert folded.count(True) == len(await SqlHistory(workers.databases[0]).summaries(thread.id)) == 1


async def test_no_summary_follows_one_that_is_removed(workers: Workers) -> None:
    history = SqlHistory(workers.databases[0])
    thread = await history.open_thread(HERE, START)
    first = await history.append(thread.id, said(1))
    drops: list[Callable[[Database], Awaitable[None]]] = [
        lambda database: SqlHistory(database).drop_summaries(thread.id, 0),
        lambda database: SqlHistory(database).retract(HERE, [first.source_id]),
    ]
    for drop in drops:
        assert await history.fold(thread.id, Summary("a", through=1, after=0, tokens=1))
        await workers.one_in_the_middle(
            "max(through)",
            lambda database: SqlHistory(database).fold(thread.id, Summary("ab", through=2, after=1, tokens=1)),
            drop,
        )
        assert await history.summaries(thread.id) == []


async def test_a_message_and_its_edits_are_accepted_once_and_in_order(workers: Workers) -> None:
    inbox = SqlInbox(workers.databases[0])
    question = Incoming(chat=HERE.chat, user=ANA, message_id="0", user_name="Ana", text="oi", at=START)
    accepted = await workers.race(lambda database, _: SqlInbox(database).accept(question))
    assert len([each for each in accepted if each]) == 1
    edits = [replace(question, message_id=f"0.{i}", edits="0") for i in range(AT_ONCE)]
    assert all(await workers.race(lambda database, i: SqlInbox(database).accept(edits[i])))
    [last] = await inbox.owed("telegram")
    replaced = await workers.race(lambda database, _: SqlInbox(database).take_over(last))
    assert {len(each.message_ids) for each in replaced} <= {0, AT_ONCE}
    await inbox.close(last)
    late = replace(question, message_id="1", edits="0")

    async def seal(database: Database) -> list[Incoming]:
        await SqlInbox(database).seal(last)
        return list(await SqlInbox(database).owed("telegram"))

    _, owed = await workers.one_in_the_middle("FROM inbox", lambda database: SqlInbox(database).accept(late), seal)
    assert list(await inbox.owed("telegram")) == owed, "what is sealed changes no more"


async def test_who_knows_the_newest_decision_knows_all_before_it(workers: Workers) -> None:
    pause, quota = (Decision(START, None, kind, "", "", "v") for kind in (DecisionKind.PAUSE, QUOTA))

    async def newest(database: Database) -> int:
        decisions = Decisions(database)
        await decisions.apply(quota)
        return len(await decisions.newest(9))

    _, known = await workers.one_in_the_middle(
        "INSERT INTO decisions", lambda database: Decisions(database).apply(pause), newest
    )
    assert known == 2


async def test_what_is_being_brought_back_is_not_purged(workers: Workers) -> None:
    store = SqlMemories(workers.databases[0])
    [item] = await add(store, ANA, [draft("a")], at=START, context=ChangeContext("saved"))
    await store.delete(ANA, [item.id], at=START, context=ChangeContext("act"))
    await workers.one_in_the_middle(
        "FROM changes",
        lambda database: SqlMemories(database).undo(ANA, "act"),
        lambda database: SqlMemories(database).purge(START + timedelta(days=1)),
    )
    assert await store.get(ANA, [item.id]) == [item]
    assert len(await store.changes(ANA, memory_id=item.id)) == 2


async def test_the_first_owner_is_one_and_the_last_one_stays(workers: Workers) -> None:
    people, decisions = People(workers.databases[0]), Decisions(workers.databases[0])
    everybody = [UserKey("telegram", str(number)) for number in range(AT_ONCE)]
    claims = await workers.race(lambda database, i: People(database).claim(Person(everybody[i], Role.OWNER, "", START)))
    assert claims.count(True) == len(await people.all()) == 1
    for user in everybody:
        before = await decisions.value(DecisionKind.ROLE, str(user))
        await decisions.apply(Decision(START, None, DecisionKind.ROLE, str(user), before, "owner"))
    applied = await workers.race(
        lambda database, i: Decisions(database).apply(
            Decision(START, None, DecisionKind.ROLE, str(everybody[i]), "owner", "")
        )
    )
    assert (applied.count(Applied.DONE), applied.count(Applied.LAST_OWNER)) == (AT_ONCE - 1, 1)
    assert len(await people.all()) == 1


async def test_of_decisions_that_rest_on_the_same_value_one_is_made(workers: Workers) -> None:
    for kind, name in ((DecisionKind.PAUSE, ""), (DecisionKind.ROLE, "telegram:ana")):
        applied = await workers.race(
            lambda database, i, kind=kind, name=name: Decisions(database).apply(  # type: ignore[misc]
                Decision(START, None, kind, name, "", "member" if kind is DecisionKind.ROLE else f"v{i}")
            )
        )
        assert (applied.count(Applied.DONE), applied.count(Applied.STALE)) == (1, AT_ONCE - 1)
    assert len(await Decisions(workers.databases[0]).newest(9)) == 2


async def test_a_handle_is_one_accounts(workers: Workers) -> None:
    await workers.race(
        lambda database, i: People(database).put_account(Account(UserKey("telegram", str(i)), "Elena", "pt-BR"))
    )
    assert len(await People(workers.databases[0]).named("elena")) == 1


async def test_a_link_code_is_its_accounts_only_one_and_is_taken_once(workers: Workers) -> None:
    await workers.race(lambda database, i: LinkCodes(database).put(LinkCode(f"d{i}", ANA, "Ana", START)))
    rows = await workers.databases[0].rows("SELECT digest FROM link_codes")
    assert len(rows) == 1
    taken = await workers.race(lambda database, _: LinkCodes(database).take(rows[0][0]))
    assert taken.count(True) == 1
    codes = LinkCodes(workers.databases[0])
    await codes.put(LinkCode("d", ANA, "Ana", START))
    taken_while_asked, _ = await workers.one_in_the_middle(
        "link_codes",
        lambda database: LinkCodes(database).take("d"),
        lambda database: LinkCodes(database).ask("d", BIA, START),
    )
    assert taken_while_asked
    assert await codes.find("d") is None, "a code that was taken does not come back"


async def test_what_waits_for_an_answer_is_taken_once(workers: Workers) -> None:
    await workers.race(lambda database, i: SqlPendingInputs(database).put(HERE, PendingInput(f"/c{i}", START)))
    taken = await workers.race(lambda database, _: SqlPendingInputs(database).take(HERE))
    assert len([each for each in taken if each is not None]) == 1


async def test_what_two_workers_save_at_once_is_one_memory(workers: Workers) -> None:
    saved = await workers.race(
        lambda database, i: SqlMemories(database).save(ANA, [draft(f"{i % 3}")], at=START, merge=unchanged)
    )
    assert len({item.id for each in saved for item in each.items}) == 3
    assert sum(len(each.new) for each in saved) == 3
    assert await SqlMemories(workers.databases[0]).count(ANA) == 3
    [(version,)] = await workers.databases[0].rows("SELECT version FROM owners")
    assert version == AT_ONCE


async def test_an_account_is_linked_to_one_and_its_memories_come_along(workers: Workers) -> None:
    store = SqlMemories(workers.databases[0])
    pairs = [(ANA, BIA), (BIA, ANA), (CARO, ANA), (BIA, CARO)]

    async def link_or_save(database: Database, number: int) -> bool:
        if number % 3:
            owner = (ANA, BIA, CARO)[number % 5 % 3]
            await add(SqlMemories(database), owner, [draft(f"{number}")], at=START)
            return False
        with suppress(ValueError):
            await SqlMemories(database).link(*pairs[number // 3 % 4])
            return True
        return False

    assert (await workers.race(link_or_save, 36)).count(True) == 1
    assert sorted([len(await store.accounts(user)) for user in (ANA, BIA, CARO)]) == [1, 2, 2]
    await _is_sound(workers.databases[0])
    assert await workers.databases[0].rows("SELECT count(*) FROM memories") == [(24,)]


async def test_an_act_is_undone_once(workers: Workers) -> None:
    store = SqlMemories(workers.databases[0])
    [item] = await add(store, ANA, [draft("a")], at=START)
    await store.delete(ANA, [item.id], at=START, context=ChangeContext("act"))
    undone = await workers.race(lambda database, _: SqlMemories(database).undo(ANA, "act"))
    assert len([changes for changes in undone if changes]) == 1
    assert await store.get(ANA, [item.id]) == [item]


async def test_nobody_has_more_reminders_than_they_may(workers: Workers) -> None:
    reminder = Reminder(ANA, HERE.chat, "rent", Schedule(datetime(2026, 3, 14), "UTC"), START, START)  # noqa: DTZ001
    added = await workers.race(lambda database, _: ReminderStore(database).add(reminder, most=5))
    assert len([each for each in added if each]) == 5
    store = ReminderStore(workers.databases[0])
    [old, *_] = await store.of([ANA])

    async def change_or_claim(database: Database, number: int) -> Sequence[str]:
        if number % 2:
            return [each.id for each in await ReminderStore(database).claim(DueClaim(START, ["telegram"], limit=1))]
        return ["changed"] * await ReminderStore(database).replace(
            old, replace(old, text=f"{number}", state=ReminderState.DONE)
        )

    done = [each for found in await workers.race(change_or_claim) for each in found]
    assert len(done) == len(set(done)), "each was claimed once, and one of the changes made"
    assert len({"changed", old.id} & set(done)) == 1 or (await store.find([ANA], old.id)) is not None


async def test_one_broadcast_runs_at_a_time_and_a_person_has_one_draft(workers: Workers) -> None:
    store = Broadcasts(workers.databases[0])
    drafts = [await store.draft(UserKey("telegram", str(i)), Locale.EN, "hi", START) for i in range(AT_ONCE)]
    begun = await workers.race(lambda database, i: Broadcasts(database).begin(drafts[i].id, [ANA]))
    assert begun.count(True) == 1
    await workers.race(lambda database, _: Broadcasts(database).draft(ANA, Locale.EN, "hi", START))
    rows = await workers.databases[0].rows("""SELECT count(*) FROM broadcasts WHERE "user" = 'ana'""")
    assert rows == [(1,)]


async def test_every_call_is_counted_once_and_a_warning_is_given_once(workers: Workers) -> None:
    calls = [
        ModelCall(START, user, "chat", "finish", f"a:{model}", "end", 2.0, 0.5, Usage(100, 10, 50, 4), 0.25)
        for model in range(2)
        for user in (ANA, BIA, CARO)
    ]

    async def record_or_forget(database: Database, number: int) -> None:
        if number % 10 == 9:
            await Ledger(database).forget(ANA)
        await Ledger(database).record(calls[number % 6])

    await workers.race(record_or_forget, 60)
    ledger = Ledger(workers.databases[0])
    for by in ("model", "room", "day"):
        assert sum(each.calls for each in await ledger.sums(START - timedelta(days=2), [by])) == 60
    assert (await ledger.spent(BOT, START - timedelta(days=2))).tokens == 60 * 110
    told = await workers.race(lambda database, _: Ledger(database).tell_once(SpendingScope(ANA), "2026-03", 80, START))
    assert told.count(True) == 1


async def _let_in(workers: Workers, person: Limits, bot: Limits) -> int:
    """Return how many messages of one person's, all under way at once at three workers, are let in."""
    clock, gate, judged = FakeClock(), asyncio.Event(), 0

    async def ask(database: Database, _: int) -> bool:
        nonlocal judged
        ledger, decisions = Ledger(database), Decisions(database)
        quotas = Quotas(ledger, decisions, clock, Defaults(person=person, bot=bot), ZoneInfo("UTC"))
        async with quotas.admitted(Asker(ANA, "telegram:-1"), Role.MEMBER, thinks=True) as full:
            judged += 1
            if judged == AT_ONCE:
                gate.set()
            await gate.wait()
            return full is None

    return (await workers.race(ask)).count(True)


async def test_limits_hold_for_all_workers_at_once(workers: Workers) -> None:
    assert await _let_in(workers, read("messages_minute=5"), {}) == 5
    assert await _let_in(workers, {}, read("messages_minute=8")) == 3, "five had been before"
    ledger = Ledger(workers.databases[0])
    for _ in range(8):
        await ledger.record(ModelCall(START, ANA, "chat", "finish", "a:1", "end", 2.0, 0.5, Usage(100, 0), 0.25))
    assert await _let_in(workers, {}, read("tokens_day=1150")) == 4, "each is expected to use 100, as the eight did"
    assert await _let_in(workers, read("tokens_month=1050 cost_month=2.4"), {}) == 3, "now each 2 / 12 dollars"
    [(left,)] = await workers.databases[0].rows("SELECT count(*) FROM asked WHERE under_way = 1")
    assert left == 0


async def test_what_two_workers_remove_at_once_is_gone_when_either_is_done(workers: Workers) -> None:
    for number in range(200):
        asked = Incoming(chat=HERE.chat, user=ANA, message_id=f"{number}", user_name="Ana", text="oi", at=START)
        await SqlInbox(workers.databases[0]).accept(asked)

    async def forget(database: Database) -> int:
        await SqlInbox(database).forget(ANA)
        return len(await SqlInbox(database).owed("telegram"))

    assert await workers.one_in_the_middle("DELETE FROM inbox", forget, forget) == (0, 0)


@pytest.mark.parametrize("seed", [*map(long, (0, 1, 2))])
async def test_whatever_workers_do_at_once_memories_stay_whole(workers: Workers, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - data
    people = [ANA, BIA, CARO]
    kept: list[str] = []

    async def act(database: Database, number: int) -> None:
        store, owner, other = SqlMemories(database), *dice.sample(people, 2)
        match dice.randrange(8):
            case 0 | 1 | 2:
                drafts = [draft(f"{dice.randrange(6)}") for _ in range(dice.randint(1, 3))]
                kept.extend(
                    item.id for item in await add(store, owner, drafts, at=START, context=ChangeContext(f"a{number}"))
                )
            case 3:
                with suppress(ValueError):
                    await store.link(owner, other)
            case 4:
                await store.unlink(owner, other)
            case 5 if kept:
                await store.delete(owner, dice.choices(kept, k=2), at=START, context=ChangeContext(f"d{number}"))
            case 6 if kept:
                await store.update(owner, dice.choice(kept), draft(f"new {number}"), at=START, keeps_past=True)
            case _:
                await store.undo(owner, dice.choice("ad") + str(dice.randrange(number + 1)))

    await workers.race(act, 150)
    await SqlMemories(workers.databases[0]).purge(START - timedelta(days=1))
    await _is_sound(workers.databases[0])


async def _is_sound(database: Database) -> None:
    """Assert that every row stands where its memory does, and nothing is there twice."""
    await SqlMemories(database)._settle()

    def job(query: Query) -> list[int]:
        return [query.run(f"SELECT count(*) FROM {unsound}")[0][0] for unsound in _UNSOUND]  # noqa: S608

    assert await database.read(job) == [0] * len(_UNSOUND)


_UNSOUND = (
    # of an owner who is linked to somebody else
    "memories JOIN owners ON owners.id = memories.owner WHERE owners.linked IS NOT NULL",
    "owners AS a JOIN owners AS b ON b.id = a.linked WHERE b.linked IS NOT NULL",
    # phrases, rooms and terms that stand elsewhere than their memory
    "phrases AS p JOIN memories AS m ON m.id = p.memory WHERE p.owner != m.owner",
    "rooms AS r JOIN memories AS m ON m.id = r.memory WHERE r.owner != m.owner",
    "terms AS t JOIN memories AS m ON m.id = t.memory WHERE t.account != coalesce(m.account, m.owner)",
    # the same memory of the same account twice, and a memory without its phrases
    "(SELECT 1 FROM memories WHERE current = '' GROUP BY owner, account, digest HAVING count(*) > 1) AS twice",
    "memories AS m WHERE NOT EXISTS (SELECT 1 FROM phrases WHERE memory = m.id)",
)
