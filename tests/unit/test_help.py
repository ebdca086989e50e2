"""/help says first what people want and how to say it, and the rest by topic."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.commands.command import EVERYTHING, HELP_INTRO, Topic
from core.limited.mind import LimitedMind
from core.providers.usem3 import Usem3Embedder
from core.types import Locale
from tests.fakes.commands import COMMANDS, TABLE
from tests.fakes.house import ANA
from tests.fakes.talk import talking

LINES = 8
TOPICS = list({topic.word: topic for command in TABLE for topic in command.topics}.values())
LANGUAGES = list(Locale)


@pytest.mark.parametrize("locale", LANGUAGES)
async def test_the_first_page_has_eight_lines_and_each_sentence_in_it_does_what_it_says(
    tmp_path: Path, locale: Locale
) -> None:
    embedder = Usem3Embedder()
    async with talking(tmp_path, embedder=embedder, mind=LimitedMind(embedder)) as person:
        await person.say(f"/language {locale.code}")
        lines = (await person.say("/help")).splitlines()
        assert len(lines) == LINES
        assert lines[0] == HELP_INTRO[locale]
        keep, find, remind, change, forget = re.findall("“(.+?)”", "\n".join(lines))
        await person.say(keep)
        assert "abc123" in " ".join(await person.contents())
        assert "abc123" in await person.say(find)
        await person.say(change)
        assert "xyz789" in " ".join(await person.contents())
        await person.say(forget)
        await person.press("🗑️")
        assert await person.contents() == []
        await person.say(remind)
        [reminder] = await person.house.reminders.of([ANA])
        assert "Bia" in reminder.text


@pytest.mark.parametrize("locale", LANGUAGES)
@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.word)
async def test_a_topic_is_named_in_any_language_and_lists_its_commands_alone(
    tmp_path: Path, locale: Locale, topic: Topic
) -> None:
    async with talking(tmp_path) as person:
        await person.say("/language en")
        own = {each.name for each in TABLE if topic in each.topics and each.in_menus and not each.for_managers}
        for named in (topic.word, topic.label[locale], topic.label[locale].upper()):
            told = await person.say(f"/help {named}")
            assert set(re.findall(r"^/(\w+)", told, re.MULTILINE)) == own
            [chosen] = [button.label for button in person.shown.choices if button.label.startswith("✓")]
            assert chosen == f"✓ {topic.label[Locale.EN]}"


async def test_the_buttons_of_the_first_page_are_the_topics_and_lead_there(tmp_path: Path) -> None:
    async with talking(tmp_path) as person:
        await person.say("/language en")
        await person.say("/help")
        assert [(each.label, each.command) for each in person.shown.choices] == [
            (topic.label[Locale.EN], f"/help {topic.word}") for topic in TOPICS
        ]
        assert {topic.word for topic in TOPICS} == {"memories", "reminders", "answers", "settings", "data"}


@pytest.mark.parametrize("locale", LANGUAGES)
async def test_all_lists_every_command_and_every_command_has_a_topic(tmp_path: Path, locale: Locale) -> None:
    async with talking(tmp_path) as person:
        await person.say("/language en")
        for named in ("all", EVERYTHING[locale]):
            told = await person.say(f"/help {named}")
            assert [name for name in COMMANDS if f"/{name}" not in told] == ["server"], "there is none in private"
    assert [each.name for each in TABLE if each.in_menus and not each.topics] == ["help"]


async def test_what_is_no_topic_is_answered_with_the_first_page(tmp_path: Path) -> None:
    async with talking(tmp_path) as person:
        await person.say("/language en")
        assert await person.say("/help me please") == await person.say("/help")


async def test_a_line_of_what_is_off_is_not_on_the_first_page(tmp_path: Path) -> None:
    async with talking(tmp_path, off=("ReminderSet",)) as person:
        await person.say("/language en")
        told = await person.say("/help")
        assert "remind me" not in told
        assert "remember that" in told
