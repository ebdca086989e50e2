"""Choose the next action of a turn, and the text if it is the last one.

Every action runs at most once a turn, so that no failure and no repeat can turn into a loop; the text claims only what
a step shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.dialogue import NOTHING_TO_ADD, Outcome
from core.limited import recall
from core.limited import sentences as say
from core.limited.change import Change, change, correction, fits, renewed
from core.limited.cues import Cues, Intent
from core.limited.extract import drafts
from core.limited.recall import Sureness
from core.limited.scene import DELETE, FINISH, QUESTION, SAVE, SEARCH, UPDATE, Scene, line, moment, numbered
from core.limited.understanding import NEW, SAVE_OR_SEARCH, Kind, Wish
from core.limited.words import concepts, named, subject, words
from core.text.markdown import quoted
from core.text.unicode import flat
from core.types import ChangeKind, Localized, MemoryItem, MessageRole, OpenQuestion

MAX_OPTIONS = 25
"""The most options of a question: as many as a search for everything finds."""

_WRITERS = {Intent.SAVE: SAVE, Intent.UPDATE: UPDATE}
_MAX_GONE_WORDS = 3
"""A correction that takes more words than these out of a memory is confirmed first."""


_ATTACHED = re.compile(
    r"\b(?:pictures?|photos?|images?|screenshots?|files?|documents?|pdf|recordings?|audios?|voice|videos?|stickers?|"
    r"fotos?|imagens?|imagem|prints?|arquivos?|documentos?|gravac\w+|imagen(?:es)?|capturas?|archivos?|grabaci\w+|"
    r"see|vendo|ve|ves|this|isso|isto|esto|eso)\b"
)
"""Words of a question about an attachment."""


_CURIOUS = frozenset({Intent.ASK, Intent.TASK, Intent.UNSURE, Intent.CHAT})


@dataclass(frozen=True, slots=True)
class Move:
    """The next action; for one that ends the turn also the text, and what it asks the person as data."""

    action: str
    text: str = ""
    question: OpenQuestion | None = None


def next_move(scene: Scene, cues: Cues, wishes: Sequence[Wish]) -> Move:
    """Return the first action that any wish still needs, else a question, else the end."""
    if not scene.message:  # somebody else's words came along, and none of the person's own
        return Move(FINISH, say.NOT_YOUR_WORDS[scene.locale])
    moves = [_move(scene, cues, wish) for wish in wishes]
    asked = next((move.question for move in moves if move.question), None)
    for move in moves:
        if move.action not in {QUESTION, FINISH, DELETE}:
            return move
    if any(move.action == DELETE for move in moves):
        written = {intent for intent, action in _WRITERS.items() if scene.ran(action)}  # and so told already
        unsaid = [move for move, wish in zip(moves, wishes, strict=True) if move.text and wish.intent not in written]
        if not unsaid:
            return Move(DELETE)
        moves = [*unsaid, Move(FINISH, say.DELETE_APART[scene.locale])]  # a proposal ends the turn
    text = "\n\n".join(dict.fromkeys(move.text for move in moves if move.text.strip(NOTHING_TO_ADD)))
    text = text or next((move.text for move in moves if move.text), "")
    asks = any(move.action == QUESTION for move in moves) and scene.offers(QUESTION)
    return Move(QUESTION if asks else FINISH, text, asked)


def _move(scene: Scene, cues: Cues, wish: Wish) -> Move:
    if scene.context.attachments and wish.intent in _CURIOUS and _ATTACHED.search(flat(wish.text)):
        return Move(FINISH, say.UNSEEN[scene.locale])
    return _MOVES.get(wish.intent, _small)(scene, cues, wish)


def act(scene: Scene, action: str) -> Move:
    """Return the action, or an end that says that it is switched off."""
    return Move(action) if scene.offers(action) else Move(FINISH, say.SWITCHED_OFF[scene.locale])


def ended(scene: Scene, action: str, done: Localized, nothing: Localized) -> Move:
    """Return the end of a turn that ran the action, by the action's outcome."""
    step = scene.last(action)
    if step is None or step.outcome is Outcome.FAILED:
        return Move(FINISH, say.FAILED[scene.locale])
    if step.writes is not None and (step.outcome is Outcome.DONE or step.detail) and done is say.ACK:
        return Move(FINISH, NOTHING_TO_ADD)  # it was told already
    return Move(FINISH, (done if step.outcome is Outcome.DONE else nothing)[scene.locale])


