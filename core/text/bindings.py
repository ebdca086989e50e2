"""The phrases that a memory is found by, and those that a question is searched by.

They are derived from words and their concepts, and never shown as what the person said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from core.text.senses import concepts, named_by, silent, subject, tells, told_by, words
from core.text.unicode import flat, fold, one_line
from core.types import Locale

MAX_BINDINGS: Final = 6
MAX_BINDING_CHARS: Final = 80
MAX_QUERY_CHARS: Final = 300
MAX_TOLD_CHARS: Final = 600
"""The start of a text, which names its subject; the embedding and the search by words read all of it."""

_MAX_CONCEPTS: Final = 12
_SUBJECT_END: Final = re.compile(r"\s(?:é|eh|sao|is|are|es|son)\s|[:=–—\n]|\s-\s|[\s,]+(?=\S*\d)")
_NAME: Final = re.compile(r"(?<=[\w,]\s)[^\W\d_a-zà-ÿ][\w'’-]+(?:\s[^\W\d_a-zà-ÿ][\w'’-]+)*")
_MAX_NAMES: Final = 2


def bindings(text: str) -> tuple[str, ...]:
    """Return the phrases by which a memory is found: its subject, its concepts in every language, names in it."""
    said = text[:MAX_TOLD_CHARS]
    end = _SUBJECT_END.search(flat(said))
    about = subject(said[: end.start()] if end else said) or subject(said)
    told = list(dict.fromkeys(concept for word in words(said) if not silent(word) for concept in told_by(word)))
    main = [concept.phrase for concept in told if concept in concepts(about)]
    others = [concept.phrase for concept in told if concept not in concepts(about)]
    found = [about, *main[:2], *(" ".join(others[at : at + 3]) for at in range(0, min(len(others), _MAX_CONCEPTS), 3))]
    found += [name for name in _NAME.findall(said) if name not in about][:_MAX_NAMES]
    return _distinct(found)[:MAX_BINDINGS] or (one_line(said, MAX_BINDING_CHARS) or "?",)


def queries(text: str) -> list[str]:
    """Return what to search for of a question: its words, and the concepts that they name."""
    said = text[:MAX_TOLD_CHARS]
    telling = [word for word in words(said) if tells(word)]
    known = [[concept.names[Locale.PT] for concept in named_by(word)[:1]] or [word] for word in telling]
    found = [one_line(said, MAX_QUERY_CHARS), " ".join(dict.fromkeys(word for each in known for word in each))]
    return list(dict.fromkeys(filter(None, found))) or ["?"]


def _distinct(phrases: Iterable[str]) -> tuple[str, ...]:
    kept: dict[frozenset[str], str] = {}
    for phrase in phrases:
        short = one_line(phrase, MAX_BINDING_CHARS)
        key = frozenset(flat(word) for word in words(short) if not silent(word)) or frozenset({fold(short)})
        if short:
            kept.setdefault(key, short)
    return tuple(kept.values())
