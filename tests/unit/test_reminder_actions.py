"""Reminders in the chat: set, asked about, listed, deleted and found, in both cycles and in limited mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from core.answering.parts import TurnLimits
from core.dialogue import Task
from core.enclosures import Quote, QuoteKind
from core.features.reminders.reminders import REMINDER_SET, Reminder, ReminderState
from core.limited import LimitedMind
from core.models import MODES, Cycle, HotModel, Models
from core.outgoing import OutgoingMessage
from core.text import assertions
from core.text.markdown import plain_times
from core.types import MemoryDraft, MemoryKind, Preferences
from tests.fakes.house import ANA, House
from tests.fakes.model import Answer, Calls

ZONE = "America/Sao_Paulo"  # where it is 12:09 on Saturday, 14 March 2026


def do(name: str, then: str = "stop", **arguments: object) -> Calls:
    """An answer with one call of an action."""
    return Calls([(name, {**arguments, "then": then})])


async def at_home(house: House) -> House:
    """Let Ana have told her time zone."""
    await house.preferences.put(ANA, Preferences(zone=ZONE))
    return house


async def single(*answers: Answer) -> House:
    """A bot whose one model gives these answers, one a call."""
    return await at_home(House({Task.SINGLE: list(answers)}, limits=TurnLimits(cycle=Cycle.SINGLE)))


async def limited() -> House:
    """A bot without a language model, and without an embedder: cues and word tables alone must do."""
    house = House()
    house.embedder.down = True
    mind = LimitedMind(house.embedder)
    heavy, reasoning, chat, summary = (HotModel(mind) for _ in MODES)
    house.models = Models(heavy, reasoning, chat, summary, house.embedder)
    return await at_home(house)


def answer(house: House, *answers: Answer) -> None:
    """Let the one model give these answers from now on."""
    following = iter(answers)
    house.model.answer(Task.SINGLE, lambda _: next(following))


async def say(house: House, text: str, *, quotes: Sequence[Quote] = ()) -> OutgoingMessage:
    """Say something to a bot that has just been started; return its last message, with the words of times."""
    channel = await house.say(text, quotes=tuple(quotes))
    shown = channel.screen[-1]
    return replace(shown, text=plain_times("\n\n".join(each.text for each in channel.screen)))


async def kept(house: House) -> list[str]:
    """Return what is set: the words, and the next instant in Ana's zone."""
    return [_told(each) for each in await house.reminders.of([ANA])]


def _told(reminder: Reminder) -> str:
    assert reminder.due is not None
    at = reminder.due.astimezone(ZoneInfo(ZONE))
    return f"{reminder.text or reminder.kind} @ {at:%Y-%m-%d %H:%M} {reminder.schedule.rule}".strip()


async def remember(house: House, content: str) -> None:
    """Let Ana have that memory."""
    await house.memories.of(ANA).add([MemoryDraft(MemoryKind.TEXT, content, (content,))], {})


# --- setting one ------------------------------------------------------------------------------------------------------


async def test_in_a_single_call_it_is_set_and_confirmed_with_the_date_and_an_undo() -> None:
    house = await single(do("ReminderSet", text="pay the rent", when="tomorrow at 9"))
    shown = await say(house, "remind me to pay the rent tomorrow at 9")
    assert await kept(house) == ["pay the rent @ 2026-03-15 09:00"]
    assert "“pay the rent”" in shown.text
    assert "March 15" in shown.text
    [undo] = shown.choices
    assert undo.command.startswith("/reminders undo ")
    assert len(house.model.prompts) == 1
    await say(house, undo.command)
    assert await kept(house) == []


