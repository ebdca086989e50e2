"""Find the changes that a message asks for, and those that a text asserts were made or promises, by word lists.

It backs up the rule that only committed rows are told. A missed assertion is shown beside our own words, never in their
place; a false alarm costs a true sentence too many. Portuguese, English and Spanish mainly; linear in the text. The
words are data: assertions.txt.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property, lru_cache
from operator import methodcaller
from typing import Final

from core.dialogue import Effect, Written
from core.text.unicode import fold
from core.text.words import FUNCTION_WORDS, expressions, folded_words
from core.types import ChangeKind

_MAX_ASKED_CHARS: Final = 80
"""Of a message: a request is at its beginning."""

MAX_UNASKED_CHARS: Final = 300
"""Of an answer to a person who asked for no change: longer ones are about the world, not about memory."""

_MAX_HELD_CHARS: Final = 48
"""Of a sentence or clause that has just begun: an assertion is at its beginning."""

_MAX_DONE_CHARS: Final = 80
"""Of an answer that says "done" or "sure": longer ones are about something else, too."""

_MAX_OBJECT_WORDS: Final = 4
_KEPT_CLAUSES: Final = 256

_MAX_ABOUT_CHARS: Final = 4000
"""Of a message: what an answer of a sentence or two takes up is at its beginning."""

_S, _U, _D = ChangeKind.SAVED, ChangeKind.UPDATED, ChangeKind.DELETED
_WORDS: Final = expressions(__package__, "assertions.txt")
POLITE: Final = rf"(?:(?:{_WORDS['polite']})[\s,:!]+)*"
_THEIRS: Final = rf"(?:\s+\w+){{0,2}}?\s+(?:{_WORDS['theirs']})\b"
_DELETE: Final = rf"{POLITE}(?P<verb>{_WORDS['ask to delete']})\b"
_NO_REQUEST: Final = (
    r"(?! (?:when|how|the (?:time|day)|if|(?:de )?quando|(?:de )?cuando|se|si|como|cuando)\b|"
    r" (?:an?|some|uma?|una?|\d+) [^:]*$)"
)
"""What follows "remember" in a question or an errand: "remember when …", "save some bread"."""

_ASKED: Final = {
    _S: re.compile(rf"{POLITE}(?:{_WORDS['ask to save']})\b{_NO_REQUEST}"),
    _U: re.compile(rf"{POLITE}(?P<verb>{_WORDS['ask to update']})\b{_THEIRS}"),
    _D: re.compile(_DELETE + _THEIRS),
}
_ASKED_ELSEWHERE: Final = {kind: re.compile(_WORDS[f"ask elsewhere {kind}"]) for kind in (_S, _D)}
_ELSEWHERE = {kind: re.compile(_WORDS[f"{kind} elsewhere"]) for kind in ChangeKind}
"""In Russian, Japanese, Chinese, Korean, Dutch and Polish; `others` are German, French, Italian and Swedish."""

_SOFT = (
    r"(?: (?:have|just|now|also|already|successfully|safely|it|been|all|both|j[aá]|agora|também|tod[oa]s?|ya|sido))*"
)
_PERFECT = {
    kind: re.compile(
        rf"\b(?:i|i've|we|we've){_SOFT} (?:{_WORDS[f'{kind} English']})\b|\b(?:{_WORDS[f'{kind} by me']})\b|"
        rf"\b(?:habe|wurden?|j'ai|ai|c'est|ho|ist|har)\b.{{0,60}}\b(?:{_WORDS[f'{kind} others']})\b|"
        r"^(?:(?:ok|okay|all|done|great|sure|j[aá]|tudo|ya|está|pronto)\W+)*"
        rf"(?:{_WORDS[f'{kind} English']}|{_WORDS[f'{kind} participles']}|{_WORDS[f'{kind} others']})\b"
    )
    for kind in ChangeKind
}
_PASSIVE = {
    kind: re.compile(
        rf"\b(?:is|are|was|were|been|it's|that's|now){_SOFT} (?:{_WORDS[f'{kind} English']})\b|"
        rf"\b(?:{_WORDS[f'{kind} others']})\b|"
        r"\b(?:foi|foram|está|estão|ficou|ficaram|fue|fueron|quedó|quedaron|están|sido)"
        rf"{_SOFT} (?:{_WORDS[f'{kind} participles']})\b"
    )
    for kind in ChangeKind
}
_DONE = re.compile(rf"(?:{_WORDS['done']})\b")
_STEMS = re.compile(rf"\b(?:{_WORDS['stems']})")
_NOT = re.compile(
    r"\b(?:not|never|nothing|n[aã]o|nunca|no|nada|unable|cannot|nicht|nichts|pas|rien|non|niente)\b|n't\b"
)
_NOTHING = re.compile(r"\b(?:nothing|nada|none|nichts|rien|niente)\b")
_NO_WORD = re.compile(r"^\W+")
_CLAUSES = re.compile(r"[.!?;:,\n—–]+|\s(?=(?:and|e|y) (?:i|i've|i'll|eu|j[aá]|lo|la|he)\b)")
_SENTENCES = re.compile(r"(?<=[.!?…])\s+|\n+")
_END = methodcaller("end")
_ENDS = re.compile(r"[.!?…]+|(?<!\n)(?=\n)")
_QUOTED = re.compile(r'"[^"\n]*"|“[^”\n]*”|«[^»\n]*»|`[^`]*`')
_LEAD = re.compile(rf"(?:(?:{_WORDS['leads']})\W+)*")
_OURS = re.compile(
    rf"\W*(?:$|(?:(?:to|for|in|into|from|of|com|con|na|no|em|en|d[ae])\s+)?(?:{_WORDS['objects']})\b|"
    r"(?:dans|nella|nel|in|i|im) (?:la |ta |ma |votre |tua |mia |dein\w* |mein\w* |ditt |mitt )?"
    rf"(?:{_WORDS['memory']})\b)"
)
"""The words after the verb if a memory is meant; "I changed my mind" and "stored in the fridge" mean none."""

_IN_MEMORY = re.compile(
    r"\b(?:my|your|minha|sua|tua|mi|tu|su|ma|ta|votre|mia|mein\w*|dein\w*|ihr\w*|mitt|ditt|din|mijn|jouw|je|uw)"
    r"(?: \w+){0,2} (?:memor(?:y|ies)|mem[oó]rias?|mémoires?|gedächtnis|speicher|erinnerung(?:en)?|minnen?|geheugen)\b|"
    r"\bminnet\b"
)
_DONE_WITH = re.compile(
    r"\b(?:\w{3,}(?:ed|[ai]d[oa]s?|[aiu]t[oaie]|ée?s?|rat|rad|lagt)|\w{4,}at|ge\w{2,}(?:t|en)|gone|kept|put|written|lost|"
    r"opgeslagen)(?![^\W_])"
)
"""Words in the form of a past participle, in the languages of the words for memory."""

_EARLIER = re.compile(
    r"\b(?:yesterday|earlier|ago|last (?:week|month|year|time|night)|ontem|(?:semana|mês) passad[ao]|ayer|"
    r"(?:semana|mes) pasad[ao])\b|\bon \d"
)
_CONDITION = re.compile(rf"(?:(?:just|so|then|and|but|mas|e|y|pero|então) )?(?:{_WORDS['conditions']})\b")
"""The beginning of a sentence that promises nothing yet."""

_WORK = re.compile(
    rf"{POLITE}(?:(?:{_WORDS['work']})\b|"
    rf"(?:{_WORDS['work on a part']})\b.*?(?:[:\n\"“«]|\b(?:{_WORDS['parts']})\b))"
)
"""A request for work on a text."""


def asked(message: str, effects: Collection[Effect] = ()) -> frozenset[Written]:
    """Return the kinds of change, and the effects, that a message plainly asks for; none for a question."""
    if message.rstrip().endswith("?"):
        return frozenset()
    text = fold(message[:_MAX_ASKED_CHARS])
    besides = {effect for effect in effects if effect.asked.match(text)}
    here = {kind for kind in _ASKED if _asks_for(text, kind, effects)}
    here -= {_S} if besides else set()  # "me lembra de pagar": one verb for both
    start = message[:_MAX_ASKED_CHARS].lower()
    return frozenset(here | besides | {kind for kind, pattern in _ASKED_ELSEWHERE.items() if pattern.search(start)})


def asks_to_save(message: str) -> bool:
    """Return whether any clause of a message asks to remember something, a question's, too."""
    return any(map(_ASKED[_S].match, _requests(message))) or bool(_ASKED_ELSEWHERE[_S].search(message.lower()))


