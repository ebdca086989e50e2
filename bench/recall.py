"""How well memory finds what was told, and says nothing otherwise. `python -m bench recall [OPTION ...]`.

--data PATH        a file of lives or of talks (bench/recall_data.py tells the forms) instead of this project's sets
--bindings WHICH   `given` by the data where there are any (the default), the bot's `own` as in limited mode, or `none`
--sizes N,N        memories a person: those of the life, padded (bench/recall_data.py) or chosen; 20,200,1000,5000

All goes through the door of the house: people save, and search, in a real database with the real embedder. R@1: the
first memory is right; R@5 and R@10: the share of the right ids among the first 5 and 10; MRR: one over the place of the
first right one, of 50. What a search costs, `bench memory` tells.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, fields
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from bench.recall_data import ADVERSARIAL, Held, Life, Question, padding, read
from bench.table import show
from core.clock import SystemClock
from core.library import new_search
from core.memory.memories import Memories
from core.memory.relation import Relation
from core.memory.user_memory import MAX_PHRASE_CHARS, UserMemory
from core.ports import Embedder
from core.providers.cached_embedder import CachedEmbedder
from core.providers.usem3 import Usem3Embedder
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.text.pointing import asks_past
from core.text.senses import bindings as own_bindings
from core.text.unicode import one_line
from core.text.words import folded_words
from core.types import NEAR, SURE, MemoryDraft, MemoryHit, MemoryKind, UserKey

if TYPE_CHECKING:
    from bench.peers import PeerHouse, PeerPerson

DATA: Final = Path(__file__).parents[1] / "tests" / "data"
SETS: Final = ("recall_tune.json", "recall_report.json")
SIZES: Final = (20, 200, 1_000, 5_000)
DEPTH: Final = 50
SHOWN: Final = 5
"""How many candidates a language model is shown."""

ACCEPTED: Final[Mapping[str, float]] = {"sure": SURE, "near": NEAR}
"""The ways in which the mind answers, the surest first, and the least certainty that each needs."""

OTHER_SUBJECT: Final = "other_subject"
"""The kind of unrelated questions for which something of that sort is known of another subject."""

_SEED = 7
_MAX_TEXTS = 1_000_000
_AT_ONCE = 500

Bindings = Callable[[Held], tuple[str, ...]]


def certainty(hits: Sequence[MemoryHit]) -> float:
    """Return how sure the bot is that the first hit answers; 0 without a hit."""
    return hits[0].chance if hits else 0.0


def accepted(sure: float) -> str:
    """Return the way in which something of that certainty is answered, "" for none."""
    return next((way for way, least in ACCEPTED.items() if sure >= least), "")


class Person:
    """Somebody whose memories are in the house."""

    def __init__(self, name: str, memory: UserMemory, bindings: Bindings) -> None:
        self.name = name
        self.memory = memory
        self._bindings = bindings
        self._ids: dict[str, frozenset[str]] = defaultdict(frozenset)

    async def tell(self, told: Sequence[Held], at_once: int = _AT_ONCE) -> int:
        """Save what is told, as the bot does, and return how many memories there are then.

        The turns of a talk are told one by one, so that each has one before it; what a life holds was told
        on many days.
        """
        drafts = [MemoryDraft(MemoryKind.TEXT, held.text, self._bindings(held)) for held in told]
        for start in range(0, len(drafts), at_once):
            few = drafts[start : start + at_once]
            resolved = await self.memory.save(few)
            saved = {_words(each.item.content): each.item.id for each in resolved}
            replaced = [each.item.id for each in resolved if each.relation is Relation.REPLACES]
            self._ids.update(dict.fromkeys(replaced, frozenset()))
            for held in told[start : start + at_once]:
                self._ids[saved.get(_words(held.text), "")] |= held.ids
        return await self.memory.count()

    async def search(self, question: str, limit: int = DEPTH) -> Sequence[MemoryHit]:
        """Return what is found, the best first, however unlikely."""
        return await self.memory.search([question], limit=limit, floor=0.0, past=asks_past(question))

    async def answer(self, question: Question) -> Answer:
        """Ask."""
        hits = await self.search(question.text)
        found = [Held(hit.item.content, hit.item.bindings, self._ids[hit.item.id]) for hit in hits]
        return Answer(question, found, certainty(hits))


def _words(text: str) -> str:
    """Return what two texts have in common that are one memory, however often it was said."""
    return " ".join(folded_words(text)) or text


@dataclass(frozen=True, slots=True)
class Answer:
    """What one way of finding made of a question: memories, the best first, and how sure it is of the first."""

    question: Question
    found: Sequence[Held]
    certainty: float

    @property
    def is_right(self) -> bool:
        """Whether the first one answers."""
        return self.share(1) > 0

    def share(self, first: int) -> float:
        """Return the share of the right ids among the first ones, 0..1."""
        ids = {id_ for held in self.found[:first] for id_ in held.ids}
        return len(ids & self.question.answers) / len(self.question.answers)

    def reciprocal(self) -> float:
        """Return one over the place of the first right one."""
        return next((1 / at for at, held in enumerate(self.found, 1) if held.ids & self.question.answers), 0.0)


@dataclass(frozen=True, slots=True)
class Asked:
    """Answers to questions, and to unrelated ones."""

    right: list[Answer] = field(default_factory=list)
    unrelated: list[Answer] = field(default_factory=list)


class House:
    """Memories in one database. `open` it within a stack that closes it."""

    def __init__(self, memories: Memories, bindings: Bindings) -> None:
        self._memories = memories
        self._bindings = bindings

    @classmethod
    async def open(
        cls,
        folder: Path,
        embedder: Embedder,
        stack: AsyncExitStack,
        which: str = "given",
    ) -> House:
        """Open a file in the folder."""
        database = await open_database(folder / "recall.db")
        stack.push_async_callback(database.close)
        store = SqlMemories(database)
        memories = Memories(store, embedder, new_search(store), SystemClock())
        stack.push_async_callback(memories.close)
        return cls(memories, lambda held: bound(held, which))

    def person(self, name: str, _language: str = "") -> Person:
        """Return one of that name."""
        return Person(name, self._memories.of(UserKey("bench", name)), self._bindings)


async def ask(person: Person | PeerPerson, life: Life, questions: Sequence[Question], asked: Asked) -> None:
    """Ask that person these questions of a life, and the unrelated ones."""
    for question in (*questions, *life.unrelated):
        (asked.right if question.answers else asked.unrelated).append(await person.answer(question))


def bound(held: Held, which: str) -> tuple[str, ...]:
    """Return the bindings under which a memory is saved."""
    if which == "none":
        return (one_line(held.text, MAX_PHRASE_CHARS),)
    return (held.bindings if which == "given" else ()) or own_bindings(held.text)


def groups(life: Life, size: int) -> Sequence[tuple[Sequence[Held], Sequence[Question]]]:
    """Deal the questions of a life out to people of `size` of its memories, who all have the answers to theirs.

    At least half of the memories answer none of the person's questions.
    """
    rng = random.Random(_SEED)
    left = rng.sample(life.questions, len(life.questions))
    dealt = []
    while left:
        kept: list[Question] = []
        needed: frozenset[str] = frozenset()
        for question in left:
            if not kept or len(needed | question.answers) <= size // 2:
                kept.append(question)
                needed |= question.answers
        others = [held for held in life.memories if not held.ids & needed]
        answering = [held for held in life.memories if held.ids & needed]
        chosen = answering + rng.sample(others, min(max(size - len(answering), 0), len(others)))
        dealt.append((rng.sample(chosen, len(chosen)), kept))
        left = [question for question in left if question not in kept]
    return dealt


async def sized(house: House | PeerHouse, lives: Sequence[Life], sizes: Sequence[int]) -> Mapping[int, Asked]:
    """Ask everybody at each size, the smallest first; 0 is everybody's own."""
    found = {}
    grown = {life.name: (house.person(life.name, life.language), list[Held]()) for life in lives}
    paddings = {life.name: padding(life) for life in lives}
    for size in sorted(sizes):
        found[size] = asked = Asked()
        for life in lives:
            if size and size < len(life.memories):
                for number, (memories, questions) in enumerate(groups(life, size)):
                    person = house.person(f"{life.name}-{size}-{number}", life.language)
                    await person.tell(memories)
                    await ask(person, life, questions, asked)
                continue
            person, memories = grown[life.name]
            own = () if memories else life.memories
            more = [*own, *islice(paddings[life.name], max(size - len(memories) - len(own), 0))]
            await person.tell(more, 1 if life.is_talk else _AT_ONCE)
            memories.extend(more)
            await ask(person, life, life.questions, asked)
    return found