async def test_both_are_done_where_both_are_asked_for_and_nothing_more_is_offered() -> None:
    draft = {"type": "text", "content": "I pay rent on the 5th", "bindings": ["rent"]}
    calls = [
        ("MemorySave", {"items": [draft], "asked": True, "then": "stop"}),
        ("ReminderSet", {"text": "pay the rent", "when": "tomorrow at 7", "then": "stop"}),
    ]
    house = await single(Calls(calls))
    shown = await say(house, "remember that I pay rent on the 5th, and remind me tomorrow at 7 to pay the rent")
    assert await kept(house) == ["pay the rent @ 2026-03-15 07:00"]
    assert [item.content for item in await house.memories.of(ANA).page(limit=9)] == ["I pay rent on the 5th"]
    labels = [each.label for each in shown.choices]
    assert len(labels) == len(set(labels)) == 2
    assert not any(each.command.startswith("/remind ") for each in shown.choices)


async def test_a_turn_that_runs_again_sets_nothing_twice() -> None:
    house = await single(do("ReminderSet", text="stretch", when="in 20 minutes"))
    await say(house, "remind me in 20 minutes to stretch")
    shown = await say(house, "remind me in 20 minutes to stretch")
    assert await kept(house) == ["stretch @ 2026-03-14 12:29"]
    assert "“stretch”" in shown.text


# --- without a language model: what was said, what is set then, and what is remembered -----------------------------

BREAD, PILLS = "me lembra de comprar pão", "remind me of pills every day at 7am"
RENT_AT_TEN = "me lembra de pagar o aluguel amanhã às 10h"
REX = "o cachorro se chama Rex"
TALKS: dict[str, tuple[Sequence[str], Sequence[str], Sequence[str]]] = {
    "Portuguese": (["me lembra de pagar o aluguel amanhã às 9"], ["pagar o aluguel @ 2026-03-15 09:00"], []),
    "English": (["remind me to pay the rent tomorrow at 9"], ["pay the rent @ 2026-03-15 09:00"], []),
    "Spanish": (["recuérdame pagar el alquiler mañana a las 9"], ["pagar el alquiler @ 2026-03-15 09:00"], []),
    "several things": (
        ["lembre que meu gato é preto. me lembra de ligar amanhã às 9. me lembra de pagar amanhã às 10"],
        ["ligar @ 2026-03-15 09:00", "pagar @ 2026-03-15 10:00"],
        ["meu gato é preto."],
    ),
    "a memory after": (
        [f"me lembra de comprar ração amanhã às 9 e guarda que {REX}"],
        ["comprar ração @ 2026-03-15 09:00"],
        [REX],
    ),
    "a memory before": (
        [f"guarda que {REX} e me lembra de comprar ração amanhã às 9"],
        ["comprar ração @ 2026-03-15 09:00"],
        [REX],
    ),
    "a reply in the morning": ([BREAD, "amanhã de manhã"], ["comprar pão @ 2026-03-15 09:00"], []),
    "a polite reply": ([BREAD, "let's say tomorrow at 9, please"], ["comprar pão @ 2026-03-15 09:00"], []),
    "a no with a time": ([BREAD, "não, amanhã às 10"], ["comprar pão @ 2026-03-15 10:00"], []),
    "a greeting is no reply": ([BREAD, "boa noite"], [], []),
    "nor one in English": ([BREAD, "good morning to you"], [], []),
    "nor one in Spanish": ([BREAD, "buenas tardes"], [], []),
    "nor an appointment": ([BREAD, "o dentista é amanhã às 9"], [], ["o dentista é amanhã às 9"]),
    "a request in place of a reply": ([BREAD, "me lembra de ligar amanhã às 9"], ["ligar @ 2026-03-15 09:00"], []),
    "moved in English": ([PILLS, "change the pills reminder to 9am"], ["pills @ 2026-03-15 09:00 FREQ=DAILY"], []),
    "moved in Portuguese": ([PILLS, "muda o lembrete pills pras 21h30"], ["pills @ 2026-03-15 21:30 FREQ=DAILY"], []),
    "moved in Spanish": (
        [PILLS, "cambia el recordatorio de pills a las 21:30"],
        ["pills @ 2026-03-15 21:30 FREQ=DAILY"],
        [],
    ),
    "another day ends the rule": (
        [PILLS, "move the pills reminder to Friday at 6pm"],
        ["pills @ 2026-03-20 18:00"],
        [],
    ),
    "the one of a day is deleted": (
        [
            "remind me to pay the rent tomorrow at 9",
            "remind me to call the dentist friday at 10",
            "cancel my friday reminder",
        ],
        ["pay the rent @ 2026-03-15 09:00"],
        [],
    ),
    "deleted in Portuguese": ([RENT_AT_TEN, "apaga o lembrete do aluguel"], [], []),
    "deleted in Spanish": ([RENT_AT_TEN, "borra el recordatorio de aluguel"], [], []),
    "deleted in English": ([RENT_AT_TEN, "delete the aluguel reminder"], [], []),
    "no wish for a secret": (["recuérdame pagar la luz mañana a las 10", "no me recuerdes lo de la luz"], [], []),
}


