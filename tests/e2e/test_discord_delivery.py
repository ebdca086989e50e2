"""How an answer arrives in Discord: in place, whole, in time, and through rate limits. A clock of our own."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from core.delivery.view import View
from core.outgoing import OutgoingMessage
from core.types import Incoming, MemoryNote, Modal
from tests.e2e.discord_kit import ANA, BIA, ME, ROOM, flow, refusing, running
from tests.e2e.test_delivery import LONG
from tests.fakes.clock import FakeClock
from tests.fakes.discord_limits import Limits
from tests.fakes.discord_server import DiscordServer, too_many
from tests.fakes.discord_world import Person, Refused
from tests.fakes.handler import slowly, tell, words


@pytest.mark.spec("T9")
async def test_memories_replace_the_status_by_a_small_embed_with_everything_kept_under_spoilers() -> None:
    items = (_memory("senha do wi-fi", "a*b*c_d||e"), _memory("aniversário da @everyone", "3 de maio"))

    async def script(_: Incoming, view: View) -> None:
        await view.status("Buscando por memórias...")
        await view.show(OutgoingMessage("🧠 senha do wi-fi: ...", Modal.MEMORY, items))
        await tell(view, words("Achei duas."))

    clock = FakeClock()
    async with DiscordServer(clock) as server, running(server, clock, script) as bot:
        await bot.answers(server.says(ANA, "o que você sabe?"))
        shown, said = [note for note in server.direct(ANA).notes.values() if note.by is not ANA]
        assert shown.content == ""
        assert shown.embeds[0]["description"].split("\n") == [
            r"🧠 **senha do wi-fi** ||a\*b\*c\_d\|\|e|| · 14 Mar 2026",
            "🧠 **aniversário da @everyone** ||3 de maio|| · 14 Mar 2026",
        ]
        assert not shown.flags & 4  # the status before it was sent without embeds
        assert (said.content, said.flags & 4) == ("Achei duas.", 4)


async def test_more_memories_than_an_embed_holds_are_counted_not_cut(clock: FakeClock) -> None:
    items = tuple(_memory(f"coisa {n}", "x" * 290) for n in range(30))

    async def script(_: Incoming, view: View) -> None:
        await view.show(OutgoingMessage("muitas", Modal.MEMORY, items))

    async with DiscordServer(clock) as server, running(server, clock, script) as bot:
        await bot.answers(server.says(ANA, "tudo"))
        lines = server.direct(ANA).screen()[0].split("\n")
        assert lines[-1] == f"+ {30 - (len(lines) - 1)}"
        assert all(line.endswith("|| · 14 Mar 2026") for line in lines[:-1])


async def test_everyone_in_a_models_answer_pings_nobody(clock: FakeClock) -> None:
    async def script(_: Incoming, view: View) -> None:
        await tell(view, words(f"@everyone e {ME} olhem"))

    async with DiscordServer(clock) as server, running(server, clock, script) as bot:
        await bot.answers(server.says(ANA, f"{ME} chame todos", room=ROOM))
        [sent] = server.done("POST", "/messages")
        assert sent.body["allowed_mentions"] == {"parse": []}


async def test_edits_keep_their_distance_and_a_used_up_bucket_never_meets_a_429(clock: FakeClock) -> None:
    limits = Limits(per_window=3, window_s=6.0)  # narrower than what we pace for: only the headers say so
    async with DiscordServer(clock, limits) as server, running(server, clock, slowly(clock, LONG[:1800], 0.1)) as bot:
        await bot.answers(server.says(ANA, "conte"))
        assert server.direct(ANA).screen() == [LONG[:1800].strip()]
        assert not server.invalid
        edits = [write.at_s for write in server.writes if write.verb == "edit"]
        assert len(edits) >= 4
        assert all(later - earlier >= 1.4 for earlier, later in pairwise(edits[1:-1]))


async def test_answers_that_are_whole_at_once_one_after_another_meet_no_429(clock: FakeClock) -> None:
    async def script(incoming: Incoming, view: View) -> None:
        await view.status("IA está pensando...")
        view.write("Você disse uma coisa: ")
        await clock.sleep(0.2)
        view.write(incoming.text)
        await view.complete()
        whole_after_s.append(clock.monotonic())

    whole_after_s: list[float] = []
    async with DiscordServer(clock, Limits()) as server, running(server, clock, script) as bot:
        for number in range(6):
            await server.says(ANA, f"n{number}")
        await flow(server, clock, lambda: bot.handler.answered == 6)
        assert server.direct(ANA).screen() == [f"Você disse uma coisa: n{number}" for number in range(6)]
        assert not server.invalid
        edits = [write.at_s for write in server.writes if write.verb == "edit"]
    assert edits[:4] == pytest.approx([0.15, 0.2, 0.35, 0.4], abs=0.1)  # between what the start asked Discord


@pytest.mark.parametrize("wall", [False, True])
async def test_a_global_limit_and_the_wall_before_discord_quiet_every_channel(clock: FakeClock, *, wall: bool) -> None:
    once = [too_many(20.0, headers={} if wall else {"X-RateLimit-Global": "true"})]
    if wall:  # an answer that did not pass through Discord's own proxies
        del once[0].headers["Via"]
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        server.faults.append(lambda _, path: _raise_once(once, path))
        await server.says(ANA, f"{ME} aqui", room=ROOM)
        await flow(server, clock, lambda: server.invalid)
        await server.says(BIA, "there")
        await flow(server, clock, lambda: bot.handler.answered == 2)
        assert min(write.at_s for write in server.writes) >= 20
        writes = Counter(call.status for call in server.calls if call.method != "GET")
        assert writes[429] == 1 == len(server.invalid)
        assert Counter(bot.wrote) == writes


async def test_a_failing_server_is_left_alone_longer_and_longer_and_nothing_is_there_twice(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        failures = [refusing(503, 0), refusing(502, 0), refusing(500, 0)]
        server.faults.append(lambda _method, path: failures.pop()("", "") if failures and "messages" in path else None)
        await bot.answers(server.says(ANA, "oi"))
        assert server.direct(ANA).screen() == ["Você disse: oi"]
        assert clock.monotonic() >= 1 + 2 + 4


async def test_a_message_whose_confirmation_got_lost_is_not_sent_twice(clock: FakeClock) -> None:
    lost = [True, True]
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        server.swallow = lambda method, path: (
            method == "POST" and path.endswith("/messages") and bool(lost and lost.pop())
        )
        await bot.answers(server.says(ANA, "oi"))
        assert not lost
        assert server.direct(ANA).screen() == ["Você disse: oi"]
        assert len({call.body["nonce"] for call in server.done("POST", "/messages")}) == 1


async def test_where_the_bot_may_not_write_it_knocks_no_more_than_its_forms_are(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server:
        server.faults.append(lambda m, p: refusing(403, 50013)(m, p) if m == "POST" and str(ROOM) in p else None)
        async with running(server, clock, slowly(clock, LONG, 0.02)) as bot:
            await bot.answers(server.says(ANA, f"{ME} oi", room=ROOM))
            assert [type(failure).__name__ for failure in bot.handler.failures] == ["Undelivered"]
            assert len(server.invalid) == 4  # that it is typing, the status, the text, the text alone


async def test_a_reply_that_is_not_allowed_or_has_nothing_to_reply_to_becomes_a_plain_message(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server:
        room = server.room(ROOM)
        refusals = [refusing(400, 160002)]
        async with running(server, clock) as bot:
            server.faults.append(lambda m, p: refusals.pop()(m, p) if refusals and p.endswith("messages") else None)
            await bot.answers(server.says(ANA, f"{ME} um", room=ROOM))
            asked = await server.says(ANA, f"{ME} dois", room=ROOM)
            del room.notes[asked.id]
            await flow(server, clock, lambda: bot.handler.answered == 2)
            assert room.screen() == ["Você disse: um", "Você disse: dois"]
            assert [note.reply_to for note in room.notes.values() if note.by.bot] == [None, None]


@pytest.mark.long
async def test_a_hundred_chats_at_once_stay_within_the_limit_for_all(clock: FakeClock) -> None:
    people = [Person(10**17 + 1000 + n, f"P{n}") for n in range(100)]
    text = " ".join(f"{n}-palavra-comprida" for n in range(12))
    async with DiscordServer(clock, Limits()) as server, running(server, clock, slowly(clock, text, 1.0)) as bot:
        for person in people:
            await server.says(person, "conte")
        await flow(server, clock, lambda: bot.handler.answered == 100)
        assert all(server.direct(person).screen() == [text] for person in people)
        assert not server.invalid


def _memory(phrase: str, content: str) -> MemoryNote:
    return MemoryNote(phrase, content, "14 Mar 2026")


def _raise_once(once: list[Refused], path: str) -> None:
    if once and path.endswith("/messages"):
        raise once.pop()
