"""The labelled turns, what a bot did in one (`Observed`), and rules by which code judges that.

`tests/data/eval_tune.json` and `tests/data/eval_report.json` are two halves by theme: prompts are written with the
first in view; of the second only figures are looked at.

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

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from core.dialogue import Usage
from core.enclosures import Attachment, AttachmentKind, Quote, QuoteKind, Speaker

DATA: Final = Path(__file__).parents[1] / "tests" / "data"
HALVES: Final = ("tune", "report")

_ANSWERS: Final = frozenset({"Finish", "Question"})
_IN_OWN_LANGUAGE: Final = frozenset({"talk", "recall", "not_found", "passing"})
_ABOUT_THE_WORLD: Final = frozenset({"talk", "knowledge", "passing"})
"""Categories in which numbers may come from what the model knows."""

_CALL: Final = re.compile(r'\{\s*"(?:reply|tool|name|action)"\s*:')
"""How a tool call begins that is shown to the person as text."""

Phrases = Sequence[Sequence[str]]
"""Groups of phrases: of each group, one has to be there."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A memory that the person has."""

    text: str
    bindings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """The words that a saved or changed memory has to hold (`has`), and those that it must not hold (`lacks`)."""

    has: Phrases = ()
    lacks: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Changes:
    """A way in which the person's memories may rightly change: all of this, and nothing else.

    `saved` is about the new memories together, `count` how many they may be, from and to. `updated` maps a memory's
    key to what it has to hold then.
    """

    saved: Written | None = None
    count: tuple[int, int] = (0, 0)
    updated: Mapping[str, Written] = field(default_factory=dict)
    deleted: frozenset[str] = frozenset()

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Changes:
        """Read the form in the file."""
        saved, updated = value.get("saved"), value.get("updated")
        return cls(
            None if saved is None else _written(saved),
            (0, 0) if saved is None else (saved["count"][0], saved["count"][1]),
            {} if updated is None else {updated["memory"]: _written(updated)},
            frozenset(value.get("deleted", ())),
        )


@dataclass(frozen=True, slots=True)
class Label:
    """One turn.

    `memories` are by key; `earlier` are (role, text), or ("memory", key) for one that was recalled. `first` are the
    first actions that are right; `recalls`, that an answer straight from these memories is right, too. `data` are the
    ways in which the memories may change. The answer has to hold `says`, must not hold `says_not`, and if `denies`,
    has to say that something is not known.
    """

    id: str
    category: str
    lang: str
    message: str
    first: tuple[str, ...]
    memories: Mapping[str, Stored]
    earlier: Sequence[tuple[str, str]]
    quotes: tuple[Quote, ...]
    attachments: tuple[Attachment, ...]
    recalls: tuple[str, ...]
    data: Sequence[Changes]
    says: Phrases
    says_not: Sequence[str]
    denies: bool

    @property
    def known(self) -> str:
        """All that the bot could know the numbers of: the message, what came with it, and the memories."""
        quoted = (quote.text for quote in self.quotes)
        stored = (memory.text for memory in self.memories.values())
        said = (text for _, text in self.earlier)
        wanted = (phrase for group in self.says for phrase in group)
        return " ".join((self.message, *quoted, *stored, *said, *wanted))


def load(half: str) -> list[Label]:
    """Return the turns of a half, `tune` or `report`."""
    found = json.loads((DATA / f"eval_{half}.json").read_text("utf-8"))
    return [_label(turn, found["lives"]) for turn in found["turns"]]


def sample(labels: Iterable[Label], limit: int) -> list[Label]:
    """Return `limit` turns at most, of every category in turn: always the same for the same labels."""
    groups: defaultdict[str, list[Label]] = defaultdict(list)
    for label in sorted(labels, key=lambda label: sha256(label.id.encode()).digest()):
        groups[label.category].append(label)
    rounds = max(map(len, groups.values()), default=0)
    mixed = [group[at] for at in range(rounds) for group in groups.values() if at < len(group)]
    return mixed[:limit]


