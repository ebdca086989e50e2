"""/admin usage: what everybody spent, in all, by day, by model, by person; as text, and as a chart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from core.commands.command import Request
from core.commands.menu import number_field
from core.enclosures import AttachmentKind
from core.errors import ChannelError, ChannelGone
from core.features.admin.admin import Verb
from core.features.feature import Contribution, Shared
from core.features.ledger.calls import Sum, day_of, days_back
from core.features.ledger.chart import Chart, Draw, Panel
from core.features.ledger.wording import TOKENS, cost_text, day_text, number, unpriced_note
from core.outgoing import File
from core.text.catalogue import Plurals, Sentences, counted, forms, text
from core.text.markdown import verbatim
from core.text.unicode import one_line
from core.types import Locale

ADMIN = Sentences("usage.admin")
ADMIN_PLURALS = Plurals("usage.admin")

USUAL_DAYS: Final = 30
MAX_DAYS: Final = 366
_DAYS_SHOWN: Final = 7
_USERS_SHOWN: Final = 10
_MODELS_DRAWN: Final = 6
_MAX_NAME_CHARS: Final = 40


@dataclass(frozen=True, slots=True)
class Spent:
    """What was spent on those days: in all (None: nothing), by day and model, by day, by model, by user."""

    days: Sequence[date]
    total: Sum | None
    daily: Sequence[Sum]
    by_day: Sequence[Sum]
    by_model: Sequence[Sum]
    by_user: Sequence[Sum]


def build(shared: Shared) -> Contribution:
    """Contribute /admin usage."""
    days = number_field("days", text("menus.fields.days"), MAX_DAYS)
    run = UsageVerb(shared).run
    return Contribution(verbs=(Verb("usage", text("admin.commands.usage"), run, " [DAYS]", fields=(days,)),))


class UsageVerb:
    """Show what was spent; without anything that draws, as text only."""

    def __init__(self, shared: Shared) -> None:
        self._ledger = shared.stores.quotas.ledger
        self._zone = shared.stores.quotas.zone
        self._access = shared.access
        self._clock = shared.clock
        self._place = shared.stores.spool.place
        self._draw = shared.settings.draw

    async def run(self, request: Request, argument: str) -> None:
        """Show what was spent in the last days, 30 if no number is given, and draw it where pictures can be seen."""
        days = argument or str(USUAL_DAYS)
        if not (days.isascii() and days.isdigit() and 1 <= int(days) <= MAX_DAYS):
            await request.tell(ADMIN.how_many_days, max=MAX_DAYS)
            return
        spent = await self._spent(int(days))
        if spent.total is None:
            await request.answer.tell(counted(ADMIN_PLURALS.nothing, request.locale, int(days)))
            return
        await request.answer.tell("\n".join(await self._lines(request.locale, spent, spent.total)))
        if self._draw is not None and request.answer.view.chat.limits.shows_pictures:
            await self._hand_over_chart(request, spent, self._draw)

    async def _spent(self, days: int) -> Spent:
        now, ledger = self._clock.now(), self._ledger
        since, last = days_back(now, self._zone, days), date.fromisoformat(day_of(now, self._zone).name)
        total = await ledger.sums(since, ())
        return Spent(
            [last - timedelta(days=back) for back in reversed(range(days))],
            total[0] if total else None,
            await ledger.sums(since, ("day", "model")),
            await ledger.sums(since, ("day",)),
            await ledger.sums(since, ("model",)),
            await ledger.sums(since, ("user",)),
        )

    async def _lines(self, locale: Locale, spent: Spent, total: Sum) -> list[str]:
        names = {str(person.user): person.name for person in await self._access.people.all()}
        users = [entry for entry in _largest(spent.by_user) if entry.keys[0]][:_USERS_SHOWN]
        return [
            counted(ADMIN_PLURALS.title, locale, len(spent.days), zone=self._zone.key),
            _sum_text(total, locale) + "".join(f" · {text}" for text in _failed(total, locale)),
            "",
            ADMIN.by_day[locale],
            *(f"- {_day(entry.keys[0], locale)}: {_sum_text(entry, locale)}" for entry in spent.by_day[-_DAYS_SHOWN:]),
            "",
            ADMIN.by_model[locale],
            *(f"- {verbatim(entry.keys[0])}: {_sum_text(entry, locale)}" for entry in _largest(spent.by_model)),
            "",
            *([ADMIN.by_user[locale]] if users else []),
            *(f"- {_user(entry.keys[0], names)}: {_sum_text(entry, locale)}" for entry in users),
            *unpriced_note(total.unpriced, locale),
            ADMIN.estimates[locale],
        ]

    async def _hand_over_chart(self, request: Request, spent: Spent, draw: Draw) -> None:
        """Hand the chart over; do nothing where the platform does not take it, for the text says the same."""
        name = f"usage-{spent.days[0]}-{spent.days[-1]}.png"
        async with self._place(name) as path:
            await draw(chart(spent, request.locale), path)
            try:
                await request.answer.hand_over(
                    [File(path, name, "image/png", AttachmentKind.PHOTO)], ADMIN.caption[request.locale]
                )
            except ChannelGone:
                raise
            except ChannelError:
                return


def chart(spent: Spent, locale: Locale) -> Chart:
    """Return tokens and cost a day by model: the largest by name, all others together."""
    names = [entry.keys[0] for entry in _largest(spent.by_model)]
    drawn = names if len(names) <= _MODELS_DRAWN else names[: _MODELS_DRAWN - 1]
    column = {day.isoformat(): at for at, day in enumerate(spent.days)}
    tokens, cost = (defaultdict[str, list[float]](lambda: [0.0] * len(column)) for _ in range(2))
    for entry in spent.daily:
        day, model = entry.keys
        name = model if model in drawn else OTHERS[locale]
        tokens[name][column[day]] += _tokens(entry)
        cost[name][column[day]] += entry.cost_usd
    order = [name for name in (*drawn, OTHERS[locale]) if name in tokens]
    return Chart(
        counted(CHART, locale, len(spent.days)),
        [day_text(day, locale) for day in spent.days],
        [
            Panel(TOKENS_A_DAY[locale], _in_order(tokens, order)),
            Panel(COST_A_DAY[locale], _in_order(cost, order), is_money=True),
        ],
        locale,
    )


def _in_order(amounts: Mapping[str, Sequence[float]], order: Sequence[str]) -> dict[str, Sequence[float]]:
    return {name: amounts[name] for name in order}


def _largest(sums: Sequence[Sum]) -> list[Sum]:
    return sorted(sums, key=lambda entry: (-entry.cost_usd, -_tokens(entry)))


def _tokens(entry: Sum) -> int:
    return entry.tokens.input_tokens + entry.tokens.output_tokens


def _sum_text(entry: Sum, locale: Locale) -> str:
    tokens = _tokens(entry)
    parts = [
        counted(ADMIN_PLURALS.calls, locale, entry.calls, number=number(entry.calls, locale)),
        counted(TOKENS, locale, tokens, number=number(tokens, locale)),
        cost_text(entry.cost_usd, entry.unpriced, locale),
    ]
    return ", ".join(parts)


def _failed(total: Sum, locale: Locale) -> list[str]:
    return (
        [counted(ADMIN_PLURALS.failed, locale, total.failed, number=number(total.failed, locale))]
        if total.failed
        else []
    )


def _day(name: str, locale: Locale) -> str:
    return day_text(date.fromisoformat(name), locale)


def _user(key: str, names: Mapping[str, str]) -> str:
    name = one_line(names.get(key, ""), _MAX_NAME_CHARS)
    return f"`{key}`" + (f" {verbatim(name)}" if name else "")


CHART = forms("usage.admin.chart")
OTHERS = text("usage.admin.others")
TOKENS_A_DAY = text("usage.admin.tokens_a_day")
COST_A_DAY = text("usage.admin.cost_a_day")
