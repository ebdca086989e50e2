"""What a person tells in passing is offered: a button saves it, and nothing else that they say or press does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from core.actions.proposal import OFFERED_FOR, offer_saving, own_words, propose_deletion
from core.dialogue import Outcome, Step, Task
from core.enclosures import Quote, QuoteKind, Speaker
from core.outgoing import Button
from core.types import Learn, MemoryDraft, MemoryKind, Message, MessageRole
from tests.fakes.house import BIA, Script
from tests.fakes.talk import Talk, talking

TOLD = "we're moving to Porto in June, any tips?"
PORTO = MemoryDraft(MemoryKind.TEXT, "We are moving to Porto in June", ("moving house", "porto"))
DOG = MemoryDraft(MemoryKind.TEXT, "The dog is called Rex", ("dog",))
FINISH: Script = {Task.DECIDE: lambda _: "Finish", Task.FINISH: lambda _: "Take a raincoat."}
OVER = "I have nothing left to save from that."


async def offered(
    talk: Talk, drafts: Sequence[MemoryDraft] = (PORTO,), told: str = TOLD, *, learn: Learn = Learn.OFFERED
) -> tuple[Button, ...]:
    """Let a turn answer that message and offer the drafts below its answer."""
    turn = await talk.house.turn(told, talk.house.channel())
    turn.person.learn = learn
    choices = await offer_saving(turn, drafts)
    await turn.answer.say("Take a raincoat.", in_history=False, choices=choices)
    return choices


async def test_the_button_saves_it_also_after_a_restart_and_says_so_with_undo(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        [button] = await offered(talk)
        assert not button.in_place  # the answer stays
        assert await talk.contents() == []
        await talk.restart()
        assert await talk.say(button.command, pressed=True) == "Saved: “We are moving to Porto in June”"
        [item] = await talk.house.memories.of(talk.house.incoming("").user).page(limit=9)
        assert item.draft == PORTO
        assert f"```\n{TOLD}\n```" in await talk.say(f"/memories source {item.id}")
        await talk.say(button.command, pressed=True)
        assert talk.shown.text == "I knew that already: “We are moving to Porto in June”"
        assert await talk.contents() == [PORTO.content]


async def test_what_the_button_saved_can_be_undone_and_saved_again(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        [button] = await offered(talk)
        await talk.say(button.command, pressed=True)
        await talk.press("Undo")
        assert await talk.contents() == []
        assert (await talk.say(button.command, pressed=True)).startswith("Saved:")


async def test_a_plain_yes_does_what_the_button_does(tmp_path: Path) -> None:
    async with talking(tmp_path, FINISH) as talk:
        await offered(talk)
        assert (await talk.say("yes")).startswith("Saved:")
        assert len(await talk.contents()) == 1


@pytest.mark.parametrize("said", ["no", "1", "ok", "/help"])
async def test_nothing_but_a_yes_is_taken_for_the_answer_to_an_offer(tmp_path: Path, said: str) -> None:
    async with talking(tmp_path, FINISH) as talk:
        [button] = await offered(talk)
        await talk.say(said)
        assert await talk.contents() == []
        assert said == "/help" or talk.seen[-1] == "Take a raincoat."
        assert (await talk.say(button.command, pressed=True)).startswith("Saved:")


async def test_an_offer_neither_takes_the_place_of_an_open_question_nor_closes_it(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        [item] = await talk.keep("the cat is grey")
        turn = await talk.house.turn("forget the cat", channel := talk.house.channel())
        await propose_deletion(turn, Step("MemoryDelete", Outcome.NOTHING), [item])
        await turn.answer.complete()
        [yes, _] = channel.screen[-1].choices
        [button] = await offered(talk)
        assert (await talk.say(button.command, pressed=True)).startswith("Saved:")
        assert (await talk.say("/confirm save 999999", pressed=True)).startswith(OVER)
        assert (await talk.say(yes.command, pressed=True)).startswith("Deleted:")
        assert await talk.contents() == [PORTO.content]


async def test_it_is_the_persons_own_and_of_that_conversation(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        [button] = await offered(talk)
        assert (await talk.say(button.command, BIA, pressed=True)).startswith(OVER)
        assert (await talk.say(button.command, chat="elsewhere", pressed=True)).startswith(OVER)
        assert await talk.contents() == await talk.contents(BIA) == []


@pytest.mark.parametrize("code", ["", "x", "0", "-1", "²", "9" * 99])
async def test_a_code_of_no_offer_saves_nothing(tmp_path: Path, code: str) -> None:
    async with talking(tmp_path) as talk:
        await offered(talk)
        assert (await talk.say(f"/confirm save {code}", pressed=True)).startswith(OVER)
        assert await talk.contents() == []


async def test_after_a_day_it_is_over(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        [button] = await offered(talk)
        await talk.clock.advance((OFFERED_FOR + timedelta(seconds=1)).total_seconds())
        assert (await talk.say(button.command, pressed=True)).startswith(OVER)


async def test_while_memory_is_off_nothing_is_offered_and_an_offer_of_before_saves_nothing(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        [button] = await offered(talk)
        await talk.say("/memory off")
        assert (await talk.say(button.command, pressed=True)).startswith("Memory is off")
        turn = await talk.house.turn(TOLD, talk.house.channel())
        turn.person.remembers = False
        assert await offer_saving(turn, [PORTO]) == ()
        assert await talk.contents() == []


async def test_who_wants_to_be_asked_for_nothing_is_offered_nothing(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        assert await offered(talk, learn=Learn.ASKED) == ()


async def test_what_is_known_is_not_offered(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.keep(PORTO.content)
        assert await offered(talk) == ()
        [button] = await offered(talk, [PORTO, DOG], f"{TOLD} The dog is called Rex, too")
        assert await talk.say(button.command, pressed=True) == "Saved: “The dog is called Rex”"


async def test_two_offers_of_one_message_are_one_button(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        turn = await talk.house.turn("We are moving to Porto in June, and the dog is called Rex", talk.house.channel())
        first, second = await offer_saving(turn, [PORTO]), await offer_saving(turn, [DOG])
        assert first == second
        told = await talk.say(second[0].command, pressed=True)
        assert all(f"“{draft.content}”" in told for draft in (PORTO, DOG))


async def test_the_words_of_an_offer_go_with_all_else(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        [button] = await offered(talk)
        [code] = re.findall(r"/forget all ([A-Z]{4})", await talk.say("/forget all"))
        await talk.say(f"/forget all {code}")
        assert (await talk.say(button.command, pressed=True)).startswith(OVER)
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())  # noqa: ASYNC240  # nothing else runs
    assert b"moving to Porto" not in kept


def quoting(text: str, *quotes: str) -> Message:
    cited = tuple(Quote(QuoteKind.FORWARD, each, Speaker.OTHER, "Bia") for each in quotes)
    return Message(MessageRole.USER, text, quotes=cited)


@pytest.mark.parametrize(
    ("asked", "draft", "stays"),
    [
        (quoting(TOLD), PORTO.content, True),
        (quoting("", "we are moving to Porto in June"), PORTO.content, False),
        (quoting("nice for her!", "we are moving to Porto in June"), "Moving to Porto in June", False),
        (quoting("look", "The gate code is 9999"), "The gate's code: 9999", False),
        (quoting("我也是", "我们六月搬到波尔图"), "六月搬到波尔图", False),
        (quoting("Bonne chance !", "Nous déménageons à Lyon"), "déménage à Lyon", False),
        (quoting("I live in Porto", "where do you live?"), "Lives in Porto", True),
        (quoting("moro em Lisboa com a Bia desde maio", "oi, sumido"), "mora em Lisboa com a Bia desde maio", True),
        (quoting("我住在波尔图", "你住在哪里"), "我住在波尔图", True),
    ],
)
def test_what_somebody_else_said_is_never_offered(asked: Message, draft: str, stays: bool) -> None:
    assert bool(own_words(asked, [MemoryDraft(MemoryKind.TEXT, draft, ("x",))])) is stays
