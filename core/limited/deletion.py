"""From a wish to delete to the proposal of it: which memories are meant. The person is asked elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from core.limited import recall
from core.limited import sentences as say
from core.limited.cues import Cues
from core.limited.move import MAX_OPTIONS, Move, ended, search_failed
from core.limited.scene import DELETE, FINISH, QUESTION, SEARCH, Scene, quotes
from core.limited.understanding import Wish
from core.limited.words import subject
from core.text.markdown import quoted
from core.types import MemoryItem


def next_of_deletion(scene: Scene, cues: Cues, wish: Wish) -> Move:
    """Return what the deletion needs now: to know what is meant, to search for it, or to propose it."""
    if scene.ran(DELETE):
        return ended(scene, DELETE, say.ACK, say.DELETED_NOTHING)
    if proposed(scene, cues, wish):
        return Move(DELETE) if scene.offers(DELETE) else Move(FINISH, say.SWITCHED_OFF[scene.locale])
    all_of_it, about = everything(cues, wish), about_deletion(scene, cues, wish)
    if not (all_of_it or about):
        return Move(QUESTION, say.DELETE_WHAT[scene.locale])
    if scene.can_search:
        return Move(SEARCH)
    nothing = say.NOTHING_AT_ALL if all_of_it else say.NOTHING_TO_DELETE
    if not scene.ran(SEARCH):
        nothing = say.SWITCHED_OFF
    elif search_failed(scene):
        nothing = say.FAILED
    return Move(FINISH, nothing[scene.locale].format(subject=about or wish.text))


def proposed(scene: Scene, cues: Cues, wish: Wish) -> Sequence[MemoryItem]:
    """Return the memories that are meant, as far as they are known by now."""
    if not everything(cues, wish) and (pointed := _pointed_at(scene, cues, wish)):
        return pointed[:MAX_OPTIONS]
    if scene.can_search:
        return ()
    if everything(cues, wish):
        return scene.found[:MAX_OPTIONS]
    about = about_deletion(scene, cues, wish)
    return recall.matching(about, scene.found if scene.ran(SEARCH) else scene.shown)[:MAX_OPTIONS] if about else ()


def everything(cues: Cues, wish: Wish) -> bool:
    """Return whether all that is known shall go: the wish says so, and names nothing."""
    return cues.has("everything", wish.text) and not subject(recall.target(cues, wish.text), asking=True)


def about_deletion(scene: Scene, cues: Cues, wish: Wish) -> str:
    """Return what shall go, as a phrase; of "delete it", what we quoted last."""
    phrase = subject(recall.target(cues, wish.text), asking=True)
    return phrase or next(iter(reversed(quotes(scene.told))), "")


def _pointed_at(scene: Scene, cues: Cues, wish: Wish) -> list[MemoryItem]:
    """Return the memories that our last words quoted, if the wish only points at them: "delete it"."""
    if subject(recall.target(cues, wish.text), asking=True):
        return []
    known = {item.id: item for item in (*scene.shown, *scene.found)}.values()
    return [item for item in known if quoted(item.content) in scene.told]
