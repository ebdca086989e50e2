"""Read what a message wants: cut it into parts, mostly one, and tell what each is for.

How a part begins decides where it does ("remember that …", `core.limited.frames`); the rest is judged by examples
(`core.limited.likeness`). Every part is a slice of the message, so that what is kept of it are the person's own words,
or of what the message points at: "guarda isso" as a reply.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Final

from core.enclosures import Speaker, pointed_words
from core.errors import ProviderError
from core.limited import enclosed, frames
from core.limited.change import MAX_CHARS, pointed
from core.limited.clauses import cut
from core.limited.cutting import gives_value, sentences, wishes
from core.limited.likeness import Guess, Intent, Likeness, shipped
from core.limited.scene import Scene
from core.limited.values import swapped, values
from core.tasks import aside
from core.text.assertions import asks_to_save
from core.text.pointing import asks_for_work, asks_past, points_only
from core.text.senses import MemoryWords, is_kind, senses, subject
from core.text.subject import asked_words, held_words
from core.text.unicode import flat
from core.text.words import FUNCTION_WORDS, folded_words
from core.times.grammar import find_time
from core.times.reading import Once, Recurrence, Unclear

KEEP_FROM: Final = 0.9
"""The chance from which a statement is kept; from ASK_FROM on, the person is asked."""

ASK_FROM: Final = 0.25
WORLD_FROM: Final = 0.8
"""The chance from which a question is answered by what is surely meant alone, as it is one about the world."""

REMOVE_FROM: Final = 0.25
"""The chance from which it is looked for something to delete, which is proposed: that does no harm."""

TALK_FROM: Final = 0.9
"""The chance from which a question is none: "who cares?"."""

TOLD_FROM: Final = 0.5
"""The chance from which a question is taken for one about the bot, or for all that is kept."""

_CHANGE_IF_SAID: Final = 0.05
"""How likely, of the chance that it tells something new, a change must be where words say that something changed."""

BEFORE: Final = "before"
"""What a question is about that asks for what was so before what was told last: "and before?"."""

KEEP_WHAT: Final = "keep-what"
REMOVE_WHAT: Final = "remove-what"
"""The kinds of question that a whole message answers."""

_ASKING: Final = frozenset({Intent.FIND, Intent.WORLD, Intent.CHAT, Intent.LIST, Intent.ABOUT})
"""What a question for what was before may be taken for: alone it says so little."""

_TOLD: Final = frozenset({Intent.KEEP, Intent.CHANGE, Intent.REMOVE})
_BARE_WORDS: Final = 3
_STATED: Final = frozenset({Intent.CHAT, Intent.CHANGE, Intent.WORLD, Intent.FIND})
_NAMED: Final = _STATED | {Intent.KEEP}
_ONE: Final = frozenset("one ones disso disto dessa desse deste desta".split())
"""Words that stand for what was told, and name nothing."""

_CRIED: Final = frozenset({"cry", "grief"})
_FEW_WORDS: Final = 2
_PASTED_LINES: Final = 2
"""A text with so many line breaks is a list, a mail, or a card."""

_ANYTHING: Final = frozenset("stuff things something coisas algo cosas me mim".split())
_MAX_PARTS: Final = 12
_MAX_JUDGED_CHARS: Final = 1000


@dataclass(frozen=True, slots=True)
class MessagePart:
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
    otherwise: MessagePart | None = None
    """What it is for if nothing is found to delete; for a removal that one word alone may ask for.

    It may be more of what the part before asks to keep, or to be reminded of: "note that it is 30 min in the oven, then
    take the tray out".
    """


@dataclass(frozen=True, slots=True)
class _Piece:
    """A wish at a place in the message, and what its frame says that it is for (None: nothing).

    `joins`: it may belong to what the one before asks to keep.
    """

    start: int
    end: int
    intent: Intent | None = None
    because: str = ""
    about: str = ""
    action: str = ""
    joins: bool = False


async def read(scene: Scene, likeness: Likeness) -> tuple[MessagePart, ...]:
    """Return the parts of the message, at least one."""
    pieces = await aside(len(scene.message), partial(_pieces, scene))
    found: list[MessagePart] = []
    kept_at: int | None = None
    for piece in await aside(len(scene.message), partial(_joined, scene.message, pieces)):
        text = scene.message[piece.start : piece.end]
        if piece.intent is None or piece.intent is Intent.FIND:
            found.append(await _judged(scene, text, likeness, asks=piece.intent is Intent.FIND))
        else:
            earlier = sum(each.action == piece.action for each in found) if piece.action else 0
            part = MessagePart(piece.intent, text, piece.because, piece.about, action=piece.action, earlier=earlier)
            if piece.about == "private":
                part = _unkept(part)
            if piece.joins and piece.intent is Intent.REMOVE and kept_at is not None and found:
                whole = replace(found[-1], text=scene.message[kept_at : piece.end])
                part = replace(part, otherwise=whole)
            found.append(part)
        kept_at = piece.start if piece.intent in {Intent.KEEP, Intent.ACTION} else None
    found = [_beside(part) for part in found] if len(found) > 1 else found
    serious = [part for part in found if part.intent is not Intent.CHAT or part.about == "clock"]
    parts = serious or found[-1:] or [MessagePart(Intent.CHAT, scene.message, "it has no words")]
    told = [part for part in parts if part.intent in _TOLD and not frames.listed(part.text)]
    if len(told) > 1 and any(part.intent is not Intent.REMOVE for part in told):
        # all that is told is kept, or replaces what it changes
        parts = [
            replace(part, intent=Intent.KEEP) if part in told and part.intent is Intent.CHANGE else part
            for part in parts
        ]
    parts = [_completed(scene, _stated(part)) for part in parts]
    return (_pointed(scene, parts) or tuple(parts)) if scene.message else tuple(parts)


def _beside(part: MessagePart) -> MessagePart:
    """Return what may be told in passing, beside other wishes, as talk: it names nobody, and no value."""
    is_doubtful = part.intent in {Intent.KEEP, Intent.CHANGE} and not part.is_sure
    names = any(word[:1].isupper() for word in part.text.split()[1:]) or any(map(str.isdigit, part.text))
    return replace(part, intent=Intent.CHAT) if is_doubtful and not names else part


def _stated(part: MessagePart) -> MessagePart:
    """Return an order to change something as a statement of what it is then; "they changed the code to …", too.

    That is left as it is where its value has a form (a day, an amount), by which it finds its place.
    """
    if part.intent not in {Intent.CHANGE, Intent.KEEP}:
        return part
    order, told = frames.ordered(part.text), frames.ordered(part.text, "told")
    if order is None and told is not None and not values(part.text) and any(map(is_kind, senses(told[0]))):
        order = told
    return part if order is None else replace(part, text=f"{order[0]}: {order[1]}")


def _pointed(scene: Scene, parts: Sequence[MessagePart]) -> tuple[MessagePart, ...]:
    """Return what a message means that is about words elsewhere; () for one that is not.

    To keep them is possible; to sum up, translate or explain them takes a model.
    """
    message, quotes = scene.message, scene.context.quotes
    is_alone = len(parts) == 1 or all(part.intent in {Intent.KEEP, Intent.CHANGE, Intent.CHAT} for part in parts)
    if enclosed.asks_to_keep(scene) and is_alone and parts[0].intent is not Intent.ACTION:
        return (MessagePart(Intent.KEEP, enclosed.named(scene), "asks to keep what came along"),)
    if quotes and points_only(message):
        is_kept = frames.kept_from(message) is not None or asks_to_save(message)
        if is_kept and (text := pointed_words(quotes)):
            return (MessagePart(Intent.KEEP, text, "asks to keep what it replies to"),)
        if quotes[0].speaker is Speaker.OTHER and all(_asks_of(part) for part in parts):
            return (MessagePart(Intent.CHAT, message, "asks about what it replies to", about="work"),)
    if asks_for_work(message):
        return (MessagePart(Intent.CHAT, message, "asks for work on a text", about="work"),)
    return ()


def _asks_of(part: MessagePart) -> bool:
    """Return whether a part may ask for something of a quote: it is a question, or said of nothing that is known."""
    return part.intent in {Intent.FIND, Intent.WORLD} or (part.intent is Intent.CHAT and part.about in {"", "chat"})


def _completed(scene: Scene, part: MessagePart) -> MessagePart:
    """Complete "remember that" with what was said just before, and read the answer to "what should I keep?"."""
    asked = scene.context.question.kind if scene.context.question else ""
    if part.intent in _ASKING and asks_before(scene, part.text):
        return replace(part, intent=Intent.FIND, about=BEFORE, because=f"{part.because}; asks what was before that")
    if part.intent is Intent.KEEP and not part.text and not scene.context.files and _may_be_kept(scene):
        return replace(part, text=scene.before, because=f"{part.because}; means what was said before")
    is_talk = part.intent is Intent.CHAT and part.about != ""
    is_statement = part.intent is not Intent.FIND or not (part.text.endswith("?") or frames.has("asks", part.text))
    if asked == KEEP_WHAT and part.intent in _NAMED and is_statement and not is_talk:
        return MessagePart(Intent.KEEP, part.text, "answers what is to be kept")
    if asked == REMOVE_WHAT and part.intent in {Intent.KEEP, Intent.FIND, Intent.CHAT, Intent.CHANGE} and not is_talk:
        return MessagePart(Intent.REMOVE, part.text, "answers what is to be deleted", about=part.text)
    return part


def asks_before(scene: Scene, text: str) -> bool:
    """Return whether a question asks what was so before what was told last, and names nothing else.

    "And before" is one without its sign, too.
    """
    is_question = text.endswith("?") or frames.has("asks", text) or len(text.split()) <= _BARE_WORDS
    shown = scene.told_last
    if shown is None or not is_question or not asks_past(text):
        return False
    naming = [word for word in asked_words(text) if word.names and flat(word.text) not in _ONE]
    held = held_words(naming, MemoryWords(shown.content, shown.bindings))
    return len(held) == len(naming)


def _may_be_kept(scene: Scene) -> bool:
    """Return whether what was said before, and nobody else's words, may be what "remember that" means."""
    before = scene.before
    is_other = frames.talk(before) or frames.removed(before) or before.endswith("?") or len(before.split()) < _FEW_WORDS
    return not scene.context.quotes and not is_other


