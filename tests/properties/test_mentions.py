"""However people talk, nobody hears of another's reminders, none is said twice within a day, and each says it once."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from datetime import datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from core.dialogue import Task
from core.features.reminders.reminders import REST, Kind, Mention, Reminder
from core.features.reminders.service import ReminderPlace
from core.memory.embedding import Embedding
from core.times.reading import Once
from core.types import ChatKey, Locale, UserKey
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, BIA, House
from tests.fakes.model import HashEmbedder
from tests.profile import examples

SUBJECTS = ("dentist", "João", "new kitchen")
SAID = ("the dentist was nice", "o joao ligou", "nothing at all", "the kitchen is new", "dentista e joão")

people = st.sampled_from((ANA, BIA))
rooms = st.sampled_from(("", "", "r0", "r1"))
sets = st.tuples(st.just("set"), people, rooms, st.sampled_from(SUBJECTS), st.booleans())
says = st.tuples(st.just("say"), people, rooms, st.sampled_from(SAID), st.booleans())
waits = st.tuples(st.just("wait"), people, rooms, st.integers(1, 30).map(str), st.booleans())


BEGUN = [("set", user, "", subject, True) for user in (ANA, BIA) for subject in SUBJECTS]
"""Of each, one that is said each time."""


def place(user: UserKey, room: str, act: str) -> ReminderPlace:
    return ReminderPlace(user, ChatKey("test", room or user.user), private=not room, locale=Locale.EN, act=act)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.one_of(sets, says, says, waits), max_size=25))
def test_a_reminder_is_said_to_its_owner_where_it_may_be_heard_and_after_its_rest(
    steps: list[tuple[str, UserKey, str, str, bool]],
) -> None:
    asyncio.run(lived([*BEGUN, *steps]))


async def lived(steps: list[tuple[str, UserKey, str, str, bool]]) -> None:
    clock = FakeClock()
    house = House({task: lambda _: "ok" for task in Task}, clock=clock)
    embedding, said = Embedding(HashEmbedder()), defaultdict[str, list[datetime]](list)
    for number, (what, user, room, words, flag) in enumerate(steps):
        here = place(user, room, f"act {number}")
        if what == "wait":
            clock.jump(timedelta(hours=int(words)))
        elif what == "set":
            until = Once(clock.now() + timedelta(days=30))
            await house.reminding.set(here, f"of {words}", until, kind=Kind.MENTION, mention=Mention(words, each=flag))
        else:
            found = await house.reminding.mentioned(here, words, embedding)
            again = await house.reminding.mentioned(here, words, embedding)  # the same act after a restart
            assert [each.id for each in again] == [each.id for each in found]
            for each in found:
                check(each, here, said[each.id], clock.now())


def check(each: Reminder, here: ReminderPlace, earlier: list[datetime], now: datetime) -> None:
    assert each.user == here.user
    assert here.private or (not each.private and each.chat == here.chat)
    assert each.mention is not None
    assert not earlier or (each.mention.each and now - earlier[-1] >= REST)
    earlier.append(now)
