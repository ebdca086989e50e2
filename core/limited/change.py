"""From "my phone is now 555" to the text of the memory with its new value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from core.limited.cues import Cues
from core.limited.extract import clause
from core.limited.words import silent, stem, stems, words
from core.text.unicode import flat
from core.types import MemoryItem

_MAX_CHARS = 1000
_IS = r"(?:é|eh|e|sao|is|are|it's|es|son)"
_LEAD = r"(?:eu |i |we |ja |he |i've |have |just |to |que )*"
_CHANGE = (
    r"(?:mud|troc|troqu|alter|atualiz|corrig|corrij|substitu|edit|renome|retifi|ajust|modifi|chang|updat|switch|replac|"
    r"amend|swap|renam|reset|set|correct|cambi|actualic|actualiz|sustitu)"
)
_SHIFTED = (
    r"(?:mudou|mudaram|passou|subiu|aumentou|baixou|"
    r"(?:foi|ficou) (?:remarcad|adiad|alterad|transferid|mudad|estendid|antecipad)\w+|"
    r"(?:was |has |been |got |is )*(?:changed|moved|rescheduled|postponed|shifted|extended|raised)|went (?:up|down)|"
    r"cambio|paso|subio|bajo)"
)
_TO = r"(?:para|pra|pro|por|to|until|ate|a|al|de .{1,40}? (?:para|pra))"
_CHANGED = (
    # I changed S to V
    rf"^{_LEAD}{_CHANGE}\w* (?P<s>.+?)(?: {_TO} | with |: ?)(?:{_IS} )?(?P<v>.+)$",
    # put S to V
    (
        r"^(?:poe|ponha|pon|bota|coloca|push|move|bump|shift|postpone|adia|remarca|aplaza|mueve|passa|pasa)r? "
        rf"(?P<s>.+?) (?:{_TO}|en|em|como) (?P<v>.+)$"
    ),
    # S is now V; S, now V; S now is V
    rf"^(?P<s>.+?),? (?:{_IS} )?(?:agora|now|ahora)(?:,| {_IS})? (?P<v>.+)$",
    rf"^(?P<s>.+?) {_IS} (?P<v>.+?) (?:agora|now|ahora|these days)$",
    # S changed to V; S changed, it is V; S is another: V
    rf"^(?P<s>.+?) {_SHIFTED}(?:,? agora)?(?:,? {_TO}|,? {_IS}|,| (?={_IS}))+ (?P<v>.+)$",
    rf"^(?P<s>.+?) {_IS} (?:outr[oa]|different|another|otr[oa])\b[^:,]*[:,] ?(?P<v>.+)$",
)
_NEW = re.compile(
    rf"^(?P<d>(?:o |a |el |la |the )?(?:meu|minha|my|our|nosso|nossa|mi|nuestr[oa])? ?)"
    rf"(?:nov[oa]|new|nuev[oa]) (?P<n>.+?) {_IS} (?P<v>.+)$"
)
_WORD_OF_CHANGE = re.compile(
    r"^(?:na verdade|na realidade|actually|correction|corrigindo|correcao|en realidad|"
    r"me enganei|errei|i was wrong|me equivoque|"
    r"agora(?: eu)?|now|ahora|ops|oops)[,:. ]+|,? (?:agora|now|ahora|these days)$"
)
_MOVED = (
    (re.compile(r"^(?:eu )?(?:me )?mudei (?:para|pra|pro) (?:o |a )?(?=\w)"), "moro em "),
    (re.compile(r"^(?:i|we)(?:'ve| have)?(?: just)? moved to "), "I live in "),
    (re.compile(r"^(?:yo )?me mude a "), "vivo en "),
)
_WHEN = re.compile(
    r",? (?:(?:last|this|el|no|na|en|in|since|desde|este|esta|ha|hace|faz|a) (?:\S+ )?(?:week|month|year|summer|winter|"
    r"semana|mes|meses|anos?|verao|\d{4}|passad[ao]|pasad[ao])\b.*|(?:semana|mes|ano) passad[ao]|yesterday|ontem|ayer|"
    r"recently|recentemente|(?:a )?(?:\S+ )?(?:weeks?|months?|years?) ago)$"
)
_OVER = re.compile(
    r"^(?P<s>.+?) (?:isn't|is not|aren't|are not|is no longer|(?:ja )?nao (?:é|eh)|ya no es|no es) .{1,80}?,? "
    rf"(?=(?:it's|its|now|agora|ahora|mas|but|{_IS}) )(?:mas |but |sino )?(?:agora |now |ahora )?"
    rf"(?P<v>(?:it's|{_IS}) .+)$"
)
_OWNED = re.compile(
    r"^(?P<s>.+?) (?:(?:just )?(?:got|has|have)|tem|esta com|ganhou|comprou|tiene) (?:a |an |um |uma |un |una )?"
    r"(?:new|nov[oa]|nuev[oa]) (?P<n>.+)$"
)
_ONLY_VALUE = re.compile(
    r"^(?:(?:nao|no),? )?(?:it's|it is|it was|its|é|eh|es|sao|son|era[mn]?|foi|fue|"
    r"(?:eu )?quis dizer|(?:i )?meant?(?: to say)?|quise decir|digo)[\s,:]+"
)
_NO_MORE = re.compile(
    r"^(?:eu |i |yo )?(?:(?:ja )?nao .{1,60}?mais|.{0,12}no longer|.{0,60}any ?more|ya no|we moved|we've moved)\b"
)
_ASKED_ONLY = re.compile(rf"^(?:eu |i )?(?:quero |want to )?{_CHANGE}\w* (?P<s>.+)$")


class Edit(Enum):
    """What happens to the old value."""

    REPLACE = auto()
    ADD = auto()
    REMOVE = auto()


@dataclass(frozen=True, slots=True)
class Change:
    """A change as the person says it: the subject, its new value ("" if not told), and both as a statement.

    `told` are the person's own words, where the statement puts them otherwise.
    """

    subject: str
    value: str
    statement: str
    edit: Edit = Edit.REPLACE
    told: str = ""

    @property
    def aim(self) -> frozenset[str]:
        """Return the stems that name what changes; a phone's number is the phone."""
        named = stems(self.subject)
        return named - {"numero"} or named