# --- by their frames -------------------------------------------------------------------------------------------------


def _pieces(scene: Scene) -> list[_Piece]:
    message = scene.message
    spans = list(sentences(message))
    if message.strip().count("\n") >= _PASTED_LINES and not message.rstrip().endswith("?"):
        return [_pasted(scene, spans)]
    if len(spans) > _MAX_PARTS:
        spans = [*spans[: _MAX_PARTS - 1], (spans[_MAX_PARTS - 1][0], len(message.rstrip()))]
    cuts = (each for span in spans for each in wishes(message, *span))
    return [part for each in cuts for part in _with_told(scene, _Piece(each.start, each.end, joins=each.joins))]


def _with_told(scene: Scene, piece: _Piece) -> list[_Piece]:
    """Return a piece with its frame, and before a request to be reminded what it tells: "exam on friday, remind me"."""
    framed, text = _framed(scene, piece), scene.message[piece.start : piece.end]
    request = frames.pattern("reminds").search(flat(text[: frames.HEAD_CHARS]))
    has_time = request is not None and find_time(text[request.end() :], scene.context.now, scene.locale) is not None
    told = text[: request.start()].rstrip(" ,.;") if request is not None and has_time else ""
    if framed.intent is not Intent.ACTION or len(told.split()) < _BARE_WORDS or not _is_appointment(told, scene):
        return [framed]
    start = piece.start + frames.opened(told)
    kept = _Piece(start, piece.start + len(told), Intent.KEEP, "tells what it asks to be reminded of")
    return [kept, framed]