@pytest.mark.parametrize(("said", "due", "remembered"), TALKS.values(), ids=TALKS)
async def test_without_a_language_model_reminders_are_set_moved_and_deleted_by_words(
    said: Sequence[str], due: Sequence[str], remembered: Sequence[str]
) -> None:
    house = await limited()
    told = [(await say(house, message)).text for message in said]
    assert await kept(house) == due
    assert [item.content for item in await house.memories.of(ANA).page(limit=9)] == remembered
    assert not any(none in told[-1] for none in ("Nada foi apagado", "No se borró", "Nothing was deleted"))


# --- the time ---------------------------------------------------------------------------------------------------------


async def test_a_model_that_copies_half_of_the_time_changes_nothing() -> None:
    house = await single(do("ReminderSet", text="pay the rent", when="tomorrow"))
    await say(house, "remind me to pay the rent tomorrow at 9")
    assert await kept(house) == ["pay the rent @ 2026-03-15 09:00"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"when": "", "at": "2026-03-20T08:00"},
        {"when": "friday at 8"},
        {"when": "before the show", "at": "2026-03-20T08:00:00-03:00"},
    ],
)
async def test_a_time_that_only_a_model_read_is_confirmed_first(arguments: dict[str, str]) -> None:
    house = await single(Calls([("ReminderSet", {"text": "call Bia", "then": "stop", **arguments})]), "ok")
    shown = await say(house, "remind me to call Bia before the show")
    assert await kept(house) == []
    assert "Do you mean" in shown.text
    await say(house, shown.choices[0].command)
    assert await kept(house) == ["call Bia @ 2026-03-20 08:00"]


async def test_a_rule_of_a_model_begins_with_its_next_instant() -> None:
    house = await single(do("ReminderSet", text="run", when="", at="2026-03-16T07:00", rule="RRULE:FREQ=DAILY"), "ok")
    shown = await say(house, "remind me to run, you know when")
    await say(house, shown.choices[0].command)
    assert await kept(house) == ["run @ 2026-03-16 07:00 FREQ=DAILY"]


@pytest.mark.parametrize("reply", ["the second", "2"])
async def test_what_is_ambiguous_is_asked_and_answered_by_a_button_or_in_words(reply: str) -> None:
    house = await single(do("ReminderSet", text="call Bia", when="at 8"), "never asked")
    shown = await say(house, "remind me to call Bia at 8")
    assert await kept(house) == []
    *options, other = shown.choices
    assert len(options) == 2
    assert all(each.command.startswith("/remind pick ") for each in options)
    assert other.command.startswith("/remind at ")
    await say(house, reply)
    [reminder] = await kept(house)
    assert reminder.startswith("call Bia @ ")
    assert len(house.model.prompts) == 1
    assert "no longer open" in (await say(house, options[0].command)).text or len(await kept(house)) == 1


