"""What /export hands over: all that is kept of a person, of nobody else, in the form that is documented."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from core.errors import ChannelGone, StorageError
from core.features.access.storage import Person
from core.features.ledger.calls import ModelCall
from core.features.reminders.reminders import Before, Kind, Reminder, ReminderState, Schedule
from core.features.transfer import export as takeout
from core.features.transfer.export import Takeout
from core.features.transfer.files import Spool
from core.outgoing import ChannelLimits
from core.storage.sqlite import open_database
from core.stores import ChangeContext
from core.threads import Summary
from core.types import ChatKey, MemoryDraft, MemoryKind, Message, MessageRole, Role, UserKey
from tests.fakes.channel import FileChannel, OneChannel
from tests.fakes.export_file import ExportFile
from tests.fakes.house import ANA, BIA, House

ROOT = Path(__file__).parents[2]


def channel(house: House) -> FileChannel:
    return FileChannel(house.clock, ChannelLimits(4096, 0.0))


async def ask(house: House, screen: FileChannel, *texts: str, user: UserKey = ANA) -> list[str]:
    async with house.chatbot() as bot:
        await bot.resume("test", OneChannel(screen))
        for number, text in enumerate(texts):
            asked = house.incoming(text, user=user, message_id=f"{user}{text}{number}{len(screen.log)}")
            await (await bot.receive(asked, screen))
    return screen.texts


async def exported(house: House, user: UserKey = ANA) -> Any:
    screen = channel(house)
    await ask(house, screen, "/export", user=user)
    return json.loads(screen.handed[0][1])


async def remind(house: House, user: UserKey = ANA, text: str = "pay rent", **changes: Any) -> Reminder:
    """Let the person have a reminder, with these differences."""
    due = house.clock.now() + timedelta(days=2)
    schedule = Schedule(due.replace(tzinfo=None), "UTC")
    new = Reminder(user, ChatKey("test", "c"), text, schedule, due, created_at=house.clock.now())
    made = await house.reminders.add(replace(new, **changes), most=99)
    assert made is not None
    return made


async def test_the_form_of_the_file_is_the_one_that_is_documented() -> None:
    documented = json.loads((ROOT / "docs" / "export.schema.json").read_text("utf-8"))
    assert documented == ExportFile.model_json_schema()


async def test_all_that_is_kept_is_in_the_file_and_it_is_valid(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db")
    house = House(
        database=database,
    )
    await house.people.put(Person(ANA, Role.MEMBER, "Ana", house.clock.now()))
    memory = house.memories.of(ANA, ChangeContext("act-1", "test:room"))
    [kept, gone] = await memory.add(
        [MemoryDraft(MemoryKind.TEXT, "abc123", ("wifi",)), MemoryDraft(MemoryKind.JSON, '{"a": 1}', ("data",))], {}
    )
    await house.memories.of(ANA, ChangeContext("act-2", "test:room")).update(kept.id, content="abc124", vectors={})
    await memory.flag(kept.id, pinned=True, shared=True)
    await house.memories.of(ANA, ChangeContext("act-3")).delete([gone.id])
    await ask(house, channel(house), "/language en", "hi", "/reset", "hi again")
    [_, first] = await house.history.threads(ANA)
    await house.history.fold(first.id, Summary("They said hi.", 1, at=house.clock.now(), model="m"))
    await house.history.append(first.id, Message(MessageRole.USER, "lone \udc80"))
    schedule = Schedule(datetime(2026, 4, 5, 9), "America/Sao_Paulo", "FREQ=MONTHLY;BYMONTHDAY=5", guessed=True)  # noqa: DTZ001 - wall
    now = house.clock.now()
    before = Before("pay", schedule, now, ReminderState.PAUSED)
    for state in ReminderState:
        await remind(house, text=state.value, state=state)
    rent = await remind(
        house, schedule=schedule, sent_at=now, changed_at=now, before=before, batch="b", kind=Kind.BRIEFING, due=None
    )
    for user in (ANA, BIA):
        await house.ledger.record(
            ModelCall(house.clock.now(), user, "chat", "finish", "a:b", "end", 0.5, cost_usd=0.25)
        )

    document = await exported(house)
    file = ExportFile.model_validate(document, strict=False)
    assert (file.user, [each.user for each in file.accounts]) == (str(ANA), [str(ANA)])
    assert (file.accounts[0].name, file.accounts[0].language) == ("Ana", "en")
    assert {each.text for each in file.reminders} == {*ReminderState, "pay rent"}
    [entry] = [each for each in file.reminders if each.id == rent.id]
    assert (entry.wall, entry.zone, entry.rule, entry.guessed) == (
        "2026-04-05T09:00:00", "America/Sao_Paulo", "FREQ=MONTHLY;BYMONTHDAY=5", True,
    )  # fmt: skip
    assert (entry.user, entry.chat, entry.due, entry.sent_at, entry.kind) == (str(ANA), "c", None, now, "briefing")
    assert entry.before is not None
    assert (entry.before.text, entry.before.due, entry.before.state) == ("pay", now, "paused")
    [item] = file.memories
    assert (item.content, item.bindings, item.pinned, item.shared) == ("abc124", ["wifi"], True, True)
    assert item.rooms == ["test:room"]
    assert item.versions[0].before is not None
    assert (item.versions[0].kind, item.versions[0].before.content) == ("updated", "abc123")
    assert {each.kind for each in file.deleted} == {"deleted", "saved"}
    assert [(each.day, each.calls, each.cost_usd) for each in file.usage] == [("2026-03-14", 1, 0.25)]
    said = [message.content for thread in file.threads for message in thread.messages if message.role == "user"]
    assert sorted(map(str, said)) == ["hi", "hi again", "lone \udc80"]
    assert [summary.text for thread in file.threads for summary in thread.summaries] == ["They said hi."]
    await database.close()


@pytest.mark.spec("T15")
async def test_nothing_of_anybody_else_is_in_the_file() -> None:
    house = House()
    for user, word in ((ANA, "zqana"), (BIA, "zqbia")):
        await house.memories.of(user).add([MemoryDraft(MemoryKind.TEXT, f"{word} memory", (word,))], {})
        await ask(house, channel(house), f"I am {word}", user=user)
        await remind(house, user, f"{word} reminder")
    text = json.dumps(await exported(house))
    assert "zqana" in text
    assert "zqbia" not in text
    assert str(BIA) not in text


async def test_what_is_kept_on_every_linked_account_is_in_the_file() -> None:
    house = House()
    await house.memories.of(BIA).add([MemoryDraft(MemoryKind.TEXT, "from bia", ("bia",))], {})
    await ask(house, channel(house), "hello from bia", user=BIA)
    await remind(house, BIA, "of bia")
    await remind(house, ANA, "of ana")
    await house.store.link(ANA, BIA)
    file = ExportFile.model_validate(await exported(house, BIA))
    assert [each.user for each in file.accounts] == [str(ANA), str(BIA)]
    assert [each.content for each in file.memories] == ["from bia"]
    assert [thread.user for thread in file.threads] == [str(BIA)]
    assert {(each.user, each.text) for each in file.reminders} == {(str(ANA), "of ana"), (str(BIA), "of bia")}


async def test_of_somebody_of_whom_nothing_is_kept_the_file_is_empty_and_valid() -> None:
    house = House()
    file = ExportFile.model_validate(await exported(house))
    assert (file.memories, file.deleted, file.usage) == ([], [], [])
    assert [thread.messages for thread in file.threads] == [[]]


async def test_reminders_that_are_still_to_come_are_handed_over_for_a_calendar_too() -> None:
    house, screen = House(), channel(House())
    await remind(house, text="done", state=ReminderState.DONE)
    await remind(house, text="hers", user=BIA)
    [told_first] = await ask(house, screen, "/export")
    assert told_first.endswith("Memories: 0, conversations: 1, messages: 0, reminders: 1.")
    assert [name for name, _, _ in screen.handed] == ["elefante-test-ana-20260314-150926.json"]
    await remind(house)
    await remind(house, text="plants", state=ReminderState.PAUSED)
    screen.handed.clear()
    told = await ask(house, screen, "/export")
    assert told[-2].endswith("reminders: 3.")
    assert told[-1] == "The 2 reminders that are still to come, for your calendar."
    [_, (name, raw, path)] = screen.handed
    assert name == "elefante-test-ana-20260314-150926.ics"
    assert raw.startswith(b"BEGIN:VCALENDAR\r\n")
    assert (b"pay rent" in raw, b"plants" in raw, b"hers" in raw, b"done" in raw) == (True, True, False, False)
    assert not path.parent.exists()
    screen.refuses_files = True
    [*_, told_last] = await ask(house, screen, "/export")
    assert told_last.startswith("The file (0.0 MB) could not be sent here."), "and that is said once"


async def test_a_file_that_the_platform_does_not_take_is_told_with_another_way() -> None:
    house, screen = House(), channel(House())
    screen.refuses_files = True
    told = await ask(house, screen, "/export")
    assert told[-1].startswith("The file (0.0 MB) could not be sent here.")
    assert "elefante export --user test:ana" in told[-1]
    screen.faults = [ChannelGone("blocked")]
    screen.refuses_files = False
    assert await ask(house, screen, "/export") == told, "nobody is there to be told anything"


async def test_a_file_that_cannot_be_delivered_on_a_platform_that_is_not_connected_is_an_error_like_any_other() -> None:
    house, screen = House(), channel(House())
    screen.refuses_files = True
    async with house.chatbot() as bot:
        await (await bot.receive(house.incoming("/export"), screen))
    assert not screen.handed


def test_a_file_is_named_by_whose_it_is_and_when_it_was_made() -> None:
    at = House().clock.now() + timedelta(hours=1)
    assert takeout.file_name(UserKey("discord", "../é:1"), at) == "elefante-discord------1-20260314-160926.json"


HANDING_OVER = """
import asyncio, sys
from pathlib import Path
from core.features.transfer.files import Spool