def _pasted(scene: Scene, spans: Sequence[tuple[int, int]]) -> _Piece:
    """Return a text of several lines as one piece, from the first that is no small talk: its first lines tell."""
    lead = [_framed(scene, _Piece(*span)) for span in spans[:_PASTED_LINES]]
    first = next((piece for piece in lead if piece.intent is not Intent.CHAT), lead[0])
    start, end = (
        (first.start, spans[-1][1]) if first.start < first.end else (spans[lead.index(first) + 1][0], spans[-1][1])
    )
    if first.intent in {Intent.REMOVE, Intent.CHANGE, Intent.ACTION}:
        return replace(first, end=end)
    if _is_bare(_framed(scene, _Piece(*spans[-1]))):  # "…, keep this list"
        end = spans[-2][1]
    return replace(first, start=start, end=end, intent=Intent.KEEP, because=first.because or "has several lines")


def _framed(scene: Scene, piece: _Piece) -> _Piece:
    """Return the piece with what its frame says that it is for."""
    text = scene.message[piece.start : piece.end]
    if action := _called(scene, text):
        return replace(piece, intent=Intent.ACTION, action=action, because=f"asks for {action}")
    return next((found for read in _FRAMES if (found := read(piece, text))), piece)


def _as(piece: _Piece, text: str, intent: Intent, about: str = "") -> _Piece:
    return replace(piece, intent=intent, because=f"begins with “{' '.join(text.split()[:3])}”", about=about)


