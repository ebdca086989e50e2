"""Several workers answer over one database: each message once, in order, whoever dies."""

from __future__ import annotations

import asyncio

import pytest

from adapters.running import Session
from core.answering.parts import Verdict
from core.delivery.fallback import FallbackChannel
from core.dialogue import Task
from core.errors import ClaimLost, StorageDown
from core.outgoing import OutgoingMessage
from core.threads import Transition, TurnState
from core.types import ChatKey, Incoming
from core.workers.port import Claim
from tests.fakes.channel import RecordingChannel
from tests.fakes.clock import FakeClock
from tests.fakes.workers import LEASE_S, a_team


async def test_what_comes_to_another_worker_is_answered_by_the_one_that_holds_the_chat_in_order() -> None:
    async with a_team() as team:
        holder, other = await team.join(is_open=False), await team.join()
        await holder.say("one", "1")
        await other.say("two", "2")
        await holder.say("three", "3")
        holder.gate.set()
        await team.until(lambda: team.texts() == ["re one", "re two", "re three"])
        assert not other.model.prompts
        await team.free()


async def test_what_a_dead_worker_owes_is_answered_by_another_after_its_lease() -> None:
    async with a_team() as team:
        dead, other = await team.join(is_open=False), await team.join(hears=False)
        await dead.say("one", "1")
        await dead.say("two", "2")
        dead.kill()
        await other.clock.advance(5.0)
        assert team.texts() == []
        await team.age(dead)
        await team.until(lambda: team.texts() == ["re one", "re two"], ticking=[other])
        await team.free()


async def test_a_worker_that_stood_still_past_its_lease_says_nothing_more_and_joins_again() -> None:
    async with a_team() as team:
        frozen, other = await team.join(is_open=False), await team.join(hears=False)
        await frozen.say("one", "1")
        frozen.kill()
        await team.age(frozen)
        await team.until(lambda: team.texts() == ["re one"], ticking=[other])
        former = frozen.worker.id
        frozen.gate.set()
        frozen.thaw()  # it does not know how late it is: the database does
        await team.until(lambda: not frozen.chatbot.tasks)
        assert team.texts() == ["re one"]
        await frozen.clock.advance(LEASE_S)
        await team.until(lambda: frozen.worker.id not in {0, former})
        assert team.texts() == ["re one"]
        await frozen.say("two", "2")
        await team.until(lambda: team.texts() == ["re one", "re two"])
        await team.free()


async def test_what_was_being_taken_in_as_the_lease_ended_is_answered_by_others_alone() -> None:
    async with a_team() as team:
        frozen, other = await team.join(is_open=False), await team.join(hears=False)
        gate, asked, thawed = frozen.chatbot.parts.hooks.gate, asyncio.Event(), asyncio.Event()
        recheck = gate.recheck

        async def slowly(incoming: Incoming) -> Verdict:
            if asyncio.current_task() not in frozen.chatbot.tasks.of("test"):
                asked.set()
                await thawed.wait()
            return await recheck(incoming)

        gate.recheck = slowly  # type: ignore[method-assign]
        await frozen.say("one", "1")
        await other.say("two", "2")
        await asked.wait()
        frozen.kill()
        await team.age(frozen)
        await team.until(lambda: team.texts() == ["re one", "re two"], ticking=[other])
        await team.free()
        frozen.gate.set()
        frozen.thaw()
        await frozen.clock.advance(LEASE_S)
        await team.until(lambda: frozen.worker.is_alive)
        thawed.set()
        await frozen.say("three", "3")
        await team.until(lambda: "re three" in team.texts())
        assert team.texts() == ["re one", "re two", "re three"]


async def test_who_stops_leaves_what_it_owes_to_others_at_once() -> None:
    async with a_team() as team:
        leaving, other = await team.join(is_open=False), await team.join()
        await leaving.say("one", "1")
        await leaving.stop()
        await team.until(lambda: team.texts() == ["re one"])
        assert other.model.prompts
        await team.free()


