"""Whatever is done to memories, the bytes of all that they keep are there, and in the end no others."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from core.enclosures import Attachment, AttachmentKind
from core.types import MemoryItem, Passage, UserKey
from tests.contracts.engines import close_key_files, sealing_beside
from tests.fakes.cells import strange_cells
from tests.profile import examples
from tests.unit.test_files_kept import WORDS, Home

T = TypeVar("T")
OWNERS = (UserKey("telegram", "1"), UserKey("discord", "1"))
CONTENTS = tuple(bytes([n]) * n for n in range(1, 3))

owners = st.sampled_from(OWNERS)
contents = st.lists(st.sampled_from(CONTENTS), max_size=2).map(tuple)
words = st.sampled_from(("card", "lease"))


class FilesMachine(RuleBasedStateMachine):
    """Drives memories over a folder of files, and looks at the folder."""

    @initialize()
    def open(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.place = tempfile.TemporaryDirectory()
        self.home = self.made()
        self.acts = 0

    def made(self) -> Home:
        return Home(self.folder)

    @property
    def folder(self) -> Path:
        return Path(self.place.name) / "files"

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            self.run(self.home.memories.close())
            self.place.cleanup()
            self.loop.close()

    def run(self, awaitable: Awaitable[T]) -> T:
        async def wait() -> T:
            return await awaitable

        return self.loop.run_until_complete(wait())

    def act(self) -> str:
        self.acts += 1
        return str(self.acts)

    def owner(self, user: UserKey) -> UserKey:
        return self.run(self.home.memories.owner(user))

    def items(self, user: UserKey) -> list[MemoryItem]:
        return list(self.run(self.home.of(self.owner(user)).page(limit=99)))

    def things(self, user: UserKey, some: tuple[bytes, ...]) -> tuple[Attachment, ...]:
        """Put bytes, and return what names them."""
        digests = [self.run(self.home.files.put(self.owner(user), each)) for each in some]
        return tuple(Attachment(AttachmentKind.FILE, "x", sha256=each) for each in digests)

    @rule(user=owners, some=contents, said=words)
    def save(self, user: UserKey, some: tuple[bytes, ...], said: str) -> None:
        memory = self.home.of(self.owner(user), self.act())
        context = replace(memory.context, account=user)
        passages = (Passage(f"about {said}", 1),) if some else ()
        draft = replace(WORDS, content=said, bindings=(said,), attachments=self.things(user, some), passages=passages)
        self.run(replace(memory, context=context).add([draft], {}))

    @rule(user=owners, some=contents, said=st.none() | words, keeps_past=st.booleans(), data=st.data())
    def change(
        self, user: UserKey, some: tuple[bytes, ...], said: str | None, data: st.DataObject, *, keeps_past: bool
    ) -> None:
        if items := self.items(user):
            item, memory = data.draw(st.sampled_from(items)), self.home.of(self.owner(user), self.act())
            memory = replace(memory, context=replace(memory.context, account=user))
            things = data.draw(st.none() | st.just(self.things(user, some)))
            self.run(memory.update(item.id, content=said, attachments=things, vectors={}, keeps_past=keeps_past))

    @rule(user=owners, data=st.data())
    def delete(self, user: UserKey, data: st.DataObject) -> None:
        if items := self.items(user):
            item = data.draw(st.sampled_from(items))
            self.run(self.home.of(self.owner(user), self.act()).delete([item.id]))

    @rule(user=owners)
    def undo(self, user: UserKey) -> None:
        self.run(self.home.of(self.owner(user), self.act()).undo())

    @rule(user=owners, some=contents)
    def put_and_crash(self, user: UserKey, some: tuple[bytes, ...]) -> None:
        self.things(user, some)
        self.run(self.home.memories.close())
        self.home.memories = self.home.opened()
        self.run(self.home.memories.start())

    @rule(user=owners)
    def forget(self, user: UserKey) -> None:
        self.run(self.home.of(self.owner(user)).forget())

    @rule(user=owners, other=owners)
    def link(self, user: UserKey, other: UserKey) -> None:
        try:
            self.run(self.home.memories.link(user, other))
        except ValueError:
            assert user == other or any(len(self.run(self.home.memories.accounts(each))) > 1 for each in (user, other))

    @rule(user=owners, other=owners)
    def unlink(self, user: UserKey, other: UserKey) -> None:
        if user != other:
            self.run(self.home.memories.unlink(user, other))

    @rule(minutes=st.integers(1, 8))
    def wait(self, minutes: int) -> None:
        self.run(self.home.clock.advance(60 * minutes))

    @rule()
    def come_to_rest(self) -> None:
        """Let the time to undo pass: what is on the disk is what is named, to the last byte."""
        self.run(self.home.clock.advance(3600))
        self.run(self.home.memories.start())
        named = self.run(self.home.store.files_named())
        kept = {owner: self.run(self.home.files.digests(owner)) for owner in OWNERS}
        assert {owner: digests for owner, digests in kept.items() if digests} == named
        assert len(self.home.bytes_left()) == sum(map(len, named.values()))

    @invariant()
    def all_that_is_named_is_there(self) -> None:
        if hasattr(self, "home"):
            for owner, digests in self.run(self.home.store.files_named()).items():
                for sha256 in digests:
                    content = self.run(self.home.files.get(owner, sha256))
                    assert content is not None
                    assert hashlib.sha256(content).hexdigest() == sha256

    @invariant()
    def no_passage_is_left_alone(self) -> None:
        if hasattr(self, "home"):
            lonely = """
                SELECT (SELECT count(*) FROM memories AS p LEFT JOIN memories AS m ON m.id = p.part_of
                        WHERE p.part_of IS NOT NULL AND (m.id IS NULL OR m.key != p.current OR m.owner != p.owner
                        OR coalesce(m.account, 0) != coalesce(p.account, 0) OR m.enclosed = '')),
                    (SELECT count(*) FROM memories AS p WHERE p.part_of IS NOT NULL AND NOT EXISTS
                        (SELECT 1 FROM terms AS t WHERE t.memory = p.id AND t.account = coalesce(p.account, p.owner)))
            """
            assert self.run(self.home.store.database.rows(lonely)) == [(0, 0)]


class SealedFilesMachine(FilesMachine):
    """The same with a key of each person."""

    def made(self) -> Home:
        return Home(self.folder, sealing=sealing_beside(self.folder))

    def teardown(self) -> None:
        super().teardown()
        close_key_files()

    @invariant()
    def each_is_sealed_for_who_said_it(self) -> None:
        if hasattr(self, "home"):
            assert not self.run(strange_cells(self.home.store.database))


FilesMachine.TestCase.settings = settings(max_examples=examples(80), stateful_step_count=40, deadline=None)
TestFilesMachine = FilesMachine.TestCase

SealedFilesMachine.TestCase.settings = settings(max_examples=examples(20), stateful_step_count=40, deadline=None)
TestSealedFilesMachine = SealedFilesMachine.TestCase