def asks_to_change(message: str) -> bool:
    """Return whether any clause of a message asks to change what is remembered, a question's, too."""
    return any(map(_ASKED[_U].match, _requests(message)))


def asks_to_delete(message: str) -> bool:
    """Return whether any clause of a message asks to delete something, a memory or not."""
    return any(re.match(_DELETE, clause) for clause in _requests(message))


def asks_to_write(message: str) -> bool:
    """Return whether any clause of a message asks to save, change or delete something."""
    return asks_to_save(message) or asks_to_change(message) or asks_to_delete(message)


def asks_for(message: str, effect: Effect) -> bool:
    """Return whether any clause of a message asks for that effect, a question's, too."""
    return any(map(effect.asked.match, _requests(message)))


def _requests(message: str) -> Iterator[str]:
    yield from (clause.strip() for clause in re.split(r"[.!?;:,\n]+|\b(?:and|e|y|und|et)\b", fold(message)))


def _asks_for(text: str, kind: ChangeKind, effects: Collection[Effect]) -> bool:
    found = _ASKED[kind].match(text)
    if found is None or kind is _S:
        return found is not None
    return not any(effect.things.match(text, found.end("verb")) for effect in effects)


def asserted(text: str, effects: Collection[Effect] = ()) -> frozenset[Written]:
    """Return the kinds of change, and the effects, that an answer to a request may assert; "done" alone asserts all."""
    clauses, kinds = _clauses(text), (*ChangeKind, *effects)
    found = {kind for kind in kinds for clause in clauses if _says(clause, kind)}
    if not clauses or (not found and len(text) <= _MAX_DONE_CHARS and _DONE.match(clauses[0]) and not denied(text)):
        return frozenset(kinds)
    return frozenset(found)


