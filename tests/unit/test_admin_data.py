"""/admin backup, export and forget, on a whole bot with its files."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from bot.archive import unpack
from bot.settings.settings import Settings
from bot.wiring import App, build, open_chatbot
from core.answering.chatbot import ChatBot
from core.features.access.storage import Person
from core.features.privacy.forget import FORGET
from core.outgoing import ChannelLimits
from core.types import ChatKey, Incoming, Role, UserKey
from tests.fakes.canaries import content
from tests.fakes.channel import FileChannel
from tests.fakes.export_file import ExportFile

OWNER, ADMIN, ANA = (UserKey("telegram", f"{n}110123456789") for n in (1, 2, 3))


class Office:
    def __init__(self, app: App, bot: ChatBot) -> None:
        self.app, self.bot = app, bot

    async def say(self, text: str, user: UserKey = OWNER) -> FileChannel:
        channel = FileChannel(self.app.clock, ChannelLimits(4096, 0.0))
        chat = ChatKey("telegram", f"chat-{user.user}")
        incoming = Incoming(chat, user, user.user[:1], uuid.uuid4().hex, text, datetime.now(UTC), language="en")
        await (await self.bot.receive(incoming, channel))
        return channel

    async def told(self, text: str, user: UserKey = OWNER) -> str:
        return "\n".join((await self.say(text, user)).texts)


@asynccontextmanager
async def office_in(folder: Path) -> AsyncIterator[Office]:
    async with build(Settings(data_dir=folder)) as app, open_chatbot(app) as bot:
        for user, role in ((OWNER, Role.OWNER), (ADMIN, Role.ADMIN), (ANA, Role.MEMBER)):
            await app.features.access.people.put(Person(user, role, "", app.clock.now()))
        office = Office(app, bot)
        await office.told("/remember the zqwifi password is zqabc123", ANA)
        yield office


def holding(folder: Path, needle: str) -> list[str]:
    return sorted(p.name for p in folder.rglob("*") if p.is_file() and needle.encode() in content(p))


async def test_an_owner_makes_a_backup_in_the_chat(tmp_path: Path) -> None:
    async with office_in(tmp_path) as office:
        told = await office.told("/admin backup")
        [name] = re.findall(r"`(backups/elefante-\S+\.zip)`", told)
        await asyncio.to_thread(unpack, tmp_path / name, tmp_path / "scratch")
        (tmp_path / "backups").rename(tmp_path / "elsewhere")
        (tmp_path / "backups").write_text("in the way")
        assert (await office.told("/admin backup")).startswith("No backup was made.")


async def test_an_owner_takes_out_what_is_kept_of_somebody_and_that_is_on_record(tmp_path: Path) -> None:
    async with office_in(tmp_path) as office:
        [(name, raw, _)] = (await office.say(f"/admin export {ANA}")).handed
        assert name.startswith("elefante-telegram-3110123456789-")
        assert "zqabc123" in ExportFile.model_validate(json.loads(raw)).memories[0].content
        assert "export of `3`: never → " in await office.told("/admin changes")
        assert await office.told("/admin undo") == "There is nothing to undo."


async def test_an_owner_has_somebody_forgotten_once_they_confirm_it_and_is_told_of_the_copies(tmp_path: Path) -> None:
    async with office_in(tmp_path) as office:
        await office.told("/admin backup")
        [copy] = [path.name for path in (tmp_path / "backups").iterdir()]
        assert "wrong or has expired" in await office.told("/admin forget confirm ABCD")
        asked = await office.say(f"/admin forget {ANA}")
        assert "memories (1)" in asked.texts[-1]
        assert holding(tmp_path, "zqabc123") != [copy]
        told = await office.told(asked.screen[-1].choices[0].command)
        assert told.startswith("Done: everything is forgotten.")
        assert f"backups/{copy}" in told
        for needle in ("zqabc123", "zqwifi", ANA.user):
            assert holding(tmp_path, needle) == [copy]
        changes = await office.told("/admin changes")
        assert "somebody was forgotten: never → " in changes
        assert ANA.user not in changes


async def test_whoever_is_forgotten_and_was_blocked_stays_blocked_and_that_is_said_before(tmp_path: Path) -> None:
    async with office_in(tmp_path) as office:
        await office.told(f"/admin block {ANA}")
        asked = await office.say(f"/admin forget {ANA}")
        assert asked.texts[-1].endswith("\nOnly the account's id stays, with its role here: blocked.")
        await office.told(asked.screen[-1].choices[0].command)
        person = await office.app.features.access.people.find(ANA)
        assert person is not None
        assert (person.role, person.name) == (Role.BLOCKED, "")
        assert (await office.say("let me in", ANA)).screen == []


async def test_a_member_who_forgets_everything_is_told_that_backups_stay(tmp_path: Path) -> None:
    async with office_in(tmp_path) as office:
        await office.told("/admin backup")
        [code] = re.findall(r"all ([A-Z]{4})", await office.told("/forget all", ANA))
        told = await office.told(f"/forget all {code}", ANA)
        assert told.endswith("One older backup still holds it; only the bot's owner can delete it.")


async def test_what_two_do_at_the_same_moment_is_on_record_twice(tmp_path: Path) -> None:
    async with office_in(tmp_path) as office:
        decisions, decider = office.app.features.stores.decisions, office.app.features.decider
        await decider.record(FORGET, OWNER)
        await decider.record(FORGET, ADMIN)
        assert [each.by for each in await decisions.newest(2)] == [ADMIN, OWNER]
