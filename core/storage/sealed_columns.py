"""Every column that is sealed, with whose its values are and what names their row: what converts a database goes by it.

The stores name the same columns and rows when they seal; a test of each entry reads through them what was converted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from core.sealing.port import BOT

Kind: TypeAlias = Literal["text", "bytes", "word", "digest"]
"""How a value is sealed: by `Sealing.seal`, `seal_bytes`, `hashed`, or `digest`. The last two cannot be undone."""


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """A column whose values are sealed. All SQL is about a row `t`, and what both engines take.

    `key`: columns that find a row, never sealed themselves. Rows with one key are converted together: the terms of one
        memory share one. They are gone through in the key's order.
    `row`: SQL of the parts that name the row to the sealing, which are joined by "|"; none for `word` and `digest`.
    `owned`: SQL of the platform and user by whose key it is sealed; `joined` is what `row` and `owned` need, the same
        for all columns of a table. It leaves no row of `t` out.
    `only`: SQL of which rows hold words of a person at all; "" for all of them.
    `is_key`: rows with one `key` are told apart by this column.
    """

    table: str
    column: str
    kind: Kind
    key: tuple[str, ...]
    row: tuple[str, ...] = ()
    owned: str = 't.platform, t."user"'
    joined: str = ""
    only: str = ""
    is_key: bool = False

    @property
    def name(self) -> str:
        """What the sealing knows the column as."""
        return f"{self.table}.{self.column}"


_SAID: Final = 'o.platform, o."user"'
_MEMORY: Final = "LEFT JOIN owners AS o ON o.id = coalesce(t.account, t.owner)"
_OF_MEMORY: Final = (
    "LEFT JOIN memories AS m ON m.id = t.memory LEFT JOIN owners AS o ON o.id = coalesce(m.account, m.owner)"
)
_OF_PHRASE: Final = (
    "LEFT JOIN phrases AS p ON p.id = t.phrase LEFT JOIN memories AS m ON m.id = p.memory "
    "LEFT JOIN owners AS o ON o.id = coalesce(m.account, m.owner)"
)
_THREAD: Final = "LEFT JOIN threads AS o ON o.id = t.thread"

_NAMED: Final = "o.platform != ''"
"""A thread without is one of a person who was forgotten: it goes with what is in it."""

MEMORIES: Final = (
    *(
        SealedColumn("memories", column, "text", ("id",), ("o.id", "t.key"), _SAID, _MEMORY)
        for column in ("content", "meant", "enclosed")
    ),
    SealedColumn("memories", "digest", "digest", ("id",), (), _SAID, _MEMORY),
    SealedColumn("phrases", "text", "text", ("id",), ("t.memory",), _SAID, _OF_MEMORY),
    SealedColumn("vectors", "vector", "bytes", ("phrase", "space"), ("t.phrase", "t.space"), _SAID, _OF_PHRASE),
    *(
        SealedColumn("changes", column, "text", ("id",), ("o.id", "t.key", "t.act"), _SAID, _MEMORY)
        for column in ("before", "after", "enclosed")
    ),
    SealedColumn(
        "terms",
        "term",
        "word",
        ("account", "memory"),
        owned=_SAID,
        joined="LEFT JOIN owners AS o ON o.id = t.account",
        is_key=True,
    ),
    SealedColumn(
        "told_memories",
        "version",
        "text",
        ("message", "memory"),
        ("t.message", "t.memory"),
        _SAID,
        _THREAD,
        _NAMED,
        is_key=True,
    ),
)
"""Memories, and what they are found and undone by."""

_OF_MESSAGE: Final = ("t.thread", "t.turn", "t.role", "coalesce(CAST(t.at AS TEXT), '')")
_OF_CONVERSATION: Final = ("t.platform", "t.chat", "t.topic", 't."user"')
HISTORY: Final = (
    *(
        SealedColumn("messages", column, "text", ("id",), _OF_MESSAGE, _SAID, _THREAD, _NAMED)
        for column in ("content", "enclosed", "question", "offered")
    ),
    SealedColumn("summaries", "text", "text", ("thread", "through"), ("t.thread", "t.through"), _SAID, _THREAD, _NAMED),
    *(
        SealedColumn("threads", column, "text", ("id",), ("t.id",), only="t.platform != ''")
        for column in ("title", "metadata")
    ),
    SealedColumn(
        "message_terms",
        "term",
        "word",
        ("place", "message"),
        owned=_SAID,
        joined="LEFT JOIN places AS o ON o.id = t.place",
        is_key=True,
    ),
    *(
        SealedColumn("inbox", column, "text", ("id",), ("t.platform", "t.chat", "t.topic", "t.message_id"))
        for column in ("payload", "done")
    ),
)
"""What was said, and what is owed."""

_BOTS: Final = f"'{BOT.platform}', '{BOT.user}'"

FEATURES: Final = (
    *(SealedColumn("reminders", column, "text", ("id",), ("t.id",)) for column in ("text", "before", "mention")),
    *(
        SealedColumn(table, column, "text", ("platform", "chat", "topic", "user"), _OF_CONVERSATION)
        for table, column in (("awaited", "command"), ("confirmations", "data"))
    ),
    SealedColumn(
        "broadcasts",
        "text",
        "text",
        ("id",),
        ("t.at",),
        f"CASE WHEN t.state = 'draft' THEN t.platform ELSE '{BOT.platform}' END, "
        f"CASE WHEN t.state = 'draft' THEN t.\"user\" ELSE '{BOT.user}' END",
    ),
    SealedColumn("decided", "value", "text", ("matter", "name"), ("t.matter", "t.name"), _BOTS),
    *(
        SealedColumn("decisions", column, "text", ("id",), ("t.at", "t.matter"), _BOTS)
        for column in ("before", "after")
    ),
)
"""What features keep of a person's words, and what the bot says for its owners."""

SEALED_COLUMNS: Final = MEMORIES + HISTORY + FEATURES