def _about_bot(piece: _Piece, text: str) -> _Piece | None:
    topic = frames.asks_whole(text)
    if not topic:
        return None
    return _as(piece, text, Intent.LIST if topic == "today" else Intent.ABOUT, topic)


def _small_talk(piece: _Piece, text: str) -> _Piece | None:
    talk = (
        "clock"
        if frames.asks_clock(text)
        else frames.talk(text) or next((name for name in ("leave", "if") if frames.has(name, text)), "")
    )
    if not talk and frames.has("private", text) and frames.kept_from(text) is None:
        talk = "private"
    return _as(piece, text, Intent.CHAT, talk) if talk else None


def _order(piece: _Piece, text: str) -> _Piece | None:
    """Read "change the gate code to 9031" as what it says then: no order is kept."""
    if frames.ordered(text) is None or frames.listed(text):
        return None
    return _as(piece, text, Intent.CHANGE)


def _list(piece: _Piece, text: str) -> _Piece | None:
    wish = frames.listed(text)
    if wish is not None and (wish[2] or not wish[0]):
        return _as(piece, text, Intent.CHANGE)
    return _as(piece, text, Intent.LIST) if wish is None and frames.has("list", text) else None


def _keeping(piece: _Piece, text: str) -> _Piece | None:
    start = None if text.endswith("?") else frames.kept_from(text)
    if start is None:
        return None
    if (said := {*folded_words(text[start:])} - FUNCTION_WORDS) and said <= _ANYTHING:
        return _as(piece, text, Intent.ABOUT, "help")  # "can you remember stuff for me"
    return replace(
        _as(piece, text, Intent.KEEP), start=piece.start + start if any(map(str.isalnum, text[start:])) else piece.end
    )


def _removal(piece: _Piece, text: str) -> _Piece | None:
    verb = frames.removed(text)
    if verb is None or _asks(text, verb):
        return None
    said, about = text[slice(*verb)].strip(" ,.;!"), text[verb[1] :].strip()
    inside = _TAKEN_OFF.search(said)  # what is to be deleted stands within the words of deleting
    if inside is not None and frames.pattern("pointed").match(flat(inside[1])) is None:
        about = f"{inside[1]} {about}"
    behind = about.partition(",")[2]
    if frames.has("change", behind) and values(behind):  # "forget her size, it's 10 now"
        return replace(piece, intent=Intent.CHANGE, because=f"has “{said}”, and tells what is so now")
    return replace(piece, intent=Intent.REMOVE, because=f"has “{said}”", about=about)


_TAKEN_OFF: Final = re.compile(r"\btake (.+) (?:off|out)$", re.IGNORECASE)


def _question(piece: _Piece, text: str) -> _Piece | None:
    is_question = text.endswith("?") or frames.has("asks", text)
    return replace(piece, intent=Intent.FIND, because="is a question") if is_question else None


def _kept(piece: _Piece, text: str) -> _Piece | None:
    end = frames.kept_until(text)
    if end is None:
        return None
    return replace(piece, end=piece.start + end, intent=Intent.KEEP, because=f"ends with “{text[end:].strip(' ,.')}”")


_FRAMES: Final = (_about_bot, _small_talk, _order, _list, _keeping, _removal, _question, _kept)
"""The first that finds its frame decides."""


def _asks(text: str, verb: tuple[int, int]) -> bool:
    """Return whether a text with a verb of deleting is a question: "did you delete it?", "what did I forget?"."""
    return frames.has("asks", text) and verb[0] > 0 and not frames.opened(text) >= verb[0]


