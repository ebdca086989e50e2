"""How the database came to its form of the first release: the steps of which none changes any more."""

from __future__ import annotations

from typing import TypeAlias

Migration: TypeAlias = tuple[str, ...]

_HISTORY: Migration = (
    """
    CREATE TABLE threads (
        id TEXT PRIMARY KEY,
        platform TEXT NOT NULL, chat TEXT NOT NULL, topic TEXT NOT NULL, user TEXT NOT NULL,
        created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, -- microseconds since 1970, UTC
        status TEXT NOT NULL
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
        turn TEXT NOT NULL, source_id TEXT NOT NULL, memory_id TEXT NOT NULL
    )
    """,
    "CREATE INDEX messages_thread ON messages (thread, id)",
    "CREATE UNIQUE INDEX messages_source ON messages (thread, source_id) WHERE source_id != ''",
    "CREATE INDEX messages_memory ON messages (thread, memory_id) WHERE memory_id != ''",
)

_INBOX: Migration = (
    """
    CREATE TABLE inbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        platform TEXT NOT NULL, chat TEXT NOT NULL, topic TEXT NOT NULL, message_id TEXT NOT NULL, user TEXT NOT NULL,
        payload TEXT, -- JSON of the rest; NULL once it was answered: then only its being known matters
        UNIQUE (platform, chat, topic, message_id)
    )
    """,
    "CREATE INDEX inbox_owed ON inbox (platform, id) WHERE payload IS NOT NULL",
    "CREATE INDEX inbox_user ON inbox (platform, user)",
)

_MEMORIES: Migration = (
    """
    CREATE TABLE owners (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        platform TEXT NOT NULL, user TEXT NOT NULL,
        UNIQUE (platform, user)
    )
    """,
    """
    CREATE TABLE memories (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        key TEXT NOT NULL UNIQUE, -- the id that people and models see
        owner INTEGER NOT NULL REFERENCES owners (id) ON DELETE CASCADE,
        kind TEXT NOT NULL, content TEXT NOT NULL,
        digest BLOB NOT NULL, -- of the folded content
        created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
    )
    """,
    "CREATE INDEX memories_age ON memories (owner, created_at, id)",
    "CREATE INDEX memories_digest ON memories (owner, digest)",
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
    """
    CREATE VIRTUAL TABLE memory_text USING fts5 (
        owner, words, stems, -- the owner is a word to match, so that a search never sees another's rows
        tokenize = 'unicode61 remove_diacritics 2'
    )
    """,
)

_CALLS: Migration = (
    """
    CREATE TABLE calls (
        id INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        platform TEXT NOT NULL, user TEXT NOT NULL, -- '' where nobody's message caused it, or the person was forgotten
        mode TEXT NOT NULL, task TEXT NOT NULL, model TEXT NOT NULL, outcome TEXT NOT NULL,
        duration_s REAL NOT NULL, first_s REAL,
        input_tokens INTEGER, cached_tokens INTEGER, reasoning_tokens INTEGER, output_tokens INTEGER, -- NULL: unknown
        cost_usd REAL -- NULL: unknown
    )
    """,
    "CREATE INDEX calls_at ON calls (at)",
    "CREATE INDEX calls_user ON calls (platform, user)",
)

_PEOPLE: Migration = (
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
        PRIMARY KEY (platform, user)
    ) WITHOUT ROWID
    """,
)

_THREADS: Migration = (
    "ALTER TABLE threads ADD COLUMN title TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE threads ADD COLUMN policy TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE threads ADD COLUMN metadata TEXT NOT NULL DEFAULT '{}'",  # JSON
    "ALTER TABLE messages ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE messages ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0",
    # The tokens of the thread up to and with this message: what lies between two messages is one subtraction.
    "ALTER TABLE messages ADD COLUMN upto INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE messages ADD COLUMN duration_s REAL",
    "ALTER TABLE messages ADD COLUMN error TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE messages ADD COLUMN pair TEXT NOT NULL DEFAULT ''",
    """
    UPDATE messages SET sequence = old.place, tokens = old.cost, upto = old.total FROM (
        SELECT id, (length(content) + 10) / 4 AS cost, -- nobody counted; by characters it is near enough
            row_number() OVER thread AS place, sum((length(content) + 10) / 4) OVER thread AS total
        FROM messages WINDOW thread AS (PARTITION BY thread ORDER BY id)
    ) AS old WHERE old.id = messages.id
    """,
    "CREATE UNIQUE INDEX messages_sequence ON messages (thread, sequence)",
    "DROP INDEX messages_thread",
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
)

_DECISIONS: Migration = (
    "ALTER TABLE strangers ADD COLUMN name TEXT NOT NULL DEFAULT ''",
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
)

_PREFERENCES: Migration = (
    """
    CREATE TABLE preferences (
        platform TEXT NOT NULL, user TEXT NOT NULL,
        language TEXT NOT NULL, -- '' where it is that of what they write
        remembers INTEGER NOT NULL,
        PRIMARY KEY (platform, user)
    ) WITHOUT ROWID
    """,
)

FIRST: tuple[Migration, ...] = (_HISTORY, _INBOX, _MEMORIES, _CALLS, _PEOPLE, _THREADS, _DECISIONS, _PREFERENCES)