def change(cues: Cues, sentence: str) -> Change:
    """Return what the sentence changes."""
    text = _last_clause(_restated(cues.opened(sentence[:_MAX_CHARS]).strip(" .!?")))
    bare = _bare(text)
    listed = _listed(cues, text)
    if listed:
        return listed
    return _moved(text) or _renamed(bare) or _changed(cues, text) or _stated(bare)


def correction(cues: Cues, sentence: str) -> str:
    """Return the value of "actually it's X", which names nothing; "" if the sentence is no such correction."""
    text = _bare(cues.opened(sentence[:_MAX_CHARS]).strip(" .!?"))
    match = _ONLY_VALUE.match(flat(text))
    return text[match.end() :] if match else ""


def _listed(cues: Cues, text: str) -> Change | None:
    """Return what is put on a list or taken off it."""
    match = cues.patterns["list-item"].match(flat(text))
    if match is None:
        return None
    adding = match.group("add") is not None
    item, name = ("add", "to") if adding else ("drop", "of")
    value, about = text[match.start(item) : match.end(item)], text[match.start(name) : match.end(name)]
    return Change(about, value, f"{about}: {value}" if adding else "", Edit.ADD if adding else Edit.REMOVE)


def _moved(text: str) -> Change | None:
    """Return what "I moved to York" changes: where the person lives."""
    for pattern, verb in _MOVED:
        match = pattern.match(flat(text))
        if match:
            place = _WHEN.sub("", flat(text[match.end() :]))
            place = text[match.end() : match.end() + len(place)]
            return Change(verb.split()[-2], place, verb + place, told=text)
    return None


def _renamed(text: str) -> Change | None:
    """Return what "my new boss is Omar" changes: my boss."""
    new = _NEW.match(flat(text))
    if new is None:
        return None
    about = (text[: new.end("d")] + text[new.start("n") : new.end("n")]).strip()
    value = text[new.start("v") :]
    return Change(about, value, f"{about} {text[new.end('n') : new.start('v')].strip()} {value}")