def _called(scene: Scene, text: str) -> str:
    """Return the name of the action that a sentence asks for: its arguments can be read off it, or it has a cue.

    What stands further on in a sentence that asks to keep or delete something gives way to that wish.
    """
    context, head = scene.context, flat(text[: frames.HEAD_CHARS])
    clause, removed = frames.clause_from(text), frames.removed(text)
    behind = text[clause if clause is not None else removed[1] if removed else len(text) :]
    for info in context.actions:
        if info.reads and info.reads(text, context.now, context.locale) is not None:
            if behind and info.reads(behind, context.now, context.locale) is not None:
                continue
            return info.name
    is_framed = frames.kept_from(text) is not None or removed is not None
    for info in context.actions:
        found = (_cue(phrase).search(head) for phrases in info.cues.values() for phrase in phrases)
        if any(match and (not is_framed or not head[: match.start()].strip()) for match in found):
            return info.name
    return ""


@lru_cache(maxsize=1024)
def _cue(phrase: str) -> re.Pattern[str]:
    """Return the pattern of a phrase: its words in that order, with at most two others between each."""
    said = [re.escape(word) for word in folded_words(phrase)]
    return re.compile(r"(?<!\w)" + r"\W+(?:\w+\W+){0,2}".join(said) + r"(?!\w)" if said else r"(?!)")


def _joined(message: str, pieces: Sequence[_Piece]) -> list[_Piece]:
    """Join the pieces that belong together: what follows "remember that", the lines of a list, plain statements."""
    found: list[_Piece] = []
    for at, piece in enumerate(pieces):
        last = found.pop() if found else None
        if last is None:
            found.append(piece)
        elif _goes_on(message, last, piece, is_end=at == len(pieces) - 1):
            found.append(replace(last, start=piece.start if _is_bare(last) else last.start, end=piece.end))
        elif last.intent is Intent.REMOVE is piece.intent and _points(piece):  # "I don't need Ben, take him off"
            found.append(replace(last, end=piece.end))
        elif last.intent is Intent.REMOVE and _stays(message[last.end : piece.end], piece):
            about = f"{last.about}{message[last.end : piece.end]}"
            found.append(replace(last, end=piece.end, about=about))
        elif last.intent is None and (_goes_with(message, last, piece) or _is_bare(piece)):
            found.append(replace(piece, start=last.start, end=last.end if _is_bare(piece) else piece.end))
        else:
            found += [last, piece]
    return found


def _points(piece: _Piece) -> bool:
    """Return whether a wish to delete names nothing itself."""
    return frames.pattern("pointed").match(flat(piece.about.strip(" ,:;"))) is not None


def _stays(text: str, piece: _Piece) -> bool:
    """Return whether a piece behind a wish to delete tells what is to stay, and nothing new: "keep the address"."""
    is_told = frames.pattern("stays").match(flat(text.strip(" ,;."))) is not None
    return piece.intent is Intent.KEEP and is_told and all(value.kind == "name" for value in values(text))


def _goes_with(message: str, last: _Piece, piece: _Piece) -> bool:
    """Return whether a statement goes with what is behind it: a statement, a wish to delete that it gives a reason for.

    What says the value of a code, a name, an address is told for itself.
    """
    said = message[last.start : last.end]
    if not gives_value(said) and not (frames.told_of(said) and frames.has("change", said)):
        return piece.intent in {None, Intent.REMOVE}
    if piece.intent is Intent.REMOVE:
        return _points(piece)
    return piece.intent is None and not gives_value(message[piece.start : piece.end])


def _goes_on(message: str, last: _Piece, piece: _Piece, *, is_end: bool) -> bool:
    """Return whether a piece belongs to what the one before asks to keep: more of it, or lines of a list or a mail."""
    if last.intent is not Intent.KEEP:
        return False
    is_line = "\n" in message[last.end : piece.start]
    return (
        _is_bare(last)
        or piece.intent is None
        or (piece.intent is Intent.CHAT and piece.about != "clock")
        or (is_line and not (is_end and piece.intent is Intent.FIND))
    )


def _is_bare(piece: _Piece) -> bool:
    """Return whether a piece asks to keep something, and says no more: "Save this:"."""
    return piece.intent is Intent.KEEP and piece.start >= piece.end