def _label(turn: Mapping[str, Any], lives: Mapping[str, Mapping[str, Any]]) -> Label:
    memories = {**lives.get(turn.get("life", ""), {}), **turn.get("memories", {})}
    return Label(
        id=turn["id"],
        category=turn["category"],
        lang=turn["lang"],
        message=turn["message"],
        first=tuple(turn["first"]),
        memories={key: Stored(each["text"], tuple(each["bindings"])) for key, each in memories.items()},
        earlier=[(role, text) for role, text in turn.get("earlier", ())],
        quotes=tuple(
            Quote(QuoteKind(quote["kind"]), quote["text"], Speaker(quote["speaker"]), quote["name"])
            for quote in turn.get("quotes", ())
        ),
        attachments=tuple(
            Attachment(AttachmentKind(each["kind"]), each["name"]) for each in turn.get("attachments", ())
        ),
        recalls=tuple(turn.get("recalls", ())),
        data=[Changes.of(each) for each in turn.get("data", ({},))],
        says=turn.get("says", ()),
        says_not=turn.get("says_not", ()),
        denies=turn.get("denies", False),
    )


def _written(value: Mapping[str, Any]) -> Written:
    return Written(value["has"], value["lacks"])


@dataclass(slots=True)
class Observed:
    """What became of one turn.

    `steps` are (action, outcome) in order. `text` is what the person could read in the end; `shown` are the keys of
    memories drawn for them. `saved` are new contents, `updated` maps keys to new contents, `deleted` are keys: after
    the person agreed to what was proposed. `committed` are the kinds of change that were made before that.
    """

    steps: list[tuple[str, str]] = field(default_factory=list)
    text: str = ""
    shown: list[str] = field(default_factory=list)
    saved: list[str] = field(default_factory=list)
    updated: dict[str, str] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    committed: list[str] = field(default_factory=list)
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    notes: list[str] = field(default_factory=list)
    duration_s: float = 0.0


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
    says = holds_all(seen.text, label.says)
    denied = label.denies and denies(seen.text)
    forbidden = [phrase for phrase in label.says_not if not denied and holds(seen.text, phrase)]
    admits = not label.denies or denied or first == "Question"
    shows_call = _CALL.search(seen.text) is not None
    return Verdict(
        id=label.id,
        category=label.category,
        lang=label.lang,
        first=first,
        first_ok=first in label.first or bool(label.recalls and first in _ANSWERS and says),
        data_ok=any(_fits(changes, seen) for changes in label.data),
        said_ok=bool(seen.text) and says and admits and not forbidden and not shows_call,
        false_claims=[
            *sorted(claims(seen.text) - set(seen.committed)),
            *(f"says {phrase}" for phrase in forbidden),
            *_invented(label, seen),
            *(["tells what nobody told"] if seen.text and not (admits or shows_call) else []),
        ],
        in_language=_in_language(label, seen),
        calls=seen.calls,
        input_tokens=seen.usage.input_tokens,
        cached_tokens=seen.usage.cached_tokens,
        output_tokens=seen.usage.output_tokens,
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
        holds_all(text, wanted.has) and not any(holds(text, phrase) for phrase in wanted.lacks)
        for text, wanted in written
    )


def _invented(label: Label, seen: Observed) -> list[str]:
    if label.category in _ABOUT_THE_WORLD:
        return []
    return [f"invents {number}" for number in invented_numbers(seen.text, label.known, datetime.now(UTC).astimezone())]


def _in_language(label: Label, seen: Observed) -> bool | None:
    if label.category not in _IN_OWN_LANGUAGE or seen.committed or seen.deleted:
        return None
    return is_in(label.lang, seen.text)


# --- what a text says, as far as word lists can tell
#
# Written apart from `core/text/assertions.py`, which the bot itself uses: a judge must not share the eyes of the
# judged.

SAVED, UPDATED, DELETED = "saved", "updated", "deleted"

