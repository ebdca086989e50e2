"""Tools that come in when what is said or known calls for them, and stay in, so that prompts keep their beginning."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from core.answering.parts import TurnLimits
from core.dialogue import Prompt, Task
from core.features.preferences.commands import may_choose
from core.features.reminders.mentions import may_be_about
from core.models import Cycle
from core.text.language import is_foreign
from core.types import Preferences
from tests.fakes.house import ANA, House
from tests.fakes.model import ScriptedModel

DATA = Path(__file__).parents[1] / "data"
REMINDERS = {"ReminderSet", "ReminderList", "ReminderCancel"}

LANGUAGES = (  # read while the words were chosen
    "fala comigo em inglês daqui pra frente",
    "me responde sempre em espanhol pfv",
    "quero que vc fale francês comigo",
    "muda o idioma pra alemão",
    "responda em português mesmo se eu escrever em inglês",
    "answer me in German from now on",
    "can u talk to me in portuguese",
    "switch to Spanish pls",
    "let's do this in french from here on",
    "please always write in Yoruba",
    "stop answering in english",
    "háblame en inglés de ahora en adelante",
    "contestame siempre en castellano",
    "quiero practicar italiano, respóndeme así",
    "pasate a portugués che",
)
LANGUAGES_UNSEEN = (  # written before, and read once
    "dá pra conversar comigo só em japonês?",
    "oh elefante vc pode falar ingles q eu to estudando",
    "prefiro que escrevas em português de Portugal",
    "volta pro português",
    "troca a língua das respostas pra italiano",
    "from today reply in Polish, my husband reads along",
    "i want everything in Welsh now",
    "my gran only reads Hindi so use that",
    "no more Spanish please",
    "keep it in english even when I write in portuguese",
    "me puedes escribir en francés a partir de hoy?",
    "cambia a inglés porfa",
    "mejor en catalán",
    "de ahora en más respondé en guaraní",
    "quiero que me hables en alemán, estoy aprendiendo",
)
SMALL_TALK = (
    "oi, tudo certinho?",
    "kkkk boa",
    "tô com fome, que que eu cozinho?",
    "qual é a senha do wifi?",
    "obrigada, até amanhã!",
    "hi! i slept badly and it rains",
    "how far is the moon?",
    "tell a joke, a short one",
    "what's my sister's name again",
    "thanks, see you tomorrow",
    "hola, cómo andas?",
    "jaja qué bueno",
    "¿dónde dejé las llaves?",
    "gracias, eso es todo",
)


def said(name: str) -> list[dict[str, Any]]:
    """The labelled messages of a file."""
    labels: list[dict[str, Any]] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return labels


def asks(label: dict[str, Any]) -> bool:
    """Whether the label says that the message asks for a reminder, for one to be changed, or for the agenda."""
    return label.get("kind") not in {None, "none", "nothing"} or bool(label.get("wants") or label.get("days"))


@pytest.mark.parametrize(("half", "most"), [("tune", 1), ("report", 0)])
def test_whoever_asks_for_a_reminder_is_heard(half: str, most: int) -> None:
    names = ("times", "steer", "agenda", "clock")
    asked = [label["say"] for name in names for label in said(f"{name}_{half}") if asks(label)]
    missed = [text for text in asked if not (may_be_about(text) or is_foreign(text))]
    assert len(asked) > 200
    assert len(missed) <= most, missed


@pytest.mark.parametrize(("texts", "most"), [(LANGUAGES, 0), (LANGUAGES_UNSEEN, 1)])
def test_whoever_speaks_of_a_language_is_heard(texts: tuple[str, ...], most: int) -> None:
    missed = [text for text in texts if not (may_choose(text) or is_foreign(text))]
    assert len(missed) <= most, missed


def test_small_talk_calls_for_nothing() -> None:
    calling = [text for text in SMALL_TALK if may_be_about(text) or may_choose(text) or is_foreign(text)]
    assert calling == []


# --- in a conversation: what came in stays in


def house() -> House:
    return House({Task.SINGLE: lambda _: "Fine."}, limits=TurnLimits(cycle=Cycle.SINGLE))


async def prompts(bot: House, *texts: str) -> list[Prompt]:
    """Say the texts, and return the prompt of each turn."""
    async with bot.chatbot() as chatbot:
        for text in texts:
            await (await chatbot.receive(bot.incoming(text, message_id=uuid.uuid4().hex), bot.channel()))
    assert len(bot.model.prompts) == len(texts)
    return list(bot.model.prompts)


def names(prompt: Prompt) -> set[str]:
    return {tool.name for tool in prompt.tools}


async def test_a_greeting_is_asked_without_tools_that_it_has_no_use_for() -> None:
    [hello] = await prompts(house(), "hello there")
    assert names(hello) >= {"MemorySearch", "MemorySave"}
    assert not names(hello) & {*REMINDERS, "AnswerLanguage"}
    assert hello.in_words is not None
    assert not {tool.name for tool in hello.in_words.tools} & {*REMINDERS, "AnswerLanguage"}, "nor in words"


async def test_a_tool_that_came_in_stays_in_and_those_before_it_stand_where_they_did() -> None:
    first, second, third, fourth = await prompts(
        house(), "hello there", "remind me to call Zé at 9", "thanks!", "how far is the moon?"
    )
    assert names(second) == names(first) | REMINDERS == names(third) == names(fourth)
    assert second.tools[: len(first.tools)] == first.tools, "a cache serves what came before"
    assert third.tools == second.tools == fourth.tools
    assert len({each.system for each in (first, second, third, fourth)}) == 1


async def test_what_the_bot_itself_offers_calls_for_its_tool() -> None:
    bot = House({Task.SINGLE: ["Shall I remind you of it?", "Fine."]}, limits=TurnLimits(cycle=Cycle.SINGLE))
    offering, taking = await prompts(bot, "hello there", "yes please")
    assert not names(offering) & REMINDERS
    assert names(taking) >= REMINDERS


@pytest.mark.parametrize(
    "text", ["Erinnere mich bitte an den Zahnarzt", "明日の会議を教えて", "Bana Türkçe cevap ver, olur mu?"]
)
async def test_who_writes_in_another_language_is_offered_everything(text: str) -> None:
    [prompt] = await prompts(house(), text)
    assert names(prompt) >= REMINDERS | {"AnswerLanguage"}


async def test_who_chose_a_language_is_always_offered_another() -> None:
    bot = house()
    await bot.preferences.put(ANA, Preferences(language="de"))
    [prompt] = await prompts(bot, "back to normal now")
    assert "AnswerLanguage" in names(prompt)


# --- step by step: a search that found what is asked for leaves only the answer


def stepwise(then: str) -> House:
    script: dict[Task, Any] = {
        Task.DECIDE: ["MemorySearch", "Finish"],
        Task.SEARCH_QUERIES: [json.dumps({"items": ["aliexpress password"], "then": then})],
        Task.FINISH: ["It is 123456."],
    }
    return House(script)


async def answered(bot: House, text: str) -> ScriptedModel:
    """Think a text through and return the model."""
    turn = await bot.turn(text, bot.channel())
    await bot.think(turn, max_steps=8)
    return bot.model


@pytest.mark.spec("T3", "T9")
async def test_a_search_that_found_all_that_was_asked_needs_no_second_decision() -> None:
    bot = stepwise("stop")
    await bot.keep("123456", "aliexpress password")
    model = await answered(bot, "what is my aliexpress password?")
    assert [prompt.context.task for prompt in model.prompts] == [Task.DECIDE, Task.SEARCH_QUERIES, Task.FINISH]


@pytest.mark.parametrize(
    ("then", "known", "text"),
    [
        ("continue", True, "what is my aliexpress password?"),
        ("stop", False, "what is my aliexpress password?"),
        ("stop", True, "forget my aliexpress password"),
        ("stop", True, "what is my aliexpress password? and note that the cat is called Miso"),
    ],
)
async def test_else_the_next_action_is_decided(then: str, known: bool, text: str) -> None:
    bot = stepwise(then)
    if known:
        await bot.keep("123456", "aliexpress password")
    model = await answered(bot, text)
    assert [prompt.context.task for prompt in model.prompts].count(Task.DECIDE) == 2
