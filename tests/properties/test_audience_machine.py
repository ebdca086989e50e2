"""What was said stays where and with whom it was said, by a model that tells all it sees.

The whole core over SQLite. Every word of a memory is a token of its own; the machine knows who said each, and where,
and which were shared. After every step, no room has read a token that was said elsewhere, and no account holds, or was
told since the step before, one that neither it nor the account that it is linked to now has said.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from core.dialogue import Prompt, Task
from core.enclosures import Attachment, AttachmentKind
from core.features.transfer import export as takeout
from core.features.transfer.export import Takeout
from core.outgoing import ChannelLimits
from core.storage.history import SqlHistory
from core.storage.inbox import SqlPendingInputs
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.types import MemoryItem, UserKey
from tests.fakes.channel import FileChannel
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, BIA, House
from tests.profile import examples

T = TypeVar("T")
TOKEN = re.compile(r"tok\d+x")
FILE = Attachment(AttachmentKind.FILE, handle="f")
PRIVATE, ROOMS = "", ("kitchen", "garden")
PEOPLE = (ANA, BIA, UserKey("test", "caio"))
people = st.sampled_from(PEOPLE)
places = st.sampled_from((PRIVATE, *ROOMS))


class AudienceMachine(RuleBasedStateMachine):
    """Three accounts, of which any two may be linked, talk in private and in rooms that all are in."""

    @initialize()
    def open(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.database = self.run(open_database(Path(self.folder.name) / "elefante.db"))
        self.clock = FakeClock()
        self.answers: dict[Task, list[str]] = {}
        self.house = House(
            dict.fromkeys(Task, self.answer),
            clock=self.clock,
            store=SqlMemories(self.database),
            history=SqlHistory(self.database),
            pending_inputs=SqlPendingInputs(self.database),
        )
        self.bot = self.house.chatbot()
        self.run(self.bot.__aenter__())
        self.said: defaultdict[str, set[str]] = defaultdict(set)
        self.by: defaultdict[UserKey, set[str]] = defaultdict(set)
        self.told: list[tuple[UserKey, str]] = []
        self.shared: set[str] = set()
        self.numbers = 0
        self.read: list[tuple[str, str]] = []
        self.exports: list[bytes] = []

    def teardown(self) -> None:
        if hasattr(self, "database"):
            self.run(self.bot.__aexit__(None, None, None))
            self.run(self.house.memories.close())
            self.run(self.database.close())
            self.folder.cleanup()
            self.loop.close()

    def run(self, awaitable: Awaitable[T]) -> T:
        async def wait() -> T:
            return await awaitable

        return self.loop.run_until_complete(wait())

    def answer(self, prompt: Prompt) -> str:
        """Answer as the step says; for words of its own, tell everything that the prompt holds."""
        given = self.answers.get(prompt.context.task)
        if given:
            return given.pop(0) if len(given) > 1 else given[0]
        return f"I know: {' '.join(TOKEN.findall(repr(prompt)))}"

    def new(self) -> str:
        self.numbers += 1
        return f"tok{self.numbers}x"

    def say(
        self,
        user: UserKey,
        place: str,
        text: str,
        answers: dict[Task, list[str]] | None = None,
        raw: bytes = b"",
        *,
        replies_to: str = "",
    ) -> FileChannel:
        """Say it there, and note all that was read there, by people and by models."""
        self.numbers += 1
        self.answers = answers or {Task.DECIDE: ["Finish"]}
        for token in TOKEN.findall(text):
            self.said[token].add(place)
        self.by[user] |= {*TOKEN.findall(f"{text} {answers}"), *TOKEN.findall(raw.decode())}
        channel = FileChannel(self.clock, ChannelLimits(4096, 0.0), sent={"f": raw})
        incoming = self.house.incoming(text, user=user, message_id=f"{self.numbers}", chat=place or f"with {user.user}")
        incoming = replace(incoming, private=not place, attachments=(FILE,) if raw else (), replies_to=replies_to)
        before = len(self.house.model.prompts)

        async def said() -> None:
            await (await self.bot.receive(incoming, channel))
            await self.clock.advance(1.0)

        self.run(said())
        shown = [repr(seen.shown) for seen in channel.log]
        prompted = [repr(prompt) for prompt in self.house.model.prompts[before:]]
        tokens = [token for text in (*shown, *prompted) for token in TOKEN.findall(text)]
        self.read += [(place, token) for token in tokens]
        self.told = [(user, token) for token in tokens] if not place else []  # what rooms say, everybody there hears
        return channel

    def items(self, user: UserKey) -> list[MemoryItem]:
        return list(self.run(self.house.memories.of(user).page(limit=999)))

    def linked(self, user: UserKey) -> bool:
        return len(self.run(self.house.memories.accounts(user))) > 1

    def within_reach(self, user: UserKey) -> list[MemoryItem]:
        """Return what the account may change; of all others', too, where it has nothing of its own."""
        return self.items(user) or self.everything()

    def everything(self) -> list[MemoryItem]:
        return [item for user in PEOPLE for item in self.items(user)]

    @rule(user=people, place=places, data=st.data(), command=st.booleans(), again=st.booleans(), letters=st.booleans())
    def save(
        self, user: UserKey, place: str, data: st.DataObject, *, command: bool, again: bool, letters: bool
    ) -> None:
        """Have something saved: new, or what is known already to the letter, in other letters, by other phrases."""
        known = self.items(user)
        content, phrase = self.new(), self.new()
        if known and again:
            item = data.draw(st.sampled_from(known))
            content = item.content.replace("Code", "CODE") if letters else item.content
            phrase = item.bindings[0] if command else phrase
        elif letters:
            content = f"Code {content}"
        draft = {"type": "text", "content": content, "bindings": [phrase]}
        answers = {Task.DECIDE: ["MemorySave", "Finish"], Task.SAVE_DRAFTS: [json.dumps({"items": [draft]})]}
        self.say(user, place, f"{'/remember ' if command else ''}{content} as {phrase}", answers)

    @precondition(lambda self: self.everything())
    @rule(user=people, place=places, data=st.data(), content=st.booleans(), phrase=st.booleans())
    def update(self, user: UserKey, place: str, data: st.DataObject, *, content: bool, phrase: bool) -> None:
        """Change a memory that the model finds, or one that it names out of the blue."""
        item = data.draw(st.sampled_from(self.everything()))
        new = {
            "id": item.id,
            "type": "text",
            "content": self.new() if content else None,
            "bindings": [self.new()] if phrase else None,
        }
        answers = {
            Task.DECIDE: ["MemorySearch", "MemoryUpdate", "Finish"],
            Task.SEARCH_QUERIES: ['{"items": ["*"]}'],
            Task.UPDATE_DRAFTS: [json.dumps({"items": [new]})],
        }
        self.say(user, place, f"now {json.dumps(new)}", answers)

    @precondition(lambda self: self.everything())
    @rule(user=people, data=st.data(), form=st.booleans())
    def edit(self, user: UserKey, data: st.DataObject, *, form: bool) -> None:
        item = data.draw(st.sampled_from(self.within_reach(user)))
        if form:
            self.say(user, PRIVATE, f"/memories edit {item.id} {self.new()}")
        else:
            self.say(user, PRIVATE, f"/memories edit {item.id}")
            self.say(user, PRIVATE, self.new())

    @precondition(lambda self: self.everything())
    @rule(user=people, data=st.data(), share=st.booleans())
    def share(self, user: UserKey, data: st.DataObject, *, share: bool) -> None:
        item = data.draw(st.sampled_from(self.everything()))
        if share and item in self.items(user):
            self.shared |= set(TOKEN.findall(f"{item.content} {item.bindings}"))
        self.say(user, PRIVATE, f"/memory {'share' if share else 'unshare'} {item.id}")

    @rule(user=people, place=places)
    def undo(self, user: UserKey, place: str) -> None:
        self.say(user, place, "/undo")

    @precondition(lambda self: self.everything())
    @rule(user=people, place=places, data=st.data())
    def delete(self, user: UserKey, place: str, data: st.DataObject) -> None:
        item = data.draw(st.sampled_from(self.everything()))
        answers = {
            Task.DECIDE: ["MemorySearch", "MemoryDelete", "Finish"],
            Task.SEARCH_QUERIES: ['{"items": ["*"]}'],
            Task.DELETE_IDS: [json.dumps({"ids": [item.id]})],
        }
        self.say(user, place, "forget it", answers)

    @rule(user=people)
    def take_out(self, user: UserKey) -> None:
        async def whole() -> str:
            pieces = self.house.features().get(Takeout).pieces(user, takeout.Tally())
            return "".join([piece async for piece in pieces])

        self.exports.append(self.run(whole()).encode())

    @precondition(lambda self: self.exports)
    @rule(user=people, data=st.data())
    def bring_in(self, user: UserKey, data: st.DataObject) -> None:
        channel = self.say(user, PRIVATE, "/import", raw=data.draw(st.sampled_from(self.exports)))
        for choice in channel.screen[-1].choices:
            self.say(user, PRIVATE, choice.command)

    @precondition(lambda self: not any(map(self.linked, PEOPLE)))
    @rule(user=people, other=people)
    def link(self, user: UserKey, other: UserKey) -> None:
        if user != other:
            self.run(self.house.memories.link(user, other))

    @precondition(lambda self: self.everything())
    @rule(speakers=st.lists(people, min_size=1, max_size=3), data=st.data())
    def change_together(self, speakers: list[UserKey], data: st.DataObject) -> None:
        """Link the account of a memory, unless it is, and have either account say other words for it, or the same."""
        [holder, *_] = [user for user in PEOPLE if self.items(user)]
        if not any(map(self.linked, PEOPLE)):
            self.link(holder, data.draw(people.filter(lambda user: user != holder)))
        for speaker in speakers:
            items = self.items(speaker)
            item = data.draw(st.sampled_from(items)) if items else None
            if item is not None and data.draw(st.booleans()):
                self.say(speaker, PRIVATE, f"/memories edit {item.id} {self.new()}")
            elif item is not None:
                self.say(speaker, PRIVATE, f"/remember {item.content}")

    @precondition(lambda self: any(map(self.linked, PEOPLE)))
    @rule(user=people)
    def unlink(self, user: UserKey) -> None:
        accounts = self.run(self.house.memories.accounts(user))
        foreseen = {account: share.count for account, share in self.run(self.house.memories.shares(user)).items()}
        [notice] = [seen.text for seen in self.say(user, PRIVATE, "/unlink yes").screen]
        for account in accounts if len(accounts) > 1 else ():
            assert list(self.run(self.house.memories.accounts(account))) == [account]
            assert len(self.items(account)) == foreseen[account]
            assert f"{account}: {foreseen[account]} memor" in notice

    @rule(user=people, room=st.sampled_from(ROOMS), everything=st.booleans())
    def ask(self, user: UserKey, room: str, *, everything: bool) -> None:
        """Ask in a room for all that is known, or for words that were said anywhere, in letters that are no token's."""
        wanted = ["*"] if everything else [f"TOK{n}X" for n in range(max(self.numbers - 6, 1), self.numbers + 1)]
        answers = {Task.DECIDE: ["MemorySearch", "Finish"], Task.SEARCH_QUERIES: [json.dumps({"items": wanted})]}
        self.say(user, room, "what do you know?", answers)

    @rule(user=people, on=st.booleans())
    def show_steps(self, user: UserKey, *, on: bool) -> None:
        self.say(user, PRIVATE, f"/think {'on' if on else 'off'}")

    @rule(user=people, place=places, handle=st.sampled_from(("", "m1", "m2", "m9")), words=st.booleans())
    def ask_why(self, user: UserKey, place: str, handle: str, *, words: bool) -> None:
        """Ask what the last answer rests on, or one that may be another person's."""
        self.say(user, place, "how do you know that?" if words else "/why", replies_to=handle)

    @invariant()
    def no_room_has_read_what_was_not_said_there(self) -> None:
        for place, token in getattr(self, "read", ()):
            assert not place or place in self.said[token] or token in self.shared, (place, token)

    @invariant()
    def nobody_has_words_of_an_account_that_is_not_linked_to_theirs(self) -> None:
        if not hasattr(self, "database"):
            return
        memories = self.house.memories
        for user in PEOPLE:
            said = set().union(*(self.by[account] for account in self.run(memories.accounts(user))))
            memory, store = memories.of(self.run(memories.owner(user))), memories._store
            items = self.run(memory.page(limit=999))
            changes = self.run(store.changes(memory.owner))
            ids = {*(item.id for item in items), *(change.memory_id for change in changes)}
            held = [*items, *changes, *self.run(store.earlier(memory.owner, list(ids)))]
            assert set(TOKEN.findall(repr(held))) <= said, user
            assert {token for hearer, token in self.told if hearer == user} <= said, user
        self.told = []


AudienceMachine.TestCase.settings = settings(max_examples=examples(10), stateful_step_count=14, deadline=None)
TestAudienceMachine = pytest.mark.spec("T11", "T15")(AudienceMachine.TestCase)
