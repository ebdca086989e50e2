"""How an answer arrives on both platforms: in place, whole, in time, and through flood waits. A clock of our own."""

from __future__ import annotations

import re

import pytest

from core.delivery.view import View
from core.outgoing import OutgoingMessage
from core.types import Incoming
from tests.e2e.wire import ANA, BIA, Wire
from tests.fakes.handler import slowly, tell, words
from tests.fakes.telegram_people import units

LONG = "\n\n".join(
    f"Parágrafo {n} com **negrito** e emoji 😀🐘 "
    + "palavra " * 60
    + (f"\n```python\nfor x{n} in range(10):\n    print(x{n} < 3)\n```" if n % 3 == 0 else "")
    for n in range(20)
)


def visible(text: str) -> list[str]:
    """The words of a text, without the marks of Markdown."""
    return re.findall(r"[\w😀🐘]+", text.replace("```python", "").replace("```", ""))


@pytest.mark.spec("T5", "T7")
async def test_a_ten_thousand_character_answer_arrives_whole_and_within_every_limit_and_rings_once(wire: Wire) -> None:
    assert len(LONG) > 10_000
    async with wire.running(slowly(wire.clock, LONG, 0.02)) as bot:
        await bot.answers(wire.says("conte tudo"))
        screen = wire.screen()
        assert len(screen) >= len(LONG) // wire.most_chars
        assert all(units(text) <= wire.most_chars for text in screen)
        assert visible("\n".join(screen)) == visible(LONG)
        # Every fence is closed on both sides of a cut; on Telegram it became an entity.
        assert {text.count("```") % 2 for text in screen} == {0}
        assert wire.name != "telegram" or not any("```" in text for text in screen)
        assert not any(seen.labels for seen in wire.ours())
        assert [seen.rings for seen in wire.ours()] == [True] + [False] * (len(screen) - 1)
        assert not wire.floods


async def test_messages_of_their_own_ring_each(wire: Wire) -> None:
    async def script(_: Incoming, view: View) -> None:
        await view.show(OutgoingMessage("uma"))
        await view.show(OutgoingMessage("outra"))

    async with wire.running(script) as bot:
        await bot.answers(wire.says("conte"))
        assert [seen.rings for seen in wire.ours()] == [True, True]


@pytest.mark.spec("T4", "T5")
async def test_a_status_is_edited_into_the_next_one_and_then_into_the_answer(wire: Wire) -> None:
    statuses = ["IA está pensando...", "Buscando por memórias...", "Buscando por memórias..., pesquisando"]

    async def script(_: Incoming, view: View) -> None:
        for status in statuses:
            await view.status(status)
            await wire.clock.sleep(3)
        await tell(view, words("É abc123."))

    async with wire.running(script) as bot:
        await bot.answers(wire.says("qual é a senha?"))
        assert wire.screen() == ["É abc123."]
        # The Stop button may come with a second write of the first status.
        assert list(dict.fromkeys(write.text for write in wire.written())) == [*statuses, "É abc123."]
        assert [write.is_new for write in wire.written()].count(True) == 1
        assert len({write.message for write in wire.written()}) == 1


@pytest.mark.parametrize("wait_s", [3.0, 35.0, 491.0])
async def test_a_flood_wait_holds_back_one_chat_and_the_whole_answer_still_comes_once(
    wire: Wire, wait_s: float
) -> None:
    text, clock = "um dois três quatro", wire.clock
    async with wire.running(slowly(clock, text, 1.0)) as bot:
        await wire.says("conte")
        await wire.flow(lambda: "dois" in " ".join(wire.screen()))
        wire.flood(ANA, wait_s)
        flooded_s = clock.monotonic()
        await wire.flow(lambda: wire.floods)
        await wire.says("e eu?", BIA)
        await wire.flow(lambda: wire.screen(BIA) == [text])
        assert clock.monotonic() < flooded_s + max(wait_s, 10)
        await wire.flow(lambda: bot.handler.answered == 2)
        assert wire.screen() == [text]
        assert clock.monotonic() < flooded_s + wait_s + 5
    assert wire.floods == 1, "nobody knocks again before the wait is over"
    assert sum(write.text == text for write in wire.written()) == 1


async def test_a_growing_message_that_somebody_deletes_comes_back_once_and_whole(wire: Wire) -> None:
    async with wire.running(slowly(wire.clock, "um dois três quatro", 1.0)) as bot:
        await wire.says("conte")
        await wire.flow(lambda: [write.is_new for write in wire.written()].count(False))
        wire.wipe()
        await wire.flow(lambda: bot.handler.answered)
        assert wire.screen() == ["um dois três quatro"]
