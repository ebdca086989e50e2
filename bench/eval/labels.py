"""The labelled turns: what a person has stored, what they write, and what a careful secretary would do.

`tests/data/eval_tune.json` and `tests/data/eval_report.json` are two halves by theme: prompts are written with the
first in view; of the second only figures are looked at.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from core.enclosures import Attachment, AttachmentKind, Quote, QuoteKind, Speaker

DATA: Final = Path(__file__).parents[2] / "tests" / "data"
HALVES: Final = ("tune", "report")

Phrases = Sequence[Sequence[str]]
"""Groups of phrases: of each group, one has to be there."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A memory that the person has."""

    text: str
    bindings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """The words that a saved or changed memory has to hold (`has`), and those that it must not hold (`lacks`)."""

    has: Phrases = ()
    lacks: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Changes:
    """A way in which the person's memories may rightly change: all of this, and nothing else.

    `saved` is about the new memories together, `count` how many they may be, from and to. `updated` maps a memory's
    key to what it has to hold then.
    """

    saved: Written | None = None
    count: tuple[int, int] = (0, 0)
    updated: Mapping[str, Written] = field(default_factory=dict)
    deleted: frozenset[str] = frozenset()

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Changes:
        """Read the form in the file."""
        saved, updated = value.get("saved"), value.get("updated")
        return cls(
            None if saved is None else _written(saved),
            (0, 0) if saved is None else (saved["count"][0], saved["count"][1]),
            {} if updated is None else {updated["memory"]: _written(updated)},
            frozenset(value.get("deleted", ())),
        )


@dataclass(frozen=True, slots=True)
class Label:
    """One turn.

    `memories` are by key; `earlier` are (role, text), or ("memory", key) for one that was recalled. `first` are the
    first actions that are right; `recalls`, that an answer straight from these memories is right, too. `data` are the
    ways in which the memories may change. The answer has to hold `says`, must not hold `says_not`, and if `denies`,
    has to say that something is not known.
    """

    id: str
    category: str
    lang: str
    message: str
    first: tuple[str, ...]
    memories: Mapping[str, Stored]
    earlier: Sequence[tuple[str, str]]
    quotes: tuple[Quote, ...]
    attachments: tuple[Attachment, ...]
    recalls: tuple[str, ...]
    data: Sequence[Changes]
    says: Phrases
    says_not: Sequence[str]
    denies: bool

    @property
    def known(self) -> str:
        """All that the bot could know the numbers of: the message, what came with it, and the memories."""
        quoted = (quote.text for quote in self.quotes)
        stored = (memory.text for memory in self.memories.values())
        said = (text for _, text in self.earlier)
        wanted = (phrase for group in self.says for phrase in group)
        return " ".join((self.message, *quoted, *stored, *said, *wanted))


def load(half: str) -> list[Label]:
    """Return the turns of a half, `tune` or `report`."""
    found = json.loads((DATA / f"eval_{half}.json").read_text("utf-8"))
    return [_label(turn, found["lives"]) for turn in found["turns"]]


def sample(labels: Iterable[Label], limit: int) -> list[Label]:
    """Return `limit` turns at most, of every category in turn: always the same for the same labels."""
    groups: defaultdict[str, list[Label]] = defaultdict(list)
    for label in sorted(labels, key=lambda label: sha256(label.id.encode()).digest()):
        groups[label.category].append(label)
    rounds = max(map(len, groups.values()), default=0)
    mixed = [group[at] for at in range(rounds) for group in groups.values() if at < len(group)]
    return mixed[:limit]


def _label(turn: Mapping[str, Any], lives: Mapping[str, Mapping[str, Any]]) -> Label:
    memories = {**lives.get(turn.get("life", ""), {}), **turn.get("memories", {})}
    return Label(
        id=turn["id"],
        category=turn["category"],
        lang=turn["lang"],
        message=turn["message"],
        first=tuple(turn["first"]),
        memories={key: Stored(each["text"], tuple(each["bindings"])) for key, each in memories.items()},
        earlier=[(role, text) for role, text in turn.get("earlier", ())],
        quotes=tuple(
            Quote(QuoteKind(quote["kind"]), quote["text"], Speaker(quote["speaker"]), quote["name"])
            for quote in turn.get("quotes", ())
        ),
        attachments=tuple(
            Attachment(AttachmentKind(each["kind"]), each["name"]) for each in turn.get("attachments", ())
        ),
        recalls=tuple(turn.get("recalls", ())),
        data=[Changes.of(each) for each in turn.get("data", ({},))],
        says=turn.get("says", ()),
        says_not=turn.get("says_not", ()),
        denies=turn.get("denies", False),
    )


def _written(value: Mapping[str, Any]) -> Written:
    return Written(value["has"], value["lacks"])
