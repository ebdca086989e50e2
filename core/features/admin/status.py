"""Verbs status and logs: how the bot does, in figures, and its last errors and warnings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from core.commands.command import Request
from core.features.access.gate import minute
from core.features.admin.machine import Trouble, span
from core.features.admin.machine import line as platform_line
from core.features.admin.storage import DecisionKind
from core.features.feature import Shared
from core.outgoing import Button
from core.text.catalogue import Plurals, Sentences, counted, forms, text
from core.types import Locale
from core.workers.port import Colleague

FIGURES = Sentences("admin.figures")
LOGS = Sentences("admin.logs")
PLATFORMS = Sentences("admin.platforms")
SURVEY = Sentences("admin.survey")
WORKERS = Sentences("admin.workers")
WORKERS_PLURALS = Plurals("admin.workers")

_A_DAY: Final = timedelta(days=1)
_MEBIBYTE: Final = 1024 * 1024
_USUAL, MOST_LOGS = 10, 50
RETRY: Final = "retry"
_MARKS: Final = {"WARNING": "⚠️", "ERROR": "❌", "CRITICAL": "❌"}


class Status:
    """Verbs that show how the bot does: status, logs."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._machine = shared.machine
        self._clock = shared.clock

    async def status(self, request: Request, argument: str) -> None:
        """Show it, or try the platforms that ended."""
        locale, models, memories = request.locale, self._shared.models, self._shared.memories
        if argument.casefold() == RETRY:
            self._machine.platforms.retry()
            await request.tell(PLATFORMS.trying)
            return
        owners = await memories.owners()
        counts = [await memories.of(owner).count() for owner in owners]
        await self._shared.alerts.catch_up()
        names = dict.fromkeys(model.name for model in (models.heavy, models.reasoning, models.chat, models.summary))
        now, states = self._clock.now(), self._machine.platforms
        lines = [platform_line(state, now, locale) for state in states.all.values()]
        told = SURVEY.status[locale].format(
            state=(SURVEY.state_paused if await self._shared.stores.decisions.is_paused() else SURVEY.state_answering)[
                locale
            ],
            access=self._shared.decider.value_text(DecisionKind.ACCESS, await self._shared.access.mode(), locale),
            uptime=span(self._clock.monotonic() - self._machine.started_s),
            platforms="\n".join(lines) or ", ".join(sorted(self._shared.notifier.seen)),
            models=", ".join(names),
            embedder=models.embedder.space,
            memories=sum(counts),
            people=len(owners),
        )
        choices = [Button(PLATFORMS.try_now[locale], f"/admin status {RETRY}")] if states.any_ended else []
        alarms = [
            FIGURES.alarm[locale].format(span=span((now - alarm.since).total_seconds()), text=alarm.said()[locale])
            for key, alarm in self._shared.alerts.open_now().items()
            if not key.startswith("platform:")  # a line above says it
        ]
        said = [told, *await self._workers(locale), *alarms, *await self._figures(request)]
        await request.answer.tell("\n".join(said), choices=choices)

    async def _workers(self, locale: Locale) -> Sequence[str]:
        """Return a line for each worker, and one for what is owed beside this question; none where there is one."""
        survey, now = self._machine.survey, self._clock.now()
        if not (workers := await survey.workers()):
            return ()
        lines = [WORKERS.title[locale].format(count=len(workers)), *(_worker(each, now, locale) for each in workers)]
        owed = list((await survey.owed()).values())
        if (count := sum(each.messages for each in owed) - 1) > 0:
            oldest = span((now - min(each.oldest for each in owed)).total_seconds())
            lines.append(counted(WORKERS_PLURALS.owed, locale, count, span=oldest))
        return lines

    async def _figures(self, request: Request) -> Sequence[str]:
        locale, machine = request.locale, self._machine
        engine, size_bytes = await machine.survey.storage()
        elsewhere = sum(conversation != request.incoming.conversation for conversation in request.running)
        return (
            FIGURES.queue[locale].format(running=elsewhere, waiting=max(request.others - elsewhere, 0)),
            counted(ERRORS, locale, machine.troubles.errors_since(self._clock.now() - _A_DAY)),
            *[await line(locale) for line in self._shared.added.status],
            FIGURES.data[locale].format(engine=engine, mebibytes=f"{size_bytes / _MEBIBYTE:.1f}"),
            FIGURES.version[locale].format(version=machine.version),
        )

    async def logs(self, request: Request, argument: str) -> None:
        """Show the last troubles, when, where, what kind, how often: 10, or as many as are asked for, at most 50.

        They hold fixed phrases, never what a person wrote.
        """
        is_number = argument.isdecimal() and len(argument) <= len(str(MOST_LOGS))
        limit = min(max(int(argument), 1), MOST_LOGS) if is_number else _USUAL
        lines = [_line(trouble, request.locale) for trouble in self._machine.troubles.newest(limit)]
        await request.answer.tell(
            "\n".join([LOGS.title[request.locale], *lines]) if lines else LOGS.none[request.locale]
        )


def _worker(worker: Colleague, now: datetime, locale: Locale) -> str:
    """Return the line of a worker: `HOST:PID`, since when, its version, and what it does that no other one does."""
    does = [
        said[locale].format(platform=match[1].title() if match.lastindex else "")
        for form, said in _DUTIES
        for match in filter(None, map(form.match, worker.duties))
    ]
    if worker.chats:
        does.append(counted(WORKERS_PLURALS.chats, locale, worker.chats))
    since = span((now - worker.since).total_seconds())
    line = WORKERS.line[locale].format(process=worker.process.replace("`", "'"), span=since, version=worker.version)
    return " · ".join([line, *does])


def _line(trouble: Trouble, locale: Locale) -> str:
    kind, place = (text.replace("`", "'") for text in (trouble.kind, trouble.place))
    often = f" · {counted(TIMES, locale, trouble.count)}" if trouble.count > 1 else ""
    return f"{_MARKS.get(trouble.level, '❌')} {minute(trouble.at, locale)} · `{kind}` · `{place}`{often}"


_DUTIES: Final = (
    (re.compile(r"duty:(\w+):[^:]+:(?:poll|gateway)$"), text("admin.workers.fetches")),
    (re.compile(r"duty:broadcasts$"), text("admin.workers.sends")),
    (re.compile(r"duty:housekeeping$"), text("admin.workers.tidies")),
)
"""What one worker does at a time, by the names of its claims."""

ERRORS = forms("admin.figures.errors")

TIMES = forms("admin.logs.times")