_OPENING: Final = r"^(?:(?:ok|okay|done|sure|pronto|feito|certo|claro|listo|hecho|vale|tudo)\W+)?"
_CLAIMS: Final = {
    SAVED: r"""
        i(?:'ve| have)? (?:just |now |also )?(?:saved|noted|stored|recorded|memori[sz]ed|added|made a note|written)|
        i(?:'ll| will) (?:remember|keep (?:that|this|it) in mind|make a note|note)|
        (?:has|have) been (?:saved|noted|stored|recorded|added)|(?:is|are) (?:now )?(?:saved|noted|stored)|
        OPENING(?:saved|noted|(?:anotad|guardad|salv|memorizad|registrad|apuntad)[oa]s?|c'est noté)\b|
        \b(?:salvei|guardei|anotei|memorizei|registrei|gravei|guardé|anoté|apunté)\b|
        vou (?:me )?(?:lembrar|guardar|anotar)|(?:foi|foram|est[aá]|estão) (?:salv|guardad|anotad|registrad)|
        \bhe (?:guardado|anotado|apuntado)|recordaré|queda guardad|(?:ha|han) sido (?:guardad|anotad|apuntad)|
        gespeichert|notiert|gemerkt|werde (?:ich )?mir (?:das )?merken|enregistrée?s?\b|j'ai (?:bien )?noté|
        \bho (?:salvato|annotato|memorizzato)|ricorderò|保存しました|覚えました|記憶しました|已保存|已经保存|记住了|
        已记录|запомнил|сохран(?:ил|ено)|записал|حفظت|تم حفظ|याद रख(?:ूँगा|ूंगा| लिया)|सहेज
    """,
    UPDATED: r"""
        i(?:'ve| have)? (?:just |now |also )?(?:updated|changed|corrected|replaced|modified)|
        (?:has|have) been (?:updated|changed|corrected|replaced|modified)|(?:is|are) now updated|
        OPENING(?:updated|corrected|(?:atualizad|corrigid|alterad|actualizad|cambiad|corregid)[oa]s?)\b|
        \b(?:atualizei|mudei|corrigi|alterei|troquei|actualicé|cambié|corregí)\b|
        (?:foi|foram|est[aá]|estão) (?:atualizad|alterad|corrigid|mudad)|
        \bhe (?:actualizado|cambiado|corregido)|(?:ha|han) sido (?:actualizad|cambiad)|
        aktualisiert|geändert|mise?s? à jour|j'ai (?:modifié|changé|corrigé)|\bho (?:aggiornato|modificato|cambiato)|
        更新しました|変更しました|已更[新改]|已经更[新改]|обнов(?:ил|лено)|изменил|تم تحديث|अपडेट कर दिया
    """,
    DELETED: r"""
        i(?:'ve| have)? (?:just |now |also )?(?:deleted|removed|erased|forgotten|cleared)|
        (?:has|have) been (?:deleted|removed|erased|cleared)|(?:is|are) now (?:deleted|removed|gone)|
        OPENING(?:deleted|removed|erased|(?:apagad|removid|excluíd|eliminad|borrad)[oa]s?)\b|
        \b(?:apaguei|deletei|removi|excluí|eliminei|esqueci|borré|eliminé)\b|
        (?:foi|foram) (?:apagad|deletad|removid|excluíd|eliminad)|
        \bhe (?:borrado|eliminado|olvidado)|(?:ha|han) sido (?:borrad|eliminad)|
        gelöscht|entfernt|supprimée?s?\b|effacée?s?\b|\bho (?:cancellato|eliminato|rimosso)|
        削除しました|消しました|已删除|已经删除|удал(?:ил|ено)|تم حذف|हटा दिया
    """,
}
"""What a text in small letters says that claims a change was made. OPENING is the beginning of a sentence."""

_CLAIM: Final = {
    kind: re.compile(re.sub(r"\n\s*", "", pattern).replace("OPENING", _OPENING)) for kind, pattern in _CLAIMS.items()
}
_DENIAL: Final = re.compile(
    r"\b(?:not|no|none|nothing|never|unable|sorry|cannot|nao|nenhum\w*|nada|nunca|desculp\w*|ningun\w*|nicht\w*|kein\w*|"
    r"ne|pas|aucun\w*|rien|non|nessun\w*|niente)\b|n['’]t\b|n['’]|"
    r"ない|ません|なかった|没|沒|不|未|无|नहीं|нет|\bне\b|ничего|لا|لم|ليس|없|모르"
)
_SENTENCE: Final = re.compile(r"(?<=[.!?。！？])\s*|\n+")
_QUOTED: Final = re.compile(r"“[^”]*”|«[^»]*»|\"[^\"\n]*\"|「[^」]*」")
_NUMBER: Final = re.compile(r"\d(?:[\d\s().\-/]*\d)?")
_MIN_DIGITS: Final = 3
_SCRIPTS: Final = {
    "ja": ("HIRAGANA", "KATAKANA", "CJK"),
    "zh": ("CJK",),
    "ko": ("HANGUL",),
    "ru": ("CYRILLIC",),
    "ar": ("ARABIC",),
    "hi": ("DEVANAGARI",),
}
_COMMON: Final = {
    "pt": "que nao uma um voce seu sua para com mais como tudo bem estou ola posso ajudar isso esta aqui por foi ao da",
    "en": "the you your is are to of and it that can help how i'm here for with have what this was be in on",
    "es": "que no una un tu su para con mas como todo bien estoy hola puedo ayudar esto esta aqui por fue el la los en",
    "de": "der die das ich du ist und nicht wie dir kann mir dein deine es zu mit fur ein eine hallo gut",
    "fr": "le la les je vous tu est et pas que de une un votre ton mon comment bien aider pour avec ca",
    "it": "il la che non una un sono come tutto bene posso aiutarti per con di tuo tua ciao oggi e",
    "tr": "bir ve ben sen nasil iyi icin bu da de merhaba size yardimci olabilirim mi ne cok",
}
_WORDS: Final = {lang: frozenset(words.split()) for lang, words in _COMMON.items()}


