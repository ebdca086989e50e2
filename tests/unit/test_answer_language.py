"""A model is told to answer in the language of the person's own message, whatever that is, unless one was chosen."""

from __future__ import annotations

import pytest

from core.answering.parts import TurnLimits
from core.answering.prompting import EXAMPLES, worked_examples
from core.dialogue import Task
from core.models import Cycle
from core.outgoing import OutgoingMessage
from core.text.language import is_named
from core.types import Locale, Preferences
from tests.fakes.house import ANA, House, Script
from tests.fakes.model import call

CYCLE: Script = {
    Task.DECIDE: lambda prompt: (
        "Finish" if len(prompt.context.steps) > 1 else "MemorySave" if prompt.context.steps else "MemorySearch"
    ),
    Task.SEARCH_QUERIES: lambda _: '{"items": ["x"]}',
    Task.SAVE_DRAFTS: lambda _: '{"items": [{"type": "text", "content": "x y", "bindings": ["x"]}]}',
}
NAMES = ("Portuguese", "English", "Spanish")
TEXTS = (
    "Wie heißt mein Hund?",
    "Quel est mon mot de passe ?",
    "Come si chiama il mio gatto?",
    "Как зовут мою собаку?",
    "私の犬の名前は何ですか",
    "我的密码是什么",
    "Jakie jest hasło?",
    "Hoe heet mijn hond?",
    "Explain recursion",
    "qual é a minha senha?",
    "ok",
)


async def tasks_of(house: House, text: str) -> list[str]:
    """Return what each call of the turn was told to do."""
    async with house.chatbot() as chatbot:
        await (await chatbot.receive(house.incoming(text), house.channel()))
    assert len(house.model.prompts) > 4
    return [prompt.turns[-1].text.rpartition("<task>")[2] for prompt in house.model.prompts]


@pytest.mark.parametrize("text", TEXTS)
async def test_no_language_is_named_where_none_was_chosen(text: str) -> None:
    for task in await tasks_of(House(CYCLE), text):
        assert "language and script of their last message" in task
        assert not any(name in task for name in NAMES)


async def test_the_language_that_a_person_chose_is_named() -> None:
    house = House(CYCLE)
    await house.preferences.put(ANA, Preferences(language=Locale.ES))
    for task in await tasks_of(house, "what is my password?"):
        assert "Write in Spanish." in task
        assert "last message, whichever" not in task


async def test_the_language_that_the_owner_set_for_everybody_is_named() -> None:
    for task in await tasks_of(House(CYCLE, language=Locale.EN), "Wie heißt mein Hund?"):
        assert "Write in English." in task


async def test_the_statuses_of_a_german_are_english_and_never_spanish() -> None:
    house = House(CYCLE, limits=TurnLimits(Cycle.STEPWISE, status_after_s=0.0))
    channel = house.channel()
    async with house.chatbot() as chatbot:
        await (await chatbot.receive(house.incoming("Wie heißt mein Hund?"), channel))
    assert channel.statuses[0] == "AI is thinking..."


FROM_NOW_ON: Script = {
    Task.DECIDE: lambda prompt: "Finish" if prompt.context.steps else "AnswerLanguage",
    Task.ARGUMENTS: lambda _: '{"language": "German"}',
    Task.FINISH: lambda _: "Gern!",
}


async def said(house: House, *texts: str) -> list[OutgoingMessage]:
    """Say the texts one after the other; return what is on the screen at the end."""
    channel = house.channel()
    async with house.chatbot() as chatbot:
        for text in texts:
            await (await chatbot.receive(house.incoming(text, message_id=text), channel))
    return channel.screen


async def test_a_language_asked_for_in_the_chat_holds_from_that_answer_on() -> None:
    house = House(FROM_NOW_ON)
    [first] = await said(house, "answer me in German from now on")
    assert first.text == "Done: I always answer in German · Deutsch. My own short sentences stay in English.\n\nGern!"
    assert (await house.preferences.of(ANA)).language == "de"
    [finish] = house.model.asked(Task.FINISH)
    assert "Write in German." in finish.turns[-1].text
    assert "from now on, this answer included, you write in German" in finish.turns[-1].text
    await said(house, "and what is two and two?")
    assert all("Write in German." in prompt.turns[-1].text for prompt in house.model.prompts[3:])


