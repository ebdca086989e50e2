"""A database with distinctive words in every column that is sealed, and the search for them in bytes, packed or not."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np
import psycopg

from core.storage.database import Query
from core.storage.files import owner_name, write_file
from core.storage.lexicon import index_terms
from core.storage.record import digest, to_blob
from core.types import MemoryKind, UserKey

PEOPLE: Final = (UserKey("telegram", "1"), UserKey("discord", "2"), UserKey("console", "ana"))
AT: Final = 1_700_000_000_000_000


def canary(name: str, person: int, number: int) -> str:
    """Return a text that stands nowhere else; its words are their own stems."""
    return f"zq{name}{person}x{number}canary"


def filled(query: Query, rows: int) -> None:
    """Write `rows` rows of every kind for each of PEOPLE, as they are without a key."""
    run = query.run
    [(space,)] = run("INSERT INTO spaces (name) VALUES ('test') RETURNING id")
    for person, user in enumerate(PEOPLE):
        [(owner,)] = run('INSERT INTO owners (platform, "user") VALUES (?, ?) RETURNING id', user_of(user))
        run("INSERT INTO places (platform, \"user\", room) VALUES (?, ?, '') RETURNING id", user_of(user))
        thread = f"thread-{person}"
        run(
            'INSERT INTO threads (id, platform, chat, topic, "user", created_at, updated_at, status, title, metadata) '
            "VALUES (?, ?, 'c', '', ?, 1, 1, 'active', ?, ?)",
            (thread, *user_of(user), canary("title", person, 0), json.dumps({"a": canary("meta", person, 0)})),
        )
        for number in range(rows):
            _memory(query, (owner, space), person, number)
            _message(query, thread, person, number)
            _features(query, user, person, number)


def _memory(query: Query, of: tuple[int, int], person: int, number: int) -> None:
    run, (owner, space) = query.run, of
    content, key = canary("memory", person, number), f"m{person}-{number}"
    [(memory,)] = run(
        "INSERT INTO memories (key, owner, kind, content, digest, created_at, updated_at, meant) "
        "VALUES (?, ?, 'text', ?, ?, 1, 1, ?) RETURNING id",
        (key, owner, content, digest(MemoryKind.TEXT, content), canary("meant", person, number)),
    )
    [(phrase,)] = run(
        "INSERT INTO phrases (memory, owner, text, position) VALUES (?, ?, ?, 0) RETURNING id", (memory, owner, content)
    )
    vector = to_blob(np.frombuffer(hashlib.sha256(content.encode()).digest(), np.uint8).astype(np.float32))
    run("INSERT INTO vectors (phrase, space, vector) VALUES (?, ?, ?)", (phrase, space, vector))
    for term in index_terms([content]):
        run("INSERT INTO terms (account, term, memory) VALUES (?, ?, ?)", (owner, term, memory))
    run(
        "INSERT INTO changes (owner, act, kind, at, key, before, after) VALUES (?, ?, 'edited', 1, ?, ?, NULL)",
        (owner, f"act-{number}", key, json.dumps({"content": canary("change", person, number)})),
    )


def _message(query: Query, thread: str, person: int, number: int) -> None:
    run = query.run
    [(message,)] = run(
        "INSERT INTO messages (thread, role, modal, in_history, content, turn, source_id, memory_id, sequence) "
        "VALUES (?, 'user', 'text', 1, ?, ?, '', '', ?) RETURNING id",
        (thread, json.dumps(canary("message", person, number)), f"turn-{number}", number),
    )
    run(
        "INSERT INTO message_terms (place, term, message) VALUES (?, ?, ?)",
        (person + 1, canary("term", person, number), message),
    )
    run(
        "INSERT INTO summaries (thread, through, after, text, tokens, model) VALUES (?, ?, 0, ?, 1, 'm')",
        (thread, number, canary("summary", person, number)),
    )


def _features(query: Query, user: UserKey, person: int, number: int) -> None:
    run = query.run
    run(
        "INSERT INTO inbox (platform, chat, topic, message_id, \"user\", payload) VALUES (?, ?, '', ?, ?, ?)",
        (user.platform, str(user.user), str(number), user.user, json.dumps({"text": canary("owed", person, number)})),
    )
    run(
        'INSERT INTO reminders (id, platform, "user", chat, topic, private, name, text, kind, language, wall, zone, '
        "rule, guessed, state, tries, failures, created, batch, before, mention) "
        "VALUES (?, ?, ?, 'c', '', 1, 'Ana', ?, '', 'en', '', '', '', 0, 'x', 0, 0, 0, '', '', ?)",
        (f"r{person}-{number}", *user_of(user), canary("remind", person, number), canary("mention", person, number)),
    )


def user_of(user: UserKey) -> tuple[str, str]:
    """Return the platform and the user, as a row has them."""
    return (str(user.platform), str(user.user))


def with_files(folder: Path, files: int) -> list[bytes]:
    """Write files of each of PEOPLE into a folder, and return their contents."""
    contents = []
    for person, user in enumerate(PEOPLE):
        for number in range(files):
            contents.append(canary("file", person, number).encode() * 40)
            name = hashlib.sha256(contents[-1]).hexdigest()
            write_file(folder, owner_name(user), name, contents[-1], AT / 1e6)
    return contents


def words_in(paths: Iterable[Path]) -> int:
    """Return how many different canaries stand in the files, or below the folders."""
    files = (each for path in paths for each in ([path] if path.is_file() else sorted(path.rglob("*"))))
    held = (re.findall(rb"zq[a-z]+\d+x\d+canary", path.read_bytes().lower()) for path in files if path.is_file())
    return len({word for words in held for word in words})


def found(paths: Iterable[Path], *, word: bytes = b"canary") -> list[str]:
    """Return in which of the files, or below which of the folders, the word stands, in ASCII letters of any case."""
    files = [each for path in paths for each in ([path] if path.is_file() else sorted(path.rglob("*")))]
    return [str(path) for path in files if path.is_file() and word in path.read_bytes().lower()]


def rows_found(url: str) -> int:
    """Return how many rows of a PostgreSQL database hold a canary in the clear."""
    count = 0
    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        for (table,) in tables:
            sql = f"SELECT count(*) FROM \"{table}\" AS t WHERE t::text ILIKE '%canary%'"  # noqa: S608
            count += connection.execute(sql.encode()).fetchall()[0][0]
    return count


def content(path: Path) -> bytes:
    """Return the bytes of a file, of a ZIP archive those of all its entries."""
    if not zipfile.is_zipfile(path):
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        return b"".join(archive.read(name) for name in archive.namelist())
