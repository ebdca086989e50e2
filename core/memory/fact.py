"""Tell whether a text is a plain statement of a fact: only such a one can take the place of another, or lose its own.

Greetings, thanks, praise, questions, promises and events of a day stay beside what is known, however much their words
are alike; so does whatever is told in several sentences, as one new value would take the place of all of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final

from core.memory.statement import Statement, read
from core.text.unicode import flat

FILE: Final = "fact.txt"
_EVENT: Final = "tells of a day"
_CHANGES: Final = frozenset({"now", "change", "end"})
_SENTENCE_END: Final = re.compile(r"[.!…]+(?:\s+|$)|\n+|\s[–—-]\s")
_TITLE: Final = re.compile(r"\b(?:mr|mrs|ms|dr|dra|sr|sra|srta|prof|profa|st|av|n|no|apt|ap|tel|cel|exp)\. (?=\S)")
_SPEAKER: Final = re.compile(r"^[^\W\d_]\w*:\s+(?=(?:\S+\s+){3})")
"""Who says the rest, as in a log; what follows a label as "code:" is shorter."""


@cache
def _kinds() -> Mapping[str, re.Pattern[str]]:
    """Return a pattern for each section of the file that ships with this package."""
    found: dict[str, list[str]] = {}
    for line in resources.files(__package__).joinpath(FILE).read_text("utf-8").splitlines():
        if line.startswith("["):
            found[line.strip("[]")] = []
        elif line and not line.startswith("#"):
            next(reversed(found.values())).append(line)
    return {name: re.compile("|".join(lines)) for name, lines in found.items()}


def tells_change(text: str) -> bool:
    """Return whether a text states a fact that was otherwise before, as it says itself."""
    statement = read(text)
    return bool(statement.cues & _CHANGES) and "will" not in statement.cues and states_fact(text, statement)


def states_fact(text: str, statement: Statement) -> bool:
    """Return whether a text, read as that statement, states one fact: what it says holds until another value does."""
    if "?" in text:
        return False
    plain = _TITLE.sub(lambda match: match[0].replace(".", ""), _SPEAKER.sub("", flat(text).strip()).replace("'", ""))
    sentences = [sentence for sentence in _SENTENCE_END.split(plain) if re.search(r"[^\W_]", sentence)]
    if len(sentences) != 1:
        return False
    kinds = {name for name, pattern in _kinds().items() if pattern.search(sentences[0])}
    is_change = bool(statement.cues & _CHANGES) or statement.is_state
    return not kinds or (kinds == {_EVENT} and is_change)
