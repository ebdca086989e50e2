"""What the person wants in this turn: every wish of the message, or the wish that a reply to a question completes.

The open question comes with the prompt as data (`OpenQuestion`): nothing is read off the bot's own sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from core.aside import aside
from core.errors import ProviderError
from core.limited.change import change, correction
from core.limited.cues import Cues, Intent
from core.limited.extract import content, sentences
from core.limited.likeness import Likeness
from core.limited.scene import UPDATE, Scene
from core.limited.words import stems, words
from core.text.replies import MAX_CHOICE_WORDS, means_no, means_yes, numbered
from core.text.unicode import flat
from core.times.grammar import find_time
from core.times.reading import Once, Repeated, Unclear
from core.types import OpenQuestion

CERTAIN = 0.25
"""Below this lead the person is asked: in cross-validation, 19 of 20 guesses above it were right."""

LIKELY = 0.1
"""The lead that is enough for what does no harm: saving, which is confirmed and can be undone; searching, with which
every deletion starts; and small talk, which says that nothing was saved."""

_MAX_SENTENCES = 40
_SMALL = frozenset(
    {
        Intent.GREETING,
        Intent.THANKS,
        Intent.BYE,
        Intent.HOW,
        Intent.ACK,
        Intent.CHAT,
        Intent.CANCEL,
        Intent.ABOUT,
        Intent.CLOCK,
    }
)
_OFFHAND = frozenset({Intent.UNSURE, Intent.TASK})
_OPEN = frozenset({Intent.UNSURE, Intent.CHAT, Intent.ACK})
_IT_IS = re.compile(
    r"^(?:(?:now|agora|ahora),? )?(?:é|eh|it'?s|it is|is|es|la|ele é|ela é)(?: (?:now|agora|ahora))?\s+|^[:=\s]+"
)
_NO_VALUE = re.compile(r"(?:nao|no|n|wait|espera|you|your|you're|voce|vc|i'm|i|eu|we|tu|eres|que|what)\b")
_SAVE_IT = re.compile(r"^(?:pode )?(?:guard|salv|sav|anot|lembr|stor|keep|remember|regist)")
_LOOK_IT_UP = re.compile(r"^(?:pode )?(?:procur|busc|search|look|find|ach|pesquis|consult)")
_MAX_CHOICE_WORDS = 5
_FEW_WORDS = (2, 3)
_IDLE = frozenset({Intent.CHAT, Intent.ABOUT})
_MAX_VALUE_WORDS = 12
_MAX_PLAIN_VALUE_WORDS = 5

NEW = "new"
"""The option to save what was told as a new memory."""

_NEW_WORDS = "nova novo new nueva nuevo"
SAVE_OR_SEARCH = ("save", "search", "neither")
"""The options of the question of that name."""


class Kind(StrEnum):
    """Which question is open."""

    SAVE_OR_SEARCH = "save-or-search"
    SAVE_WHAT = "save-what"
    DELETE_WHAT = "delete-what"
    UPDATE_WHICH = "update-which"
    NEW_VALUE = "new-value"
    NOT_FOUND = "not-found"


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing that the person wants, and the sentences that say so.

    `targets` are the ids of the memories it is about, `agreed` says that the person chose them. `value` is a new value
    that came without its subject; `corrects` says that it replaces a value quoted last. `action` is the name of the
    action to run, for Intent.ACTION, and `earlier` the number of wishes for the same one before it.
    """

    intent: Intent
    said: tuple[str, ...]
    targets: tuple[str, ...] = ()
    agreed: bool = False
    value: str = ""
    corrects: bool = False
    action: str = ""
    earlier: int = 0

    @property
    def text(self) -> str:
        """The sentences as one text."""
        return " ".join(self.said)


async def understand(scene: Scene, cues: Cues, likeness: Likeness) -> tuple[Wish, ...]:
    """Return what the person wants: at least one wish, in the order in which it was said."""
    asked, called = scene.context.question, await aside(len(scene.message), partial(_called, scene, cues))
    if asked is not None and asked.kind in _COMPLETIONS and not called:
        said = len(scene.message) + len(scene.before)
        wish = await aside(said, partial(_answered, asked, scene, cues))
        if wish is not None:
            return (wish,)
    return await _fresh(scene, cues, likeness, called)


