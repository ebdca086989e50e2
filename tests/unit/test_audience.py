"""What a person said in private is not spoken where others read along, whatever is asked and by which way."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.dialogue import Task
from core.storage.history import SqliteHistory
from core.storage.memories import SqliteMemories
from core.storage.sqlite import Database, open_database
from core.stores import Mark
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
    return House(script, store=SqliteMemories(database), history=SqliteHistory(database))


async def ask(house: House, text: str, place: str, *, user: UserKey = ANA) -> list[str]:
    """Say it there, and return what stood on the screen in the end."""
    surface = house.surface()
    chat = user.user if place == "private" else place
    incoming = house.incoming(text, user=user, chat=chat, message_id=uuid.uuid4().hex)
    async with house.chatbot() as bot:
        await (await bot.receive(replace(incoming, private=place == "private"), surface))
    return surface.texts


async def told(house: House, place: str, user: UserKey = ANA) -> MemoryItem:
    """Keep the secret as if the person had said it there, with nothing of it in any conversation."""
    mark = Mark("act", "" if place == "private" else f"test:{place}", user)
    memory = house.memories.of(user, mark)
    draft = MemoryDraft(MemoryKind.TEXT, SECRET, ("garage code",))
    [item] = await memory.save([draft], await memory.embed(memory.phrases_of(draft)))
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