class Occasion:
    """The message that an answer is given to, read once for all pieces of the answer, and only as far as needed.

    `effects` are what an answer may assert besides changes in memory.
    """

    def __init__(self, message: str, effects: Collection[Effect] = ()) -> None:
        self._message = message
        self.effects = effects

    @cached_property
    def is_work(self) -> bool:
        """Whether it asks for work on a text: an answer that something was changed means that text."""
        return bool(_WORK.match(fold(self._message[:_MAX_ASKED_CHARS].replace("\n", ": "))))

    @cached_property
    def about(self) -> Collection[str]:
        """The words of what it tells; none for a question."""
        if self._message.rstrip().endswith("?"):
            return frozenset()
        return frozenset(folded_words(self._message[:_MAX_ABOUT_CHARS])) - FUNCTION_WORDS


def volunteered(text: str, occasion: Occasion) -> frozenset[Written]:
    """Return the kinds of change, and the effects, that an answer plainly asserts, though nobody asked for one."""
    return frozenset(kind for _, kinds in _volunteering(text, occasion) for kind in kinds)


def before_assertions(text: str, occasion: Occasion, written: Collection[Written] = ()) -> int:
    """Return how much of the text comes before the first sentence that asserts a change which was not `written`."""
    return next((before for before, kinds in _volunteering(text, occasion) if not kinds <= set(written)), len(text))


def _volunteering(text: str, occasion: Occasion) -> Iterator[tuple[int, frozenset[Written]]]:
    """Yield, of each sentence that asserts changes nobody asked for, where the one before it ends, and their kinds."""
    if len(text) > MAX_UNASKED_CHARS or occasion.is_work:
        return
    own, before, start = _QUOTED.sub(lambda quote: "\0" * len(quote[0]), text), 0, 0
    for end, following in [*(found.span() for found in _SENTENCES.finditer(own)), (len(own), len(own))]:
        clauses = [] if own[start:end].rstrip().endswith("?") else _clauses(own[start:end])
        kinds: frozenset[Written] = frozenset(
            [
                kind
                for clause in clauses
                for kind, objects in _told(clause)
                if objects is None or not objects.isdisjoint(occasion.about)
            ]
        )
        if not (clauses and _CONDITION.match(clauses[0])):  # "if you tell me when, I'll remind you"
            kinds |= {each for each in occasion.effects if any(_promises(clause, each) for clause in clauses)}
        if kinds:
            yield before, kinds
        before, start = end, following


