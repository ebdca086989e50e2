"""Read what a message wants: cut it into parts, mostly one, and tell what each is for.

How a part begins decides where it does ("remember that …", `core.limited.frames`); the rest is judged by examples
(`core.limited.likeness`). Every part is a slice of the message, so that what is kept of it are the person's own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from core.aside import aside
from core.errors import ProviderError
from core.limited import frames
from core.limited.likeness import Guess, Intent, Likeness
from core.limited.scene import Scene
from core.text.unicode import flat
from core.times.grammar import find_time
from core.times.reading import Once, Repeated, Unclear

KEEP_FROM: Final = 0.6
"""The chance from which a statement is kept; from ASK_FROM on, the person is asked."""

ASK_FROM: Final = 0.25
TOLD_FROM: Final = 0.5
"""The chance from which a question is taken for one about the bot, or for all that is kept."""

_MAX_PARTS: Final = 40
_MAX_JUDGED_CHARS: Final = 1000
_BREAK: Final = re.compile(r"(?<=[.!?…])[\"”')]*\s+|\s*\n\s*")
_ABBREVIATION: Final = re.compile(
    r"(?:^|[\s(])(?:dra?|sra?|srta|profa?|mrs?|ms|st|av|al|tel|cel|nro|num|apto?|ap|etc|ex|e\.g|i\.e|obs|pq|vs|p|c|w|"
    r"[ap]\.m|no|ref|dept?o?|exma?|exmo|sto|sta|(?<!\bas )(?<!\bat )(?<!\bdia )(?<!\blas )\d{1,2})\.$"
)
_ABBREVIATION_CHARS: Final = 16


@dataclass(frozen=True, slots=True)
class Part:
    """A slice of the message, what it is for, and why it is taken for that.

    `about` says more: of a question about the bot and of small talk, which; of a removal, what stands beside its verb.
    `action` is the name of the action to run, for Intent.ACTION, `earlier` how many parts before ask for the same.
    `is_sure` is False where the person is asked before anything is kept, and for a question that may be about the
    world.
    """

    intent: Intent
    text: str
    because: str = ""
    about: str = ""
    is_sure: bool = True
    action: str = ""
    earlier: int = 0


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sentence or line at a place in the message, and what its frame says that it is for (None: nothing)."""

    start: int
    end: int
    intent: Intent | None = None
    because: str = ""
    about: str = ""
    action: str = ""


async def read(scene: Scene, likeness: Likeness) -> tuple[Part, ...]:
    """Return the parts of the message, at least one."""
    pieces = await aside(len(scene.message), partial(_pieces, scene))
    found: list[Part] = []
    for piece in await aside(len(scene.message), partial(_joined, scene.message, pieces)):
        text = scene.message[piece.start : piece.end]
        if piece.intent is None or piece.intent is Intent.FIND:
            found.append(await _judged(scene, text, likeness, asks=piece.intent is Intent.FIND))
        else:
            earlier = sum(each.action == piece.action for each in found) if piece.action else 0
            found.append(Part(piece.intent, text, piece.because, piece.about, action=piece.action, earlier=earlier))
    serious = [part for part in found if part.intent is not Intent.CHAT]
    return tuple(serious or found[-1:]) or (Part(Intent.CHAT, scene.message, "it has no words"),)


