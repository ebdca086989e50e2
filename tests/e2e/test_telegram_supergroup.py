"""A group that became a supergroup is the same room: its history, its permission and its memories go on."""

from __future__ import annotations

import pytest

from adapters.telegram.state import State
from core.dialogue import Task
from core.features.access.storage import Person as Known
from core.storage.kept import SqlKept
from core.types import ChatKey, Incoming, MessageRole, Role, UserKey
from tests.e2e.telegram_kit import flow, running, serving
from tests.fakes.clock import FakeClock
from tests.fakes.house import House
from tests.fakes.ram import RamDatabase
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer

ANA, BIA = Person(7, "Ana"), Person(8, "Bia")
OWNER = UserKey("telegram", "7")
GROUP, SUPER = -55, -1001


async def test_history_permission_and_memories_of_a_group_go_on_in_the_supergroup_also_after_a_restart() -> None:
    clock, kept = FakeClock(), SqlKept(RamDatabase())
    house = House(
        {
            Task.DECIDE: lambda _: "Finish",
            Task.FINISH: lambda prompt: f"Você disse: {prompt.context.message}",
            Task.SAVE_DRAFTS: ['{"items": [{"type": "text", "content": "sexta", "bindings": ["dia da pizza"]}]}'],
        },
        clock=clock,
        trusted=(),
    )
    await house.people.put(Known(OWNER, Role.OWNER, "Ana", clock.now()))
    async with TelegramServer(clock) as server:
        old = server.chat(GROUP)
        old.type = "group"
        async with house.chatbot() as handler, serving(server, clock, handler, kept=kept):
            for number, text in enumerate(("/admin allow here", "/remember a pizza é na sexta", "@elefante_bot oi"), 1):
                server.says(ANA, text, chat_id=GROUP)
                await flow(server, clock, lambda: len(old.screen()) == number)  # noqa: B023 (awaited at once)
            new = server.grows_up(old, SUPER)
            server.says(ANA, "@elefante_bot e aqui?", chat_id=SUPER)
            await flow(server, clock, lambda: new.screen() == ["Você disse: e aqui?"])
        async with house.chatbot() as handler, serving(server, clock, handler, kept=kept):
            asked = server.says(BIA, "@elefante_bot também posso?", chat_id=SUPER)  # a guest of the room
            await flow(server, clock, lambda: new.screen()[-1] == "Você disse: também posso?")
            assert new.ours()[-1].reply_to == asked["message_id"]
    [thread] = await house.history.threads(OWNER)
    assert thread.conversation.chat == ChatKey("telegram", str(GROUP))
    said = [m.text for m in await house.history.tail(thread.id, 10) if m.role is MessageRole.USER]
    assert said == ["a pizza é na sexta", "oi", "e aqui?"]
    [memory] = await house.store.page(OWNER, limit=5)
    assert memory.rooms == (f"telegram:{GROUP}",)
    assert not [call for call in server.calls if call.code == 400 and call.chat_id == GROUP]  # nobody had to be told


async def test_a_message_of_the_supergroup_is_not_taken_for_the_one_that_had_its_number_in_the_group() -> None:
    clock = FakeClock()
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        for number in range(1, 6):
            server.says(ANA, f"{number} @elefante_bot", chat_id=GROUP)
        await flow(server, clock, lambda: bot.handler.answered == 5)
        server.grows_up(server.chats[GROUP], SUPER)
        for number in range(6, 9):  # numbers 2 to 4, again
            server.says(ANA, f"{number} @elefante_bot", chat_id=SUPER)
        message = server.says(BIA, "9 @elefante_bot", chat_id=SUPER)
        server.edits(message, "9! @elefante_bot")
        await flow(server, clock, lambda: bot.handler.answered == 10)
    assert {incoming.chat.chat for incoming in bot.handler.received} == {str(GROUP)}
    assert len({incoming.message_id for incoming in bot.handler.received}) == 10