def before_changed_memory(text: str, occasion: Occasion) -> int:
    """Return how much of the text comes before the first sentence in which a past participle meets somebody's memory.

    It may assert a change in words that no list has.
    """
    if len(text) > MAX_UNASKED_CHARS or occasion.is_work:
        return len(text)
    start = before = 0
    for end, following in [*(found.span() for found in _SENTENCES.finditer(text)), (len(text), len(text))]:
        sentence = text[start:end]
        folded = sentence.replace("’", "'").lower()
        is_plain = not (sentence.rstrip().endswith("?") or _NOT.search(folded) or _EARLIER.search(folded))
        if is_plain and _IN_MEMORY.search(folded) and _DONE_WITH.search(folded):
            return before
        before, start = end, following
    return len(text)


def without(text: str, effects: Collection[Effect] = ()) -> str:
    """Return the text without the sentences that assert a change; what is between the others stays as it is."""
    kept, start = "", 0
    for end in [*(found.end() for found in _SENTENCES.finditer(text)), len(text)]:
        sentence = text[start:end]
        is_number = any(map(str.isdigit, sentence)) and not any(map(str.isalpha, sentence))
        kept += sentence if is_number or not asserted(sentence, effects) else ""
        start = end
    return kept.strip()


def denied(text: str) -> bool:
    """Return whether the text itself says that something was not saved, changed or deleted."""
    return any(_NOT.search(clause) and _STEMS.search(clause) for clause in _clauses(text))


def settled(text: str) -> int:
    """Return how much of a growing text can be shown: not what has just begun, which may become an assertion.

    That is the sentence, at most its first 48 characters, and then the clause.
    """
    if len(text) > MAX_UNASKED_CHARS:
        return len(text)
    ended = max(map(_END, _ENDS.finditer(text)), default=0)
    if len(text) - ended <= _MAX_HELD_CHARS:
        return ended
    last = max(map(_END, _CLAUSES.finditer(text, ended)), default=ended)
    return len(text) if len(text) - last > _MAX_HELD_CHARS else last


def _says(clause: str, kind: Written) -> bool:
    tables = (_PERFECT, _PASSIVE, _ELSEWHERE)
    patterns = [kind.asserted] if isinstance(kind, Effect) else [table[kind] for table in tables]
    found = next((found for pattern in patterns if (found := pattern.search(clause))), None)
    return found is not None and not _is_denied(clause, found)


def _promises(clause: str, effect: Effect) -> bool:
    return _says(clause, effect) and not _EARLIER.search(clause)


@lru_cache(_KEPT_CLAUSES)  # a text that grows has the same ones again and again
def _told(clause: str) -> Sequence[tuple[ChangeKind, frozenset[str] | None]]:
    """Return the kinds of change that the clause begins with, each with the words for what was changed.

    None: it is surely of the person's things; else it is if their message was about one of the words.
    """
    found: list[tuple[ChangeKind, frozenset[str] | None]] = []
    lead = _LEAD.match(clause)
    start = lead.end() if lead else 0
    for kind, pattern in _PERFECT.items():
        if _ELSEWHERE[kind].search(clause):
            found.append((kind, None))
            continue
        said = pattern.search(clause)
        if said is None or _is_denied(clause, said) or _EARLIER.search(clause):
            continue
        rest = clause[said.end() :]
        if said.start() <= start:
            objects = None if _OURS.match(rest) else frozenset(folded_words(rest)[:_MAX_OBJECT_WORDS])
            found.append((kind, objects))
    return found


def _is_denied(clause: str, found: re.Match[str]) -> bool:
    return bool(_NOT.search(clause[: found.end()]) or _NOTHING.search(clause))


def _clauses(text: str) -> list[str]:
    """Return the clauses of the text that have a word, in lower case, without punctuation before them."""
    pieces = _CLAUSES.split(text.replace("’", "'").replace("*", "").lower())
    return [_NO_WORD.sub("", " ".join(piece.split())) for piece in pieces if any(map(str.isalpha, piece))]
