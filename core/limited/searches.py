"""What a turn searches for: all that its wishes are about at once, but for questions of several, each by itself.

How likely a memory answers is said of all phrases of a search together; so each question has its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from core.limited import removal
from core.limited.frames import has
from core.limited.likeness import Intent
from core.limited.reading import BEFORE, MessagePart
from core.limited.scene import Scene
from core.text.senses import queries
from core.text.unicode import clean, one_line

MAX_QUERIES: Final = 8
MAX_QUERY_CHARS: Final = 300
EVERYTHING: Final = "*"
"""The query that asks for all memories, newest first."""

OWES: Final = "me deve owes me debe"
"""The query for who owes something, where it is only said that somebody paid."""

_MAX_APART: Final = 3
"""How many questions of a message are searched for apart, so that a turn's steps suffice."""

Parts = Sequence[MessagePart]


def search_queries(scene: Scene, parts: Parts) -> list[str]:
    """Return the short phrases to search for next: what no question asks goes first."""
    apart = _apart(parts)
    together = _cleaned(phrase for part in parts if part not in apart for phrase in _phrases(scene, part))
    groups = (together, *(_own(scene, part) for part in apart))
    waiting = (group for group in groups if group and group not in scene.searches)
    return list(next(waiting, ())) or [one_line(scene.message, MAX_QUERY_CHARS)]


def seen_by(scene: Scene, parts: Parts, part: MessagePart) -> Scene:
    """Return the scene as a part is answered by it: with the search for that alone, if it has one."""
    apart = _apart(parts)
    if not apart:
        return scene
    own = {_own(scene, each) for each in apart}
    mine = _own(scene, part) if part in apart else None
    return scene.without_searches(lambda asked: asked != mine if mine is not None else asked in own)


def _apart(parts: Parts) -> Parts:
    """Return the questions that are searched for apart; none where one search suffices."""
    asked = [part for part in parts if part.intent in {Intent.FIND, Intent.WORLD} and part.about != BEFORE]
    is_alone = len(asked) == sum(_searches(part) for part in parts) == 1
    return () if is_alone else asked[:_MAX_APART]


def _searches(part: MessagePart) -> bool:
    return part.intent in {Intent.FIND, Intent.WORLD, Intent.LIST, Intent.CHANGE, Intent.REMOVE}


def _own(scene: Scene, part: MessagePart) -> tuple[str, ...]:
    return _cleaned(_phrases(scene, part))


def _cleaned(phrases: Iterable[str]) -> tuple[str, ...]:
    """Return phrases as a search notes them, by which its step is known."""
    return tuple(dict.fromkeys(clean(each, MAX_QUERY_CHARS) for each in phrases))[:MAX_QUERIES]


def _phrases(scene: Scene, part: MessagePart) -> list[str]:
    if part.intent is Intent.LIST or (part.intent is Intent.REMOVE and removal.wants_all(part)):
        return [EVERYTHING]
    if part.intent is Intent.REMOVE:
        shown = [item.content for item in scene.quoted[-1:]]
        return [phrase for name in removal.names(part) for phrase in queries(name)] or shown
    if part.about == BEFORE and scene.told_last is not None:
        return [one_line(scene.told_last.content, MAX_QUERY_CHARS), *queries(part.text)]
    who_owes = [OWES] if part.intent in {Intent.FIND, Intent.CHANGE} and has("repaid", part.text) else []
    return [*queries(part.text), *who_owes] if _searches(part) else []
