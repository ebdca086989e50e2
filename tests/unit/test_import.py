"""/import: what a file holds is shown, then saved as one act; what cannot be read changes nothing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any, Self

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.actions.memory_drafts import MAX_CONTENT_CHARS, to_bindings
from core.enclosures import Attachment, AttachmentKind
from core.errors import ChannelGone, InputError
from core.features.transfer import export, intake
from core.features.transfer.export import Takeout
from core.features.transfer.intake import read
from core.outgoing import ChannelLimits
from core.storage.sqlite import open_database
from core.text.unicode import clean
from core.types import MemoryDraft, MemoryItem, MemoryKind, UserKey
from tests.fakes.channel import FileChannel
from tests.fakes.house import ANA, BIA, House


def file_of(*memories: Any, **head: Any) -> bytes:
    return json.dumps(
        {"format": "elefante-export", "version": 1, "user": str(ANA), "memories": memories} | head
    ).encode()


FILE = Attachment(AttachmentKind.FILE, handle="f")


class Importer:
    """A person at a house, who sends files and presses what is below."""

    def __init__(self, house: House | None = None, user: UserKey = ANA) -> None:
        self.house = house or House()
        self.user = user
        self.screen = FileChannel(self.house.clock, ChannelLimits(4096, 0.0))
        self._sent = 0

    async def say(self, text: str, raw: bytes | None = None, *, private: bool = True) -> str:
        """Send it and return what was told."""
        self._sent += 1
        if raw is not None:
            self.screen.sent["f"] = raw
        said = self.house.incoming(text, user=self.user, message_id=f"{id(self)}{self._sent}")
        said = replace(said, attachments=(FILE,) if raw is not None else (), private=private)
        before = len(self.screen.texts)
        await (await self.bot.receive(said, self.screen))
        return "\n".join(self.screen.texts[before:])

    async def press(self, label: str) -> str:
        [choice] = [each for each in self.screen.screen[-1].choices if label in each.label]
        return await self.say(choice.command)

    async def memories(self) -> list[MemoryItem]:
        return list(await self.house.memories.of(self.user).page(limit=1000))

    async def __aenter__(self) -> Self:
        self.bot = await self.house.chatbot().__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.bot.__aexit__(None, None, None)


def same(item: MemoryItem) -> tuple[object, ...]:
    """All of a memory that an export takes along."""
    return (item.kind, item.content, item.bindings, item.pinned, item.shared, item.rooms)


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).filter(lambda text: text.strip())
drafts = st.builds(
    MemoryDraft,
    st.sampled_from([MemoryKind.TEXT]),
    texts,
    st.lists(texts, min_size=1, max_size=4).map(tuple),
) | st.builds(
    lambda value, bindings: MemoryDraft(MemoryKind.JSON, json.dumps({"v": value}), tuple(bindings)),
    texts | st.integers() | st.none(),
    st.lists(texts, min_size=1, max_size=4),
)


@given(st.lists(st.tuples(drafts, st.booleans(), st.booleans(), st.sampled_from(["", "test:room"])), max_size=6))
async def test_an_export_taken_in_again_gives_equal_memories(
    kept: list[tuple[MemoryDraft, bool, bool, str]],
) -> None:
    house = House()
    memory = house.memories.of(ANA)
    for draft, pinned, shared, room in kept:
        bindings = to_bindings(draft.bindings)  # as whatever saves makes them
        if not clean(draft.content) or not bindings:
            continue
        [item] = await memory.add([replace(draft, bindings=bindings)], {})
        await memory.flag(item.id, pinned=pinned, shared=shared)
        await house.store.flag(ANA, [item.id], room=room)
    before = {same(item) for item in await memory.page(limit=99)}
    raw = "".join([piece async for piece in house.features().get(Takeout).pieces(ANA, export.Tally())])
    async with Importer() as other:
        told = await other.say("/import", raw.encode())
        if before:
            await other.press("Save")
        else:
            assert "no memory or reminder in that file" in told
        assert {same(item) for item in await other.memories()} == before


@pytest.mark.long
async def test_a_large_file_is_one_act_too(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db")
    async with Importer(House(database=database)) as ana:
        await ana.say("/import", file_of(*(f"fact {number}" for number in range(2500))))
        assert (await ana.press("Save these 2500")).startswith("Saved 2500 new memories.")
        await ana.say("/undo")
        assert await ana.memories() == []
    assert await database.integrity() == []
    await database.close()


async def test_where_it_was_said_and_that_it_is_shared_is_believed_of_ones_own_export_only() -> None:
    entry = {"content": "c", "bindings": ["b"], "pinned": True, "shared": True, "rooms": ["test:room"]}
    for raw in (file_of(entry, user=str(BIA)), json.dumps([entry]).encode()):
        async with Importer() as ana:
            await ana.say("/import", raw)
            await ana.press("Save")
            [item] = await ana.memories()
            assert (item.pinned, item.shared, item.rooms) == (True, False, ())


async def test_a_code_says_yes_once_to_what_was_shown_and_to_nothing_else() -> None:
    async with Importer() as ana:
        [code] = re.findall(r"/import ([A-Z]{4})", await ana.say("/import", file_of("a")))
        assert "wrong or has expired" in await ana.say("/import ZZZZ")
        assert "wrong or has expired" in await ana.say(f"/import {code}"), "a wrong code uses it up"
        [code] = re.findall(r"/import ([A-Z]{4})", await ana.say("/import", file_of("a")))
        assert (await ana.say(f"/import {code.lower()}")).startswith("Saved 1 new memory.")
        assert "wrong or has expired" in await ana.say(f"/import {code}")


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"\xff\xfe not utf-8", "I do not understand that file: it is not text in UTF-8"),
        (file_of("a").decode().encode("utf-16"), "it is not text in UTF-8"),
        ("uma lista".encode("utf-16-le"), "it is not text in UTF-8"),
        ("café".encode("latin-1"), "it is not text in UTF-8"),
        (b"", "There is no memory or reminder in that file"),
        (b" \r\r\n\t", "There is no memory or reminder in that file"),
        (b'{"memories": 3}', "neither a text nor JSON with memories"),
        (b"<!DOCTYPE html><p>a", "neither a text nor JSON with memories"),
        (b'[{"content": ' + b"9" * 5000 + b"}]", "neither a text nor JSON with memories"),
        (b"[1, 2, 1e999, NaN]", "There is no memory or reminder in that file"),
        (b"[" * 100_000, "I do not understand that file: its JSON is nested too deeply"),
        (b'{"memories":' + b"[" * 9_000 + b"]" * 9_000 + b"}", "nested too deeply"),
        (b'[{"content": ' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}]", "nested too deeply"),
        (b'[{"content": "a"},\n{"content": }]', "neither a text nor JSON with memories"),
        (b'{"content": "a"}\n{"content": b}\n', "Line 2 of that file is not JSON"),
        (b"PK\x03\x04\x00", "neither a text nor JSON with memories"),
        (b"caf\xe9", "it is not text in UTF-8. Nothing was saved; store it as UTF-8"),
        (b"[]", "There is no memory or reminder in that file"),
        (b'[{"bindings": ["x"]}, null, 5]', "There is no memory or reminder in that file"),
        (file_of("a", version=2), "newer version of Elefante"),
        (file_of("a", version="x"), "newer version of Elefante"),
        (b"a fact\r" * (intake.MAX_MEMORIES + 1), "more than 20000 memories"),
        (b"[]," * 1_500_000, "more than 20000 memories"),
        (json.dumps(["a"] * (intake.MAX_MEMORIES + 1)).encode(), "more than 20000 memories"),
        (b" " * (intake.MAX_BYTES + 1), "too large: I read at most 5 MB"),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_what_cannot_be_read_is_told_and_changes_nothing(raw: bytes, told: str) -> None:
    async with Importer() as ana:
        assert told in await ana.say("/import", raw)
        assert not ana.screen.screen[-1].choices
        assert await ana.memories() == []


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["\ud800", 10**4000, "a" * 9999]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
_NAMES = (
    *("format", "version", "user", "memories", "accounts", "content", "memory", "text", "bindings", "type"),
    *("rooms", "pinned", "shared", "sources", "created_at", "versions"),
)


@given(st.dictionaries(st.sampled_from(_NAMES), _JSON, max_size=5), st.lists(st.tuples(st.sampled_from(_NAMES), _JSON)))
@settings(deadline=None, max_examples=60)
async def test_no_export_with_values_of_the_wrong_kind_fails_or_is_saved_by_half(
    head: dict[str, Any], changed: list[tuple[str, Any]]
) -> None:
    entry = {"type": "text", "content": "a fact", "bindings": ["fact"], "rooms": [], "pinned": False, "shared": False}
    raw = file_of(entry | dict(changed), "another", **head)
    async with Importer() as ana:
        said = await ana.say("/import", raw)
        assert "went wrong" not in said
        assert await ana.memories() == []
        if found := re.findall(r"/import ([A-Z]{4})", said):
            assert "went wrong" not in await ana.say(f"/import {found[0]}")
            assert len(await ana.memories()) == len(read(BytesIO(raw), [ANA]).taken)


async def test_a_file_that_is_gone_is_told_and_a_chat_that_is_gone_ends_the_turn() -> None:
    async with Importer() as ana:
        nowhere = replace(FILE, handle="nowhere")
        said = replace(ana.house.incoming("/import", message_id="x"), attachments=(nowhere,))
        await (await ana.bot.receive(said, ana.screen))
        assert "could not read that file" in ana.screen.texts[-1]

        async def gone(file: str, max_bytes: int) -> bytes:
            raise ChannelGone("blocked")

        count = len(ana.screen.texts)
        ana.screen.sent["f"] = b"[]"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(FileChannel, "fetch", lambda _, file, max_bytes: gone(file, max_bytes))
            await ana.say("/import", b"[]")
        assert len(ana.screen.texts) <= count + 1


async def test_without_a_file_it_is_said_how_and_with_memory_off_nothing_is_taken_in() -> None:
    async with Importer() as ana:
        assert "with the caption /import" in await ana.say("/import")
        assert "only show that in private" in await ana.say("/import", file_of("a"), private=False)
        await ana.say("/memory off")
        assert (await ana.say("/import", file_of("a"))).startswith("Memory is off")
        assert await ana.memories() == []


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'["a fact"]', [("a fact", ("a fact",))]),
        (b'[{"memory": "a", "bindings": ["x", 3, " "]}]', [("a", ("x",))]),
        (b'{"memories": [{"text": "t"}]}', [("t", ("t",))]),
        ('\ufeff["a",\r\n"b"]'.encode(), [("a", ("a",)), ("b", ("b",))]),
        (b'[{"content": {"a": 1}, "bindings": ["x"]}]', [('{"a": 1}', ("x",))]),
        (b'[{"content": "A", "bindings": ["x"]}, {"content": "a", "bindings": ["y"]}]', [("A", ("x", "y"))]),
        (json.dumps(["x" * (MAX_CONTENT_CHARS + 1), "y"]).encode(), [("y", ("y",))]),
    ],
    ids=range(7),
)
def test_simple_files_of_others_are_read(raw: bytes, expected: list[tuple[str, tuple[str, ...]]]) -> None:
    held = read(BytesIO(raw), [ANA])
    assert [(each.draft.content, each.draft.bindings) for each in held.taken] == expected


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
def test_no_bytes_whatsoever_break_the_reader(raw: bytes) -> None:
    try:
        held = read(BytesIO(raw), [ANA])
    except InputError:
        return
    assert all(each.draft.content and each.draft.bindings for each in held.taken)


async def test_a_file_has_nothing_that_is_known_heard_where_it_is_not_heard_now() -> None:
    entry = {"content": "known", "bindings": ["new phrase"], "pinned": True, "shared": True, "rooms": ["test:room"]}
    async with Importer() as ana:
        [item] = await ana.house.memories.of(ANA).add([MemoryDraft(MemoryKind.TEXT, "known", ("secret phrase",))], {})
        told = await ana.say("/import", file_of(entry, {**entry, "content": "unknown"}))
        assert "I may speak of 2 in rooms, as the file says, unless I know them already." in told
        await ana.press("Save")
        known, unknown = sorted(await ana.memories(), key=lambda each: each.content)
        assert (known.id, known.pinned, known.shared, known.rooms) == (item.id, True, False, ())
        assert (unknown.pinned, unknown.shared, unknown.rooms) == (True, True, ("test:room",))


async def test_what_a_file_says_twice_is_heard_only_where_both_are() -> None:
    one = {"content": "code abc", "bindings": ["secret phrase"], "rooms": []}
    other = {"content": "Code ABC", "bindings": ["spoken phrase"], "rooms": ["test:room"], "shared": True}
    async with Importer() as ana:
        await ana.say("/import", file_of(one, other))
        await ana.press("Save")
        [item] = await ana.memories()
        assert (item.bindings, item.shared, item.rooms) == (("secret phrase", "spoken phrase"), False, ())


async def test_the_times_of_a_memory_come_back_from_an_export_and_no_others() -> None:
    times = {"until": "2026-11-28T03:00:00+00:00", "meant": "2026-11-23"}
    [own] = read(BytesIO(file_of({"content": "a", "bindings": ["a"], **times})), [ANA]).taken
    assert (own.draft.until, own.draft.meant) == (datetime(2026, 11, 28, 3, tzinfo=UTC), "2026-11-23")
    for meant in ("tomorrow", "2026-W48-1", "2026-02-30", 5, None):
        [other] = read(BytesIO(file_of({"content": "a", "bindings": ["a"], "meant": meant})), [ANA]).taken
        assert other.draft.meant == ""
