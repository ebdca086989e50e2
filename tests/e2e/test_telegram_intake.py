"""Nothing is lost on the way in, nothing is answered twice, nobody is met with silence. Real sockets."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from adapters.telegram.config import TelegramConfig
from bot.alarms import watching
from bot.platforms import PLATFORMS, Start
from bot.settings.settings import load
from bot.supervisor import Supervisor
from bot.wiring import build, open_chatbot
from core.delivery.view import View
from core.dialogue import Task
from core.errors import ConfigError
from core.features.admin.machine import Link
from core.types import ChatKey, Incoming, UserKey
from tests.e2e.telegram_kit import flow, idle, running, serving
from tests.fakes.clock import FakeClock
from tests.fakes.handler import slowly
from tests.fakes.house import House
from tests.fakes.http_server import Answer, LoopbackServer
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import HOOKED, POLLED, TAKEN, TOKEN, TelegramServer
from tests.fakes.telegram_wire import Refused
from tests.profile import long

ANA, BIA = Person(7), Person(8, "Bia")
GROUP = -1001


async def test_the_server_may_forget_an_update_only_after_it_was_taken(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        gate = asyncio.Event()
        receive = bot.handler.receive

        async def slow_disk(incoming: Incoming, channel: object) -> object:
            await gate.wait()
            return await receive(incoming, channel)  # type: ignore[arg-type]  # handed through

        bot.handler.receive = slow_disk  # type: ignore[method-assign, assignment]  # a fault set inside
        first = server.says(ANA, "um")
        server.says(ANA, "dois")
        await idle(server)
        assert server.offset <= server.updates[0]["update_id"]
        assert first["message_id"] == server.updates[0]["message"]["message_id"]
        gate.set()
        await flow(server, clock, lambda: server.offset and not server.updates)
    assert [incoming.text for incoming in bot.handler.received] == ["um", "dois"]


@pytest.mark.long
async def test_a_batch_of_a_hundred_is_taken_in_order_while_answers_run_side_by_side(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock, slowly(clock, "sim senhor", 5.0)) as bot:
        for number in range(100):
            server.says(Person(100 + number % 20), f"mensagem {number}")
        await flow(server, clock, lambda: len(bot.handler.received) == 100)
        assert clock.monotonic() < 5.0  # taking did not wait for answering
        await flow(server, clock, lambda: bot.handler.answered == 100)
    assert [incoming.text for incoming in bot.handler.received] == [f"mensagem {n}" for n in range(100)]


async def test_an_update_that_comes_twice_is_answered_once(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        message = server.says(ANA, "um")
        server.push({"message": message})
        server.updates.append(server.updates[-1])
        server.says(ANA, "dois")
        await flow(server, clock, lambda: bot.handler.answered == 2)
        await idle(server)
        assert server.chats[7].screen() == ["Você disse: um", "Você disse: dois"]


async def test_an_edited_message_is_answered_anew_if_its_text_changed_and_only_then(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        message = server.says(ANA, "a senha é 12")
        server.edits(message, "a senha é 12")  # a link preview, a reaction
        server.edits(message, "a senha é 123")
        server.edits(message, "a senha é 123")
        await flow(server, clock, lambda: bot.handler.answered == 2)
        await idle(server)
        assert server.chats[7].screen() == ["Você disse: a senha é 12", "Você disse: a senha é 123"]
    ids = [incoming.message_id for incoming in bot.handler.received]
    assert ids[1].startswith(f"{ids[0]}.")


@pytest.mark.parametrize(
    "content",
    [
        {"voice": {"file_id": "f", "file_unique_id": "u", "duration": 3}},
        {"photo": [{"file_id": "f", "file_unique_id": "u", "width": 1, "height": 1}]},
        {"sticker": {
            "file_id": "f", "file_unique_id": "u", "type": "regular", "width": 1, "height": 1, "is_animated": False,
            "is_video": False,
        }},
        {"hologram": {"depth": 3}},
    ],
)  # fmt: skip
async def test_media_without_words_is_a_message_without_words(clock: FakeClock, content: dict[str, Any]) -> None:
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        server.says(ANA, None, **content)
        server.says(ANA, None, chat_id=GROUP, **content)
        server.says(ANA, "oi")
        await flow(server, clock, lambda: bot.handler.answered == 2)
    assert [(incoming.text, bool(incoming.attachments)) for incoming in bot.handler.received] == [
        ("", True),
        ("oi", False),
    ]


async def test_each_part_of_an_album_is_taken_in_a_group_if_one_before_has_the_bots_name(clock: FakeClock) -> None:
    photo = [{"file_id": "f", "file_unique_id": "u", "width": 1, "height": 1}]
    called: dict[str, Any] = {
        "caption": "@elefante_bot guarda",
        "caption_entities": [{"type": "mention", "offset": 0, "length": 13}],
    }
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        server.says(ANA, None, photo=photo, media_group_id="theirs", chat_id=GROUP)
        server.says(ANA, None, photo=photo, media_group_id="told", chat_id=GROUP, **called)
        server.says(ANA, None, photo=photo, media_group_id="told", chat_id=GROUP)
        server.says(BIA, None, photo=photo, media_group_id="told", chat_id=GROUP)
        server.says(ANA, None, photo=photo, media_group_id="private", caption="e esta")
        server.says(ANA, None, photo=photo, media_group_id="private")
        await flow(server, clock, lambda: bot.handler.answered == 4)
    assert [(one.text, one.group, one.addressed) for one in bot.handler.received] == [
        ("guarda", "told", True),
        ("", "told", True),
        ("e esta", "private", True),
        ("", "private", True),
    ]


async def test_a_text_that_a_client_cut_goes_on_in_a_group_without_the_bots_name(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        for said in ("@elefante_bot " + "😀" * 1030, "😀" * 1030, "fim"):
            server.says(ANA, said, chat_id=GROUP)
        server.says(ANA, "outra coisa", chat_id=GROUP)
        await flow(server, clock, lambda: len(bot.handler.received) == 4)
    assert [(len(one.text), one.is_cut, one.addressed) for one in bot.handler.received] == [
        (1030, True, True),
        (1030, True, True),
        (3, False, True),
        (11, False, False),
    ]


async def test_a_message_older_than_the_owner_wants_answered_says_so(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        server.says(ANA, "de ontem", age_s=6 * 3600 + 1)
        server.says(ANA, "de hoje", age_s=6 * 3600 - 1)
        await flow(server, clock, lambda: bot.handler.answered == 2)
    assert [incoming.stale for incoming in bot.handler.received] == [True, False]


async def test_service_messages_and_pictures_among_people_are_nobodys_question(clock: FakeClock) -> None:
    photo = [{"file_id": "f", "file_unique_id": "u", "width": 1, "height": 1}]
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        server.says(ANA, None, message_auto_delete_timer_changed={"message_auto_delete_time": 86400})
        server.says(ANA, None, chat_id=GROUP, photo=photo)
        server.says(ANA, "oi")
        await flow(server, clock, lambda: bot.handler.answered == 1)
        assert server.chats[7].screen() == ["Você disse: oi"]
        assert not server.chats[GROUP].screen()


async def test_messages_from_a_long_absence_get_one_honest_line_a_chat(clock: FakeClock) -> None:
    house = House(
        {Task.DECIDE: ["Finish"], Task.FINISH: lambda prompt: f"Você disse: {prompt.context.message}"},
        clock=clock,
        trusted=("telegram",),
    )
    async with TelegramServer(clock) as server, house.chatbot() as handler, serving(server, clock, handler):
        for text in ("um", "dois", "três"):
            server.says(ANA, text, age_s=7 * 3600)
        server.says(Person(8, "Joe", "en"), "one", age_s=7 * 3600)
        server.says(ANA, "quatro", age_s=60)
        await flow(server, clock, lambda: len(server.chats[7].screen()) == len(server.chats[8].screen()) + 1 == 2)
        away, answer = sorted(server.chats[7].screen())
        assert "fora do ar" in away
        assert answer == "Você disse: quatro"
        assert "I was offline" in server.chats[8].screen()[0]


async def test_an_update_the_library_cannot_read_does_not_hold_up_the_others(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        server.push({"message": {"message_id": "?", "text": "segredo"}})
        await bot.answers(server.says(ANA, "oi"))
    assert "an update was left out" in caplog.text
    assert "segredo" not in caplog.text


@pytest.mark.parametrize(
    ("refusal", "between", "remedy"),
    [long(POLLED, False, "another program asks"), (POLLED, True, "another program asks"),
     long(HOOKED, False, "webhook"), long(TAKEN, False, "webhook")],
)  # fmt: skip
async def test_another_program_in_the_way_is_told_after_a_minute_and_once_it_has_been_gone_for_one(
    refusal: str, between: bool, remedy: str
) -> None:
    clock = FakeClock()
    written = {"telegram_token": TOKEN, "language": "en", "storage_url": "memory:", "model": "limited"}
    lines: list[str] = []
    hook = LoopbackServer([Answer()])

    async def until(condition: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not condition():
                await idle(server)
                await clock.advance(1.0)

    async with TelegramServer(clock) as server, hook.running():
        settings = load(None, **written, telegram_api_base_url=server.url, alert_url=hook.url)
        async with build(settings, clock=clock) as app, watching(app), open_chatbot(app) as bot:
            await app.features.access.own(UserKey("telegram", str(ANA.id)), "Ana")
            start, screen = Start(app, bot, asyncio.Event(), lines.append), server.chat(ANA.id).screen
            running = asyncio.create_task(Supervisor(start, {"telegram": PLATFORMS["telegram"]}).run())
            await until(lambda: clock.monotonic() > 100)  # no worker before this one can still ask
            asked = 0

            def stolen(method: str, _: object) -> None:
                nonlocal asked
                asked += method == "getupdates"
                if method == "getupdates" and not (between and asked % 3 == 0):
                    raise Refused(409, refusal)
                if method == "getupdates":
                    server.push({"message": None})  # this one was quicker than the other program

            began_s = clock.monotonic()
            server.faults.append(stolen)
            server.says(ANA, "hello")
            await until(lambda: "another program" in app.features.platforms.all["telegram"].reason)
            await until(app.features.alerts.open_now)
            assert clock.monotonic() - began_s >= 60
            await until(lambda: "⚠" in "".join(screen()))
            await until(lambda: clock.monotonic() > began_s + 600)
            [told] = [text for text in screen() if "⚠" in text]
            assert all(words in told for words in (remedy, "Stop that program", "@BotFather"))
            [key] = app.features.alerts.open_now()
            assert sum("Stop that program" in line for line in lines) == 1
            await until(lambda: hook.bodies)

            server.faults.clear()
            freed_s = clock.monotonic()
            server.push({"message": None})
            await until(lambda: clock.monotonic() > freed_s + 61)
            assert list(app.features.alerts.open_now()) == [key]  # one answer proves nothing
            server.push({"message": None})
            await until(lambda: "messages reach me again" in "".join(screen()))
            assert (app.features.platforms.all["telegram"].link, app.features.alerts.open_now()) == (Link.CONNECTED, {})
            await until(lambda: len(hook.bodies) == 2)
            assert ["Stop that program" in body["text"] for body in hook.bodies] == [True, False]
            start.stop.set()
            await until(running.done)
            await running


async def test_a_webhook_that_another_program_set_once_is_deleted_and_nobody_is_alarmed(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        await idle(server)
        server.hook({"url": "https://elsewhere.example/"})
        await bot.answers(server.says(ANA, "oi"))
        assert not server.webhook


async def test_a_network_that_comes_and_goes_costs_time_and_no_message(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server:
        outage = {"on": True}

        def down(_: str, __: object) -> None:
            if outage["on"]:
                raise Refused(502, "Bad Gateway")

        server.faults.append(down)
        async with running(server, clock) as bot:
            await flow(server, clock, lambda: len(server.calls) == 4)  # 1 s, 2 s, 4 s
            assert clock.monotonic() == pytest.approx(7.0)
            outage["on"] = False
            await bot.answers(server.says(ANA, "oi"))
            outage["on"] = True
            server.says(ANA, "e agora?")
            await flow(
                server,
                clock,
                lambda: [call for call in server.calls if call.method == "sendmessage" and call.code == 502],
            )
            outage["on"] = False
            await flow(server, clock, lambda: bot.handler.answered == 2)
            assert server.chats[7].screen() == ["Você disse: oi", "↻ Você disse: e agora?"]  # who knows what a 502 did


@pytest.mark.parametrize("when", ["at the start", "in flight"])
async def test_a_token_that_does_not_count_stops_the_run_and_names_the_setting(
    when: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock = FakeClock()
    caplog.set_level(logging.DEBUG)
    async with TelegramServer(clock) as server:
        if when == "at the start":
            server.token = "999:another"
        async with running(server, clock) as bot:
            if when == "in flight":
                await bot.answers(server.says(ANA, "oi"))
                server.token = "999:another"
                server.says(ANA, "e agora?")
                await flow(server, clock, bot.task.done)
            with pytest.raises(ConfigError, match=r"^TELEGRAM_TOKEN: ") as caught:
                await bot.task
    assert TOKEN not in repr(caught.value)
    assert caught.value.__cause__ is None
    told = [record for record in caplog.records if record.name.split(".")[0] not in {"aiohttp", "asyncio"}]
    assert not [record for record in told if TOKEN in record.getMessage() or "agora" in record.getMessage()]


async def test_what_was_owed_at_the_last_stop_is_answered_where_it_was_asked(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server:
        asked = server.says(ANA, "qual é a senha?", chat_id=GROUP, thread=11)
        owed = Incoming(
            ChatKey("telegram", str(GROUP), "11"), UserKey("telegram", "7"), "Ana", f"{asked['message_id']}.1001",
            "qual é a senha?", clock.now(), private=False,
        )  # fmt: skip
        server.updates.clear()
        async with running(server, clock, owed=[owed]) as bot:
            await flow(server, clock, lambda: bot.handler.answered == 1)
            [sent] = server.done("sendmessage")
            assert sent.params["message_thread_id"] == 11
            assert sent.params["reply_parameters"]["message_id"] == asked["message_id"]
            assert server.chats[GROUP].screen() == ["↻ Você disse: qual é a senha?"]  # it may have been answered


async def test_a_graceful_stop_lets_open_answers_end_and_acknowledges_what_was_taken(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock, slowly(clock, "um dois três", 2.0)) as bot:
        server.says(ANA, "conte")
        await flow(server, clock, lambda: server.done("sendmessage"))
        bot.stop.set()
        await flow(server, clock, bot.task.done)
        assert server.chats[7].screen() == ["um dois três"]
        assert not server.updates
        server.says(ANA, "tarde demais")
        await idle(server)
        assert len(bot.handler.received) == 1


async def test_a_graceful_stop_is_bounded(clock: FakeClock) -> None:
    async def forever(_: Incoming, view: View) -> None:
        await view.status("IA está pensando...")
        await asyncio.Event().wait()

    config = replace(TelegramConfig(TOKEN), drain_s=20.0)
    async with TelegramServer(clock) as server, running(server, clock, forever, config) as bot:
        server.says(ANA, "conte")
        await flow(server, clock, lambda: server.done("sendmessage"))
        bot.stop.set()
        stopped_s = clock.monotonic()
        await flow(server, clock, bot.task.done)
        assert clock.monotonic() == pytest.approx(stopped_s + 20.0)


async def test_a_stop_while_nobody_answers_ends_at_once(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server:
        server.faults.append(lambda _, __: (_ for _ in ()).throw(Refused(502, "Bad Gateway")))
        async with running(server, clock) as bot:
            await idle(server)
            bot.stop.set()
            await asyncio.wait_for(bot.task, 60)
