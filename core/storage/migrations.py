"""How the database came to its present form. Knows every step; a step that was released is never edited, only followed.

The number of a step is its place: a file at version n has seen the first n. A step is a tuple of SQL statements; all
missing steps run in one transaction.
"""

from __future__ import annotations

from core.storage.first_migrations import FIRST, Migration

_CHANGES: Migration = (
    "ALTER TABLE memories ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE memories ADD COLUMN account INTEGER REFERENCES owners (id)",  # who said it; NULL: the owner
    "CREATE INDEX memories_account ON memories (account) WHERE account IS NOT NULL",
    "DROP INDEX memories_age",
    "CREATE INDEX memories_order ON memories (owner, pinned, created_at, id, kind)",
    # What another account has is kept under this owner.
    "ALTER TABLE owners ADD COLUMN linked INTEGER REFERENCES owners (id)",
    "CREATE INDEX owners_linked ON owners (linked) WHERE linked IS NOT NULL",
    """
    CREATE TABLE rooms ( -- where else than in private a memory may be spoken of
        owner INTEGER NOT NULL,
        room TEXT NOT NULL, -- PLATFORM:ID where it was said; '*': everywhere
        memory INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
        PRIMARY KEY (owner, room, memory)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX rooms_memory ON rooms (memory)",
    """
    CREATE TABLE changes (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        owner INTEGER NOT NULL REFERENCES owners (id) ON DELETE CASCADE,
        account INTEGER REFERENCES owners (id), -- the memory's
        act TEXT NOT NULL, kind TEXT NOT NULL, at INTEGER NOT NULL,
        key TEXT NOT NULL, -- the memory's
        before TEXT, after TEXT, -- JSON of it
        undone INTEGER NOT NULL DEFAULT 0
    )
    """,
    "CREATE INDEX changes_owner ON changes (owner, id, at, undone)",
    "CREATE INDEX changes_act ON changes (owner, act)",
    "CREATE INDEX changes_key ON changes (key)",
    "CREATE INDEX changes_account ON changes (account) WHERE account IS NOT NULL",
    "CREATE INDEX changes_deleted ON changes (at) WHERE kind = 'deleted'",
)

_MONEY: Migration = (
    "ALTER TABLE calls ADD COLUMN room TEXT NOT NULL DEFAULT ''",  # where others read along; '' in private
    "CREATE INDEX calls_room ON calls (room, at) WHERE room != ''",
    "DROP INDEX calls_user",
    "CREATE INDEX calls_person ON calls (platform, user, at)",
    # What calls add up to (`core/features/ledger/rollup.py`): by quarters of an hour, and by days of UTC.
    *(
        f"""
        CREATE TABLE {table} (
            slot INTEGER NOT NULL, {key},
            calls INTEGER NOT NULL, failed INTEGER NOT NULL, unpriced INTEGER NOT NULL,
            input_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL,
            reasoning_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
            cost_usd REAL NOT NULL, duration_s REAL NOT NULL, first_s REAL NOT NULL, firsts INTEGER NOT NULL,
            PRIMARY KEY (slot, {key})
        ) WITHOUT ROWID
        """
        for table, key in (("call_quarters", "model"), ("call_payers", "platform, user, room"))
    ),
    *(
        f"""
        INSERT INTO {table}
        SELECT at / {slot_us}, {key},
            count(*), sum(outcome GLOB '[A-Z]*'),
            sum(cost_usd IS NULL AND (outcome = 'StreamCut' OR NOT outcome GLOB '[A-Z]*')),
            total(input_tokens), total(cached_tokens), total(reasoning_tokens), total(output_tokens),
            total(cost_usd), total(duration_s), total(first_s), count(first_s)
        FROM calls GROUP BY 1, {key}
        """  # noqa: S608 - constants
        for table, slot_us, key in (
            ("call_quarters", 900_000_000, "model"),
            ("call_payers", 86_400_000_000, "platform, user, room"),
        )
    ),
    # Messages that were about to be thought about: '' for a person who was forgotten, and for no room.
    """
    CREATE TABLE asked (
        id INTEGER PRIMARY KEY,
        at INTEGER NOT NULL, platform TEXT NOT NULL, user TEXT NOT NULL, room TEXT NOT NULL
    )
    """,
    "CREATE INDEX asked_at ON asked (at)",
    "CREATE INDEX asked_person ON asked (platform, user, at)",
    "CREATE INDEX asked_room ON asked (room, at) WHERE room != ''",
    """
    CREATE TABLE told ( -- who was told what of a quota, so that it is said once a period
        scope TEXT NOT NULL, period TEXT NOT NULL, share INTEGER NOT NULL, -- 80 or 100 %
        at INTEGER NOT NULL,
        PRIMARY KEY (scope, period, share)
    ) WITHOUT ROWID
    """,
)

_NOTICES: Migration = (
    """
    CREATE TABLE broadcasts (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL, platform TEXT NOT NULL, user TEXT NOT NULL, -- whose it is
        language TEXT NOT NULL, -- that they read
        text TEXT NOT NULL, -- '' once it is over
        state TEXT NOT NULL -- draft, running, done, cancelled
    )
    """,
    """
    CREATE TABLE recipients (
        broadcast INTEGER NOT NULL REFERENCES broadcasts (id) ON DELETE CASCADE,
        platform TEXT NOT NULL, user TEXT NOT NULL,
        state TEXT NOT NULL, -- waiting, sending, told, unreachable
        PRIMARY KEY (broadcast, platform, user)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE link_codes (
        digest TEXT NOT NULL UNIQUE, -- of the code
        platform TEXT NOT NULL, user TEXT NOT NULL, name TEXT NOT NULL,
        at INTEGER NOT NULL,
        PRIMARY KEY (platform, user)
    ) WITHOUT ROWID
    """,
    # A command that waits for the text of the next message there.
    """
    CREATE TABLE awaited (
        platform TEXT NOT NULL, chat TEXT NOT NULL, topic TEXT NOT NULL, user TEXT NOT NULL,
        command TEXT NOT NULL, at INTEGER NOT NULL,
        PRIMARY KEY (platform, chat, topic, user)
    ) WITHOUT ROWID
    """,
    "ALTER TABLE preferences ADD COLUMN drafts INTEGER",  # NULL: as the owner set it
    "ALTER TABLE preferences ADD COLUMN news INTEGER NOT NULL DEFAULT 1",
    "ALTER TABLE strangers ADD COLUMN language TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE strangers ADD COLUMN denied INTEGER NOT NULL DEFAULT 0",  # since `at`
)

_AUDIENCE: Migration = (
    # Which account was told what entering the code gives away, and when.
    "ALTER TABLE link_codes ADD COLUMN asked_platform TEXT",
    "ALTER TABLE link_codes ADD COLUMN asked_user TEXT",
    "ALTER TABLE link_codes ADD COLUMN asked_at INTEGER",
    "CREATE INDEX messages_turn ON messages (turn)",  # for the next step alone
    # A changed memory is heard where its present words were said: in the room of the last change's turn, if it was one.
    """
    DELETE FROM rooms WHERE memory IN (SELECT id FROM memories WHERE key IN (
        SELECT key FROM changes WHERE kind = 'updated' AND NOT undone
    )) AND room NOT IN (
        SELECT threads.platform || ':' || threads.chat
        FROM memories JOIN changes ON changes.id = (
            SELECT max(id) FROM changes WHERE key = memories.key AND kind = 'updated' AND NOT undone
        ) JOIN messages ON messages.turn = changes.act JOIN threads ON threads.id = messages.thread
        WHERE memories.id = rooms.memory
    )
    """,
    "DROP INDEX messages_turn",
)

_CONFIRMATIONS: Migration = (
    # What a person was asked to agree to there, and has not answered yet.
    """
    CREATE TABLE confirmations (
        platform TEXT NOT NULL, chat TEXT NOT NULL, topic TEXT NOT NULL, user TEXT NOT NULL,
        code TEXT NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL, -- JSON
        at INTEGER NOT NULL,
        PRIMARY KEY (platform, chat, topic, user)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX confirmations_at ON confirmations (at)",
)

# A full-text index of everybody's words keeps those of the deleted until all of it is written anew.
_TERMS: Migration = (
    """
    CREATE TABLE terms ( -- what memories are found by, word by word (`core/storage/lexicon.py`)
        account INTEGER NOT NULL, -- who said it
        term TEXT NOT NULL,
        memory INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
        PRIMARY KEY (account, term, memory)
    ) WITHOUT ROWID
    """,
    # Owner by owner, into both trees at once: what is written to fits the cache, and nothing is sorted in RAM.
    "CREATE INDEX terms_memory ON terms (memory)",
    "PRAGMA cache_size = -65536",
    """
    INSERT OR IGNORE INTO terms
    SELECT coalesce(m.account, m.owner), word.value, m.id
    FROM owners CROSS JOIN memories AS m ON m.owner = owners.id CROSS JOIN memory_text AS t ON t.rowid = m.id
    CROSS JOIN json_each('["' || replace(t.words || ' ' || t.stems, ' ', '","') || '"]') AS word WHERE word.value != ''
    """,
    "PRAGMA cache_size = -2000",  # SQLite's own
    "DROP TABLE memory_text",
)

_TOLD_MEMORIES: Migration = (
    "ALTER TABLE messages ADD COLUMN enclosed TEXT NOT NULL DEFAULT ''",  # JSON of attachments and quotes
    # A recalled memory is looked up when it is shown again: the conversation holds no copy of it.
    "UPDATE messages SET content = json_object('id', memory_id) WHERE memory_id != ''",
    """
    CREATE TABLE told_memories ( -- which memories, as they were then, a message tells of
        message INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
        thread TEXT NOT NULL, sequence INTEGER NOT NULL, -- the message's
        memory TEXT NOT NULL, -- its key; memories are forgotten on their own
        version TEXT NOT NULL, -- digest of its content; '': whatever it was
        gone INTEGER NOT NULL DEFAULT 0, -- 1: deleted or replaced, and past undoing
        PRIMARY KEY (message, memory, version)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX told_memories_thread ON told_memories (thread, gone, memory, version, sequence)",
    """
    INSERT INTO told_memories (message, thread, sequence, memory, version)
    SELECT DISTINCT said.id, said.thread, said.sequence, recalled.memory_id, ''
    FROM messages AS recalled JOIN messages AS said ON said.thread = recalled.thread AND said.turn = recalled.turn
    WHERE recalled.memory_id != '' AND recalled.turn != '' AND said.role = 'assistant'
    """,
    """
    INSERT OR IGNORE INTO told_memories (message, thread, sequence, memory, version)
    SELECT messages.id, messages.thread, messages.sequence, memories.key, ''
    FROM sources JOIN memories ON memories.id = sources.memory JOIN messages ON messages.id = sources.message
    """,
)

_POSTED: Migration = (
    # What stands on the screen for a message that is owed: a JSON list of handles; '' last: one more, perhaps.
    "ALTER TABLE inbox ADD COLUMN posted TEXT",
    "UPDATE inbox SET posted = '[\"\"]' WHERE payload IS NOT NULL",
    "ALTER TABLE inbox ADD COLUMN at INTEGER NOT NULL DEFAULT 0",  # when it was sent
    "UPDATE inbox SET at = CAST(strftime('%s', 'now') AS INTEGER) * 1000000",  # nobody knows, so all is as if sent now
    "CREATE INDEX inbox_closed ON inbox (at) WHERE payload IS NULL",
)

_OPEN_QUESTIONS: Migration = (
    "ALTER TABLE messages ADD COLUMN question TEXT NOT NULL DEFAULT ''",  # JSON of what an answer asks the person
)

_NO_DRAFTS: Migration = (  # whether answers grow in a draft is a setting, and nothing else
    "ALTER TABLE preferences DROP COLUMN drafts",
    "DELETE FROM decisions WHERE matter = 'drafts'",
)

MIGRATIONS: tuple[Migration, ...] = (
    *FIRST,
    _CHANGES,
    _MONEY,
    _NOTICES,
    _AUDIENCE,
    _CONFIRMATIONS,
    _TERMS,
    _TOLD_MEMORIES,
    _POSTED,
    _OPEN_QUESTIONS,
    _NO_DRAFTS,
)
