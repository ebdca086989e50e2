"""What Tab offers in the terminal."""

from __future__ import annotations

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from adapters.console.terminal import CommandCompleter
from tests.fakes.commands import menu


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("/forg", ["forget"]),
        ("/FORG", ["forget"]),
        ("/forget ", ["said", "all"]),
        ("/forget a", ["all"]),
        ("/forget all ", []),
        ("/help re", ["reminders"]),
        ("/memory o", ["off", "on", "offer"]),
        ("/admin l", ["logs"]),
        ("/admin access ", ["private", "members", "open"]),
        ("/admin role ", []),
        ("/q", ["quit"]),
        ("/zebra", []),
        ("", []),
        ("forg", []),
        ("remember /forg", []),
    ],
)
def test_what_may_come_next_is_offered_and_nothing_in_a_sentence(typed: str, offered: list[str]) -> None:
    completions = list(CommandCompleter(menu(), "/quit").get_completions(Document(typed), CompleteEvent()))
    assert [each.text.removeprefix("/") for each in completions] == offered
    last = typed.rpartition(" ")[2]
    assert {each.start_position for each in completions} <= {-len(last)}
