"""A thumbs-down below an answer offers to take back what it did, or to answer again. The real core, real sockets."""

from __future__ import annotations

from tests.fakes.telegram_people import Person
from tests.transcripts.telegram_house import ANA, BIA, GROUP, Scene, scene

CARLA = Person(10, "Carla")


async def dislike(scene: Scene, person: Person, emoji: str = "👎", chat_id: int | None = None) -> list[str]:
    """React to the bot's first message; return what it says to that."""
    chat = scene.server.chats[person.id if chat_id is None else chat_id]
    before = len(chat.ours())
    await scene.react(person, emoji, chat.ours()[0], chat_id)
    return [post.text for post in chat.ours()[before:]]


async def test_what_an_answer_saved_is_taken_back_by_a_button_and_each_message_is_asked_about_once() -> None:
    async with scene() as at:
        await at.say(ANA, "lembre: a senha do wi-fi é abc123")
        assert await dislike(at, ANA, "👍") == []
        assert await dislike(at, ANA) == ["Não era isso? Posso desfazer o que mudei."]
        post = await at.press(ANA, "Desfazer")
        assert post.text.startswith("Desfeito.")
        assert await dislike(at, ANA, "") == []
        assert await dislike(at, ANA) == []
        assert "message_reaction" in at.server.allowed


async def test_an_answer_that_changed_nothing_is_given_again() -> None:
    async with scene() as at:
        await at.say(ANA, "lembre: a senha do wi-fi é abc123")
        await at.say(ANA, "/undo")
        assert await dislike(at, ANA) == ["Não era isso? Posso responder de novo."]
        assert at.server.chats[ANA.id].ours()[-1].labels == [["Tentar de novo"]]


async def test_in_a_group_only_who_asked_is_offered_anything_and_alone_sees_it() -> None:
    async with scene() as at:
        group = at.server.chat(GROUP)
        group.administered = True
        await at.say(ANA, "@elefante_bot lembre: a senha do wi-fi é abc123", GROUP)
        for person in (BIA, CARLA):
            at.server.seen.add(person.id)
            assert await dislike(at, person, chat_id=GROUP) == []
        assert await dislike(at, ANA, chat_id=GROUP) == []
        assert group.heard(ANA.id) == ["Não era isso? Posso desfazer o que mudei."]
        assert not group.heard(BIA.id)
