"""Ties tests to the requirements of the specification: `make spec` prints which tests hold which.

An unknown id in a marker stops the collection. `--spec-table` runs nothing: it prints the table, and fails when a
requirement is held by no test of `make test` and is not excused in `tests/spec_ids.py`, or is excused and held.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.spec_ids import NOT_YET, SPEC

_TESTS = pytest.StashKey[dict[str, Counter[str]]]()
_LONG = " (long)"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--spec-table", action="store_true", help="list every requirement of the specification with its tests"
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tests: dict[str, Counter[str]] = {spec_id: Counter() for spec_id in SPEC}
    for item in items:
        for spec_id in (spec_id for marker in item.iter_markers("spec") for spec_id in marker.args):
            if spec_id not in tests:
                raise pytest.UsageError(f"{item.nodeid}: the specification has no {spec_id!r}")
            name = item.nodeid.partition("[")[0]
            tests[spec_id][f"{name}{_LONG}" if item.get_closest_marker("long") else name] += 1
    config.stash[_TESTS] = tests
    if config.getoption("spec_table"):
        items.clear()


def faults(tests: dict[str, Counter[str]]) -> list[str]:
    """What is wrong with the table, in words."""
    bare = [
        f"{spec_id} has no test" + (" but long ones" if held else "")
        for spec_id, held in tests.items()
        if all(name.endswith(_LONG) for name in held) and spec_id not in NOT_YET
    ]
    stale = [f"{spec_id} has a test: take it out of NOT_YET" for spec_id in NOT_YET if tests[spec_id]]
    return bare + stale


def pytest_sessionfinish(session: pytest.Session) -> None:
    complete = session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED  # no file failed to load
    if session.config.getoption("spec_table") and complete:
        session.exitstatus = (
            pytest.ExitCode.TESTS_FAILED if faults(session.config.stash[_TESTS]) else pytest.ExitCode.OK
        )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.getoption("spec_table") or _TESTS not in config.stash:
        return
    tests = config.stash[_TESTS]
    for spec_id, title in SPEC.items():
        excuse = f" (not yet: {NOT_YET[spec_id]})" if spec_id in NOT_YET else ""
        terminalreporter.write_line(f"{spec_id:<4}{title}{excuse}", bold=True)
        for test, count in sorted(tests[spec_id].items()):
            terminalreporter.write_line(f"      {test}" + (f"  x{count}" if count > 1 else ""))
    held = sum(1 for names in tests.values() if names)
    terminalreporter.write_line(f"\n{held} of {len(SPEC)} requirements are held by a test.")
    for fault in faults(tests):
        terminalreporter.write_line(fault, red=True)