def _changed(cues: Cues, text: str) -> Change | None:
    """Return what "I changed S to V" and "S is now V" change."""
    for form in _CHANGED:
        match = re.match(form, flat(text))
        if match:
            about, value = text[match.start("s") : match.end("s")].strip(" ,"), text[match.start("v") : match.end("v")]
            if cues.has("fact", value):  # "it was my birthday, now I am 43": the new fact stands alone
                return change(cues, value)
            moved = "moved" in flat(text[match.end("s") : match.start("v")])
            return Change(about, value, text if moved else f"{about} {_verb_for(text)} {value}")
    return None


def _stated(text: str) -> Change:
    """Return what a plain statement changes; of a bare wish to change something, the thing alone."""
    parts = clause(text)
    if parts.subject:
        return Change(parts.subject, parts.value, text)
    only = _ASKED_ONLY.match(flat(text))
    if only:
        return Change(text[only.start("s") :], "", "")
    plain = (word for word in words(text) if not silent(word) and not any(letter.isdigit() for letter in word))
    first = next(plain, text)
    value = text[text.find(first) + len(first) :].strip() or (text if len(words(text)) > 1 else "")
    return Change(first, value, text if value else "")


def _last_clause(text: str) -> str:
    """Drop a first clause that only says what is over: "I no longer work there, I work at the bank"."""
    head, comma, rest = text.partition(", ")
    return rest if comma and _NO_MORE.match(flat(head)) and len(words(rest)) > 1 else text


def _restated(text: str) -> str:
    """Return "S is not X any more, it's V" as "S is V", and "S got a new N: V" as "N of S: V"."""
    told = flat(text)
    over = _OVER.match(told)
    if over:
        return f"{text[: over.end('s')]} {_verb_for(text)} {without_verb(text[over.start('v') :])}"
    owned = _OWNED.match(told)
    return f"{text[: owned.end('s')]} {text[owned.start('n') :]}" if owned else text


def _bare(text: str) -> str:
    while match := _WORD_OF_CHANGE.search(flat(text)):
        text = (text[: match.start()] + text[match.end() :]).strip()
    return text


def _verb_for(text: str) -> str:
    """Return "is", "es" or "é", by the language of the text."""
    told = flat(text)
    if re.search(r"\b(?:to|is|are|now|with|changed)\b", told):
        return "is"
    return "es" if re.search(r"\b(?:ahora|mi|la clave|cambie|el)\b", told) else "é"


def without_verb(value: str) -> str:
    """Return the value without the verb of being at its start."""
    match = re.match(rf"{_IS} ", flat(value))
    return value[match.end() :] if match else value


# --- the memory that is meant, and its new text ----------------------------------------------------------------------

_SEVERAL = re.compile(r"[,;]\s|\s(?:e|and|y)\s")
"""A memory with one of these may hold several facts; those that do not change must not get lost."""

_DEED = re.compile(
    r"^(?:\w+(?:ar|er|ir|or)|buy|get|call|pay|take|bring|send|book|pick up) (?:(?:o|a|the|el|la|um|uma) )?"
)
"""The verb of a to-do, before its object."""

_MONTH = r"(?:jan|fev|feb|mar|abr|apr|mai|may|jun|jul|ago|aug|set|sep|out|oct|nov|dez|dec|ene|dic)[a-z]*"
_DATA = (
    re.compile(
        r"\b\d{1,2}(?:[:h]\d{2}|h)\b(?:\s?[ap]m)?|\b\d{1,2}\s?[ap]m\b|\bnoon\b|\bmeio[- ]dia\b|\bmidnight\b|"
        r"(?:(?<=\bas )|(?<=\bat )|(?<=\blas ))\d{1,2}\b(?![-/.:])"
    ),
    re.compile(
        rf"\b(?:\d{{1,2}}/\d{{1,2}}(?:/\d{{2,4}})?|\d{{4}}-\d\d-\d\d|"
        rf"(?:dia |day |the )?\d{{1,2}}(?:st|nd|rd|th)?(?: (?:de|of))? {_MONTH}\b(?:,? (?:de )?\d{{4}})?|"
        rf"{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?|"
        rf"(?:o )?dia \d{{1,2}}|(?:the )?\d{{1,2}}(?:st|nd|rd|th))\b"
    ),
    re.compile(
        r"\b(?:segunda|terca|quarta|quinta|sexta|sabado|domingo|(?:mon|tues|wednes|thurs|fri|satur|sun)day|lunes|martes|"
        r"miercoles|jueves|viernes)(?:-feira)?\b"
    ),
    re.compile(
        r"(?:r\$|us\$|\$|€|£) ?\d[\d.,]*|\b\d[\d.,]* ?(?:reais|dollars?|euros?|dolares|pesos|libras|pounds|bucks)\b"
    ),
)


