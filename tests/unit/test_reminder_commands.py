"""/remind and /reminders, the buttons below those that were said, and "undo" for memories and reminders alike."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from core.commands.command import CompletionRequest
from core.features.reminders.reminders import DueClaim, Reminder, ReminderState
from core.outgoing import Suggestion
from core.stores import ChangeContext
from core.types import Locale, MemoryDraft, MemoryKind, Preferences, Role, UserKey
from tests.fakes.clock import START
from tests.fakes.house import ANA, BIA
from tests.fakes.talk import Talk, talking

HOUR = 3600
TOMORROW = datetime(2026, 3, 15, 9, tzinfo=UTC)


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    async with talking(tmp_path) as talk:
        for user in (ANA, BIA):
            await talk.house.preferences.put(user, Preferences(zone="Europe/London"))
        yield talk


async def kept(talk: Talk, user: UserKey = ANA) -> Sequence[Reminder]:
    return await talk.house.reminders.of([user], frozenset(ReminderState) - {ReminderState.REMOVED})


async def fire(talk: Talk) -> str:
    """Say what is due, as the scheduler does; return the batch that the buttons below it name."""
    [claimed] = await talk.house.reminders.claim(DueClaim(talk.clock.now(), {"test"}))
    settled = replace(claimed, state=ReminderState.DONE, due=None, sent_at=talk.clock.now(), tries=0)
    await talk.house.reminders.settle([(claimed, settled)])
    return claimed.batch


def instants(text: str) -> list[datetime]:
    """The times that a text links."""
    return [datetime.fromtimestamp(int(at), UTC) for at in re.findall(r"\(time:(\d+)\)", text)]


def labels(talk: Talk) -> list[str]:
    return [button.label for button in talk.shown.choices]


async def test_a_time_and_a_text_set_a_reminder_and_the_answer_names_both(talk: Talk) -> None:
    said = await talk.say("/remind tomorrow at 9 am pay the rent")
    assert said.startswith("All right, I will remind you: “pay the rent”")
    assert instants(said) == [TOMORROW]
    [made] = await kept(talk)
    assert (made.text, made.due, made.schedule.guessed) == ("pay the rent", TOMORROW, False)
    assert "I will not remind you: “pay the rent”" in await talk.press("Undo")
    assert await kept(talk) == []


async def test_without_a_text_or_anything_at_all_the_person_is_told_how(talk: Talk) -> None:
    assert "/remind tomorrow at 8 pay the rent" in await talk.say("/remind")
    assert "What shall I remind you of?" in await talk.say("/remind tomorrow at 9 am")
    assert await kept(talk) == []


async def test_without_a_time_the_person_is_asked_and_a_button_sets_it(talk: Talk) -> None:
    assert await talk.say("/remind buy milk") == "When shall I remind you? “buy milk”"
    assert await kept(talk) == []
    pick = talk.shown.choices[0].command
    said = await talk.press(talk.shown.choices[0].label)
    assert instants(said) == [(START + timedelta(hours=1)).replace(second=0)]
    assert "closed" in await talk.say(pick, pressed=True), "it is set once"
    assert len(await kept(talk)) == 1


async def test_another_time_can_be_typed_after_a_restart_too(talk: Talk) -> None:
    await talk.say("/remind buy milk")
    await talk.press("Another time")
    await talk.restart()
    said = await talk.say("tomorrow at 9 am")
    assert "I will remind you: “buy milk”" in said
    assert instants(said) == [TOMORROW]


async def test_another_time_can_be_declined(talk: Talk) -> None:
    await talk.say("/remind buy milk")
    await talk.press("Another time")
    assert await talk.say("no") == "All right, nothing was set."
    assert await kept(talk) == []


async def test_what_has_passed_is_said_to_have_passed(talk: Talk) -> None:
    assert "has already passed. When shall I remind you? “party”" in await talk.say(
        "/remind on 2020-01-01 at 8:00 party"
    )
    assert await kept(talk) == []


async def test_an_unknown_zone_is_guessed_and_asked_about_once(talk: Talk) -> None:
    eve = UserKey("test", "eve")
    assert "Is that right?" in await talk.say("/remind tomorrow at 9 am one", eve)
    assert labels(talk) == ["↩️ Undo", "That is right", "Another one"]
    assert talk.button("That is right").command.startswith("/timezone ")
    assert "Is that right?" not in await talk.say("/remind tomorrow at 9 am two", eve)
    assert all(each.schedule.guessed for each in await kept(talk, eve))


async def test_a_memory_that_names_a_time_becomes_a_reminder(talk: Talk) -> None:
    [item] = await talk.keep("dentist on 2026-05-03 at 14:00")
    said = await talk.say(f"/remind memory {item.id}")
    assert instants(said) == [datetime(2026, 5, 3, 13, tzinfo=UTC)]
    [made] = await kept(talk)
    assert made.text == "dentist on 2026-05-03 at 14:00"


async def test_the_list_shows_the_next_first_by_page_and_each_opens(talk: Talk) -> None:
    assert "You have no reminders." in await talk.say("/reminders")
    for number in range(12, 0, -1):
        await talk.say(f"/remind in {number} minutes number {number}")
    first = await talk.say("/reminders")
    assert first.startswith("Your reminders (12):\n1. ⏰ “number 1” · ")
    assert [button.label for button in talk.shown.menu][-1] == "10. number 10"
    assert "11. ⏰ “number 11”" in await talk.press("Next")
    assert talk.button("Previous").command == "/reminders 1"
    assert (await talk.press("12. number 12")).startswith("⏰ “number 12”\n")


async def test_a_card_shows_all_and_its_buttons_change_it(talk: Talk) -> None:
    await talk.say("/remind every day at 7:00 take the pills")
    await talk.say("/reminders")
    card = await talk.press("1. take the pills")
    assert card.startswith("🔁 “take the pills”\n")
    assert labels(talk) == ["✏️ Edit text", "🕗 Change time", "⏸ Pause", "🗑️ Delete", "Reminders"]
    assert "Paused: I will not remind you" in await talk.press("Pause")
    assert (await talk.press("Resume")).startswith("On again.")
    assert talk.button("Edit text").text == "take the pills"
    assert "🔁 “take vitamins”" in await talk.press("Edit text", text="take vitamins")
    moved = await talk.press("Change time", text="tomorrow at 9 am")
    assert moved.startswith("It has a new time.\n\n⏰ “take vitamins”\n")
    assert "Undone. As it was before:\n\n🔁 “take vitamins”" in await talk.press("Undo")
    assert "Deleted the reminder: “take vitamins”" in await talk.press("Delete")
    assert await kept(talk) == []
    await talk.press("Undo")
    assert [each.text for each in await kept(talk)] == ["take vitamins"]


async def test_edits_wait_for_the_next_message_where_there_are_no_forms(talk: Talk) -> None:
    await talk.say("/remind tomorrow at 9 am pay the rent")
    await talk.say("/reminders")
    await talk.say("/reminders edit 1")
    await talk.restart()
    assert "“pay the bills”" in await talk.say("pay the bills")
    [made] = await kept(talk)
    assert "When shall I remind you? “pay the bills”" in await talk.say(f"/reminders when {made.id}")
    assert instants(await talk.say("in 20 minutes")) == [(START + timedelta(minutes=20)).replace(microsecond=0)]
    assert len(await kept(talk)) == 1


async def test_a_time_that_is_not_understood_is_asked_for_again_and_moves_the_same_one(talk: Talk) -> None:
    await talk.say("/remind tomorrow at 9 am pay the rent")
    [made] = await kept(talk)
    assert "When shall I remind you? “pay the rent”" in await talk.say(f"/reminders when {made.id} whenever")
    assert "It has a new time." in await talk.press(talk.shown.choices[0].label)
    [moved] = await kept(talk)
    assert (moved.id, moved.due) == (made.id, (START + timedelta(hours=1)).replace(second=0))


async def test_numbers_ids_and_verbs_of_nothing_are_told_so(talk: Talk) -> None:
    await talk.say("/remind tomorrow at 9 am secret", BIA)
    [hers] = await kept(talk, BIA)
    for said in ("/reminders delete 7", "/reminders show nothing"):
        assert "I cannot find that reminder." in await talk.say(said)
    theirs = "That reminder is {}; only they can act on it."
    assert await talk.say(f"/reminders delete {hers.id}") == theirs.format("somebody else's")
    await talk.say("/remind tomorrow at 9 am cake", BIA, chat="room", private=False)
    assert await talk.press("Undo", private=False) == theirs.format("`bia`'s")
    assert "I did not get that." in await talk.say("/reminders blah")
    assert len(await kept(talk, BIA)) == 2


@pytest.mark.spec("T15")
async def test_in_a_room_nothing_of_what_was_set_elsewhere_is_shown(talk: Talk) -> None:
    await talk.say("/remind tomorrow at 9 am secret surgery")
    [secret] = await kept(talk)
    await talk.say("/remind in 20 minutes team call", chat="room", private=False, title="The office")
    assert "surgery" not in await talk.say("/reminders", chat="room", private=False)
    assert "I cannot find that reminder." in await talk.say(f"/reminders show {secret.id}", chat="room", private=False)
    assert "I remind you in “The office”, where you asked." in await talk.say(
        f"/reminders show {next(each.id for each in await kept(talk) if each != secret)}"
    )
    assert "Edit text" not in " ".join(labels(talk)), "its words are changed there"
    assert "Change time" in " ".join(labels(talk))


async def save(talk: Talk, content: str) -> None:
    """Let the person have a memory that they can take back, and let a second pass."""
    memory = talk.house.memories.of(ANA, ChangeContext(content, "", ANA))
    await memory.add([MemoryDraft(MemoryKind.TEXT, content, (content,))], {})
    await talk.clock.advance(1)


async def test_undo_takes_back_the_newest_change_of_a_memory_or_a_reminder(talk: Talk) -> None:
    await save(talk, "the wifi is abc123")
    await talk.say("/remind tomorrow at 9 am pay the rent")
    await talk.clock.advance(1)
    await save(talk, "Bia is my sister")
    assert "Bia is my sister" in await talk.say("undo")
    assert "I will not remind you: “pay the rent”" in await talk.say("undo that, please")
    assert "abc123" in await talk.say("/undo")
    assert await talk.say("/undo") == "There is nothing to undo."


async def test_undo_in_a_room_takes_back_no_reminder_of_elsewhere(talk: Talk) -> None:
    await talk.say("/remind tomorrow at 9 am secret surgery")
    assert await talk.say("/undo", chat="room", private=False) == "There is nothing to undo."
    assert len(await kept(talk)) == 1


async def test_the_buttons_below_one_that_was_said_hold_after_a_restart_and_only_for_its_owner(talk: Talk) -> None:
    await talk.say("/remind in 20 minutes team call", chat="room", private=False)
    await talk.clock.advance(HOUR)
    batch = await fire(talk)
    await talk.restart()
    done, later = f"/reminders done {batch}", f"/remind later {batch} 10m"
    assert "somebody else's" in await talk.say(done, BIA, chat="room", private=False, pressed=True)
    assert "somebody else's" in await talk.say(later, BIA, chat="room", private=False, pressed=True)
    assert await talk.say(done, chat="room", private=False, pressed=True) == "✓ “team call”"
    said = await talk.say(later, chat="room", private=False, pressed=True)
    assert instants(said) == [(talk.clock.now() + timedelta(minutes=10)).replace(microsecond=0)]
    [again] = await kept(talk)
    assert (again.state, again.due) == (ReminderState.WAITING, talk.clock.now() + timedelta(minutes=10))


async def test_tomorrow_is_the_same_hour_on_the_wall_though_clocks_change(talk: Talk) -> None:
    await talk.clock.advance(14 * 24 * HOUR)  # 28 March: the clocks of London change in the night
    await talk.say("/remind in 20 minutes team call")
    await talk.clock.advance(HOUR)
    batch = await fire(talk)
    await talk.say(f"/remind later {batch} 1d", pressed=True)
    [again] = await kept(talk)
    assert again.due == talk.clock.now() + timedelta(hours=23)


async def offered(talk: Talk, typed: str) -> Sequence[Suggestion]:
    incoming = talk.house.incoming(f"/remind {typed}")
    command = next(each for each in talk.house.features().commands if each.name == "remind")
    assert command.complete is not None
    return await command.complete(CompletionRequest(incoming, Locale.EN, Role.MEMBER, "text", typed))


async def test_while_typing_the_times_are_offered_that_it_would_mean(talk: Talk) -> None:
    [choice] = await offered(talk, "tomorrow at 9 am pay the rent")
    assert choice.value == "tomorrow at 9 am pay the rent"
    assert choice.label.endswith("· pay the rent")
    for choice in await offered(talk, "buy milk"):
        assert "buy milk" in choice.value
        await talk.say(f"/remind {choice.value}")
    assert sorted((each.text, each.due) for each in await kept(talk)) == [
        ("buy milk", START + timedelta(hours=1)),
        ("buy milk", START.replace(hour=18, minute=0, second=0)),
        ("buy milk", TOMORROW.replace(hour=8)),
    ]
    assert [choice for choice in await offered(talk, "x" * 200) if len(choice.value) > 100] == []


async def test_two_meanings_are_offered_each_as_a_plain_time(talk: Talk) -> None:
    choices = await offered(talk, "at 8 call mum")
    assert len(choices) == 2
    for choice in choices:
        await talk.say(f"/remind {choice.value}")
    assert [(each.text, each.due) for each in await kept(talk)] == [
        ("call mum", START.replace(hour=20, minute=0, second=0)),
        ("call mum", TOMORROW.replace(hour=8)),
    ]