@pytest.mark.parametrize("there", [False, True])
async def test_an_answer_that_was_owed_before_the_move_hangs_on_no_message_of_another(*, there: bool) -> None:
    clock, kept = FakeClock(), SqlKept(RamDatabase())
    await State(kept).moved(GROUP, SUPER)
    async with TelegramServer(clock) as server:
        asked = server.says(BIA, "outra conversa", chat_id=SUPER)["message_id"]
        server.updates.clear()
        owed = Incoming(
            ChatKey("telegram", str(GROUP)), OWNER, "Ana", f"{asked}{'.s' if there else ''}", "oi", clock.now(),
            private=False,
        )  # fmt: skip
        async with running(server, clock, kept=kept, owed=[owed]) as bot:
            await flow(server, clock, lambda: bot.handler.answered == 1)
            [sent] = server.chats[SUPER].ours()
    assert sent.reply_to == (asked if there else None)


async def test_a_button_pressed_before_the_move_changes_no_message_of_another_after_it() -> None:
    clock, kept = FakeClock(), SqlKept(RamDatabase())
    await State(kept).moved(GROUP, SUPER)
    async with TelegramServer(clock) as server:
        asked = server.says(BIA, "outra conversa", chat_id=SUPER)["message_id"]
        server.updates.clear()
        owed = Incoming(
            ChatKey("telegram", str(GROUP)), OWNER, "Ana", f"{asked}.!99", "/memories 2", clock.now(), private=False
        )
        async with running(server, clock, kept=kept, owed=[owed]) as bot:
            await flow(server, clock, lambda: bot.handler.answered == 1)
    assert [call.code for call in server.calls if call.method == "editmessagetext"] == [200]  # of its own status


async def test_the_greeting_is_not_said_again_when_a_group_grows_up(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        await bot.answers(server.says(ANA, "oi @elefante_bot", chat_id=GROUP))
        server.grows_up(server.chats[GROUP], SUPER)
        server.invites(ANA, SUPER)
        await flow(server, clock, lambda: not server.updates)
        assert not server.chats[SUPER].screen()


async def test_the_state_is_what_was_kept_also_by_another_worker_and_damage_is_an_empty_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kept = SqlKept(RamDatabase())
    state, other = State(kept), State(kept)
    await other.meet(GROUP)
    await state.moved(GROUP, SUPER)
    await state.moved(SUPER, SUPER)
    await other.put_menu(7, "abc")
    await state.put_menu(8, "abc")
    await state.put_menu(8, "")
    await other.meet(SUPER)
    assert (other.home(SUPER), other.address(GROUP), other.menus) == (GROUP, SUPER, {7: "abc"})
    assert (other.home(GROUP), other.address(SUPER), other.home(1)) == (GROUP, SUPER, 1)
    await kept.put("telegram", '{"moved": []}')
    await other.load()
    assert other.home(SUPER) == SUPER
    assert "damaged" in caplog.text


async def test_messages_of_a_supergroup_have_links_and_of_what_was_a_group_only_those_since(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        await bot.answers(server.says(ANA, "1 @elefante_bot", chat_id=GROUP))
        url_of = bot.handler.notifier.platforms["telegram"].message_url
        group, other = ChatKey("telegram", str(GROUP)), ChatKey("telegram", "-1002003")
        assert [url_of(other, said) for said in ("5", "5.77", "5.s", "e5.9", "5.!88", "stop.1", "")] == [
            "https://t.me/c/2003/5", "https://t.me/c/2003/5", *[""] * 5
        ]  # fmt: skip
        assert (
            url_of(group, "5") == url_of(ChatKey("telegram", "7"), "5") == url_of(ChatKey("telegram", "x"), "5") == ""
        )
        server.grows_up(server.chats[GROUP], SUPER)
        await bot.answers(server.says(ANA, "2 @elefante_bot", chat_id=SUPER))
        assert [url_of(group, said) for said in ("5", "5.s", "5.77s")] == ["", *["https://t.me/c/1/5"] * 2]
