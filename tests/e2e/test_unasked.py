"""What the bot says on both platforms without being asked: who is notified, and whose its buttons are."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from core.delivery.notifier import Delivery
from core.delivery.view import View
from core.outgoing import Button, Mention, OutgoingMessage
from core.types import ChatKey, Incoming
from tests.e2e.flowing import Bot
from tests.e2e.wire import ANA, BIA, ROOM, Wire

DONE = Button("Feito", "/remind done 1", in_place=True)
RENT = OutgoingMessage("⏰ pagar o aluguel", choices=(DONE,))


def ana(wire: Wire) -> Mention:
    return Mention(wire.user(ANA).user, ANA)


def here(wire: Wire) -> ChatKey:
    return ChatKey(wire.name, wire.room)


async def say(wire: Wire, bot: Bot, shown: OutgoingMessage, *, in_room: bool = True, once: str = "1/1") -> Delivery:
    """Say it to Ana, in the room or in private."""
    notifier = bot.handler.notifier
    await wire.flow(lambda: notifier.platforms)
    writing = asyncio.create_task(notifier.write(wire.user(ANA), here(wire) if in_room else None, shown, once))
    await wire.flow(writing.done)
    return await writing


async def done(incoming: Incoming, view: View) -> None:
    """Answer a press."""
    await view.show(OutgoingMessage(f"✓ {incoming.user_name}", choices=(DONE,)))


def screen(wire: Wire, where: str = ROOM) -> list[str]:
    """What stands there, with Ana's name where Discord's clients show it for her id."""
    return [text.replace(f"<@{wire.user(ANA).user}>", ANA) for text in wire.screen(where)]


async def test_lines_begin_below_the_name_and_of_several_messages_one_notifies(wire: Wire) -> None:
    only_ana = {int(wire.user(ANA).user)}
    async with wire.running() as bot:
        await say(wire, bot, OutgoingMessage("enquanto isso:\num\ndois", mention=ana(wire)))
        assert screen(wire) == ["Ana\nenquanto isso:\num\ndois"]
        long = OutgoingMessage("x" * (2 * wire.most_chars - 10), mention=ana(wire))
        assert await say(wire, bot, long, once="2/1") is Delivery.ARRIVED
        assert [seen.pings for seen in wire.ours(ROOM)[1:]] == [only_ana, set(), set()]
        assert all(len(text) <= wire.most_chars for text in wire.screen(ROOM))


async def test_its_buttons_answer_in_its_place_after_a_restart_and_only_to_whom_it_is_said(wire: Wire) -> None:
    async with wire.running() as bot:
        await say(wire, bot, replace(RENT, mention=ana(wire)))
        [said] = wire.ours(ROOM)
    for _ in range(2):  # it stays hers
        async with wire.running(done) as bot:
            told = await bot.answers(wire.press("Feito", said.id, BIA, ROOM))
            assert told() == ["✓ Bia"]
            assert wire.name == "telegram" or len(wire.ours(ROOM)) == 1, "nobody else reads it"
            await bot.answers(wire.press("Feito", said.id, ANA, ROOM))
            assert screen(wire)[0] == "Ana ✓ Ana"
            assert (bot.handler.received[-1].chat, bot.handler.received[-1].private) == (here(wire), False)
    now = wire.ours(ROOM)[0]
    assert (now.id, now.pings) == (said.id, said.pings)


async def test_a_press_that_a_restart_interrupted_still_names_whom_the_message_is_said_to(wire: Wire) -> None:
    async def silent(incoming: Incoming, view: View) -> None:
        del incoming, view
        await asyncio.Event().wait()

    async with wire.running(silent) as bot:
        await say(wire, bot, replace(RENT, mention=ana(wire)))
        [said] = wire.ours(ROOM)
        await wire.press("Feito", said.id, ANA, ROOM)
        await wire.flow(lambda: bot.handler.received)
        owed = bot.handler.received[0]
    async with wire.running(done, owed=[owed], posted=[]) as bot:
        await wire.flow(lambda: bot.handler.answered == 1)
    assert screen(wire) == ["Ana ✓ Ana"]


async def test_in_private_the_buttons_of_what_was_not_asked_for_answer_in_its_place_after_a_restart(wire: Wire) -> None:
    async with wire.running() as bot:
        assert wire.screen() == [], "she opened the chat"
        await say(wire, bot, RENT, in_room=False)
        [said] = wire.ours()
    async with wire.running(done) as bot:
        await bot.answers(wire.press("Feito", said.id))
    assert wire.screen() == ["✓ Ana"]