# --- by examples -----------------------------------------------------------------------------------------------------


async def _judged(scene: Scene, text: str, likeness: Likeness, *, asks: bool) -> MessagePart:
    try:
        guesses = await likeness.judge(text[:_MAX_JUDGED_CHARS])
    except ProviderError:
        guesses = shipped().judge(text[:_MAX_JUDGED_CHARS])  # by its wording alone
    return await aside(len(text), partial(_part, scene, text, guesses, asks=asks))


def _part(scene: Scene, text: str, guesses: Sequence[Guess], *, asks: bool) -> MessagePart:
    """Return the part by how likely each intent is, and by what its words give away."""
    chance = dict.fromkeys(Intent, 0.0) | {guess.intent: guess.chance for guess in guesses}
    told = ", ".join(f"{guess.intent} {guess.chance:.2f}" for guess in guesses[:3])
    part = MessagePart(guesses[0].intent, text, f"{'is a question; ' if asks else ''}examples say {told}")
    if part.intent is Intent.ABOUT and not asks and frames.mood(text) == "cry":
        return replace(part, intent=Intent.CHAT)
    if part.intent in {Intent.LIST, Intent.ABOUT} and guesses[0].chance >= TOLD_FROM:
        return replace(part, about=frames.about(text) if part.intent is Intent.ABOUT else "")
    return _questioning(part, chance) if asks else _removing(_stating(scene, part, chance))


THIS: Final = re.compile(r"(?:th(?:is|at|ese|ose)|ess[ea]s?|es[aeo]s?|est[aeo]s?|aquel\w*)\b")
"""What points at a thing by its kind: "that code"."""

_POINTS: Final = re.compile(r"(?:this|that|these|it|is[st]o|es[ot]o?|est[oae]s?|nada|anything|what|o que|lo que|que)\b")


def _unkept(part: MessagePart) -> MessagePart:
    """Return a wish that something be not kept as one to delete it, if a memory has it: "don't keep my pin"."""
    about = part.text[frames.begun("private", part.text) :].strip()
    if _POINTS.match(flat(about)) or not subject(about):
        return part
    return MessagePart(Intent.REMOVE, part.text, part.because, about, is_sure=False, otherwise=part)


def _removing(part: MessagePart) -> MessagePart:
    """Return a statement that has a word of deleting anywhere as one that may ask for that: "comot am abeg"."""
    verb = frames.rids(part.text)
    if verb is None or len(part.text) > MAX_CHARS:
        return part
    said, behind = part.text[slice(*verb)].strip(), part.text[verb[1] :].strip()
    because = f"{part.because}; has “{said}”"
    if _points_at(behind):
        return MessagePart(Intent.REMOVE, part.text, because, behind)
    about = f"{part.text[: verb[0]]} {behind}".strip()
    may = MessagePart(Intent.REMOVE, part.text, because, about, is_sure=False)
    return may if part.intent is Intent.REMOVE and not part.is_sure else replace(may, otherwise=part)


def _points_at(behind: str) -> bool:
    """Return whether what is behind a word of deleting points at what is known, or is nothing: "tira isso daí"."""
    said = flat(behind.strip(" .,!"))
    return THIS.match(said) is not None or frames.pattern("pointed").match(said) is not None


def _questioning(part: MessagePart, chance: Mapping[Intent, float]) -> MessagePart:
    if chance[Intent.CHAT] >= TALK_FROM:
        return part
    return replace(part, intent=Intent.FIND, about="world" if chance[Intent.WORLD] >= WORLD_FROM else "")


