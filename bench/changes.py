"""What becomes of changes that people tell, and of questions about neighbours of what they told.

`python -m bench changes` reads tests/data/updates_tune.toml, by which rules are chosen; `--report` reads the file that
is only measured; `--show` prints each case that went wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import tomllib
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Final

from bench import table
from bench.recall_data import notes
from core.library import open_memory
from core.limited import LimitedMind
from core.memory.relation import Relation
from core.providers.usem3 import Usem3Embedder
from core.text.language import choose
from core.text.senses import bindings
from core.text.unicode import flat
from core.types import SURE, Locale, MemoryDraft, MemoryKind
from tests.fakes.house import ANA, House
from tests.fakes.secretary import DATA, Said, Secretary, Wants, secretary

TUNE, REPORT = DATA / "updates_tune.toml", DATA / "updates_report.toml"
_REMEMBER: Final = {Locale.PT: "lembra que", Locale.EN: "remember that", Locale.ES: "recuerda que"}
_MARKS: Final = ("before", "antes", "until", "ate ", "hasta")
_UNSURE: Final = ("not sure", "nao tenho certeza", "no estoy segur")
_NOTHING: Final = ("not what you", "nao o que voce", "no lo que", "did not find", "nao achei", "no encontre")
_OTHERS: Final = 100
"""Memories of other people among which questions over two memories are asked."""

_SHOWN: Final = 3
_TALK: Final = Wants("talk", leave=True)
MODELS: Final = ("silent or no model", "naming", "naming another")


def cases(path: Path) -> Mapping[str, Sequence[Any]]:
    """Read a file of cases."""
    return tomllib.loads(path.read_text("utf-8"))


class Bots:
    """Bots without a model, each with an empty memory; the embedder is loaded once."""

    def __init__(self) -> None:
        self.embedder = Usem3Embedder()
        self._mind = LimitedMind(self.embedder)

    @asynccontextmanager
    async def told(self, statements: Sequence[str]) -> AsyncIterator[Secretary]:
        """Start a bot, and ask it to remember these."""
        locale = choose(" ".join(statements), "en")
        with tempfile.TemporaryDirectory() as folder:
            async with secretary(Path(folder) / "x.db", locale.value, self.embedder, self._mind) as chat:
                for each in statements:
                    await chat.say(Said(f"{_REMEMBER[locale]} {each}", _TALK, 60))
                yield chat

    async def close(self) -> None:
        """Unload the embedder."""
        await self.embedder.close()


async def change(bots: Bots, case: Mapping[str, Any]) -> tuple[str, str]:
    """Return what became of a change that is told and left unanswered, and what was shown.

    "at once" and "beside" lose nothing; "told wrong" keeps both, and answers with the old one as if it held.
    """
    async with bots.told(case["told"]) as chat:
        happened = await chat.say(Said(case["say"], _TALK, 60))
        earlier = await chat.house.memories.of(ANA).earlier(list(happened.after))
        asked = (await chat.say(Said(case["ask"], _TALK, 60))).first
    current, all_of_it = flat("\n".join(happened.after.values())), flat("\n".join(each.content for each in earlier))
    shown = f"{happened.first}\n  ? {case['ask']} {asked}\n  = {list(happened.after.values())}"
    now, was, told = flat(case["now"]), flat(case["was"]), flat(asked)
    keeps = [flat(each) for each in case.get("keeps", ())]
    if not all(each in current for each in keeps) or was not in f"{current}\n{all_of_it}":
        return "dropped", shown
    if now not in current:
        return "lost", shown
    newest = [flat(each) for each in happened.after.values() if now in flat(each)]
    rest = told.replace(newest[0], now)  # which may name the earlier value itself: "no longer with Soto, but with Vega"
    is_right = now in told and (
        was not in rest or (rest.index(now) < rest.rindex(was) and any(m in rest for m in _MARKS))
    )
    return "told wrong" if not is_right else "beside" if was in current else "at once", shown


async def still(bots: Bots, case: Mapping[str, Any]) -> tuple[str, str]:
    """Return whether words that change nothing did, or offered to."""
    async with bots.told(case["told"]) as chat:
        happened = await chat.say(Said(case["say"], _TALK, 60))
    shown = f"{happened.first}\n  = {list(happened.after.values())}"
    if any(happened.after.get(key) != content for key, content in happened.before.items()):
        return "changed", shown
    offers = any(each.kind in {"Replacement", "Rewrites"} for each in happened.asked)
    return ("offered" if offers else "still"), shown


async def pair(house: House, case: Sequence[str], model: str) -> tuple[str, str]:
    """Return what a statement is taken for beside another one, with what a model says of it."""
    first, then, wanted = case
    memory = house.memories.of(ANA)
    drafts = [MemoryDraft(MemoryKind.TEXT, text, (text,)) for text in (first, "the shed needs new paint", then)]
    vectors = await memory.embed([each.content for each in drafts])
    await memory.forget()
    known, other = await memory.add(drafts[:2], vectors)
    hints = {"naming": known.id if wanted != "both" else "", "naming another": other.id}
    [found] = await memory.compare(drafts[2:], vectors, hints={then: hints.get(model, "")})
    is_other = found.relation is Relation.REPLACES and found.known == other
    names = {Relation.SAME: "same", Relation.REPLACES: "replaces"}
    got = "another's" if is_other else names.get(found.relation, "both")
    return got, f"{first} | {then} | wanted {wanted}"


async def lives(bots: Bots, life: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return what questions to one life are answered with: the door, whose question, the verdict, what was shown."""
    found: list[tuple[str, str, str, str]] = []
    asked = [(question, "") for question in life["others"]] + [tuple(each) for each in life["own"]]
    async with open_memory(None) as memories:
        ana = memories.of("ana")
        for each in life["told"]:
            await ana.save(each)
        for question, answer in asked:
            hits = await ana.search(question)
            sure = hits[0].text if hits and hits[0].score >= SURE else ""
            found.append(("public", "own" if answer else "other", _sure(sure, answer), f"{question} {hits[:1]}"))
    async with bots.told(life["told"]) as chat:
        for question, answer in asked:
            told = (await chat.say(Said(question, _TALK, 60))).first
            is_said = any(flat(each) in flat(told) for each in life["told"])
            is_sure = is_said and not any(each in flat(told) for each in (*_UNSURE, *_NOTHING))
            found.append(
                ("limited", "own" if answer else "other", _sure(told if is_sure else "", answer), f"{question} {told}")
            )
    return found