def search_failed(scene: Scene) -> bool:
    """Return whether the turn's search failed or never ran."""
    step = scene.last(SEARCH)
    return step is None or step.outcome is Outcome.FAILED


def targets(scene: Scene, wish: Wish) -> list[MemoryItem]:
    """Return the memories in view that the wish names."""
    known = {item.id: item for item in (*scene.shown, *scene.found)}.values()
    return [item for item in known if item.id in wish.targets]


def _ask_for(text: str, kind: Kind, options: Sequence[str] = (), subject: str = "") -> Move:
    """Return the move that asks the question, as text and as data."""
    return Move(QUESTION, text, OpenQuestion(kind, tuple(options), subject))


# --- saving ----------------------------------------------------------------------------------------------------------


def _save(scene: Scene, cues: Cues, wish: Wish) -> Move:
    if scene.ran(SAVE):
        return ended(scene, SAVE, say.ACK, say.SAVED_NOTHING)
    if not drafts(cues, wish.said):
        own_words = [say.NOT_YOUR_WORDS[scene.locale]] if scene.context.quotes else []
        return _ask_for("\n".join((say.SAVE_WHAT[scene.locale], *own_words)), Kind.SAVE_WHAT)
    return act(scene, SAVE)


# --- finding ---------------------------------------------------------------------------------------------------------


def _ask(scene: Scene, cues: Cues, wish: Wish) -> Move:
    if not scene.ran(SEARCH):
        return act(scene, SEARCH)
    if search_failed(scene):
        return Move(FINISH, say.FAILED[scene.locale])
    verdicts = recall.judged(wish.said, scene.hits)
    reached = {each.sureness for each in verdicts}
    text = "\n".join(filter(None, (recall.told(each, scene.locale) for each in verdicts)))
    if Sureness.SURE in reached or scene.notes:
        lead = text if Sureness.SURE in reached else say.HERE_IT_IS[scene.locale]
        return Move(FINISH, "\n".join((lead, *scene.notes)))
    said = "" if Sureness.NEAR in reached else recall.said_before(scene)
    about = named(subject(wish.text, asking=True), scene.locale).replace("”", "")
    if said or Sureness.NEAR in reached or not about or not _personal(cues, wish):
        return Move(FINISH, said or text or recall.unknown(scene.locale))
    return _ask_for(text or _nothing(scene, cues, wish, about), Kind.NOT_FOUND, subject=about)


def _nothing(scene: Scene, cues: Cues, wish: Wish, about: str) -> str:
    text = say.NOT_FOUND[scene.locale].format(subject=about)
    general = not cues.has("personal", wish.text) and not concepts(about)
    return f"{text} {say.NO_GENERAL[scene.locale]}" if general else text


def _list(scene: Scene, _: Cues, __: Wish) -> Move:
    if not scene.ran(SEARCH):
        return act(scene, SEARCH)
    if search_failed(scene):
        return Move(FINISH, say.FAILED[scene.locale])
    return Move(FINISH, recall.listed(scene.found, scene.locale))


def _personal(cues: Cues, wish: Wish) -> bool:
    """Return whether the question may be about the person rather than general knowledge."""
    return cues.has("personal", wish.text) or not cues.has("general", wish.text)


# --- changing --------------------------------------------------------------------------------------------------------


