"""Ties tests to the requirements of the specification: `make spec` prints which tests hold which.

An unknown id in a marker stops the collection. `--spec-table` runs nothing: it prints the table, and fails when a
requirement is held by no test of `make test` and is not excused in NOT_YET, or is excused and held.
"""

from __future__ import annotations

from collections import Counter

import pytest

SPEC = {
    # The thought cycle
    "T1": "A message has four fields: chat-history, modal, role, content; it is serialised with exactly these keys",
    "T2": "What the person writes enters as a user's text that is part of the history, and starts the cycle",
    "T3": "The cycle asks for the next action and runs it, until an action ends the cycle",
    "T4": "The decision shows that the bot is thinking, and asks the heaviest model for one action's name only",
    "T5": "A status line is replaced by the next message, whatever that is",
    "T6": "Actions stand in a table; any one is switched off and on alone, and is not offered while it is off",
    "T7": "Finish answers in a short streamed text outside the history, and ends the cycle",
    "T8": "Question asks for what is missing, in a streamed text of the history, and ends the cycle",
    "T9": "MemorySearch looks for a list of contexts by vector, shows each memory found, and tells what it found",
    "T10": "MemorySave stores drafts with one vector for each binding, and tells what it saved",
    "T11": "MemoryUpdate changes content, bindings or both of memories already recalled, vectors included",
    "T12": "MemoryDelete removes memories by their ids, with every vector, and only when clearly asked to",
    "T13": "A tool action has its place in the table and the cycle, and is not built",
    "T14": "Four modes of asking a model, each given its own provider and model by a setting",
    "T15": "One namespace for each person: nobody reads, changes, counts or deletes what is another's",
    # Conversation memory
    "J1": "A prompt holds the system text, the summary so far, the latest messages verbatim, and the current message",
    "J2": "The window of verbatim messages is two exchanges: four messages",
    "J3": "A new summary folds what left the window into the old one, by a model of its own, and keeps what matters",
    "J4": "It is made when more than four messages are held and they reach 3,500 tokens",
    "J5": "Summary, window and token counts are kept for each chat, and survive a restart",
    "J6": "A request, also over HTTP, needs message, chat and user; a reply has response, session and a time in UTC",
    "J7": "Verbosity and effort are settings of each mode; a temperature goes only to models that take one",
    "J8": "The summary is made in the background and delays no answer",
    "J9": "The log tells of message received, memory loaded, summary triggered, summary done, tokens used",
    # History within a token budget
    "H1": "Messages of four roles are counted, exactly where a tokenizer exists; each model has its own context limit",
    "H2": "A history takes messages and a system prompt, and gives a trimmed view and the budget that remains",
    "H3": "The system prompt and the last user message always stay; the rest goes, oldest first, until it fits",
    "H4": "When those two do not fit, there is a clear typed error and no endless loop",
    "H5": "Clearing keeps the system prompt; a second system prompt replaces the first",
    "H6": "Trimming is linear; sessions, persistence and measurements are there",
    # Threads and interactions
    "D1": "A thread has an id of a fixed alphabet, which a caller may give, times, a status and metadata",
    "D2": "An interaction has its place in the thread, role, content, time, duration, and what went wrong",
    "D3": "Wrong settings stop the start before any model is asked, naming the setting",
    "D4": "A turn is pending, validated, invoked, responded, completed, or ends in an error with a friendly text",
    "D5": "Input is trimmed and has a minimum length; what starts with a slash is a command",
    "D6": "/reset clears the conversation and marks its thread",
    "D7": "One line of the audit log for each turn; the words only where the operator asks for them",
    "D8": "Whether the memory is in RAM or on disk is a setting",
    # Chat memory as a component
    "L1": "History, all that was said, and memory, what a model is shown, are two things",
    "L2": "What leaves the memory is decided by a policy: last messages, last tokens, or a summary",
    "L3": "A store gets, updates and deletes the messages of a memory id; in RAM and in SQLite",
    "L4": "There is one system message: always kept; the same is ignored, another replaces it",
    "L5": "A tool's result leaves together with its request",
    "L6": "One memory for each person and conversation, usable without the bot",
}

NOT_YET: dict[str, str] = {}
"""Requirements that no test holds so far, each with the reason. An id here that has a test is an error too."""


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
