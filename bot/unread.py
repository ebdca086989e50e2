"""Tell owners what was not read back after an outage."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from bot.wiring import App
from core.text.catalogue import counted, forms
from core.types import Locale

if TYPE_CHECKING:
    from adapters.discord.read_back import Unread

_KEY: Final = "discord-unread"
_MOST_NAMES: Final = 5


def tell_unread(app: App, unread: Unread | None) -> None:
    """Report to the owners which channels were not read back, and when; None ends an earlier report."""
    alerts, now, zone = app.features.alerts, app.clock.now(), app.settings.zone()
    if unread is None:
        alerts.over_soon(_KEY)
    else:
        alerts.report_soon(_KEY, {locale: sentence(unread, now, zone, locale) for locale in Locale})


def sentence(unread: Unread, now: datetime, zone: ZoneInfo, locale: Locale) -> str:
    """Return what owners are told, with times in that zone."""
    shown = ", ".join(unread.names[:_MOST_NAMES]) + (", …" if len(unread.names) > _MOST_NAMES else "")
    reasons = ", ".join(counted(REASONS[why], locale, count) for why, count in sorted(unread.counts.items()))
    since, until = (_told(at, now, zone, locale) for at in (unread.since, unread.until))
    count = sum(unread.counts.values())
    return counted(CHANNELS, locale, count, channels=shown, reasons=reasons, since=since, until=until)


def _told(at: datetime, now: datetime, zone: ZoneInfo, locale: Locale) -> str:
    """Return the hour of an instant of today, or else the day with its hour."""
    from core.times.wording import hour_told, told  # a start needs no calendars

    local = at.astimezone(zone)
    is_today = local.date() == now.astimezone(zone).date()
    return hour_told(local, locale) if is_today else told(at, now, str(zone), locale)


CHANNELS = forms("unread.channels")
REASONS = {
    "no_right": forms("unread.no_right"),
    "too_much": forms("unread.too_much"),
    "too_old": forms("unread.too_old"),
}
"""What was the matter, by the values of `Why`."""
