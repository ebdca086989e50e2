"""Every inbox keeps what it accepted until it was answered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from core.enclosures import Attachment, AttachmentKind
from core.storage.inbox import SqlInbox
from core.storage.sqlite import open_database
from core.stores import LATEST, Backlog, Inbox, Replaced
from core.types import ANSWER_TO, ChatKey, Incoming, UserKey
from tests.contracts.engines import AND_POOLED, ENGINES
from tests.fakes.clock import START
from tests.profile import long

PHOTO = Attachment(AttachmentKind.PHOTO, "a.jpg", "image/jpeg", 3, "telegram:f", "", 2, 1, 0.5, "x")

ANA, BIA = UserKey("telegram", "ana"), UserKey("telegram", "bia")
FIRST = Incoming(ChatKey("telegram", "c", "topic"), ANA, "Ana", "1", "oi\ud800\x00", START, False, False, "pt-br")
SECOND = replace(
    FIRST,
    message_id="2",
    text="/import",
    pressed=True,
    attachments=(PHOTO,),
    group="album-1",
    is_cut=True,
    reply_token="{}",
    quoted_user="8",
    replies_to="10",
    written=True,
    handle="ana",
    groups=("55", "66"),
    withdrawn=True,
)

OLD_PAYLOAD = (
    '{"user_name":"Ana","text":"oi","at":"2026-03-14T15:09:26+00:00","addressed":true,"private":true,"language":""}'
)


@pytest.fixture(params=[*ENGINES, long("pgbouncer")])
async def inbox(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Inbox]:
    database = await AND_POOLED[request.param](tmp_path / "elefante.db")
    yield SqlInbox(database)
    await database.close()


async def test_the_backlog_counts_what_is_owed_on_each_platform_with_its_oldest_message(inbox: Inbox) -> None:
    assert await inbox.backlog() == {}
    late = replace(FIRST, message_id="3", at=START + timedelta(minutes=1))
    elsewhere = replace(late, chat=ChatKey("discord", "c"), user=UserKey("discord", "ana"))
    for incoming in (
        late,
        elsewhere,
        FIRST,
        replace(FIRST, message_id="1.1", edits="1", at=START + timedelta(minutes=2)),
    ):
        assert await inbox.accept(incoming)
    edited = START + timedelta(minutes=1)  # of the versions of a message only the last is owed
    assert await inbox.backlog() == {"telegram": Backlog(2, edited), "discord": Backlog(1, late.at)}
    await inbox.close(elsewhere)
    await inbox.close(late)
    assert await inbox.backlog() == {"telegram": Backlog(1, START + timedelta(minutes=2))}


async def test_what_was_accepted_is_owed_as_it_came_and_in_order(inbox: Inbox) -> None:
    assert await inbox.accept(FIRST)
    assert await inbox.accept(replace(SECOND, chat=replace(SECOND.chat, server="9")))
    owed = list(await inbox.owed("telegram"))
    assert owed == [FIRST, SECOND]
    assert [each.chat.server for each in owed] == ["", "9"]


async def test_a_known_message_is_refused_and_changes_nothing(inbox: Inbox) -> None:
    await inbox.accept(FIRST)
    assert not await inbox.accept(replace(FIRST, text="again"))
    assert list(await inbox.owed("telegram")) == [FIRST]


@pytest.mark.parametrize(
    "chat", [ChatKey("telegram", "c"), ChatKey("telegram", "other", "topic"), ChatKey("discord", "c", "topic")]
)
async def test_the_same_message_id_in_another_chat_is_another_message(inbox: Inbox, chat: ChatKey) -> None:
    await inbox.accept(FIRST)
    assert await inbox.accept(replace(FIRST, chat=chat))


async def test_what_was_closed_is_not_owed_and_still_known(inbox: Inbox) -> None:
    await inbox.accept(FIRST)
    await inbox.close(FIRST)
    await inbox.close(FIRST)
    assert list(await inbox.owed("telegram")) == []
    assert not await inbox.accept(FIRST)


async def test_closing_what_was_never_accepted_is_fine(inbox: Inbox) -> None:
    await inbox.close(FIRST)
    assert await inbox.accept(FIRST)


async def test_a_platform_is_told_only_what_it_owes(inbox: Inbox) -> None:
    other = replace(FIRST, chat=ChatKey("discord", "c"), user=UserKey("discord", "ana"))
    await inbox.accept(FIRST)
    await inbox.accept(other)
    assert list(await inbox.owed("discord")) == [other]


async def test_forgetting_a_person_removes_only_that_persons_rows(inbox: Inbox) -> None:
    of_bia = replace(SECOND, user=BIA)
    await inbox.accept(FIRST)
    await inbox.accept(of_bia)
    await inbox.forget(ANA)
    assert list(await inbox.owed("telegram")) == [of_bia]
    assert await inbox.accept(FIRST)


async def test_what_was_posted_is_kept_with_what_is_owed_and_goes_with_it(inbox: Inbox) -> None:
    await inbox.accept(FIRST)
    await inbox.accept(SECOND)
    assert list((await inbox.owed("telegram")).get(FIRST, ())) == []
    await inbox.put_posted(FIRST, [""])
    await inbox.put_posted(FIRST, ["17", "18", ""])
    assert list((await inbox.owed("telegram")).get(FIRST, ())) == ["17", "18", ""]
    assert list((await inbox.owed("telegram")).get(SECOND, ())) == []
    assert list(await inbox.owed("telegram")) == [FIRST, SECOND]
    await inbox.close(FIRST)
    await inbox.put_posted(FIRST, ["19"])
    assert list((await inbox.owed("telegram")).get(FIRST, ())) == []


async def test_forgetting_a_person_forgets_what_was_posted_for_them(inbox: Inbox) -> None:
    await inbox.accept(FIRST)
    await inbox.put_posted(FIRST, ["17"])
    await inbox.forget(ANA)
    await inbox.accept(FIRST)
    assert list((await inbox.owed("telegram")).get(FIRST, ())) == []


async def test_only_answered_messages_that_are_old_are_purged_and_no_more_than_asked_at_once(inbox: Inbox) -> None:
    old = [replace(FIRST, message_id=str(number), at=START - timedelta(hours=number)) for number in range(6)]
    for message in old:
        await inbox.accept(message)
    for message in old[:5]:
        await inbox.close(message)
    assert await inbox.purge(START - timedelta(hours=1), 2) == 2
    assert await inbox.purge(START - timedelta(hours=1), 2) == 1
    assert await inbox.purge(START - timedelta(hours=1), 2) == 0
    assert list(await inbox.owed("telegram")) == [old[5]]
    assert [await inbox.accept(message) is not None for message in old] == [False, False, True, True, True, False]


def edit(number: int, of: Incoming = FIRST, text: str = "better") -> Incoming:
    return replace(of, message_id=f"{of.original_id}.{number}", edits=of.original_id, text=text)


async def test_only_the_newest_version_of_a_message_is_owed_and_takes_over_what_is_posted(inbox: Inbox) -> None:
    await inbox.accept(FIRST)
    await inbox.put_posted(FIRST, ["17", ""])
    await inbox.accept(SECOND)
    assert await inbox.accept(edit(1))
    assert not await inbox.accept(edit(1))
    assert await inbox.accept(edit(2))
    assert list(await inbox.owed("telegram")) == [SECOND, edit(2)]
    for _ in range(2):  # as after a crash
        assert await inbox.take_over(edit(2)) == Replaced(("1", "1.1"), ("17", ""))
        assert dict(await inbox.owed("telegram")) == {SECOND: (), edit(2): ("17", "")}
    await inbox.put_posted(FIRST, ["18"])
    await inbox.close(FIRST)
    assert (await inbox.take_over(edit(2))).posted == ("17", "")
    await inbox.close(edit(2))
    assert list(await inbox.owed("telegram")) == [SECOND]
    assert await inbox.purge(START + timedelta(hours=1), 9) == 3, "with its earlier versions"


async def test_a_message_that_comes_after_its_edit_is_known(inbox: Inbox) -> None:
    assert await inbox.accept(edit(1))
    assert not await inbox.accept(FIRST)
    assert await inbox.take_over(edit(1)) == Replaced()
    await inbox.close(edit(1))
    assert not await inbox.accept(FIRST)
    assert await inbox.accept(replace(edit(1), chat=ChatKey("telegram", "other")))


async def test_an_answered_message_may_be_edited_while_it_is_among_the_latest_of_its_sender(inbox: Inbox) -> None:
    await inbox.accept(FIRST)
    await inbox.put_posted(FIRST, ["17"])
    await inbox.close(FIRST)
    for number in range(LATEST - 1):
        await inbox.accept(replace(FIRST, message_id=f"later {number}"))
        await inbox.accept(replace(FIRST, message_id=f"of bia {number}", user=BIA))
    assert await inbox.accept(edit(1))
    assert await inbox.take_over(edit(1)) == Replaced(("1",), ("17",), answered=True)
    assert await inbox.take_over(edit(1)) == Replaced(("1",), ("17",)), "it was taken over before"
    await inbox.close(edit(1))
    for number in range(LATEST):
        await inbox.accept(replace(FIRST, message_id=f"last {number}"))
    assert not await inbox.accept(edit(2))


async def test_a_sealed_message_is_not_edited_any_more(inbox: Inbox) -> None:
    await inbox.accept(FIRST)
    await inbox.put_posted(FIRST, ["17"])
    await inbox.seal(FIRST)
    assert list(await inbox.owed("telegram")) == [FIRST], "only an answered one can be sealed"
    await inbox.close(FIRST)
    await inbox.seal(FIRST)
    assert not await inbox.accept(edit(1))


async def test_what_was_erased_is_not_owed_and_takes_no_edit(inbox: Inbox) -> None:
    edit = replace(FIRST, message_id="1.1", edits="1", text="sim")
    assert await inbox.accept(FIRST)
    assert await inbox.accept(edit)
    await inbox.erase(edit)
    await inbox.finish_erasing()
    await inbox.erase(edit)
    assert await inbox.owed("telegram") == {}
    assert await inbox.accept(FIRST) is None
    assert await inbox.accept(replace(FIRST, message_id="1.2", edits="1", text="talvez")) is None
    await inbox.finish_erasing()


async def test_what_is_owed_survives_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "elefante.db"
    database = await open_database(path)
    await SqlInbox(database).accept(FIRST)
    await SqlInbox(database).put_posted(FIRST, ["17"])
    await database.close()
    database = await open_database(path)
    assert list(await SqlInbox(database).owed("telegram")) == [FIRST]
    assert list((await SqlInbox(database).owed("telegram"))[FIRST]) == ["17"]
    await database.close()


async def test_rows_are_found_for_purging_without_reading_those_that_stay(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db")
    plan = await database.rows(
        "EXPLAIN QUERY PLAN SELECT id FROM inbox WHERE payload IS NULL AND at < ? ORDER BY at LIMIT ?", (1, 1)
    )
    await database.close()
    assert ["inbox_closed (at<?)" in row[3] for row in plan] == [True]


async def test_a_post_names_the_message_that_it_answers_also_after_that_was_answered(inbox: Inbox) -> None:
    await inbox.accept(FIRST)
    await inbox.accept(SECOND)
    await inbox.put_posted(FIRST, ["10", "11"])
    await inbox.close(FIRST)
    platform = FIRST.chat.platform
    for handle in ("11", f"{ANSWER_TO}1"):
        assert await inbox.question(platform, "c", handle) == (FIRST.conversation, "1")
    for chat, handle in (("d", "11"), ("c", "1"), ("c", ""), ("c", "%"), ("c", ANSWER_TO), ("c", f"{ANSWER_TO}10")):
        assert await inbox.question(platform, chat, handle) is None
    assert await inbox.question("other", "c", "11") is None
    await inbox.forget(ANA)
    assert await inbox.question(platform, "c", "11") is None


async def test_what_was_collected_is_one_message_whose_parts_are_closed_for_good(inbox: Inbox) -> None:
    first, second, taken_back = (
        replace(FIRST, text=f"part {number}", message_id=f"{number}", group="album", attachments=(PHOTO,))
        for number in (1, 2, 3)
    )
    other = replace(FIRST, message_id="4")
    edit = replace(second, message_id="2.1", edits="2", text="PART 2")
    for each in (first, second, taken_back, other, edit):
        assert await inbox.accept(each) is not None
    parts = (first, edit, replace(taken_back, withdrawn=True))
    whole = replace(first, text="part 1\nPART 2", attachments=(PHOTO, PHOTO), parts=parts)
    await inbox.collect(whole)
    assert list(await inbox.owed("telegram")) == [whole, other]
    for part in ("2", "3"):
        assert await inbox.accept(replace(first, message_id=f"{part}.9", edits=part)) is None
        assert await inbox.accept(replace(first, message_id=part)) is None
    version = replace(whole, message_id="2.2", edits="1", text="part 1\npart two")
    assert await inbox.accept(version) is not None
    assert list(await inbox.owed("telegram")) == [other, version]
    replaced = await inbox.take_over(version)
    assert (replaced.message_ids, replaced.answered) == (("1",), False)
    await inbox.close(version)
    await inbox.seal(version)
    assert list(await inbox.owed("telegram")) == [other]
    assert await inbox.accept(replace(first, message_id="1.9", edits="1")) is None
