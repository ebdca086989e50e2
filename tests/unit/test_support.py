"""What a model writes rests on the person's own words of this turn; the rest is offered, and not done."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from core.answering.parts import TurnLimits
from core.answering.prompting import worked_examples
from core.dialogue import Task
from core.enclosures import Quote, QuoteKind, Speaker
from core.models import Cycle
from core.outgoing import OutgoingMessage
from core.ports import Embedder
from core.providers.usem3 import Usem3Embedder
from core.text.words import in_digits
from core.types import Learn, Preferences
from tests.fakes.house import ANA, House
from tests.fakes.model import Answer, Calls, HashEmbedder, call

SINGLE = TurnLimits(cycle=Cycle.SINGLE)
GREETING = "Hello! Nice to see you."


@cache
def _embedder() -> Embedder:
    return Usem3Embedder()


def house(*answers: Answer, embedder: Embedder | None = None, **given: Any) -> House:
    """A bot whose model gives these answers, over the embedder that ships with it."""
    return House({Task.SINGLE: [*answers, GREETING]}, limits=SINGLE, embedder=embedder or _embedder(), **given)  # type: ignore[arg-type]


async def say(bot: House, text: str, *quotes: Quote, pressed: bool = False) -> OutgoingMessage:
    """Say that, and return the last message that came of it."""
    return (await bot.say(text, quotes=quotes, pressed=pressed)).screen[-1]


def save(*contents: str, asked: bool = True, text: str = "", **more: object) -> Calls:
    items = [{"content": content, "bindings": [f"about {content[:20]}"], **more} for content in contents]
    return call("MemorySave", text=text, items=items, asked=asked)


# --- what nobody said is not saved ------------------------------------------------------------------------------------

INVENTED = (
    "My cat is Tom",
    "The user's favourite colour is blue",
    "The wifi password is tulip",
    "Allergic to nuts",
    "Lives in Paris",
    "Birthday: 12 March",
    "Gate code: 9031",
    "Works as a nurse",
    "Has two children",
    "The user is called Ana",
    "Prefers short answers",
    "O carro dela é azul",
    "La clave del banco es 4417",
    "Eats no meat",
    "Moving to Porto in June",
    "The dentist is on Friday at 10:00",
    "Owes Igor 200",
    "Speaks French and German",
    "The user said hello",
    "User: none",
)
NEAR = (
    ("my cat is at the vet", "My cat is Tom"),
    ("what's the weather in Paris?", "Lives in Paris"),
    ("is Tom my brother?", "Tom is my brother"),
    ("how do I change my wifi password?", "The wifi password is tulip"),
    ("my wifi password is driving me mad", "The wifi password is tulip"),
    ("my sister came over yesterday", "My sister is called Marta"),
    ("I forgot my locker code", "My locker code is 4417"),
    ("remember my locker code", "My locker code is 4417"),
    ("anota o telefone da Ana", "O telefone da Ana é 555-0199"),
    ("tenho um cachorro", "O cachorro se chama Rex e é um labrador"),
    ("my car is blue", "My car is red"),
    ("meu carro é azul", "My car is red"),
    ("note that I like tea", "I like coffee"),
    ("remember that I don't eat meat", "I eat meat"),
    ("lembra que eu não fumo mais", "Eu fumo"),
    ("I owe Anna 20 dollars", "I owe Anna 200 dollars"),
    ("Anna owes me 20 dollars", "I owe Anna 20 dollars"),
    ("the dentist is on Monday", "The dentist is on Tuesday"),
    ("my exam is tomorrow", "Exam on 25 December 2026"),
    ("mi coche es rojo", "Mi coche es un Seat rojo, matrícula 1234"),
    ("I take some pills in the morning", "Takes metformin in the morning"),
    ("my brother lives in Leeds", "My sister lives in Leeds"),
    ("she works a lot", "Works as a lawyer"),
    ("I'm moving soon", "Moving to Porto in June"),
    ("I have two hundred emails", "Has 300 emails"),
    ("remember this", "The safe's code is 7-21-40"),
    # its own words, turned
    ("I moved from Porto to Lisbon", "I moved from Lisbon to Porto"),
    ("Ana told Bob a secret", "Bob told Ana a secret"),
    ("minha mãe mora em Recife", "Moro em Recife"),
    ("my mother is a nurse", "I am a nurse"),
    ("if I move to Spain, do I need a visa?", "Moves to Spain"),
    ("imagine you are a pirate", "Is a pirate"),
    ("I used to smoke", "Smokes"),
    ("I want a dog", "Has a dog"),
    ("I sold my bike", "Has a bike"),
    ("maybe I'll move to Leeds", "Moves to Leeds"),
    ("não tenho carro", "Tem carro"),
    ("I don't have a dog, I have a cat", "I have a dog"),
    ("my PIN ends in 7", "My PIN is 7777"),
    ("remember that the party is on Saturday", "The party is on Sunday"),
    ("write a poem about my cat Tom", "The cat is called Tom"),
    # a request for advice tells nothing of who asks
    ("recommend a book like Dune", "Likes Dune"),
    ("me recomenda um livro tipo Duna", "Gosta de Duna"),
    ("recomiéndame una peli como Relatos Salvajes", "Relatos Salvajes"),
    ("could you suggest a dish with peanuts", "A dish with peanuts"),
    ("indica um hotel em Lisboa", "Hotel em Lisboa"),
)


@pytest.mark.parametrize("asked", [True, False, None])
@pytest.mark.parametrize("learn", Learn)
async def test_twenty_invented_facts_after_a_hello_are_not_saved(asked: bool | None, learn: Learn) -> None:
    arguments = save(*INVENTED).calls[0][1]
    assert isinstance(arguments, dict)
    bot = house(Calls([("MemorySave", {**arguments, "asked": asked})], text=GREETING), learn=learn)
    shown = await say(bot, "hello")
    assert await bot.contents() == []
    assert shown.text.startswith(GREETING)
    assert len(shown.choices) <= 3
    assert all(any(content[:20] in each.label for content in INVENTED) for each in shown.choices), "they name it"


async def test_what_is_near_to_what_was_said_is_not_saved_for_it() -> None:
    for message, content in NEAR:
        bot = house(save(content))
        await say(bot, message)
        assert await bot.contents() == [], message


async def test_no_example_of_the_prompt_is_saved_where_nobody_said_it() -> None:
    names = ["MemorySave", "MemorySearch", "MemoryUpdate", "MemoryDelete"]
    parroted = [one for turn in worked_examples(names) for one in turn.calls if one.name == "MemorySave"]
    assert len(parroted) > 2
    for example in parroted:
        bot = house(Calls([(example.name, example.arguments)]))
        await say(bot, "a senha do cofre agora é 7-21-40")
        assert await bot.contents() == []


async def test_the_embedder_is_not_needed_to_refuse_or_to_save() -> None:
    embedder = HashEmbedder()
    embedder.down = True
    bot = house(save("My cat is Tom", "My bike is blue"), embedder=embedder)
    await say(bot, "my bike is blue and my cat is at the vet")
    assert await bot.contents() == ["My bike is blue"]


# --- it is offered ----------------------------------------------------------------------------------------------------


async def test_a_button_names_what_was_not_said_and_saves_that_alone() -> None:
    bot = house(save("My cat is Tom", "My dog is Rex", text=GREETING))
    shown = await say(bot, "hello")
    assert [each.label for each in shown.choices] == ["🧠 Remember “My cat is Tom”?", "🧠 Remember “My dog is Rex”?"]
    told = await say(bot, shown.choices[1].command, pressed=True)
    assert told.text == "Saved: “My dog is Rex”"
    assert await bot.contents() == ["My dog is Rex"]


async def test_a_plain_yes_saves_nothing_that_was_not_said() -> None:
    bot = house(save("My cat is Tom", text=f"{GREETING} Shall I tell you a joke?"))
    await say(bot, "hello")
    await say(bot, "yes")
    assert await bot.contents() == []


async def test_what_was_said_has_its_own_button_beside_what_was_not() -> None:
    bot = house(save("We are moving to Porto in June", "My cat is Tom", asked=False, text="Take a raincoat."))
    shown = await say(bot, "we're moving to Porto in June, any tips?")
    assert [each.label for each in shown.choices] == ["🧠 Remember this?", "🧠 Remember “My cat is Tom”?"]
    await say(bot, shown.choices[0].command, pressed=True)
    assert await bot.contents() == ["We are moving to Porto in June"]


async def test_who_asked_to_keep_something_is_asked_whether_it_is_that() -> None:
    bot = house(save("Works the night shift"))
    shown = await say(bot, "remember that I work nights")
    assert (shown.text, await bot.contents()) == ("Keep “Works the night shift”?", [])
    assert (await say(bot, "yes")).text == "Saved: “Works the night shift”"


async def test_what_was_said_is_saved_and_what_was_not_is_asked_about() -> None:
    bot = house(save("My bike is blue", "My cat is Tom"))
    shown = await say(bot, "remember that my bike is blue")
    assert shown.text == "Saved: “My bike is blue”\n\nKeep “My cat is Tom”?"
    assert await bot.contents() == ["My bike is blue"]


# --- honest ones are saved, or at most offered ------------------------------------------------------------------------

SAID = (
    ("remember that my locker is 212", "My locker is 212"),
    ("can you remember that my locker is 212?", "The user's locker is 212"),
    ("anota que a vaga do carro é a B12", "Vaga do carro: B12"),
    ("I owe Igor two hundred", "The user owes Igor 200"),
    ("recuerda que mi talla es la cuarenta y dos", "Talla: 42"),
    ("my locker code is four four one seven", "Locker code: 4417"),
    ("remember that I parked on level three", "Parked on level 3"),
    ("meu aniversário é doze de março", "Birthday: 12 March"),
    ("my sister's birthday is on the third of May", "My sister was born on 3 May"),
    ("moro em Recife", "O usuário mora em Recife"),
    ("guarda que o portão é 9031", "Gate code is 9031"),
    ("trabalho como enfermeira", "Works as a nurse"),
    ("estoy embarazada de tres meses", "Is three months pregnant"),
    ("my dad loves chess", "The user's father loves chess"),
    ("não esquece que a reunião é na terça", "A reunião é na terça"),
    ("don't forget that the rent is due on Friday", "The rent is due on Friday"),
    ("remember that I don't eat meat", "Does not eat meat"),
    ("запомни: мой код 4417", "Мой код 4417"),
    ("覚えて、私の猫の名前はタマです", "私の猫の名前はタマです"),
    ("my exam is tomorrow", "Exam on 15 March 2026"),
    ("my landlord is Mr. Owusu and his number is 020 7946 0018", "Landlord: Mr. Owusu, 020 7946 0018"),
    ("tengo cita con el oculista el 3 de junio a las 16:30", "Cita con el oculista: 3 de junio, 16:30"),
    ("o aluguel é mil e duzentos reais", "Aluguel: 1200 reais"),
    ("minha filha faz balé às terças", "A filha do usuário faz balé às terças"),
    ("I love Dune, recommend a book like it", "Loves Dune"),
    ("recommend a book, I love Dune", "Loves Dune"),
    ("minha irmã recomendou Duna", "A irmã recomendou Duna"),
    ("the vet is Dr. Lima, 555-0199", '{"vet": "Dr. Lima", "phone": "555-0199"}'),
)
REWORDED = (
    ("note that I quit smoking", "Stopped smoking"),
    ("anota que odeio coentro", "Does not like coriander"),
    ("Merk dir, dass mein Hund zwei Jahre alt ist", "The dog is 2 years old"),
    ("note that nous déménageons à Lyon en juin", "Moving to Lyon in June"),
    ("remember my dad turned seventy", "Father is 70 years old"),
    ("save that call me Zé from now on", "Prefers to be called Zé"),
)


@pytest.mark.parametrize(("message", "content"), SAID)
async def test_what_was_said_is_saved_in_other_forms_and_languages(message: str, content: str) -> None:
    bot = house(save(content))
    await say(bot, message)
    assert await bot.contents() == [content]


@pytest.mark.parametrize(("message", "content"), REWORDED)
async def test_what_was_worded_freely_is_offered(message: str, content: str) -> None:
    bot = house(save(content))
    shown = await say(bot, message)
    assert await bot.contents() == []
    assert f"“{content}”" in shown.text + "".join(each.label for each in shown.choices)
    await say(bot, shown.choices[0].command, pressed=True)
    assert await bot.contents() == [content]


# --- what a message points at -----------------------------------------------------------------------------------------

LUNCH = Quote(QuoteKind.REPLY, "lunch is at one at Zé's", Speaker.OTHER, "Bia")


@pytest.mark.parametrize(
    ("message", "asks"),
    [
        ("remember this", True),
        ("guarda isso", True),
        ("save Bia's lunch", True),
        ("hello", False),
        ("what is this?", False),
        ("remember that my bike is blue", False),
        ("nice for her!", False),
    ],
)
async def test_what_is_replied_to_is_saved_only_where_the_message_asks_for_it(message: str, asks: bool) -> None:
    bot = house(save("Bia: lunch is at one at Zé's"))
    await say(bot, message, LUNCH)
    assert await bot.contents() == ["Bia: lunch is at one at Zé's"] * asks


@pytest.mark.parametrize(("message", "asks"), [("remember that", True), ("hello there", False)])
async def test_remember_that_means_what_the_person_said_before_and_a_hello_does_not(message: str, asks: bool) -> None:
    bot = house("Lovely!", save("Júlia hates mustard"), embedder=HashEmbedder())
    await say(bot, "Júlia hates mustard")
    await say(bot, message)
    assert await bot.contents() == ["Júlia hates mustard"] * asks


# --- what is known is not replaced ------------------------------------------------------------------------------------

REPLACED = (
    ("My cat is Miso", "hello there", "My cat is Tom"),
    ("My cat is Miso", "my cat is at the vet", "My cat is Tom"),
    ("Rowing is at 9", "I love rowing", "Rowing is at 10"),
    ("Rowing is on Monday", "rowing was fun", "Rowing is on Wednesday"),
    ("The wifi password is tulip", "what is the wifi password?", "The wifi password is rose"),
    ("A senha do cofre é 1111", "esqueci a senha do cofre", "A senha do cofre é 2222"),
    ("My flight is at 7", "thanks", "My flight is at 8"),
    ("Mi hermana vive en Lima", "mi hermana vino ayer", "Mi hermana vive en Quito"),
)


@pytest.mark.parametrize(("known", "message", "content"), REPLACED)
async def test_no_memory_is_replaced_by_what_nobody_said(known: str, message: str, content: str) -> None:
    by_save = save(content, instead_of="m1")
    by_update = call("MemoryUpdate", items=[{"id": "m1", "content": content}])
    for wanted in (by_save, by_update):
        bot = house(call("MemorySearch", items=["*"], then="continue"), wanted)
        await bot.keep(known)
        await say(bot, message)
        assert await bot.contents() == [known]


async def test_a_memory_stays_to_be_found_by_its_words() -> None:
    change = {"id": "m1", "content": None, "bindings": ["zebra"]}
    bot = house(call("MemorySearch", items=["*"], then="continue"), call("MemoryUpdate", items=[change]))
    await bot.keep("My cat is Miso")
    await say(bot, "hello there")
    [item] = await bot.memories.of(ANA).page(limit=9)
    assert item.bindings == ("My cat is Miso",)


@pytest.mark.parametrize(
    ("known", "message", "content"),
    [
        ("Rowing is on Monday", "rowing moved to Wednesday", "Rowing is on Wednesday"),
        ("Rowing is at 9", "rowing is at ten now", "Rowing is at 10"),
        ("A senha do wifi é tulipa", "mudou a senha do wifi pra margarida", "A senha do wifi é margarida"),
        ("My flight is at 7", "can you change my flight to 8?", "My flight is at 8"),
    ],
)
async def test_a_memory_is_changed_to_what_was_said(known: str, message: str, content: str) -> None:
    change = call("MemoryUpdate", items=[{"id": "m1", "content": content}])
    bot = house(call("MemorySearch", items=["*"], then="continue"), change)
    await bot.keep(known)
    await say(bot, message)
    assert await bot.contents() == [content]


# --- reminders --------------------------------------------------------------------------------------------------------

UNASKED = (
    ("hello", "call the dentist", "tomorrow at 9"),
    ("see you tomorrow at 9!", "call the dentist", "tomorrow at 9"),
    ("I have the dentist tomorrow at 9", "the dentist", "tomorrow at 9"),
    ("amanhã às 9 tem prova", "estudar", "amanhã às 9"),
    ("remind me to water the plants tomorrow at 9", "pay the rent", "tomorrow at 9"),
    ("remind me to water the plants tomorrow at 9", "water the plants", "every day at 9"),
    ("mañana a las 9 viajo", "viajar", "mañana a las 9"),
)
BRIEFING = ("remind me to water the plants every day at 9", "", "every day at 9")


@pytest.mark.parametrize(("message", "text", "when"), [*UNASKED, BRIEFING])
async def test_no_reminder_is_set_that_nobody_asked_for(message: str, text: str, when: str) -> None:
    arguments = {"text": text, "when": when, "at": "2026-03-20T09:00", "briefing": not text, "then": "stop"}
    bot = house(Calls([("ReminderSet", arguments)]))
    shown = await say(bot, message)
    assert await bot.reminders.of([ANA]) == []
    assert not text or any(each.command.startswith("/remind pick") for each in shown.choices), "it is offered"


@pytest.mark.parametrize(
    ("message", "text", "when"),
    [
        ("remind me to water the plants tomorrow at 9", "water the plants", "tomorrow at 9"),
        ("could you remind me to call Bia tomorrow at 9?", "call Bia", "tomorrow at 9"),
        ("me lembra de pagar a luz amanhã às 9", "pagar a luz", "amanhã às 9"),
    ],
)
async def test_a_reminder_that_was_asked_for_is_set(message: str, text: str, when: str) -> None:
    bot = house(Calls([("ReminderSet", {"text": text, "when": when, "then": "stop"})]))
    await say(bot, message)
    [made] = await bot.reminders.of([ANA])
    assert made.text == text


@pytest.mark.parametrize(
    "message", ["hello", "I hate the dentist", "forget about the rent", "cancel the rent reminder"]
)
async def test_no_reminder_is_deleted_or_moved_that_nobody_named(message: str) -> None:
    told = "remind me to call the dentist tomorrow at 9"
    made = Calls([("ReminderSet", {"text": "call the dentist", "when": "tomorrow at 9", "then": "stop"})])
    moved = Calls([("ReminderSet", {"text": "call the dentist", "when": "at 10", "then": "stop"})])
    for wanted in (call("ReminderCancel", which="the dentist"), moved):
        bot = house(made, wanted)
        await say(bot, told)
        before = await bot.reminders.of([ANA])
        await say(bot, message)
        assert await bot.reminders.of([ANA]) == before
        assert len(before) == 1


# --- preferences ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["it", "de", "es", "pt-BR", "auto"])
@pytest.mark.parametrize("message", ["hello there", "a senha do cofre agora é 7-21-40", "what can you do?"])
async def test_no_language_is_chosen_that_nobody_named(message: str, language: str) -> None:
    bot = house(call("AnswerLanguage", language=language))
    await bot.preferences.put(ANA, Preferences(language="fr"))
    shown = await say(bot, message)
    assert (await bot.preferences.of(ANA)).language == "fr"
    assert [each.command for each in shown.choices] == (["/language auto"] if language == "auto" else [])


# --- numbers in words -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("two hundred", "200"),
        ("two hundred and five", "205"),
        ("one hundred twenty-three", "123"),
        ("nineteen eighty four", "19 84"),
        ("zero zero seven", "007"),
        ("duzentos e cinquenta mil", "250000"),
        ("dois mil e vinte e seis", "2026"),
        ("mil quinientos", "1500"),
        ("la cuarenta y dos", "la 42"),
        ("doze de março", "12 de marco"),
        ("the third of May", "the 3 of may"),
        ("Anna and Bob", "anna and bob"),
    ],
)
def test_number_words_are_read(text: str, digits: str) -> None:
    assert in_digits(text) == digits
