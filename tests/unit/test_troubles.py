"""The last errors and warnings, of this process and from the log before it: what kind, never what was said."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.logs import LOG_FILE, JsonLines, RecentTroubles, configure
from core.features.admin.machine import Trouble

SECRET = "sk-SECRET"


@pytest.fixture
def troubles() -> Iterator[RecentTroubles]:
    """What hears everything that is logged."""
    kept, root = RecentTroubles([SECRET, ""]), logging.getLogger()
    root.addHandler(kept)
    yield kept
    root.removeHandler(kept)


def told(kept: RecentTroubles) -> list[tuple[str, str, str, int]]:
    return [(each.level, each.place, each.kind, each.count) for each in kept.newest(99)]


def fail(word: str) -> None:
    raise KeyError(word)


def logged(logger: str, word: str = "a word of Ana's") -> None:
    """Log what this program and its libraries log."""
    log = logging.getLogger(logger)
    log.info("nothing to see")
    log.warning("model busy", extra={"error": "ProviderBusy", "model": "x"})
    log.warning("no decision", extra={"error": f"it named {word}"})
    log.error("%s; asking %s\n%s", SECRET, "b", word)
    try:
        fail(word)
    except KeyError:
        log.exception("turn failed")


def test_what_is_alike_is_one_with_its_count_and_the_newest_stand_first(troubles: RecentTroubles) -> None:
    before = datetime.now(UTC) - timedelta(seconds=1)
    for _ in range(3):
        logged("core.answering.chatbot")
    kinds = told(troubles)
    assert kinds == [
        ("ERROR", "core.answering.chatbot test_troubles.py:33 fail", "turn failed (KeyError)", 3),
        ("ERROR", "core.answering.chatbot", "•••; asking b", 3),
        ("WARNING", "core.answering.chatbot", "no decision", 3),
        ("WARNING", "core.answering.chatbot", "model busy (ProviderBusy)", 3),
    ]
    assert len(troubles.newest(1)) == 1
    assert all(before < each.at <= datetime.now(UTC) for each in troubles.newest(9))
    assert troubles.errors_since(before) == 6
    assert troubles.errors_since(datetime.now(UTC) + timedelta(seconds=1)) == 0


def test_of_another_librarys_phrase_nothing_is_told_that_was_put_into_it(troubles: RecentTroubles) -> None:
    logged("telegram.ext")
    assert [kind for _, _, kind, _ in told(troubles)] == [
        "turn failed (KeyError)",
        "%s; asking %s",
        "no decision",
        "model busy",
    ]
    assert "Ana" not in str(told(troubles))


@pytest.mark.parametrize("logger", ["core.answering.chatbot", "telegram.ext"])
def test_after_a_restart_the_log_file_tells_the_same(tmp_path: Path, logger: str) -> None:
    now, root, begun = RecentTroubles([SECRET]), logging.getLogger(), datetime.now(UTC)
    others, level, root.handlers = root.handlers, root.level, []
    try:
        configure(tmp_path, "INFO", [SECRET])
        root.addHandler(now)
        for _ in range(2):
            logged(logger)
        root.handlers[0].close()
    finally:
        root.handlers = others
        root.setLevel(level)
    again = RecentTroubles([SECRET])
    again.read(tmp_path)
    assert told(again) == told(now)
    assert len(told(again)) == 4
    assert again.errors_since(datetime.now(UTC) - timedelta(minutes=1)) == 4
    rounding = timedelta(milliseconds=1)
    assert all(begun - rounding <= each.at <= datetime.now(UTC) for each in again.newest(9))


def test_lines_that_are_none_are_passed_over_and_only_the_end_of_a_long_file_is_read(tmp_path: Path) -> None:
    event = {"at": "2026-03-14T15:09:26.000+00:00", "level": "ERROR", "logger": "core.x", "event": "old"}
    lines = [json.dumps(event | {"event": f"old {'x' * 60_000}"}) for _ in range(9)]
    lines += ["{", "[]", '"x"', "1", '{"level": "ERROR"}', json.dumps(event | {"at": "never"}), ""]
    lines += [json.dumps(event | {"event": "new"}), json.dumps(event | {"level": "INFO"})]
    (tmp_path / LOG_FILE).write_text("\n".join(lines))
    kept = RecentTroubles()
    kept.read(tmp_path)
    newest, older = kept.newest(9)
    assert newest == Trouble(datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC), "ERROR", "core.x", "new")
    assert 1 <= older.count <= 4
    assert len(older.kind) == 120


def test_a_secret_is_struck_out_before_a_long_phrase_is_cut() -> None:
    kept = RecentTroubles([SECRET])
    kept.handle(logging.makeLogRecord({"msg": f"{'x' * 115}{SECRET}", "levelname": "ERROR", "name": "core.x"}))
    assert kept.newest(1)[0].kind == f"{'x' * 115}•••"


def test_a_phrase_that_cannot_be_filled_in_breaks_nobody() -> None:
    kept = RecentTroubles()
    for arguments in (("a", "b"), ("a",)):
        kept.handle(logging.makeLogRecord({"msg": "%d", "args": arguments, "levelname": "ERROR", "name": "core.x"}))
    assert told(kept) == [("ERROR", "core.x", "%d", 2)]


def test_without_a_log_there_is_nothing_to_tell(tmp_path: Path) -> None:
    kept = RecentTroubles()
    kept.read(tmp_path)
    assert kept.newest(9) == []


def test_it_keeps_so_many_kinds_and_no_more() -> None:
    kept = RecentTroubles()
    for number in range(300):
        kept.handle(logging.makeLogRecord({"msg": f"kind {number}", "levelname": "ERROR", "name": "core.x"}))
    kinds = kept.newest(999)
    assert (len(kinds), kinds[0].kind, kinds[-1].kind) == (200, "kind 299", "kind 100")
    assert kept.errors_since(datetime.now(UTC) - timedelta(minutes=1)) == 300


def test_a_line_of_the_log_tells_its_kind_where_values_were_put_in() -> None:
    lines = JsonLines()
    record = logging.LogRecord("core.x", logging.ERROR, "f.py", 1, "%s; asking", ("a",), None)
    assert json.loads(lines.format(record))["kind"] == "%s; asking"
    plain = logging.LogRecord("core.x", logging.ERROR, "f.py", 1, "as it is", (), None)
    assert "kind" not in json.loads(lines.format(plain))
