"""Limited mode in whole conversations with people, judged by what a careful secretary would have done.

`python -m bench limited --show` prints the steps that are not right.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.limited import REPORT, TUNE, Judged, counts, measure
from tests.fakes.secretary import Asked, Happened, Said, Wants, answer, conversations, holds
from tests.fakes.verdicts import CATEGORIES, Outcome, category, judge

GOOD = {"keep": 82, "find": 65, "change": 23, "remove": 17, "decline": 42}
"""How many steps of the report set are at least right or asked, by category."""

HARMFUL = {"keep": 0, "find": 9, "change": 1, "remove": 1, "decline": 1}
"""How many are at most harmful."""

MAX_ASKED = 15

OLD, NEW = "flight on 3 May, 6:40, ref QX7", "flight on 3 May, 8:05, ref QX7"
CHANGE = Wants("change", after=("8:05",), gone=("6:40",), stays=("QX7",))
REMOVE = Wants("remove", gone=("6:40",), stays=("wifi",))


@pytest.mark.long
async def test_it_does_as_a_careful_secretary_would() -> None:
    judged = await measure(conversations(REPORT))
    good = {name: [each for each in _of(judged, name) if each.verdict.outcome in _GOOD] for name in CATEGORIES}
    harm = {
        name: [each for each in _of(judged, name) if each.verdict.outcome is Outcome.HARMFUL] for name in CATEGORIES
    }
    assert {name: len(found) for name, found in harm.items() if len(found) > HARMFUL[name]} == {}, _told(harm)
    assert {name: len(found) for name, found in good.items() if len(found) < GOOD[name]} == {}
    assert counts(judged)[Outcome.ASKED] <= MAX_ASKED


_GOOD = {Outcome.RIGHT, Outcome.ASKED}


def _of(judged: list[Judged], name: str) -> list[Judged]:
    return [each for each in judged if category(each.kind) == name]


def _told(found: dict[str, list[Judged]]) -> list[str]:
    return [f"{one.happened.said.text!r}: {one.verdict.why}" for each in found.values() for one in each]


@pytest.mark.parametrize("path", [TUNE])
def test_what_is_wanted_can_be_known(path: Path) -> None:
    """What is to be kept is in the message, and what is to be found, changed or removed was said before."""
    wrong: list[str] = []
    for conversation in conversations(path):
        said = ""
        for step in conversation.steps:
            wants, told = step.wants, f"{conversation.name}: {step.text}"
            new = wants.after if wants.kind == "change" else wants.words if wants.kind in {"keep", "add"} else ()
            known = wants.words if wants.kind in {"find", "list"} else ()
            wrong += [f"{told}: {each} is not in it" for each in new if each not in step.text]
            old = (*known, *wants.unwanted, *wants.gone, *wants.stays, *wants.back)
            wrong += [f"{told}: {each} was not said" for each in old if not holds(said, each)]
            said += f"\n{step.text}"
    assert wrong == []


def test_there_are_enough_steps_to_tell() -> None:
    kinds = [category(step.wants.kind) for conversation in conversations(TUNE) for step in conversation.steps]
    assert all(kinds.count(name) >= 25 for name in CATEGORIES)


def _happened(
    text: str, wants: Wants, before: tuple[str, ...], after: tuple[str, ...], shown: str = "", *asked: Asked
) -> Happened:
    """Return what became of a message; a memory keeps its place from before to after."""
    olds, news = ({str(at): content for at, content in enumerate(each) if content} for each in (before, after))
    return Happened(Said(text, wants, 60), olds, news, shown, shown, asked=asked, answered=("yes",) * len(asked))


MOVED = "they moved it, 8:05 now"
NEAREST = "I'm not sure, but it may be this: “{}”"
JUDGED = [
    ("kept", _happened("I like tea", Wants("keep", ("tea",)), (), ("I like tea",)), Outcome.RIGHT),
    ("not kept", _happened("I like tea", Wants("keep", ("tea",)), (), ()), Outcome.MISSED),
    ("kept after a question", _happened("I like tea", Wants("keep", ("tea",)), (), ("I like tea",), "Keep?",
        Asked("Keeping", "ABCD", (), ("I like tea",))), Outcome.ASKED),
    ("kept otherwise", _happened("I like tea", Wants("keep", ("tea",)), (), ("I am like tea",)), Outcome.HARMFUL),
    ("in pieces", _happened("list\na b\nc d", Wants("keep", ("a b", "c d")), (), ("a b", "c d")), Outcome.MISSED),
    ("kept chatter", _happened("lol", Wants("talk"), (), ("lol",)), Outcome.HARMFUL),
    ("another changed", _happened("I like tea", Wants("keep", ("tea",)), (OLD,), ("I like tea",)), Outcome.HARMFUL),
    ("found", _happened("when?", Wants("find", ("6:40",)), (OLD,), (OLD,), f"You told me: {OLD}"), Outcome.RIGHT),
    ("found, not sure", _happened("when?", Wants("find", ("6:40",)), (OLD,), (OLD,), NEAREST.format(OLD)),
        Outcome.ASKED),
    ("found and denied", _happened("when?", Wants("find", ("6:40",)), (OLD,), (OLD,),
        f"{OLD}. I did not find that in your memories. If you called it otherwise, tell me how."), Outcome.HARMFUL),
    ("found another", _happened("wifi?", Wants("find", ("banana",)), (OLD, "banana"), (OLD, "banana"), OLD),
        Outcome.HARMFUL),
    ("found nothing", _happened("when?", Wants("find", ("6:40",)), (OLD,), (OLD,), "I found nothing."), Outcome.MISSED),
    ("never told", _happened("wifi?", Wants("nothing"), (OLD,), (OLD,), OLD), Outcome.HARMFUL),
    ("never told, near", _happened("wifi?", Wants("nothing"), (OLD,), (OLD,), NEAREST.format(OLD)), Outcome.MISSED),
    ("changed", _happened(MOVED, CHANGE, (OLD,), (NEW,)), Outcome.RIGHT),
    ("kept beside", _happened(MOVED, CHANGE, (OLD,), (OLD, MOVED)), Outcome.MISSED),
    ("replaced, with a loss", _happened(MOVED, CHANGE, (OLD,), (MOVED,)), Outcome.HARMFUL),
    ("composed", _happened(MOVED, CHANGE, (OLD,), ("flight on 3 May is 8:05, ref QX7",)), Outcome.HARMFUL),
    ("removed", _happened("delete the flight", REMOVE, (OLD, "wifi"), ("", "wifi")), Outcome.RIGHT),
    ("removed another", _happened("delete the flight", REMOVE, (OLD, "wifi"), (OLD,)), Outcome.HARMFUL),
    ("offered another", _happened("delete the flight", REMOVE, (OLD, "wifi"), (OLD, "wifi"), "Delete “wifi”?",
        Asked("Deletion", "ABCD", ("wifi",), ())), Outcome.HARMFUL),
    ("undone", _happened("undo", Wants("undo", back=("6:40",)), (), (OLD,)), Outcome.RIGHT),
    ("undone another", _happened("undo", Wants("undo", back=("6:40",)), ("wifi",), ("",)), Outcome.HARMFUL),
]  # fmt: skip


@pytest.mark.parametrize(("happened", "outcome"), [each[1:] for each in JUDGED], ids=[each[0] for each in JUDGED])
def test_the_judge_knows_right_from_wrong(happened: Happened, outcome: Outcome) -> None:
    assert judge(happened).outcome is outcome, judge(happened).why


def _buttons(*verbs: str) -> list[str]:
    return [f"/confirm {verb}" for verb in verbs]


KEEPING = Asked("Keeping", "ABCD", (), (MOVED,))
SWAP = Asked("Replacement", "ABCD", ("wifi", OLD), (MOVED, NEW))
WHOLE = Asked("Replacement", "ABCD", (OLD,), (MOVED,))
DELETION = Asked("Deletion", "ABCD", (OLD,), ())


@pytest.mark.parametrize(
    ("wants", "asked", "buttons", "pressed"),
    [
        (Wants("keep", ("8:05",)), KEEPING, _buttons("yes ABCD", "no ABCD"), "/confirm yes ABCD"),
        (Wants("talk"), KEEPING, _buttons("yes ABCD", "no ABCD"), "/confirm no ABCD"),
        (CHANGE, SWAP, _buttons("yes ABCD 1", "yes ABCD 2", "no ABCD"), "/confirm yes ABCD 2"),
        (CHANGE, SWAP, _buttons("yes ABCD", "no ABCD"), "2"),
        (CHANGE, WHOLE, _buttons("yes ABCD", "both ABCD", "no ABCD"), "/confirm both ABCD"),
        (replace(CHANGE, stays=()), WHOLE, _buttons("yes ABCD", "both ABCD", "no ABCD"), "/confirm yes ABCD"),
        (Wants("add", ("8:05",), stays=("QX7",)), WHOLE, _buttons("yes ABCD", "both ABCD"), "/confirm both ABCD"),
        (REMOVE, DELETION, _buttons("yes ABCD", "no ABCD"), "/confirm yes ABCD"),
        (replace(REMOVE, stays=("QX7",)), DELETION, _buttons("yes ABCD", "no ABCD"), "/confirm no ABCD"),
    ],
)
def test_the_person_answers_by_what_they_see(wants: Wants, asked: Asked, buttons: list[str], pressed: str) -> None:
    assert answer(wants, asked, buttons) == pressed
