"""What conversation memory costs: contexts of short and endless threads, tokens sent over a long talk, what of them a
cache already has, counting errors.

Synthetic talk, a database on disk, no model: a summary is written here by cutting sentences to a fixed length.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from bench.table import show
from core.answering.prompts import SYSTEM, build
from core.clock import SystemClock
from core.dialogue import Prompt, PromptContext, Task
from core.history.conversation import Conversation, Conversations
from core.history.policy import NAMES, SUMMARY, HistoryLimits
from core.history.summary import Summarizer
from core.history.tokens import ByCharacters, ByWords, Calibration, O200k
from core.storage.database import Database
from core.storage.history import SqlHistory
from core.storage.sqlite import open_database
from core.threads import ThreadRecord
from core.types import ChatKey, ConversationKey, Locale, Message, MessageRole, Thread, UserKey
from tests.fakes.clock import FakeClock
from tests.fakes.model import ScriptedModel
from tests.reference.history import InMemoryHistory

SIZES = (100, 10_000, 100_000)
REPEATS = 200
TURNS = 200
CACHED_TURNS = 50
WINDOWS = (4_096, 16_384, 131_072)
LAST_PART = "<task>"
SUMMARY_WORDS = 120
WORDS = (
    "amanhã vou viajar para Lisboa com a Júlia e preciso guardar dinheiro porque o hotel custa caro mas a passagem "
    "ficou barata quando é mesmo o aniversário dela acho que maio então compro um presente antes e depois te conto"
).split()

ROOT = Path(__file__).parents[1]
EMOJI = "Parabéns!!! 🎉🎂🥳 te amo ❤️🐘 até já 👋🏽 kkk 😂😂 vamos? 🚗💨 não 😭 boa 👍🏽 "
PIECE_CHARS = 240


def main() -> None:
    """Print the tables."""
    asyncio.run(_contexts())
    asyncio.run(_sent())
    asyncio.run(_cached())
    _errors()


async def _contexts() -> None:
    rows = []
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            database = await open_database(Path(folder) / "bench.db")
            for name in NAMES:
                conversation = await _filled(database, size, name)
                shown = str(len((await conversation.context("")).messages))
                wall_ms = []
                for _ in range(REPEATS):
                    started = time.perf_counter()
                    await conversation.context("")
                    wall_ms.append((time.perf_counter() - started) * 1000)
                quantiles = statistics.quantiles(wall_ms, n=100)
                rows.append([f"{size:,}", name, shown, f"{quantiles[49]:.2f}", f"{quantiles[98]:.2f}"])
            await database.close()
    show("A context, ms of wall time", ["messages in the thread", "policy", "shown", "p50", "p99"], rows)


async def _filled(database: Database, size: int, name: str) -> Conversation:
    store, clock = SqlHistory(database), SystemClock()
    key = ConversationKey(ChatKey("bench", name), UserKey("bench", "ana"))
    now, dice = clock.now(), random.Random(1)
    talk = tuple(
        Message(
            MessageRole.ASSISTANT if at % 2 else MessageRole.USER,
            sentence(dice),
            at=now,
            turn=f"t{at // 2}",
            tokens=20,
        )
        for at in range(size)
    )
    thread = await store.restore(ThreadRecord(Thread(f"bench-{name}", key, now, now), talk))
    limits = HistoryLimits(policy=name, batch_tokens=1 << 30)
    if name == SUMMARY:
        model = ScriptedModel({Task.SUMMARY: _cut})
        await Summarizer(store, model, ByCharacters(), clock, limits).fold(thread.id)
    return await Conversations(store, clock, limits, system=SYSTEM).open(key)


async def _sent() -> None:
    everything = HistoryLimits("last-messages", max_messages=1 << 30, max_context_tokens=1 << 30)
    policies = {
        "everything": everything,
        **{name: HistoryLimits(name, max_context_tokens=1 << 30) for name in NAMES},
    }
    rows, whole = [], 0
    for name, limits in policies.items():
        sent = await _talk(limits)
        whole = whole or sum(sent)
        parts = [f"{sent[at]:,}" for at in (9, 49, 99, TURNS - 1)]
        rows.append([name, *parts, f"{sum(sent):,}", f"{sum(sent) / whole:.2f}"])
    head = ["policy", "turn 10", "turn 50", "turn 100", f"turn {TURNS}", "all turns", "to everything"]
    show(f"Tokens of one prompt's conversation, over a talk of {TURNS} turns", head, rows)


async def _talk(limits: HistoryLimits) -> Sequence[int]:
    with tempfile.TemporaryDirectory() as folder:
        database = await open_database(Path(folder) / "bench.db")
        store, clock, tokenizer = SqlHistory(database), SystemClock(), O200k()
        summarizer = Summarizer(store, ScriptedModel({Task.SUMMARY: _cut}), tokenizer, clock, limits)
        conversations = Conversations(store, clock, limits, tokenizer=tokenizer)
        conversation = await conversations.open(ConversationKey(ChatKey("bench", "c"), UserKey("bench", "ana")))
        dice, sent = random.Random(2), []
        for turn in range(TURNS):
            await conversation.add(Message(MessageRole.USER, sentence(dice), turn=f"t{turn}"))
            budget = (await conversation.context(f"t{turn}")).budget
            sent.append(budget.summary + budget.window + budget.memories)
            answer = " ".join(sentence(dice) for _ in range(2))
            await conversation.add(Message(MessageRole.ASSISTANT, answer, turn=f"t{turn}", in_history=False))
            if limits.policy == SUMMARY:
                await summarizer.fold(conversation.thread.id)
        await database.close()
    return sent


async def _cached() -> None:
    rows = []
    for window in WINDOWS:
        for name in NAMES:
            asked = await stable_parts(HistoryLimits(name, max_context_tokens=window))
            anew, share = resent(asked)
            tokens = sum(map(ByCharacters().count, asked)) // CACHED_TURNS
            rows.append([f"{window:,}", name, f"{tokens:,}", str(anew), f"{share:.0%}"])
    head = ["window", "policy", "tokens a prompt", "begun anew", "of the prompt before, sent again unchanged"]
    show(f"What a cache has of a talk of {CACHED_TURNS} turns: system text and conversation", head, rows)


def resent(asked: Sequence[str]) -> tuple[int, float]:
    """Return how many prompts do not begin with the one before, and the share of all those that the next repeats."""
    anew = sum(not after.startswith(before) for before, after in pairwise(asked))
    common = sum(_common(before, after) for before, after in pairwise(asked))
    return anew, common / sum(map(len, asked[:-1]))


def _common(one: str, other: str) -> int:
    places = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(places, min(len(one), len(other)))


async def stable_parts(limits: HistoryLimits) -> list[str]:
    """Return of each prompt of a talk all that comes before the part which changes from turn to turn.

    The last part has another length in each turn, and the model reports its tokens never quite the same.
    """
    store, clock, dice, calibration = InMemoryHistory(), FakeClock(), random.Random(3), Calibration()
    model = ScriptedModel({Task.SUMMARY: lambda _: sentence(dice, 60, 90)})
    most = limits.max_context_tokens
    summarizer = Summarizer(store, model, ByCharacters(), clock, limits, shown_in=lambda: calibration.room("a:1", most))
    conversations = Conversations(
        store, clock, limits, system=SYSTEM, calibration=calibration, model_of=lambda _: "a:1"
    )
    conversation = await conversations.open(ConversationKey(ChatKey("bench", "c"), UserKey("bench", "ana")))
    asked = []
    for turn in range(CACHED_TURNS):
        await clock.advance(60)
        await conversation.add(Message(MessageRole.USER, sentence(dice, 5, 40), turn=f"t{turn}"))
        last = sentence(dice, 60, 120)
        shown = await conversation.context(f"t{turn}", instruction=last)
        prompt = build(PromptContext(Task.FINISH, Locale.PT, "", clock.now(), history=shown.messages), shown, last)
        turns = "".join(f"\n[{turn.role.value}]\n{turn.text}" for turn in prompt.turns)
        asked.append((prompt.system + turns[: turns.rindex(LAST_PART)]).rstrip())
        calibration.observe("a:1", counted=1_000, reported=dice.randint(1_130, 1_170))
        answer = sentence(dice, 40, 180)
        await conversation.add(Message(MessageRole.ASSISTANT, answer, turn=f"t{turn}", in_history=False))
        if limits.policy == SUMMARY:
            await summarizer.fold(conversation.thread.id)
    return asked


def _errors() -> None:
    exact, by_characters, by_words = O200k(), ByCharacters(), ByWords()
    rows = []
    for name, pieces in _samples().items():
        truth = sum(exact.count(piece) for piece in pieces[1::2])
        calibration = Calibration()
        for piece in pieces[::2]:
            calibration.observe("m", counted=by_characters.count(piece), reported=exact.count(piece))
        ruled = [sum(rule.count(piece) for piece in pieces[1::2]) for rule in (by_characters, by_words)]
        errors = [(estimate - truth) / truth for estimate in (*ruled, ruled[0] * calibration.ratio("m"))]
        rows.append([name, f"{truth:,}", *(f"{error:+.0%}" for error in errors)])
    head = ["text", "o200k tokens", "by characters", "by words", "by characters, learnt from the other half"]
    show("Error of the estimates against the exact count", head, rows)


def _samples() -> dict[str, list[str]]:
    """Return pieces of everyday size: messages to the bot, this project's own pages and code, and a heap of emoji."""
    texts = {
        "Portuguese": "".join(path.read_text("utf-8") for path in (ROOT / "core/limited/examples").glob("*pt*")),
        "English": "".join(path.read_text("utf-8") for path in sorted((ROOT / "docs").glob("*.md"))),
        "code": "".join(path.read_text("utf-8") for path in sorted((ROOT / "core/history").glob("*.py"))),
        "emoji": EMOJI * 40,
    }
    return {
        name: [text[at : at + PIECE_CHARS] for at in range(0, min(len(text), 20_000), PIECE_CHARS)]
        for name, text in texts.items()
    }


def sentence(dice: random.Random, least: int = 5, most: int = 30) -> str:
    """Return some words at random."""
    return " ".join(dice.choices(WORDS, k=dice.randint(least, most)))


def _cut(prompt: Prompt) -> str:
    words = " ".join((prompt.context.message, *(message.text for message in prompt.context.history))).split()
    return " ".join(dict.fromkeys(words[-SUMMARY_WORDS:]))


if __name__ == "__main__":
    main()