async def hops(bots: Bots, life: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return what questions over two memories are answered with among others: the door, the verdict, what was shown."""
    found: list[tuple[str, str, str]] = []
    others = [each.text for each in islice(notes(), _OTHERS)]
    async with open_memory(None) as memories:
        ana = memories.of("ana")
        for each in (*others, *life["told"]):
            await ana.save(each)
        for question, answer in life["asked"]:
            hits = await ana.search(question, limit=_SHOWN)
            place = next((at for at, hit in enumerate(hits, 1) if flat(answer) in flat(hit.text)), 0)
            is_wrong = bool(hits) and hits[0].score >= SURE and place != 1
            verdict = (
                "sure and wrong"
                if is_wrong and not place
                else "first"
                if place == 1
                else "shown"
                if place
                else "not found"
            )
            found.append(("public", verdict, f"{question} {[(hit.text, round(hit.score, 2)) for hit in hits]}"))
    async with bots.told(life["told"]) as chat:
        memory = chat.house.memories.of(ANA)
        drafts = [MemoryDraft(MemoryKind.TEXT, each, bindings(each)) for each in others]
        await memory.add(drafts)
        for question, answer in life["asked"]:
            told = (await chat.say(Said(question, _TALK, 60))).first
            is_said = any(flat(answer) in flat(each) and flat(each) in flat(told) for each in life["told"])
            is_sure = told and not any(each in flat(told) for each in (*_UNSURE, *_NOTHING))
            found.append(
                ("limited", "shown" if is_said else "sure and wrong" if is_sure else "not found", f"{question} {told}")
            )
    return found


def _sure(told: str, answer: str) -> str:
    return "unsure" if not told else "right" if answer and flat(answer) in flat(told) else "sure and wrong"


async def measure(path: Path, *, show: bool) -> None:
    """Measure a file, and print the tables."""
    data, bots, wrong = cases(path), Bots(), list[str]()
    for name, judge, good in (("change", change, {"at once", "beside"}), ("still", still, {"still"})):
        done = [(await judge(bots, case), case) for case in data[name]]
        wrong += [
            f"{got} · {case['told']} > {case['say']}\n  {seen}" for (got, seen), case in done if got not in good or show
        ]
        count = Counter(got for (got, _), _ in done)
        table.show(f"{name}: {len(done)} ({path.stem})", list(count), [[str(each) for each in count.values()]])
    house = House(embedder=bots.embedder)  # type: ignore[arg-type]  # the real one
    rows = []
    for model in MODELS:
        judged = [(await pair(house, case, model), str(case[2])) for case in data["pairs"]]
        wrong += [f"{model} {got} · {seen}" for (got, seen), wanted in judged if got != wanted]
        by_kind = Counter((wanted, got) for (got, _), wanted in judged)
        harm = sum(got in {"replaces", "another's"} and got != wanted for (got, _), wanted in judged)
        rows.append(
            [
                model,
                *(
                    f"{by_kind[kind, kind]} of {sum(w == kind for _, w in judged)}"
                    for kind in ("same", "replaces", "both")
                ),
                str(harm),
            ]
        )
    table.show(f"pairs: {len(data['pairs'])}", ("", "same", "replaces", "both", "overwritten wrongly"), rows)
    answers = [each for life in data["lives"] for each in await lives(bots, life)]
    wrong += [
        f"{door} {whose} {got} · {seen}"
        for door, whose, got, seen in answers
        if got == "sure and wrong" or (whose, got) == ("own", "unsure")
    ]
    kinds = [(door, whose) for door in ("public", "limited") for whose in ("other", "own")]
    verdicts = ("right", "unsure", "sure and wrong")
    rows = [[*kind, *(str(sum(each[:3] == (*kind, got) for each in answers)) for got in verdicts)] for kind in kinds]
    table.show("questions about a neighbour, and about what was told", ("door", "asks of", *verdicts), rows)
    over_two = [each for life in data["hops"] for each in await hops(bots, life)]
    wrong += [f"hop {door} {got} · {seen}" for door, got, seen in over_two if show or got == "sure and wrong"]
    places = ("first", "shown", "not found", "sure and wrong")
    rows = [
        [door, *(str(sum(each[:2] == (door, got) for each in over_two)) for got in places)]
        for door in ("public", "limited")
    ]
    table.show("questions over two memories, among a hundred others", ("door", *places), rows)
    await bots.close()
    if show:
        print("\n".join(wrong))


def main(arguments: Sequence[str] = ()) -> None:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m bench changes")
    parser.add_argument("--report", action="store_true", help="measure the file that rules are not chosen on")
    parser.add_argument("--show", action="store_true", help="print what went wrong, and every change")
    given = parser.parse_args(arguments)
    asyncio.run(measure(REPORT if given.report else TUNE, show=given.show))
