"""The programs of docs/history.md run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.history.window import LAST_MESSAGES, LAST_TOKENS, POLICIES, SUMMARY, HistoryLimits
from tests.architecture.pages import lines_of, programs, run
from tests.architecture.tree import ROOT

PAGE = (ROOT / "docs" / "history.md").read_text("utf-8")
CONVERSATION, STORE, CHAT = programs("history.md")


@pytest.mark.parametrize("program", [CONVERSATION, CHAT], ids=["conversation", "chat"])
def test_each_program_is_short(program: str) -> None:
    assert lines_of(program) <= 15


@pytest.mark.spec("L6", "L1")
def test_the_history_alone_shows_what_fits_and_goes_on_where_it_ended(tmp_path: Path) -> None:
    assert run(CONVERSATION, tmp_path) == [
        "1 user Olá, me chamo Edmar 15",
        "2 assistant Oi, Edmar! 5",
        "3 user Vou viajar em julho 15",
        "4 assistant Ótimo! 4",
        "5 user Como é meu nome? 15",
    ]
    assert [line.split()[0] for line in run(CONVERSATION, tmp_path)] == ["5", "6", "7", "8", "9", "10"]


@pytest.mark.spec("L3", "D8")
def test_a_store_of_three_verbs_takes_the_place_of_ours(tmp_path: Path) -> None:
    for count in (1, 2, 3, 1):  # the third run ends with a reset
        shown, *kept = run(STORE, tmp_path)
        assert (int(shown), len(kept)) == (count, count)
        assert all("Olá, me chamo Edmar" in line for line in kept)


@pytest.mark.long
@pytest.mark.spec("J6")
def test_the_bot_inside_a_program_answers_each_by_the_rights_that_the_program_granted(tmp_path: Path) -> None:
    owners, members, kept = (line.split(" | ") for line in run(CHAT, tmp_path))
    assert owners[0] != "Só o dono deste bot pode fazer isso."
    assert members[0] == "Só o dono deste bot pode fazer isso."
    assert kept[0] == "Guardei: “sala 12”"
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line[2]) for line in (owners, members, kept))
    assert run(SEARCH, tmp_path) == ["['sala 12']"]


SEARCH = """
import asyncio
from core import open_memory


async def main():
    async with open_memory("data/elefante.db") as memories:
        print([found.text for found in await memories.of("edmar").search("sala")])


asyncio.run(main())
"""


def test_the_page_names_every_policy_with_the_numbers_that_hold() -> None:
    limits = HistoryLimits()
    numbers = {
        SUMMARY: (limits.threshold_tokens, limits.window_messages, limits.window_cycles),
        LAST_MESSAGES: (limits.max_messages,),
        LAST_TOKENS: (limits.max_tokens,),
    }
    for name in POLICIES:
        [row] = re.findall(rf"^\| `{name}` .*", PAGE, re.MULTILINE)
        assert [int(number.replace(",", "")) for number in re.findall(r"` ([\d,]*\d)", row)] == list(numbers[name])
