"""From a message to what is saved and what is searched for: sentences, facts, bindings, queries.

Facts are cut out of what was said; no word is added.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

Cues = object
from core.limited.words import concepts, named, silent, subject, translated, words
from core.text.language import detect
from core.text.unicode import flat, fold, one_line
from core.types import Locale, MemoryDraft, MemoryKind

MAX_BINDINGS = 6
MAX_BINDING_CHARS = 80
_MAX_DRAFTS = 20
_MAX_QUERIES = 3
_MAX_TOLD_CHARS = 600
"""The start of a text, which names its subject; the embedding and the search by words read all of it."""

_ABBREVIATION = re.compile(
    r"(?:^|\s)(?:dra?|sra?|srta|profa?|mrs?|ms|st|av|al|tel|cel|nro|num|apto?|ap|etc|ex|e\.g|i\.e|obs|pq|vs|p|[ap]\.m|"
    r"(?<!\bas )(?<!\bat )(?<!\bdia )(?<!\blas )\d+)\.$"
)
_MAX_ABBREVIATION_CHARS = 16
_BREAK = re.compile(
    r"(?<=[.!?…])\s+|\s*[\n;]+\s*|"
    r",?\s(?:e|and|y)\s(?=(?:(?:guard[ae]|anot[ae]|salv[ae]|lembr[ae]|recuerda|apunta) que|"
    r"(?:remember|save|note) that|me lembr[ae] d[eoa]s?|remind me to|recu[eé]rdame)\b)",
    re.IGNORECASE,
)
"""Where a sentence ends, and where another wish begins: "remind me to call Ana and remember that …"."""

_AFTER_CUE = re.compile(
    r"[\s:,;.–—-]*(?:(?:isso|isto|this|esto|eso|it|o seguinte|the following) *(?:ai *)?[:,–—-]+\s*)?"
    r"(?:(?:de |do fato de )?(?:que|q)\b|that\b|to\b(?= \w)|(?:de|pra|para)\b(?= \w+[aei]r\b)|"
    r"de\b(?= (?:o|a|os|as|um|uma|meu|minha)\b))?[\s:,–—-]*"
)
_DETACHED = re.compile(
    r"(?:isso|isto|disso|disto|it|this|that|esto|eso|tudo|all|essa informacao|esta informacao|"
    r"something|some(?: )?thing|stuff|algo|"
    r"(?:uma|alguma|una|mais uma) (?:coisa|informacao|nota|cosa)|a note|one more thing)?"
    r"[\s.!?]*"
)
_FILLER = re.compile(r" (?:ai|aqui)(?=\s*[:=])")
_ANCHOR = (
    r"(?:(?:eu )?(?:me chamo|moro|trabalho|estudo|nasci|sou|tenho|gosto|prefiro|odeio|adoro|uso|calco|faco)|"
    r"(?:o |a |os |as )?(?:meu|minha|meus|minhas|my|our|mi|mis)|i (?:live|work|study|was|have|like|love|"
    r"hate|prefer|am)|"
    r"i'm|(?:yo )?(?:me llamo|vivo|soy|tengo|naci|prefiero))\b"
)
_SEAM = re.compile(rf"(?:,| e| and| y)(?: (?:que|q|that))? (?={_ANCHOR})")
_VERB = re.compile(
    r"(?:(?:\s(?:se chama|chama-se|is called|is named|are called|se llama|faz aniversario|cumple anos|é|eh|sao|"
    r"is|are|es|son|"
    r"fica|vence|custa|cobra|sai|chega|termina|comeca|acaba|abre|fecha|mede|tem|has|have|atende|vem|odeia|adora|gosta|"
    r"hates?|loves?|likes?|costs?|expires?|starts?|ends?|opens?|closes?|leaves?|lands?|sale|cuesta|cierra|tiene|calca|"
    r"usa|wears?|prefere|prefers?|estao|esta|moved to|owes?|deve|debe)(?=\s))|(?:\s?[:=–—](?=\s|\w))|(?:\s-(?=\s)))\s*"
)
_IMPLIED = (
    (re.compile(r"^(?:everyone )?call me |^(?:pode )?me cham(?:e|ar|a) de |^llamame "), "nome name nombre"),
    (
        re.compile(
            r"^(?:i|we)(?:'ve| have)?(?: just)? moved to |^(?:eu )?(?:me )?mudei (?:para|pra|pro) |^(?:yo )?me mude a "
        ),
        "endereço address dirección",
    ),
    (re.compile(r"^(?:eu )?nasci |^i was born |^naci "), "nascimento birth nacimiento"),
)
_VERBS = frozenset(
    "moro mora morar live lives living vivo vive moved mudei nasci naci born trabalha working works".split()
)
"""Words of a concept that are no name for it: "live Berlin" is not "address Berlin"."""

_MAX_NAME_WORDS = 2
_AKIN = {"food": "alergia allergy comida food", "age": "aniversário birthday nascimento"}
"""Where else an answer may stand: what cannot be eaten is an allergy, an age is counted from a birthday."""

_TRAILING_CODE = re.compile(r"(?:[\s,]+(?=\S*\d)[\w#*+./-]{3,})+$")
_NAME = re.compile(r"(?<=[\w,]\s)[^\W\d_a-zà-ÿ][\w'’-]+(?:\s[^\W\d_a-zà-ÿ][\w'’-]+)*")


@dataclass(frozen=True, slots=True)
class Clause:
    """A statement cut at its verb: `head` ends with the verb and its space, `value` is the rest ("" if no verb)."""

    subject: str
    head: str
    value: str


def sentences(text: str) -> list[str]:
    """Return the sentences of a message, each on one line."""
    pieces: list[str] = []
    start = 0
    text = re.sub(r"[^\S\n]+", " ", text)
    for match in _BREAK.finditer(text):
        if "\n" not in match.group() and _ends_in_abbreviation(text, start, match.start()):
            continue
        pieces.append(text[start : match.start()])
        start = match.end()
    pieces.append(text[start:])
    return [" ".join(piece.split()) for piece in pieces if piece.strip()]


def _ends_in_abbreviation(text: str, start: int, end: int) -> bool:
    cut = max(start, end - _MAX_ABBREVIATION_CHARS)
    begun = "x" if cut > start else ""  # what stands there begins no word
    return _ABBREVIATION.search(begun + flat(text[cut:end])) is not None


def clause(text: str) -> Clause:
    """Return the statement cut at its first verb of being."""
    match = _VERB.search(flat(text))
    if match is None or not match.start() or match.end() >= len(text):
        return Clause("", "", text)
    return Clause(text[: match.start()].strip(), text[: match.end()], text[match.end() :])


def content(cues: Cues, sentence: str) -> str:
    """Return the sentence without the words that ask to save it; "" if nothing is left."""
    text = cues.opened(sentence).strip()
    tail = cues.saving_tail(text)
    if tail is not None and not cues.patterns["save-start"].match(flat(text)):
        text = text[:tail]
    asked = cues.patterns["save-start"].match(flat(text))
    if asked:
        text = text[asked.end() :]
        text = text[_AFTER_CUE.match(flat(text)).end() :]  # type: ignore[union-attr] # it matches the empty text
    filler = _FILLER.search(flat(text))
    if filler:
        text = text[: filler.start()] + text[filler.end() :]
    text = text.strip().rstrip(".?…").rstrip(" ,;:!" if not words(text) else " ,;:").strip("“”")
    return "" if _DETACHED.fullmatch(flat(text)) else text


def facts(cues: Cues, sentence: str) -> list[str]:
    """Return the facts of one sentence, cut at an "and" only where both sides are whole statements."""
    said = content(cues, sentence)
    pieces: list[str] = []
    start = 0
    for match in islice(_SEAM.finditer(flat(said)), _MAX_DRAFTS):
        left, right = said[start : match.start()], said[match.end() :]
        if _stands(cues, left) and _stands(cues, right):
            pieces.append(left)
            start = match.end()
    pieces.append(said[start:])
    return [piece.strip(" ,") for piece in pieces if piece.strip(" ,")]


def _stands(cues: Cues, text: str) -> bool:
    return cues.has("fact", text) or cues.has("plain", text)


def bindings(said: str) -> tuple[str, ...]:
    """Return the phrases that a person would search for the fact by, from its start: at least one."""
    said = said[:_MAX_TOLD_CHARS]
    parts = clause(said)
    about = subject(parts.subject) or subject(_TRAILING_CODE.sub("", said)) or subject(said) or said
    first = next((word for word in words(said) if not silent(word)), "")
    lead = named(first, detect(said) or Locale.PT)
    found = [about] if parts.subject or lead == first else [lead, about]
    rest = " ".join(word for word in words(parts.value) if word.isalpha()) if parts.subject else ""
    if len(words(about)) == 1 and rest and not concepts(about):
        found.append(subject(f"{about} {rest}", max_words=5))
    found += translations(about)
    others = [concept for concept in concepts(said) if concept not in concepts(about)]
    found += [" ".join(dict.fromkeys((*concept.names.values(),))) for concept in others[:2]]
    found += [phrase for pattern, phrase in _IMPLIED if pattern.match(flat(said))]
    found += [name for name in _NAME.findall(said) if name not in about][:2]
    return _distinct(found) or (one_line(said, MAX_BINDING_CHARS) or "?",)


def _distinct(phrases: Iterable[str]) -> tuple[str, ...]:
    kept: dict[frozenset[str], str] = {}
    for phrase in phrases:
        short = one_line(phrase, MAX_BINDING_CHARS)
        key = frozenset(flat(word) for word in words(short) if not silent(word)) or frozenset({fold(short)})
        if short:
            kept.setdefault(key, short)
    return tuple(kept.values())[:MAX_BINDINGS]


def drafts(cues: Cues, said: Sequence[str]) -> list[MemoryDraft]:
    """Return the drafts to save, in the order of the sentences, without repetitions."""
    whole = _json_draft(cues, "\n".join(said))
    if whole is not None:
        return [whole]
    pieces = dict.fromkeys(fact for sentence in said for fact in facts(cues, sentence))
    return [MemoryDraft(MemoryKind.TEXT, fact, bindings(fact)) for fact in islice(pieces, _MAX_DRAFTS)]


def _json_draft(cues: Cues, text: str) -> MemoryDraft | None:
    """Return the draft of a message that holds a JSON object or list, or None."""
    start = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=-1)
    if start < 0:
        return None
    try:
        value, end = json.JSONDecoder().raw_decode(text[start:])
    except (ValueError, RecursionError):
        return None
    if not value:
        return None
    about = content(cues, text[:start].strip(" :\n")) or content(cues, text[start + end :])
    keys = value if isinstance(value, dict) else {}
    phrases = (subject(about), *(f"{subject(about)} {key}".strip() for key in keys), *translations(about))
    return MemoryDraft(MemoryKind.JSON, text[start : start + end], _distinct(phrases) or ("json",))


def translations(phrase: str) -> list[str]:
    """Return the phrase in every language, as far as its words are known concepts.

    Of a phrase with more other words than a name has, the concepts alone: "address Berlin last month" helps nobody.
    """
    known = concepts(phrase)
    others = [word for word in words(phrase) if not silent(word) and not concepts(word)]
    if known and len(others) <= _MAX_NAME_WORDS and not any(flat(word) in _VERBS for word in words(phrase)):
        return [translated(phrase, locale) for locale in Locale]
    return [" ".join(concept.names[locale] for concept in known[:2]) for locale in Locale if known]


def queries(text: str) -> list[str]:
    """Return one to three short phrases to search for, from the start of the text."""
    text = text[:_MAX_TOLD_CHARS]
    about = subject(text, asking=True)
    found = [about] if about else []
    if len(words(about)) <= 1:
        found.append(text.strip(" ?!.¿¡"))
    found += [" ".join(concept.names.values()) for concept in concepts(about) if len(words(about)) == 1]
    found += [_AKIN[concept.names[Locale.EN]] for concept in concepts(text) if concept.names[Locale.EN] in _AKIN]
    return list(_distinct(found)[:_MAX_QUERIES]) or [one_line(text, MAX_BINDING_CHARS) or "?"]
