"""After /unlink, what an account heard of the joint memory is in none of its prompts: copies, replies, summaries."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.dialogue import Prompt, Task
from core.history.summary import Summarizer
from core.history.tokens import ByCharacters
from core.history.window import HistoryLimits
from core.history.withholding import NOTHING, withheld_of
from core.threads import Summary
from core.types import Thread, UserKey
from tests.fakes.house import ANA, BIA, House
from tests.fakes.talk import Talk, talking

SECRET = "swordfish-77"
OWN = "marmalade-12"
LIMITS = HistoryLimits(window_messages=2, window_cycles=1, threshold_tokens=1)


def echo(prompt: Prompt) -> str:
    """Tell every secret that stands in the prompt, as a talkative model would."""
    found = dict.fromkeys(re.findall(rf"{SECRET}|{OWN}", repr(prompt)))
    return f"I know {', '.join(found) or 'nothing'}."


def decide(prompt: Prompt) -> str:
    asks = "look" in prompt.context.message and not prompt.context.steps
    return "MemorySearch" if asks else "Finish"


SCRIPT = dict.fromkeys(Task, echo) | {Task.DECIDE: decide, Task.SEARCH_QUERIES: lambda _: '{"items": ["*"]}'}


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    async with talking(tmp_path, SCRIPT) as talk:
        yield talk


async def link(talk: Talk) -> None:
    """Ana's account is the owner, Bia's the other."""
    [code] = re.findall(r"`/link ([A-Z-]+)`", await talk.say("/link", ANA, chat="a"))
    await talk.say(f"/link {code}", BIA, chat="b")
    assert "one memory" in await talk.say(f"/link {code} yes", BIA, chat="b")


async def told(talk: Talk, text: str, user: UserKey) -> str:
    """Say it in that account's chat, and return all that models were shown of it."""
    before = len(talk.house.model.prompts)
    await talk.say(text, user, chat="a" if user == ANA else "b")
    return repr(talk.house.model.prompts[before:]) + repr(talk.shown)


async def thread_of(talk: Talk, user: UserKey) -> Thread:
    [thread] = await talk.house.history.threads(user)
    return thread


@pytest.mark.parametrize("by", [ANA, BIA])
@pytest.mark.parametrize(("owner", "hearer"), [(ANA, BIA), (BIA, ANA)])
@pytest.mark.parametrize("restarted", [False, True])
async def test_neither_copies_nor_replies_of_the_others_memories_reach_a_prompt_after_unlink(
    talk: Talk, by: UserKey, owner: UserKey, hearer: UserKey, *, restarted: bool
) -> None:
    await talk.keep(SECRET, user=owner)
    await talk.keep(OWN, user=hearer)
    await told(talk, "my own word before", hearer)
    await link(talk)
    assert SECRET in await told(talk, "look it up", hearer)
    assert SECRET in await told(talk, "say it again", hearer), "a reply quotes it, without a search"
    await talk.say("/unlink yes", by, chat="a" if by == ANA else "b")
    if restarted:
        await talk.restart()
    for text in ("say it again", "look once more", "and again", "/retry"):
        assert SECRET not in await told(talk, text, hearer)
    assert OWN in await told(talk, "look for mine", hearer)
    assert "my own word before" in await told(talk, "what did I say?", hearer), "the person's own words stay"
    assert SECRET in await told(talk, "look", owner)


async def test_what_never_showed_the_others_memories_goes_on_as_it_was(talk: Talk) -> None:
    await talk.keep(OWN, user=BIA)
    await link(talk)
    await told(talk, "look", BIA)
    await talk.say("/unlink yes", BIA, chat="b")
    assert withheld_of(await thread_of(talk, BIA)) == NOTHING
    assert OWN in await told(talk, "say it again", BIA)


async def test_a_summary_that_rests_on_it_is_removed_and_made_anew_without_it(talk: Talk) -> None:
    await talk.keep(SECRET, user=ANA)
    await link(talk)
    for text in ("good morning", "look it up", "say it again", "and again"):
        await told(talk, text, BIA)
    thread, history = await thread_of(talk, BIA), talk.house.history
    summarizer = Summarizer(history, talk.house.model, ByCharacters(), talk.clock, LIMITS)
    await summarizer.fold(thread.id)
    summary = await history.summary(thread.id)
    assert summary is not None
    assert SECRET in summary.text
    await talk.say("/unlink yes", ANA, chat="a")
    assert list(await history.summaries(thread.id)) == []
    before = len(talk.house.model.prompts)
    await summarizer.fold(thread.id)
    anew = await history.summary(thread.id)
    assert anew is not None
    assert SECRET not in repr(talk.house.model.prompts[before:]) + anew.text
    assert "good morning" in repr(talk.house.model.prompts[before:])


async def test_a_summary_that_was_being_made_while_the_accounts_parted_is_not_kept(talk: Talk) -> None:
    await talk.keep(SECRET, user=ANA)
    await link(talk)
    for text in ("good morning", "look it up", "say it again", "and again"):
        await told(talk, text, BIA)
    thread, history = await thread_of(talk, BIA), talk.house.history
    summarizer = Summarizer(history, talk.house.model, ByCharacters(), talk.clock, LIMITS)
    fold = history.fold

    async def slow(thread_id: str, summary: Summary) -> bool:
        await talk.say("/unlink yes", ANA, chat="a")
        return await fold(thread_id, summary)

    history.fold = slow  # type: ignore[method-assign]
    await summarizer.fold(thread.id)
    assert list(await history.summaries(thread.id)) == []


@pytest.mark.parametrize("metadata", [{}, {"withheld": 1}, {"withheld": {"after": "x"}}, {"withheld": None}])
def test_metadata_that_says_nothing_of_it_withholds_nothing(metadata: dict[str, object]) -> None:
    house = House()
    now = house.clock.now()
    thread = Thread("abc", house.incoming("x").conversation, now, now, metadata=metadata)  # type: ignore[arg-type]
    assert withheld_of(thread) == NOTHING
