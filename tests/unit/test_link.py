"""Two accounts of one person become one memory, after a yes, and are parted again."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

import pytest

from core.features.reminders.service import ReminderPlace, Reminders
from core.limited import LimitedMind
from core.times.reading import Once
from core.types import ChatKey, Locale, MemoryDraft, MemoryKind, MessageKey, Role, UserKey
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, House
from tests.fakes.lobby import FINISH, Lobby
from tests.fakes.model import HashEmbedder

HERE, THERE, STRANGE = UserKey("telegram", "ana"), UserKey("discord", "ana2"), UserKey("discord", "bia")


@pytest.fixture
async def lobby() -> AsyncIterator[Lobby]:
    async with Lobby(House(FINISH, trusted=()), platforms=("telegram", "discord")) as lobby:
        for user in (HERE, THERE, STRANGE):
            await lobby.give(user, Role.MEMBER)
        yield lobby


async def knows(lobby: Lobby, user: UserKey, *facts: str) -> None:
    """Let the account have told these."""
    memory = lobby.house.memories.of(user)
    await memory.add([MemoryDraft(MemoryKind.TEXT, fact, (fact,)) for fact in facts], {})


async def facts(lobby: Lobby, user: UserKey) -> set[str]:
    """What the account can recall."""
    memories = lobby.house.memories
    return {item.content for item in await memories.of(await memories.owner(user)).page(limit=99)}


async def code_of(lobby: Lobby, user: UserKey) -> str:
    [told] = await lobby.say("/link", user)
    [code] = re.findall(r"`/link ([A-Z]{4}-[A-Z]{4})`", told)
    return str(code)


async def agree(lobby: Lobby, code: str, user: UserKey = THERE) -> list[str]:
    """Enter the code, and say yes to what is said then."""
    await lobby.say(f"/link {code}", user)
    return await lobby.say(f"/link {code} yes", user)


async def linked(lobby: Lobby) -> None:
    await agree(lobby, await code_of(lobby, HERE))


async def test_who_enters_a_code_is_told_whose_it_is_and_asked_before_anything_is_shared(lobby: Lobby) -> None:
    await knows(lobby, HERE, "a", "b")
    await knows(lobby, THERE, "c")
    code = await code_of(lobby, HERE)
    [asked] = await lobby.say(f"/link {code}", THERE)
    assert "This code is from the account Telegram: `ana`." in asked
    assert "1 memory of this account" in asked
    assert "2 of Telegram: `ana`" in asked
    assert await facts(lobby, THERE) == {"c"}
    [done] = await lobby.say(f"/link {code} YES", THERE)
    assert "one memory" in done
    assert await facts(lobby, THERE) == await facts(lobby, HERE) == {"a", "b", "c"}
    assert await facts(lobby, STRANGE) == set()


async def test_the_other_account_is_told_and_can_undo_it_by_a_button(lobby: Lobby) -> None:
    await knows(lobby, HERE, "a")
    await linked(lobby)
    [told] = lobby.seen(HERE)
    assert "one memory" in told.text
    [part] = told.choices
    assert "telegram:ana: 1 memory" in await lobby.press(part, HERE)
    assert await facts(lobby, THERE) == {"a"}


async def test_parting_says_who_keeps_what_and_gives_each_their_own(lobby: Lobby) -> None:
    await knows(lobby, HERE, "a", "b")
    await linked(lobby)
    await lobby.say("/remember c is here", THERE)
    [asked] = await lobby.say("/unlink", HERE)
    assert "• telegram:ana: 2 memories\n• discord:ana2: 1 memory" in asked
    assert await facts(lobby, HERE) == {"a", "b", "c is here"}
    [parted] = await lobby.say("/unlink yes", HERE)
    assert "separate now" in parted
    assert "separate now" in lobby.seen(THERE)[-1].text
    assert await facts(lobby, HERE) == {"a", "b"}
    assert await facts(lobby, THERE) == {"c is here"}


async def test_reminders_of_both_are_known_on_either_and_stay_where_they_were_set(lobby: Lobby) -> None:
    reminders = lobby.house.features().get(Reminders)
    places = {
        user: ReminderPlace(user, ChatKey(user.platform, f"with {user.user}"), private=True, locale=Locale.EN)
        for user in (HERE, THERE)
    }

    async def texts(user: UserKey) -> set[str]:
        return {each.text for each in await reminders.of(places[user])}

    for user, place in places.items():
        await reminders.set(place, f"set by {user}", Once(lobby.house.clock.now() + timedelta(days=1)))
    code = await code_of(lobby, HERE)
    [asked] = await lobby.say(f"/link {code}", THERE)
    assert "and all reminders. **Only say yes" in asked
    [done] = await lobby.say(f"/link {code} yes", THERE)
    assert "see each other's reminders" in done
    assert await texts(HERE) == await texts(THERE) == {"set by telegram:ana", "set by discord:ana2"}
    assert [each.user for each in await reminders.store.of([THERE])] == [THERE]
    [asked] = await lobby.say("/unlink", HERE)
    assert asked.startswith("Once they are separated, each account keeps what it told me, and the reminders set there:")
    await lobby.say("/unlink yes", HERE)
    assert (await texts(HERE), await texts(THERE)) == ({"set by telegram:ana"}, {"set by discord:ana2"})


@pytest.mark.spec("T15")
async def test_parting_gives_each_account_its_own_last_words_and_no_word_travels_on(lobby: Lobby) -> None:
    await lobby.say("/remember my bank pin is 1111", HERE)
    await linked(lobby)
    [item] = await lobby.house.memories.of(HERE).page(limit=9)
    await lobby.say(f"/memories edit {item.id} my bank pin is now 2222", THERE)
    assert await facts(lobby, HERE) == {"my bank pin is now 2222"}
    keeps = "• telegram:ana: 1 memory\n• discord:ana2: 1 memory"
    assert keeps in (await lobby.say("/unlink", HERE))[0]
    assert keeps in (await lobby.say("/unlink yes", HERE))[0]
    assert await facts(lobby, HERE) == {"my bank pin is 1111"}
    assert await facts(lobby, THERE) == {"my bank pin is now 2222"}
    await agree(lobby, await code_of(lobby, HERE), STRANGE)
    assert await facts(lobby, STRANGE) == {"my bank pin is 1111"}
    assert "2222" not in repr(await lobby.house.memories.of(HERE).versions(item.id))


async def test_an_account_is_not_linked_to_itself_nor_twice(lobby: Lobby) -> None:
    code = await code_of(lobby, HERE)
    assert "very account" in (await lobby.say(f"/link {code} yes", HERE))[0]
    of_bia = await code_of(lobby, STRANGE)
    await linked(lobby)
    assert "share one memory" in (await lobby.say(f"/link {of_bia} yes", THERE))[0]
    assert "share one memory" in (await lobby.say("/link", HERE))[0]
    assert list(await lobby.house.memories.accounts(STRANGE)) == [STRANGE]


async def test_a_code_of_an_account_that_was_linked_meanwhile_links_nothing(lobby: Lobby) -> None:
    code = await code_of(lobby, HERE)
    other = await code_of(lobby, STRANGE)
    await lobby.say(f"/link {code}", THERE)
    await agree(lobby, other, HERE)
    assert "already linked to another" in (await lobby.say(f"/link {code} yes", THERE))[0]
    assert list(await lobby.house.memories.accounts(THERE)) == [THERE]


@pytest.mark.parametrize("text", ["/link {code} yes", "/link {code}  YES", "/LINK {code} yes"])
async def test_a_yes_that_comes_with_the_code_is_no_yes_to_what_was_not_said_yet(lobby: Lobby, text: str) -> None:
    code = await code_of(lobby, HERE)
    [asked] = await lobby.say(text.format(code=code), THERE)
    assert "Only say yes if both accounts are yours" in asked
    assert list(await lobby.house.memories.accounts(THERE)) == [THERE]
    assert "one memory" in (await lobby.say(text.format(code=code), THERE))[0], "now they were told"


async def test_a_yes_counts_from_the_account_that_was_told_and_from_no_other(lobby: Lobby) -> None:
    code = await code_of(lobby, HERE)
    await lobby.say(f"/link {code}", STRANGE)
    [asked] = await lobby.say(f"/link {code} yes", THERE)
    assert "Only say yes" in asked
    [asked] = await lobby.say(f"/link {code} yes", STRANGE)
    assert "Only say yes" in asked, "the one who was told last is another"
    assert len(await lobby.house.memories.accounts(HERE)) == 1


async def test_a_yes_that_was_sent_before_the_warning_came_is_none(lobby: Lobby) -> None:
    assert isinstance(lobby.house.clock, FakeClock)
    code = await code_of(lobby, HERE)
    sent = lobby.house.clock.now()
    await lobby.house.clock.advance(3)
    await lobby.say(f"/link {code}", THERE, at=sent)
    assert "Only say yes" in (await lobby.say(f"/link {code} yes", THERE, at=sent))[0]
    assert "one memory" in (await lobby.say(f"/link {code} yes", THERE))[0]


async def test_a_warning_is_for_the_code_that_it_was_about(lobby: Lobby) -> None:
    await lobby.say(f"/link {await code_of(lobby, HERE)}", THERE)
    newer = await code_of(lobby, HERE)
    assert "Only say yes" in (await lobby.say(f"/link {newer} yes", THERE))[0]
    assert list(await lobby.house.memories.accounts(THERE)) == [THERE]


async def test_of_two_who_say_yes_at_once_to_one_code_one_is_joined(lobby: Lobby) -> None:
    code = await code_of(lobby, HERE)
    await lobby.say(f"/link {code}", THERE)
    told = await asyncio.gather(*(lobby.say(f"/link {code} yes", THERE, pressed=True) for _ in range(2)))
    assert sum("Done" in text for [text] in told) == 1
    assert not any("went wrong" in text for [text] in told)
    assert list(await lobby.house.memories.accounts(THERE)) == [HERE, THERE]


async def test_an_account_that_was_joined_elsewhere_between_the_yes_and_the_deed_is_not_joined(lobby: Lobby) -> None:
    code = await code_of(lobby, HERE)
    await lobby.say(f"/link {code}", THERE)
    link = lobby.house.store.link

    async def slow(owner: UserKey, other: UserKey, message: MessageKey | None = None) -> None:
        await link(STRANGE, THERE)
        await link(owner, other, message)

    lobby.house.store.link = slow  # type: ignore[method-assign]
    assert "discord:bia, discord:ana2" in (await lobby.say(f"/link {code} yes", THERE))[0]
    assert list(await lobby.house.memories.accounts(HERE)) == [HERE]


async def test_a_link_gives_nobody_a_right(lobby: Lobby) -> None:
    await lobby.give(HERE, Role.OWNER)
    await linked(lobby)
    [told] = await lobby.say("/admin status", THERE)
    assert told == "Only this bot's owner can do that."


async def test_an_account_that_is_not_linked_has_nothing_to_part(lobby: Lobby) -> None:
    for text in ("/unlink", "/unlink yes"):
        assert "not linked" in (await lobby.say(text, HERE))[0]


async def test_forgetting_everything_on_one_account_forgets_the_person_and_says_so(lobby: Lobby) -> None:
    await knows(lobby, HERE, "a")
    await linked(lobby)
    await knows(lobby, STRANGE, "z")
    [asked] = await lobby.say("/forget all", THERE)
    assert "This includes the accounts linked to this one: telegram:ana" in asked
    [code] = re.findall(r"/forget all ([A-Z]{4})", asked)
    await lobby.say(f"/forget all {code}", THERE)
    assert await facts(lobby, HERE) == await facts(lobby, THERE) == set()
    assert list(await lobby.house.memories.accounts(HERE)) == [HERE]
    assert await facts(lobby, STRANGE) == {"z"}


async def test_a_code_holds_for_ten_minutes_and_once(lobby: Lobby) -> None:
    assert isinstance(lobby.house.clock, FakeClock)
    late = await code_of(lobby, HERE)
    await lobby.house.clock.advance(601)
    assert (await lobby.say(f"/link {late} yes", THERE))[0].startswith("There is no such code")
    code = await code_of(lobby, HERE)
    await lobby.say(f"/link {code}", THERE)
    await lobby.house.clock.advance(599)
    assert "one memory" in (await lobby.say(f"/link {code} yes", THERE))[0]
    await lobby.say("/unlink yes", THERE)
    assert (await lobby.say(f"/link {code} yes", STRANGE))[0].startswith("There is no such code")


async def test_a_turn_asks_once_which_accounts_have_one_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    house, asked = House(embedder=HashEmbedder()), list[UserKey]()
    house.answered_by(LimitedMind(house.embedder))
    accounts = house.store.accounts

    async def spied(user: UserKey) -> Sequence[UserKey]:
        asked.append(user)
        return await accounts(user)

    monkeypatch.setattr(house.store, "accounts", spied)
    async with house.chatbot() as bot:
        for at, said in enumerate(("remember that my locker is 4417", "good morning", "what is my locker?")):
            asked.clear()
            await (await bot.receive(house.incoming(said, message_id=str(at)), house.channel()))
            assert asked == [ANA], said
