"""What a person said in private is not spoken where others read along, whatever is asked and by which way."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.dialogue import Task
from core.storage.database import Database
from core.storage.sqlite import open_database
from core.stores import ChangeContext
from core.types import MemoryDraft, MemoryItem, MemoryKind, UserKey
from tests.fakes.house import ANA, BIA, House

SECRET = "xyzzy-4471"
PLACES = ["private", "room", "other"]
HEARD = {
    ("private", "private"): True,
    ("private", "room"): False,
    ("private", "other"): False,
    ("room", "private"): True,
    ("room", "room"): True,
    ("room", "other"): False,
    ("other", "private"): True,
    ("other", "room"): False,
    ("other", "other"): True,
}
"""Whether what was told in the first place may be spoken of in the second, to the one who told it."""

WAYS = ["words", "everything"]
QUERIES = {"words": '{"items": ["garage code"]}', "everything": '{"items": ["*"]}'}


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(tmp_path / "audience.db")
    yield opened
    await opened.close()


def house(database: Database, script: dict[Task, list[str]]) -> House:
    """A bot over that database: what it knows, it knows from there."""
    return House(script, database=database)


async def ask(house: House, text: str, place: str, *, user: UserKey = ANA) -> list[str]:
    """Say it there, and return what stood on the screen in the end."""
    is_private = place == "private"
    channel = await house.say(text, user=user, chat=user.user if is_private else place, private=is_private)
    return [*channel.texts, *(item.content for shown in channel.screen for item in shown.memories)]


async def told(house: House, place: str, user: UserKey = ANA) -> MemoryItem:
    """Keep the secret as if the person had said it there, with nothing of it in any conversation."""
    context = ChangeContext("act", "" if place == "private" else f"test:{place}", user)
    memory = house.memories.of(user, context)
    draft = MemoryDraft(MemoryKind.TEXT, SECRET, ("garage code",))
    [item] = await memory.add([draft])
    return item


def seen(house: House) -> bool:
    """Whether any model was shown the secret."""
    return any(SECRET in repr(prompt) for prompt in house.model.prompts)


@pytest.mark.spec("T15")
@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("said", "asked"), HEARD)
async def test_a_memory_is_offered_in_private_and_in_the_room_where_it_was_said_only(
    database: Database, said: str, asked: str, way: str, restarted: bool
) -> None:
    script = {Task.DECIDE: ["MemorySearch", "Finish"], Task.SEARCH_QUERIES: [QUERIES[way]]}
    bot = house(database, script)
    await told(bot, said)
    if restarted:
        bot = house(database, script)
    screen = await ask(bot, "what is the code?", asked)
    assert seen(bot) is HEARD[said, asked]
    assert any(SECRET in text for text in screen) is HEARD[said, asked]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("said", PLACES)
@pytest.mark.parametrize("asked", PLACES)
async def test_nobody_else_is_offered_it_anywhere(database: Database, said: str, asked: str, way: str) -> None:
    bot = house(database, {Task.DECIDE: ["MemorySearch", "Finish"], Task.SEARCH_QUERIES: [QUERIES[way]]})
    await told(bot, said)
    screen = await ask(bot, "what is the code?", asked, user=BIA)
    assert not seen(bot)
    assert not any(SECRET in text for text in screen)


@pytest.mark.parametrize("way", WAYS)
async def test_what_is_shared_may_be_spoken_of_in_every_room_until_it_is_no_more(database: Database, way: str) -> None:
    script = {Task.DECIDE: ["MemorySearch", "Finish"] * 4, Task.SEARCH_QUERIES: [QUERIES[way]]}
    bot = house(database, script)
    item = await told(bot, "private")
    await bot.memories.of(ANA).flag(item.id, shared=True)
    assert any(SECRET in text for text in await ask(bot, "what is the code?", "room"))
    await bot.memories.of(ANA).flag(item.id, shared=False)
    fresh = house(database, script)
    assert not any(SECRET in text for text in await ask(fresh, "what is the code?", "other"))
    assert not seen(fresh)


@pytest.mark.parametrize("action", ["MemoryUpdate", "MemoryDelete"])
async def test_a_model_that_names_a_private_memory_in_a_room_changes_nothing(database: Database, action: str) -> None:
    keeper = house(database, {})
    item = await told(keeper, "private")
    update = json.dumps({"items": [{"id": item.id, "content": "changed", "bindings": None}]})
    ids = json.dumps({"items": [item.id]})
    script = {Task.DECIDE: [action, "Finish"], Task.UPDATE_DRAFTS: [update], Task.DELETE_IDS: [ids]}
    await ask(house(database, script), "change the garage code", "room")
    [still] = await keeper.memories.of(ANA).get([item.id])
    assert still.content == SECRET


async def test_what_was_said_in_private_and_again_in_a_room_may_be_spoken_of_there_only(database: Database) -> None:
    script = {Task.DECIDE: ["MemorySearch", "Finish"] * 4, Task.SEARCH_QUERIES: [QUERIES["words"]]}
    bot = house(database, script)
    first = await told(bot, "private")
    again = await told(bot, "room")
    assert again.id == first.id
    assert any(SECRET in text for text in await ask(bot, "what is the code?", "room"))
    assert not any(SECRET in text for text in await ask(bot, "what is the code?", "other"))


@pytest.mark.parametrize("command", ["/memories", "/recall garage", "/export", "/memories share abc", "/undo", "/link"])
async def test_commands_that_show_a_person_to_themselves_do_not_in_a_room(database: Database, command: str) -> None:
    bot = house(database, {})
    await told(bot, "private")
    assert not any(SECRET in text for text in await ask(bot, command, "room"))


def test_the_table_is_whole() -> None:
    assert set(HEARD) == {(said, asked) for said in PLACES for asked in PLACES}


# --- changes: a memory is heard where its present words were said -----------------------------------------------------

PRIVATE_NEWS, OLD = "909-SECRET", "room 101"


def search_and_update(item_id: str, content: str | None, bindings: list[str] | None = None) -> dict[Task, list[str]]:
    """A model that finds everything, and changes that memory so."""
    change = {"id": item_id, "type": "text", "content": content, "bindings": bindings}
    return {
        Task.DECIDE: ["MemorySearch", "MemoryUpdate", "Finish"],
        Task.SEARCH_QUERIES: ['{"items": ["*"]}'],
        Task.UPDATE_DRAFTS: [json.dumps({"items": [change]})],
    }


async def hotel(database: Database, place: str = "room", *, shared: bool = False) -> MemoryItem:
    memory = house(database, {}).memories.of(
        ANA, ChangeContext("first", "" if place == "private" else f"test:{place}", ANA)
    )
    [item] = await memory.add([MemoryDraft(MemoryKind.TEXT, OLD, ("hotel",))], {})
    if shared:
        await house(database, {}).memories.of(ANA).flag(item.id, shared=True)
    return item


async def heard(database: Database, place: str, word: str) -> bool:
    """Whether a question there brings the word onto the screen, or before a model."""
    bot = house(database, {Task.DECIDE: ["MemorySearch", "Finish"], Task.SEARCH_QUERIES: [QUERIES["everything"]]})
    screen = await ask(bot, "what is my hotel room?", place)
    return any(word in text for text in (*screen, *map(repr, bot.model.prompts)))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("way", ["talk", "edit", "form"])
async def test_what_was_changed_in_private_is_not_told_in_any_room(
    database: Database, way: str, *, shared: bool
) -> None:
    item = await hotel(database, shared=shared)
    assert await heard(database, "room", OLD)
    if way == "talk":
        bot = house(database, search_and_update(item.id, PRIVATE_NEWS))
        said = await ask(bot, f"my hotel room is now {PRIVATE_NEWS}", "private")
    else:
        bot = house(database, {})
        if way == "form":
            await ask(bot, f"/memories edit {item.id}", "private")
            said = await ask(bot, PRIVATE_NEWS, "private")
        else:
            said = await ask(bot, f"/memories edit {item.id} {PRIVATE_NEWS}", "private")
    assert any("I no longer mention it in rooms" in text for text in said)
    assert any(f"/memory share {item.id}" in text for text in said)
    for room in ("room", "other"):
        assert not await heard(database, room, PRIVATE_NEWS)
    assert await heard(database, "private", PRIVATE_NEWS)
    await ask(house(database, {}), f"/memory share {item.id}", "private")
    assert await heard(database, "room", PRIVATE_NEWS), "once they say so"


async def test_what_was_changed_in_a_room_is_told_there_and_in_no_other(database: Database) -> None:
    item = await hotel(database, shared=True)
    said = await ask(house(database, search_and_update(item.id, "room 202")), "now it is 202", "other")
    assert any("only here and in private" in text for text in said)
    assert await heard(database, "other", "room 202")
    assert not await heard(database, "room", "room 202")


@pytest.mark.parametrize(("content", "bindings"), [("room 303", None), (None, ["stay"])])
async def test_what_is_private_now_lends_no_word_to_a_change_in_a_room_that_once_heard_it(
    database: Database, content: str | None, bindings: list[str] | None
) -> None:
    item = await hotel(database)
    assert await heard(database, "room", OLD)
    private = house(database, {}).memories.of(ANA, ChangeContext("second"))
    await private.update(item.id, content=PRIVATE_NEWS, bindings=["909-PHRASE"], vectors={})
    screen = await ask(house(database, search_and_update(item.id, content, bindings)), "change it", "room")
    assert not any("909-" in text for text in screen)
    assert not await heard(database, "room", "909-")


async def test_a_change_in_a_room_of_what_is_not_heard_there_keeps_nothing_of_its_words(database: Database) -> None:
    item = await hotel(database, "private")
    there = house(database, {}).memories.of(ANA, ChangeContext("act", "test:room"))
    assert await there.update(item.id, bindings=["x"], vectors={}) is None
    changed = await there.update(item.id, content="room 404", vectors={})
    assert changed is not None
    assert (changed.bindings, changed.rooms) == (("room 404",), ("test:room",))
    assert await there.delete([(await hotel(database, "other")).id]) == []


@pytest.mark.parametrize("place", PLACES)
async def test_undo_brings_the_old_words_back_to_where_they_were_heard_and_tells_no_room_others(
    database: Database, place: str
) -> None:
    item = await hotel(database)
    keeper = house(database, {})
    await keeper.memories.of(ANA, ChangeContext("second")).update(item.id, content=PRIVATE_NEWS, vectors={})
    screen = await ask(keeper, "/undo", place)
    assert any(OLD in text for text in screen) is (place != "other")
    assert [await heard(database, room, OLD) for room in PLACES] == [True, True, False]
    assert list(await keeper.memories.of(ANA).get([item.id])) == [item]


async def test_undo_in_a_room_tells_nothing_of_what_was_shared_once_and_is_no_more(database: Database) -> None:
    item = await hotel(database, "private", shared=True)
    keeper = house(database, {})
    await keeper.memories.of(ANA, ChangeContext("gone")).delete([item.id])
    await keeper.memories.of(ANA, ChangeContext("news")).add([MemoryDraft(MemoryKind.TEXT, PRIVATE_NEWS, ("b",))], {})
    assert not any(PRIVATE_NEWS in text for text in await ask(keeper, "/undo news", "room"))


@pytest.mark.parametrize("said", PLACES)
@pytest.mark.parametrize("again", PLACES)
async def test_what_is_said_again_is_found_by_no_phrase_where_that_was_not_said(
    database: Database, said: str, again: str
) -> None:
    bot = house(database, {})
    for place in (said, again):
        memory = bot.memories.of(ANA, ChangeContext(f"in {place}", "" if place == "private" else f"test:{place}", ANA))
        await memory.add([MemoryDraft(MemoryKind.TEXT, OLD, (f"phrase of {place}",))], {})
    rooms = {said, again} - {"private"}
    for room in ("room", "other"):
        found = await bot.memories.of(ANA, ChangeContext(room=f"test:{room}")).page(limit=9)
        phrases = (f"phrase of {room}",) if rooms == {room} else (OLD,)
        assert [item.bindings for item in found] == ([phrases] if room in rooms else []), "the content was said there"


async def test_what_differs_in_its_letters_only_is_another_memory_in_a_room_that_did_not_hear_it(
    database: Database,
) -> None:
    await hotel(database, "private")
    loud = MemoryDraft(MemoryKind.TEXT, OLD.upper(), ("hotel",))
    there = house(database, {}).memories.of(ANA, ChangeContext("act", "test:room"))
    for _ in range(2):
        await there.add([loud], {})
    assert [item.content for item in await there.page(limit=9)] == [OLD.upper()]
    assert {item.content for item in await house(database, {}).memories.of(ANA).page(limit=9)} == {OLD, OLD.upper()}


async def test_the_source_of_a_changed_memory_still_names_the_room_that_it_was_said_in(database: Database) -> None:
    script = {
        Task.DECIDE: ["MemorySave", "Finish"],
        Task.SAVE_DRAFTS: ['{"items": [{"type": "text", "content": "room 101", "bindings": ["hotel"]}]}'],
    }
    bot = house(database, script)
    await ask(bot, "remember that my hotel room is 101", "room")
    [item] = await bot.memories.of(ANA).page(limit=1)
    await ask(bot, f"/memories edit {item.id} {PRIVATE_NEWS}", "private")
    assert any("in a room on Test" in text for text in await ask(bot, f"/memories source {item.id}", "private"))