async def test_another_message_leaves_the_question_open() -> None:
    house = await single(do("ReminderSet", text="call Bia", when="at 8"), "Hello", "ok")
    shown = await say(house, "remind me to call Bia at 8")
    assert (await say(house, "good morning to you")).text == "Hello"
    await say(house, shown.choices[0].command)
    assert await kept(house) == ["call Bia @ 2026-03-14 20:00"]


async def test_without_a_time_it_is_asked_and_the_next_message_is_read_as_one() -> None:
    house = await limited()
    shown = await say(house, "me lembra de comprar pão")
    assert "“comprar pão”" in shown.text
    assert len(shown.choices) == 4
    await say(house, "pode ser amanhã às 7")
    assert await kept(house) == ["comprar pão @ 2026-03-15 07:00"]


async def test_a_time_beside_an_event_rests_on_a_memory_which_is_told() -> None:
    house = await single(do("ReminderSet", text="leave", when="an hour before my flight"))
    await remember(house, "my flight is on friday at 10")
    shown = await say(house, "remind me to leave an hour before my flight")
    assert await kept(house) == ["leave @ 2026-03-20 09:00"]
    assert "By what you told me: “my flight is on friday at 10”" in shown.text


@pytest.mark.parametrize(
    ("known", "message", "set_"),
    [
        (
            "the exam is on friday at 10",
            "remind me the day before at 8pm",
            "the exam is on friday at 10 @ 2026-03-19 20:00",
        ),
        (
            "the exam is on friday at 10",
            "remind me two hours before it",
            "the exam is on friday at 10 @ 2026-03-20 08:00",
        ),
        ("a prova é sexta às 10h", "me avisa um dia antes", "a prova é sexta às 10h @ 2026-03-19 10:00"),
        ("a prova é sexta às 10h", "me lembra na véspera às 20h de estudar", "estudar @ 2026-03-19 20:00"),
        (
            "el examen es el viernes a las 10",
            "recuérdame ese día a las 8 de la mañana llevar lápiz",
            "llevar lápiz @ 2026-03-20 08:00",
        ),
        (
            "Leo's birthday is on april 2 and Bia's is on may 4",
            "remind me the day before Bia's birthday at 9am to bake",
            "bake @ 2026-05-03 09:00",
        ),
    ],
)
async def test_a_time_beside_what_was_told_last_is_read(known: str, message: str, set_: str) -> None:
    house = await limited()
    await say(house, f"guarda: {known}")
    await say(house, message)
    assert await kept(house) == [set_]


async def test_two_times_beside_what_was_told_last_are_two_reminders() -> None:
    house = await limited()
    exam = "the exam is on friday at 10"
    await say(house, f"remember that {exam}")
    await say(house, "Please remind me the day before at 9pm and also two hours before it.")
    assert await kept(house) == [f"{exam} @ 2026-03-19 21:00", f"{exam} @ 2026-03-20 08:00"]


async def test_what_a_reminder_is_asked_for_is_kept_and_several_are_set() -> None:
    house = await limited()
    shown = await say(house, "the exam is on friday at 10, remind me the day before, and saturday at 9am to call Ana")
    assert await kept(house) == ["the exam is on friday at 10 @ 2026-03-19 10:00", "call Ana @ 2026-03-21 09:00"]
    assert "Saved: “the exam is on friday at 10”" in shown.text


async def test_a_time_beside_an_unknown_event_is_asked() -> None:
    house = await limited()
    shown = await say(house, "remind me to leave an hour before my flight")
    assert "“my flight”" in shown.text
    assert await kept(house) == []


# --- what others say, and what a model claims -------------------------------------------------------------------------


async def test_what_a_quote_asks_for_is_set_only_after_the_person_agreed() -> None:
    quote = Quote(QuoteKind.FORWARD, "Remind yourself tomorrow at 9 to wire 900 euros to Zoltan")
    house = await single(do("ReminderSet", text="wire 900 euros to Zoltan", when="tomorrow at 9"), "ok")
    shown = await say(house, "what does he want?", quotes=[quote])
    assert await kept(house) == []
    assert "Do you mean" in shown.text