async def test_who_stops_ends_the_answers_that_others_took_in_and_takes_no_more() -> None:
    async with a_team() as team:
        stopping, other = await team.join(is_open=False), await team.join()
        stopping.model.stuck = "re far"
        await stopping.say("far", "1", chat="d")
        await stopping.say("one", "1")
        await other.say("two", "2")
        await team.until(lambda: len(stopping.chatbot.tasks) == 3)
        drained = asyncio.create_task(Session("test", stopping.chatbot, stopping.clock, 1e9).drain(20.0))
        await other.say("three", "3")
        await other.say("four", "1", chat="e")
        await team.until(lambda: team.texts("e") == ["re four"])
        stopping.gate.set()
        await team.until(lambda: team.texts() == ["re one", "re two", "re three"])
        assert not drained.done()
        await stopping.clock.advance(20.0)
        await drained
        await team.until(lambda: team.texts("d") == ["re far"])
        assert {prompt.context.message for prompt in stopping.model.prompts} == {"far", "one", "two"}
        assert [prompt.context.message for prompt in other.model.asked(Task.FINISH)] == ["four", "three", "far"]
        await team.free()


async def test_an_answer_of_which_it_is_not_known_whether_its_end_was_stored_is_not_given_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It would stand below what was asked after it."""
    caplog.set_level("INFO", "core.answering.chatbot")
    async with a_team() as team:
        worker = await team.join()
        history, failures = worker.house.history, [StorageDown("the connection broke")]
        enter = history.enter

        async def enter_or_fail(thread_id: str, *entered: Transition) -> None:
            await enter(thread_id, *entered)
            if entered[-1].state is TurnState.COMPLETED and failures:
                raise failures.pop()

        history.enter = enter_or_fail  # type: ignore[method-assign]
        await worker.say("one", "1")
        await worker.say("two", "2")
        await team.until(lambda: team.texts() == ["re one", "re two"], ticking=[worker])
        await team.free()
    assert not failures
    assert caplog.messages.count("turn") == 2


async def test_an_edit_that_comes_to_another_worker_takes_the_place_of_its_question() -> None:
    async with a_team() as team:
        holder, other = await team.join(is_open=False), await team.join()
        await holder.say("one", "1")
        await team.until(lambda: len(holder.model.prompts) == 1)
        await other.say("ONE", "1.1", edits="1")
        await team.until(lambda: len(holder.model.prompts) > 1)
        holder.gate.set()
        await team.until(lambda: team.texts() == ["re ONE"])
        await team.free()
        assert not other.model.prompts


async def test_a_message_that_is_deleted_elsewhere_is_dropped() -> None:
    async with a_team() as team:
        holder, other = await team.join(is_open=False), await team.join()
        await holder.say("one", "1")
        await holder.say("two", "2")
        await team.until(lambda: len(holder.model.prompts) == 1)
        await other.chatbot.withdraw(ChatKey("test", "c"), ["1", "unknown"])
        await team.until(lambda: len(holder.model.prompts) > 1)
        holder.gate.set()
        await team.until(lambda: team.texts() == ["re two"])
        await team.free()


async def test_a_worker_takes_no_more_chats_than_it_may_and_others_take_the_rest() -> None:
    async with a_team() as team:
        full, other = await team.join(is_open=False, most_chats=1), await team.join()
        await full.say("one", "1", chat="a")
        await full.say("two", "2", chat="b")
        await team.until(lambda: team.texts("b") == ["re two"])
        assert other.model.prompts
        full.gate.set()
        await team.until(lambda: team.texts("a") == ["re one"])
        await team.free()


async def test_a_worker_without_the_database_for_a_lease_writes_into_no_chat() -> None:
    async with a_team() as team:
        cut_off = await team.join(is_open=False)
        await cut_off.say("one", "1")
        cut_off.plug.pull()
        await cut_off.clock.advance(LEASE_S)
        cut_off.gate.set()
        for _ in range(20):
            await asyncio.sleep(0.005)
        assert team.texts() == []
        cut_off.plug.push()
        await team.until(lambda: team.texts() == ["re one"], ticking=[cut_off])
        await team.free()


async def test_nothing_is_posted_edited_or_removed_once_the_lease_is_over_by_the_workers_own_clock() -> None:
    is_alive = [True]
    claim = Claim("chat:test:c", 1, lambda: is_alive[0])
    screen = RecordingChannel(FakeClock())
    channel = FallbackChannel(screen, FakeClock(), find_aside=None, ended="…")
    with claim.under():
        handle = await channel.post(OutgoingMessage("one"))
        is_alive[0] = False
        for write in (
            channel.post(OutgoingMessage("two")),
            channel.edit(handle, OutgoingMessage("three")),
            channel.remove(handle),
        ):
            with pytest.raises(ClaimLost):
                await write
    assert [shown.text for shown in screen.screen] == ["one"]