# --- a reply to an open question -------------------------------------------------------------------------------------


def _answered(asked: OpenQuestion, scene: Scene, cues: Cues) -> Wish | None:
    """Return the wish that the reply completes, or None if it is no reply."""
    if means_no(scene.message):
        return Wish(Intent.CANCEL, (scene.message,))
    return _COMPLETIONS[Kind(asked.kind)](asked, scene, cues)


def _save_or_search(asked: OpenQuestion, scene: Scene, _: Cues) -> Wish | None:
    told, before = flat(scene.message).strip(), tuple(sentences(scene.before))
    if len(words(told)) > _MAX_CHOICE_WORDS:
        return None
    choice = picked(scene.message, asked.options, by_words=False)
    if _SAVE_IT.match(told) or choice == (0,):
        return Wish(Intent.SAVE, before)
    if _LOOK_IT_UP.match(told) or choice == (1,):
        return Wish(Intent.ASK, before)
    return Wish(Intent.CANCEL, before) if choice == (2,) else None


def _what(intent: Intent) -> Callable[[OpenQuestion, Scene, Cues], Wish | None]:
    """Return the reader of a reply that names what was missing."""

    def named(_: OpenQuestion, scene: Scene, cues: Cues) -> Wish | None:
        told = cues.intent(scene.message)
        return None if told in _SMALL - {Intent.CHAT} else Wish(intent, tuple(sentences(scene.message)))

    return named


def _names_an_option(scene: Scene, cues: Cues) -> bool:
    """Return whether the reply may name one of the options by its words: it asks nothing and wants nothing else."""
    told = cues.intent(scene.message)
    return told in {None, Intent.UNSURE, Intent.ASK} and not cues.has("ask", scene.message)


def _update(asked: OpenQuestion, scene: Scene, cues: Cues) -> Wish | None:
    before = tuple(sentences(scene.before))
    contents = {item.id: item.content for item in scene.context.memories} | {NEW: _NEW_WORDS}
    texts = tuple(contents.get(option, "") for option in asked.options)
    chosen = picked(scene.message, texts, by_words=_names_an_option(scene, cues))
    if means_yes(scene.message) and len(asked.options) in {1, 2}:  # this one, or a new one
        chosen = (0,)
    if len(chosen) != 1:
        return None
    option = asked.options[chosen[0]]
    if option == NEW:
        statement = change(cues, scene.before).statement or scene.before
        return Wish(Intent.SAVE, (statement,), agreed=True)
    return Wish(Intent.UPDATE, before, (option,), agreed=True)


def _new_value(asked: OpenQuestion, scene: Scene, cues: Cues) -> Wish | None:
    if not is_value(scene.message) or cues.intent(scene.message) in {
        Intent.ASK,
        Intent.DELETE,
        Intent.TASK,
        Intent.LIST,
    }:
        return None
    return Wish(Intent.UPDATE, (scene.message,), asked.options, agreed=True, value=_value(scene.message))


def _missing(asked: OpenQuestion, scene: Scene, cues: Cues) -> Wish | None:
    """Save the value that was not found; anything but a value is a new message."""
    told, reply = cues.intent(scene.message), flat(scene.message)
    if _SAVE_IT.match(reply) and len(words(reply)) <= _MAX_CHOICE_WORDS:
        return None if "?" in scene.before or cues.has("ask", scene.before) else Wish(Intent.SAVE, (scene.before,))
    own = told not in {None, Intent.UNSURE} and not _IT_IS.match(reply)
    own = own or (len(words(reply)) > _MAX_CHOICE_WORDS and not _IT_IS.match(reply))  # a sentence of its own
    if own or not asked.subject or _NO_VALUE.match(reply) or not is_value(scene.message):
        return None
    return Wish(Intent.SAVE, (f"{asked.subject}: {_value(scene.message)}",))


def _value(message: str) -> str:
    text = " ".join(message.split())
    match = _IT_IS.match(flat(text))
    return text[match.end() :] if match else text