def _update(scene: Scene, cues: Cues, wish: Wish) -> Move:
    if scene.ran(UPDATE):
        return ended(scene, UPDATE, say.ACK, say.UPDATED_NOTHING)
    if scene.ran(SAVE):
        saved = scene.last(SAVE)
        is_new = saved is None or saved.writes is ChangeKind.SAVED
        return ended(scene, SAVE, say.SAVED_AS_NEW if is_new else say.ACK, say.SAVED_NOTHING)
    told = change_of(cues, wish)
    chosen = targets(scene, wish)
    if wish.agreed and chosen:
        if not told.value:
            return _ask_value(scene, chosen[0])
        return _confirm_update(scene, chosen[0], told) if _unclear(wish, chosen[0], told) else act(scene, UPDATE)
    return Move(SEARCH) if scene.can_search else _choose_update(scene, told)


def _choose_update(scene: Scene, told: Change) -> Move:
    """Update the memory that clearly fits, or ask which one, for the new value, or for agreement."""
    candidates, clear = fits(told.aim, scene.found or scene.shown)
    if not candidates:
        return _nothing_to_update(scene, told) if scene.ran(SEARCH) else act(scene, SEARCH)
    if len(candidates) > 1:
        return _which_to_update(scene, candidates, told)
    if not told.value:
        return _ask_value(scene, candidates[0])
    text, kept = renewed(candidates[0].content, told)
    if text == candidates[0].content:
        return Move(FINISH, f"{say.NOTHING_CHANGES[scene.locale]} {line(candidates[0], scene.locale)}")
    if clear and kept:
        return act(scene, UPDATE)
    return _confirm_update(scene, candidates[0], told)


def _unclear(wish: Wish, item: MemoryItem, told: Change) -> bool:
    """Return whether a correction would change more of the memory than one value."""
    text, kept = renewed(item.content, told)
    gone = set(words(item.content)) - set(words(text))
    return wish.corrects and (not kept or len(gone) > _MAX_GONE_WORDS)


def _confirm_update(scene: Scene, item: MemoryItem, told: Change) -> Move:
    after = quoted(renewed(item.content, told)[0])
    options = (f"{line(item, scene.locale)} → {after}", say.NEITHER_SAVE_NEW[scene.locale])
    return _ask_for(f"{say.UPDATE_WHICH[scene.locale]}\n{numbered(options)}", Kind.UPDATE_WHICH, (item.id, NEW))


def _ask_value(scene: Scene, item: MemoryItem) -> Move:
    text = f"{say.NEW_VALUE[scene.locale]}\n{numbered([line(item, scene.locale)])}"
    return _ask_for(text, Kind.NEW_VALUE, (item.id,))


def _which_to_update(scene: Scene, items: Sequence[MemoryItem], told: Change) -> Move:
    options = {item.id: line(item, scene.locale) for item in items[:MAX_OPTIONS]}
    if told.value:
        options[NEW] = say.NEITHER_SAVE_NEW[scene.locale]
    text = f"{say.UPDATE_WHICH[scene.locale]}\n{numbered(options.values())}"
    return _ask_for(text, Kind.UPDATE_WHICH, tuple(options))


def _nothing_to_update(scene: Scene, told: Change) -> Move:
    if told.subject and told.value and told.statement and scene.offers(SAVE):
        return Move(SAVE)
    about = subject(told.subject) or told.subject or told.value
    return Move(FINISH, say.NOTHING_TO_UPDATE[scene.locale].format(subject=about))


def change_of(cues: Cues, wish: Wish) -> Change:
    """Return what the wish changes; a value without a subject belongs to the memory that was asked about."""
    value = wish.value or correction(cues, wish.text)
    return Change("", value, value) if value else change(cues, wish.text)


# --- deleting --------------------------------------------------------------------------------------------------------


