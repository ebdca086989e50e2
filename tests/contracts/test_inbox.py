"""Every inbox keeps what it accepted until it was answered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.enclosures import Attachment, AttachmentKind
from core.storage.in_memory_inbox import InMemoryInbox
from core.storage.inbox import SqliteInbox
from core.storage.sqlite import open_database
from core.stores import Inbox
from core.types import ChatKey, Incoming, UserKey
from tests.fakes.clock import START

PHOTO = Attachment(AttachmentKind.PHOTO)

ANA, BIA = UserKey("telegram", "ana"), UserKey("telegram", "bia")
FIRST = Incoming(ChatKey("telegram", "c", "topic"), ANA, "Ana", "1", "oi\ud800\x00", START, False, False, "pt-br")
SECOND = replace(FIRST, message_id="2", text="/import", pressed=True, attachments=(PHOTO,), file="document-1")


@pytest.fixture(params=["in_memory", "sqlite"])
async def inbox(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Inbox]:
    if request.param == "in_memory":
        yield InMemoryInbox()
        return
    database = await open_database(tmp_path / "elefante.db")
    yield SqliteInbox(database)
    await database.close()


async def test_what_was_accepted_is_owed_as_it_came_and_in_order(inbox: Inbox) -> None:
    assert await inbox.accept(FIRST)
    assert await inbox.accept(SECOND)
    assert list(await inbox.owed("telegram")) == [FIRST, SECOND]


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


async def test_what_is_owed_survives_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "elefante.db"
    database = await open_database(path)
    await SqliteInbox(database).accept(FIRST)
    await database.close()
    database = await open_database(path)
    assert list(await SqliteInbox(database).owed("telegram")) == [FIRST]
    await database.close()