async def test_in_a_single_call_it_is_one_call_and_one_message() -> None:
    single = TurnLimits(cycle=Cycle.SINGLE)
    house = House({Task.SINGLE: [call("AnswerLanguage", language="de"), "Gern!"]}, limits=single)
    [shown] = await said(house, "answer me in German from now on")
    assert shown.text == "Done: I always answer in German · Deutsch. My own short sentences stay in English."
    [prompt] = house.model.prompts
    [tool] = [each for each in prompt.tools if each.name == "AnswerLanguage"]
    assert tool.schema["required"] == ["language", "then"]
    assert [each.text for each in await said(house, "thanks")] == ["Gern!"]
    assert "Write in German." in house.model.prompts[-1].turns[-1].whole_text


async def test_its_button_goes_back_to_what_was_chosen_before() -> None:
    house = House(FROM_NOW_ON)
    await house.preferences.put(ANA, Preferences(language="es"))
    [first] = await said(house, "contéstame en alemán desde ahora")
    assert [(each.label, each.command) for each in first.choices] == [("↩️ Deshacer", "/language es")]
    await said(house, first.choices[0].command)
    assert await house.preferences.of(ANA) == Preferences(language="es")


async def test_our_own_sentences_follow_where_the_language_is_one_of_ours() -> None:
    house = House({**FROM_NOW_ON, Task.ARGUMENTS: lambda _: '{"language": "es"}'})
    [first] = await said(house, "answer me in Spanish from now on")
    assert first.text.startswith("Listo: respondo siempre en español.")


@pytest.mark.parametrize(
    "text",
    [
        "a senha do cofre agora é 7-21-40",
        "oi, tudo bem?",
        "answer me from now on",
        "Dein Hund heißt Rex",
        "I'm learning Italian",
        "I'm learning to speak Italian",
        "estou estudando italiano",
        "mi hermana enseña italiano",
        "translate this into Italian",
    ],
)
async def test_a_language_that_the_message_does_not_ask_for_is_not_set(text: str) -> None:
    house = House({Task.SINGLE: [call("AnswerLanguage", language="it"), "Oi!"]}, limits=TurnLimits(cycle=Cycle.SINGLE))
    async with house.chatbot() as chatbot:
        channel = house.channel()
        await (await chatbot.receive(house.incoming(text), channel))
    assert (await house.preferences.of(ANA)).language == ""
    assert [message.text for message in channel.screen] == ["Oi!"]


@pytest.mark.parametrize(
    "text",
    ["I'm learning Italian, answer me in Italian", "responde em italiano, estou aprendendo", "háblame en italiano"],
)
async def test_who_learns_a_language_is_answered_in_it_when_they_ask(text: str) -> None:
    house = House(
        {Task.SINGLE: [call("AnswerLanguage", language="it"), "Va bene!"]}, limits=TurnLimits(cycle=Cycle.SINGLE)
    )
    async with house.chatbot() as chatbot:
        await (await chatbot.receive(house.incoming(text), house.channel()))
    assert (await house.preferences.of(ANA)).language == "it"


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        ("de", "answer me in German from now on"),
        ("de", "responda em alemão a partir de agora"),
        ("it", "d'ora in poi rispondi in italiano"),
        ("pl", "od teraz odpowiadaj po polsku"),
        ("ru", "отвечай по-русски"),
        ("ja", "これからは日本語で答えて"),
        ("pt-BR", "answer in pt-BR"),
        ("zh", "responde en mandarín"),
    ],
)
def test_a_language_is_named_in_any_language_and_form(tag: str, text: str) -> None:
    assert is_named(tag, text)


def test_worked_examples_name_no_language() -> None:
    told = " ".join(turn.whole_text for turn in worked_examples(["AnswerLanguage", "MemorySave", "MemorySearch"]))
    assert "AnswerLanguage" not in told
    assert not any(is_named(tag, EXAMPLES) for tag in ("it", "de", "fr"))
