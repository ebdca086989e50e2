"""What a turn does next, and what several wishes have in common on the way there.

Knows actions and their ends. Does not know what any wish takes.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.dialogue import Outcome
from core.limited import sentences as say
from core.limited.scene import FINISH, SEARCH, Scene, line
from core.limited.understanding import Wish
from core.text.markdown import quoted
from core.types import Locale, Localized, MemoryItem

MAX_OPTIONS = 25
"""As many as a search for everything shows."""


@dataclass(frozen=True, slots=True)
class Move:
    """An action, and what to say when it is Question or Finish."""

    action: str
    text: str = ""


def act(scene: Scene, action: str) -> Move:
    """Return the action, or the plain truth that it is switched off."""
    return Move(action) if scene.offers(action) else Move(FINISH, say.SWITCHED_OFF[scene.locale])


def ended(scene: Scene, action: str, done: Localized, nothing: Localized) -> Move:
    """Return the end after an action of this turn, by how it ended."""
    step = scene.last(action)
    if step is None or step.outcome is Outcome.FAILED:
        return Move(FINISH, say.FAILED[scene.locale])
    return Move(FINISH, (done if step.outcome is Outcome.DONE else nothing)[scene.locale])


def search_failed(scene: Scene) -> bool:
    """Return whether the turn's search came to no result at all."""
    step = scene.last(SEARCH)
    return step is None or step.outcome is Outcome.FAILED


def targets(scene: Scene, wish: Wish) -> list[MemoryItem]:
    """Return the memories that were agreed on, found again by their quotation."""
    known = {item.id: item for item in (*scene.shown, *scene.found)}.values()
    lines = {item.id: tuple(line(item, locale) for locale in Locale) for item in known}
    return [
        item
        for item in known
        if any(option.startswith(lines[item.id]) or option == quoted(item.content) for option in wish.targets)
    ]