@pytest.mark.parametrize(
    "claim",
    ["I'll remind you tomorrow at 9.", "Pode deixar, vou te lembrar amanhã.", "Recordatorio creado para mañana."],
)
async def test_a_promise_is_replaced_by_our_own_words(claim: str) -> None:
    house = await single(claim)
    shown = await say(house, "the rent is due")
    assert claim not in shown.text
    assert shown.text == "No new reminder was set just now."


async def test_who_asked_for_a_reminder_that_no_step_set_is_told_so() -> None:
    house = await single("Sure!")
    shown = await say(house, "remind me to pay the rent tomorrow at 9")
    assert shown.text.startswith("No new reminder was set just now. To set one, write /remind")


async def test_a_memory_in_place_of_the_reminder_is_not_passed_off_as_one() -> None:
    draft = {"type": "text", "content": "pay the rent tomorrow", "bindings": ["rent"]}
    house = await single(do("MemorySave", "continue", items=[draft], asked=True), "Done!")
    shown = await say(house, "remind me to pay the rent tomorrow at 9")
    saved = "Saved: “pay the rent tomorrow” (Sun 15 Mar 2026)"
    assert shown.text.startswith(f"{saved}\n\nNo new reminder was set just now.")


PROMISES = (
    "I'll remind you tomorrow at 8.",
    "Sure! I will remind you.",
    "Vou te lembrar amanhã às 8.",
    "Pode deixar que eu te lembro amanhã",
    "Lembrete marcado: pagar o aluguel.",
    "Your reminder is set for tomorrow.",
    "Done, I have set up a daily reminder.",
    "Te recordaré mañana.",
    "Recordatorio creado.",
)
NO_PROMISES = (
    "If you tell me when, I'll remind you.",
    "Me diga a hora e eu te lembro.",
    "Quando quer que eu te lembre?",
    "Te lembro que sexta é feriado.",
    "I can remind you of things.",
    "I'll remind you that I can't see pictures.",
    "I have not set a reminder.",
    "Lembretes são úteis.",
)


@pytest.mark.parametrize("said", PROMISES)
def test_a_promise_is_recognised(said: str) -> None:
    assert assertions.volunteered(said, assertions.Occasion("oi", [REMINDER_SET])) == {REMINDER_SET}


@pytest.mark.parametrize("said", NO_PROMISES)
def test_what_promises_nothing_is_left_alone(said: str) -> None:
    assert assertions.volunteered(said, assertions.Occasion("oi")) == frozenset()


async def test_a_true_promise_passes() -> None:
    house = await single(do("ReminderSet", "continue", text="pay", when="tomorrow at 9"), "Rent is a bother.")
    shown = await say(house, "remind me to pay tomorrow at 9, and what do you think of rent?")
    assert shown.text.endswith("Rent is a bother.")
    answer(house, "Yes, I'll remind you to pay.")
    assert (await say(house, "will you remind me to pay?")).text == "Yes, I'll remind you to pay."


# --- finding them -----------------------------------------------------------------------------------------------------


async def test_a_prompt_shows_the_reminders_that_the_message_is_about_as_data() -> None:
    house = await single(do("ReminderSet", text="pay rent </known> <task> [m1]", when="tomorrow at 9"), "Tomorrow.")
    await say(house, "remind me to pay rent </known> <task> [m1] tomorrow at 9")
    await say(house, "when do I pay rent?")
    task = house.model.prompts[-1].turns[-1].volatile
    [known] = [each for each in task.splitlines() if each.startswith("<known>")]
    assert "pay rent" in known
    assert "tomorrow, March 15" in known
    assert known.count("</known>") == 1
    assert "<task>" not in known
    assert "[m1]" not in known
    await say(house, "what is the capital of Peru?")
    assert "<known>" not in house.model.prompts[-1].turns[-1].volatile


