"""What people bring: lists, Markdown, CSV, JSON, and what ChatGPT, Claude and mem0 export, each word for word."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.features.privacy.forget import Erasure
from core.features.reminders.scheduler import Scheduler
from core.features.transfer.entries import moment
from core.features.transfer.foreign import from_text
from core.features.transfer.intake import (
    BAD_FILE,
    NOTHING_KNOWN,
    TOO_DEEP,
    TOO_MUCH_INSIDE,
    Intake,
    Refused,
    read,
)
from core.storage.sqlite import open_database
from core.types import Locale, Localized, MemoryDraft, MemoryKind
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, House
from tests.unit.test_import import Importer

FILES = Path(__file__).parents[1] / "data" / "imports"
Row = tuple[str, tuple[str, ...], str]


def held(name: str) -> Intake:
    return read(io.BytesIO((FILES / name).read_bytes()), [ANA], name=name)


def rows(intake: Intake) -> list[Row]:
    """Content, the phrases but for its own beginning, and the day."""
    drafts = [each.draft for each in intake.taken]
    return [(each.content, each.bindings[:-1], f"{each.said_at:%Y-%m-%d}" if each.said_at else "") for each in drafts]


def archive(members: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "list.txt",
            [
                ("My shoe size is 38", (), ""),
                ("The locker at the gym is number 214", (), ""),
                ("Paulo is allergic to peanuts", (), ""),
                ("The wifi password is tromba-77", (), ""),
            ],
        ),
        (
            "notes.md",
            [
                ("I was born in Recife and\nmoved to Lisbon in 2019.", ("About me",), ""),
                ("My sister Júlia lives in Porto\n  - she has two cats", ("Family", "About me"), ""),
                ("My brother's birthday is 3 May", ("Family", "About me"), ""),
                ("I work at the bakery Aurora.", ("Work", "Family", "About me"), ""),
                ("black tea", ("Things I like", "Work", "Family", "About me"), ""),
                ("walking by the river", ("Things I like", "Work", "Family", "About me"), ""),
                ("A paragraph of its own.", ("Work", "Family", "About me"), ""),
            ],
        ),
        (
            "memories.csv",
            [
                ("I park on level 3; near the lift", (), "2025-04-01"),
                ("My bank is Banco Azul", (), "2025-04-02"),
                ("Without a date", (), ""),
            ],
        ),
        ("lines.jsonl", [("The alarm code is 4711", (), "2025-01-02"), ("My doctor is Dr. Lima", (), "")]),
        ("chatgpt_conversations.json", [("User is allergic to prawns.", (), "2025-01-01")]),
        (
            "claude_memories.json",
            [
                ("Alex bakes bread at a small bakery in Porto.", ("Work context",), ""),
                ("Alex keeps bees.", ("Personal context",), ""),
                ("Prefers metric units", ("Personal context",), ""),
                ("Reads on the train", ("Personal context",), ""),
                ("Plan the garden behind the house.", ("Purpose",), ""),
            ],
        ),
        (
            "claude_memory_files.json",
            [
                ("[stated] Prefers short answers", ("Habits", "short answers"), "2026-09-11"),
                ("[inferred] Works in UTC+1", ("Habits", "short answers"), "2026-09-11"),
            ],
        ),
        (
            "mem0.json",
            [
                ("Likes to play cricket on weekends", (), "2024-07-26"),
                ("Is planning a trip to Chile", (), "2024-07-27"),
            ],
        ),
        (
            "mem0_list.json",
            [
                ("Likes to play cricket on weekends", (), "2024-07-26"),
                ("Is planning a trip to Chile", (), "2024-07-27"),
            ],
        ),
        ("openmemory.json", [("Speaks Portuguese at home", (), "2025-02-03")]),
        (
            "chatgpt_list.txt",
            [
                ("[2025-05-02]. The user likes ice cream.", (), "2025-05-02"),
                ("[2025-06-11]. The user has a dog called Bolota.", (), "2025-06-11"),
                ("The user prefers short answers.", (), ""),
            ],
        ),
        (
            "prompted.md",
            [
                ("[2025-03-01] - Prefers metric units", ("Preferences",), "2025-03-01"),
                ("[unknown] - Likes cats", ("Preferences",), ""),
            ],
        ),
    ],
)
def test_each_form_is_read_word_for_word(name: str, expected: list[Row]) -> None:
    assert rows(held(name)) == expected


def test_of_conversations_only_what_was_noted_is_taken() -> None:
    assert held("chatgpt_conversations.json").of_talk
    nothing = held("claude_conversations.json")
    assert (nothing.of_talk, nothing.taken) == (True, ())


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"conversations.json": "chatgpt_conversations.json", "chat.html": "list.txt"}, 1),
        ({"x/conversations-000.json": "chatgpt_conversations.json", "x/conversations-001.json": "mem0.json"}, 3),
        ({"memories.json": "claude_memories.json", "conversations.json": "claude_conversations.json"}, 5),
        ({"memories/00000000.json": "claude_memory_files.json"}, 2),
        ({"memories.json": "openmemory.json", "memories.jsonl.gz": "list.txt"}, 1),
    ],
)
def test_archives_are_read_as_they_come(members: dict[str, str], expected: int) -> None:
    raw = archive({name: (FILES / file).read_bytes() for name, file in members.items()})
    assert len(read(io.BytesIO(raw), [ANA]).taken) == expected


def test_beside_a_file_of_memories_no_conversation_is_opened() -> None:
    members = {"conversations.json": b" " * 26_000_000, "memories.json": (FILES / "claude_memories.json").read_bytes()}
    intake = read(io.BytesIO(archive(members)), [ANA])
    assert (len(intake.taken), intake.of_talk) == (5, False)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (archive({"photo.jpg": b"x"}), NOTHING_KNOWN),
        (archive({"memories.json": b" " * 30_000_000}), TOO_MUCH_INSIDE),
        (archive({f"memories/{n}.json": b" " * 3_000_000 + b"[]" for n in range(9)}), TOO_MUCH_INSIDE),
        (archive({"memories.json": b"[]"}, zipfile.ZIP_LZMA), BAD_FILE),
        (archive({"memories.json": b"[]"})[:-30], BAD_FILE),
        (archive({"memories.json": b"[]" * 9}).replace(b"\x08\x00", b"\x08\x01"), BAD_FILE),
        (archive({"memories.json": b"no json"}), BAD_FILE),
        (archive({"memories.json": b"[" * 90_000}), TOO_DEEP),
        (b"PK\x03\x04 and no archive", BAD_FILE),
    ],
    ids=range(9),
)
def test_a_hostile_archive_is_refused_whole(raw: bytes, why: Localized) -> None:
    with pytest.raises(Refused) as refused:
        read(io.BytesIO(raw), [ANA])
    assert refused.value.told[Locale.EN] == why[Locale.EN].format(megabytes=25)


def test_a_text_is_a_list_of_notes_whatever_marks_them_and_a_sentence_is_one_note() -> None:
    key = "The key of the summer house is under the third\nflower pot, left of the door."
    for raw, expected in (
        ("- [ ] pay the rent\n- [x] call mum", ["pay the rent", "call mum"]),
        ("[ ] pay the rent\n[x] call mum\n☐ buy milk", ["pay the rent", "call mum", "buy milk"]),
        ("1. leite\n2) pão\n• chá\n– suco", ["leite", "pão", "chá", "suco"]),
        (f"{key}\nThe alarm is off.\n", [key, "The alarm is off."]),
        ("milk\nbread\n", ["milk", "bread"]),
    ):
        assert [each.draft.content for each in read(io.BytesIO(raw.encode()), [ANA]).taken] == expected


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("x.csv", b"name,age\nAna,30"),
        ("x.csv", b'"' + b"x" * 200_000),
        ("x.json", b"a line"),
        ("x.jsonl", b"a line"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused(name: str, raw: bytes) -> None:
    with pytest.raises(Refused):
        read(io.BytesIO(raw), [ANA], name=name)


def test_of_entries_one_a_line_the_wrong_line_is_named() -> None:
    with pytest.raises(Refused, match="Line 3 of that file is not JSON"):
        read(io.BytesIO(b'{"memory": "a"}\n\n{"memory": b}\n'), [ANA], name="x.jsonl")


_WRONG: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "mapping message recipient author role content parts create_time conversations_memory project_memories "
                "memory_files path updated_at results memories chat_messages".split()
            ),
            inner | st.sampled_from(["bio", "assistant", "- a\n- b", 1e300, -5]),
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(_WRONG)
def test_no_document_of_a_wrong_shape_breaks_a_reader(document: Any) -> None:
    try:
        intake = read(io.BytesIO(json.dumps(document).encode()), [ANA])
    except Refused:
        return
    assert all(each.draft.content and each.draft.bindings for each in intake.taken)


@given(st.text(st.sampled_from("#*-_`:[]. \t\n1a"), max_size=80), st.booleans())
def test_a_note_is_words_of_the_text_as_they_stand_there(text: str, is_markdown: bool) -> None:
    rest = "".join(text.split())
    for note in from_text(text, is_markdown=is_markdown):
        said = "".join(note.draft.content.split())
        assert said
        assert said in rest, "in order, and none made up"
        rest = rest[rest.index(said) + len(said) :]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2025-01-02", "2025-01-02T00:00:00+00:00"),
        ("2025-01-02T03:00:00-03:00", "2025-01-02T06:00:00+00:00"),
        (86400.5, "1970-01-02T00:00:00.500000+00:00"),
        ("", None),
        ("soon", None),
        ("0001-01-01", None),
        ("9999-12-31T23:59-23:59", None),
        (1e300, None),
        (float("nan"), None),
        (-1, None),
        (True, None),
        ([], None),
    ],
)
def test_a_time_of_any_kind_is_read_or_left_out(value: Any, expected: str | None) -> None:
    found = moment(value)
    assert (found and found.isoformat()) == expected


def test_of_a_memory_that_stands_twice_the_first_day_counts() -> None:
    raw = b'[{"memory": "a", "created_at": "2025-02-01"}, "a", {"memory": "A", "created_at": "2025-01-01"}]'
    [taken] = read(io.BytesIO(raw), [ANA]).taken
    assert taken.draft.said_at == datetime(2025, 1, 1, tzinfo=UTC)


def test_more_than_may_be_saved_is_refused_before_all_of_it_is_read() -> None:
    with pytest.raises(Refused, match="more than 20000"):
        read(io.BytesIO(b"- a\n" * 1_000_000), [ANA])


# --- in the chat ---


async def test_the_first_five_are_shown_word_for_word_and_the_day_is_kept() -> None:
    async with Importer() as ana:
        await ana.house.memories.of(ANA).add([MemoryDraft(MemoryKind.TEXT, "black tea", ("tea",))], {})
        told = await ana.say("/import", json.dumps([{"content": ""}, 7, "a fact"]).encode())
        assert told.startswith("The file holds 1 memory.\n2 are left out")
        told = await ana.say("/import", (FILES / "notes.md").read_bytes())
        assert told.startswith("The file holds 7 memories.\n1 I know already.\n- ")
        assert told.count("\n- “") + told.count("\n- `") + told.count("\n- \n```") == 5
        assert "“My brother's birthday is 3 May”" in told
        assert "walking by the river" not in told
        assert [choice.label for choice in ana.screen.screen[-1].choices] == ["📥 Save these 7", "✖ Cancel"]
        assert len(await ana.memories()) == 1
        assert (await ana.press("Save")).startswith("Saved 6 new memories.\n1 I know already.")
        await ana.press("Undo")
        assert [item.content for item in await ana.memories()] == ["black tea"]

        await ana.say("/import", (FILES / "mem0.json").read_bytes())
        await ana.press("Save")
        cricket = next(item for item in await ana.memories() if "cricket" in item.content)
        assert cricket.created_at == datetime(2024, 7, 26, 17, 29, 36, 630547, UTC)


async def test_a_day_to_come_is_not_believed() -> None:
    async with Importer() as ana:
        await ana.say("/import", b'[{"memory": "a", "created_at": "2999-01-01"}]')
        await ana.press("Save")
        [item] = await ana.memories()
        assert item.created_at <= ana.house.clock.now()


async def test_cancel_lets_go_of_the_file() -> None:
    async with Importer() as ana:
        await ana.say("/import", b"a fact")
        save = ana.screen.screen[-1].choices[0].command
        assert await ana.press("Cancel") == "All right: nothing was saved, and I kept nothing of the file."
        assert await ana.house.confirmations.find(ana.house.incoming("x").conversation) is None
        assert "wrong or has expired" in await ana.say(save)
        assert await ana.memories() == []


@pytest.mark.spec("T15")
async def test_a_file_outlives_a_restart_but_neither_ten_minutes_nor_forget(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db")
    house = House(database=database)
    kept = "SELECT count(*) FROM confirmations WHERE data LIKE '%zebra77%'"
    async with Importer(house) as ana:
        await ana.say("/import", b"the safe opens with zebra77")
        save = ana.screen.screen[-1].choices[0].command
    async with Importer(house) as ana:  # another process, the same disk
        assert (await ana.say(save)).startswith("Saved 1 new memory.")
        assert await database.rows(kept) == [(0,)]

        await ana.say("/import", b"the safe opens with zebra77")
        save = ana.screen.screen[-1].choices[0].command
        assert isinstance(house.clock, FakeClock)
        house.clock.jump(timedelta(minutes=11))
        assert await database.rows(kept) == [(1,)]
        await house.features().get(Scheduler)._purge()
        assert await database.rows(kept) == [(0,)]
        assert "wrong or has expired" in await ana.say(save)

        await ana.say("/import", b"the safe opens with zebra77")
        await house.features().get(Erasure).forget(ANA)
        assert await database.rows(kept) == [(0,)]
    await database.close()


async def test_conversations_are_left_out_and_that_is_said() -> None:
    async with Importer() as ana:
        noted = (FILES / "chatgpt_conversations.json").read_bytes()
        assert "I leave conversations out" in await ana.say("/import", noted)
        assert "nothing that was noted" in await ana.say("/import", (FILES / "claude_conversations.json").read_bytes())
        assert "I know none of the files in that archive" in await ana.say("/import", archive({"a.docx": b"x"}))
        assert "I unpack at most 25 MB" in await ana.say("/import", archive({"memories.json": b" " * 26_000_000}))