def fold(text: str) -> str:
    """Return the text in small letters, without the accents of Latin letters, and with plain apostrophes."""
    apart = unicodedata.normalize("NFKD", text.casefold().replace("’", "'"))
    plain = "".join(letter for letter in apart if not 0x300 <= ord(letter) < 0x370)  # combining marks of Latin letters
    return unicodedata.normalize("NFC", plain)


def holds(text: str, phrase: str) -> bool:
    """Return whether the text holds the phrase, whatever the case, accents, spaces and punctuation between letters.

    A phrase that begins or ends with a digit is not found inside a longer number.
    """
    wanted = r"\W*".join(map(re.escape, _squeezed(phrase)))
    before = r"(?<!\d)" if wanted[:1].isdigit() else ""
    after = r"(?!\d)" if wanted[-1:].isdigit() else ""
    return re.search(before + wanted + after, fold(text)) is not None


def holds_all(text: str, groups: Sequence[Sequence[str]]) -> bool:
    """Return whether the text holds a phrase of every group."""
    return all(any(holds(text, phrase) for phrase in group) for group in groups)


def claims(text: str) -> frozenset[str]:
    """Return the kinds of change that the text claims, outside quotation marks, in a sentence that denies nothing."""
    text = _QUOTED.sub("", text)
    sentences = [
        sentence.strip().casefold() for sentence in _SENTENCE.split(text.replace("’", "'")) if sentence.strip()
    ]
    stated = [each for each in sentences if not _DENIAL.search(fold(each)) and not each.endswith(("?", "？"))]
    return frozenset(kind for kind, pattern in _CLAIM.items() if any(pattern.search(each) for each in stated))


def denies(text: str) -> bool:
    """Return whether the text says that something is not so."""
    return _DENIAL.search(fold(text)) is not None


def invented_numbers(text: str, known: str, now: datetime) -> list[str]:
    """Return the numbers of three digits or more that stand neither in what is known nor in today's date."""
    digits = re.sub(r"\D", "", known)
    dated = {f"{now.year}", f"{now.year + 1}", f"{now:%Y%m%d}", f"{now:%d%m%Y}"}
    found = {re.sub(r"\D", "", number): number for number in _NUMBER.findall(text)}
    return [
        number
        for plain, number in found.items()
        if len(plain) >= _MIN_DIGITS and plain not in digits and plain not in dated
    ]


def is_in(lang: str, text: str) -> bool | None:
    """Return whether the text is in that language; None if it is too short to tell."""
    letters = [unicodedata.name(letter, "") for letter in text if letter.isalpha()]
    if not letters:
        return None
    if lang in _SCRIPTS:
        return _share(letters, _SCRIPTS[lang]) > 0.5
    counts = {each: _count(text, words) for each, words in _WORDS.items()}
    best = max(counts.values())
    return None if best < 2 else counts[lang] == best


def _share(letters: Sequence[str], scripts: Iterable[str]) -> float:
    return sum(name.startswith(tuple(scripts)) for name in letters) / len(letters)


def _count(text: str, words: frozenset[str]) -> int:
    return sum(word in words for word in re.findall(r"[\w']+", fold(text)))


def _squeezed(phrase: str) -> str:
    return re.sub(r"\W", "", fold(phrase))
