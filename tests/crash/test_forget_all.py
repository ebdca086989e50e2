"""/forget all, on a whole bot as it is run: what a person said stands nowhere in the data folder any more."""

from __future__ import annotations

import inspect
import logging
import re
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from adapters.console import terminal
from bot import logs
from bot.data_folder import ConsoleHistory
from bot.settings.settings import Settings
from bot.wiring import App, build, open_chatbot
from core.answering.chatbot import ChatBot
from core.errors import StorageError
from core.features.access.storage import Person
from core.features.admin.storage import DecisionKind
from core.features.ledger.calls import ModelCall
from core.features.ledger.storage import Ledger
from core.features.privacy.forget import Erasure
from core.features.reminders.reminders import Reminder
from core.features.reminders.service import ReminderPlace, Reminders
from core.outgoing import ChannelLimits
from core.times.reading import Once
from core.types import ChatKey, Incoming, Locale, Role, UserKey
from tests.fakes.channel import RecordingChannel

ANA, BIA = UserKey("telegram", "7770123456789"), UserKey("telegram", "8880123456789")
OWNER = UserKey("telegram", "1110123456789")
SAID = [
    "/remember the zqwifi password is zqabc123",
    "lembre que a senha do zqcofre é zq918273",
    "do you like zqmusic?",
    "/admin zqnothing",
    "/language en",
]


@asynccontextmanager
async def bot_in(folder: Path) -> AsyncIterator[tuple[App, ChatBot]]:
    root, handler = logging.getLogger(), logging.FileHandler(folder / "elefante.log")
    handler.setFormatter(logs.JsonLines())
    handler.setLevel(logging.INFO)
    root.addHandler(handler)
    try:
        async with build(Settings(data_dir=folder)) as app, open_chatbot(app) as bot:
            yield app, bot
    finally:
        root.removeHandler(handler)
        handler.close()


async def say(app: App, bot: ChatBot, user: UserKey, text: str, name: str) -> str:
    channel = RecordingChannel(app.clock, ChannelLimits(4096, 0.0))
    chat = ChatKey("telegram", f"chat-{user.user[0]}")
    incoming = Incoming(chat, user, name, uuid.uuid4().hex, text, datetime.now(UTC), language="en")
    await (await bot.receive(incoming, channel))
    return "\n".join(channel.texts)


def left(folder: Path, *needles: str) -> list[str]:
    raw = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    return [needle for needle in needles if needle.encode() in raw]


@pytest.mark.spec("T12", "T15")
async def test_no_byte_of_a_person_who_was_forgotten_is_left_while_the_bot_runs_nor_after_it(tmp_path: Path) -> None:
    async with bot_in(tmp_path) as (app, bot):
        people = app.features.access
        for user, role in ((OWNER, Role.OWNER), (ANA, Role.MEMBER), (BIA, Role.MEMBER)):
            await people.people.put(Person(user, role, "", app.clock.now()))
        await say(app, bot, OWNER, f"/admin deny {ANA.user}", "zzowner")
        await say(app, bot, OWNER, f"/admin allow {ANA.user}", "zzowner")
        for text in SAID:
            await say(app, bot, ANA, text, "zqname")
            await say(app, bot, BIA, text.replace("zq", "zw"), "zwname")
        for user, word in ((ANA, "zqrent"), (BIA, "zwrent")):
            place = ReminderPlace(user, ChatKey("telegram", "c"), private=True, locale=Locale.EN, name=f"{word}name")
            time = Once((app.clock.now() + timedelta(days=3)).astimezone(ZoneInfo("America/Sao_Paulo")))
            made = [await app.features.get(Reminders).set(place, f"{word} {number}", time) for number in range(2)]
            for each in made[1:]:
                assert isinstance(each, Reminder)
                await app.features.get(Reminders).reword(place, each.id, f"{word} three")
                await app.features.get(Reminders).remove(place, each.id)
        call = ModelCall(app.clock.now(), ANA, "chat", "finish", "limited:mind", "end", 0.1)
        await Ledger(app.database).record(call)
        mine = ["zqwifi", "zqabc123", "zqcofre", "zq918273", "zqmusic", "zqname", "zqrent", ANA.user]
        assert left(tmp_path, *mine) == mine, "there was something to forget"
        asked = await say(app, bot, ANA, "/forget all", "zqname")
        [code] = re.findall(r"all ([A-Z]{4})", asked)
        assert await say(app, bot, ANA, f"/forget all {code}", "zqname") == "Done: everything is forgotten."
        assert left(tmp_path, *mine) == []
        others = ["zwabc123", "zwname", "zw918273", "zwrent", BIA.user]
        assert left(tmp_path, *others) == others
        assert dict(await app.features.stores.decisions.values(DecisionKind.ROLE)) == {
            str(OWNER): "owner",
            str(BIA): "member",
        }
    assert left(tmp_path, *mine) == []


async def test_the_lines_typed_in_the_terminal_go_with_the_one_who_typed_them(tmp_path: Path) -> None:

    async with bot_in(tmp_path) as (app, _):
        typed = tmp_path / "console-history"
        assert f'"{typed.name}"' in inspect.getsource(terminal), "where the terminal's prompt keeps them"
        typed.write_text("+/remember zqsecret\n", "utf-8")
        await app.features.get(Erasure).forget(BIA)
        assert left(tmp_path, "zqsecret")
        await app.features.get(Erasure).forget(app.settings.console_owner)
        assert not left(tmp_path, "zqsecret")
        await app.features.get(Erasure).forget(app.settings.console_owner)


async def test_lines_that_cannot_be_removed_are_told(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    (tmp_path / "console-history").mkdir()
    with pytest.raises(StorageError, match="history cannot be removed"):
        await ConsoleHistory(settings).forget(settings.console_owner)
