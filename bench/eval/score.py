"""Judge what a bot did in a labelled turn, by rules that code can check.

- first: the first action is one of the label's. Where the label says that a memory answers, an answer straight away
  is right, too, if it holds what it has to.
- data: the memories afterwards differ from those before in one of the ways that the label allows, and in no other:
  the right number was saved, each word that has to be there is there, each that must not is not, the right memory was
  changed or deleted. A deletion that was only proposed is agreed to first; so a wrong proposal counts as a deletion.
- said: the answer holds what it has to, nothing that it must not, no tool call, and admits what is not known.
- false claims: the answer says that something was saved, updated or deleted that was not; or it holds what the label
  forbids it to say (where it says that the thing itself is not known, what is near may be told); or, where the
  person's own affairs are asked for, a number of three digits or more that is in no message and no memory; or it does
  not admit that something is not known.
- language: the answer is in the person's language, as far as scripts and common words tell. Only where no
  translation is asked for, and no sentence of our own stands for the answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from bench.eval import words
from bench.eval.labels import Changes, Label
from bench.eval.observed import Observed

_ANSWERS: Final = frozenset({"Finish", "Question"})
_IN_OWN_LANGUAGE: Final = frozenset({"talk", "recall", "not_found", "passing"})
_ABOUT_THE_WORLD: Final = frozenset({"talk", "knowledge", "passing"})
"""Categories in which numbers may come from what the model knows."""

_CALL: Final = re.compile(r'\{\s*"(?:reply|tool|name|action)"\s*:')
"""How a tool call begins that is shown to the person as text."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is right about one turn, and what it took. `in_language` is None where it cannot be told."""

    id: str
    category: str
    lang: str
    first: str
    first_ok: bool
    data_ok: bool
    said_ok: bool
    false_claims: list[str]
    in_language: bool | None
    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    duration_s: float

    @property
    def is_right(self) -> bool:
        """Whether the first action, the data and the answer are right, and nothing false was claimed."""
        return self.first_ok and self.data_ok and self.said_ok and not self.false_claims


def judge(label: Label, seen: Observed) -> Verdict:
    """Judge one turn."""
    first = seen.steps[0][0] if seen.steps else ""
    says = words.holds_all(seen.text, label.says)
    denied = label.denies and words.denies(seen.text)
    forbidden = [phrase for phrase in label.says_not if not denied and words.holds(seen.text, phrase)]
    admits = not label.denies or denied or first == "Question"
    shows_call = _CALL.search(seen.text) is not None
    usage = [call.usage for call in seen.calls]
    return Verdict(
        id=label.id,
        category=label.category,
        lang=label.lang,
        first=first,
        first_ok=first in label.first or bool(label.recalls and first in _ANSWERS and says),
        data_ok=any(_fits(changes, seen) for changes in label.data),
        said_ok=bool(seen.text) and says and admits and not forbidden and not shows_call,
        false_claims=[
            *sorted(words.claims(seen.text) - set(seen.committed)),
            *(f"says {phrase}" for phrase in forbidden),
            *_invented(label, seen),
            *(["tells what nobody told"] if seen.text and not (admits or shows_call) else []),
        ],
        in_language=_in_language(label, seen),
        calls=len(seen.calls),
        input_tokens=sum(each.input_tokens for each in usage),
        cached_tokens=sum(each.cached_tokens for each in usage),
        output_tokens=sum(each.output_tokens for each in usage),
        duration_s=seen.duration_s,
    )


def _fits(changes: Changes, seen: Observed) -> bool:
    least, most = changes.count
    saved = "\n".join(seen.saved)
    if not least <= len(seen.saved) <= most or set(seen.updated) != set(changes.updated):
        return False
    written = [(content, changes.updated[key]) for key, content in seen.updated.items()]
    written += [(saved, changes.saved)] if changes.saved is not None else []
    return set(seen.deleted) == changes.deleted and all(
        words.holds_all(text, wanted.has) and not any(words.holds(text, phrase) for phrase in wanted.lacks)
        for text, wanted in written
    )


def _invented(label: Label, seen: Observed) -> list[str]:
    if label.category in _ABOUT_THE_WORLD:
        return []
    return [
        f"invents {number}" for number in words.invented_numbers(seen.text, label.known, datetime.now(UTC).astimezone())
    ]


def _in_language(label: Label, seen: Observed) -> bool | None:
    if label.category not in _IN_OWN_LANGUAGE or seen.committed or seen.deleted:
        return None
    return words.is_in(label.lang, seen.text)
