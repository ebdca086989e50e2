"""Several workers answer over one database: each message once, in order, whoever dies."""

from __future__ import annotations

from tests.fakes.workers import LEASE_S, a_team


async def test_a_message_is_answered_where_it_came_and_its_chat_is_free_again() -> None:
    async with a_team() as team:
        worker = await team.join()
        await worker.say("hi", "1")
        await team.until(lambda: team.texts() == ["re hi"])
        await team.free()


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
        await team.until(lambda: not frozen.chatbot._under_way)
        assert team.texts() == ["re one"]
        await frozen.clock.advance(LEASE_S)
        await team.until(lambda: frozen.worker.id not in {0, former})
        assert team.texts() == ["re one"]
        await frozen.say("two", "2")
        await team.until(lambda: team.texts() == ["re one", "re two"])
        await team.free()


async def test_who_stops_leaves_what_it_owes_to_others_at_once() -> None:
    async with a_team() as team:
        leaving, other = await team.join(is_open=False), await team.join()
        await leaving.say("one", "1")
        await leaving.stop()
        await team.until(lambda: team.texts() == ["re one"])
        assert other.model.prompts
        await team.free()
