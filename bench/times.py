"""How well times and requests for reminders are read: labelled messages. `python -m bench times [--data PATH]`.

Labels have `lang`, `now` (wall time), `zone`, `say`, `kind`, and what a careful secretary would take it for: `at`
(instants) or `loose` (a range), `first` (the first instants of a recurrence), `offset_min`, `what` (texts of the deed).
Those of `--mentions` are in `tests/fakes/mentions.py`.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import zip_longest
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from bench.table import show
from core.features.reminders.request import ReminderRequest, read_request
from core.memory.embedding import Embedding
from core.providers.cached_embedder import CachedEmbedder
from core.providers.usem3 import Usem3Embedder
from core.text.unicode import fold
from core.times import rules
from core.times.grammar import find_time
from core.times.reading import Beside, Once, Past, Recurrence, Time, Unclear
from core.times.zones import zone_key
from core.types import Locale
from tests.fakes import mentions

DATA = Path(__file__).parents[1] / "tests" / "data"
SETS = ("times_tune.json", "times_tune2.json", "times_tune3.json", "times_report.json")
RIGHT, WRONG, ASKED, NOTHING = "right", "wrong", "asked", "nothing"
LOCALES = {"pt": Locale.PT, "en": Locale.EN, "es": Locale.ES}
_JOINTS = re.compile(r"^(?:(?:de|do|da|to|que|about|of|that|para|pra|pro|el|la|o|a|the|los|as|os)\s+)+")

Label = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one labelled message; `text_right` is None where no text was to be read."""

    label: Label
    outcome: str
    text_right: bool | None
    time: Time | None
    request: ReminderRequest | None


def labels(path: Path) -> Sequence[Label]:
    """Return the labelled messages of a file."""
    found: list[Label] = json.loads(path.read_text("utf-8"))
    return found


def judge(label: Label) -> Verdict:
    """Read one message, as a request if it is one, else for the time in it, and compare with its label."""
    now = datetime.fromisoformat(label["now"]).replace(tzinfo=ZoneInfo(label["zone"]))
    locale = LOCALES[label["lang"]]
    request = read_request(label["say"], now, locale)
    if label["kind"] == "none":
        return Verdict(label, RIGHT if request is None else WRONG, None, None, request)
    found = request.found if request is not None else find_time(label["say"], now, locale)
    said = found.time if found is not None else None
    outcome = _outcome(label, said, now)
    text_right = _bare(request.text) in map(_bare, label["what"]) if request is not None else None
    return Verdict(label, outcome, text_right, said, request)


def _outcome(label: Label, said: Time | None, now: datetime) -> str:
    if _is_right(label, said, now):
        return RIGHT
    if said is None:
        return NOTHING
    return ASKED if isinstance(said, Unclear) else WRONG


def _is_right(label: Label, said: Time | None, now: datetime) -> bool:
    match label["kind"], said:
        case "once", Once(at):
            ranges = [label["loose"].values()] if "loose" in label else [(each, each) for each in label["at"]]
            # A duration is counted from the second.
            return any(_instant(first) <= at <= _instant(last) + timedelta(seconds=59) for first, last in ranges)
        case "every", Recurrence():
            wanted = [_instant(each) for each in label["first"]]
            pairs = zip_longest(first_instants(said, now, len(wanted)), wanted, fillvalue=now)
            return all(got.date() == want.date() if label.get("loose_hour") else got == want for got, want in pairs)
        case "before", Beside(offset):
            return offset == timedelta(minutes=label["offset_min"])
        case ("ask", None | Unclear()) | ("past", Past()):
            return True
        case _:
            return False


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def first_instants(said: Recurrence, now: datetime, count: int) -> Sequence[datetime]:
    """Return the first instants of a recurrence after a moment, in its zone, as the scheduler would compute them."""
    found: list[datetime] = []
    zone, after = zone_key(said.first), now
    while len(found) < count:
        following = rules.next_after(said.first.replace(tzinfo=None), zone, said.rule, after)
        if following is None:
            break
        after = following.astimezone(now.tzinfo)
        found.append(after)
    return found


def _bare(text: str) -> str:
    """Return a deed for comparison: without case, accents, joints in front and signs around it."""
    return re.sub(r"^\W+|\W+$", "", _JOINTS.sub("", fold(text), count=1))


def main(paths: Sequence[str] = ()) -> None:
    """Print how many messages of each file of labels were read right, by language and kind, and what is not right.

    With `--mentions`, print how well mentions are heard; a path behind it is a JSON list of further ordinary turns.
    """
    if paths[:1] == ["--mentions"]:
        turns = [turn for path in paths[1:] for turn in json.loads(Path(path).read_text("utf-8"))]
        asyncio.run(_hear(turns or None))
        return
    for path in [Path(name) for name in paths if name != "--data"] or [DATA / name for name in SETS]:
        found = labels(path)
        started_s = time.process_time()
        verdicts = [judge(label) for label in found]
        spent_us = (time.process_time() - started_s) / len(found) * 1e6
        _show(f"{path.name}: {spent_us:.0f} µs a message", verdicts)


def _show(title: str, verdicts: Sequence[Verdict]) -> None:
    groups: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        for name in (verdict.label["lang"], verdict.label["kind"], "all"):
            groups.setdefault(name, []).append(verdict)
    rows = []
    for name, group in sorted(groups.items(), key=lambda each: len(each[1])):
        outcomes = Counter(verdict.outcome for verdict in group)
        texts = [verdict.text_right for verdict in group if verdict.text_right is not None]
        counts = [str(outcomes[outcome]) for outcome in (RIGHT, WRONG, ASKED, NOTHING)]
        rows.append([name, str(len(group)), *counts, f"{sum(texts)} of {len(texts)}"])
    show(title, ["messages", "count", RIGHT, WRONG, ASKED, NOTHING, "texts right"], rows)
    failed = [
        (each.label["say"], each.outcome, str(each.time), each.request.text if each.request else "")
        for each in verdicts
        if each.outcome != RIGHT or each.text_right is False
    ]
    if failed:
        show("Not right", ["message", "outcome", "time", "text"], failed)


async def _hear(turns: Sequence[str] | None) -> None:
    """Print what becomes of requests for reminders at a mention, and of what is said later."""
    embedder, rows, wrong = Usem3Embedder(), list[list[str]](), list[tuple[str, str]]()
    for name in mentions.HALVES:
        half = mentions.half(name)
        judged = await mentions.judge(half, Embedding(CachedEmbedder(embedder)), turns=turns)
        fires, silent = (sum(len(each[key]) for each in half.intents) for key in ("fires", "silent"))
        said = len(turns or half.turns)
        rows.append(
            [
                name,
                f"{len(half.intents) - len(judged.unread)} of {len(half.intents)}",
                f"{fires - len(judged.missed)} of {fires}",
                f"{len(judged.near)} of {silent}",
                f"{len({turn for _, turn in judged.wrong})} of {said}",
                f"{judged.cpu_ms:.1f}",
            ]
        )
        wrong += [*judged.missed, *judged.near, *judged.wrong]
    show("Mentions", ["half", "read", "fired", "near misses fired", "ordinary turns fired", "CPU ms a turn"], rows)
    show("Not right, or not judged", ["to be mentioned", "said"], wrong)


if __name__ == "__main__":
    main()
