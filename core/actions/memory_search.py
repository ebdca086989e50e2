"""MemorySearch (T9): search the person's memories for what the message needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.actions.action import Action
from core.answering.prompting import notes_on
from core.answering.search import CANDIDATE_FLOOR
from core.answering.turn import Turn
from core.dialogue import Outcome, Step, Task
from core.memory.timed import search_asked
from core.tasks import aside
from core.text import assertions
from core.text.catalogue import text
from core.text.pointing import asks_past
from core.text.unicode import clean
from core.types import MemoryHit

NAME = "MemorySearch"
MAX_QUERIES = 8
MAX_QUERY_CHARS = 300
MAX_HITS = 8
EVERYTHING = "*"
MAX_LISTED = 25

WHEN = (
    "Something must be looked up in the person's memory: what they ask about, what is not known of them, or the memory "
    "that they want changed or deleted. Not what this turn searched already."
)

QUERIES = """\
What to look for: short, isolated contexts, each a phrase of a few words that such a memory would be filed under, like \
"aliexpress password", in the person's own words and language. Leave out what the memories above answer. Just "*" \
lists everything that is kept."""

SEARCHING = text("actions.memory_search.searching")
EMBEDDING = text("actions.memory_search.embedding")
LOOKING_UP = text("actions.memory_search.looking_up")


@dataclass(frozen=True)
class Queries:
    """What to look for; `then` is "stop" if nothing is left after it but to answer, as a stepwise cycle is told."""

    items: list[str]
    then: Literal["stop", "continue"] = "continue"


async def run(turn: Turn, answer: Queries) -> Step:
    """Search, and recall what is found; what else is known of it goes into the step: notes of features, past words."""
    cleaned = (clean(query, MAX_QUERY_CHARS) for query in answer.items)
    queries = tuple(dict.fromkeys(query for query in cleaned if query))[:MAX_QUERIES]
    if not queries:
        return Step(NAME, Outcome.NOTHING, detail="there was nothing new to look for")
    hits: tuple[MemoryHit, ...] = ()
    if EVERYTHING in queries:
        await turn.answer.status(LOOKING_UP[turn.person.locale])
        items = tuple(await turn.memory.page(limit=MAX_LISTED))
    else:
        await turn.answer.status(EMBEDDING[turn.person.locale])
        asked = await aside(len(turn.asked.text), lambda: turn.search.asked_time)
        looked_for = turn.search.wordings(queries)
        vectors = await turn.memory.embed_queries(looked_for)
        await turn.answer.status(LOOKING_UP[turn.person.locale])
        past = any(map(asks_past, (turn.asked.text, *queries)))
        found = await search_asked(
            turn.memory, looked_for, vectors, asked, limit=MAX_HITS, floor=CANDIDATE_FLOOR, past=past
        )
        hits = await turn.search.with_passages(found)
        items = tuple(hit.item for hit in hits)
    quotes = await turn.search.find_quotes(queries, items) if EVERYTHING not in queries else ()
    turn.search.found += items
    if not turn.is_single:  # else what the answer turns out to rest on is recalled
        await turn.answer.recall(items, cited=False)
    notes = await notes_on(turn, queries)
    outcome = Outcome.DONE if items or notes or quotes else Outcome.NOTHING
    suffices = answer.then == "stop" and outcome is Outcome.DONE and not assertions.asks_to_write(turn.asked.text)
    return Step(NAME, outcome, queries, items, hits=hits, notes=notes, quotes=quotes, suffices=suffices)


MEMORY_SEARCH = Action(
    NAME,
    WHEN,
    run,
    arguments=Queries,
    instruction=QUERIES,
    example='{"items": ["..."], "then": "stop"}, with "continue" if the message wants something saved, changed or '
    "deleted, or anything else than an answer",
    status=SEARCHING,
    informs=True,
    task=Task.SEARCH_QUERIES,
)
