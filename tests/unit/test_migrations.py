"""What was written by an older version is all there after an upgrade."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from core.features.access.storage import SqlPeople
from core.features.admin.decisions import DecisionKind
from core.features.admin.storage import SqlDecisions
from core.features.preferences.storage import SqlPreferences
from core.features.reminders.reminders import Reminder, Schedule, State
from core.features.reminders.storage import SqlReminders
from core.storage.database import Query
from core.storage.history import SqlHistory
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.storage.sqlite_migrations import MIGRATIONS
from core.types import ChatKey, Learn, Locale, MemoryKind, MessageRole, Preferences, UserKey
from tests.fakes.clock import START
from tests.reference.searches import ids_found


async def test_messages_of_before_threads_were_counted_get_their_place_and_cost(tmp_path: Path) -> None:
    old = await open_database(tmp_path / "elefante.db", MIGRATIONS[:5])

    def fill(query: Query) -> None:
        query.run_many(
            "INSERT INTO threads (id, platform, chat, topic, user, created_at, updated_at, status)"
            " VALUES (?, 'telegram', 'c', '', ?, 1, 2, 'active')",
            [("one", "ana"), ("two", "bia")],
        )
        query.run_many(
            "INSERT INTO messages (thread, role, modal, in_history, content, at, turn, source_id, memory_id)"
            " VALUES (?, 'user', 'text', 1, ?, 5, '', '', '')",
            [("one", '"oito letras e mais"'), ("two", '"oi"'), ("one", '"oi"')],
        )

    await old.write(fill)
    await old.close()
    database = await open_database(tmp_path / "elefante.db")
    history = SqlHistory(database)
    [thread] = await history.threads(UserKey("telegram", "ana"))
    assert (thread.title, thread.policy, thread.metadata) == ("", "", {})
    messages = await history.tail("one", 9)
    assert [(m.role, m.text, m.sequence, m.tokens) for m in messages] == [
        (MessageRole.USER, "oito letras e mais", 1, 7),
        (MessageRole.USER, "oi", 2, 3),
    ]
    assert await history.totals("one") == (2, 10)
    assert await history.totals("one", 1) == (1, 3)
    assert (await history.append("one", messages[0])).sequence == 3
    assert await history.totals("one") == (3, 17)
    await database.close()


async def test_what_was_changed_before_is_heard_where_its_last_change_was_said_and_nowhere_else(tmp_path: Path) -> None:
    before = (
        len(MIGRATIONS) - MIGRATIONS[::-1].index(next(each for each in MIGRATIONS if "asked_platform" in each[0])) - 1
    )
    old = await open_database(tmp_path / "elefante.db", MIGRATIONS[:before])

    def fill(query: Query) -> None:
        query.run("INSERT INTO owners (id, platform, user) VALUES (1, 'test', 'ana')")
        for number, key in enumerate(("untouched", "privately", "in_room", "undone"), 1):
            query.run(
                "INSERT INTO memories (id, key, owner, kind, content, digest, created_at, updated_at)"
                " VALUES (?, ?, 1, 'text', 'x', x'00', 1, 2)",
                (number, key),
            )
            for room in ("test:kitchen", "test:garden", "*"):
                query.run("INSERT INTO rooms (owner, room, memory) VALUES (1, ?, ?)", (room, number))
        for key, act, undone in (
            ("privately", "room", 0), ("privately", "private", 0), ("in_room", "room", 0), ("undone", "private", 1),
        ):  # fmt: skip
            query.run(
                "INSERT INTO changes (owner, act, kind, at, key, undone) VALUES (1, ?, 'updated', 1, ?, ?)",
                (act, key, undone),
            )
        for turn, chat in (("room", "kitchen"), ("private", "with ana")):
            query.run(
                "INSERT INTO threads (id, platform, chat, topic, user, created_at, updated_at, status)"
                " VALUES (?, 'test', ?, '', 'ana', 1, 2, 'active')",
                (turn, chat),
            )
            query.run(
                "INSERT INTO messages (thread, sequence, role, modal, in_history, content, at, turn, source_id,"
                " memory_id) VALUES (?, 1, 'user', 'text', 1, '\"x\"', 5, ?, '', '')",
                (turn, turn),
            )

    await old.write(fill)
    await old.close()
    database = await open_database(tmp_path / "elefante.db")
    rows = await database.rows("SELECT key, room FROM rooms JOIN memories ON memories.id = memory ORDER BY 1, 2")
    await database.close()
    everywhere = ["*", "test:garden", "test:kitchen"]
    assert [tuple(row) for row in rows] == [
        ("in_room", "test:kitchen"),
        *(("undone", room) for room in everywhere),
        *(("untouched", room) for room in everywhere),
    ]


async def test_what_full_text_found_is_found_by_words_after_it(tmp_path: Path) -> None:
    before = next(i for i, each in enumerate(MIGRATIONS) if "CREATE TABLE terms" in each[0])
    old = await open_database(tmp_path / "elefante.db", MIGRATIONS[:before])
    rows = [
        ("wifi", 1, None, "senha do wifi a senha e abc123", "senh do wif a senh e abc123"),
        ("cat", 1, 2, "my cats are called tom and jerry", "my cat are call tom and jerri"),
        ("hers", 3, None, "senha do cofre", "senh do cofr"),
        ("bare", 3, None, "", ""),
    ]

    def fill(query: Query) -> None:
        query.run_many(
            "INSERT INTO owners (id, platform, user, linked) VALUES (?, ?, ?, ?)",
            [(1, "telegram", "ana", None), (2, "discord", "ana", 1), (3, "telegram", "bia", None)],
        )
        for number, (key, whose, account, words, stems) in enumerate(rows, 1):
            query.run(
                "INSERT INTO memories (id, key, owner, account, kind, content, digest, created_at, updated_at)"
                " VALUES (?, ?, ?, ?, 'text', ?, x'00', 1, 2)",
                (number, key, whose, account, words),
            )
            query.run("INSERT INTO phrases (memory, owner, text) VALUES (?, ?, ?)", (number, whose, words))
            query.run(
                "INSERT INTO memory_text (rowid, owner, words, stems) VALUES (?, ?, ?, ?)",
                (number, f"o{account or whose}", words, stems),
            )

    await old.write(fill)
    await old.close()
    database = await open_database(tmp_path / "elefante.db")
    store, ana, bia = SqlMemories(database), UserKey("telegram", "ana"), UserKey("telegram", "bia")
    for query, owner, found in (
        ("senhas", ana, ["wifi"]),
        ("ABC123", ana, ["wifi"]),
        ("cat", ana, ["cat"]),
        ("the cat", UserKey("discord", "ana"), ["cat"]),
        ("cofre", ana, []),
        ("senha", bia, ["hers"]),
        ("gato", bia, []),
    ):
        assert await ids_found(store, owner, query) == found, query
    await store.unlink(ana, UserKey("discord", "ana"))
    assert await ids_found(store, UserKey("discord", "ana"), "cats") == ["cat"]
    assert await ids_found(store, ana, "cats") == []
    assert await database.rows("PRAGMA foreign_key_check") == []
    assert await database.rows("SELECT 1 FROM sqlite_schema WHERE name LIKE 'memory_text%'") == []
    await store.forget(bia)
    await database.close()
    assert b"cofr" not in (tmp_path / "elefante.db").read_bytes()


async def test_choices_of_before_reminders_stay_and_nobody_has_a_zone_or_a_reminder(tmp_path: Path) -> None:
    before = next(i for i, each in enumerate(MIGRATIONS) if any("CREATE TABLE reminders" in line for line in each))
    old = await open_database(tmp_path / "elefante.db", MIGRATIONS[:before])

    def fill(query: Query) -> None:
        query.run(
            "INSERT INTO preferences (platform, user, language, remembers, news, learn) "
            "VALUES ('test', 'ana', 'es', 0, 1, 'asked')"
        )

    await old.write(fill)
    await old.close()
    database = await open_database(tmp_path / "elefante.db")
    ana = UserKey("test", "ana")
    assert await SqlPreferences(database).of(ana) == Preferences(Locale.ES, remembers=False, learn=Learn.ASKED, zone="")
    reminders = SqlReminders(database)
    assert await reminders.of([ana], frozenset(State)) == []
    schedule = Schedule(datetime(2027, 1, 5, 8), "UTC")  # noqa: DTZ001 - wall
    made = await reminders.add(Reminder(ana, ChatKey("test", "c"), "rent", schedule, None, START), most=1)
    assert made is not None
    assert await reminders.of([ana]) == [made]
    await database.close()


async def test_choices_of_drafts_go_and_the_others_stay(tmp_path: Path) -> None:
    before = next(i for i, each in enumerate(MIGRATIONS) if "DROP COLUMN drafts" in each[0])
    old = await open_database(tmp_path / "elefante.db", MIGRATIONS[:before])

    def fill(query: Query) -> None:
        query.run(
            "INSERT INTO preferences (platform, user, language, remembers, drafts, news) "
            "VALUES ('test', 'ana', 'es', 0, 1, 0)"
        )
        query.run_many(
            "INSERT INTO decisions (at, platform, user, matter, name, before, after, undoes) "
            "VALUES (1, '', '', ?, '', '', ?, 0)",
            [("drafts", "on"), ("policy", "last-tokens")],
        )

    await old.write(fill)
    await old.close()
    database = await open_database(tmp_path / "elefante.db")
    assert await SqlPreferences(database).of(UserKey("test", "ana")) == Preferences(
        Locale.ES, remembers=False, news=False
    )
    assert [each.matter for each in await SqlDecisions(database).newest(9)] == [DecisionKind.POLICY]
    await database.close()


async def test_memories_of_before_versions_are_current_and_found_however_they_are_punctuated(tmp_path: Path) -> None:
    before = next(i for i, each in enumerate(MIGRATIONS) if "COLUMN current" in each[0])
    old = await open_database(tmp_path / "elefante.db", MIGRATIONS[:before])
    kept = (
        '{"number":1,"kind":"text","content":"old","bindings":["k"],"created_at":1,"updated_at":1,"sources":[],'
        '"rooms":[],"shared":false,"pinned":false}'
    )

    def fill(query: Query) -> None:
        query.run("INSERT INTO owners (id, platform, user) VALUES (1, 'test', 'ana')")
        query.run_many(
            "INSERT INTO memories (id, key, owner, kind, content, digest, created_at, updated_at)"
            " VALUES (?, ?, 1, ?, ?, x'00', 1, 2)",
            [(1, "wifi", "text", "A senha é tromba\x00!"), (2, "list", "json", '["a"]')],
        )
        query.run_many("INSERT INTO phrases (memory, owner, text, position) VALUES (?, 1, 'k', 0)", [(1,), (2,)])
        query.run(
            "INSERT INTO changes (owner, act, kind, at, key, before) VALUES (1, 'a', 'deleted', 1, 'gone', ?)",
            (kept.replace('"number":1', '"number":9'),),
        )

    await old.write(fill)
    await old.close()
    database = await open_database(tmp_path / "elefante.db")
    store, ana = SqlMemories(database), UserKey("test", "ana")
    [listed, wifi] = await store.page(ana, limit=9)
    assert (wifi.until, wifi.meant, wifi.current) == (None, "", "")
    assert await store.find(ana, MemoryKind.TEXT, "a senha e tromba\x00") == wifi
    assert await store.find(ana, MemoryKind.JSON, '["a"]') == listed
    assert await store.earlier(ana, [wifi.id, listed.id]) == []
    assert await store.undo(ana, "a")
    assert [item.content for item in await store.get(ana, ["gone"])] == ["old"]
    await database.close()


async def test_what_was_said_before_the_index_is_found_unless_the_person_wants_nothing_remembered(
    tmp_path: Path,
) -> None:
    before = next(
        at for at, migration in enumerate(MIGRATIONS) if any("CREATE TABLE places" in sql for sql in migration)
    )
    old = await open_database(tmp_path / "elefante.db", MIGRATIONS[:before])

    def fill(query: Query) -> None:
        for user in ("ana", "bia"):
            query.run(
                "INSERT INTO threads (id, platform, chat, topic, user, created_at, updated_at, status)"
                " VALUES (?, 'telegram', 'kitchen', '', ?, 1, 2, 'active')",
                (user, user),
            )
            for sequence, (role, modal, content, error) in enumerate(
                (("user", "text", "the safe is green", ""), ("assistant", "text", "a green safe", ""),
                 ("assistant", "text", "sorry, safe", "ProviderDown"), ("system", "memory", "safe", "")), 1,
            ):  # fmt: skip
                query.run(
                    "INSERT INTO messages (thread, sequence, role, modal, in_history, content, at, turn, source_id,"
                    " memory_id, error) VALUES (?, ?, ?, ?, 1, ?, 5, '', '', '', ?)",
                    (user, sequence, role, modal, f'"{content}"', error),
                )
        query.run("INSERT INTO preferences (platform, user, language, remembers) VALUES ('telegram', 'bia', '', 0)")

    await old.write(fill)
    await old.close()
    database = await open_database(tmp_path / "elefante.db")
    history = SqlHistory(database)
    for _ in range(2):
        found = await history.search([UserKey("telegram", "ana")], "safe", limit=9)
        assert [each.message.text for each in found] == ["a green safe", "the safe is green"]
    assert await history.search([UserKey("telegram", "ana")], "safe", limit=9, room="telegram:kitchen") == []
    assert await history.search([UserKey("telegram", "bia")], "safe", limit=9) == []
    assert await database.rows("SELECT * FROM unindexed") == []
    await database.close()


async def test_who_wrote_before_handles_were_kept_has_been_seen(tmp_path: Path) -> None:
    before = next(i for i, each in enumerate(MIGRATIONS) if "CREATE TABLE accounts" in each[0])
    old = await open_database(tmp_path / "elefante.db", MIGRATIONS[:before])

    def fill(query: Query) -> None:
        query.run_many(
            "INSERT INTO people (platform, user, standing, name, since) VALUES ('telegram', ?, 'member', ?, 1)",
            [("1", "Ana"), ("2", "")],
        )
        query.run_many(
            "INSERT INTO strangers (platform, user, at, name, language) VALUES ('telegram', ?, 1, ?, 'pt-br')",
            [("3", "Bia"), ("4", "")],
        )
        query.run_many(
            "INSERT INTO threads (id, platform, chat, topic, user, created_at, updated_at, status)"
            " VALUES (?, 'telegram', 'c', '', ?, 1, 2, 'active')",
            [("one", "1"), ("two", "5")],
        )

    await old.write(fill)
    await old.close()
    database = await open_database(tmp_path / "elefante.db")
    people = SqlPeople(database)
    seen = [await people.account(UserKey("telegram", str(user))) for user in range(1, 6)]
    await database.close()
    assert [each and each.language for each in seen] == ["", None, "pt-br", None, ""]