async def main():
    async with Spool(Path(sys.argv[1])).place("x.json") as path:
        path.write_text("{}")
        print("here", flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


def _hand_over_and_be_killed(folder: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HANDING_OVER, str(folder)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        Spool(folder).clear()
        assert list(folder.glob("handing-over-*/x.json")), "another process hands it over"
        process.kill()


async def test_a_file_is_handed_over_from_a_folder_of_its_owners_that_another_start_leaves_alone(
    tmp_path: Path,
) -> None:
    async with Spool(tmp_path).place("x.json") as path:
        path.write_text("{}")
        assert path.parent.parent == tmp_path
        assert path.parent.stat().st_mode & 0o077 == 0
        Spool(tmp_path).clear()
        assert path.exists()
    assert not path.parent.exists()
    with pytest.raises(StorageError, match="no file can be made"):
        async with Spool(tmp_path / "nowhere").place("x"):
            pass


def test_what_a_crash_left_to_be_handed_over_goes_at_the_next_start(tmp_path: Path) -> None:
    _hand_over_and_be_killed(tmp_path)
    assert list(tmp_path.glob("handing-over-*/x.json"))
    Spool(tmp_path).clear()
    assert list(tmp_path.iterdir()) == []


async def test_a_file_takes_nobodys_place_and_is_its_owners_only(tmp_path: Path) -> None:
    house = House()
    files = house.features().get(Takeout)
    await files.write(ANA, tmp_path / "x.json")
    assert (tmp_path / "x.json").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        await files.write(ANA, tmp_path / "x.json")
    with pytest.raises(StorageError, match="cannot be written"):
        await files.write(ANA, tmp_path / "nowhere" / "x.json")
    assert await files.write_calendar(ANA, tmp_path / "x.ics") == 0
    assert not (tmp_path / "x.ics").exists()
    await remind(house)
    assert await files.write_calendar(ANA, tmp_path / "x.ics") == 1
    assert (tmp_path / "x.ics").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        await files.write_calendar(ANA, tmp_path / "x.ics")


async def test_messages_of_a_long_conversation_are_all_there_and_in_order() -> None:
    house = House()
    conversation = await house.conversations.open(house.incoming("x").conversation)
    for number in range(450):
        await house.history.append(conversation.thread.id, Message(MessageRole.USER, f"m{number}"))
    file = ExportFile.model_validate(await exported(house))
    assert [message.content for message in file.threads[0].messages] == [f"m{n}" for n in range(450)]
