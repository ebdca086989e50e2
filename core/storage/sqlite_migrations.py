"""The SQLite schema: the baseline that a new file begins with, and the steps after it.

The number of a step is its place: a file at version n has seen the first n. A step is a tuple of SQL statements, and
one that was released is never edited, only followed; all missing ones run in one transaction. Steps before the baseline
are empty: a file at one of them is refused (`core/storage/sqlite_schema.py`).
"""

from __future__ import annotations

from typing import Final, TypeAlias

Migration: TypeAlias = tuple[str, ...]

BASELINE: Final[Migration] = (
    """
    CREATE TABLE threads (
        id TEXT PRIMARY KEY,
        platform TEXT NOT NULL, chat TEXT NOT NULL, topic TEXT NOT NULL, user TEXT NOT NULL,
        created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, -- microseconds since 1970, UTC
        status TEXT NOT NULL,
        title TEXT NOT NULL DEFAULT '', policy TEXT NOT NULL DEFAULT '',
        metadata TEXT NOT NULL DEFAULT '{}' -- JSON
    ) WITHOUT ROWID
    """,
    "CREATE UNIQUE INDEX threads_active ON threads (platform, user, chat, topic) WHERE status = 'active'",
    "CREATE INDEX threads_user ON threads (platform, user)",
    """
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        thread TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
        role TEXT NOT NULL, modal TEXT NOT NULL, in_history INTEGER NOT NULL,
        content TEXT NOT NULL, -- JSON
        at INTEGER,
        turn TEXT NOT NULL, source_id TEXT NOT NULL, memory_id TEXT NOT NULL,
        sequence INTEGER NOT NULL DEFAULT 0, tokens INTEGER NOT NULL DEFAULT 0,
        -- The tokens of the thread up to and with this message: what lies between two messages is one subtraction.
        upto INTEGER NOT NULL DEFAULT 0,
        duration_s REAL, error TEXT NOT NULL DEFAULT '', pair TEXT NOT NULL DEFAULT '',
        enclosed TEXT NOT NULL DEFAULT '', -- JSON of attachments and quotes
        question TEXT NOT NULL DEFAULT '', -- JSON of what an answer asks the person
        offered TEXT NOT NULL DEFAULT '', -- JSON of memories that it offers to save
        room TEXT NOT NULL DEFAULT '', off_record INTEGER NOT NULL DEFAULT 0
    )
    """,
    "CREATE UNIQUE INDEX messages_source ON messages (thread, source_id) WHERE source_id != ''",
    "CREATE INDEX messages_memory ON messages (thread, memory_id) WHERE memory_id != ''",
    "CREATE UNIQUE INDEX messages_sequence ON messages (thread, sequence)",
    """
    CREATE TABLE summaries (
        thread TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
        through INTEGER NOT NULL, after INTEGER NOT NULL, -- sequences of messages
        text TEXT NOT NULL, tokens INTEGER NOT NULL, at INTEGER, model TEXT NOT NULL,
        PRIMARY KEY (thread, through)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE transitions (
        id INTEGER PRIMARY KEY,
        thread TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
        turn TEXT NOT NULL, state TEXT NOT NULL, at INTEGER NOT NULL, error TEXT NOT NULL
    )
    """,
    "CREATE INDEX transitions_turn ON transitions (thread, turn)",
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
    CREATE TABLE places ( -- where a person says something: in private (''), or in a room
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        platform TEXT NOT NULL, user TEXT NOT NULL, room TEXT NOT NULL,
        UNIQUE (platform, user, room)
    )
    """,
    """
    CREATE TABLE message_terms ( -- what past messages are found by (`core/storage/lexicon.py`)
        place INTEGER NOT NULL, -- of `places`; when a person is forgotten, that goes first
        term TEXT NOT NULL,
        message INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
        PRIMARY KEY (place, term, message)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX message_terms_message ON message_terms (message)",
    """
    CREATE TABLE unindexed ( -- messages that the searches to come index
        message INTEGER PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
        thread TEXT NOT NULL
    )
    """,
    "CREATE INDEX unindexed_thread ON unindexed (thread, message)",
    """
    CREATE TABLE inbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        platform TEXT NOT NULL, chat TEXT NOT NULL, topic TEXT NOT NULL, message_id TEXT NOT NULL, user TEXT NOT NULL,
        payload TEXT, -- JSON of the rest; NULL once it was answered: then only its being known matters
        posted TEXT, -- what stands on the screen for it while owed: a JSON list of handles; '' last: one more, perhaps
        at INTEGER NOT NULL DEFAULT 0, -- when it was sent
        edits TEXT NOT NULL DEFAULT '', -- id of the message whose text it replaces
        sealed INTEGER NOT NULL DEFAULT 0, -- no edit of it is accepted any more
        done TEXT, -- JSON of what was done for it so far; NULL once it was answered
        UNIQUE (platform, chat, topic, message_id)
    )
    """,
    "CREATE INDEX inbox_owed ON inbox (platform, id) WHERE payload IS NOT NULL",
    "CREATE INDEX inbox_user ON inbox (platform, user)",
    "CREATE INDEX inbox_closed ON inbox (at) WHERE payload IS NULL",
    "CREATE INDEX inbox_edits ON inbox (platform, chat, topic, edits) WHERE edits != ''",
    """
    CREATE TABLE owners (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        platform TEXT NOT NULL, user TEXT NOT NULL,
        linked INTEGER REFERENCES owners (id), -- what another account has is kept under this owner
        -- By these an index in RAM sees what it lacks: changes of the owner's memories, and phrases that are gone, or
        -- were embedded after they were stored.
        version INTEGER NOT NULL DEFAULT 0, removed INTEGER NOT NULL DEFAULT 0,
        UNIQUE (platform, user)
    )
    """,
    "CREATE INDEX owners_linked ON owners (linked) WHERE linked IS NOT NULL",
    """
    CREATE TABLE memories (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        key TEXT NOT NULL UNIQUE, -- the id that people and models see
        owner INTEGER NOT NULL REFERENCES owners (id) ON DELETE CASCADE,
        kind TEXT NOT NULL, content TEXT NOT NULL,
        digest BLOB NOT NULL, -- what contents have in common that are taken for the same (`core/storage/record.py`)
        created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
        pinned INTEGER NOT NULL DEFAULT 0,
        account INTEGER REFERENCES owners (id), -- who said it; NULL: the owner
        current TEXT NOT NULL DEFAULT '', -- key of what is true since; '': it is itself
        until INTEGER, -- when it stops being true; NULL: no end is known
        meant TEXT NOT NULL DEFAULT '' -- the day or minute that its words mean
    )
    """,
    "CREATE INDEX memories_digest ON memories (owner, digest)",
    "CREATE INDEX memories_account ON memories (account) WHERE account IS NOT NULL",
    "CREATE INDEX memories_current ON memories (current) WHERE current != ''",
    "CREATE INDEX memories_order ON memories (owner, pinned, created_at, id, kind) WHERE current = ''",
    """
    CREATE TABLE phrases (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        memory INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
        owner INTEGER NOT NULL,
        text TEXT NOT NULL,
        position INTEGER -- among the bindings; NULL for a content that is no binding
    )
    """,
    "CREATE INDEX phrases_memory ON phrases (memory)",
    "CREATE INDEX phrases_owner ON phrases (owner)",
    "CREATE TABLE spaces (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    """
    CREATE TABLE vectors (
        phrase INTEGER NOT NULL REFERENCES phrases (id) ON DELETE CASCADE,
        space INTEGER NOT NULL REFERENCES spaces (id),
        vector BLOB NOT NULL -- float32, little-endian
    )
    """,
    "CREATE UNIQUE INDEX vectors_phrase ON vectors (phrase, space)",
    """
    CREATE TABLE sources (
        memory INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
        message INTEGER NOT NULL, -- messages are forgotten on their own; their ids are never given again
        PRIMARY KEY (memory, message)
    ) WITHOUT ROWID
    """,
    # A full-text index of everybody's words would keep those of the deleted until all of it is written anew.
    """
    CREATE TABLE terms ( -- what memories are found by, word by word (`core/storage/lexicon.py`)
        account INTEGER NOT NULL, -- who said it
        term TEXT NOT NULL,
        memory INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
        PRIMARY KEY (account, term, memory)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX terms_memory ON terms (memory)",
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
        undone INTEGER NOT NULL DEFAULT 0,
        speaker INTEGER REFERENCES owners (id) -- who made it; `account` is whose words it replaced
    )
    """,
    "CREATE INDEX changes_owner ON changes (owner, id, at, undone)",
    "CREATE INDEX changes_act ON changes (owner, act)",
    "CREATE INDEX changes_key ON changes (key)",
    "CREATE INDEX changes_account ON changes (account) WHERE account IS NOT NULL",
    "CREATE INDEX changes_deleted ON changes (at) WHERE kind = 'deleted'",
    """
    CREATE TABLE reminders (
        id TEXT PRIMARY KEY,
        platform TEXT NOT NULL,
        user TEXT NOT NULL,
        chat TEXT NOT NULL,
        topic TEXT NOT NULL,
        private INTEGER NOT NULL,
        name TEXT NOT NULL,
        text TEXT NOT NULL,
        kind TEXT NOT NULL,
        language TEXT NOT NULL,
        wall TEXT NOT NULL,  -- the first time, ISO 8601 without an offset: what the clock on the wall of `zone` shows
        zone TEXT NOT NULL,
        rule TEXT NOT NULL,  -- RRULE of RFC 5545 without DTSTART, or ''
        guessed INTEGER NOT NULL,
        due INTEGER,  -- microseconds since 1970, as all times below; NULL: never
        state TEXT NOT NULL,
        tries INTEGER NOT NULL,
        failures INTEGER NOT NULL,
        claimable INTEGER,  -- from when: due, the end of a claim, or of a wait; NULL: never
        created INTEGER NOT NULL,
        sent INTEGER,
        batch TEXT NOT NULL,
        changed INTEGER,
        before TEXT NOT NULL,  -- JSON of what the last change can be taken back to, or ''
        act TEXT NOT NULL DEFAULT ''  -- that its last change was part of
    ) WITHOUT ROWID
    """,
    "CREATE INDEX reminders_claimable ON reminders (platform, claimable, chat) WHERE claimable IS NOT NULL",
    "CREATE INDEX reminders_owner ON reminders (platform, user)",
    """
    CREATE TABLE people (
        platform TEXT NOT NULL, user TEXT NOT NULL,
        standing TEXT NOT NULL, name TEXT NOT NULL, since INTEGER NOT NULL,
        PRIMARY KEY (platform, user)
    )
    """,
    """
    CREATE TABLE strangers (
        platform TEXT NOT NULL, user TEXT NOT NULL,
        at INTEGER NOT NULL, -- when they last wrote and were told that the bot is private
        name TEXT NOT NULL DEFAULT '', language TEXT NOT NULL DEFAULT '',
        denied INTEGER NOT NULL DEFAULT 0, -- since `at`
        PRIMARY KEY (platform, user)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE accounts ( -- who wrote and was answered or noted, whatever their role
        platform TEXT NOT NULL, user TEXT NOT NULL,
        handle TEXT NOT NULL, -- the @name, without the @
        language TEXT NOT NULL, -- the tag that the platform tells
        PRIMARY KEY (platform, user)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE preferences (
        platform TEXT NOT NULL, user TEXT NOT NULL,
        language TEXT NOT NULL, -- '' where it is that of what they write
        remembers INTEGER NOT NULL, news INTEGER NOT NULL DEFAULT 1, learn TEXT NOT NULL DEFAULT '',
        zone TEXT NOT NULL DEFAULT '', -- of the tz database; '': not told
        PRIMARY KEY (platform, user)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE link_codes (
        digest TEXT NOT NULL UNIQUE, -- of the code
        platform TEXT NOT NULL, user TEXT NOT NULL, name TEXT NOT NULL,
        at INTEGER NOT NULL,
        asked_platform TEXT, asked_user TEXT, asked_at INTEGER, -- which account was told what entering it gives away
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
    """
    CREATE TABLE decided ( -- what holds now; standings are in `people`
        matter TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
        PRIMARY KEY (matter, name)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE decisions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL,
        platform TEXT NOT NULL, user TEXT NOT NULL, -- who decided; '' where the person was forgotten
        matter TEXT NOT NULL, name TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL,
        undoes INTEGER NOT NULL -- the decision that this one takes back, or 0
    )
    """,
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
    CREATE TABLE calls (
        id INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        platform TEXT NOT NULL, user TEXT NOT NULL, -- '' where nobody's message caused it, or the person was forgotten
        mode TEXT NOT NULL, task TEXT NOT NULL, model TEXT NOT NULL, outcome TEXT NOT NULL,
        duration_s REAL NOT NULL, first_s REAL,
        input_tokens INTEGER, cached_tokens INTEGER, reasoning_tokens INTEGER, output_tokens INTEGER, -- NULL: unknown
        cost_usd REAL, -- NULL: unknown
        room TEXT NOT NULL DEFAULT '' -- where others read along; '' in private
    )
    """,
    "CREATE INDEX calls_at ON calls (at)",
    "CREATE INDEX calls_room ON calls (room, at) WHERE room != ''",
    "CREATE INDEX calls_person ON calls (platform, user, at)",
    # What calls add up to (`core/features/ledger/storage.py`): by quarters of an hour, and by days of UTC.
    *(
        f"""
        CREATE TABLE {table} (
            slot INTEGER NOT NULL, {columns},
            calls INTEGER NOT NULL, failed INTEGER NOT NULL, unpriced INTEGER NOT NULL,
            input_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL,
            reasoning_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
            cost_usd REAL NOT NULL, duration_s REAL NOT NULL, first_s REAL NOT NULL, firsts INTEGER NOT NULL,
            PRIMARY KEY (slot, {key})
        ) WITHOUT ROWID
        """
        for table, key, columns in (
            ("call_quarters", "model", "model TEXT NOT NULL"),
            ("call_payers", "platform, user, room", "platform TEXT NOT NULL, user TEXT NOT NULL, room TEXT NOT NULL"),
        )
    ),
    # Messages that were about to be thought about: '' for a person who was forgotten, and for no room.
    """
    CREATE TABLE asked (
        id INTEGER PRIMARY KEY,
        at INTEGER NOT NULL, platform TEXT NOT NULL, user TEXT NOT NULL, room TEXT NOT NULL,
        thinks INTEGER NOT NULL DEFAULT 1, -- whether a model is asked about it
        counts INTEGER NOT NULL DEFAULT 1, -- whether it is one of the messages of a minute
        under_way INTEGER NOT NULL DEFAULT 0 -- whether its answer is expected to use more
    )
    """,
    "CREATE INDEX asked_at ON asked (at)",
    "CREATE INDEX asked_person ON asked (platform, user, at)",
    "CREATE INDEX asked_room ON asked (room, at) WHERE room != ''",
    "CREATE INDEX asked_under_way ON asked (at) WHERE under_way = 1",
    """
    CREATE TABLE told ( -- who was told what of a quota, so that it is said once a period
        scope TEXT NOT NULL, period TEXT NOT NULL, share INTEGER NOT NULL, -- 80 or 100 %
        at INTEGER NOT NULL,
        PRIMARY KEY (scope, period, share)
    ) WITHOUT ROWID
    """,
    "CREATE TABLE kept (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",  # `core/storage/kept.py`
)

_HALVES: Final[Migration] = (
    """
    CREATE TABLE halves (
        phrase INTEGER NOT NULL REFERENCES phrases (id) ON DELETE CASCADE,
        space INTEGER NOT NULL REFERENCES spaces (id),
        vector BLOB NOT NULL -- half floats, little-endian: three to a page, where float32 of 512 dimensions fills one
    )
    """,
    "INSERT INTO halves SELECT phrase, space, halved(vector) FROM vectors ORDER BY phrase",
    "DROP TABLE vectors",
    "ALTER TABLE halves RENAME TO vectors",
    "CREATE UNIQUE INDEX vectors_phrase ON vectors (phrase, space)",
)

STEPS: Final[tuple[Migration, ...]] = (
    # JSON of what a reminder waits for to be mentioned, or ''
    ("ALTER TABLE reminders ADD COLUMN mention TEXT NOT NULL DEFAULT ''",),
    (
        "ALTER TABLE messages ADD COLUMN basis TEXT NOT NULL DEFAULT ''",  # JSON of what an answer rested on
        "ALTER TABLE preferences ADD COLUMN shows_steps INTEGER NOT NULL DEFAULT 0",
    ),
    (
        "ALTER TABLE messages ADD COLUMN speaker TEXT NOT NULL DEFAULT ''",  # who said it in a room
        "CREATE INDEX threads_place ON threads (platform, chat, topic, updated_at)",
    ),
    (
        # The key of the older memory that it may take the place of, and is kept beside; '': none.
        "ALTER TABLE memories ADD COLUMN may_replace TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX memories_may_replace ON memories (may_replace) WHERE may_replace != ''",
    ),
    (
        # JSON of the things that it keeps (`core.enclosures`); '': none. Of a change, the digests of both its states.
        "ALTER TABLE memories ADD COLUMN enclosed TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX memories_enclosed ON memories (id) WHERE enclosed != ''",
        "ALTER TABLE changes ADD COLUMN enclosed TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX changes_enclosed ON changes (id) WHERE enclosed != ''",
        # A passage of a document that a memory keeps is a memory of its own, which only searches find.
        "ALTER TABLE memories ADD COLUMN part_of INTEGER REFERENCES memories (id) ON DELETE CASCADE",
        "ALTER TABLE memories ADD COLUMN page INTEGER NOT NULL DEFAULT 0",
        "CREATE INDEX memories_part_of ON memories (part_of, id) WHERE part_of IS NOT NULL",
        "CREATE INDEX memories_passages ON memories (owner) WHERE part_of IS NOT NULL",
        # Bytes, where there is no folder for them (`core/storage/files.py`).
        """
        CREATE TABLE files (
            id INTEGER PRIMARY KEY,
            owner TEXT NOT NULL, sha256 TEXT NOT NULL, at INTEGER NOT NULL, -- when it was last put
            content BLOB NOT NULL
        )
        """,
        "CREATE UNIQUE INDEX files_owner ON files (owner, sha256)",
    ),
    (
        # What was sent before then is answered in incognito; whether the person was told that it is over.
        "ALTER TABLE preferences ADD COLUMN incognito_until INTEGER",
        "ALTER TABLE preferences ADD COLUMN incognito_told INTEGER NOT NULL DEFAULT 1",
    ),
)
"""The steps after it that both engines take (`core/storage/postgres_schema.py`)."""

MIGRATIONS: Final[tuple[Migration, ...]] = (*[()] * 29, BASELINE, _HALVES, *STEPS)
