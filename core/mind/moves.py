"""The next action of a turn, and what is said if it is the last one.

Knows what each wish takes and what was done about it so far. Does not know how a wish is recognised. Every action runs
at most once a turn, so that no failure and no repeat can turn into a loop; what is said claims only what a step shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.dialogue import Outcome
from core.mind import recall
from core.mind import sentences as say
from core.mind.change import Change, change, fits, renewed
from core.mind.cues import Cues, Intent
from core.mind.extract import drafts
from core.mind.scene import DELETE, FINISH, QUESTION, SAVE, SEARCH, UPDATE, Scene, line, numbered, quoted, quotes
from core.mind.understanding import Wish
from core.mind.words import concepts, named, subject
from core.types import Locale, Localized, MemoryItem

MAX_OPTIONS = 9
FEW_FOUND = 4


@dataclass(frozen=True, slots=True)
class Move:
    """An action, and what to say when it is Question or Finish."""

    action: str
    text: str = ""


def next_move(scene: Scene, cues: Cues, wishes: Sequence[Wish]) -> Move:
    """Return what to do now: the first action that any wish still needs, else a question, else the end."""
    moves = [_MOVES.get(wish.intent, _small)(scene, cues, wish) for wish in wishes]
    for move in moves:
        if move.action not in {QUESTION, FINISH}:
            return move
    text = "\n\n".join(dict.fromkeys(move.text for move in moves if move.text))
    asks = any(move.action == QUESTION for move in moves) and scene.offers(QUESTION)
    return Move(QUESTION if asks else FINISH, text)


def needs_search(wish: Wish) -> bool:
    """Return whether the wish starts with looking into memory."""
    return wish.intent in {Intent.ASK, Intent.LIST, Intent.UPDATE, Intent.DELETE}


def _act(scene: Scene, action: str) -> Move:
    """Return the action, or the plain truth that it is switched off."""
    return Move(action) if scene.offers(action) else Move(FINISH, say.SWITCHED_OFF[scene.locale])


def _ended(scene: Scene, action: str, done: Localized, nothing: Localized) -> Move:
    """Return the end after an action of this turn, by how it ended."""
    step = scene.last(action)
    if step is None or step.outcome is Outcome.FAILED:
        return Move(FINISH, say.FAILED[scene.locale])
    return Move(FINISH, (done if step.outcome is Outcome.DONE else nothing)[scene.locale])


# --- saving ----------------------------------------------------------------------------------------------------------


def _save(scene: Scene, cues: Cues, wish: Wish) -> Move:
    if scene.ran(SAVE):
        reminder = any(cues.has("reminder", cues.opened(piece)) for piece in wish.said)
        done = say.NO_REMINDERS if reminder else say.AFTER_SAVE
        return _ended(scene, SAVE, done, say.SAVED_NOTHING)
    if not drafts(cues, wish.said):
        return Move(QUESTION, say.SAVE_WHAT[scene.locale])
    return _act(scene, SAVE)


# --- finding ---------------------------------------------------------------------------------------------------------


def _ask(scene: Scene, cues: Cues, wish: Wish) -> Move:
    if not scene.ran(SEARCH):
        return _act(scene, SEARCH)
    if _search_failed(scene):
        return Move(FINISH, say.FAILED[scene.locale])
    items, share = recall.best(wish.text, scene.found)
    if share >= recall.GOOD:
        return Move(FINISH, recall.answered(items, scene.locale))
    about = named(subject(wish.text, asking=True), scene.locale).replace("”", "")
    if not about or not _personal(cues, wish):
        return Move(FINISH, recall.unknown(scene.locale))
    lines = [say.NOT_FOUND[scene.locale].format(subject=about)]
    if items:
        lines.append(recall.nearest(items, scene.locale))
    elif not cues.has("personal", wish.text) and not concepts(about):
        lines.append(say.NO_GENERAL[scene.locale])
    return Move(QUESTION, "\n".join(lines))


def _list(scene: Scene, _: Cues, __: Wish) -> Move:
    if not scene.ran(SEARCH):
        return _act(scene, SEARCH)
    if looks_further(scene):
        return Move(SEARCH)
    if _search_failed(scene):
        return Move(FINISH, say.FAILED[scene.locale])
    return Move(FINISH, recall.listed(scene.found, scene.locale))


def looks_further(scene: Scene) -> bool:
    """Return whether a list of what is known is worth a second search, by other topics."""
    searches = [step for step in scene.brief.steps if step.action == SEARCH]
    few = len(searches) == 1 and len(scene.found) < FEW_FOUND
    return few and searches[0].outcome in {Outcome.DONE, Outcome.NOTHING} and scene.may_act(SEARCH)


def _search_failed(scene: Scene) -> bool:
    step = scene.last(SEARCH)
    return step is None or step.outcome is Outcome.FAILED


def _personal(cues: Cues, wish: Wish) -> bool:
    """Return whether the question may be about the person's own things, rather than about the world."""
    return cues.has("personal", wish.text) or not cues.has("general", wish.text)