def _stating(scene: Scene, part: MessagePart, chance: Mapping[Intent, float]) -> MessagePart:
    stated = chance[Intent.KEEP] + chance[Intent.CHANGE]
    if because := _why_told(scene, part.text, chance):
        stated, part = max(stated, KEEP_FROM), replace(part, because=f"{part.because}; {because}")
    is_question = part.intent in {Intent.FIND, Intent.WORLD} and stated < KEEP_FROM
    about = "world" if chance[Intent.WORLD] >= WORLD_FROM else "statement" if stated >= ASK_FROM else ""
    slips = frames.has("slips", part.text)
    if frames.has("ended", part.text) and not (frames.has("leaves", part.text) or frames.rids(part.text)):
        part = replace(part, intent=Intent.KEEP, is_sure=True, because=f"{part.because}; says what is no longer so")
    elif _corrects(scene, part.text):
        part = replace(part, intent=Intent.CHANGE, because=f"{part.because}; corrects what was shown last")
    elif stated < KEEP_FROM and frames.has("paid", part.text):
        because = f"{part.because}; says that somebody paid"
        part = replace(part, intent=Intent.CHANGE, about="maybe", is_sure=False, because=because)
    elif slips or frames.has("within", part.text):
        because = f"{part.because}; {'may begin as a question' if slips else 'asks within'}"
        part = replace(part, intent=Intent.FIND, about="statement", is_sure=False, because=because)
    elif is_question:
        part = replace(part, intent=Intent.FIND, about=about)
    elif chance[Intent.REMOVE] >= REMOVE_FROM:
        part = replace(part, intent=Intent.REMOVE, about=_behind_verb(part.text), is_sure=part.intent is Intent.REMOVE)
    elif stated < ASK_FROM or (stated < KEEP_FROM and frames.mood(part.text) in _CRIED):
        part = replace(part, intent=Intent.CHAT)
    else:
        part = _telling(replace(part, is_sure=stated >= KEEP_FROM), chance)
    return part


def _why_told(scene: Scene, text: str, chance: Mapping[Intent, float]) -> str:
    """Return why a text is told to be kept though the classifier is not sure of it; "" if nothing says so."""
    if chance[Intent.KEEP] + chance[Intent.CHANGE] >= ASK_FROM:
        if chance[Intent.CHAT] < TOLD_FROM and _is_appointment(text, scene):
            return "names a time"
        if _is_headed(text):
            return "is a list with a name"
    return "says what something is" if chance[Intent.CHAT] < ASK_FROM and gives_value(text) else ""


def _is_headed(text: str) -> bool:
    """Return whether a text is a list below its name: "packing list: passport, socks"."""
    clauses = cut(text)
    return bool(clauses.head) and clauses.are_several


def _behind_verb(text: str) -> str:
    """Return a wish to delete without its first word, by which no frame knows it; as it is if that says too little."""
    first, _, rest = text[frames.opened(text) :].partition(" ")
    return rest if len(rest.split()) >= _FEW_WORDS and first.isalpha() else text


def _telling(part: MessagePart, chance: Mapping[Intent, float]) -> MessagePart:
    """Return a statement as one to keep, or as one that may change what is known."""
    if len(part.text) > MAX_CHARS or frames.has("both", part.text) or frames.has("intends", part.text):
        return replace(part, intent=Intent.KEEP)
    about = "" if _says_changed(part.text, chance) else "maybe"
    return replace(part, intent=Intent.CHANGE if not about or values(part.text) else Intent.KEEP, about=about)


def _corrects(scene: Scene, text: str) -> bool:
    """Return whether a text gives a new value of what was shown: "no, it's 3 pm", "she left for another firm"."""
    if len(text) > MAX_CHARS or frames.has("both", text):
        return False
    if frames.has("correct", text) and any(swapped(item.content, text) for item in scene.quoted[-1:]):
        return True
    if frames.has("repaid", text):
        return True
    says = any(frames.has(frame, text) for frame in ("change", "leaves", "paid"))
    return says and bool(pointed(text, scene.quoted, scene.recent))


def _says_changed(text: str, chance: Mapping[Intent, float]) -> bool:
    """Return whether a statement says that something is otherwise now."""
    says = frames.has("change", text) or frames.has("correct", text)
    return chance[Intent.CHANGE] >= chance[Intent.KEEP] * (_CHANGE_IF_SAID if says else 1)


def _is_appointment(text: str, scene: Scene) -> bool:
    """Return whether a statement names an hour, or a day ahead: "sexta 17h30 dentista", "tomorrow I have an exam"."""
    now = scene.context.now
    found = find_time(text, now, scene.locale)
    if found is None or not found.without(text):
        return False
    time = found.time
    if isinstance(time, Once) and time.has_day and time.at.date() > now.date():
        return True
    has_hour = isinstance(time, Unclear) or (isinstance(time, Once | Recurrence) and time.has_hour)
    return has_hour and any(char.isdigit() for char in text)
