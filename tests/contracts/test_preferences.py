"""What every store of people's choices promises."""

from __future__ import annotations

from datetime import timedelta
from itertools import product

import pytest

from core.features.preferences.storage import PreferenceStore
from core.storage.database import Database
from core.types import Learn, Locale, Preferences, UserKey
from tests.fakes.clock import START

ANA, ABROAD = UserKey("telegram", "1"), UserKey("discord", "1")
LEARN = (None, *Learn)


@pytest.fixture
def preferences(database: Database) -> PreferenceStore:
    return PreferenceStore(database)


async def test_who_chose_nothing_is_remembered_and_answered_as_they_write(preferences: PreferenceStore) -> None:
    assert await preferences.of(ANA) == Preferences(language="", remembers=True, learn=None)


async def test_what_was_chosen_last_is_kept_for_that_person_only(preferences: PreferenceStore) -> None:
    flags = (True, False)
    for language, remembers, news, learn in product(("", "pt-BR", "zh-Hant"), flags, flags, LEARN):
        chosen = Preferences(language, remembers, news, learn, shows_steps=news)
        before = Preferences(Locale.ES, not remembers, not news, Learn.AUTO, shows_steps=not news)
        await preferences.put(ANA, before)
        await preferences.put(ANA, chosen)
        assert (await preferences.of(ANA), await preferences.of(ABROAD)) == (chosen, Preferences())


async def test_until_when_a_person_is_incognito_is_kept_with_their_choices(preferences: PreferenceStore) -> None:
    chosen = Preferences(zone="Europe/Lisbon", incognito_until=START, incognito_told=False)
    await preferences.put(ANA, chosen)
    assert await preferences.of(ANA) == chosen
    assert chosen.is_incognito(START - timedelta(microseconds=1))
    assert not chosen.is_incognito(START)
    await preferences.put(ANA, Preferences())
    assert not (await preferences.of(ANA)).is_incognito(START)


async def test_what_was_chosen_is_forgotten(preferences: PreferenceStore) -> None:
    for user in (ANA, ABROAD):
        await preferences.put(user, Preferences(Locale.ES))
    await preferences.forget(ANA)
    await preferences.forget(ANA)
    assert await preferences.of(ANA) == Preferences()
    assert await preferences.of(ABROAD) == Preferences(Locale.ES)
