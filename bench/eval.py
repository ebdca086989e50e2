"""`python -m bench eval`: what real models do with the bot, judged on labelled turns (`bench/judging.py`).

Without --model, the small local models, which need LLAMA_PYTHON, an interpreter that has them (`make eval`). Results
go to a file as they come, one JSON document a line; a run that was cut goes on where it stopped. Of the half `report`
no text is kept or shown.

One bot answers all turns, each for a person of its own, who has the label's memories and nothing else: so what the bot
finds out about its model is found out once, as in a real run. The message takes the public way (`MessageHandler`),
the answer is written into a channel, and an offered confirmation is agreed to, as the person would.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
import time
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean, median
from typing import Any

from bench.judging import HALVES, Label, Observed, Verdict, judge, load, sample
from bench.table import show
from bot.cli.think import CollectingChannel
from bot.settings.settings import Settings
from bot.settings.settings import load as load_settings
from bot.wiring import App, build, open_chatbot
from core.ask import PLATFORM
from core.features.ledger.calls import SpendingScope
from core.features.ledger.storage import Ledger
from core.models import Cycle
from core.outgoing import Button
from core.ports import MessageHandler
from core.stores import ChangeContext
from core.types import (
    ChatKey,
    ConversationKey,
    Incoming,
    MemoryDraft,
    MemoryItem,
    MemoryKind,
    Message,
    MessageRole,
    Modal,
    UserKey,
)
from tests.model.serving import serving

LOCAL = ("qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b")
FOLDER = Path(".eval")
_LOCAL_CONTEXT_TOKENS = 8_192
_LOCAL_MAX_TOKENS = 320
_LOCAL_MAX_STEPS = 4  # a small model that goes round in circles takes minutes for a turn
_MODES = ("reasoning_heavy", "reasoning", "chat")
_PATIENCE_S = 3_600.0
_AGREES = "/confirm yes "

HEAD = (
    "",
    "turns",
    "first",
    "data",
    "said",
    "all",
    "false claims",
    "language",
    "calls",
    "tokens in",
    "cached",
    "tokens out",
    "s",
)


def main(arguments: Sequence[str]) -> int:
    """Run, and print the tables."""
    options = _options(arguments)
    for model in (options.model,) if options.model else LOCAL:
        chosen = [label for label in load(options.half) if _is_wanted(label, options)]
        chosen = sample(chosen, options.limit or len(chosen))
        results = Results(options.out or FOLDER / f"{model.replace('/', '-')}.{options.cycle}.{options.half}.jsonl")
        known = {verdict.id for verdict in results.verdicts()}
        left = [label for label in chosen if label.id not in known]
        if left:
            with _settings(model, options) as settings:
                asyncio.run(_run(left, settings, results, options))
        ids = {label.id for label in chosen}
        verdicts = [verdict for verdict in results.verdicts() if verdict.id in ids]
        if options.json:
            print(json.dumps({"model": model, "cycle": options.cycle, "half": options.half} | summaries(verdicts)))
        elif verdicts:
            print_tables(f"{model}, {options.cycle}, {options.half}", verdicts)
    return 0


async def _run(labels: Sequence[Label], settings: Settings, results: Results, options: argparse.Namespace) -> None:
    async with open_bench(settings, Cycle(options.cycle)) as bench:
        for number, label in enumerate(labels, 1):
            seen = await bench.run(label)
            verdict = judge(label, seen)
            results.add(verdict, seen if options.half != "report" else None)
            print(_line(number, len(labels), verdict, seen if options.half != "report" else None), file=sys.stderr)


def _line(number: int, count: int, verdict: Verdict, seen: Observed | None) -> str:
    marks = {"first": verdict.first_ok, "data": verdict.data_ok, "said": verdict.said_ok}
    wrong = [*(name for name, right in marks.items() if not right), *(verdict.false_claims if seen else ())]
    steps = " > ".join(f"{action} {outcome}" for action, outcome in seen.steps) if seen else ""
    return (
        f"{number}/{count} {verdict.id} {verdict.duration_s:.0f} s {steps} {'WRONG: ' * bool(wrong)}{', '.join(wrong)}"
    )


@contextmanager
def _settings(model: str, options: argparse.Namespace) -> Iterator[Settings]:
    """Yield the settings of the bot; a local model is served meanwhile.

    A local model is asked without randomness, and has all the time it wants: it shares the machine.
    """
    shared: dict[str, Any] = {"storage_url": "memory:", "turn_timeout_s": _PATIENCE_S}
    if model not in LOCAL:
        yield load_settings(model=model, **shared)
        return
    python = os.environ.get("LLAMA_PYTHON", "")
    if not python:
        sys.exit("the local models need LLAMA_PYTHON, an interpreter that has them: make eval")
    knobs: dict[str, Any] = {
        "model_temperature": 0.0,
        "model_timeout_s": _PATIENCE_S,
        "model_context_tokens": _LOCAL_CONTEXT_TOKENS,
    }
    knobs |= {f"model_{mode}_max_tokens": _LOCAL_MAX_TOKENS for mode in _MODES}
    with serving(python, model, options.threads) as address:
        own: dict[str, Any] = {
            "model": f"llamacpp:{model}",
            "llamacpp_base_url": f"{address}/v1",
            "max_steps": _LOCAL_MAX_STEPS,
        }
        yield load_settings(None, **own, **shared, **knobs)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench eval", description="Judge models on labelled turns.")
    parser.add_argument("--model", default="", help=f"provider:model as in MODEL, or {' or '.join(LOCAL)}")
    parser.add_argument("--cycle", default="auto", choices=tuple(Cycle))
    parser.add_argument("--half", default="tune", choices=HALVES)
    parser.add_argument("--limit", type=int, default=0, help="so many turns, of every category in turn")
    parser.add_argument("--only", default="", help="categories, separated by commas")
    parser.add_argument("--lang", default="", help="languages, separated by commas")
    parser.add_argument("--id", default="", help="turns, separated by commas")
    parser.add_argument("--out", type=Path, help=f"the file of the results; default: one in {FOLDER}")
    parser.add_argument("--threads", type=int, default=1, help="of the local server")
    parser.add_argument("--json", action="store_true", help="print figures as JSON")
    return parser.parse_args(arguments)


def _is_wanted(label: Label, options: argparse.Namespace) -> bool:
    wanted = ((options.only, label.category), (options.lang, label.lang), (options.id, label.id))
    return all(not names or value in names.split(",") for names, value in wanted)


# --- one turn


class _Screen(CollectingChannel):
    """A channel that keeps what is on it."""

    async def remove(self, handle: str) -> None:
        self.shown.pop(handle, None)

    def agreement(self) -> Button | None:
        """Return the button that agrees to a proposal, if one is shown."""
        buttons = (button for shown in self.shown.values() for button in shown.choices)
        return next((button for button in buttons if button.command.startswith(_AGREES)), None)


class _Log(logging.Handler):
    """Takes the steps of the cycle, and warnings, from the log."""

    def __init__(self, observed: Observed) -> None:
        super().__init__()
        self.observed = observed

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == "step":
            fields = record.__dict__
            self.observed.steps.append((str(fields["action"]), str(fields["outcome"])))
        elif record.levelno >= logging.WARNING:
            told = {key: record.__dict__[key] for key in ("error", "action") if key in record.__dict__}
            failed = "" if record.exc_info is None or record.exc_info[1] is None else f" {record.exc_info[1]!r}"
            self.observed.notes.append(f"{record.getMessage()} {told or ''}{failed}".rstrip())


class Bench:
    """A bot that is asked labelled turns. Made by `open_bench`."""

    def __init__(self, app: App, handler: MessageHandler) -> None:
        self._app = app
        self._handler = handler

    async def run(self, label: Label) -> Observed:
        """Answer one turn, for a person who did not exist before, and return what was done."""
        person = UserKey(PLATFORM, f"{label.id}-{uuid.uuid4().hex[:8]}")
        seeded = uuid.uuid4().hex
        ids = await self._seed(label, person, seeded)
        screen, observed = _Screen(), Observed()
        began = self._app.clock.now()
        with _listening(observed):
            started_s = time.monotonic()
            await (await self._handler.receive(_incoming(label, person), screen))
            observed.duration_s = time.monotonic() - started_s
        asked = await Ledger(self._app.database, self._app.settings.zone()).sums(began, (), SpendingScope(person))
        for spent in asked:
            observed.calls, observed.usage = spent.calls, spent.tokens
        keys = {memory_id: key for key, memory_id in ids.items()}
        observed.text = "\n".join(shown.text for shown in screen.stays if shown.modal is Modal.TEXT)
        drawn = [item.id for shown in screen.stays for item in shown.memories]
        observed.shown = [keys.get(memory_id, memory_id) for memory_id in dict.fromkeys(drawn)]
        store = self._app.features.memories.of(person).store
        changes = await store.changes(person, not_undone=True)
        observed.committed = sorted({change.kind.value for change in changes if change.act != seeded})
        if (button := screen.agreement()) is not None:
            press = replace(_incoming(label, person), text=button.command, pressed=True, quotes=(), attachments=())
            await (await self._handler.receive(replace(press, message_id=uuid.uuid4().hex), screen))
        items: list[MemoryItem] = list(await self._app.features.memories.of(person).page(limit=100))
        now = {keys[item.id]: item.content for item in items if item.id in keys}
        observed.saved = [item.content for item in items if item.id not in keys]
        observed.updated = {key: content for key, content in now.items() if content != label.memories[key].text}
        observed.deleted = sorted(set(ids) - set(now))
        return observed

    async def _seed(self, label: Label, person: UserKey, act: str) -> Mapping[str, str]:
        """Store the memories and the earlier messages; return the memories' ids by key."""
        memory = self._app.features.memories.of(person, ChangeContext(act=act))
        drafts = [MemoryDraft(MemoryKind.TEXT, each.text, each.bindings) for each in label.memories.values()]
        items = await memory.add(drafts) if drafts else []
        ids = {key: item.id for key, item in zip(label.memories, items, strict=True)}
        key = ConversationKey(ChatKey(PLATFORM, person.user), person)
        conversation = await self._app.conversations.open(key)
        turn = ""
        for role, text in label.earlier:
            turn = uuid.uuid4().hex if role == MessageRole.USER else turn
            await conversation.add(_earlier(role, text, ids, turn))
        return ids


