"""What a text says, as far as word lists can tell: claims of a change, admissions, invented numbers, its language.

Written apart from `core/text/assertions.py`, which the bot itself uses: a judge must not share the eyes of the judged.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

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
