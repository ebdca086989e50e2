"""/why and /think: what an answer rests on, and how it came about; told to who asked, and to nobody else."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from core.answering.parts import TurnLimits
from core.dialogue import Task
from core.enclosures import Quote, QuoteKind
from core.history.withholding import Redaction
from core.limited import LimitedMind
from core.models import Cycle
from core.outgoing import OutgoingMessage
from core.ports import Channel, Channels
from core.text.replies import means_why
from core.threads import ToldMemory
from core.types import (
    ANSWER_TO,
    ChatKey,
    Incoming,
    Locale,
    MemoryDraft,
    MemoryKind,
    Message,
    MessageRole,
    Preferences,
    UserKey,
)
from tests.fakes.channel import RecordingChannel
from tests.fakes.house import ANA, BIA, House, Script
from tests.fakes.model import Answer, HashEmbedder, call
from tests.fakes.talk import Talk, talking

LOCKER, BIKE = "my locker is 57, code 4417", "my bike lock opens with 9031"
SAVED_AT = "You said it: today, March 14, at 3:09 PM · in private."
SURE = "I am sure that it answers your question."
NOT_YOURS = "Only who asked can ask that, for a week after my answer."


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    """A talk without a language model."""
    embedder = HashEmbedder()
    async with talking(tmp_path, embedder=embedder, mind=LimitedMind(embedder)) as talk:
        yield talk


def by_call(*answers: Answer) -> House:
    """A bot whose one model gives these answers, one a call."""
    return House({Task.SINGLE: list(answers)}, limits=TurnLimits(cycle=Cycle.SINGLE))


@dataclass(slots=True)
class Screen:
    """One chat over one channel, in which each message has a handle of its own."""

    house: House
    channel: RecordingChannel = field(init=False)
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.channel = self.house.channel()

    async def say(
        self,
        text: str,
        user: UserKey = ANA,
        *,
        private: bool = True,
        replies_to: str = "",
        quotes: Sequence[Quote] = (),
    ) -> OutgoingMessage:
        """Say it, and return the last message that is on the screen then."""
        incoming = self.house.incoming(text, user=user, message_id=uuid.uuid4().hex)
        self.said.append(incoming.message_id)
        incoming = replace(incoming, private=private, replies_to=replies_to, quotes=tuple(quotes))
        async with self.house.chatbot() as bot:
            await (await bot.receive(incoming, self.channel))
        return self.channel.screen[-1]

    @property
    def last(self) -> str:
        """The handle of the last message."""
        return self.channel.log[-1].handle


async def test_each_fact_is_told_with_who_said_it_when_where_and_how_sure(talk: Talk) -> None:
    await talk.say(f"remember that {LOCKER}")
    await talk.say(f"remember that {BIKE}")
    await talk.clock.advance(120)
    await talk.say("what's the locker code?")
    assert await talk.say("/why") == f"That answer rests on this:\n• “{LOCKER}”\n{SAVED_AT} {SURE}"
    assert talk.shown.folded == "💭 How I got there: 1 step, 0 s\n• Searching memories → 1 found · 0 s"
    await talk.restart()
    assert LOCKER in await talk.say("how do you know that?"), "also after a restart, and in words"


async def test_what_was_just_saved_rests_on_what_was_just_said(talk: Talk) -> None:
    await talk.say(f"remember that {LOCKER}")
    assert await talk.say("/why") == f"That answer rests on this:\n• “{LOCKER}”\n{SAVED_AT}"


async def test_talk_rests_on_nothing_that_is_kept_and_commands_are_not_explained(talk: Talk) -> None:
    assert (await talk.say("/why")).startswith("There is nothing of mine to explain")
    await talk.say(f"remember that {LOCKER}")
    await talk.say("hello")
    assert await talk.say("/why") == "It rests on nothing that I keep of you: only on what you had just written."


@pytest.mark.parametrize(
    ("locale", "told"),
    [
        (Locale.PT, "Aquela resposta se apoia nisto:\n• “{}”\nVocê disse: hoje, 14 de março, às 15:09 · no privado."),
        (
            Locale.ES,
            "Esa respuesta se apoya en esto:\n• “{}”\nLo dijiste tú: hoy, 14 de marzo, a las 15:09 · en privado.",
        ),
    ],
)
async def test_it_is_told_in_the_persons_language(talk: Talk, locale: Locale, told: str) -> None:
    await talk.house.preferences.put(ANA, Preferences(locale, shows_steps=True))
    await talk.say(f"/remember {LOCKER}")
    await talk.say("locker code?")
    assert (await talk.say("/why")).startswith(told.format(LOCKER))
    assert talk.shown.folded.startswith({Locale.PT: "💭 Como cheguei nisso", Locale.ES: "💭 Cómo llegué"}[locale])


async def test_a_model_that_cites_rests_on_what_it_cites_and_on_nothing_else_that_it_was_shown() -> None:
    house = by_call("My own words: it opens with 4417 [m1].")
    screen = Screen(house)
    await _keep(house, LOCKER, "my bike lock has the code 9031")
    await screen.say("what is the code of my locker, and of my bike lock?")
    [shown] = [prompt.turns[-1].whole_text for prompt in house.model.prompts]
    first, second = sorted((LOCKER, "my bike lock has the code 9031"), key=shown.index)
    told = (await screen.say("/why")).text
    assert first in told
    assert second not in told


async def test_step_by_step_it_rests_on_what_it_tells_of_all_that_was_found(tmp_path: Path) -> None:
    script: Script = {
        Task.DECIDE: ["MemorySearch", "Finish"],
        Task.SEARCH_QUERIES: ['{"items": ["*"]}'],
        Task.FINISH: ["It opens with 4417."],
    }
    async with talking(tmp_path, script) as talk:
        await talk.keep(LOCKER, BIKE)
        await talk.say("which number opens the locker?")
        told = await talk.say("/why")
        assert LOCKER in told
        assert BIKE not in told
        assert "Kept: today, March 14, at 3:09 PM. The message itself I no longer have." in told


async def test_what_was_said_in_an_earlier_talk_is_told_with_its_time(talk: Talk) -> None:
    await _said_before(talk, "I parked the car on the third floor of the mall")
    assert "third floor" in await talk.say("on which floor of the mall did I park the car?")
    assert await talk.say("/why") == (
        "That answer rests on this:\n• “I parked the car on the third floor of the mall”\n" + SAVED_AT
    )
    [said] = [message for message in await _messages(talk) if message.text.startswith("I parked")]
    await talk.house.history.tell({said.id: [ToldMemory("forgotten", "")]})
    assert await talk.say("/why") == "That answer rests on this:\n• 1 thing that has been deleted since."


async def test_reminders_that_an_answer_told_are_named_as_what_else_is_kept(talk: Talk) -> None:
    await talk.house.preferences.put(ANA, Preferences(zone="Europe/Lisbon"))
    await talk.say("remind me to call the plumber tomorrow at 9")
    assert "plumber" in await talk.say("when do I call the plumber?")
    assert "\n• What else I keep for you, such as your reminders." in await talk.say("/why")


async def test_what_was_changed_since_is_told_as_it_is_now_and_said_to_be_so(talk: Talk) -> None:
    screen = Screen(talk.house)
    [item] = await talk.keep(LOCKER)
    await screen.say("what's the locker code?")
    answer = screen.last
    await talk.clock.advance(60)
    await talk.house.memories.of(ANA).update(item.id, content="my locker is 57, code 5520", vectors={})
    told = (await screen.say("/why", replies_to=answer)).text
    assert "“my locker is 57, code 5520”" in told
    assert told.endswith("It was changed after that answer; this is how it reads now.")


async def test_what_was_forgotten_since_is_said_to_be_so_and_its_words_are_gone(talk: Talk) -> None:
    screen = Screen(talk.house)
    [item] = await talk.keep(LOCKER)
    await screen.say("what's the locker code?")
    answer = screen.last
    await screen.say(f"/forget {item.id}")
    told = (await screen.say("/why", replies_to=answer)).text
    assert told == "That answer rests on this:\n• 1 thing that has been deleted since."
    await talk.clock.advance(700)
    await Redaction(talk.house.history, talk.house.store).run(talk.clock.now())
    told = (await screen.say("/why", replies_to=answer)).text
    assert told.startswith("What I said there told of something that has been deleted since")
    assert not any(message.basis for message in await _messages(talk) if not message.text)


async def test_with_memory_off_nothing_is_kept_and_it_says_so(talk: Talk) -> None:
    await talk.keep(LOCKER)
    await talk.say("/memory off")
    assert "4417" in await talk.say("what's the locker code?")
    assert await talk.say("/why") == "I kept nothing on what that answer rests on. Memory was off then (/memory)."
    assert not any(message.basis for message in await _messages(talk))
    await talk.say("/memory on")
    await talk.say("/memory incognito")
    await talk.say("what's the locker code?")
    assert (await talk.say("/why")).endswith("We are incognito: to end that, /memory on")


async def test_what_is_asked_in_words_is_answered_in_their_language(talk: Talk) -> None:
    await talk.say(f"remember that {LOCKER}")
    await talk.say("what's the locker code?")
    assert (await talk.say("de onde você tirou isso?")).startswith("Aquela resposta se apoia nisto:")
    assert (await talk.say("¿de dónde sacas eso?")).startswith("Esa respuesta se apoya en esto:")
    await talk.say("what's the locker code?")
    assert (await talk.say("como você sabe disso?")).startswith("Aquela resposta se apoia nisto:")
    assert (await talk.say("how do you know?")).startswith("That answer rests on this:")


async def test_a_reply_tells_of_that_answer_and_not_of_the_last_one(talk: Talk) -> None:
    screen = Screen(talk.house)
    await talk.keep(LOCKER, BIKE)
    await screen.say("what's the locker code?")
    answer = screen.last
    await screen.say("what opens the bike lock?")
    await screen.say("/reset")
    for text in ("/why", "how do you know that?", "/WHY"):
        told = (await screen.say(text, replies_to=answer)).text
        assert LOCKER in told
        assert BIKE not in told
    named = f"{ANSWER_TO}{screen.said[0]}"
    assert LOCKER in (await screen.say("/why", replies_to=named)).text, "where a platform tells the question only"


async def test_only_who_asked_is_told(talk: Talk) -> None:
    screen = Screen(talk.house)
    await screen.say(f"remember that {LOCKER}", private=False)
    await screen.say("what's the locker code?", private=False)
    answer = screen.last
    for text in ("/why", "why do you say that?"):
        assert (await screen.say(text, BIA, private=False, replies_to=answer)).text == NOT_YOURS
    assert (await screen.say(f"/why {screen.said[1]}", BIA, private=False)).text.startswith("There is nothing")


async def test_in_a_room_nothing_is_told_that_is_for_private_only(talk: Talk) -> None:
    screen = Screen(talk.house)
    await screen.say(f"remember that {LOCKER}", private=False)
    await screen.say("what's the locker code?", private=False)
    told = (await screen.say("/why", private=False)).text
    assert "· here." in told
    [item] = await talk.house.memories.of(ANA).page(limit=9)
    await talk.clock.advance(60)
    await talk.house.memories.of(ANA).update(item.id, content="my locker is 57, code 5520", vectors={})
    told = (await screen.say("/why", private=False)).text
    assert told == "That answer rests on this:\n• 1 thing that I only show in private."


async def test_a_room_is_not_told_when_something_was_said_in_private(talk: Talk) -> None:
    screen = Screen(talk.house)
    await screen.say(f"remember that {LOCKER}")
    [item] = await talk.house.memories.of(ANA).page(limit=9)
    await talk.house.memories.of(ANA).flag(item.id, shared=True)
    await screen.say("what's the locker code?", private=False)
    told = (await screen.say("/why", private=False)).text
    assert f"“{LOCKER}”\nIt was not said here." in told
    assert "in private" not in told
    assert "PM" not in told


async def test_words_of_others_are_told_with_their_name(talk: Talk) -> None:
    said = Quote(QuoteKind.REPLY, "the rehearsal is in room 12", name="Tom")
    screen = Screen(talk.house)
    await screen.say("/remember", quotes=[said])
    await screen.say("where is the rehearsal?")
    assert "\nTom said it, and you had me keep it: today, March 14" in (await screen.say("/why")).text


async def test_when_it_was_said_leads_to_the_message_where_the_platform_has_links(talk: Talk) -> None:
    screen = Screen(talk.house)

    class Linked(Channels):
        def again(self, incoming: Incoming) -> Channel:
            raise AssertionError(incoming)

        def private(self, user: UserKey, once: str = "") -> Channel:
            raise AssertionError(user, once)

        def message_url(self, chat: ChatKey, message_id: str) -> str:
            return f"https://example.org/{chat.chat}/{message_id}"

    await screen.say(f"remember that {LOCKER}")
    await screen.say("what's the locker code?")
    incoming = talk.house.incoming("/why", message_id="w")
    async with talk.house.chatbot() as bot:
        bot.parts.reach.notifier.connect("test", Linked())
        await (await bot.receive(incoming, screen.channel))
    told = screen.channel.screen[-1].text
    assert f"[today, March 14, at 3:09 PM](https://example.org/c/{screen.said[0]})" in told


ASKED = """
why do you say that? / how do you know that? / How do you know? / who told you that? / where did you get that from?
and how do you know that / what makes you say that? / how u know that / what's that based on? / how do you know pls
como você sabe disso? / como vc sabe disso / de onde você tirou isso? / quem te disse isso? / por que você diz isso?
pq vc falou isso / como é que você sabe disso? / de onde veio isso? / como sabe disso? / como tu sabe disso?
¿cómo lo sabes? / como sabes eso / ¿de dónde sacas eso? / ¿por qué dices eso? / ¿quién te dijo eso?
¿de dónde lo sacaste? / por que lo dices / ¿en qué te basas? / y cómo sabes eso?
"""
NOT_ASKED = """
why? / why not / how do you know Ana? / how do you know that Ana is here? / who told you about the party and when
how do you say that in German? / where do I get that from? / why do you say that he is late? / who told Ana that?
como você sabe fazer bolo? / de onde você é? / quem te disse que a Ana vem? / por que isso? / como eu sei disso?
¿por qué? / ¿cómo sabes el camino? / ¿de dónde eres? / ¿quién te dijo que viniera Ana? / como lo hago
"""


@pytest.mark.parametrize("message", [each.strip() for line in ASKED.strip().splitlines() for each in line.split(" / ")])
def test_these_ask_why(message: str) -> None:
    assert means_why(message)


@pytest.mark.parametrize("message", [each for line in NOT_ASKED.strip().splitlines() for each in line.split(" / ")])
def test_these_ask_something_else(message: str) -> None:
    assert not means_why(message)


async def test_words_to_somebody_elses_message_are_not_about_an_answer(talk: Talk) -> None:
    screen = Screen(talk.house)
    await talk.keep(LOCKER)
    await screen.say("what's the locker code?")
    told = await screen.say("how do you know that?", quotes=[Quote(QuoteKind.REPLY, "it rains tomorrow", name="Tom")])
    assert "rests on" not in told.text


# --- /think ---


async def test_steps_are_shown_below_answers_until_the_person_wants_no_more(talk: Talk) -> None:
    await talk.keep(LOCKER)
    await talk.say("what's the locker code?")
    assert not talk.shown.folded
    assert (await talk.say("/think")).startswith("I show answers without how I got there.")
    assert (await talk.press("Show the steps")).startswith("Below each answer I show how I got there")
    await talk.restart()
    await talk.say("what's the locker code?")
    title, search, answer = talk.shown.folded.split("\n")
    assert title == "💭 How I got there: 2 steps, 0 s"
    assert search == f"• Searching memories: “what's the locker code?” → 1 found: “{LOCKER}” · 0 s"
    assert answer == "• Writing the answer · 0 s"
    await talk.say("/memories")
    assert not talk.shown.folded, "a command has no steps"
    await talk.say("/think off")
    await talk.say("what's the locker code?")
    assert not talk.shown.folded


async def test_in_a_room_steps_name_nothing_that_was_looked_for_or_found(talk: Talk) -> None:
    await talk.say("/think on")
    await talk.say(f"remember that {LOCKER}", private=False)
    await talk.say("what's the locker code?", private=False)
    assert talk.shown.folded == (
        "💭 How I got there: 2 steps, 0 s\n• Searching memories → 1 found · 0 s\n• Writing the answer · 0 s"
    )


async def test_a_single_call_shows_what_its_own_words_found_and_how_long_it_took() -> None:
    house = by_call(call("MemorySave", items=[_item(LOCKER)]), "It is 4417 [m1].")
    await house.preferences.put(ANA, Preferences(shows_steps=True))
    screen = Screen(house)
    saved = await screen.say(f"remember that {LOCKER}")
    assert saved.folded.split("\n")[1:] == [f"• Saving memories → done: “{LOCKER}” · 0 s"]
    answer = await screen.say("what's the locker code?")
    assert answer.folded.split("\n") == [
        "💭 How I got there: 2 steps, 0 s",
        f"• Looking up your own words → 1 found: “{LOCKER}”",
        "• Writing the answer · 0 s",
    ]


async def test_a_step_tells_its_seconds_and_that_it_failed(tmp_path: Path) -> None:
    script: Script = {
        Task.DECIDE: ["MemorySearch", "Finish"],
        Task.SEARCH_QUERIES: ["no JSON at all"],
        Task.FINISH: ["I do not know."],
    }
    async with talking(tmp_path, script) as talk:
        await talk.say("/think on")
        await talk.say("what's the locker code?")
        assert "• Searching memories → that did not work · 0 s" in talk.shown.folded


async def test_a_long_answer_has_its_steps_below_its_last_message() -> None:
    house = by_call("word " * 2000)
    await house.preferences.put(ANA, Preferences(shows_steps=True))
    screen = Screen(house)
    await screen.say("tell me a long story")
    parts = screen.channel.screen
    assert len(parts) > 1
    assert [bool(part.folded) for part in parts] == [False] * (len(parts) - 1) + [True]


def _item(content: str) -> dict[str, object]:
    return {"type": "text", "content": content, "bindings": [content]}


async def _keep(house: House, *contents: str) -> None:
    memory = house.memories.of(ANA)
    for content in contents:
        draft = MemoryDraft(MemoryKind.TEXT, content, (content,))
        await memory.add([draft])


async def _said_before(talk: Talk, text: str) -> None:
    here = talk.house.incoming("").conversation
    conversation = await talk.house.conversations.open(here)
    await conversation.add(Message(MessageRole.USER, text, turn="before", source_id="before"))
    await conversation.reset()


async def _messages(talk: Talk) -> Sequence[Message]:
    threads = await talk.house.history.threads(ANA)
    return [message for thread in threads for message in await talk.house.history.get(thread.id)]
