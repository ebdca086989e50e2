"""What certain words give away about a sentence: the patterns of `cues.txt`, and the cues that actions bring."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib import resources

from core.dialogue import ActionInfo
from core.limited.words import concepts, words
from core.text.unicode import flat

_MACROS = {
    "NAO": "(?:nao|n|naum|num)",
    "VOCE": "(?:voce|vc|ce|tu)",
    "QUE": "(?:que|q|qe)",
    "COPULA": "(?:é|eh|e|sao|is|are|es|son)",
}
_DOUBLED = re.compile(r"(\w)\1+")
_MAX_BARE_WORDS = 6
_MAX_SMALL_CHARS = 60
_MAX_OPENINGS = 8
_HEAD_CHARS = 400
"""Patterns read only the start of a sentence, which shows what it is for."""

_TAIL_CHARS = 120


class Intent(StrEnum):
    """What a sentence is for."""

    SAVE = "save"
    ASK = "ask"
    LIST = "list"
    UPDATE = "update"
    DELETE = "delete"
    TASK = "task"
    CHAT = "chat"
    GREETING = "greeting"
    THANKS = "thanks"
    BYE = "bye"
    HOW = "how"
    ABOUT = "about"
    ACK = "ack"
    CANCEL = "cancel"
    KEEP_OUT = "keep-out"
    LEAVE = "leave"
    WHAT_IF = "what-if"
    CLOCK = "clock"
    UNSURE = "unsure"
    ACTION = "action"


_WHOLE = (Intent.CLOCK, Intent.CANCEL, Intent.HOW, Intent.BYE, Intent.GREETING, Intent.THANKS, Intent.ABOUT, Intent.ACK)
_EARLY = (("keep-out", Intent.KEEP_OUT), ("leave", Intent.LEAVE), ("forget-not", Intent.SAVE))
_REQUEST = (
    ("what-if", Intent.WHAT_IF),
    ("wipe", Intent.DELETE),
    ("list", Intent.LIST),
    ("forgot", Intent.ASK),
    ("task", Intent.TASK),
    ("list-item", Intent.UPDATE),
    ("delete", Intent.DELETE),
)
_FIRM = frozenset({Intent.SAVE, Intent.UPDATE, Intent.DELETE, Intent.KEEP_OUT, Intent.LEAVE, Intent.WHAT_IF})
_LATE = (("mood", Intent.CHAT), ("ask", Intent.ASK), ("update", Intent.UPDATE), ("fact", Intent.SAVE))


@dataclass(frozen=True, slots=True)
class Cues:
    """The compiled patterns of `cues.txt`. They match text that `flat` folded, with single spaces."""

    patterns: dict[str, re.Pattern[str]]

    @classmethod
    def load(cls) -> Cues:
        """Read the patterns that ship with this package."""
        sections: dict[str, list[str]] = {}
        lines: list[str] = []
        for line in resources.files(__package__).joinpath("cues.txt").read_text("utf-8").splitlines():
            if line.startswith("["):
                lines = sections.setdefault(line.strip("[]"), [])
            elif line and not line.startswith("#"):
                lines.append(_expanded(line))
        joined = {name: "|".join(f"(?:{line})" for line in lines) for name, lines in sections.items()}
        joined["opening"] = rf"^(?:{joined['greeting']})(?:[\s,!.:;-]+|$)"
        joined["wrapper"] = rf"^(?:{joined['polite']})\s*"
        joined["save-start"] = rf"^(?:{joined['forget-not']}|{joined['save-verb']})"
        joined["save-end"] = (
            rf"(?:^|[\s,.;:!–—-]+)(?:(?:e|and|y|por favor|please) )?(?:{joined['save-end']})"
            r"(?:[\s,]*(?:por favor|please))?[\s.!?]*$"
        )
        return cls({name: re.compile(pattern) for name, pattern in joined.items()})

    def has(self, name: str, text: str) -> bool:
        """Return whether a section's pattern is found in the start of the text (where it allows itself to be)."""
        return self.patterns[name].search(flat(text[:_HEAD_CHARS])) is not None

    def without(self, name: str, text: str) -> str:
        """Return the text without what a section's pattern finds in its start."""
        kept, end = [], 0
        for match in self.patterns[name].finditer(flat(text[:_HEAD_CHARS])):
            kept.append(text[end : match.start()])
            end = match.end()
        return " ".join(" ".join((*kept, text[end:])).split())

    def opened(self, text: str) -> str:
        """Return the text without a greeting or polite words at its start."""
        for _ in range(_MAX_OPENINGS):
            head = flat(text[:_HEAD_CHARS])
            ends = (match.end() for name in ("opening", "wrapper") if (match := self.patterns[name].match(head)))
            end = next((end for end in ends if 0 < end < len(text)), 0)
            if not end:
                break
            text = text[end:]
        return text

    def saving_tail(self, text: str) -> int | None:
        """Return where a closing "remember that" begins; None if the text does not end in one."""
        start = max(len(text) - _TAIL_CHARS, 0)
        match = self.patterns["save-end"].search(flat(text[start:]))
        return None if match is None else start + match.start()

    def intent(self, sentence: str) -> Intent | None:
        """Return what the sentence is for; None if no cue tells."""
        if not words(sentence):
            return Intent.UNSURE
        opened = self.opened(sentence)
        for text in (sentence, opened):
            bare = flat(text[:_MAX_SMALL_CHARS]).strip(" .!?,;:¡¿()")
            forms = (bare, _DOUBLED.sub(r"\1", bare))  # "bom diaaa", "obrigadooo"
            small = (intent for form in forms for intent in _WHOLE if self.patterns[intent.value].fullmatch(form))
            if len(text) <= _MAX_SMALL_CHARS and (intent := next(small, None) or self._pleasantries(bare)):
                return intent
        return self._wish(opened.lstrip("¿¡ "))

    def called(self, actions: Iterable[ActionInfo], sentence: str) -> str:
        """Return the name of the action of which the sentence holds a cue; "" for none.

        A cue at the start of the sentence decides; further on it gives way to a wish to save, change or delete.
        """
        text = flat(self.opened(sentence)[:_HEAD_CHARS]).lstrip("¿¡ ")
        firm = self.intent(sentence) in _FIRM
        for info in actions:
            found = (_cue(phrase).search(text) for phrases in info.cues.values() for phrase in phrases)
            if any(match and (not firm or match.start() == 0) for match in found):
                return info.name
        return ""

    def _pleasantries(self, bare: str) -> Intent | None:
        """Return the last intent of a chain of small talk ("great, thanks"); None if a part of it is no small talk."""
        links = [link.strip() for link in re.split(r"[,!.?]+", bare) if link.strip()]
        told = [next((each for each in _WHOLE if self.patterns[each.value].fullmatch(link)), None) for link in links]
        return told[-1] if len(told) > 1 and None not in told else None

    def _wish(self, sentence: str) -> Intent | None:
        asked = sentence.rstrip().endswith("?")
        text = flat(sentence[:_HEAD_CHARS])
        for name, intent in (*_EARLY, *_REQUEST):
            if self.patterns[name].search(text):
                return intent
        if self.saving_tail(sentence) is not None or self._saves(text, asked=asked):
            return Intent.SAVE
        for name, intent in _LATE:
            if self.patterns[name].search(text):
                return Intent.ASK if asked and intent is not Intent.CHAT else intent
        if asked:
            return Intent.ASK
        return self._noun(text)

    def _saves(self, text: str, *, asked: bool) -> bool:
        """Return whether the text starts with a verb of saving; a question must also hold a value to save."""
        match = self.patterns["save-start"].match(text)
        return match is not None and (not asked or any(c.isdigit() or c in ":=" for c in text))

    def _tells(self, text: str) -> bool:
        """Return whether any clause states what something is or does."""
        return any(self.patterns["plain"].search(clause) for clause in (text, *text.split(", ")))

    def _noun(self, text: str) -> Intent | None:
        """Return what a sentence without a request is for: SAVE for a fact, ASK for the name of a thing, or unknown."""
        said = words(text)
        value = any(c.isdigit() or c in "@/" for c in text)
        if self.patterns["key-value"].search(text):
            return Intent.SAVE
        if self._tells(text) and (value or concepts(text) or self.patterns["moment"].search(text)):
            return Intent.SAVE
        if self.patterns["moment"].search(text) and concepts(text):
            return Intent.UNSURE
        if self.patterns["speaker"].match(text):
            return None
        if not value and 0 < len(said) <= _MAX_BARE_WORDS and concepts(text):
            return Intent.ASK
        return Intent.UNSURE if len(said) <= 1 else None


@lru_cache(maxsize=1024)
def _cue(phrase: str) -> re.Pattern[str]:
    """Return the pattern of a phrase: its words in that order, with at most two others between each."""
    said = [re.escape(word) for word in words(flat(phrase))]
    return re.compile(r"(?<!\w)" + r"\W+(?:\w+\W+){0,2}".join(said) + r"(?!\w)" if said else r"(?!)")


def _expanded(line: str) -> str:
    for name, pattern in _MACROS.items():
        line = re.sub(rf"\b{name}\b", pattern, line)
    return line
