"""How well limited mode understands people: labelled messages, by language. `python -m bench mind`.

The report sets were written before the rules that they measure and are only measured; rules and examples are made
from the tune set.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.actions import ACTIONS
from core.dialogue import Outcome, PromptContext, Step, Task
from core.limited import LimitedMind
from core.limited.bindings import bindings
from core.providers.usem3 import Usem3Embedder
from core.text.unicode import fold
from core.types import Locale, MemoryHit, MemoryItem, MemoryKind, Message, MessageRole, Modal

DATA = Path(__file__).parents[1] / "tests" / "data"
NOW = datetime(2026, 3, 14, tzinfo=UTC)
_LOCALES = {"pt": Locale.PT, "en": Locale.EN, "es": Locale.ES}

Label = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one labelled message. `extracted` is None where nothing was to be extracted."""

    label: Label
    decided: bool
    extracted: bool | None
    why: str = ""


def labels(name: str) -> list[Label]:
    """Return the labelled messages of a set: `tune`, `report` or `report2`."""
    found: list[Label] = json.loads((DATA / f"mind_{name}.json").read_text("utf-8"))
    return found


async def judge(mind: LimitedMind, label: Label) -> Verdict:
    """Put one message to limited mode as the cycle would, as far as its label goes."""
    context = PromptContext(
        Task.DECIDE,
        _LOCALES[label["lang"]],
        label["text"],
        NOW,
        (Message(MessageRole.USER, label["text"]),),
        choices=tuple(action.name for action in ACTIONS),
        actions=tuple(action.info for action in ACTIONS),
    )
    first = await _action(mind, context)
    if first not in label["first"]:
        return Verdict(label, decided=False, extracted=None, why=f"first {first}")
    if first == "MemorySave":
        return await _judge_drafts(mind, context, label)
    if first == "MemorySearch":
        return await _judge_search(mind, context, label)
    return Verdict(label, decided=True, extracted=None)


async def _action(mind: LimitedMind, context: PromptContext) -> str:
    return str(json.loads(await mind.answer(context))["action"])


async def _judge_drafts(mind: LimitedMind, context: PromptContext, label: Label) -> Verdict:
    drafts = json.loads(await mind.answer(replace(context, task=Task.SAVE_DRAFTS)))["items"]
    missing = [want for want in label.get("content_has", ()) if not any(want in draft["content"] for draft in drafts)]
    lacks = label.get("content_lacks", "")
    kept_cue = lacks != "" and any(fold(lacks) in fold(draft["content"]) for draft in drafts)
    phrases = [phrase for draft in drafts for phrase in draft["bindings"]]
    found = "found_by" not in label or any(_words(label["found_by"]) <= _words(phrase) for phrase in phrases)
    good = not missing and not kept_cue and found
    return Verdict(label, decided=True, extracted=good, why="" if good else f"drafts {drafts}")


async def _judge_search(mind: LimitedMind, context: PromptContext, label: Label) -> Verdict:
    queries = json.loads(await mind.answer(replace(context, task=Task.SEARCH_QUERIES)))["items"]
    wanted = label.get("query_has")
    sought = wanted is None or any(_words(wanted) <= _words(query) for query in queries)
    content = label.get("memory") or (f"{label['text'].strip('¿?')}: 4417" if wanted else "")
    found = (_memory(content),) if content else ()
    hits = tuple(MemoryHit(item, "", 1.0, chance=1.0) for item in found)
    after = replace(
        context,
        history=(*context.history, *(Message(MessageRole.SYSTEM, item.to_json(), Modal.MEMORY) for item in found)),
        steps=(Step("MemorySearch", Outcome.DONE if found else Outcome.NOTHING, tuple(queries), found, hits=hits),),
    )
    then = await _action(mind, after)
    then = "Question" if then == "MemoryDelete" else then  # a deletion is a question to the person
    expected = label.get("then", ["Finish"] if found else ["Finish", "Question", "MemorySearch"])
    if then not in expected:
        return Verdict(label, decided=False, extracted=None, why=f"then {then}")
    if then == "MemoryUpdate":
        changes = json.loads(await mind.answer(replace(after, task=Task.UPDATE_DRAFTS)))["items"]
        good = all(any(want in change["content"] for change in changes) for want in label.get("content_has", ()))
        return Verdict(label, decided=True, extracted=good, why="" if good else f"changes {changes}")
    extracted = sought if wanted else None
    return Verdict(label, decided=True, extracted=extracted, why="" if sought else f"queries {queries}")


def _memory(content: str) -> MemoryItem:
    return MemoryItem("m1", MemoryKind.TEXT, content, bindings(content), NOW, NOW)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", fold(text)))


def rates(verdicts: Sequence[Verdict]) -> dict[str, tuple[float, int, float, int]]:
    """Map each language, and `all`, to (decisions right, of how many, extractions right, of how many)."""
    by_language: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        by_language[verdict.label["lang"]].append(verdict)
        by_language["all"].append(verdict)
    return {name: _rate(group) for name, group in by_language.items()}


def _rate(group: Sequence[Verdict]) -> tuple[float, int, float, int]:
    drawn = [verdict for verdict in group if verdict.extracted is not None]
    decided = sum(verdict.decided for verdict in group) / len(group)
    return decided, len(group), sum(bool(verdict.extracted) for verdict in drawn) / max(len(drawn), 1), len(drawn)


async def _measure(name: str) -> tuple[list[Verdict], float]:
    embedder = Usem3Embedder()
    mind = LimitedMind(embedder)
    try:
        await embedder.embed([""])
        started_s = time.process_time()
        verdicts = [await judge(mind, label) for label in labels(name)]
        spent_s = time.process_time() - started_s
    finally:
        await embedder.close()
    return verdicts, spent_s / len(verdicts)


def main() -> None:
    """Print both sets' rates, the tune set's failures, and the CPU that a message costs, its embedding included."""
    for name in ("tune", "report", "report2"):
        verdicts, cpu_s = asyncio.run(_measure(name))
        for language, (decided, count, extracted, drawn) in sorted(rates(verdicts).items()):
            print(
                f"{name:7} {language:3} decisions {decided:6.1%} of {count:3}, extraction {extracted:6.1%} of {drawn:3}"
            )
        print(f"{name:7} CPU a message {cpu_s * 1000:.1f} ms")
        for verdict in verdicts:
            if name == "tune" and not (verdict.decided and verdict.extracted is not False):
                print(f"  {verdict.label['lang']} {verdict.label['text']!r}: {verdict.why}")


if __name__ == "__main__":
    main()