def picked(message: str, options: tuple[str, ...], *, by_words: bool) -> tuple[int, ...]:
    """Return the indices of the options that the reply names: by number, all of them, or (`by_words`) by their words.

    A question is no reply: "what is the gate code?" must never pick the gate code from a list.
    """
    chosen = numbered(message, len(options))
    if chosen is not None or not by_words or "?" in message or len(words(message)) > MAX_CHOICE_WORDS:
        return chosen or ()
    return _by_words(message, options)


def _by_words(message: str, options: tuple[str, ...]) -> tuple[int, ...]:
    """Return the one option that holds more of the reply's words than any other."""
    named = stems(message)
    scores = [len(named & stems(option)) for option in options]
    best = max(scores, default=0)
    return (scores.index(best),) if best and scores.count(best) == 1 else ()


def is_value(message: str) -> bool:
    """Return whether the reply may be the value that was asked for: not a question, and short; longer with a number."""
    most = _MAX_VALUE_WORDS if any(letter.isdigit() for letter in message) else _MAX_PLAIN_VALUE_WORDS
    return 0 < len(words(message)) <= most and "?" not in message


_COMPLETIONS: dict[str, Callable[[OpenQuestion, Scene, Cues], Wish | None]] = {
    Kind.SAVE_OR_SEARCH: _save_or_search,
    Kind.SAVE_WHAT: _what(Intent.SAVE),
    Kind.DELETE_WHAT: _what(Intent.DELETE),
    Kind.UPDATE_WHICH: _update,
    Kind.NEW_VALUE: _new_value,
    Kind.NOT_FOUND: _missing,
}


# --- a new message ---------------------------------------------------------------------------------------------------


def _called(scene: Scene, cues: Cues) -> dict[str, str]:
    """Map each sentence that asks for an action, by what the action reads or by a cue, to the action's name."""
    context = scene.context
    actions = [info for info in context.actions if info.cues or info.reads]
    pieces = sentences(scene.message)[:_MAX_SENTENCES] if actions else []
    found: dict[str, str] = {}
    for piece in pieces:
        read = ((info.name, info.reads(piece, context.now, context.locale)) for info in actions if info.reads)
        readers = (name for name, arguments in read if arguments is not None)
        if name := next(readers, "") or cues.called(actions, piece):
            found[piece] = name
    return found


async def _fresh(scene: Scene, cues: Cues, likeness: Likeness, called: Mapping[str, str]) -> tuple[Wish, ...]:
    pieces, labels = await aside(len(scene.message), partial(_labelled, cues, scene.message))
    own = [(piece, label) for piece, label in zip(pieces, labels, strict=True) if piece not in called]
    if any(label is Intent.KEEP_OUT for _, label in own):
        return (Wish(Intent.KEEP_OUT, tuple(pieces)),)
    pieces = [piece for piece, _ in own]
    labels = [await _second_thought(cues, piece, label, likeness) for piece, label in own]
    unknown = [piece for piece, label in zip(pieces, labels, strict=True) if label is None]
    guess = await _guess(" ".join(unknown), likeness) if unknown else Intent.UNSURE
    grouped: dict[Intent, list[str]] = {}
    for piece, label in zip(pieces, labels, strict=True):
        intent = label or guess
        if intent in _OFFHAND and _is_appointment(piece, scene):
            intent = Intent.SAVE
        grouped.setdefault(intent, []).append(piece)
    wishes = [Wish(intent, tuple(said)) for intent, said in grouped.items()]
    serious = [wish for wish in wishes if wish.intent not in _SMALL]
    decided = [wish for wish in serious if wish.intent is not Intent.UNSURE]
    names = list(called.values())
    calls = [
        Wish(Intent.ACTION, (piece,), action=name, earlier=names[:at].count(name))
        for at, (piece, name) in enumerate(called.items())
    ]
    chosen = decided or serious or wishes[-1:] or [Wish(Intent.UNSURE, (scene.message,))]
    chosen = [*decided, *calls] if calls else chosen  # last: one of them may end the turn
    said = len(scene.message) + len(scene.before)
    return await aside(said, lambda: tuple(_completed(scene, cues, wish) for wish in chosen))


