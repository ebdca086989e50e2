"""In which language somebody is answered, and told something when they have not just written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.answering.asker import Locales
from core.errors import StorageError
from core.features.access.storage import Person
from core.types import Incoming, Locale, Message, MessageRole, Preferences, Role
from tests.fakes.channel import OneChannel
from tests.fakes.house import ANA, BIA, House
from tests.fakes.lobby import Lobby


async def talked(house: House, *texts: str) -> Locales:
    conversation = await house.conversations.open(house.incoming("").conversation)
    for text in texts:
        await conversation.add(Message(MessageRole.USER, text))
        await conversation.add(Message(MessageRole.ASSISTANT, "the answer is in English, of course"))
    return Locales(house.preferences.of, house.history)


def house_said(text: str) -> Incoming:
    return replace(House().incoming(text), language="")


async def test_what_a_person_chose_comes_before_all_else() -> None:
    house = House()
    locales = Locales(house.preferences.of, house.history, Locale.PT)
    english = house.incoming("what is the password?")
    assert await locales.of(english) is Locale.PT
    assert await locales.known(ANA, "en") is Locale.PT
    await house.preferences.put(ANA, Preferences(language=Locale.ES))
    assert await locales.of(english) is Locale.ES
    assert await locales.known(ANA, "en") is Locale.ES


@pytest.mark.parametrize(
    ("text", "tag", "locale"),
    [
        ("what is the password?", "pt-br", Locale.EN),
        ("ok", "es-MX", Locale.ES),
        ("ok", "fr", Locale.EN),
        ("ok", "", Locale.PT),
        ("Wie heißt mein Hund?", "pt-br", Locale.EN),
        ("/remember the password is what it is", "", Locale.PT),
    ],
)
async def test_a_message_is_answered_in_its_language_or_the_platforms(text: str, tag: str, locale: Locale) -> None:
    house = House()
    assert await Locales(house.preferences.of, house.history).of(replace(house.incoming(text), language=tag)) is locale


async def test_where_the_message_does_not_tell_what_was_said_before_does() -> None:
    house = House()
    locales = await talked(house, "quiero la contraseña, por favor", "ok")
    for text in ("ok", "/help"):
        assert await locales.of(replace(house.incoming(text), language="pt-br")) is Locale.ES


@pytest.mark.parametrize("text", ["a Jéssica entra às 9", "yo", "a q paciente no le puedo dar penicilina", "hi"])
async def test_one_ambiguous_word_does_not_change_the_language_of_a_conversation(text: str) -> None:
    locales = await talked(House(), "quiero la contraseña, por favor", "yo")
    assert await locales.of(house_said(text)) is Locale.ES


@pytest.mark.parametrize(
    ("text", "locale"), [("what is my password?", Locale.EN), ("não sei qual é a minha senha", Locale.PT)]
)
async def test_a_whole_sentence_changes_it(text: str, locale: Locale) -> None:
    locales = await talked(House(), "quiero la contraseña, por favor", "ok")
    assert await locales.of(house_said(text)) is locale


async def test_a_later_ambiguous_word_counts_for_less_than_an_earlier_sentence() -> None:
    locales = await talked(House(), "quiero la contraseña, por favor", "a Jéssica entra na escola")
    assert await locales.of(house_said("ok")) is Locale.ES


async def test_the_first_message_of_all_is_answered_in_what_it_may_be() -> None:
    locales = await talked(House())
    assert await locales.of(house_said("yo")) is Locale.ES


async def test_what_was_said_before_a_reset_still_tells_the_language() -> None:
    house = House()
    locales = await talked(house, "quiero la contraseña, por favor")
    conversation = await house.conversations.open(house.incoming("").conversation)
    await conversation.reset()
    await house.conversations.open(house.incoming("").conversation)
    assert await locales.of(replace(house.incoming("ok"), language="")) is Locale.ES


async def test_what_is_said_here_tells_more_than_what_is_said_elsewhere() -> None:
    house = House()
    locales = await talked(house, "quiero la contraseña, por favor")
    elsewhere = await house.conversations.open(house.incoming("", chat="elsewhere").conversation)
    await elsewhere.add(Message(MessageRole.USER, "qual é a minha senha?"))
    assert await locales.of(replace(house.incoming("ok"), language="")) is Locale.ES
    assert await locales.of(replace(house.incoming("ok", chat="elsewhere"), language="")) is Locale.PT


async def test_who_has_not_just_written_is_told_in_the_language_that_they_wrote_last() -> None:
    house = House()
    locales = await talked(house, "qual é a senha?", "what is the password?", "ok")
    assert await locales.known(ANA) is Locale.EN
    assert await locales.known(ANA, "es") is Locale.EN
    assert await locales.known(BIA, "es") is Locale.ES
    assert await locales.known(BIA) is Locale.EN


async def test_what_was_chosen_and_cannot_be_read_is_as_if_nothing_was() -> None:
    house = House()

    async def unreadable(_: object) -> Preferences:
        raise StorageError("disk gone")

    house.preferences.of = unreadable  # type: ignore[method-assign,assignment]
    assert await Locales(house.preferences.of, house.history).of(house.incoming("what is it?")) is Locale.EN
    assert await Locales(house.preferences.of, house.history, Locale.ES).of(house.incoming("what is it?")) is Locale.ES


async def test_an_owner_is_first_written_to_in_the_language_that_the_platform_told_at_the_claim() -> None:
    house = House(trusted=())
    access = house.access()
    code = await access.claim_code("test")
    lobby = Lobby(house)
    async with house.chatbot(access) as lobby.bot:
        await lobby.bot.resume("test", OneChannel(house.channel(), lobby.private.__getitem__))
        told = await lobby.say(f"/start {code}", ANA, language="es")
        assert told[0].startswith("Listo")
        await lobby.say("hi", BIA)
        assert [choice.label for choice in lobby.seen(ANA)[0].choices] == ["Permitir", "Rechazar", "Bloquear"]


@pytest.mark.parametrize(
    ("tag", "fixed", "private", "locale"),
    [
        ("es-MX", "", True, Locale.ES),
        ("es-MX", "pt", True, Locale.PT),
        ("", "", True, Locale.EN),
        ("", "es", True, Locale.ES),
        ("de", "", True, Locale.EN),
        ("es-MX", "", False, Locale.ES),
    ],
)
async def test_a_persons_language_is_known_from_what_the_platform_told_last(
    tag: str, fixed: str, *, private: bool, locale: Locale
) -> None:
    house = House(trusted=(), language=fixed)
    features = house.features()
    await house.people.put(Person(ANA, Role.OWNER, "Ana", house.clock.now()))
    await features.access.judge(replace(house.incoming("/help"), language=tag, private=private))
    assert await features.locales.known(ANA) is locale


async def test_the_language_of_a_room_does_not_take_the_place_of_a_persons_own() -> None:
    house = House(trusted=())
    features = house.features()
    await house.people.put(Person(ANA, Role.OWNER, "Ana", house.clock.now()))
    for tag, private in (("es", True), ("pt-br", False), ("", True)):
        await features.access.judge(replace(house.incoming("/help"), language=tag, private=private))
    assert await features.locales.known(ANA) is Locale.ES