@dataclass
class Played:
    """What became of the changes of one relation."""

    played: int = 0
    two_kept: int = 0
    earlier_shown: int = 0
    later_shown: int = 0
    later_first: int = 0
    old_found: int = 0


async def played(house: House, life: Life) -> Mapping[str, Played]:
    """Say the first of each change, then the second, to one who has the life's memories, and ask."""
    person = house.person(f"{life.name}-changes")
    known = await person.tell(life.memories)
    found: dict[str, Played] = defaultdict(Played)
    for change in life.changes:
        outcome = found[change.relation]
        await person.tell([Held(change.first)])
        now = await person.tell([Held(change.then)])
        hits = await person.search(change.question, SHOWN)
        shown = [hit.item.content for hit in hits if accepted(certainty([hit]))]
        outcome.played += 1
        outcome.two_kept += now - known == 2
        outcome.earlier_shown += change.first in shown
        outcome.later_shown += change.then in shown
        outcome.later_first += shown[:1] == [change.then]
        if change.old_question:
            old = await person.search(change.old_question, SHOWN)
            outcome.old_found += change.first in [hit.item.content for hit in old]
        known = now
    return found


def figures(answers: Sequence[Answer]) -> list[str]:
    """Return how many there are, R@1, R@5, R@10 and MRR."""
    if not answers:
        return ["0", "", "", "", ""]
    means = [
        np.mean([answer.is_right for answer in answers]),
        *(np.mean([answer.share(first) for answer in answers]) for first in (5, 10)),
        np.mean([answer.reciprocal() for answer in answers]),
    ]
    return [str(len(answers)), *(f"{100 * mean:.1f}" for mean in means)]


