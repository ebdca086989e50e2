"""From a wish to delete to the deletion: found, shown, agreed on, and only then gone.

Knows what a deletion takes and what was done about it. Does not know how the wish was recognised.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.mind import recall
from core.mind import sentences as say
from core.mind.cues import Cues
from core.mind.move import MAX_OPTIONS, Move, ended, search_failed, targets
from core.mind.scene import DELETE, FINISH, QUESTION, SEARCH, Scene, line, numbered, quoted, quotes
from core.mind.understanding import Wish
from core.mind.words import subject
from core.types import Localized, MemoryItem


def next_of_deletion(scene: Scene, cues: Cues, wish: Wish) -> Move:
    """Return what the deletion needs now."""
    if scene.ran(DELETE):
        many = len(wish.targets) >= MAX_OPTIONS
        return ended(scene, DELETE, say.AFTER_MANY_DELETED if many else say.AFTER_DELETE, say.DELETED_NOTHING)
    if not scene.offers(DELETE):
        return Move(FINISH, say.SWITCHED_OFF[scene.locale])
    return _agreed(scene, wish) if wish.agreed else _ask(scene, cues, wish)


def everything(cues: Cues, wish: Wish) -> bool:
    """Return whether all that is known shall go: the wish says so, and names nothing."""
    return cues.has("everything", wish.text) and not subject(recall.target(cues, wish.text), asking=True)


def about_deletion(scene: Scene, cues: Cues, wish: Wish) -> str:
    """Return what shall go, as a phrase; of "delete it", what we quoted last."""
    phrase = subject(recall.target(cues, wish.text), asking=True)
    return phrase or next(iter(reversed(quotes(scene.told))), "")


def _agreed(scene: Scene, wish: Wish) -> Move:
    """Delete what was agreed on; what is no longer on the screen is searched for first."""
    if targets(scene, wish):
        return Move(DELETE)
    return Move(SEARCH) if scene.can_search else Move(FINISH, say.DELETED_NOTHING[scene.locale])


def _ask(scene: Scene, cues: Cues, wish: Wish) -> Move:
    """Find what is meant, and ask before it goes: nothing is deleted on a first word."""
    if everything(cues, wish):
        return _ask_about_everything(scene)
    pointed, about = _pointed_at(scene, cues, wish), about_deletion(scene, cues, wish)
    if not (pointed or about):
        return Move(QUESTION, say.DELETE_WHAT[scene.locale])
    if not pointed and scene.can_search:
        return Move(SEARCH)
    candidates = pointed or recall.matching(about, scene.found if scene.ran(SEARCH) else scene.shown)
    if candidates:
        lead = say.DELETE_ONE if len(candidates) == 1 else say.DELETE_MANY
        return _confirm(scene, lead, candidates[:MAX_OPTIONS])
    if not scene.ran(SEARCH):
        return Move(FINISH, say.SWITCHED_OFF[scene.locale])
    return Move(FINISH, say.NOTHING_TO_DELETE[scene.locale].format(subject=about or wish.text))


def _ask_about_everything(scene: Scene) -> Move:
    if scene.can_search:
        return Move(SEARCH)
    if not scene.ran(SEARCH):
        return Move(FINISH, say.SWITCHED_OFF[scene.locale])
    if search_failed(scene):
        return Move(FINISH, say.FAILED[scene.locale])
    if not scene.found:
        return Move(FINISH, say.NOTHING_AT_ALL[scene.locale])
    lead = say.DELETE_ONE if len(scene.found) == 1 else say.DELETE_ALL
    return _confirm(scene, lead, scene.found[:MAX_OPTIONS])


def _confirm(scene: Scene, lead: Localized, items: Sequence[MemoryItem]) -> Move:
    options = [line(item, scene.locale) for item in items]
    return Move(QUESTION, f"{lead[scene.locale]}\n{numbered(options)}")


def _pointed_at(scene: Scene, cues: Cues, wish: Wish) -> list[MemoryItem]:
    """Return the memories that our last words quoted, if the wish only points at them: "delete it"."""
    if subject(recall.target(cues, wish.text), asking=True):
        return []
    known = {item.id: item for item in (*scene.shown, *scene.found)}.values()
    return [item for item in known if quoted(item.content) in scene.told]