# --- by their frames -------------------------------------------------------------------------------------------------


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each sentence or line of a text stands."""
    start = 0
    for match in _BREAK.finditer(text):
        begun = flat(text[max(start, match.start() - _ABBREVIATION_CHARS) : match.start()])
        if "\n" not in match[0] and _ABBREVIATION.search(begun):
            continue
        if text[start : match.start()].strip():
            yield start, match.start()
        start = match.end()
    if text[start:].strip():
        yield start, len(text.rstrip())


def _pieces(scene: Scene) -> list[_Piece]:
    message = scene.message
    spans = list(sentences(message))
    if len(spans) > _MAX_PARTS:
        spans = [*spans[: _MAX_PARTS - 1], (spans[_MAX_PARTS - 1][0], len(message.rstrip()))]
    return [_framed(scene, _Piece(*span)) for span in spans]


def _framed(scene: Scene, piece: _Piece) -> _Piece:
    """Return the piece with what its frame says that it is for."""
    text = scene.message[piece.start : piece.end]

    def is_for(intent: Intent, because: str = "", about: str = "") -> _Piece:
        return replace(piece, intent=intent, because=because or f"begins with “{_head(text)}”", about=about)

    if action := _called(scene, text):
        return replace(piece, intent=Intent.ACTION, action=action, because=f"asks for {action}")
    if small := frames.talk(text):
        return is_for(Intent.CHAT, f"is nothing but small talk ({small})", small)
    for name, about in (("private", "keep_out"), ("leave", "leave"), ("if", "what_if")):
        if frames.has(name, text) and (name != "private" or frames.kept_from(text) is None):
            return is_for(Intent.CHAT, about=about)
    if frames.listed(text):
        return is_for(Intent.CHANGE, "puts something on a list or takes it off")
    if frames.has("list", text):
        return is_for(Intent.LIST)
    start = frames.kept_from(text)
    if start is not None and not text.rstrip().endswith("?"):
        kept = replace(piece, start=piece.start + start) if text[start:].strip() else replace(piece, start=piece.end)
        return replace(kept, intent=Intent.KEEP, because=f"begins with “{_head(text)}”")
    if (verb := frames.removed(text)) and not _asks(text, verb):
        said = text[verb[0] : verb[1]].strip(" ,.;!")
        return is_for(Intent.REMOVE, f"has “{said}”", text[verb[1] :].strip())
    if text.endswith("?") or frames.has("asks", text):
        return is_for(Intent.FIND, "is a question")
    end = frames.kept_until(text)
    if end is not None:
        return replace(piece, end=piece.start + end, intent=Intent.KEEP, because="ends with the wish to keep it")
    return piece


def _asks(text: str, verb: tuple[int, int]) -> bool:
    """Return whether a text with a verb of deleting is a question: "did you delete it?", "what did I forget?"."""
    return frames.has("asks", text) and verb[0] > 0 and not frames.opened(text) >= verb[0]


def _head(text: str) -> str:
    return " ".join(text.split()[:3])


def _called(scene: Scene, text: str) -> str:
    """Return the name of the action whose arguments can be read off the sentence; "" for none."""
    context = scene.context
    reads = (info for info in context.actions if info.reads)
    return next((info.name for info in reads if info.reads and info.reads(text, context.now, context.locale)), "")


def _joined(message: str, pieces: Sequence[_Piece]) -> list[_Piece]:
    """Join the pieces that belong together: what follows "remember that", the lines of a list, plain statements."""
    found: list[_Piece] = []
    for at, piece in enumerate(pieces):
        last = found.pop() if found else None
        if last is None:
            found.append(piece)
        elif _goes_on(message, last, piece, is_end=at == len(pieces) - 1):
            found.append(replace(last, start=piece.start if _is_bare(last) else last.start, end=piece.end))
        elif last.intent is None and (piece.intent in {None, Intent.REMOVE} or _is_bare(piece)):
            found.append(replace(piece, start=last.start, end=last.end if _is_bare(piece) else piece.end))
        else:
            found += [last, piece]
    return found


def _goes_on(message: str, last: _Piece, piece: _Piece, *, is_end: bool) -> bool:
    """Return whether a piece belongs to what the one before asks to keep: more of it, or lines of a list or a mail."""
    if last.intent is not Intent.KEEP:
        return False
    is_line = "\n" in message[last.end : piece.start]
    return _is_bare(last) or piece.intent in {None, Intent.CHAT} or (is_line and not (is_end and piece.intent is Intent.FIND))


def _is_bare(piece: _Piece) -> bool:
    """Return whether a piece asks to keep something, and says no more: "Save this:"."""
    return piece.intent is Intent.KEEP and piece.start >= piece.end


# --- by examples -----------------------------------------------------------------------------------------------------


async def _judged(scene: Scene, text: str, likeness: Likeness, *, asks: bool) -> Part:
    try:
        guesses = await likeness.judge(text[:_MAX_JUDGED_CHARS])
    except ProviderError:
        guesses = [Guess(Intent.FIND if asks else Intent.KEEP, 0.5)]
    return await aside(len(text), partial(_part, scene, text, guesses, asks=asks))


def _part(scene: Scene, text: str, guesses: Sequence[Guess], *, asks: bool) -> Part:
    """Return the part by how likely each intent is, and by what its words give away."""
    chance = {guess.intent: guess.chance for guess in guesses}
    told = ", ".join(f"{guess.intent} {guess.chance:.2f}" for guess in guesses[:3])
    because = f"{'is a question; ' if asks else ''}examples say {told}"
    best = guesses[0].intent
    statement = chance.get(Intent.KEEP, 0) + chance.get(Intent.CHANGE, 0)
    if best in {Intent.LIST, Intent.ABOUT} and guesses[0].chance >= TOLD_FROM:
        about = frames.about(text) if best is Intent.ABOUT else ""
        return Part(best, text, because, about)
    if asks:
        if best is Intent.CHAT and guesses[0].chance >= KEEP_FROM:
            return Part(Intent.CHAT, text, because)
        is_own = chance.get(Intent.FIND, 0) >= chance.get(Intent.WORLD, 0)
        return Part(Intent.FIND, text, because, is_sure=is_own)
    is_changed = _says_changed(text, chance)
    if _is_appointment(text, scene):
        statement = max(statement, KEEP_FROM)
        because += "; names a time"
    if is_changed and statement >= ASK_FROM:
        return Part(Intent.CHANGE, text, because, is_sure=statement >= KEEP_FROM)
    if best is Intent.FIND and statement < KEEP_FROM:
        return Part(Intent.FIND, text, because, is_sure=statement < ASK_FROM)
    if best is Intent.REMOVE and guesses[0].chance >= TOLD_FROM:
        return Part(Intent.REMOVE, text, because, about=text)
    if statement >= ASK_FROM:
        return Part(Intent.KEEP, text, because, is_sure=statement >= KEEP_FROM)
    if best is Intent.WORLD:
        return Part(Intent.WORLD, text, because)
    return Part(Intent.CHAT, text, because)


def _says_changed(text: str, chance: dict[Intent, float]) -> bool:
    """Return whether a statement says that something is otherwise now."""
    if frames.has("both", text):
        return False
    says = frames.has("change", text) or frames.has("correct", text)
    change, keep = chance.get(Intent.CHANGE, 0), chance.get(Intent.KEEP, 0)
    return change >= keep or (says and change >= keep / 5)


def _is_appointment(text: str, scene: Scene) -> bool:
    """Return whether a statement names an hour ahead of something: "sexta 17h30 dentista"."""
    found = find_time(text, scene.context.now, scene.locale)
    if found is None or not found.without(text):
        return False
    time = found.time
    return isinstance(time, Unclear) or (isinstance(time, Once | Repeated) and time.has_hour)
