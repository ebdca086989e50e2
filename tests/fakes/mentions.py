"""Labels of what people want to be reminded of when they mention something, and turns that mention nothing of it.

An entry of `tests/data/mention_*.json` has `say`, what is asked; `subject`, `text` and `each`, what is to be read of
that; `fires` and `silent`, what is said later. `held` are judged by hand: pairs of a subject and an ordinary turn that
mentions it.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from core.features.reminders.mentioned import Subjects
from core.features.reminders.on_mention import read_mention
from core.limited import likeness
from core.memory.embedding import Embedding
from core.text.unicode import fold
from core.types import Locale

DATA: Final = Path(__file__).parents[1] / "data"
HALVES: Final = ("mention_tune", "mention_report")
_EXAMPLES: Final = Path(likeness.__file__).with_name("examples")
_STEP: Final = 8
NOW: Final = datetime(2026, 11, 28, 10, tzinfo=UTC)
LOCALES: Final = {"pt": Locale.PT, "en": Locale.EN, "es": Locale.ES}
_FRONT: Final = re.compile(r"^(?:(?:de|do|da|lo del?|the|my|her|o|a|el|la|os|los|that|que)\s+)+")


@dataclass(frozen=True, slots=True)
class Half:
    """One half of the labels; `turns` are ordinary."""

    intents: Sequence[Mapping[str, Any]]
    held: frozenset[tuple[str, str]]
    turns: Sequence[str]

    @property
    def subjects(self) -> Sequence[str]:
        """What is to be mentioned, an entry each."""
        return [each["subject"] for each in self.intents]


def half(name: str) -> Half:
    """Return a half with its thousand turns: lines of the examples of limited mode, which knows nothing of mentions."""
    stored = json.loads((DATA / f"{name}.json").read_text("utf-8"))
    lines = [
        line.replace("\\n", "\n")
        for path in sorted(_EXAMPLES.glob("*.txt"))
        for line in path.read_text("utf-8").splitlines()
        if line and not line.startswith(("[", "#"))
    ]
    turns = lines[HALVES.index(name) * _STEP // 2 :: _STEP][:1000]
    return Half(stored["intents"], frozenset(map(tuple, stored["held"])), turns)


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a half: texts of what was not read, not fired, fired at a near miss, or at an ordinary turn."""

    unread: Sequence[str]
    missed: Sequence[tuple[str, str]]
    near: Sequence[tuple[str, str]]
    wrong: Sequence[tuple[str, str]]
    cpu_ms: float
    """Of an ordinary turn, with every subject of the half waiting; its own vector and those of its words made anew."""


async def judge(half: Half, embedding: Embedding, *, turns: Sequence[str] | None = None) -> Judged:
    """Read every request of a half, and compare its subjects with what is said later."""
    compare = Subjects()

    async def held(said: str, subjects: Sequence[str]) -> Sequence[tuple[str, str]]:
        found = await compare.mentioned(said, subjects, embedding)
        return [(subject, said) for subject, is_held in zip(subjects, found, strict=True) if is_held]

    missed, near = list[tuple[str, str]](), list[tuple[str, str]]()
    for each in half.intents:
        subject = each["subject"]
        missed += [(subject, said) for said in each["fires"] if not await held(said, [subject])]
        near += [pair for said in each["silent"] for pair in await held(said, [subject])]
    turns = half.turns if turns is None else turns
    await held("", half.subjects)
    began_s = time.process_time()
    fired = [pair for said in turns for pair in await held(said, half.subjects)]
    cpu_ms = (time.process_time() - began_s) / len(turns) * 1000
    unread = [each["say"] for each in half.intents if not _is_read(each)]
    return Judged(unread, missed, near, [pair for pair in fired if pair not in half.held], cpu_ms)


def _is_read(label: Mapping[str, Any]) -> bool:
    read = read_mention(label["say"], NOW, LOCALES[label["lang"]])
    if read is None:
        return False
    found = (bare(read.mention.subject), read.mention.each)
    return found == (bare(label["subject"]), label["each"]) and bare(label["text"]) in bare(read.text)


def bare(text: str) -> str:
    """Return a text for comparison: without case, accents, and words in front that say nothing."""
    return _FRONT.sub("", fold(text), count=1)