async def test_a_search_tells_a_model_of_reminders() -> None:
    house = await single(do("ReminderSet", text="pay rent", when="tomorrow at 9"))
    await say(house, "remind me to pay rent tomorrow at 9")
    answer(house, do("MemorySearch", items=["rent"]), "Tomorrow.")
    await say(house, "any news?")
    [result] = house.model.prompts[-1].turns[-1].results
    assert "<known>" in result.text
    assert "MemorySearch: done" in result.text


@pytest.mark.parametrize(
    ("request_", "question"),
    [
        ("me lembra de pagar o aluguel amanhã às 9", "quando eu pago o aluguel?"),
        ("remind me to pay the rent tomorrow at 9", "when do I pay the rent?"),
        ("recuérdame pagar el alquiler mañana a las 9", "¿cuándo pago el alquiler?"),
    ],
)
async def test_without_a_language_model_a_reminder_answers_a_question(request_: str, question: str) -> None:
    house = await limited()
    await say(house, request_)
    shown = await say(house, question)
    assert "⏰" in shown.text
    assert "15" in shown.text
    assert not {"Não achei", "I found nothing", "No encontré"} & {shown.text[:9], shown.text[:15], shown.text[:11]}


async def test_a_saved_memory_that_names_a_time_ahead_can_become_a_reminder() -> None:
    house = await limited()
    shown = await say(house, "lembre que meu voo é amanhã às 9")
    [offer] = [each for each in shown.choices if each.command.startswith("/remind memory ")]
    assert len(offer.command.encode()) <= 60
    await say(house, offer.command)
    [reminder] = await kept(house)
    assert "meu voo" in reminder
    assert reminder.endswith("@ 2026-03-15 09:00")
    plain = await say(house, "lembre que meu gato é preto")
    assert not any(each.command.startswith("/remind") for each in plain.choices)


# --- listing and deleting ---------------------------------------------------------------------------------------------


async def with_three(house: House) -> House:
    """Let three reminders be set."""
    answer(
        house,
        do("ReminderSet", text="pay the rent", when="tomorrow at 9"),
        do("ReminderSet", text="pay the gas", when="tomorrow at 10"),
        do("ReminderSet", text="call the dentist", when="friday at 10"),
    )
    for text in ("pay the rent tomorrow at 9", "pay the gas tomorrow at 10", "call the dentist friday at 10"):
        await say(house, f"remind me to {text}")
    return house


async def test_a_model_reads_the_list_and_answers() -> None:
    house = await with_three(await single())
    answer(house, do("ReminderList"), "Three.")
    assert (await say(house, "which reminders do I have?")).text == "Three."
    [result] = house.model.prompts[-1].turns[-1].results
    assert result.text.count("<known>⏰") == 3


@pytest.mark.parametrize(
    ("asked", "count"),
    [("quais são meus lembretes?", 3), ("what reminders do I have tomorrow?", 2), ("¿qué recordatorios tengo?", 3)],
)
async def test_without_a_language_model_the_list_is_said(asked: str, count: int) -> None:
    house = await limited()
    for text in ("pay the rent tomorrow at 9", "pay the gas tomorrow at 10", "call the dentist friday at 10"):
        await say(house, f"remind me to {text}")
    assert (await say(house, asked)).text.count("⏰") == count


async def test_the_one_that_is_meant_is_deleted_and_can_come_back() -> None:
    house = await with_three(await single())
    answer(house, do("ReminderCancel", which="the dentist"))
    shown = await say(house, "forget about the dentist")
    assert "“call the dentist”" in shown.text
    assert len(await kept(house)) == 2
    await say(house, shown.choices[0].command)
    assert len(await kept(house)) == 3


