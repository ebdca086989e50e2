"""The laws of fitting a conversation into a number of tokens."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError, InputTooLong
from core.history.tokens import ByCharacters
from core.history.window import Budget, ChatHistory, fit, last_said
from core.types import Message, MessageRole, Modal, is_said_by_person

kinds = st.sampled_from(
    [
        (MessageRole.USER, Modal.TEXT, ""),
        (MessageRole.ASSISTANT, Modal.TEXT, ""),
        (MessageRole.SYSTEM, Modal.MEMORY, ""),
        (MessageRole.ASSISTANT, Modal.TEXT, "call"),
        (MessageRole.TOOL, Modal.TEXT, "call"),
    ]
)
talks = st.lists(st.tuples(kinds, st.integers(1, 200)), max_size=30).map(
    lambda drawn: [
        Message(role, f"m{at}", modal, pair=pair, tokens=tokens, sequence=at + 1)
        for at, ((role, modal, pair), tokens) in enumerate(drawn)
    ]
)
budgets = st.integers(200, 3_000)


def cost(messages: Sequence[Message]) -> int:
    return sum(message.tokens for message in messages)


@pytest.mark.spec("H3", "L2")
@given(talks, budgets)
def test_what_fits_is_never_over_the_budget_never_reordered_and_a_part_of_what_was_said(
    talk: list[Message], budget: int
) -> None:
    kept = fit(talk, budget)
    assert cost(kept) <= budget
    places = [message.sequence for message in kept]
    assert places == sorted(set(places))
    assert set(kept) <= set(talk)


@pytest.mark.spec("H3")
@given(talks, budgets)
def test_the_last_message_of_the_person_always_stays(talk: list[Message], budget: int) -> None:
    said = last_said(talk)
    if said is not None:
        assert talk[said] in fit(talk, budget)


@given(talks, budgets)
def test_fitting_twice_is_fitting_once(talk: list[Message], budget: int) -> None:
    once = fit(talk, budget)
    assert fit(once, budget) == once


@given(talks)
def test_what_fits_is_left_as_it_is_but_for_results_without_their_request(talk: list[Message]) -> None:
    kept = fit(talk, cost(talk))
    assert all(message in kept for message in talk if not message.pair)


@pytest.mark.spec("H3")
@given(talks, budgets)
def test_the_oldest_go_first(talk: list[Message], budget: int) -> None:
    kept = set(fit(talk, budget))
    free = [message for message in talk if not message.pair and not is_said_by_person(message)]
    gone = [message.sequence for message in free if message not in kept]
    stayed = [message.sequence for message in free if message in kept]
    assert not gone or not stayed or max(gone) < min(stayed)


@given(talks, budgets)
def test_the_beginning_never_goes_back_while_the_talk_grows(talk: list[Message], budget: int) -> None:
    plain = [message for message in talk if not message.pair]
    firsts = [fit(plain[:size], budget, is_steady=True)[0].sequence for size in range(1, len(plain) + 1)]
    grown = [first for first, message in zip(firsts, plain, strict=True) if is_said_by_person(message)]
    assert grown == sorted(grown)


@given(talks, budgets)
def test_no_more_is_left_out_than_is_worth_it(talk: list[Message], budget: int) -> None:
    plain = [message for message in talk if not message.pair]
    kept = fit(plain, budget, is_steady=True)
    if len(kept) < len(plain):
        most = max((message.tokens for message in plain), default=0)
        assert cost(kept) > min(256, budget - most) - most
        assert cost(kept) > 0.6 * (budget - most) - most


@pytest.mark.spec("H3", "L2")
@given(talks, budgets)
def test_only_what_must_be_is_left_out(talk: list[Message], budget: int) -> None:
    plain = [message for message in talk if not message.pair]
    kept = fit(plain, budget)
    left_out = [message for message in plain if message not in kept]
    assert not left_out or cost(kept) + left_out[-1].tokens > budget


@pytest.mark.spec("H6")
def test_what_is_trimmed_is_logged_and_nothing_is_where_all_fits(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "core.history")
    talk = [Message(MessageRole.USER, "a secret", tokens=10) for _ in range(5)]
    fit(talk, 50)
    assert not caplog.records
    fit(talk, 20)
    [line] = caplog.records
    assert (line.msg, vars(line)["dropped"], vars(line)["shown"]) == ("history trimmed", 3, 2)


@pytest.mark.spec("H2")
@pytest.mark.parametrize("missing", [None, Message(MessageRole.USER, None)])
def test_what_is_undefined_is_refused_and_what_is_empty_is_a_message(missing: Message | None) -> None:
    history = ChatHistory(50, ByCharacters())
    with pytest.raises(InputError, match="None"):
        history.add_message(missing)
    with pytest.raises(InputError, match="None"):
        history.add_system_prompt(None)
    assert history.get_trimmed_history() == ()
    history.add_message(Message(MessageRole.USER, ""))
    assert [message.text for message in history.get_trimmed_history()] == [""]


@pytest.mark.spec("L5")
@given(talks, budgets)
def test_a_tools_result_never_stays_without_its_request(talk: list[Message], budget: int) -> None:
    asked = False
    for message in fit(talk, budget):
        asked = asked or (bool(message.pair) and message.role is MessageRole.ASSISTANT)
        assert asked or not message.pair


@pytest.mark.spec("L5", "H1")
def test_a_tools_request_and_its_results_leave_together_and_another_tools_stay() -> None:
    asked, told, later = (
        Message(MessageRole.ASSISTANT, "weather?", pair="1", tokens=10),
        Message(MessageRole.TOOL, "rain", pair="1", tokens=10),
        [
            Message(MessageRole.ASSISTANT, "time?", pair="2", tokens=10),
            Message(MessageRole.TOOL, "noon", pair="2", tokens=10),
        ],
    )
    said = Message(MessageRole.USER, "and now?", tokens=10)
    assert fit([asked, told, *later, said], 50) == (asked, told, *later, said)
    assert fit([asked, told, *later, said], 40) == (*later, said)


@pytest.mark.spec("H4")
def test_a_last_message_that_alone_does_not_fit_says_how_long_it_may_be() -> None:
    with pytest.raises(InputTooLong) as caught:
        fit([Message(MessageRole.USER, "a" * 400, tokens=100)], 25)
    assert caught.value.max_chars == 100
    with pytest.raises(InputTooLong) as caught:
        fit([Message(MessageRole.USER, "a" * 400, tokens=100)], -5)
    assert caught.value.max_chars == 0


def test_the_parts_of_a_budget_leave_the_rest() -> None:
    assert Budget(100, system=10, summary=20, window=30, memories=5, answer=15).remaining == 20


@pytest.mark.spec("H5", "L4")
def test_a_history_has_one_system_prompt_first_and_always() -> None:
    history = ChatHistory(30, ByCharacters())
    history.add_message(Message(MessageRole.USER, "a" * 30))
    history.add_message(Message(MessageRole.SYSTEM, "be kind"))
    history.add_system_prompt("be brief")
    history.add_message(Message(MessageRole.ASSISTANT, "b" * 30))
    history.add_message(Message(MessageRole.USER, "c" * 30))
    kept = history.get_trimmed_history()
    assert [message.text[:8] for message in kept] == ["be brief", "b" * 8, "c" * 8]
    assert [message.tokens for message in kept] == [5, 10, 10]
    assert history.get_remaining_budget() == 5
    history.add_system_prompt("be brief")
    assert history.get_trimmed_history() == kept


@pytest.mark.spec("H2")
def test_the_five_verbs_of_document_3_with_messages_of_all_four_roles() -> None:
    history = ChatHistory(40, ByCharacters())
    history.add_system_prompt("s" * 30)
    assert history.get_remaining_budget() == 30
    talk = [
        Message(MessageRole.USER, "u" * 10),
        Message(MessageRole.ASSISTANT, "a" * 10, pair="1"),
        Message(MessageRole.TOOL, "t" * 10, pair="1"),
        Message(MessageRole.USER, "v" * 54),
    ]
    for message in talk:
        history.add_message(message)
    assert [message.text[0] for message in history.get_trimmed_history()] == ["s", "a", "t", "v"]
    assert history.get_remaining_budget() == 4
    history.add_message(Message(MessageRole.ASSISTANT, "b" * 30))
    assert [message.text[0] for message in history.get_trimmed_history()] == ["s", "v", "b"]
    assert history.get_remaining_budget() == 4
    history.clear_history()
    assert [message.text[0] for message in history.get_trimmed_history()] == ["s"]
    assert history.get_remaining_budget() == 30


@pytest.mark.spec("H5")
def test_clearing_keeps_the_system_prompt_until_it_is_taken_away() -> None:
    history = ChatHistory(30, ByCharacters())
    history.add_system_prompt("be brief")
    history.add_message(Message(MessageRole.USER, "oi"))
    history.clear_history()
    assert [message.text for message in history.get_trimmed_history()] == ["be brief"]
    history.add_system_prompt("")
    assert history.get_trimmed_history() == ()
    assert history.get_remaining_budget() == 30


@pytest.mark.spec("H4")
@pytest.mark.parametrize(("system", "said"), [("s" * 200, "oi"), ("s" * 20, "oi" * 60)])
def test_two_protected_messages_that_do_not_fit_are_a_typed_error(system: str, said: str) -> None:
    history = ChatHistory(30, ByCharacters())
    history.add_system_prompt(system)
    history.add_message(Message(MessageRole.USER, said))
    with pytest.raises(InputTooLong):
        history.get_trimmed_history()


@pytest.mark.spec("H6")
def test_trimming_takes_the_time_of_what_is_kept() -> None:
    messages = [Message(MessageRole.USER, "oi", tokens=5) for _ in range(100_000)]
    started = time.process_time()
    for _ in range(100):
        fit(messages, 100)
    assert time.process_time() - started < 1
