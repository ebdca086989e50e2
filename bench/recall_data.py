"""Data by which recall is judged, read from two forms of JSON that are told apart by their keys.

A life: {language, memories: [{id, text, bindings?}], questions: [{text, answers, kind?, language?}], unrelated?,
changes?}. A talk, as LoCoMo's file has them: {conversation: {session_1: [{dia_id, text, speaker}], ...}, qa:
[{question, evidence, category}]}. A file holds one, a list of them, or {"lives": [...]}.
"""

from __future__ import annotations

import json
import random
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.text.language import detect
from core.text.senses import concepts
from core.text.words import FUNCTION_WORDS, folded_words

ADVERSARIAL = "adversarial"
"""The kind of those questions whose evidence answers something else; they are reported apart."""

_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: ADVERSARIAL}
_SESSION = re.compile(r"session_\d+")
_BETWEEN_IDS = re.compile(r"[;,\s]+")


@dataclass(frozen=True, slots=True)
class Held:
    """A memory, and the ids for which finding it counts."""

    text: str
    bindings: tuple[str, ...] = ()
    ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the ids that answer it: none for one that no memory answers."""

    text: str
    kind: str
    language: str
    answers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Change:
    """Two things said one after the other.

    `relation`: `same`, `replaces` or `both` (stay true). `old_question` asks for what was replaced.
    """

    first: str
    then: str
    relation: str
    question: str
    old_question: str


@dataclass(frozen=True, slots=True)
class Life:
    """What one person has told and asks; `is_talk` if it was read from turns."""

    name: str
    language: str
    memories: Sequence[Held]
    questions: Sequence[Question]
    unrelated: Sequence[Question] = ()
    changes: Sequence[Change] = ()
    is_talk: bool = False


def read(path: Path) -> Sequence[Life]:
    """Return what a file holds. Turns are saved as "speaker: text".

    Raises:
        ValueError: one of its entries has neither form.
    """
    data = json.loads(path.read_text("utf-8"))
    entries = data.get("lives", [data]) if isinstance(data, dict) else data
    return [_life(entry, f"{path.stem}-{number}") for number, entry in enumerate(entries, 1)]


def _life(entry: Mapping[str, Any], name: str) -> Life:
    is_talk = "memories" not in entry
    if not is_talk:
        memories = [
            Held(_first(each, "text", "content"), tuple(each.get("bindings", ())), frozenset({str(each["id"])}))
            for each in entry["memories"]
        ]
    elif "conversation" in entry:
        memories = [
            Held(f"{turn['speaker']}: {turn['text']}", (), frozenset({turn["dia_id"]}))
            for session_name, session in entry["conversation"].items()
            if _SESSION.fullmatch(session_name)
            for turn in session
        ]
    else:
        raise ValueError(f"neither memories nor turns: {sorted(entry)}")
    known = frozenset(id_ for held in memories for id_ in held.ids)
    language = str(entry.get("language") or detect(" ".join(held.text for held in memories[:20])) or "en")[:2]
    asked = [_question(each, known, language) for each in _first(entry, "questions", "qa")]
    return Life(
        name,
        language,
        memories,
        [question for question in asked if question.answers],
        [_question(each, known, language) for each in entry.get("unrelated", ())],
        [
            Change(each["first"], each["then"], each["relation"], each["question"], each.get("old_question", ""))
            for each in entry.get("changes", ())
        ],
        is_talk,
    )


def _question(entry: Mapping[str, Any], known: frozenset[str], language: str) -> Question:
    kind = _first(entry, "kind", "category", default="")
    answers = _ids(_first(entry, "answers", "evidence", "ids", default=()), known)
    text = _first(entry, "text", "question", "content")
    return Question(text, _CATEGORIES.get(kind, str(kind)), entry.get("language", language), answers)


def _ids(found: Any, known: frozenset[str]) -> frozenset[str]:
    """Return those of the ids that are known; some in LoCoMo are written as "D8:6; D9:17", "D:11:26" or "D30:05"."""
    listed = [str(each) for each in (found if isinstance(found, list | tuple) else [found])]
    pieces = [piece for each in listed for piece in ([each] if each in known else _BETWEEN_IDS.split(each))]
    plain = {_plain(id_): id_ for id_ in known}
    return frozenset(plain[_plain(piece)] for piece in pieces if _plain(piece) in plain)


def _plain(id_: str) -> str:
    """Return an id without leading zeros, and with one and the same sign before its numbers."""
    return re.sub(r"\W*0*(\d+)", r".\1", id_)


def _first(entry: Mapping[str, Any], *names: str, **default: Any) -> Any:
    """Return what the first of the names stands for, or the default if there is one."""
    for name in names:
        if name in entry:
            return entry[name]
    if default:
        return default["default"]
    raise ValueError(f"none of {', '.join(names)} in {sorted(entry)}")


_PARTS = Path(__file__).with_name("fillers.toml")
_SEED = 19
_STEM_CHARS = 5
_MIN_CHARS = 4


def padding(life: Life) -> Iterator[Held]:
    """Yield notes without end that share no subject with a life.

    A subject is a word of a binding, of a question or of a name, or what the bot knows it to be in other languages.
    """
    told = [" ".join((*held.bindings, *_names(held.text))) for held in life.memories]
    asked = [question.text for question in (*life.questions, *life.unrelated)]
    taken = subjects((*told, *asked))
    for held in notes():
        if taken.isdisjoint(subjects((held.text, *held.bindings))):
            yield held


def notes() -> Iterator[Held]:
    """Yield notes about other people without end, no two equal, the same in every run, in three languages by turns."""
    parts = tomllib.loads(_PARTS.read_text("utf-8"))
    rng = random.Random(_SEED)
    told = set()
    while True:
        for language in parts.values():
            values = {name: rng.choice(each) for name, each in language.items() if name != "templates"}
            values |= {
                "name2": rng.choice(language["name"]),
                "n": rng.randint(2, 999),
                "price": 5 * rng.randint(2, 400),
            }
            note, *bindings = (part.format_map(values) for part in rng.choice(language["templates"]))
            if note not in told and values["name"] != values["name2"]:
                told.add(note)
                yield Held(note, tuple(bindings))


def subjects(texts: Iterable[str]) -> frozenset[str]:
    """Return the beginnings of the words of texts that say something, and the names of the concepts among them."""
    text = " ".join(texts)
    words = {word for word in folded_words(text) if len(word) >= _MIN_CHARS and word not in FUNCTION_WORDS}
    return frozenset({word[:_STEM_CHARS] for word in words} | {repr(each.names) for each in concepts(text)})


def _names(text: str) -> Sequence[str]:
    return [word for word in text.split() if word[:1].isupper()]