HEAD: Final = ("questions", "R@1", "R@5", "R@10", "MRR")


def show_kinds(title: str, found: Mapping[int, Asked]) -> None:
    """Print how well all is found, but for adversarial questions, then by kind and by language."""
    rows = []
    for size, asked in found.items():
        apart = [each for each in asked.right if each.question.kind != ADVERSARIAL]
        rows += [[_size(size), name, *figures(part)] for name, part in (("all", apart), *_parts(asked.right).items())]
    show(f"{title}: by kind and language", ("memories", "kind", *HEAD), rows)


def _parts(answers: Sequence[Answer]) -> Mapping[str, Sequence[Answer]]:
    """Return the answers by their kinds, and by their languages."""
    found: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        found[answer.question.kind].append(answer)
    if len(languages := {answer.question.language for answer in answers}) > 1:
        for language in sorted(languages):
            found[f"in {language}"] = [each for each in answers if each.question.language == language]
    return found


def show_accepted(title: str, found: Mapping[int, Asked]) -> None:
    """Print what is answered at the shipped acceptance: right, wrong, and where nothing should be."""
    rows = []
    kinds: Mapping[str, Sequence[Answer]] = {}
    for size, asked in found.items():
        kinds = _parts(asked.unrelated)
        for way in ACCEPTED:
            surer = [each for each in asked.right if accepted(each.certainty) == way]
            right = sum(each.is_right for each in surer)
            in_five = sum(each.share(SHOWN) > 0 for each in surer)
            total = len(asked.right)
            cells = [_percent(count, total) for count in (right, in_five, len(surer) - right)]
            cells += [
                _percent(sum(accepted(each.certainty) == way for each in part), len(part))
                for part in (asked.unrelated, *kinds.values())
            ]
            rows.append([_size(size), way, *cells])
    head = ("memories", "way", "right first", "right in five", "wrong first", "unrelated")
    show(f"{title}: answered", (*head, *(f"unrelated: {kind}" for kind in kinds)), rows)


def show_played(title: str, lives: Sequence[Mapping[str, Played]]) -> None:
    """Print what became of changes."""
    rows = []
    for relation in dict.fromkeys(name for life in lives for name in life):
        each = [life[relation] for life in lives if relation in life]
        names = [field.name for field in fields(Played)]
        rows.append([relation, *(str(sum(getattr(one, name) for one in each)) for name in names)])
    head = ("relation", "played", "two kept", "earlier shown", "later shown", "later first", "old found when asked for")
    show(f"{title}: one thing said, then another", head, rows)


def _size(size: int) -> str:
    return f"{size:,}" if size else "own"


def _percent(count: int, total: int) -> str:
    return f"{100 * count / total:.1f} %" if total else ""


async def judge(path: Path, house: House, options: Namespace) -> None:
    """Print all about one file."""
    lives = read(path)
    sizes = [0] if all(life.is_talk for life in lives) else options.sizes
    found = await sized(house, lives, sizes)
    show_kinds(path.name, found)
    if any(life.unrelated for life in lives):
        show_accepted(path.name, found)
    if any(life.changes for life in lives):
        show_played(path.name, [await played(house, life) for life in lives])


async def measure(folder: Path, options: Namespace) -> None:
    """Print all."""
    embedder = CachedEmbedder(Usem3Embedder(), max_texts=_MAX_TEXTS)
    for number, path in enumerate(options.data or [DATA / name for name in SETS]):
        async with AsyncExitStack() as stack:
            (of_file := folder / str(number)).mkdir()
            house = await House.open(of_file, embedder, stack, options.bindings)
            await judge(path, house, options)


def main(arguments: Sequence[str] = ()) -> None:
    """Measure, in a temporary folder."""
    parser = ArgumentParser("python -m bench recall", allow_abbrev=False)
    parser.add_argument("--data", type=Path, action="append")
    parser.add_argument("--bindings", choices=("given", "own", "none"), default="given")
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=SIZES)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder), parser.parse_args(arguments)))
