"""What people want to be reminded of at a mention is said then, and to them alone: once, or each time after a day."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from core.dialogue import Task
from core.features.admin.storage import OFF, Decision
from core.features.reminders.feature import MUTED
from core.features.reminders.mentioned import Subjects
from core.features.reminders.on_mention import read_mention
from core.features.reminders.reminders import Kind, Mention, Reminder, ReminderState
from core.features.reminders.section import ReminderSection, _taken, to_ics
from core.limited import LimitedMind
from core.memory.embedding import Embedding
from core.providers.usem3 import Usem3Embedder
from core.types import Locale, Preferences, UserKey
from tests.fakes import mentions
from tests.fakes.channel import RecordingChannel
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, BIA
from tests.fakes.mentions import NOW
from tests.fakes.steered import BEGIN, ZONE
from tests.fakes.talk import Talk, talking
from tests.profile import long

NOTICE = "💬 By the way, you wanted to be reminded when you mention “dentist”: “the bill”"
ASKED = "When I mention the dentist, remind me about the bill"
DAY = timedelta(days=1)


@pytest.fixture
async def ana(tmp_path: Path) -> AsyncIterator[Talk]:
    """A chat with a whole bot that has no language model."""
    embedder = Usem3Embedder()
    async with talking(tmp_path, embedder=embedder, mind=LimitedMind(embedder), clock=FakeClock(start=BEGIN)) as talk:
        for person in (ANA, BIA):
            await talk.house.preferences.put(person, Preferences(language="en", zone=str(ZONE)))
            await talk.say("hi", person)  # the first answer of all says more
        yield talk
    await embedder.close()


async def all_of(talk: Talk, user: UserKey = ANA) -> list[Reminder]:
    return list(await talk.house.reminders.of([user], frozenset(ReminderState)))


async def only(talk: Talk) -> Reminder:
    [found] = await all_of(talk)
    return found


def _screen(channel: RecordingChannel) -> str:
    return "\n".join(shown.text for shown in channel.screen)


# --- what is heard ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "turns", "missed", "near", "wrong"),
    [("report", 250, 14, 9, 4), long("report", 1000, 14, 9, 4), long("tune", 1000, 15, 4, 5)],
)
async def test_a_mention_is_heard_by_its_words_and_by_what_they_mean(
    name: str, turns: int, missed: int, near: int, wrong: int
) -> None:
    """Of 321 that should be, 90 %; of 1,000 ordinary turns that mention nothing of 54, 1 in 200."""
    half = mentions.half(f"mention_{name}")
    judged = await mentions.judge(half, Embedding(Usem3Embedder()), turns=half.turns[:turns])
    assert not judged.unread
    assert len(judged.missed) <= missed, judged.missed
    assert len(judged.near) <= near, judged.near
    assert len({turn for _, turn in judged.wrong}) <= wrong, judged.wrong


@pytest.mark.parametrize(
    ("subject", "said", "is_held"),
    [
        ("dog", "it's raining cats and dogs here", False),
        ("dog", "the dogs are barking at the cats", True),
        ("running", "gotta run, bus is here", False),
        ("running", "we are running out of milk", False),
        ("running", "gotta run ten miles before lunch", True),
        ("horse", "hold your horses", False),
        ("jefe", "la jefa quiere el informe", True),
        ("pizza", "comi pitza ontem", True),
        ("barco", "fui no banco hoje", False),
    ],
)
async def test_set_phrases_mention_nothing_and_slips_are_heard(subject: str, said: str, is_held: bool) -> None:
    found = await Subjects().mentioned(said, [subject], Embedding(Usem3Embedder()))
    assert list(found) == [is_held]


@pytest.mark.parametrize(
    "said",
    [
        "when I talk to the doctor I always forget. remind me tomorrow at 9 to write my questions down",
        "remind me to call João tomorrow at 9",
        "remind me to feed the cat when I get home",
        "quando eu ver o preço me lembra de pesquisar",
        "when I mention it, remind me about the bill",
        "when I mention the dentist I get nervous",
        "cuando hable el presidente, avísame",
    ],
)
def test_what_names_no_mention_is_left_to_the_clock(said: str) -> None:
    assert read_mention(said, NOW, Locale.EN) is None


@pytest.mark.parametrize(
    ("said", "subject", "text", "each", "until"),
    [
        ("oi! qnd eu falar com a Bia me lembra do livro", "Bia", "livro", False, ""),
        ("remind me of the keys when I see my brother", "brother", "the keys", False, ""),
        ("when mum comes up, remind me about her tablets", "mum", "her tablets", False, ""),
        ("if the dentist is mentioned remind me of the bill", "dentist", "the bill", False, ""),
        ("quando falarem do dentista me lembra da conta", "dentista", "conta", False, ""),
        ("se o dentista for mencionado, me lembra da conta", "dentista", "conta", False, ""),
        ("me lembra do dinheiro quando o João me ligar", "João", "dinheiro", False, ""),
        ("Ana owes me 20, when I mention her remind me", "Ana", "Ana owes me 20", False, ""),
        ("o Luan me deve 40, quando eu falar dele me lembra", "Luan", "o Luan me deve 40", False, ""),
        ("Julián me debe 86, cuando te hable de él recuérdamelo", "Julián", "Julián me debe 86", False, ""),
        ("cuando me llame Juan, recuérdame el dinero", "Juan", "el dinero", False, ""),
        ("cada vez que Juan me llame, recuérdame el dinero", "Juan", "el dinero", True, ""),
        ("when the oven calls me remind me", "", "", False, ""),
        ("for two weeks, when I mention rent remind me of the fee", "rent", "the fee", False, "2026-12-12T23:59"),
        ("quando eu falar da moto me lembra do seguro por duas semanas", "moto", "seguro", False, "2026-12-12T23"),
        ("cuando hable del auto recuérdame el casco durante un mes", "auto", "el casco", False, "2026-12-28T23"),
        ("when I mention work remind me to ask for two weeks off", "work", "ask for two weeks off", False, ""),
        ("me lembra da toalha quando eu falar de academia, toda vez", "academia", "toalha", True, ""),
        ("until friday, when I mention rent remind me of the fee", "rent", "the fee", False, "2026-12-04T23:59"),
        ("cada vez que hable del auto recuérdame el casco hasta el viernes", "auto", "el casco", True, "2026-12-04T23"),
        ("sempre que eu falar da moto até 15 de dezembro me lembra do seguro", "moto", "seguro", True, "2026-12-15T23"),
    ],
)  # fmt: skip
def test_a_request_names_what_to_wait_for_how_often_and_until_when(
    said: str, subject: str, text: str, each: bool, until: str
) -> None:
    read = read_mention(said, NOW, Locale.EN)
    if not subject:
        assert read is None
        return
    assert read is not None
    assert (read.mention, read.text) == (Mention(subject, each), text)
    assert (read.until is None) if not until else read.until is not None and read.until.isoformat().startswith(until)


# --- in the chat ------------------------------------------------------------------------------------------------------


async def test_it_is_said_once_in_the_message_that_answers_and_not_where_it_is_set_or_asked_about(ana: Talk) -> None:
    assert await ana.say(ASKED) == (
        "All right, I will remind you: “the bill”\n"
        "💬 when you mention “dentist” · until Thursday, November 25, 2027"
    )  # fmt: skip
    assert NOTICE not in await ana.say("did I ask you to remind me about the dentist?")
    assert NOTICE not in await ana.say("/reminders")
    assert (await only(ana)).state is ReminderState.WAITING
    assert await ana.say("I have the dentist on Tuesday at 3pm") == (
        "Saved: “I have the dentist on Tuesday at 3pm” (Tue 1 Dec 2026, 15:00)\n"
        f"Ask me about it any time, in your own words.\n\n{NOTICE}"
    )
    assert len(ana.seen) == 1
    assert (await only(ana)).state is ReminderState.DONE
    assert NOTICE not in await ana.say("the dentist was nice")


async def test_each_time_rests_for_a_day_and_ends_by_a_button(ana: Talk) -> None:
    await ana.say("every time I mention the dentist remind me about the bill")
    assert "💬 “the bill” · every time you mention “dentist”, at most once a day" in await ana.say("/reminders")
    assert NOTICE in await ana.say("dentista amanhã")
    ana.clock.jump(DAY - timedelta(minutes=1))
    assert NOTICE not in await ana.say("the dentist called")
    ana.clock.jump(timedelta(minutes=1))
    assert NOTICE in await ana.say("the dentist called again")
    assert "Deleted the reminder: “the bill”" in await ana.press("Not any more")
    ana.clock.jump(2 * DAY)
    assert NOTICE not in await ana.say("the dentist called once more")


async def test_a_question_and_what_is_mentioned_are_one_message(ana: Talk) -> None:
    await ana.say(ASKED)
    told = await ana.say("the dentist works")
    assert told == f"Keep “the dentist works”?\n\n{NOTICE}"
    assert len(ana.seen) == 1
    assert await ana.say("yes") == "Saved: “the dentist works”\nAsk me about it any time, in your own words."


async def test_a_meeting_is_a_mention_of_the_person(ana: Talk) -> None:
    await ana.say("quando eu falar com o João, me lembra do dinheiro")
    assert "“dinheiro”" not in await ana.say("a Joana ligou")
    assert "“dinheiro”" not in await ana.say("falei com o José")
    assert "“dinheiro”" in await ana.say("o joao me ligou agora")


@pytest.mark.parametrize(
    ("wish", "text", "said"),
    [
        (ASKED, "the bill", "the dentist was mentioned today"),
        ("quando falarem do dentista me lembra da conta", "conta", "falaram do dentista no almoço"),
        ("cuando me llame Juan, recuérdame el dinero", "el dinero", "me llamó Juan"),
        ("when João calls me remind me of the money", "the money", "o João me ligou"),
    ],
)
async def test_it_is_a_mention_too_where_others_said_it(ana: Talk, wish: str, text: str, said: str) -> None:
    await ana.say(wish)
    assert f"“{text}”" in await ana.say(said)


async def test_nobody_else_is_reminded_and_a_room_hears_only_what_was_asked_there(ana: Talk) -> None:
    await ana.say(ASKED)
    assert NOTICE not in await ana.say("the dentist was nice", BIA, chat="b")
    assert NOTICE not in await ana.say("the dentist was nice", chat="room", private=False)
    await ana.say("when I mention the plumber, remind me about the leak", chat="room", private=False)
    assert "leak" not in await ana.say("the plumber came", BIA, chat="room", private=False)
    await ana.house.decisions.apply(Decision(ana.clock.now(), ANA, MUTED, "test:room", "", OFF))
    assert "leak" not in await ana.say("the plumber came", chat="room", private=False)
    await ana.house.decisions.apply(Decision(ana.clock.now(), ANA, MUTED, "test:room", OFF, ""))
    assert "leak" in await ana.say("the plumber came again", chat="room", private=False)


async def test_it_is_paused_moved_reworded_and_taken_back_like_any_other(ana: Talk) -> None:
    await ana.say(ASKED)
    key = (await only(ana)).id
    assert "Paused" in await ana.say(f"/reminders pause {key}")
    assert NOTICE not in await ana.say("the dentist is nice")
    assert "On again" in await ana.say(f"/reminders resume {key}")
    assert "until Friday, November 27" in await ana.say(f"/reminders when {key} friday")
    await ana.say(f"/reminders edit {key} the receipt")
    assert "“the receipt”" in await ana.say("the dentist is nice")
    assert "Deleted" in await ana.say("cancel the reminder about the dentist") or (await only(ana)).sent_at is not None
    await ana.say("when I mention the plumber, remind me about the leak")
    assert "I will not remind you: “the leak”" in await ana.press("Undo")
    assert "leak" not in await ana.say("the plumber came")


async def test_it_is_set_by_the_command_and_asked_twice_it_is_one(ana: Talk) -> None:
    assert "“dentist”" in await ana.say("/remind the bill when I mention the dentist")
    assert "“dentist”" in await ana.say(ASKED)
    assert (await only(ana)).kind is Kind.MENTION


async def test_an_edited_message_says_it_in_its_place_and_one_that_mentions_nothing_takes_it_back(ana: Talk) -> None:
    await ana.say(ASKED)
    house, channel = ana.house, ana.house.channel()
    first = house.incoming("the dentist was nice", message_id="1")
    await (await ana.bot.receive(first, channel))
    assert _screen(channel).count(NOTICE) == 1
    edited = replace(first, message_id="1.1", edits="1", text="the dentist was very nice")
    await (await ana.bot.receive(edited, channel))
    assert _screen(channel).count(NOTICE) == 1, _screen(channel)
    other = replace(first, message_id="1.2", edits="1", text="the weather was nice")
    await (await ana.bot.receive(other, channel))
    assert NOTICE not in _screen(channel), _screen(channel)
    assert (await only(ana)).state is ReminderState.WAITING
    assert NOTICE in await ana.say("the dentist called")


async def test_no_calendar_and_no_day_of_the_agenda_has_it(ana: Talk) -> None:
    await ana.say("when I mention the dentist, remind me about the bill until friday")
    assert "bill" not in await ana.say("my week")
    assert "bill" not in to_ics([await only(ana)], ana.clock.now())


async def test_an_export_brings_it_to_another_account_and_a_broken_entry_is_left_out(ana: Talk) -> None:
    await ana.say("every time I mention the dentist, remind me about the bill")
    section = ReminderSection(ana.house.reminding, ana.house.memories, ana.house.history, ana.clock)
    [entry] = json.loads(json.dumps(await section.entries([ANA]), default=str))
    assert entry["mention"] == {"subject": "dentist", "each": True}
    broken = [{**entry, "mention": wrong} for wrong in (None, {"subject": "", "each": True}, "dentist")]
    read, unread = section.read([entry, *broken])
    assert (len(read), unread) == (1, 3)
    taken = _taken(read[0], ())
    assert taken is not None
    assert (taken.text, taken.kind, taken.mention) == ("the bill", Kind.MENTION, Mention("dentist", each=True))


async def test_a_model_sets_one_in_the_persons_words_and_asks_for_others(tmp_path: Path) -> None:
    wish = json.dumps({"text": "the bill", "mention": "the dentist"})
    script = {
        Task.DECIDE: lambda prompt: (
            "Finish" if "nice" in prompt.context.message or prompt.context.steps else "ReminderSet"
        ),
        Task.ARGUMENTS: lambda _: wish,
        Task.FINISH: lambda _: "Fine.",
    }
    async with talking(tmp_path, script) as talk:
        await talk.say("/language en")
        told = await talk.say("Nudge me on the bill should the dentist be something I talk of, remind me then")
        assert "💬 when you mention “dentist”" in told
        assert "time zone" not in told, "it has no hour"
        [made] = await all_of(talk)
        assert (made.text, made.mention) == ("the bill", Mention("dentist"))
        assert await talk.say("the dentist was nice") == f"Fine.\n\n{NOTICE}"
        await talk.say("/reminders delete 1")
        told = await talk.say("something about the dentist and the bill")
        assert told == "Shall I remind you when you mention “dentist”? “the bill”"
        assert "“the bill”\n💬 when you mention “dentist” · until" in await talk.press("remind me")
        assert len(await talk.house.reminders.of([ANA])) == 1


async def test_where_reminders_are_off_none_is_set(tmp_path: Path) -> None:
    embedder = Usem3Embedder()
    async with talking(tmp_path, embedder=embedder, mind=LimitedMind(embedder), off=("ReminderSet",)) as talk:
        await talk.say(ASKED)
        assert not await all_of(talk)
    await embedder.close()


async def test_two_messages_at_once_say_it_once(ana: Talk) -> None:
    await ana.say(ASKED)
    said = [
        await ana.bot.receive(ana.house.incoming(f"the dentist {at}", message_id=f"{at}"), ana.house.channel())
        for at in range(3)
    ]
    await asyncio.gather(*said)
    assert (await only(ana)).state is ReminderState.DONE