@asynccontextmanager
async def open_bench(settings: Settings, cycle: Cycle) -> AsyncIterator[Bench]:
    """Open a bot in RAM over the models that the settings name, which answers in that cycle.

    Raises:
        ConfigError: a setting is wrong.
    """
    async with build(settings.model_copy(update={"cycle": cycle})) as app, open_chatbot(app) as chatbot:
        yield Bench(app, chatbot)


@contextmanager
def _listening(observed: Observed) -> Iterator[None]:
    log, handler = logging.getLogger("core"), _Log(observed)
    level = log.level
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def _incoming(label: Label, person: UserKey) -> Incoming:
    return Incoming(
        ChatKey(PLATFORM, person.user),
        person,
        "",
        uuid.uuid4().hex,
        label.message,
        datetime.now(UTC),
        language=label.lang,
        quotes=label.quotes,
        attachments=label.attachments,
    )


def _earlier(role: str, text: str, ids: Mapping[str, str], turn: str) -> Message:
    if role == "memory":
        found = ids[text]
        return Message(MessageRole.SYSTEM, {"id": found}, Modal.MEMORY, memory_id=found, turn=turn, tokens=40)
    return Message(MessageRole(role), text, turn=turn)


# --- results


@dataclass(frozen=True, slots=True)
class Results:
    """The file of one run, in which it goes on."""

    path: Path

    def verdicts(self) -> list[Verdict]:
        """Return what was judged so far; the last verdict on a turn counts."""
        if not self.path.exists():
            return []
        rows = [json.loads(line) for line in self.path.read_text("utf-8").splitlines()]
        return list({row["verdict"]["id"]: Verdict(**row["verdict"]) for row in rows}.values())

    def add(self, verdict: Verdict, seen: Observed | None) -> None:
        """Add a verdict, and what was seen if anybody may look at it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        row = {"verdict": asdict(verdict), **({} if seen is None else {"seen": asdict(seen)})}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def summary(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return the figures of some verdicts: shares of turns 0..1, means a turn, the median of seconds."""
    told = [verdict.in_language for verdict in verdicts if verdict.in_language is not None]
    return {
        "turns": len(verdicts),
        "first": mean(verdict.first_ok for verdict in verdicts),
        "data": mean(verdict.data_ok for verdict in verdicts),
        "said": mean(verdict.said_ok for verdict in verdicts),
        "all": mean(verdict.is_right for verdict in verdicts),
        "false_claims": sum(bool(verdict.false_claims) for verdict in verdicts),
        "language": mean(told) if told else None,
        "calls": mean(verdict.calls for verdict in verdicts),
        "input_tokens": mean(verdict.input_tokens for verdict in verdicts),
        "cached_tokens": mean(verdict.cached_tokens for verdict in verdicts),
        "output_tokens": mean(verdict.output_tokens for verdict in verdicts),
        "duration_s": median(verdict.duration_s for verdict in verdicts),
    }