def bound(items: list[MemoryItem], named: frozenset[str]) -> list[MemoryItem]:
    """Return the memories with a binding of exactly these words (my address, not my sister's); all if none has one."""
    exact = [item for item in items if any(stems(phrase) == named for phrase in item.bindings)]
    return exact or items


def fits(aim: frozenset[str], items: Sequence[MemoryItem]) -> tuple[list[MemoryItem], bool]:
    """Return the memories that share most stems with `aim`, and whether that is one memory with all of them."""
    scored = [(len(aim & stems(" ".join((item.content, *item.bindings)))), item) for item in items]
    best = max((score for score, _ in scored), default=0)
    if not best:
        return [], False
    kept = bound([item for score, item in scored if score == best], aim)
    return kept, len(kept) == 1 and best == len(aim)


def renewed(old: str, wish: Change) -> tuple[str, bool]:
    """Return the memory's new text, and whether only the old value was lost."""
    if wish.edit is Edit.ADD:
        return f"{old.rstrip(' .,;')}, {wish.value}", True
    if wish.edit is Edit.REMOVE:
        return _without_item(old, wish.value)
    parts = clause(old)
    placed = _placed(parts.value if parts.subject else old, wish.value)
    if placed:
        return parts.head + placed if parts.subject else placed, True
    if _SEVERAL.search(flat(old)):
        return wish.statement or without_verb(wish.value), False
    if parts.subject:
        return parts.head + without_verb(wish.value), len(stems(parts.subject) - wish.aim) <= 1 or not wish.aim
    same_start = _start(old) == _start(wish.statement)
    swapped = _swapped_tail(old, wish) or _swapped_object(old, wish)
    return swapped or wish.statement, bool(swapped) or (same_start and len(stems(old)) <= 4)  # noqa: PLR2004 - one fact


def _without_item(old: str, item: str) -> tuple[str, bool]:
    """Return the list without the one entry that the item names, and whether there is such an entry."""
    parts = clause(old)
    entries = re.split(r",\s*|\s+(?:e|and|y)\s+", parts.value)
    left = [entry for entry in entries if stems(entry) != stems(item)]
    return parts.head + ", ".join(left), bool(parts.subject) and len(left) == len(entries) - 1 > 0


def _start(text: str) -> str:
    """Return the stem of the first word that is not "I" or "we"."""
    return next((stem(word) for word in words(text) if flat(word) not in {"eu", "i", "yo", "we"}), "")


def _swapped_tail(old: str, wish: Change) -> str:
    """Return `placa do carro QRT4` with the new code: a memory without a verb whose last words hold digits."""
    match = re.search(r"(?<=\s)\S*\d\S*(?:\s\S*\d\S*)*$", old)
    alike = any(letter.isdigit() for letter in wish.value) and stems(wish.subject) <= stems(old)
    return old[: match.start()] + without_verb(wish.value) if match and alike else ""


def _swapped_object(old: str, wish: Change) -> str:
    """Return `comprar leite` with the new thing to buy: a deed of few words, corrected without naming anything."""
    deed = _DEED.match(flat(old))
    return old[: deed.end()] + wish.value if deed and not wish.subject and len(words(old)) <= 4 else ""  # noqa: PLR2004


def _placed(old_value: str, new_value: str) -> str:
    """Return the old value with its one date, time, weekday or amount replaced by the new one, or ""."""
    for kind in _DATA:
        new, old = kind.findall(flat(new_value)), list(kind.finditer(flat(old_value)))
        if len(new) == 1 and len(old) == 1:
            found = kind.search(flat(new_value))
            if found is None:
                continue
            left = stems(new_value[: found.start()] + new_value[found.end() :])
            around = stems(old_value[: old[0].start()] + old_value[old[0].end() :])
            if left <= around:
                return old_value[: old[0].start()] + new_value[found.start() : found.end()] + old_value[old[0].end() :]
    return ""
