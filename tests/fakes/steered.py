"""Say one labelled sentence to a bot without a model that has three reminders, and tell what became of these.

It is Wednesday 2026-11-25, 10:15, in São Paulo. The trash comes on Thursdays at 20:00, the call once on the 26th at
9:00, the pills daily at 8:00. A label's `wants` maps a reminder to its next instants, `all` to a question for all of
them, `offers` to the words that one is offered for oneself; what it does not name is as before.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from core.features.reminders.reminders import Reminder
from core.features.reminders.service import ReminderPlace
from core.times import rules
from core.times.reading import Once, Recurrence
from core.types import ChatKey, Locale, Preferences, UserKey
from tests.fakes.talk import Talk

ZONE: Final = ZoneInfo("America/Sao_Paulo")
NOW: Final = datetime(2026, 11, 25, 10, 15, tzinfo=ZONE)
TEXTS: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {"trash": "take out the trash", "home": "call home", "pills": "take the pills"},
    "pt": {"trash": "tirar o lixo", "home": "ligar pra casa", "pills": "tomar o remédio"},
    "es": {"trash": "sacar la basura", "home": "llamar a casa", "pills": "tomar la pastilla"},
}
LAST: Final = {
    "en": "remind me in 30 minutes to check the oven",
    "pt": "me lembra em 30 minutos de ver o forno",
    "es": "recuérdame en 30 minutos mirar el horno",
}
TIMES: Final[Mapping[str, Once | Recurrence]] = {
    "trash": Recurrence("FREQ=WEEKLY;BYDAY=TH", datetime(2026, 11, 26, 20, tzinfo=ZONE)),
    "home": Once(datetime(2026, 11, 26, 9, tzinfo=ZONE)),
    "pills": Recurrence("FREQ=DAILY", datetime(2026, 11, 26, 8, tzinfo=ZONE)),
}
_LOCALES: Final = {"pt": Locale.PT, "en": Locale.EN, "es": Locale.ES}
_YES: Final = {"pt": "sim", "en": "yes", "es": "sí"}
UNTOUCHED: Final = {
    "trash": ["11-26T20:00", "12-03T20:00"],
    "home": ["11-26T09:00"],
    "pills": ["11-26T08:00", "11-27T08:00"],
}


async def what_is_wrong(talk: Talk, label: Mapping[str, Any]) -> str:
    """Say the sentence as somebody new, and return what is not as the label wants it; "" for nothing."""
    user, language, wants = UserKey("test", uuid.uuid4().hex), label["lang"], dict(label["wants"])
    await talk.house.preferences.put(user, Preferences(language=_LOCALES[language].value, zone=str(ZONE)))
    place = ReminderPlace(user, ChatKey("test", user.user), private=True, locale=_LOCALES[language])
    ids = dict[str, str]()
    for name, time in TIMES.items():
        made = await talk.house.reminding.set(place, TEXTS[language][name], time)
        assert isinstance(made, Reminder)
        await talk.house.reminders.replace(made, replace(made, changed_at=None))  # long ago
        ids[name] = made.id
    if "last" in wants:
        await talk.say(LAST[language], user, chat=user.user)
    said = await talk.say(label["say"], user, chat=user.user)
    asks = bool(talk.shown.choices) and talk.shown.choices[0].command.startswith("/remind pick")
    if wants and asks and "offers" not in wants:
        await talk.say("1", user, chat=user.user)  # of the two that it may be
    known = {each.id: each for each in await talk.house.reminders.of([user])}
    if "offers" in wants:
        is_offered = f"“{wants.pop('offers')}”" in said and talk.shown.choices[0].command.startswith("/remind ")
        return "" if is_offered and len(known) == len(ids) else said
    if wants.pop("all", False):
        await talk.say(_YES[language], user, chat=user.user)
        left = await talk.house.reminders.of([user])
        return "" if len(known) == len(ids) and not left else said
    last = [each for each in known.values() if each.id not in ids.values()]
    found = {name: following(known.get(key)) for name, key in ids.items()}
    found |= {"last": following(last[0])} if last else {}
    wanted = {**UNTOUCHED, **wants}
    wrong = {name: found.get(name) for name, each in wanted.items() if found.get(name, [])[: len(each)] != each}
    return f"{said} {wrong}" if wrong or set(found) != set(wanted) else ""


def following(reminder: Reminder | None) -> Sequence[str]:
    """Return the next two instants of a reminder, in the zone."""
    if reminder is None or reminder.due is None:
        return []
    schedule, found = reminder.schedule, [reminder.due]
    if schedule.rule:
        later = rules.next_after(schedule.wall, schedule.zone, schedule.rule, reminder.due)
        found += [later] if later is not None else []
    return [f"{at.astimezone(ZONE):%m-%dT%H:%M}" for at in found]


BEGIN: Final = NOW.astimezone(UTC)
