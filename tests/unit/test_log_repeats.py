"""A failure that comes again and again does not fill the log: it is a line every ten minutes, with a count."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.logs import LOG_FILE, RecentTroubles, configure
from tests.fakes.clock import FakeClock

_LOG = logging.getLogger("bot.looping")


@pytest.fixture
def lines(tmp_path: Path, clock: FakeClock) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """The log of a process whose clock a test moves, line by line."""
    made = logging.getLogRecordFactory()

    def at_our_time(*args: Any, **more: Any) -> logging.LogRecord:
        record = made(*args, **more)
        record.created = clock.now().timestamp()
        return record

    root = logging.getLogger()
    before = root.level, root.handlers[:]
    logging.setLogRecordFactory(at_our_time)
    configure(tmp_path, "INFO")
    yield lambda: [json.loads(line) for line in (tmp_path / LOG_FILE).read_text().splitlines()]
    configure(None, "INFO")
    logging.setLogRecordFactory(made)
    root.setLevel(before[0])
    root.handlers[:] = before[1]


def fail(token: str = "", wait_s: float = 0.5) -> None:
    try:
        int("x")
    except ValueError:
        _LOG.exception("%s ended", "discord", extra={"wait_s": wait_s, "token": token})


@pytest.mark.long
async def test_a_task_that_fails_each_second_for_an_hour_is_few_lines_and_their_counts_are_whole(
    lines: Callable[[], list[dict[str, Any]]], clock: FakeClock, tmp_path: Path
) -> None:
    for second in range(3600):
        fail(wait_s=second / 7)
        await clock.advance(1)
    configure(None, "INFO")  # the process ends
    written = lines()
    assert len(written) <= 12
    assert sum(line.get("repeated", 1) for line in written) == 3600
    assert {line["error"] for line in written} == {"ValueError"}
    troubles = RecentTroubles()
    troubles.read(tmp_path)
    assert troubles.newest(1)[0].count == 3600


async def test_what_differs_or_is_no_trouble_is_written_each_time(
    lines: Callable[[], list[dict[str, Any]]], clock: FakeClock
) -> None:
    for number in range(3):
        _LOG.info("turn", extra={"action": "Finish"})
        fail(str(number))
    assert [line["event"] for line in lines()] == ["turn", "discord ended"] * 3
