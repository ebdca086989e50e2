"""/memories, /recall and /memory share, as a person meets them: lists, cards, and every button on them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from core.dialogue import Task
from core.features.memories.card import after
from core.features.memories.commands import VERBS
from core.outgoing import MAX_COMMAND_BYTES
from core.storage.memories import SqlMemories
from core.types import MemoryDraft, MemoryItem, MemoryKind, Message, MessageRole, UserKey
from tests.fakes.house import ANA, BIA
from tests.fakes.talk import Talk, talking

NO_SUCH = "I do not know which memory you mean"
SAVES = '{"items": [{"type": "text", "content": "abc123", "bindings": ["wifi password"]}]}'


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    async with talking(tmp_path, {Task.SAVE_DRAFTS: [SAVES]}) as talk:
        yield talk


# --- lists -----------------------------------------------------------------------------------------------------------


async def test_pages_are_turned_by_buttons_that_take_the_lists_place(talk: Talk) -> None:
    await talk.keep(*(f"fact {n}" for n in range(25)))
    first = await talk.say("/memories")
    assert first.splitlines()[0] == "Your memories (25):"
    assert [choice.label for choice in talk.shown.choices] == ["Next ▶️", "👤 Profile"]
    assert talk.button("Next").in_place
    assert (await talk.press("Next")).splitlines()[1].startswith("11. 🧠 fact 14")
    await talk.restart()
    assert (await talk.press("Next")).splitlines()[1].startswith("21. 🧠 fact 4")
    assert [choice.label for choice in talk.shown.choices] == ["◀️ Previous"]
    assert "Page 3 of 3" in talk.shown.text
    await talk.press("Previous")
    assert await talk.press("Previous") == first


async def test_a_list_offers_each_memory_on_it_by_number_and_name(talk: Talk) -> None:
    kept = await talk.keep("one", "two")
    await talk.say("/memories")
    assert [(choice.label, choice.command) for choice in talk.shown.menu] == [
        ("1. two", f"/memories show {kept[1].id} memories 1"),
        ("2. one", f"/memories show {kept[0].id} memories 1"),
    ]


async def test_pinned_memories_come_first_with_their_mark(talk: Talk) -> None:
    await talk.keep("one", "two", "three")
    await talk.say("/memories")
    await talk.press("3. one")
    assert (await talk.press("Pin")).startswith("Pinned: it comes first in lists.\n\n📌 🧠 one")
    assert [line[:8] for line in (await talk.say("/memories")).splitlines()[1:]] == [
        "1. 📌 🧠 o",
        "2. 🧠 thr",
        "3. 🧠 two",
    ]
    await talk.press("1. one")
    assert (await talk.press("Unpin")).startswith("No longer pinned.\n\n🧠 one")
    assert (await talk.say("/memories")).splitlines()[1].startswith("1. 🧠 three")


async def test_a_page_far_away_is_the_one_that_its_number_says(talk: Talk) -> None:
    drafts = [MemoryDraft(MemoryKind.TEXT, f"fact {n}", (f"fact {n}",)) for n in range(520)]
    await talk.house.memories.of(ANA).add(drafts, {})
    assert (await talk.say("/memories 52")).splitlines()[1].startswith("511. 🧠 fact 9:")
    assert (await talk.say("/memories 99")).splitlines()[1].startswith("511. 🧠 fact 9:")
    assert (await talk.say("/memories 0")).splitlines()[1].startswith("1. 🧠 fact 519:")


@pytest.mark.parametrize("command", ["/recall", "/memories"])
async def test_what_a_search_finds_is_chosen_from_like_any_list(talk: Talk, command: str) -> None:
    await talk.keep("blue bicycle", "red car")
    assert (await talk.say(f"{command} bicycle")).startswith("Found:\n1. 🧠 blue bicycle")
    await talk.press("1. blue bicycle")
    assert talk.button("Back").command == "/recall bicycle"
    assert (await talk.press("Back")).startswith("Found:\n1.")


async def test_words_that_begin_like_a_verb_or_a_number_are_searched(talk: Talk) -> None:
    await talk.keep("12 monkeys", "pin")
    assert "12 monkeys" in await talk.say("/memories 12 monkeys")
    assert "Found:\n1. 🧠 pin" in await talk.say("/memories pin")


def test_a_list_that_a_button_cannot_hold_is_left_out() -> None:
    assert after("/memories show x", "recall a") == "/memories show x recall a"
    assert after("/memories show x", "recall " + "é" * MAX_COMMAND_BYTES) == "/memories show x"


# --- a card ----------------------------------------------------------------------------------------------------------


async def test_a_memory_is_shown_whole_with_all_that_is_known_of_it(talk: Talk) -> None:
    content = "line one\nline *two* ```x```"
    [item] = await talk.house.memories.of(ANA).add([MemoryDraft(MemoryKind.TEXT, content, ("a poem", "two_lines"))], {})
    for name in (item.id, item.id.upper(), f"show {item.id}"):
        assert (await talk.say(f"/memories {name}")).splitlines() == [
            "🧠 a poem",
            "````",
            "line one",
            "line *two* ```x```",
            "````",
            "",
            "Found by: a poem, `two_lines`",
            "Saved on 14 Mar 2026, as text.",
            "Said in private: I mention it only in private.",
        ]


async def test_a_card_works_after_a_restart_button_by_button(talk: Talk) -> None:
    await talk.keep("one")
    await talk.say("/memories")
    for label, told in [
        ("1. one", "🧠 one"),
        ("Pin", "Pinned"),
        ("Share", "Shared: I may mention"),
        ("Unshare", "No longer shared"),
        ("Unpin", "No longer pinned"),
        ("Source", "Where one comes from:"),
        ("Show", "🧠 one"),
        ("Back", "Your memories (1):"),
        ("1. one", "🧠 one"),
        ("Edit", "Send the new content of one"),
    ]:
        await talk.restart()
        assert (await talk.press(label)).startswith(told), label
    await talk.restart()
    assert (await talk.say("uno")).startswith("Changed. Now it is:\n\n🧠 uno\nuno")
    for label, told in [("Undo", "Undone. As it was before:"), ("Show", "🧠 one"), ("Delete", "Deleted:")]:
        await talk.restart()
        assert (await talk.press(label)).startswith(told), label
    await talk.restart()
    assert (await talk.press("Undo")).startswith("Undone. Back again:\n🧠 one: one")
    assert await talk.contents() == ["one"]


async def test_numbers_of_a_list_name_memories_wherever_an_id_does(talk: Talk) -> None:
    await talk.keep("one", "two")
    await talk.say("/memories")
    assert (await talk.say("/memories show 2")).startswith("🧠 one")
    assert (await talk.say("/memories edit 2 uno")).startswith("Changed.")
    assert (await talk.say("/memory share 1")).startswith("Shared:")
    await talk.restart()
    assert (await talk.say("/memories show 2")).startswith("🧠 uno")  # numbers are kept for all workers
    assert (await talk.say("/memories show 3")).startswith(NO_SUCH)
    assert await talk.press("My memories")


@pytest.mark.parametrize("pressed", [False, True])
@pytest.mark.parametrize(
    "command", [*(f"/memories {verb}" for verb in VERBS), "/memory share", "/memory unshare", "/forget", "/memories"]
)
async def test_somebody_elses_id_names_nothing_whatever_is_done_with_it(
    talk: Talk, command: str, pressed: bool
) -> None:
    [item] = await talk.keep("the secret of Ana")
    await talk.keep("something of Bia", user=BIA)
    told = await talk.say(
        f"{command} {item.id} x".removesuffix("" if "edit" in command else " x"), BIA, pressed=pressed
    )
    assert "secret" not in told
    assert told.startswith((NO_SUCH, "Nothing was deleted", "Nothing matches that."))
    assert await talk.house.memories.of(ANA).get([item.id]) == [item]
    assert await talk.house.pending_inputs.find(talk.house.incoming("x", user=BIA).conversation) is None


@pytest.mark.parametrize("forged", ["show", "show  ", "pin x y z", "edit", "source 0", "show ²", "unpin " + "x" * 400])
async def test_a_forged_command_does_nothing(talk: Talk, forged: str) -> None:
    [item] = await talk.keep("one")
    told = await talk.say(f"/memories {forged}", pressed=True)
    assert told.startswith((NO_SUCH, "Nothing matches that."))
    assert await talk.house.memories.of(ANA).page(limit=9) == [item]


async def test_a_button_of_a_memory_that_is_gone_says_so(talk: Talk) -> None:
    await talk.keep("one")
    await talk.say("/memories")
    await talk.press("1. one")
    card = talk.shown
    await talk.press("Delete")
    for label in ("Source", "Edit", "Pin", "Share"):
        talk.shown = card
        assert (await talk.press(label)).startswith(NO_SUCH)
    talk.shown = card
    assert (await talk.press("Delete")).startswith("Nothing was deleted")


# --- where it comes from ---------------------------------------------------------------------------------------------


async def test_the_source_of_a_memory_is_what_the_person_said_then(talk: Talk) -> None:
    await talk.say("/remember the wifi password is abc123")
    await talk.say("/memories")
    await talk.press("1. wifi")
    assert (await talk.press("Source")).splitlines() == [
        "Where wifi password comes from:",
        "",
        "14 Mar 2026, 15:09 UTC · Test · in private",
        "```",
        "the wifi password is abc123",
        "```",
        "",
        "Said in private: I mention it only in private.",
    ]
    assert (await talk.press("Show")).startswith("🧠 wifi password\nabc123")


async def test_a_source_names_the_room_that_it_was_said_in(talk: Talk) -> None:
    await talk.say("/remember the wifi password is abc123", chat="kitchen", private=False)
    [item] = await talk.house.memories.of(ANA).page(limit=1)
    assert "UTC · Test · in a room on Test\n" in await talk.say(f"/memories source {item.id}")
    for title in ("Old kitchen", "The *kitchen*"):  # each message tells what people call the room now
        await talk.say("/help", chat="kitchen", private=False, title=title)
    assert "UTC · Test · in “`The *kitchen*`”\n" in await talk.say(f"/memories source {item.id}")
    await talk.restart()
    told = await talk.say(f"/memories {item.id}")
    assert "Said in another place: “`The *kitchen*`”." in told
    assert "test:kitchen" not in told


async def test_what_was_said_in_private_is_not_said_to_be_from_a_room_where_it_was_said_again(talk: Talk) -> None:
    await talk.say("/remember the wifi password is abc123")
    await talk.say("/remember the wifi password is abc123", chat="kitchen", private=False)
    [item] = await talk.house.memories.of(ANA).page(limit=1)
    assert item.rooms == ("test:kitchen",)
    assert "UTC · Test · in private\n" in await talk.say(f"/memories source {item.id}")


async def test_a_source_that_is_gone_or_never_was_is_told_as_such(talk: Talk) -> None:
    await talk.keep("one")
    await talk.say("/memories")
    await talk.press("1. one")
    assert "It comes from no message" in await talk.press("Source")
    memory = talk.house.memories.of(ANA)
    [item] = await memory.add([MemoryDraft(MemoryKind.TEXT, "two", ("two",))], {}, source_ids=[98])
    assert "A message that it comes from is no longer saved." in await talk.say(f"/memories source {item.id}")


async def test_of_many_sources_the_newest_are_shown_and_of_long_ones_the_beginning(talk: Talk) -> None:
    conversation = await talk.house.conversations.open(talk.house.incoming("x").conversation)
    texts = [f"said {n}" for n in range(11)] + ["x" * 2000]
    stored = [await conversation.add(Message(MessageRole.USER, text, turn=text)) for text in texts]
    draft = MemoryDraft(MemoryKind.TEXT, "two", ("two",))
    [item] = await talk.house.memories.of(ANA).add([draft], {}, source_ids=[message.id for message in stored])
    told = await talk.say(f"/memories source {item.id}")
    assert told.count("14 Mar 2026, 15:09 UTC") == 10
    assert "\nsaid 2\n" in told
    assert "\nsaid 1\n" not in told
    assert "\n" + "x" * 1500 + "…\n" in told
    assert "And 2 older messages." in told


async def test_of_linked_accounts_what_was_said_on_either_is_shown_and_of_strangers_nothing(talk: Talk) -> None:
    abroad = UserKey("test", "abroad")
    await talk.say("/remember the wifi password is abc123", abroad)
    [item] = await talk.house.memories.of(abroad).page(limit=1)
    assert (await talk.say(f"/memories source {item.id}")).startswith(NO_SUCH)
    await talk.house.memories.link(ANA, abroad)
    assert "the wifi password is abc123" in await talk.say(f"/memories source {item.id}")
    assert "the wifi password is abc123" in await talk.say(f"/memories source {item.id}", abroad)
    assert (await talk.say(f"/memories source {item.id}", BIA)).startswith(NO_SUCH)
    await talk.say(f"/memories edit {item.id} xyz")
    assert (await talk.press("Undo", abroad)).startswith("Undone. As it was before:")
    await talk.house.memories.unlink(ANA, abroad)
    assert (await talk.say(f"/memories source {item.id}")).startswith(NO_SUCH)


# --- rooms -----------------------------------------------------------------------------------------------------------


async def test_a_card_says_in_which_rooms_a_memory_was_said_and_that_it_is_shared(talk: Talk) -> None:
    [item] = await talk.keep("one")
    await talk.house.store.flag(ANA, [item.id], room="test:kitchen")
    told = await talk.say(f"/memories {item.id}")
    assert told.endswith("Said in another place: a room on Test.")
    assert (await talk.say(f"/memories {item.id}", chat="kitchen")).endswith("Said in this room.")
    await talk.house.store.flag(ANA, [item.id], room="test:garden")
    assert "Said in 2 other places: " in await talk.press("Share")
    assert talk.shown.text.endswith("Shared: I may mention it in every room where you talk to me.")


@pytest.mark.parametrize("command", ["share", "unshare"])
async def test_a_memory_is_shared_in_private_only_where_nobody_reads_what_it_is(talk: Talk, command: str) -> None:
    [item] = await talk.keep("one")
    told = await talk.say(f"/memory {command} {item.id}", private=False)
    assert told == "I only show that in private. Write to me in a private chat."
    assert await talk.house.memories.of(ANA).get([item.id]) == [item]


@pytest.mark.parametrize("command", ["/memory share", "/memory unshare"])
async def test_what_is_to_be_shared_has_to_be_named(talk: Talk, command: str) -> None:
    assert (await talk.say(command)).startswith("Say which memory: /memory share NUMBER")


@pytest.mark.parametrize("user", [ANA, BIA], ids=str)
async def test_while_memory_is_off_nothing_is_edited_but_pinned_shared_and_deleted(talk: Talk, user: UserKey) -> None:
    [item] = await talk.keep("one", user=user)
    await talk.say("/memory off", user)
    assert (await talk.say(f"/memories edit {item.id} two", user)).startswith("Memory is off")
    assert (await talk.say(f"/memories pin {item.id}", user)).startswith("Pinned")
    assert (await talk.say(f"/memory share {item.id}", user)).startswith("Shared")
    assert (await talk.say(f"/forget {item.id}", user)).startswith("Deleted")
    assert (await talk.press("Undo", user)).startswith("Undone. Back again")


async def test_what_another_button_deletes_while_it_is_being_pinned_is_gone(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    [item] = await talk.keep("one")
    read = SqlMemories.get

    async def deleting(store: SqlMemories, owner: UserKey, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        found = await read(store, owner, memory_ids)
        await store.delete(owner, memory_ids)
        return found

    monkeypatch.setattr(SqlMemories, "get", deleting)
    assert (await talk.say(f"/memories pin {item.id}")).startswith(NO_SUCH)
