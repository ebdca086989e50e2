"""Limits as people meet them: who is kept out, what they read, and who else is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from core.dialogue import Prompt, StreamEvent, Task
from core.features.access.storage import Person
from core.features.ledger.calls import BOT, SpendingScope
from core.features.quotas.limits import Defaults, read
from core.history.window import HistoryLimits
from core.types import Role, UserKey
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, BIA, House
from tests.fakes.metered import NO_PRICES, TURN_TOKENS, MeteredHouse
from tests.fakes.model import ScriptedModel

CARO, DORA = UserKey("test", "caro"), UserKey("test", "dora")
SCRIPT = {Task.DECIDE: ["Finish"], Task.FINISH: ["Hello"]}
ROOM = "test:room"


async def metered(person: str = "none", *, house: House | None = None, **limits: str) -> MeteredHouse:
    """Ana and Dora own the bot, Bia and Caro are members; limits of everybody but owners."""
    house = house or House(SCRIPT, trusted=())
    house.defaults = Defaults(person=read(person), **{name: read(text) for name, text in limits.items()})
    house.quotas.defaults = house.defaults
    for user in (ANA, DORA):
        await house.people.put(Person(user, Role.OWNER, user.user, house.clock.now()))
    for user in (BIA, CARO):
        await house.people.put(Person(user, Role.MEMBER, user.user, house.clock.now()))
    return MeteredHouse(house)


async def test_who_has_used_up_their_tokens_is_told_when_there_are_more_and_no_model_is_asked() -> None:
    bot = await metered(f"tokens_day={TURN_TOKENS}")
    async with bot.open() as handler:
        assert (await bot.say(handler, "hi", BIA)).startswith("Hello")
        before = len(bot.house.model.prompts)
        assert await bot.say(handler, "hi again", BIA) == (
            "Sorry, that is all for now: your limit of 30 tokens a day is used up. I can answer again from "
            "Mar 15, 00:00 (UTC); commands such as /memories and /usage still work."
        )
        assert len(bot.house.model.prompts) == before
        assert await bot.say(handler, "hi", CARO) != ""
        assert len(bot.house.model.prompts) == before + 2, "others are answered"
        assert await bot.say(handler, "/memories", BIA) == "You have not asked me to remember anything yet."
    (thread,) = await bot.house.history.threads(BIA)
    said = [message.text for message in await bot.house.history.tail(thread.id, 99)]
    assert said == ["hi", "Hello"], "what was kept out is not kept"
    assert len({entered.turn for entered in await bot.house.history.transitions(thread.id)}) == 1
    assert list(await bot.house.inbox.owed("test")) == []


@pytest.mark.parametrize(
    ("language", "begins", "note"),
    [
        (
            "pt-br",
            "Desculpe, por agora é só: o seu limite de US$ 30,00 por mês chegou ao fim.",
            "Aviso: o seu limite",
        ),
        ("en", "Sorry, that is all for now: your limit of US$ 30.00 a month is used up.", "Note: your limit"),
        ("es", "Lo siento, por ahora es todo: tu límite de US$ 30,00 al mes se agotó.", "Aviso: tu límite"),
    ],
)
async def test_everybody_reads_it_in_their_language(language: str, begins: str, note: str) -> None:
    bot = await metered("cost_month=30.00")
    async with bot.open() as handler:
        answer = await bot.say(handler, "42", BIA, language=language)
        assert answer.splitlines()[-1].startswith(note)
        assert "01 " not in answer
        assert (await bot.say(handler, "42", BIA, language=language)).startswith(begins)


async def test_a_note_stands_below_the_answer_that_passes_eighty_percent_once_a_period() -> None:
    bot = await metered(f"tokens_day={10 * TURN_TOKENS} tokens_month=100000")
    async with bot.open() as handler:
        answers = [await bot.say(handler, "hi", BIA) for _ in range(10)]
    note = "Note: your limit of 300 tokens a day is {} % used. It starts again at Mar 15, 00:00 (UTC). See /usage."
    assert answers == [
        *(["Hello"] * 7),
        f"Hello\n{note.format(80)}",
        "Hello",
        f"Hello\n{note.format(100)}",
    ]


async def test_owners_are_told_once_when_somebodys_limit_is_used_up_also_after_a_restart() -> None:
    bot = await metered(f"tokens_day={TURN_TOKENS}")
    async with bot.open() as handler:
        await bot.say(handler, "hi", BIA)
        await bot.say(handler, "hi", BIA)
    assert bot.told_texts(ANA) == bot.told_texts(DORA)
    assert "\n".join(bot.told_texts(ANA)) == (
        "Quota: `test:bia` has used 100 % of 30 tokens a day. It starts again at Mar 15, 00:00 (UTC). "
        "To see or change it: /admin quota test:bia"
    )
    again = MeteredHouse(replace(bot.house, script=SCRIPT), numbers=bot.numbers)
    async with again.open() as handler:
        assert (await again.say(handler, "hi", BIA)).startswith("Sorry, that is all for now")
    assert again.told == {}


async def test_the_bots_own_limits_are_the_business_of_owners() -> None:
    bot = await metered(bot=f"tokens_day={2 * TURN_TOKENS}")
    async with bot.open() as handler:
        assert await bot.say(handler, "hi", BIA) == "Hello"
        assert await bot.say(handler, "hi", BIA) == "Hello", "a member reads no note of it"
        assert [len(bot.told_texts(owner)) for owner in (ANA, DORA)] == [1, 1]
        assert (await bot.say(handler, "hi", BIA)).startswith(
            "Sorry, that is all for now: my limit for everybody, 60 tokens a day, is used up."
        )
        assert "my limit for everybody" in await bot.say(handler, "hi", ANA), "nor is an owner answered"
        assert "Done." in await bot.say(handler, "/admin quota bot none", ANA), "but for commands"
        assert await bot.say(handler, "hi", BIA) == "Hello"
        await bot.say(handler, "/admin undo", ANA)
        assert await bot.say(handler, "hi", BIA) != "Hello"
    assert [len(bot.told_texts(owner)) for owner in (ANA, DORA)] == [1, 1]


async def test_an_owner_who_asks_reads_the_note_and_is_not_told_a_second_time() -> None:
    bot = await metered(bot=f"tokens_day={TURN_TOKENS}")
    async with bot.open() as handler:
        assert "Note: my limit for everybody, 30 tokens a day, is 100 % used." in await bot.say(handler, "hi", ANA)
    assert (bot.told_texts(ANA), len(bot.told_texts(DORA))) == ([], 1)


async def test_a_room_has_its_limit_for_all_who_write_there_and_its_guests_theirs() -> None:
    guest = UserKey("test", "zoe")
    bot = await metered(room=f"tokens_day={2 * TURN_TOKENS}", guest=f"tokens_day={TURN_TOKENS}")
    async with bot.open() as handler:
        await bot.say(handler, "/admin allow here", ANA, chat="room", room=True)
        assert (await bot.say(handler, "hi", guest, chat="room", room=True)).startswith("Hello")
        assert "your limit of 30 tokens a day" in await bot.say(handler, "hi", guest, chat="room", room=True)
        assert (await bot.say(handler, "hi", BIA, chat="room", room=True)).startswith("Hello")
        assert "the limit of this room, 60 tokens a day," in await bot.say(handler, "hi", CARO, chat="room", room=True)
        assert await bot.say(handler, "hi", CARO) == "Hello"
    assert (await bot.house.ledger.spent(SpendingScope(room=ROOM), bot.house.clock.now())).tokens == 2 * TURN_TOKENS


async def test_help_and_undo_cost_a_guest_nothing() -> None:
    guest = UserKey("test", "zoe")
    bot = await metered(guest="messages_minute=1")
    async with bot.open() as handler:
        await bot.say(handler, "/admin allow here", ANA, chat="room", room=True)
        for command in ("/undo", "/HELP", "/help", "/start"):
            answer = await bot.say(handler, command, guest, chat="room", room=True)
            assert "limit" not in answer
        assert await bot.say(handler, "/usage", guest, chat="room", room=True) != ""
        assert "limit of 1 message a minute" in await bot.say(handler, "/usage", guest, chat="room", room=True)


async def test_too_many_messages_a_minute_are_answered_later_and_stop_and_buttons_are_free() -> None:
    bot = await metered("messages_minute=2")
    async with bot.open() as handler:
        assert await bot.say(handler, "hi", BIA) == "Hello"
        assert "Today" in await bot.say(handler, "/usage", BIA)
        slow = "Please slow down: your limit of 2 messages a minute is reached. Try again in 60 seconds."
        assert await bot.say(handler, "hi", BIA) == slow
        assert await bot.say(handler, "/usage", BIA) == slow
        assert await bot.say(handler, "/stop", BIA) == "Nothing is running."
        pressed = replace(bot.incoming("/usage", BIA), pressed=True)
        assert "Today" in (await bot.screen(handler, pressed))[0].text


async def test_a_long_text_counts_as_as_many_messages_as_it_is_long() -> None:
    bot = await metered("messages_minute=4")
    async with bot.open() as handler:
        assert await bot.say(handler, "a" * 4000, BIA) == "Hello"
        assert await bot.say(handler, "a" * 12_001, BIA) == "Hello", "what begins within the limit is answered whole"
        assert "your limit of 4 messages a minute is reached" in await bot.say(handler, "hi", BIA)
        assert "Today" in await bot.say(handler, "/usage", CARO)


async def test_a_button_that_has_a_model_asked_again_is_held_against_what_was_spent() -> None:
    bot = await metered(f"tokens_day={TURN_TOKENS}")
    async with bot.open() as handler:
        await bot.say(handler, "hi", BIA)
        pressed = replace(bot.incoming("/retry", BIA), pressed=True)
        assert (await bot.screen(handler, pressed))[0].text.startswith("Sorry, that is all for now")
        assert len(bot.house.model.prompts) == 2


class WaitingModel(ScriptedModel):
    """Answers when it is let to."""

    def __init__(self) -> None:
        super().__init__(SCRIPT)
        self.go = asyncio.Event()

    @asynccontextmanager
    async def stream(self, prompt: Prompt) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        async with super().stream(prompt) as events:
            await self.go.wait()
            yield events


async def test_of_people_who_ask_side_by_side_at_the_limit_one_gets_the_last_answer() -> None:
    house = House(SCRIPT, trusted=())
    house.model = WaitingModel()
    bot = await metered(house=house, bot=f"tokens_day={2 * TURN_TOKENS}")
    async with bot.open() as handler:
        house.model.go.set()
        await bot.say(handler, "hi", BIA)
        house.model.go.clear()
        asking = [asyncio.create_task(bot.say(handler, "hi", user)) for user in (BIA, CARO)]
        await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
        house.model.go.set()
        answers = await asyncio.gather(*asking)
    assert "\n".join(sorted(answers)) == (
        "Hello\nOne moment: my limit for everybody, 60 tokens a day, may be used up by the answers that I am working "
        "on. Please ask again in a little while."
    )
    assert len(house.model.prompts) == 4
    assert (await house.quotas.spent(BOT))[0].tokens == 2 * TURN_TOKENS


async def test_zero_lets_nobody_in_and_says_who_can_change_that() -> None:
    bot = await metered("tokens_day=0")
    async with bot.open() as handler:
        assert await bot.say(handler, "hi", BIA) == (
            "I cannot answer: your limit of 0 tokens a day leaves nothing. Only an owner of the bot can change that."
        )
    assert bot.house.model.prompts == []
    assert bot.told == {}, "it was an owner's own decision"


async def test_a_cost_that_nobody_knows_counts_in_tokens_only() -> None:
    bot = MeteredHouse((await metered("cost_day=0.01")).house, NO_PRICES)
    async with bot.open() as handler:
        for _ in range(3):
            assert await bot.say(handler, "hi", BIA) == "Hello"
        assert "90 tokens, cost unknown" in await bot.say(handler, "/usage", BIA)
        assert "The price of 6 calls is not known" in await bot.say(handler, "/usage", BIA)


async def test_a_summary_in_the_background_is_paid_by_the_one_whose_thread_it_is() -> None:
    house = House(SCRIPT | {Task.SUMMARY: ["They said hi."]}, clock=FakeClock(auto=True), trusted=())
    house.conversations.limits = HistoryLimits(policy="summary", window_messages=2, window_cycles=1, threshold_tokens=1)
    bot = await metered(house=house)
    async with bot.summarising() as summaries, bot.open() as handler:
        for text in ("one", "two", "three"):
            await bot.say(handler, text, BIA, chat="room", room=True)
            await bot.say(handler, text, CARO)
        await summaries.settle()
    assert house.model.asked(Task.SUMMARY)
    folded = await house.database.rows("SELECT user, room, mode FROM calls WHERE task = 'summary'")
    assert set(folded) == {(BIA.user, ROOM, "summary"), (CARO.user, "", "summary")}
    assert await house.database.rows("SELECT id FROM calls WHERE user = ''") == []


async def test_no_model_is_asked_that_no_message_led_to() -> None:
    clock = FakeClock()
    house = House(SCRIPT, clock=clock, trusted=())
    bot = await metered(house=house)
    async with bot.summarising(), bot.open() as handler:
        await bot.say(handler, "/remember the wifi password is abc123", BIA)
        await bot.say(handler, "hi", BIA)
        prompts, embedded = len(house.model.prompts), len(house.embedder.calls)
        await clock.advance(40 * 24 * 3600)
        await bot.say(handler, "/usage", BIA)
        await bot.say(handler, "/admin usage 90", ANA)
        assert (len(house.model.prompts), len(house.embedder.calls)) == (prompts, embedded)
    async with bot.open():
        assert (len(house.model.prompts), len(house.embedder.calls)) == (prompts, embedded)
    assert (await house.quotas.spent(BOT))[0].tokens == 0
