"""Whatever reads people's text takes time in step with its length, whatever the text is made of.

Work is measured as CPU of the reading thread at two lengths, the least of several runs: four times the text may take a
little more than four times as long, and never sixteen times.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from asyncio import events
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pytest

from adapters.console.channel import Layout
from adapters.discord import markup as discord
from adapters.telegram import markup as telegram
from core.delivery.split import split
from core.dialogue import Task
from core.errors import ProviderDown
from core.history.tokens import ByCharacters, ByWords
from core.limited import LimitedMind, change, cutting, frames, likeness, values
from core.tasks import FEW_CHARS, aside
from core.text import assertions, language, marks, replies, senses, unicode, words
from core.text.markdown import plain_times, verbatim
from core.times import said
from core.types import Locale, Vectors
from tests.fakes.clock import START
from tests.fakes.house import House
from tests.fakes.model import HashEmbedder
from tests.profile import long

_PIECES: Final = {
    "numbers": "1. ",
    "numbered lines": "1. x\n",
    "one letter": "a",
    "letters": "a ",
    "words": "palavra ",
    "bullets": "- ",
    "bulleted lines": "- x\n",
    "nested bullets": "  - ",
    "fences": "```",
    "fence lines": "```\n",
    "tildes": "~~~\n",
    "backticks": "` ",
    "stars": "**",
    "star words": "*a ",
    "underscores": "_",
    "underscore words": "_a_ ",
    "newlines": "\n",
    "blank lines": "a\n\n",
    "spaced lines": "a \n \n",
    "brackets": "(",
    "square brackets": "[",
    "links": "[a](",
    "half links": "](",
    "images": "![",
    "tags": "<",
    "closing tags": "</a>",
    "tag names": "<task>",
    "at signs": "@",
    "mentions": "@a ",
    "hashes": "# ",
    "quotes": "> ",
    "quoted": "“a” ",
    "double quotes": '"',
    "bars": "||",
    "table": "|a|b\n",
    "table rules": "|-",
    "dollars": "$",
    "backslashes": "\\",
    "entities": "&amp;",
    "accents": "é",
    "marks": "e\u0301\u0302",
    "only marks": "\u0301",
    "family": "👨\u200d👩\u200d👧",
    "flags": "🇧🇷",
    "emoji": "🐘",
    "joiners": "\u200d",
    "key and value": "x: ",
    "colons": ":",
    "commas": ", ",
    "semicolons": ";",
    "full stops": ".",
    "sentences": "a. ",
    "questions": "a? ",
    "question marks": "?",
    "exclamations": "!",
    "inverted marks": "¿",
    "dashes": "-",
    "long dashes": "— ",
    "equals": "= ",
    "digits": "7",
    "digit groups": "1 ",
    "conjunctions": "e ",
    "and": " and ",
    "prepositions": "de ",
    "remember": "lembre que ",
    "remember that": "remember that ",
    "my": "my x is y, ",
    "polite": "por favor ",
    "please": "please ",
    "greetings": "oi, ",
    "delete": "apague ",
    "change": "mudou para ",
    "actually": "na verdade ",
    "not": "não ",
    "mixed languages": "the o la and e y ",
    "German": "Ich weiß nicht, ",
    "Japanese": "私は東京に住んでいます。",
    "one Japanese letter": "東",
    "Russian": "я не знаю ",
    "Arabic": "لا أعرف ",
    "Thai": "ฉันไม่รู้",
    "Korean": "모르겠어요 ",
    "addresses": "https://a.b/",
    "mails": "a@b.c ",
    "paths": "../",
    "json": '{"a":',
    "json lists": "[1,",
    "commands": "/x ",
    "tabs": "\t",
    "spaces": "a" + " " * 50,
    "capitals": "ABC",
    "percent": "%s",
    "braces": "{}",
    "code": "x = f(y)\n",
    "noncharacters": "\ufdd0",
}


def hostile(length: int) -> dict[str, str]:
    """Return every text, by what it is made of; exactly that long."""
    return {name: (piece * (length // len(piece) + 1))[:length] for name, piece in _PIECES.items()}


@dataclass
class LoopTime:
    """CPU of the steps: the longest one, and all of them, in seconds."""

    longest_s: float = 0.0
    all_s: float = 0.0


@contextmanager
def watched() -> Iterator[LoopTime]:
    """Measure every step that the running loop takes from its next one on, without collections of garbage."""
    found, run = LoopTime(), events.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        began_s = time.thread_time()
        run(handle)
        cost_s = time.thread_time() - began_s
        found.longest_s, found.all_s = max(found.longest_s, cost_s), found.all_s + cost_s

    gc.collect()
    gc.disable()
    events.Handle._run = timed  # type: ignore[method-assign, assignment]
    try:
        yield found
    finally:
        events.Handle._run = run  # type: ignore[method-assign]
        gc.enable()


SHORT, LONG = 2_000, 8_000
LEAST_S = 0.004  # less is as good as nothing
FACTOR = 12.0  # of 4 if it is linear, of 16 if it is quadratic; coverage makes some readers dearer
RUNS = 5

READERS: dict[str, Callable[[str], Any]] = {
    "clean": unicode.clean,
    "fold": unicode.fold,
    "one line": partial(unicode.one_line, max_chars=10**6),
    "language": language.spoken,
    "folded words": words.folded_words,
    "quoted": marks.quoted,
    "verbatim": verbatim,
    "tokens by characters": ByCharacters().count,
    "tokens by words": ByWords().count,
    "parts of a message": partial(split, max_chars=2000),
    "Discord's parts": partial(split, max_chars=2000, measure=discord.measure),
    "Discord's marks": lambda text: discord._written(f"|| [x](time:1) {text}"),
    "times": lambda text: plain_times(f"[x](time:1) {text}"),
    "Discord's text": discord._sendable,
    "the terminal": lambda text: Layout(79, colour=True).rows(text),
    "a wish to keep": frames.kept_from,
    "a closing wish to keep": frames.kept_until,
    "a wish to delete": frames.removed,
    "a question": partial(frames.has, "asks"),
    "small talk": frames.talk,
    "a thing for a list": frames.listed,
    "sentences": lambda text: list(cutting.sentences(text)),
    "values": values.values,
    "a swap of values": lambda text: values.swapped(text, text[1:]),
    "a change": lambda text: change.changes(text, [], []),
    "bindings": senses.bindings,
    "queries": senses.queries,
    "flat": unicode.flat,
    "subject": senses.subject,
    "senses": senses.senses,
    "looked into": lambda text: senses.MemoryWords(text, ()),
    "wording": lambda text: likeness.worded([text]),
    "a yes": replies.means_yes,
    "a no": replies.means_no,
    "what is asked for": assertions.asked,
    "what is claimed": assertions.asserted,
    "what is volunteered": lambda text: assertions.volunteered(text, assertions.Occasion(text)),
    "what is left without claims": assertions.without,
    "a word of undoing": replies.means_undo,
    "a yes to deleting": partial(replies.means_yes, to=replies.Doing.DELETE),
    "both": replies.means_both,
    "the time that is asked for": lambda text: said.asked(text, START, Locale.EN),
    "the day that is meant": lambda text: said.meant(text, START, Locale.EN),
    "the end that is named": lambda text: said.until(text, START, Locale.EN),
    "what is denied": assertions.denied,
    "what is settled": assertions.settled,
}


def cost_s(read: Callable[[str], Any], text: str, runs: int) -> float:
    """Return the CPU of reading it, the least of so many runs."""
    costs = []
    for _ in range(runs):
        began_s = time.thread_time()
        read(text)
        costs.append(time.thread_time() - began_s)
    return min(costs)


def too_steep(read: Callable[[str], Any], short: str, long: str) -> float:
    """Return by what the cost grows where that is more than the text does, else 0."""
    if cost_s(read, long, 1) < LEAST_S * FACTOR:
        return 0.0
    growth = cost_s(read, long, RUNS) / max(cost_s(read, short, RUNS), LEAST_S)
    return growth if growth > FACTOR else 0.0


@pytest.mark.long
@pytest.mark.parametrize("name", READERS)
def test_reading_takes_time_in_step_with_the_length(name: str) -> None:
    gc.disable()
    try:
        short, long = hostile(SHORT), hostile(LONG)
        steep = {made_of: too_steep(READERS[name], short[made_of], long[made_of]) for made_of in short}
    finally:
        gc.enable()
    assert not {made_of: round(growth) for made_of, growth in steep.items() if growth}


@pytest.mark.long
@pytest.mark.parametrize("made_of", ["words", "numbers", "spaced lines", "tags"])
def test_cutting_for_telegram_takes_time_in_step_with_the_length(made_of: str) -> None:
    def parts(text: str) -> None:
        split(text, telegram.ROOM, lambda part: telegram.render(part).size)

    short, long = (hostile(length)[made_of] for length in (16_000, 64_000))  # both of several messages
    assert cost_s(parts, long, 3) < FACTOR * max(cost_s(parts, short, 3), 0.02)


class NoEmbedder(HashEmbedder):
    """One that is down: what the examples would tell is not what is measured."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        raise ProviderDown(f"{len(texts)} texts not read")