# --- changing --------------------------------------------------------------------------------------------------------


def _update(scene: Scene, cues: Cues, wish: Wish) -> Move:
    if scene.ran(UPDATE):
        return _ended(scene, UPDATE, say.AFTER_UPDATE, say.UPDATED_NOTHING)
    if scene.ran(SAVE):
        return _ended(scene, SAVE, say.SAVED_AS_NEW, say.SAVED_NOTHING)
    told = change_of(cues, wish)
    chosen = targets(scene, wish)
    if wish.agreed and chosen:
        return _act(scene, UPDATE) if told.value else _ask_value(scene, chosen[0])
    return Move(SEARCH) if scene.can_search else _choose_update(scene, told)


def _choose_update(scene: Scene, told: Change) -> Move:
    """Update the one clearly fitting memory, or ask: which, to what, or whether."""
    candidates, clear = fits(told.aim, scene.found or scene.shown)
    if not candidates:
        return _nothing_to_update(scene, told) if scene.ran(SEARCH) else _act(scene, SEARCH)
    if len(candidates) > 1:
        return _which_to_update(scene, candidates, told)
    if not told.value:
        return _ask_value(scene, candidates[0])
    text, kept = renewed(candidates[0].content, told)
    if text == candidates[0].content:
        return Move(FINISH, f"{say.NOTHING_CHANGES[scene.locale]} {line(candidates[0], scene.locale)}")
    if clear and kept:
        return _act(scene, UPDATE)
    options = (f"{line(candidates[0], scene.locale)} → {quoted(text)}", say.NEITHER_SAVE_NEW[scene.locale])
    return Move(QUESTION, f"{say.UPDATE_WHICH[scene.locale]}\n{numbered(options)}")


def _ask_value(scene: Scene, item: MemoryItem) -> Move:
    return Move(QUESTION, f"{say.NEW_VALUE[scene.locale]}\n{numbered([line(item, scene.locale)])}")


def _which_to_update(scene: Scene, items: Sequence[MemoryItem], told: Change) -> Move:
    options = [line(item, scene.locale) for item in items[:MAX_OPTIONS]]
    if told.value:
        options.append(say.NEITHER_SAVE_NEW[scene.locale])
    return Move(QUESTION, f"{say.UPDATE_WHICH[scene.locale]}\n{numbered(options)}")


def _nothing_to_update(scene: Scene, told: Change) -> Move:
    if told.subject and told.value and told.statement and scene.offers(SAVE):
        return Move(SAVE)
    about = subject(told.subject) or told.subject or told.value
    return Move(FINISH, say.NOTHING_TO_UPDATE[scene.locale].format(subject=about))


def change_of(cues: Cues, wish: Wish) -> Change:
    """Return what the wish changes; a value told later belongs to the memory that was asked about."""
    if wish.value:
        return Change("", wish.value, wish.value)
    return change(cues, wish.text)


# --- deleting --------------------------------------------------------------------------------------------------------


def _delete(scene: Scene, cues: Cues, wish: Wish) -> Move:
    if scene.ran(DELETE):
        return _ended(scene, DELETE, say.AFTER_DELETE, say.DELETED_NOTHING)
    if not scene.offers(DELETE):
        return Move(FINISH, say.SWITCHED_OFF[scene.locale])
    return _delete_agreed(scene, wish) if wish.agreed else _ask_to_delete(scene, cues, wish)


