"""Whom a verb of /admin means: ids by the form of their platform, @names that wrote, replies, forwarded messages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from adapters.discord.update_handler import UpdateHandler as OnDiscord
from adapters.telegram.update_handler import UpdateHandler as OnTelegram
from core.delivery.notifier import Notifier
from core.enclosures import Quote, QuoteKind, Speaker
from core.features.access.storage import Person
from core.types import Role, UserKey
from tests.fakes.channel import OneChannel
from tests.fakes.house import House
from tests.fakes.lobby import FINISH, Lobby

ANA, BIA, CARO = (UserKey("telegram", user) for user in ("7", "8", "9"))
ABROAD, AT_HOME = UserKey("discord", "1" * 18), UserKey("console", "ana")
NOT_SEEN = "I have not seen this account yet: check its id."
FORWARD, REPLY = (Quote(kind, "hello", Speaker.OTHER, "Bia") for kind in (QuoteKind.FORWARD, QuoteKind.REPLY))


class Telegram(OneChannel):
    account_ids = OnTelegram.account_ids
    account_url = OnTelegram.account_url


class Discord(OneChannel):
    account_ids = OnDiscord.account_ids
    account_url = OnDiscord.account_url


async def connect(lobby: Lobby) -> None:
    for platform, kind in (("telegram", Telegram), ("discord", Discord), ("console", OneChannel)):
        await lobby.bot.resume(platform, kind(lobby.house.channel(), lobby.private.__getitem__))


@pytest.fixture
async def lobby() -> AsyncIterator[Lobby]:
    async with Lobby(House(FINISH, trusted=("console",)), ()) as lobby:
        await connect(lobby)
        await lobby.give(ANA, Role.OWNER)
        yield lobby


async def role(lobby: Lobby, user: UserKey) -> str:
    person = await lobby.house.people.find(user)
    return person.role.value if person else ""


async def told(lobby: Lobby, text: str, user: UserKey = ANA, **changes: Any) -> str:
    return "\n".join(await lobby.say(text, user, **changes))


@pytest.mark.parametrize("name", ["8", "telegram:8", "@Bia_x", "@BIA_X", "telegram:@bia_x"])
async def test_who_wrote_is_named_by_id_or_by_handle_in_any_case(lobby: Lobby, name: str) -> None:
    await lobby.say("hi", BIA, handle="bia_X", user_name="*Bia* Silva")
    assert await told(lobby, f"/admin allow {name}") == (
        r"Done. [@bia\_X](https://t.me/bia_X) (`*Bia* Silva`): stranger → member" + "\nTo undo it: /admin undo"
    )
    assert "`@bia_X`" in await told(lobby, "/admin users")


@pytest.mark.parametrize("name", ["1234567", "telegram:1234567", "123456789012345678", "<@123456789012345678>"])
async def test_a_well_formed_id_that_nobody_saw_is_let_in_and_that_is_said(lobby: Lobby, name: str) -> None:
    said = await told(lobby, f"/admin allow {name}")
    assert "stranger → member" in said
    assert said.endswith(NOT_SEEN)
    assert len(await lobby.house.people.all()) == 2


@pytest.mark.parametrize(
    "name", ["bob", "-100123", "telegram:bob", "telegram:-100", "08", "8 9", "²", "telegram:", ":8", "discord:8"]
)
async def test_a_typo_creates_nobody_and_what_is_needed_is_said(lobby: Lobby, name: str) -> None:
    said = await told(lobby, f"/admin allow {name}")
    assert "Write: `/admin allow PERSON | here`. For example: `/admin allow telegram:123456`" in said
    assert len(await lobby.house.people.all()) == 1


async def test_a_handle_that_nobody_bore_is_no_reason_to_guess(lobby: Lobby) -> None:
    said = await told(lobby, "/admin block @bob")
    assert said.startswith("I have never seen @bob, and bots cannot look up names. Ask them to write to me once")
    assert len(await lobby.house.people.all()) == 1


async def test_a_handle_of_two_platforms_is_asked_about(lobby: Lobby) -> None:
    for user in (BIA, ABROAD):
        await lobby.say("hi", user, handle="bia")
    said = await told(lobby, "/admin allow @bia")
    assert said.startswith(f"That can be several accounts: `{ABROAD}`, `telegram:8`. Write which one.")
    assert "stranger → member" in await told(lobby, "/admin allow discord:@bia")
    assert await role(lobby, ABROAD) == "member"
    assert await role(lobby, BIA) == ""


async def test_a_handle_is_its_last_bearers(lobby: Lobby) -> None:
    for user in (BIA, CARO):
        await lobby.say("hi", user, handle="star")
    await told(lobby, "/admin allow @star")
    assert (await role(lobby, BIA), await role(lobby, CARO)) == ("", "member")


async def test_a_channel_that_was_seen_is_named_though_it_is_no_person(lobby: Lobby) -> None:
    channel = UserKey("telegram", "-100777")
    await lobby.say("hi", channel)
    assert "stranger → blocked" in await told(lobby, "/admin block telegram:-100777")


async def test_what_an_earlier_version_gave_to_a_typo_can_be_taken_back(lobby: Lobby) -> None:
    typo = UserKey("telegram", "bob")
    await lobby.give(typo, Role.MEMBER)
    assert "member → denied" in await told(lobby, "/admin deny telegram:bob")


async def test_a_platform_that_was_disconnected_still_knows_its_ids(lobby: Lobby) -> None:
    notifier: Notifier = lobby.bot.parts.reach.notifier
    notifier.disconnect("telegram")
    assert "is no account's id" in await told(lobby, "/admin allow telegram:bob")


async def test_in_the_terminal_a_name_there_is_written_with_its_platform(lobby: Lobby) -> None:
    assert "“bob” is no account's id" in await told(lobby, "/admin allow bob", AT_HOME)
    assert "`telegram:8`: stranger → member" in await told(lobby, "/admin allow 8", AT_HOME)
    assert "`console:bob`: stranger → member" in await told(lobby, "/admin allow console:bob", AT_HOME)


async def test_a_misspelt_platform_is_told_with_the_one_that_was_meant(lobby: Lobby) -> None:
    said = await told(lobby, "/admin allow telgram:8")
    assert "There are: console, discord, telegram. Did you mean telegram:…?" in said


# --- replies and forwarded messages ---


@pytest.mark.parametrize(
    ("verb", "after"), [("allow", "member"), ("deny", ""), ("block", "blocked"), ("role admin", "admin")]
)
async def test_a_reply_says_who_also_in_a_room(lobby: Lobby, verb: str, after: str) -> None:
    said = await told(lobby, f"/admin {verb}", room="-100", quotes=(REPLY,), quoted_user="8")
    assert said.startswith("Done. `Bia`: stranger → ")  # as the message told that was replied to
    assert await role(lobby, BIA) == after


@pytest.mark.parametrize("verb", ["users", "quota", "export", "forget", "owner", "status"])
async def test_what_is_kept_of_somebody_is_shown_in_no_room(lobby: Lobby, verb: str) -> None:
    said = await told(lobby, f"/admin {verb}", room="-100", quotes=(REPLY,), quoted_user="8")
    assert said.startswith("Here only:")


async def test_in_private_a_reply_to_a_forwarded_message_says_who_to_every_verb_about_people(lobby: Lobby) -> None:
    await lobby.say("hi", BIA)
    quoted: dict[str, Any] = {"quotes": (REPLY,), "quoted_user": "8"}
    assert "`telegram:8`" in await told(lobby, "/admin users", **quoted)
    assert "quota `telegram:8`: as the settings say → `tokens_day=5`" in await told(
        lobby, "/admin quota tokens_day=5", **quoted
    )
    assert (await told(lobby, "/admin quota", **quoted)).startswith("`telegram:8`: `tokens_day=5` · decided")
    assert "quota `telegram:8`: `tokens_day=5` → " in await told(lobby, "/admin quota reset", **quoted)
    assert "everything about `telegram:8`" in await told(lobby, "/admin forget", **quoted)


async def test_the_next_message_says_who_be_it_forwarded(lobby: Lobby) -> None:
    assert (await told(lobby, "/admin allow")).startswith("Say who.")
    assert "`Bia`: stranger → member" in await told(lobby, "", quotes=(FORWARD,), quoted_user="8")
    assert (await told(lobby, "/admin block")).startswith("Say who.")
    assert "member → blocked" in await told(lobby, "8")
    assert await told(lobby, "hello") == "Hello"


async def test_whoever_is_hidden_by_the_platform_is_not_guessed_by_name(lobby: Lobby) -> None:
    await lobby.say("hi", BIA)
    said = await told(lobby, "/admin allow", quotes=(REPLY,))
    assert said.startswith("I cannot see whose message that is: on Telegram people can hide it")
    assert await role(lobby, BIA) == ""


async def test_a_reply_to_the_bot_itself_says_nobody(lobby: Lobby) -> None:
    said = await told(lobby, "/admin allow", quotes=(replace(REPLY, speaker=Speaker.BOT),))
    assert said.startswith("Say who.")


# --- who reads a handle, and how long ---


async def test_a_handle_is_shown_on_the_card_and_to_nobody_else(lobby: Lobby) -> None:
    await lobby.say("hi", BIA, handle="bia_x")
    (card,) = lobby.seen(ANA)
    assert "`telegram:8` · `8` · `@bia_x`" in card.text
    assert "bia_x" not in await told(lobby, "hi", BIA)


async def test_who_is_forgotten_has_no_handle_any_more_whatever_their_role(lobby: Lobby) -> None:
    await lobby.house.people.put(Person(BIA, Role.ADMIN, "Bia", lobby.house.clock.now()))
    await lobby.say("hi", BIA, handle="bia")
    await lobby.house.access().forget(BIA)
    assert (await told(lobby, "/admin users @bia")).startswith("I have never seen @bia")
