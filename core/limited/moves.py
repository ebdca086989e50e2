"""Choose the next step of a turn from what the message wants and what the turn did so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.dialogue import NOTHING_TO_ADD, Outcome
from core.limited import enclosed, recall, removal
from core.limited import sentences as say
from core.limited.change import PossibleChange, changes
from core.limited.frames import courtesy, has, mood
from core.limited.likeness import Intent
from core.limited.reading import BEFORE, KEEP_WHAT, REMOVE_WHAT, MessagePart
from core.limited.recall import RecallVerdict, Sureness
from core.limited.scene import DELETE, FINISH, QUESTION, SAVE, SEARCH, UPDATE, Scene, moment
from core.limited.searches import seen_by
from core.text.replies import acknowledges, means_yes
from core.text.senses import senses
from core.times.said import asked
from core.types import Localized, MessageRole, OpenQuestion

_LEAST_SHARED: Final = 2.0
"""What a statement that says of no change must have in common with a memory of which it has another value."""

_CHANGING: Final = frozenset({Intent.CHANGE, Intent.REMOVE})

_BARE_SENSES: Final = 2
"""A correction with at most so many words that tell something names nothing that could be kept: "no, it's 3pm"."""


@dataclass(frozen=True, slots=True)
class Move:
    """The next action; for one that ends the turn also the text, and what it asks the person as data.

    `is_off`: the text says that something is switched off.
    """

    action: str
    text: str = ""
    question: OpenQuestion | None = None
    is_off: bool = False


def next_move(scene: Scene, parts: Sequence[MessagePart]) -> Move:
    """Return the first action that any part of the message still needs, else the end of the turn.

    Actions that ask the person to agree end the turn, and come last: what else was asked is answered first, by the
    text of the move.
    """
    if not scene.message:  # somebody else's words came along, and none of the person's own
        if enclosed.needs_name(scene) and scene.offers(QUESTION):
            return Move(QUESTION, enclosed.told(scene), OpenQuestion(KEEP_WHAT))
        return Move(FINISH, enclosed.told(scene) or say.NOT_YOUR_WORDS[scene.locale])
    if scene.can_search and any(part.otherwise is not None for part in parts):  # it tells what they are for
        return Move(SEARCH)
    moves = [_move(seen_by(scene, parts, part), part) for part in parts]
    is_kept = any(part.is_sure and part.intent is not Intent.REMOVE for part in to_keep(scene, parts))
    last = {UPDATE, DELETE} if is_kept else {UPDATE, DELETE, SAVE}  # they ask, which ends the turn
    for move in moves:
        if move.action not in {QUESTION, FINISH, *last}:
            return move
    telling = [
        move
        for part, move in zip(parts, moves, strict=True)
        if move.text.strip(NOTHING_TO_ADD)
        and (part.intent in _CHANGING or not scene.ran(UPDATE))  # else told before it
    ]
    proposing = sorted((move.action for move in moves if move.action in last), key=lambda action: action == SAVE)
    if len(proposing) > 1 and UPDATE in proposing:  # deletions are proposed together
        telling.append(Move(FINISH, say.ONE_AT_A_TIME[scene.locale]))
    if proposing and scene.is_ending:
        telling.append(switched_off(scene))
    told = "\n\n".join(dict.fromkeys(move.text for move in telling)) or NOTHING_TO_ADD
    if proposing and not scene.is_ending:
        return Move(proposing[0], told)
    question = next((move.question for move in moves if move.question and scene.offers(QUESTION)), None)
    return Move(QUESTION if question else FINISH, told, question, any(move.is_off for move in telling))


def _move(scene: Scene, part: MessagePart) -> Move:
    if scene.context.files and part.intent in _OF_FILES and (told := _of_files(scene, part)):
        return Move(FINISH, told)
    if has("since", part.text) and scene.quoted:  # of what was just told, whose day is shown
        return Move(FINISH, recall.told(RecallVerdict(Sureness.SURE, scene.quoted[-1:]), scene.locale))
    if part.about == BEFORE:
        return _before(scene, part)
    return _MOVES[part.intent](scene, part)


_OF_FILES: Final = frozenset({Intent.FIND, Intent.WORLD, Intent.CHAT, Intent.KEEP, Intent.CHANGE, Intent.ABOUT})


def _of_files(scene: Scene, part: MessagePart) -> str:
    """Return what is answered from what came along, or said of it; "" where the memory is asked, or anything kept.

    Nothing is kept that nobody asked for: words beside a picture are a message.
    """
    if enclosed.asks_to_keep(scene):
        return ""
    if said := enclosed.answer(scene):
        return said
    if part.intent in {Intent.FIND, Intent.WORLD}:
        return "" if scene.can_search or enclosed.has_own_text(scene) else enclosed.told(scene)
    has_own = any(not each.is_quoted for each in scene.context.files)
    is_talk = part.intent is Intent.CHAT and part.about == "work"
    return enclosed.told(scene) if has_own and not is_talk else ""


def _act(scene: Scene, action: str) -> Move:
    """Return the action, or an end that says that it is switched off."""
    return Move(action) if scene.offers(action) else switched_off(scene, action)


def switched_off(scene: Scene, action: str = "") -> Move:
    """Return the end of a turn that says that the action, or something, is switched off."""
    return Move(FINISH, (scene.why_off(action) or say.SWITCHED_OFF)[scene.locale], is_off=True)


def _ended(scene: Scene, action: str, nothing: Localized) -> Move:
    """Return the end of a turn that ran the action: what it did is told already; why it did nothing is not."""
    step = scene.last(action)
    if step is None or step.outcome is Outcome.FAILED:
        return Move(FINISH, say.FAILED[scene.locale])
    is_told = step.outcome is Outcome.DONE or bool(step.detail)
    return Move(FINISH, NOTHING_TO_ADD if is_told else nothing[scene.locale])


def _unsearched(scene: Scene) -> Move | None:
    """Return the end of a turn in which nothing was searched, as that is switched off or failed; None where it was."""
    step = scene.last(SEARCH)
    if step is None:
        return switched_off(scene, SEARCH)
    return Move(FINISH, say.FAILED[scene.locale]) if step.outcome is Outcome.FAILED else None


# --- keeping ---------------------------------------------------------------------------------------------------------


def _keep(scene: Scene, part: MessagePart) -> Move:
    if scene.ran(SAVE):
        return _saved(scene, part)
    if part.text:
        return _act(scene, SAVE)
    if scene.context.files:
        return Move(QUESTION, enclosed.WHAT_IS_IT[scene.locale], OpenQuestion(KEEP_WHAT))
    own_words = [say.NOT_YOUR_WORDS[scene.locale]] if scene.context.quotes else []
    return Move(QUESTION, "\n".join((say.SAVE_WHAT[scene.locale], *own_words)), OpenQuestion(KEEP_WHAT))


def _saved(scene: Scene, part: MessagePart) -> Move:
    """Return the end of a turn that kept a part: of a loss or a break-up something kind is said, too."""
    if mood(part.text) == "grief":
        return Move(FINISH, say.TALK["grief"][scene.locale])
    return _ended(scene, SAVE, say.SAVED_NOTHING)


def to_keep(scene: Scene, parts: Sequence[MessagePart]) -> list[MessagePart]:
    """Return the parts to keep now: those that say so, and once it was searched, those about nothing that is known."""
    return [part for part in parts if part.text and (part.intent is Intent.KEEP or _is_new(scene, part))]


def _is_new(scene: Scene, part: MessagePart) -> bool:
    is_other = part.intent is Intent.REMOVE and removal.may_tell(part)
    return scene.ran(SEARCH) and (part.intent is Intent.CHANGE or is_other or part.about == "statement")


# --- finding ---------------------------------------------------------------------------------------------------------


def _find(scene: Scene, part: MessagePart) -> Move:
    """Answer a question: by what is surely meant alone, if it may be no question to the memory."""
    if scene.can_search:
        return Move(SEARCH)
    if why := _unsearched(scene):
        return why
    verdict = recall.judged(part.text, scene.hits, asked(part.text, scene.context.now, scene.locale))
    is_sure = verdict.sureness in {Sureness.SURE, Sureness.EITHER}
    if scene.notes:
        found = recall.told(verdict, scene.locale) if is_sure or verdict.sureness is Sureness.NEAR else ""
        return Move(FINISH, "\n".join(filter(None, (found, *scene.notes))))
    if part.about == "statement" and verdict.sureness in {Sureness.NOTHING, Sureness.OTHER}:
        return _keep(scene, part)
    if part.about == "world" and not is_sure:
        return Move(FINISH, say.WORLD[scene.locale])
    said = "" if is_sure or verdict.sureness is Sureness.NEAR else recall.said_before(scene)
    found = said or recall.told(verdict, scene.locale, scene.passages)
    return Move(FINISH, found or enclosed.nothing(scene) or say.NOT_FOUND[scene.locale])


def _before(scene: Scene, part: MessagePart) -> Move:
    """Answer what was so before what was told last."""
    if scene.can_search:
        return Move(SEARCH)
    return _unsearched(scene) or Move(FINISH, recall.before(scene, part.text))


def _list(scene: Scene, part: MessagePart) -> Move:
    if scene.can_search:
        return Move(SEARCH)
    if why := _unsearched(scene):
        return why
    if part.about != "today":
        return Move(FINISH, recall.listed(scene.found, scene.locale))
    today = [item for item in scene.found if item.updated_at.date() == scene.context.now.date()]
    return Move(FINISH, recall.listed(today, scene.locale) if today else say.NOTHING_TODAY[scene.locale])


# --- changing --------------------------------------------------------------------------------------------------------


def to_change(scene: Scene, part: MessagePart) -> list[PossibleChange]:
    """Return the memories that a part may change, the likeliest first."""
    if part.intent is Intent.REMOVE:
        return removal.narrowed(scene, part)
    is_likely = part.about != "maybe"
    return changes(
        part.text,
        scene.found,
        scene.quoted if is_likely else (),
        scene.recent,
        least=1 if is_likely else _LEAST_SHARED,
    )


def _change(scene: Scene, part: MessagePart) -> Move:
    if scene.ran(UPDATE):
        return _ended(scene, UPDATE, say.UPDATED_NOTHING)
    if scene.ran(SAVE):
        return _saved(scene, part)
    if scene.can_search:
        return Move(SEARCH)
    if to_change(scene, part) and scene.can_run(UPDATE):
        return Move(UPDATE)
    if has("correct", part.text) and len(senses(part.text)) <= _BARE_SENSES:
        return Move(FINISH, say.NOTHING_TO_CHANGE[scene.locale])
    return _act(scene, SAVE)


# --- removing --------------------------------------------------------------------------------------------------------


def _remove(scene: Scene, part: MessagePart) -> Move:
    """Look for what is named, and propose to delete it; another memory is never offered in its place."""
    done = (DELETE, UPDATE, SAVE) if removal.may_tell(part) else (DELETE, UPDATE)
    ran = [action for action in done if scene.ran(action)]
    if ran:
        return _ended(scene, ran[0], say.DELETED_NOTHING)
    if to_change(scene, part) and scene.can_run(UPDATE):
        return Move(UPDATE)
    if removal.proposed(scene, part).items:
        return _act(scene, DELETE)
    is_nameless = not removal.named(part) and not scene.quoted and not removal.wants_all(part)
    return Move(SEARCH) if scene.can_search and not is_nameless else _nothing_to_remove(scene, part)


def _nothing_to_remove(scene: Scene, part: MessagePart) -> Move:
    """Say that nothing was found; what may be no wish to delete is kept, if the person agrees."""
    about = removal.named(part)
    if not about and not scene.ran(SEARCH) and not removal.wants_all(part):
        return Move(QUESTION, say.DELETE_WHAT[scene.locale], OpenQuestion(REMOVE_WHAT))
    if why := _unsearched(scene):
        return why
    text = say.NOTHING_AT_ALL if removal.is_everything(part) else say.NOTHING_TO_DELETE
    if text is say.NOTHING_TO_DELETE and removal.may_tell(part):
        return _act(scene, SAVE)
    if text is say.NOTHING_TO_DELETE and not about:
        return Move(QUESTION, say.DELETE_WHAT[scene.locale], OpenQuestion(REMOVE_WHAT))
    return Move(FINISH, text[scene.locale])


# --- the rest --------------------------------------------------------------------------------------------------------


def _called(scene: Scene, part: MessagePart) -> Move:
    """Run the action that was asked for, once for each time it was; it tells its result itself, or in its notes."""
    runs = [step for step in scene.context.steps if step.action == part.action]
    if len(runs) <= part.earlier:
        return _act(scene, part.action)
    if runs[part.earlier].notes:
        return Move(FINISH, "\n".join(runs[part.earlier].notes))
    if _is_answered(scene):
        return Move(FINISH, NOTHING_TO_ADD)
    return _ended(scene, part.action, say.TALK["ack"])


def _is_answered(scene: Scene) -> bool:
    """Return whether something was said in this turn."""
    return scene.context.history[-1:] != () and scene.context.history[-1].role is MessageRole.ASSISTANT


def _about(scene: Scene, part: MessagePart) -> Move:
    if part.about == "media":
        able = scene.context.abilities
        lines = (say.MEDIA, say.HEARING[able.hears], say.SEEING[able.reads_pictures])
        return Move(FINISH, " ".join(each[scene.locale] for each in lines))
    told = say.ABOUT.get(part.about)
    return Move(FINISH, _what_can_be_done(scene) if told is None else told[scene.locale])


def _what_can_be_done(scene: Scene) -> str:
    """Return what to say for each action that is on."""
    shown = [said[scene.locale] for action, said in say.EXAMPLES.items() if scene.is_on(action)]
    return "\n".join((say.CAN_DO[scene.locale], *dict.fromkeys(shown), say.SEE_ALL[scene.locale]))


def _chat(scene: Scene, part: MessagePart) -> Move:
    if part.about == "clock":
        return Move(FINISH, say.CLOCK[scene.locale].format(now=moment(scene.context.now, scene.locale)))
    if part.about == "ack" and means_yes(part.text) and not acknowledges(part.text):
        return Move(FINISH, say.TALK["yes"][scene.locale])
    kind = part.about or mood(part.text)
    if not kind and _is_answered(scene):
        return Move(FINISH, NOTHING_TO_ADD)
    return Move(FINISH, say.TALK[kind or courtesy(part.text) or "chat"][scene.locale])


_MOVES: Final[Mapping[Intent, Callable[[Scene, MessagePart], Move]]] = {
    Intent.KEEP: _keep,
    Intent.FIND: _find,
    Intent.LIST: _list,
    Intent.CHANGE: _change,
    Intent.REMOVE: _remove,
    Intent.WORLD: _find,
    Intent.ABOUT: _about,
    Intent.CHAT: _chat,
    Intent.ACTION: _called,
}