def next_of_deletion(scene: Scene, cues: Cues, wish: Wish) -> Move:
    """Return the next step of a deletion: ask what is meant, search for it, or propose it."""
    if scene.ran(DELETE):
        return ended(scene, DELETE, say.ACK, say.DELETED_NOTHING)
    if proposed(scene, cues, wish):
        return Move(DELETE) if scene.offers(DELETE) else Move(FINISH, say.SWITCHED_OFF[scene.locale])
    all_of_it, about = everything(cues, wish), about_deletion(scene, cues, wish)
    if not (all_of_it or about):
        return _ask_for(say.DELETE_WHAT[scene.locale], Kind.DELETE_WHAT)
    if scene.can_search:
        return Move(SEARCH)
    nothing = say.NOTHING_AT_ALL if all_of_it else say.NOTHING_TO_DELETE
    if not scene.ran(SEARCH):
        nothing = say.SWITCHED_OFF
    elif search_failed(scene):
        nothing = say.FAILED
    return Move(FINISH, nothing[scene.locale].format(subject=about or wish.text))


def proposed(scene: Scene, cues: Cues, wish: Wish) -> Sequence[MemoryItem]:
    """Return the memories that the deletion is about, as far as this turn knows them."""
    if not everything(cues, wish) and (pointed := _pointed_at(scene, cues, wish)):
        return pointed[:MAX_OPTIONS]
    if scene.can_search:
        return ()
    if everything(cues, wish):
        return scene.found[:MAX_OPTIONS]
    about = about_deletion(scene, cues, wish)
    return recall.matching(about, scene.found if scene.ran(SEARCH) else scene.shown)[:MAX_OPTIONS] if about else ()


def everything(cues: Cues, wish: Wish) -> bool:
    """Return whether all memories are to be deleted: the wish says "everything" and names no subject."""
    return cues.has("everything", wish.text) and not subject(recall.target(cues, wish.text), asking=True)


def about_deletion(scene: Scene, cues: Cues, wish: Wish) -> str:
    """Return what is to be deleted, as a phrase; for "delete it", the content of the memory quoted last."""
    phrase = subject(recall.target(cues, wish.text), asking=True)
    return phrase or next((item.content for item in reversed(scene.quoted)), "")


def _pointed_at(scene: Scene, cues: Cues, wish: Wish) -> list[MemoryItem]:
    """Return the memories quoted last that are in view, if the wish names no subject: "delete it"."""
    if subject(recall.target(cues, wish.text), asking=True):
        return []
    known = {item.id: item for item in (*scene.shown, *scene.found)}.values()
    quoted_ids = {item.id for item in scene.quoted}
    return [item for item in known if item.id in quoted_ids]


# --- the rest --------------------------------------------------------------------------------------------------------


def _unsure(scene: Scene, _: Cues, wish: Wish) -> Move:
    if not any(letter.isalpha() for letter in wish.text):
        return Move(FINISH, say.UNCLEAR[scene.locale])
    text = f"{say.SAVE_OR_SEARCH[scene.locale]}\n{say.SAVE_OR_SEARCH_OPTIONS[scene.locale]}"
    return _ask_for(text, Kind.SAVE_OR_SEARCH, SAVE_OR_SEARCH)


def _called(scene: Scene, _: Cues, wish: Wish) -> Move:
    """Run the action that was asked for, once for each time it was; it tells its result itself, or in its notes."""
    runs = [step for step in scene.context.steps if step.action == wish.action]
    if len(runs) <= wish.earlier:
        return act(scene, wish.action)
    if runs[wish.earlier].notes:
        return Move(FINISH, "\n".join(runs[wish.earlier].notes))
    told = scene.context.history[-1:]
    if told and told[0].role is MessageRole.ASSISTANT:
        return Move(FINISH, NOTHING_TO_ADD)
    return ended(scene, wish.action, say.ACK, say.ACK)


def _clock(scene: Scene, _: Cues, __: Wish) -> Move:
    return Move(FINISH, say.CLOCK[scene.locale].format(now=moment(scene.context.now, scene.locale)))


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
    Intent.DELETE: next_of_deletion,
    Intent.UNSURE: _unsure,
    Intent.ACTION: _called,
    Intent.CLOCK: _clock,
}