async def turn_s(mind: LimitedMind, text: str) -> float:
    """Return the CPU of a whole turn in limited mode."""
    house = House()
    for mode in (house.models.heavy, house.models.reasoning, house.models.chat):
        mode.model = mind  # type: ignore[attr-defined]  # a HotModel
    async with house.chatbot() as chatbot:
        began_s = time.process_time()
        await (await chatbot.receive(house.incoming(text), house.channel()))
        return time.process_time() - began_s


MADE_OF = ("numbers", "numbered lines", "my", "tabs", "accents", "fence lines")


@pytest.mark.parametrize("lead", ["", "Lembre que "])
@pytest.mark.parametrize("made_of", ["commas", *map(long, MADE_OF)])
async def test_a_whole_turn_takes_time_in_step_with_the_length(lead: str, made_of: str) -> None:
    short, long = (lead + hostile(length)[made_of] + "." for length in (7_500, 30_000))
    mind = LimitedMind(NoEmbedder())
    growth = min([await turn_s(mind, long) for _ in range(3)]) / max(
        min([await turn_s(mind, short) for _ in range(3)]), 0.02
    )
    assert growth < FACTOR


HELD_UP = ("accents", "letters", "Korean", "one Japanese letter")
CLAIMING = "I have saved it! All done, and noted: your cat is now called x y x y. " * 4


@pytest.mark.parametrize("lead", ["", "my code is now "])
@pytest.mark.parametrize("made_of", [name if name in HELD_UP else long(name) for name in hostile(1)])
async def test_no_step_of_a_turn_holds_others_up_while_a_model_answers_piece_by_piece(lead: str, made_of: str) -> None:
    house = House({Task.DECIDE: ["Finish"], Task.FINISH: [CLAIMING]})
    async with house.chatbot() as chatbot:
        await (await chatbot.receive(house.incoming("oi", message_id="0"), house.channel()))
        text = f"{lead}{hostile(32_000)[made_of]}"[:32_000]
        with watched() as loop:
            await (await chatbot.receive(house.incoming(text), house.channel()))
    assert loop.longest_s < 0.1, (
        "CPU of the loop's thread: twice the aim, for coverage; a fold of the message a piece cost 0.5 to 1.2 s"
    )


async def test_what_is_long_is_read_outside_the_event_loop() -> None:
    assert await aside(FEW_CHARS, threading.get_ident) == threading.get_ident()
    assert await aside(FEW_CHARS + 1, threading.get_ident) != threading.get_ident()