def _ask_to_delete(scene: Scene, cues: Cues, wish: Wish) -> Move:
    """Find what is meant, and ask before it goes: nothing is deleted on a first word."""
    pointed = [] if everything(cues, wish) else pointed_at(scene, cues, wish)
    about = about_deletion(scene, cues, wish)
    if not (pointed or about or everything(cues, wish)):
        return Move(QUESTION, say.DELETE_WHAT[scene.locale])
    further = everything(cues, wish) and scene.ran(SEARCH) and looks_further(scene)
    if not pointed and (scene.can_search or further):
        return Move(SEARCH)
    items = scene.found if scene.ran(SEARCH) else scene.shown
    candidates = pointed or (items if everything(cues, wish) else recall.matching(about, items))
    if candidates:
        return _confirm(scene, candidates[:MAX_OPTIONS])
    if not scene.ran(SEARCH):
        return Move(FINISH, say.SWITCHED_OFF[scene.locale])
    return Move(FINISH, say.NOTHING_TO_DELETE[scene.locale].format(subject=about or wish.text))


def _delete_agreed(scene: Scene, wish: Wish) -> Move:
    """Delete what was agreed on; what is no longer on the screen is searched for first."""
    if targets(scene, wish):
        return Move(DELETE)
    return Move(SEARCH) if scene.can_search else Move(FINISH, say.DELETED_NOTHING[scene.locale])


def _confirm(scene: Scene, items: Sequence[MemoryItem]) -> Move:
    lead = say.DELETE_ONE if len(items) == 1 else say.DELETE_MANY
    options = [line(item, scene.locale) for item in items]
    return Move(QUESTION, f"{lead[scene.locale]}\n{numbered(options)}")


def everything(cues: Cues, wish: Wish) -> bool:
    """Return whether all that is known shall go: the wish says so, and names nothing."""
    return cues.has("everything", wish.text) and not subject(recall.target(cues, wish.text), asking=True)


def about_deletion(scene: Scene, cues: Cues, wish: Wish) -> str:
    """Return what shall go, as a phrase; of "delete it", what we quoted last."""
    phrase = subject(recall.target(cues, wish.text), asking=True)
    return phrase or next(iter(reversed(quotes(scene.told))), "")


def pointed_at(scene: Scene, cues: Cues, wish: Wish) -> list[MemoryItem]:
    """Return the memories that our last words quoted, if the wish only points at them: "delete it"."""
    if subject(recall.target(cues, wish.text), asking=True):
        return []
    known = {item.id: item for item in (*scene.shown, *scene.found)}.values()
    return [item for item in known if quoted(item.content) in scene.told]


def targets(scene: Scene, wish: Wish) -> list[MemoryItem]:
    """Return the memories that were agreed on, found again by their quotation."""
    known = {item.id: item for item in (*scene.shown, *scene.found)}.values()
    lines = {item.id: tuple(line(item, locale) for locale in Locale) for item in known}
    return [
        item
        for item in known
        if any(option.startswith(lines[item.id]) or option == quoted(item.content) for option in wish.targets)
    ]


# --- the rest --------------------------------------------------------------------------------------------------------


def _unsure(scene: Scene, _: Cues, wish: Wish) -> Move:
    if not any(letter.isalpha() for letter in wish.text):
        return Move(FINISH, say.UNCLEAR[scene.locale])
    return Move(QUESTION, f"{say.SAVE_OR_SEARCH[scene.locale]}\n{say.SAVE_OR_SEARCH_OPTIONS[scene.locale]}")


def _small(scene: Scene, _: Cues, wish: Wish) -> Move:
    return Move(FINISH, _SMALL_TALK[wish.intent][scene.locale])


_SMALL_TALK: dict[Intent, Localized] = {
    Intent.TASK: say.NO_MODEL,
    Intent.CHAT: say.CHAT,
    Intent.GREETING: say.GREETING,
    Intent.THANKS: say.THANKS,
    Intent.BYE: say.BYE,
    Intent.HOW: say.HOW,
    Intent.ABOUT: say.ABOUT,
    Intent.ACK: say.ACK,
    Intent.CANCEL: say.CANCEL,
    Intent.KEEP_OUT: say.KEEP_OUT,
    Intent.LEAVE: say.LEAVE,
    Intent.WHAT_IF: say.WHAT_IF,
}
_MOVES: dict[Intent, Callable[[Scene, Cues, Wish], Move]] = {
    Intent.SAVE: _save,
    Intent.ASK: _ask,
    Intent.LIST: _list,
    Intent.UPDATE: _update,
    Intent.DELETE: _delete,
    Intent.UNSURE: _unsure,
}