def _is_appointment(piece: str, scene: Scene) -> bool:
    """Return whether a sentence is no question, and begins with an hour ahead: "sexta 17h30 dentista".

    It is kept, as the person is then offered a reminder of it.
    """
    found = None if piece.rstrip().endswith("?") else find_time(piece, scene.context.now, scene.locale)
    if found is None or not found.without(piece):
        return False
    time = found.time
    has_hour = isinstance(time, Unclear) or (isinstance(time, Once | Repeated) and time.has_hour)
    return has_hour and found.spans[0][0] == 0


def _labelled(cues: Cues, message: str) -> tuple[list[str], list[Intent | None]]:
    """Return the message's sentences, and what each is for by its words (None: unknown)."""
    pieces = sentences(message)[:_MAX_SENTENCES]
    return pieces, _with_context(cues, pieces, [cues.intent(piece) for piece in pieces])


def _with_context(cues: Cues, pieces: Sequence[str], labels: list[Intent | None]) -> list[Intent | None]:
    """Let a request to save apply to the sentences around it that show no purpose of their own."""
    bare = [label is Intent.SAVE and not content(cues, piece) for piece, label in zip(pieces, labels, strict=True)]
    begun = [cues.patterns["save-start"].match(flat(cues.opened(piece))) is not None for piece in pieces]
    result: list[Intent | None] = []
    for index, label in enumerate(labels):
        spoken_for = any(bare) or any(begun[:index])
        result.append(Intent.SAVE if spoken_for and (label is None or label in _OPEN) else label)
    return result


async def _second_thought(cues: Cues, piece: str, label: Intent | None, likeness: Likeness) -> Intent | None:
    """Return ABOUT for a question to the bot that is plainly about the bot itself; else the label as it was."""
    if label is not Intent.ASK or not cues.has("to-us", piece):
        return label
    try:
        intent, lead = await likeness.judge(piece)
    except ProviderError:
        return label
    return intent if intent is Intent.ABOUT and lead >= CERTAIN else label


async def _guess(text: str, likeness: Likeness) -> Intent:
    """Return what similar sentences are for; UNSURE where the lead is too small or the embedder is down."""
    try:
        intent, lead = await likeness.judge(text)
    except ProviderError:
        return Intent.UNSURE
    worth_asking = intent in {Intent.CHAT, Intent.TASK} and any(letter.isdigit() for letter in text)
    idle = intent in _IDLE and lead >= LIKELY
    if lead < CERTAIN and len(words(text)) in _FEW_WORDS and not idle:
        return Intent.ASK  # most likely the name of a thing; looking for it does no harm
    if intent is Intent.ASK and any(letter.isdigit() for letter in text):
        intent = Intent.SAVE  # no question, and it tells a number
    enough = CERTAIN if intent in {Intent.TASK, Intent.UPDATE} else LIKELY
    return intent if lead >= enough and not worth_asking else Intent.UNSURE


def _completed(scene: Scene, cues: Cues, wish: Wish) -> Wish:
    """Complete "save that" and "actually it's X" with what was said just before."""
    if wish.intent is Intent.UPDATE:
        return _corrected(scene, cues, wish)
    if wish.intent is not Intent.SAVE or any(content(cues, piece) for piece in wish.said) or not scene.before:
        return wish
    if scene.context.quotes:  # "that" is what somebody else said
        return wish
    told = cues.intent(scene.before)
    open_ended = told is None or told in {Intent.CHAT, Intent.UNSURE, Intent.SAVE}
    return Wish(Intent.SAVE, tuple(sentences(scene.before))) if open_ended else wish


def _corrected(scene: Scene, cues: Cues, wish: Wish) -> Wish:
    """Apply a correction that names no subject to the one memory quoted last; UNSURE if there is not exactly one."""
    value = correction(cues, wish.text)
    if not value or scene.ran(UPDATE):  # what was quoted is out of view once it was changed
        return wish
    if len(scene.quoted) != 1:
        return Wish(Intent.UNSURE, wish.said)
    return Wish(Intent.UPDATE, wish.said, (scene.quoted[0].id,), agreed=True, value=value, corrects=True)
