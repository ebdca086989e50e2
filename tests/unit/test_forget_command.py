"""/forget with words: what would go is shown first, and exactly that goes once it is confirmed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.talk import Talk, talking

NOT_CONFIRMED = "Nothing was deleted or changed: that question is no longer open"


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    async with talking(tmp_path) as talk:
        await talk.keep("blue bicycle", "red bicycle", "green car")
        yield talk


async def test_words_show_what_would_go_and_delete_nothing(talk: Talk) -> None:
    told = await talk.say("/forget bicycle")
    assert told.startswith("This would be deleted (nothing is yet):\n1. 🧠 ")
    assert "green car" not in told
    assert talk.button("Delete these 2").in_place
    assert len(await talk.contents()) == 3


async def test_what_is_only_like_the_words_is_left_alone_where_a_memory_has_them(talk: Talk) -> None:
    for said in ("locker: a ball", "what is in the gym"):
        await talk.say(f"/remember {said}")  # with a vector
    assert "gym" in await talk.say("/recall what is in the locker")
    assert "gym" not in await talk.say("/forget what is in the locker")
    assert "locker" in talk.shown.text
    assert "gym" in await talk.say("/forget what is in the cupboard"), "it is the nearest there is"


async def test_the_button_deletes_exactly_what_was_shown_and_can_be_undone(talk: Talk) -> None:
    await talk.say("/forget bicycle")
    button = talk.shown
    await talk.keep("yellow bicycle")
    told = await talk.press("Delete these 2")
    assert sorted(told.splitlines()[1:-1]) == [
        "- “blue bicycle”",
        "- “red bicycle”",
    ]
    assert sorted(await talk.contents()) == ["green car", "yellow bicycle"]
    assert (await talk.press("Undo")).startswith("Undone. Back again:")
    assert len(await talk.contents()) == 4
    talk.shown = button
    assert (await talk.press("Delete these")).startswith(NOT_CONFIRMED)
    assert len(await talk.contents()) == 4


async def test_one_of_those_can_be_chosen_or_named_by_its_number(talk: Talk) -> None:
    await talk.say("/forget bicycle")
    preview = talk.shown
    assert (await talk.press("1. ")).startswith("🧠 ")
    assert (await talk.press("Back")).startswith("This would be deleted")
    talk.shown = preview
    assert (await talk.say("/forget 2")).startswith("Deleted:")
    assert len(await talk.contents()) == 2


async def test_a_yes_in_words_deletes_what_was_shown(talk: Talk) -> None:
    await talk.say("/forget bicycle")
    assert (await talk.say("yes")).startswith("Deleted:")
    assert await talk.contents() == ["green car"]


async def test_a_code_for_some_does_not_confirm_everything_nor_the_other_way_round(talk: Talk) -> None:
    await talk.say("/forget bicycle")
    code = talk.button("Delete").command.split()[-1]
    asked = await talk.say(f"/forget all {code}")
    assert "To confirm" in asked
    assert (await talk.say(f"/confirm yes {asked.split('/forget all ')[1][:4]}")).startswith(NOT_CONFIRMED)
    assert len(await talk.contents()) == 3
