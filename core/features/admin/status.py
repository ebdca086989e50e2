"""/admin status and logs: how the bot does, in figures, and its last errors and warnings."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from core.commands.command import Request
from core.commands.menu import choice_field, number_field
from core.delivery.alerts import OwnerAlerts
from core.delivery.notifier import Notifier
from core.features.access.rules import Access
from core.features.admin.admin import Verb
from core.features.admin.decide import value_text
from core.features.admin.decisions import DecisionKind, Decisions
from core.features.admin.machine import Machine, Trouble
from core.features.admin.platforms import line as platform_line
from core.features.admin.platforms import span
from core.memory.memories import Memories
from core.models import Models
from core.outgoing import Button
from core.ports import Clock
from core.text.catalogue import counted, forms, text
from core.types import Locale
from core.workers import Colleague

_A_DAY: Final = timedelta(days=1)
_MEBIBYTE: Final = 1024 * 1024
_USUAL, _MOST = 10, 50
RETRY: Final = "retry"
_SHARD: Final = re.compile(r"part:(\w+):[^:]+:shards:\d+:(\d+)$")
_MARKS: Final = {"WARNING": "⚠️", "ERROR": "❌", "CRITICAL": "❌"}


class Status:
    """Offer /admin status. `spend_line` returns what was spent today, as a line of it."""

    def __init__(
        self,
        machine: Machine,
        models: Models,
        memories: Memories,
        *,
        decisions: Decisions,
        access: Access,
        notifier: Notifier,
        alerts: OwnerAlerts,
        clock: Clock,
        spend_line: Callable[[Locale], Awaitable[str]],
    ) -> None:
        self._machine = machine
        self._models = models
        self._memories = memories
        self._decisions = decisions
        self._access = access
        self._notifier = notifier
        self._alerts = alerts
        self._clock = clock
        self._spend_line = spend_line

    @property
    def verb(self) -> Verb:
        """The verb of /admin."""
        again = choice_field("what", text("menus.fields.retry"), {RETRY: text("admin.platforms.try_now")})
        return Verb("status", text("admin.commands.status"), self._status, f" [{RETRY}]", fields=(again,))

    async def _status(self, request: Request, argument: str) -> None:
        """Show it, or try the platforms that ended."""
        locale, models = request.locale, self._models
        if argument.casefold() == RETRY:
            self._machine.platforms.retry()
            await request.tell(TRYING)
            return
        owners = await self._memories.owners()
        counts = [await self._memories.of(owner).count() for owner in owners]
        await self._alerts.catch_up()
        names = dict.fromkeys(model.name for model in (models.heavy, models.reasoning, models.chat, models.summary))
        now, states = self._clock.now(), self._machine.platforms
        lines = [platform_line(state, now, locale) for state in states.all.values()]
        told = STATUS[locale].format(
            state=(STATE_PAUSED if await self._decisions.is_paused() else STATE_ANSWERING)[locale],
            access=value_text(DecisionKind.ACCESS, await self._access.mode(), locale),
            uptime=span(self._clock.monotonic() - self._machine.started_s),
            platforms="\n".join(lines) or ", ".join(sorted(self._notifier.seen)),
            models=", ".join(names),
            embedder=models.embedder.space,
            memories=sum(counts),
            people=len(owners),
        )
        choices = [Button(TRY_NOW[locale], f"/admin status {RETRY}")] if states.any_ended else []
        alarms = [
            ALARM[locale].format(span=span((now - alarm.since).total_seconds()), text=alarm.text[locale])
            for alarm in self._alerts.open_now()
            if not alarm.key.startswith("platform:")  # a line above says it
        ]
        said = [told, *await self._workers(locale), *alarms, *await self._figures(request)]
        await request.answer.tell("\n".join(said), choices=choices)

    async def _workers(self, locale: Locale) -> Sequence[str]:
        """Return a line for each worker, and one for what is owed beside this question; none where there is one."""
        survey, now = self._machine.survey, self._clock.now()
        if not (workers := await survey.workers()):
            return ()
        lines = [WORKERS[locale].format(count=len(workers)), *(_worker(each, now, locale) for each in workers)]
        owed = list((await survey.owed()).values())
        if (count := sum(each.messages for each in owed) - 1) > 0:
            oldest = span((now - min(each.oldest for each in owed)).total_seconds())
            lines.append(counted(OWED, locale, count, span=oldest))
        return lines

    async def _figures(self, request: Request) -> Sequence[str]:
        locale, machine = request.locale, self._machine
        engine, size_bytes = await machine.survey.storage()
        elsewhere = sum(conversation != request.incoming.conversation for conversation in request.running)
        return (
            QUEUE[locale].format(running=elsewhere, waiting=max(request.others - elsewhere, 0)),
            counted(ERRORS, locale, machine.troubles.errors_since(self._clock.now() - _A_DAY)),
            await self._spend_line(locale),
            DATA[locale].format(engine=engine, mebibytes=f"{size_bytes / _MEBIBYTE:.1f}"),
            VERSION[locale].format(version=machine.version),
        )


class Logs:
    """Offer /admin logs: when, where, what kind, how often. Troubles hold fixed phrases, never what a person wrote."""

    def __init__(self, machine: Machine) -> None:
        self._troubles = machine.troubles

    @property
    def verb(self) -> Verb:
        """The verb of /admin."""
        how_many = number_field("number", text("menus.fields.logs"), _MOST)
        return Verb("logs", text("admin.commands.logs"), self._logs, " [N]", fields=(how_many,))

    async def _logs(self, request: Request, argument: str) -> None:
        """Show the last troubles: 10, or as many as are asked for, at most 50."""
        is_number = argument.isdecimal() and len(argument) <= len(str(_MOST))
        limit = min(max(int(argument), 1), _MOST) if is_number else _USUAL
        lines = [_line(trouble, request.locale) for trouble in self._troubles.newest(limit)]
        await request.answer.tell("\n".join([TITLE[request.locale], *lines]) if lines else NONE[request.locale])


def _worker(worker: Colleague, now: datetime, locale: Locale) -> str:
    """Return the line of a worker: `HOST:PID`, since when, its version, and what it does that no other one does."""
    does = [
        said[locale].format(platform=match[1].title() if match.lastindex else "")
        for form, said in _DUTIES
        for match in filter(None, map(form.match, worker.duties))
    ]
    parts = [match.groups() for match in filter(None, map(_SHARD.match, worker.duties))]
    for platform in sorted({platform for platform, _ in parts}):
        shards = sorted(int(number) for each, number in parts if each == platform)
        does.append(counted(SHARDS, locale, len(shards), platform=platform.title(), numbers=_ranges(shards)))
    if worker.chats:
        does.append(counted(CHATS, locale, worker.chats))
    since = span((now - worker.since).total_seconds())
    line = WORKER[locale].format(process=worker.process.replace("`", "'"), span=since, version=worker.version)
    return " · ".join([line, *does])


def _ranges(numbers: Sequence[int]) -> str:
    """Return numbers that ascend, with those that follow each other as a range: "0–3, 7"."""
    said: list[list[int]] = []
    for number in numbers:
        if said and number == said[-1][-1] + 1:
            said[-1].append(number)
        else:
            said.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in said)


def _line(trouble: Trouble, locale: Locale) -> str:
    kind, place = (text.replace("`", "'") for text in (trouble.kind, trouble.place))
    often = f" · {counted(TIMES, locale, trouble.count)}" if trouble.count > 1 else ""
    return f"{_MARKS.get(trouble.level, '❌')} {_minute(trouble.at)} · `{kind}` · `{place}`{often}"


def _minute(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"


_DUTIES: Final = (
    (re.compile(r"duty:(\w+):[^:]+:poll$"), text("admin.workers.fetches")),
    (re.compile(r"duty:broadcasts$"), text("admin.workers.sends")),
    (re.compile(r"duty:housekeeping$"), text("admin.workers.tidies")),
)
"""What one worker does at a time, by the names of its claims."""

TRY_NOW = text("admin.platforms.try_now")
TRYING = text("admin.platforms.trying")
STATUS = text("admin.survey.status")
STATE_PAUSED = text("admin.survey.state_paused")
STATE_ANSWERING = text("admin.survey.state_answering")
QUEUE = text("admin.figures.queue")
ALARM = text("admin.figures.alarm")
WORKERS = text("admin.workers.title")
WORKER = text("admin.workers.line")
SHARDS = forms("admin.workers.shards")
CHATS = forms("admin.workers.chats")
OWED = forms("admin.workers.owed")
ERRORS = forms("admin.figures.errors")
DATA = text("admin.figures.data")
VERSION = text("admin.figures.version")

TITLE = text("admin.logs.title")
NONE = text("admin.logs.none")
TIMES = forms("admin.logs.times")