def summaries(verdicts: Sequence[Verdict]) -> dict[str, Mapping[str, dict[str, Any]]]:
    """Return the figures of all, by category, and by language (those with few turns together)."""
    return {
        "all": _by(verdicts, lambda _: "all"),
        "category": _by(verdicts, lambda verdict: verdict.category),
        "language": _by(verdicts, lambda verdict: verdict.lang if verdict.lang in {"pt", "en", "es"} else "others"),
    }


def print_tables(title: str, verdicts: Sequence[Verdict]) -> None:
    """Print the figures as one table."""
    groups = [item for group in summaries(verdicts).values() for item in group.items()]
    show(title, HEAD, [_row(name, figures) for name, figures in groups])


def _by(verdicts: Sequence[Verdict], key: Callable[[Verdict], str]) -> Mapping[str, dict[str, Any]]:
    groups: defaultdict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        groups[key(verdict)].append(verdict)
    return {name: summary(group) for name, group in sorted(groups.items())}


def _row(name: str, figures: Mapping[str, Any]) -> list[str]:
    shares = [f"{figures[share]:.0%}" for share in ("first", "data", "said", "all")]
    language = "" if figures["language"] is None else f"{figures['language']:.0%}"
    tokens = [f"{figures[count]:.0f}" for count in ("input_tokens", "cached_tokens", "output_tokens")]
    return [
        name,
        f"{figures['turns']}",
        *shares,
        f"{figures['false_claims']}",
        language,
        f"{figures['calls']:.1f}",
        *tokens,
        f"{figures['duration_s']:.1f}",
    ]