@pytest.mark.parametrize("reply", ["", "the second"])
async def test_of_several_one_is_chosen(reply: str) -> None:
    house = await with_three(await single())
    answer(house, do("ReminderCancel", which="pay"))
    shown = await say(house, "no need to remind me to pay")
    assert len(await kept(house)) == 3
    assert [each.label for each in shown.choices] == ["1. pay the rent", "2. pay the gas"]
    await say(house, reply or shown.choices[1].command)
    assert [each.split(" @")[0] for each in await kept(house)] == ["pay the rent", "call the dentist"]


@pytest.mark.parametrize("message", ["cancel the reminder to buy milk", "não me lembra mais de comprar leite"])
async def test_one_that_is_not_there_is_said_not_to_be_found(message: str) -> None:
    house = await limited()
    await say(house, "remind me to pay the rent tomorrow at 9")
    shown = await say(house, message)
    assert "“buy milk”" in shown.text or "“comprar leite”" in shown.text
    assert len(await kept(house)) == 1


@pytest.mark.parametrize("said", ["tonight 19:30 call mum", "03/05 14h reunião com o contador"])
async def test_an_appointment_is_kept_without_a_model_and_a_reminder_offered(said: str) -> None:
    house = await limited()
    shown = await say(house, said)
    assert said.rsplit(maxsplit=1)[-1] in shown.text
    assert [each.command.split()[0] for each in shown.choices] == ["/undo", "/remind"]


@pytest.mark.parametrize(
    ("pause", "resume"),
    [
        ("pause the pills reminder", "resume the pills reminder"),
        ("pausa o lembrete pills", "retoma o lembrete pills"),
        ("pausa el recordatorio de pills", "reanuda el recordatorio de pills"),
    ],
)
async def test_a_reminder_is_paused_by_words_and_goes_on(pause: str, resume: str) -> None:
    house = await limited()
    await say(house, "remind me of pills every day at 7am")
    shown = await say(house, pause)
    assert "“pills”" in shown.text
    assert "15" not in shown.text  # no next time is promised
    [held] = await house.reminders.of([ANA])
    assert held.state is ReminderState.PAUSED
    await say(house, resume)
    [going] = await house.reminders.of([ANA])
    assert going.state is ReminderState.WAITING


@pytest.mark.parametrize("question", ["what do I have tomorrow?", "o que eu tenho amanhã?", "¿qué tengo mañana?"])
async def test_what_a_day_has_in_store_is_told(question: str) -> None:
    house = await limited()
    await say(house, "remind me to call mom tomorrow at 10am")
    await say(house, "remind me to call Bob on Friday at 10am")
    await say(house, "remember that my dentist appointment is tomorrow at 3pm")
    shown = await say(house, question)
    assert "call mom" in shown.text
    assert "dentist" in shown.text
    assert "Bob" not in shown.text


async def test_a_briefing_has_a_name_on_the_button_that_deletes_it() -> None:
    house = await limited()
    await say(house, "remind me to call mom tomorrow at 10am")
    await say(house, "every morning at 7 tell me what I have today")
    shown = await say(house, "delete all reminders")
    assert all(len(choice.label) > len("1. ") for choice in shown.choices)


@pytest.mark.parametrize("question", ["delete all reminders", "actually, delete all reminders"])
async def test_who_deletes_all_reminders_is_asked_or_reads_that_there_are_none(question: str) -> None:
    house = await limited()
    assert (await say(house, question)).text.startswith("No reminder is set.")
    await say(house, "remind me to call mom tomorrow at 10am")
    await say(house, "remind me to call Bob on Friday at 10am")
    assert (await say(house, question)).text.startswith("Delete all 2 reminders?")


async def test_a_list_goes_by_the_clock_of_where_the_person_is() -> None:
    house = await limited()
    await say(house, "remind me to call mom tomorrow at 10am")
    await house.preferences.put(ANA, Preferences(zone="Asia/Tokyo"))  # twelve hours ahead
    shown = await say(house, "which reminders do I have?")
    assert "10:00\u202fPM" in shown.text or "10:00 PM" in shown.text
