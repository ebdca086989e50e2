"""Make the prompts of a turn: choose what a model is shown, and note that it was shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from core.answering.prompts import build
from core.answering.turn import Turn
from core.dialogue import Prompt, PromptContext, Task
from core.history.conversation import Context
from core.models import mode_of
from core.text.citations import not_cited
from core.text.marks import quoted
from core.text.unicode import one_line
from core.types import MemoryItem, Message, MessageRole, Modal, OpenQuestion

_MAX_NOTES: Final = 5
_MAX_NOTE_CHARS: Final = 300
MEMORY_OFF = """\
The person has turned remembering off: nothing new can be saved or changed. If they ask for that, tell them so, and \
that /memory on turns it on again."""


async def prompt_of(
    turn: Turn, task: Task, instruction: str, *, choices: Sequence[str] = (), action: str = ""
) -> Prompt:
    """Return the prompt that gives `instruction`, with all that this turn may show a model.

    `action` is the name of the action whose arguments are asked for.
    """
    profile = await profile_of(turn)
    shown = await show_conversation(turn, instruction, mode=mode_of(task))
    about = profile_lines(turn, [item for item in profile if item not in shown.memories])
    context = replace(context_of(turn, task, shown), choices=tuple(choices), action=action, profile=about)
    return build(context, shown, instruction if turn.person.remembers else f"{instruction}\n{MEMORY_OFF}")


async def show_conversation(turn: Turn, instruction: str, *, mode: str, system: str | None = None) -> Context:
    """Return what a model is shown of the conversation before `instruction`, which counts as shown from now on."""
    shown = await turn.conversation.context(
        turn.asked.turn,
        instruction="\n".join((*turn.shown.room.lines, instruction)),
        max_tokens=turn.budget.max_tokens,
        mode=mode,
        model=turn.budget.model,
        system=system,
        lookup=turn.memory.get,
        zone=turn.person.zone,
    )
    turn.shown.show_window(shown)
    turn.budget.note(shown)
    return shown


def context_of(turn: Turn, task: Task, shown: Context) -> PromptContext:
    """Return the prompt as data."""
    return PromptContext(
        task=task,
        locale=turn.person.locale,
        message=turn.asked.text,
        now=turn.services.clock.now().astimezone(turn.person.zone),
        history=shown.messages,
        steps=tuple(turn.log.steps),
        attachments=turn.asked.attachments,
        quotes=turn.asked.quotes,
        language=turn.person.language,
        speaker=turn.person.speaker,
        actions=turn.services.actions,
        memories=shown.memories,
        question=_asked_before(shown.messages, turn.asked.turn),
        room=turn.shown.room.lines,
    )


def labelled(turn: Turn, items: Sequence[MemoryItem]) -> str:
    """Return blocks of the memories for a model, each under its label."""
    turn.shown.label(items)
    return turn.shown.labelled.render(turn.person.zone, items)


async def candidates(turn: Turn) -> str:
    """Return blocks of the memories that the message may be about; "" for limited mode, which reads no blocks."""
    if turn.services.models.is_limited:
        return ""
    hits = await turn.search.near_message()
    return labelled(turn, turn.budget.affordable([hit.item for hit in hits]))


async def profile_of(turn: Turn) -> Sequence[MemoryItem]:
    """Return the memories of the person's profile; none for limited mode."""
    if turn.services.profiles is None or turn.services.models.is_limited:
        return ()
    return await turn.services.profiles.of(turn.memory)


def profile_lines(turn: Turn, profile: Sequence[MemoryItem]) -> tuple[str, ...]:
    """Return what is known of the person whatever they say, as lines of a prompt."""
    person, fitting = turn.person, turn.budget.affordable(profile)
    facts = {"name": person.name, "language": person.language, "time zone": str(person.own_zone or "")}
    told = "; ".join(f"{what}: {fact}" for what, fact in facts.items() if fact)
    lines = [f"<profile>{quoted(not_cited(told))}</profile>"] if told else []
    return (*lines, *([labelled(turn, fitting)] if fitting else []))


async def notes_on(turn: Turn, queries: Sequence[str]) -> tuple[str, ...]:
    """Return what features know about what is looked for: a few lines, the best first."""
    additions = turn.services.additions
    known = await additions.known(turn, queries) if additions is not None else ()
    notes = tuple(one_line(note, _MAX_NOTE_CHARS) for note in known[:_MAX_NOTES])
    turn.shown.show_notes(notes)
    return notes


def _asked_before(messages: Sequence[Message], turn: str) -> OpenQuestion | None:
    """Return the question of the last answer before this turn, if it was stored as data."""
    said = (m for m in reversed(messages) if m.turn != turn and m.modal is Modal.TEXT)
    last = next((m for m in said if m.role in {MessageRole.USER, MessageRole.ASSISTANT}), None)
    return None if last is None else last.question
