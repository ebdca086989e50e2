"""Find the changes that a message asks for, and those that a text claims were made or promises, by word lists.

It backs up the rule that only committed rows are told. A missed claim is shown beside our own words, never in their
place; a false alarm costs a true sentence too many. Portuguese, English and Spanish mainly; linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Final

from core.text.unicode import fold
from core.text.words import FUNCTION_WORDS, folded_words
from core.types import ChangeKind

_MAX_ASKED_CHARS: Final = 80
"""Of a message: a request is at its beginning."""

MAX_UNASKED_CHARS: Final = 300
"""Of an answer to a person who asked for no change: longer ones are about the world, not about memory."""

_MAX_HELD_CHARS: Final = 48
"""Of a sentence or clause that has just begun: a claim is at its beginning."""

_MAX_DONE_CHARS: Final = 80
"""Of an answer that says "done" or "sure": longer ones are about something else, too."""

_MAX_OBJECT_WORDS: Final = 4

_MAX_ABOUT_CHARS: Final = 4000
"""Of a message: what an answer of a sentence or two takes up is at its beginning."""

_S, _U, _D, _R = ChangeKind.SAVED, ChangeKind.UPDATED, ChangeKind.DELETED, ChangeKind.REMINDER
_OF_MEMORY: Final = (_S, _U, _D)
_POLITE = (
    r"(?:(?:hey|hi|hello|oi|ola|hola|please|pls|just|ok|okay|so|also|and|por favor|pf|can you|could you|"
    r"would you|will you|i want you to|i need you to|voce pode|pode|poderia|podes|puedes|podrias|quero que voce|"
    r"quiero que|me|e|y|elefante)[\s,:!]+)*"
)
_MINE = (
    r"(?:\s+\w+){0,2}?\s+(?:my|mine|all|everything|every|what|from memory|memory|memories|memoria|memorias|minhas?|"
    r"meus?|tudo|tod[oa]s?|o que|mis?|lo que|el|la|[ao]s? \w+ d[aoe]s?)\b"
)
_NO_REMINDER = r"(?![^.!?;,\n]{0,40}\b(?:lembrete|aviso|alarme|reminder|alarm|recordatorio|alarma)s?\b)"
"""What is asked of a reminder is no change of a memory."""

_ASKED: Final = {
    _S: re.compile(
        _POLITE + r"(?:remember|memori[sz]e|note|save|store|keep in mind|keep th(?:is|at)(?=\W*$| for\b)|"
        r"write down|jot down|make a note|take note|"
        r"(?:don't|do not) forget|lembr(?:a|e|ar)(?:-se)?|memoriz(?:a|e|ar)|anot(?:a|e|ar)|guard(?:a|e|ar)|"
        r"salv(?:a|e|ar)|registr(?:a|e|ar)|grav(?:a|e|ar)|nao (?:se )?esque(?:ca|cas|ce)|recuerd(?:a|e|ame)|"
        r"apunt(?:a|e|ame)|acuerdate|no (?:te )?olvides|merk dir|notier\w*|speicher\w*|souviens[- ]toi|retiens|"
        r"rappelle[- ]toi|ricorda(?:ti)?|annota|memorizza)\b"
        r"(?! (?:when|how|the (?:time|day)|if|(?:de )?quando|(?:de )?cuando|se|si|como|cuando)\b|"
        r" (?:an?|some|uma?|una?|\d+) [^:]*$)"
    ),
    _U: re.compile(
        _POLITE + r"(?:update|change|correct|replace|atualiz(?:a|e|ar)|mud(?:a|e|ar)|troc(?:a|ar)|troque|corrij[ae]|"
        r"corrig(?:e|ir)|alter(?:a|e|ar)|actualiz(?:a|ar)|actualice|cambi(?:a|e|ar))\b" + _NO_REMINDER + _MINE
    ),
    _D: re.compile(
        _POLITE + r"(?:delete|forget|erase|remove|apag(?:a|ue|ar)|delet(?:a|e|ar)|esque(?:ce|ca|cer)|remov(?:a|e|er)|"
        r"exclu(?:a|i|ir)|borr(?:a|e|ar)|olvid(?:a|e|ar)|elimin(?:a|e|ar))\b" + _NO_REMINDER + _MINE
    ),
    _R: re.compile(
        _POLITE + r"(?:(?:remind|ping|alert|notify) me(?! (?:who|what|where|why|how|which|of (?:my|the|what))\b)|"
        r"(?:lembr(?:a|e|ar)|recuerda|recorda)(?:-me|me| me)?\b(?! que\b)[^.!?;:\n]{0,40}? "
        r"(?:de |pra |para |a )?\w+(?:ar|er|ir|or)\b|(?:recuerdame|acuerdame) (?:de )?\w+(?:ar|er|ir)(?:l[aoe]s?)?\b|"
        r"(?:avis[ae](?:-me|me| me)?)\b|(?:set|create|add|make) (?:me )?(?:a|an|another) (?:\w+ )?(?:reminder|alarm)|"
        r"(?:cri[ae]|marc\w+|coloc\w+|agend\w+|bot[ae]) (?:pra mim )?(?:um|outro) (?:lembrete|aviso|alarme)|"
        r"(?:pon(?:me)?|crea(?:me)?|program[ae](?:me)?) (?:un|otro) (?:recordatorio|aviso|alarma))"
    ),
}
_EN = {
    _S: r"saved|stored|noted|recorded|memori[sz]ed|remembered|written (?:it |that )?down",
    _U: r"updated|changed|corrected|replaced|modified|edited",
    _D: r"deleted|removed|erased|forgotten|wiped|cleared",
}
_FIRST = {
    _S: r"salvei|guardei|anotei|gravei|registrei|memorizei|armazenei|(?<!te )lembrarei|"
    r"vou (?:me )?lembrar(?! (?:você|vc|a você)\b)|"
    r"he (?:guardado|anotado|apuntado|registrado|grabado)|guardé|anoté|apunté|registré|memoricé|(?<!te )recordaré|"
    r"i(?:'ll| will) (?:remember|keep (?:that|it|this) in mind)|i(?:'ve| have)? (?:made a|taken|took) note|"
    r"i(?:'ve| have)? (?:added|put) .{1,60}\b(?:to|in) (?:my|your) memory|"
    r"(?:adicionei|coloquei|pus|añadí|puse) .{0,60}\bmem[oó]ria|tomei nota|fiz uma anotação|tomo nota|tomé nota|"
    r"your .{1,60}(?:has been|have been|is now|are now)(?: safely)? (?:saved|stored|recorded)|queda guardad[oa]",
    _U: r"atualizei|alterei|mudei|corrigi|troquei|modifiquei|substituí|"
    r"he (?:actualizado|cambiado|corregido|modificado)|actualicé|cambié|corregí|modifiqué",
    _D: r"apaguei|deletei|excluí|removi|eliminei|he (?:borrado|eliminado|olvidado)|borré|eliminé|olvidé",
}
_PARTICIPLES = {
    _S: r"(?:salv|guardad|anotad|gravad|registrad|memorizad|armazenad|apuntad|grabad)[oa]s?",
    _U: r"(?:atualizad|alterad|mudad|corrigid|trocad|modificad|substituíd|actualizad|cambiad|corregid)[oa]s?",
    _D: r"(?:apagad|deletad|excluíd|removid|eliminad|esquecid|borrad|olvidad)[oa]s?",
}
_OTHERS = {  # German, French, Italian
    _S: r"gespeichert|notiert|gemerkt|enregistrée?s?|notée?s?|mémorisée?s?|salvat[oa]|annotat[oa]|memorizzat[oa]",
    _U: r"aktualisiert|geändert|korrigiert|mise?s? à jour|modifiée?s?|corrigée?s?|aggiornat[oa]|modificat[oa]",
    _D: r"gelöscht|entfernt|supprimée?s?|effacée?s?|cancellat[oa]|eliminat[oa]|rimoss[oa]",
}
_ELSEWHERE = {  # Russian, Japanese, Chinese, Korean, Dutch, Polish
    _S: re.compile(
        r"запомнил|сохран(?:ил|ено)|записал|保存しました|覚えました|記憶しました|记住了|記住了|已保存|保存了|저장했|기억했|opgeslagen|zapisał|zapamięta"
    ),
    _U: re.compile(
        r"обнов(?:ил|лено)|изменил|更新しました|変更しました|已更新|更新了|변경했|업데이트했|bijgewerkt|zaktualizowa"
    ),
    _D: re.compile(r"удал(?:ил|ено)|削除しました|消しました|已删除|删除了|삭제했|verwijderd|usunął|usunęł"),
}
_ASKED_ELSEWHERE: Final = {
    _S: re.compile(r"запомни|сохрани|覚えて|記憶して|保存して|记住|記住|기억해|onthoud|zapamiętaj"),
    _D: re.compile(r"удали|забудь|削除して|忘れて|消して|删除|忘记|삭제해|verwijder|usuń"),
}
_SOFT = (
    r"(?: (?:have|just|now|also|already|successfully|safely|it|been|all|both|j[aá]|agora|também|tod[oa]s?|ya|sido))*"
)
_PERFECT = {
    kind: re.compile(
        rf"\b(?:i|i've|we|we've){_SOFT} (?:{_EN[kind]})\b|\b(?:{_FIRST[kind]})\b|"
        rf"\b(?:habe|wurden?|j'ai|ai|c'est|ho|ist)\b.{{0,60}}\b(?:{_OTHERS[kind]})\b|"
        r"^(?:(?:ok|okay|all|done|great|sure|j[aá]|tudo|ya|está|pronto)\W+)*"
        rf"(?:{_EN[kind]}|{_PARTICIPLES[kind]}|{_OTHERS[kind]})\b"
    )
    for kind in _OF_MEMORY
} | {
    _R: re.compile(
        r"\bi(?:'ll| will| shall)(?: \w+ly| also| then| just)? (?:remind|ping|nudge|alert|notify) you\b"
        r"(?! (?:that|how|why|what)\b)|"
        r"\b(?:i|i've|we|we've)(?: have| just| also| now)* (?:set|created|scheduled|added)(?: up)?"
        r"(?: \w+){0,3}? reminders?\b|"
        r"^(?:your |the |a )?reminders?(?: \w+){0,2}?(?: is| are| has been| have been)?(?: now)?"
        r" (?:set|created|scheduled|added)\b|"
        r"\b(?:vou|irei) (?:te|lhe) (?:lembrar|avisar)\b(?! que)|\bte (?:lembro|aviso|lembrarei|avisarei)\b(?! que)|"
        r"\bvou (?:lembrar|avisar) (?:você|vc)\b|"
        r"\blembretes?(?: \w+){0,2}? (?:marcad|criad|agendad|definid|programad|salv)[oa]s?\b|"
        r"\b(?:marquei|criei|agendei|defini|programei|configurei|coloquei)(?: \w+){0,3}?"
        r" (?:lembretes?|alarmes?|avisos?)\b|"
        r"\bte (?:lo )?(?:recordaré|avisaré|recuerdo|aviso)\b(?! que)|\bvoy a (?:recordarte|avisarte|recordártelo)\b|"
        r"\brecordatorios?(?: \w+){0,2}? (?:puest|cread|programad|fijad|agendad|guardad|establecid)[oa]s?\b|"
        r"\b(?:he (?:puesto|creado|programado|agendado)|creé|puse|programé|agendé)(?: \w+){0,3}?"
        r" (?:recordatorios?|avisos?|alarmas?)\b"
    )
}
_PASSIVE = {
    kind: re.compile(
        rf"\b(?:is|are|was|were|been|it's|that's|now){_SOFT} (?:{_EN[kind]})\b|\b(?:{_OTHERS[kind]})\b|"
        r"\b(?:foi|foram|está|estão|ficou|ficaram|fue|fueron|quedó|quedaron|están|sido)"
        rf"{_SOFT} (?:{_PARTICIPLES[kind]})\b"
    )
    for kind in _OF_MEMORY
}
_DONE = re.compile(
    r"(?:ok|okay|done|got it|sure|great|perfect|all set|will do|noted|understood|pronto|feito|certo|claro|combinado|"
    r"perfeito|beleza|entendido|listo|hecho|perfecto|vale|de acuerdo|ja|alles klar|erledigt|d'accord|fatto)\b"
)
_STEMS = re.compile(
    r"\b(?:sav|stor|not(?:e|ed|ing)\b|record|remember|memor|updat|chang|correct|delet|remov|eras|forg[eo]t|salv|guard|"
    r"anot|grav|registr|lembr|atualiz|alter|mud|corrig|apag|exclu|esque|apunt|actualiz|cambi|borr|elimin|olvid)"
)
_NOT = re.compile(
    r"\b(?:not|never|nothing|n[aã]o|nunca|no|nada|unable|cannot|nicht|nichts|pas|rien|non|niente)\b|n't\b"
)
_NOTHING = re.compile(r"\b(?:nothing|nada|none|nichts|rien|niente)\b")
_CLAUSES = re.compile(r"[.!?;:,\n—–]+|\s(?=(?:and|e|y) (?:i|i've|i'll|eu|j[aá]|lo|la|he)\b)")
_SENTENCES = re.compile(r"(?<=[.!?…])\s+|\n+")
_ENDS = re.compile(r"[.!?…]+|(?<!\n)(?=\n)")
_QUOTED = re.compile(r'"[^"\n]*"|“[^”\n]*”|«[^»\n]*»|`[^`]*`')
_LEAD = re.compile(
    r"(?:(?:ok|okay|all|done|great|sure|perfect|and|so|then|now|also|well|yes|there|hi|hello|j[aá]|tudo|ya|est[aá]|queda|"
    r"pronto|e|y|tamb[eé]m|también|bem|bueno|listo|sim|sí|eu|yo|[ao]|l[aeo]s?|te|me|se|ich|es|je|l)\W+)*"
)
_OURS = re.compile(
    r"\W*(?:$|(?:(?:to|for|in|into|from|of|com|con|na|no|em|en|d[ae])\s+)?(?:it|this|"
    r"that(?! you (?:said|asked|told|wrote))|"
    r"these|those|them|both|all|everything|your|yours|(?:my|your) memory|memory|safely|successfully|now|here|"
    r"(?:[ao]s? )?"
    r"(?:suas?|seus?|tuas?|teus?)|isso|isto|aquilo|tudo|tod[oa]s?|aqu[ií]|sucesso|(?:minha )?memória|eso|esto|"
    r"tus?|sus?|"
    r"éxito|(?:mi )?memoria|que)\b)"
)
"""The words after the verb if a memory is meant; "I changed my mind" and "stored in the fridge" mean none."""

_EARLIER = re.compile(
    r"\b(?:yesterday|earlier|ago|last (?:week|month|year|time|night)|ontem|(?:semana|mês) passad[ao]|ayer|"
    r"(?:semana|mes) pasad[ao])\b|\bon \d"
)
_CONDITION = re.compile(
    r"(?:(?:just|so|then|and|but|mas|e|y|pero|então) )?(?:if|once|when|as soon as|tell me|let me know|"
    r"say|se|quando|assim que|me (?:diga|diz|fala|avise|conte)|diga|si|cuando|en cuanto|dime|av[ií]same)\b"
)
"""The beginning of a sentence that promises nothing yet."""

_WORK = re.compile(
    _POLITE
    + r"(?:(?:correct|fix|edit|rewrite|rephrase|proofread|improve|shorten|translate|convert|format|polish|write|"
    r"draft|tell me a|make|add|corrig(?:e|ir)|corrija|corrij[ae]|reescrev[ae]|reescrib[ae]|melhor[ae]|mejora|traduz\w*|"
    r"traduc\w*|revis[ae]|escrev[ae]|escrib[ae]|cont[ea]|cuenta(?:me)?|faz|faca|haz|korrigier\w*|corrige[rz]?|correggi)\b|"
    r"(?:update|change|replace|remove|delete|erase|cut|take out|atualiz\w+|mud[ae]|tro(?:ca|que)|substitu\w+|remov\w+|"
    r"apag\w+|tir[ae]|alter[ae]|actualiza|cambia|reemplaza|elimina|borra|quita)\b.*?(?:[:\n\"“«]|\b(?:texts?|sentences?|"
    r"paragraphs?|lines?|words?|grammar|commas?|title|tone|textos?|frases?|paragrafos?|parrafos?|linhas?|lineas?|"
    r"palavras?|palabras?|virgulas|comas|titulo|tom|tono)\b))"
)
"""A request for work on a text."""


def asked(message: str) -> frozenset[ChangeKind]:
    """Return the kinds of change that a message plainly asks for; none for a question."""
    if message.rstrip().endswith("?"):
        return frozenset()
    text = fold(message[:_MAX_ASKED_CHARS])
    here = {kind for kind, pattern in _ASKED.items() if pattern.match(text)}
    here -= {_S} if _R in here else set()  # "me lembra de pagar": one verb for both
    start = message[:_MAX_ASKED_CHARS].lower()
    return frozenset(here | {kind for kind, pattern in _ASKED_ELSEWHERE.items() if pattern.search(start)})


def asks_to_save(message: str) -> bool:
    """Return whether any clause of a message asks to remember something, a question's, too."""
    return _asks(message, _S) or bool(_ASKED_ELSEWHERE[_S].search(message.lower()))


def asks_for_reminder(message: str) -> bool:
    """Return whether any clause of a message asks to be reminded, a question's, too."""
    return _asks(message, _R)


def _asks(message: str, kind: ChangeKind) -> bool:
    clauses = re.split(r"[.!?;:,\n]+|\b(?:and|e|y|und|et)\b", fold(message))
    return any(_ASKED[kind].match(clause.strip()) for clause in clauses)


def claimed(text: str) -> frozenset[ChangeKind]:
    """Return the kinds of change that an answer to a request may claim; "done" alone claims all."""
    clauses = _clauses(text)
    found = {kind for kind in ChangeKind for clause in clauses if _says(clause, kind)}
    if not clauses or (not found and len(text) <= _MAX_DONE_CHARS and _DONE.match(clauses[0]) and not denied(text)):
        return frozenset(ChangeKind)
    return frozenset(found)


class Occasion:
    """The message that an answer is given to, read once for all pieces of the answer, and only as far as needed."""

    def __init__(self, message: str) -> None:
        self._message = message

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


def volunteered(text: str, occasion: Occasion) -> frozenset[ChangeKind]:
    """Return the kinds of change in memory that an answer plainly claims, though nobody asked for one."""
    return frozenset(kind for _, kinds in _volunteering(text, occasion) for kind in kinds)


def unclaimed(text: str, occasion: Occasion, written: Collection[ChangeKind] = ()) -> int:
    """Return how much of the text comes before the first sentence that claims a change which was not `written`."""
    return next((before for before, kinds in _volunteering(text, occasion) if not kinds <= set(written)), len(text))


def _volunteering(text: str, occasion: Occasion) -> Iterator[tuple[int, frozenset[ChangeKind]]]:
    """Yield, of each sentence that claims changes nobody asked for, where the one before it ends, and their kinds."""
    if len(text) > MAX_UNASKED_CHARS or occasion.is_work:
        return
    own, before, start = _QUOTED.sub(lambda quote: "\0" * len(quote[0]), text), 0, 0
    for end, following in [*(found.span() for found in _SENTENCES.finditer(own)), (len(own), len(own))]:
        clauses = [] if own[start:end].rstrip().endswith("?") else _clauses(own[start:end])
        kinds = frozenset(kind for kind in ChangeKind for clause in clauses if _volunteers(clause, kind, occasion))
        if clauses and _CONDITION.match(clauses[0]):  # "if you tell me when, I'll remind you"
            kinds -= {_R}
        if kinds:
            yield before, kinds
        before, start = end, following


def without(text: str) -> str:
    """Return the text without the sentences that claim a change; what is between the others stays as it is."""
    kept, start = "", 0
    for end in [*(found.end() for found in _SENTENCES.finditer(text)), len(text)]:
        sentence = text[start:end]
        is_number = any(map(str.isdigit, sentence)) and not any(map(str.isalpha, sentence))
        kept += sentence if is_number or not claimed(sentence) else ""
        start = end
    return kept.strip()


def denied(text: str) -> bool:
    """Return whether the text itself says that something was not saved, changed or deleted."""
    return any(_NOT.search(clause) and _STEMS.search(clause) for clause in _clauses(text))


def settled(text: str) -> int:
    """Return how much of a growing text can be shown: not what has just begun, which may become a claim.

    That is the sentence, at most its first 48 characters, and then the clause.
    """
    if len(text) > MAX_UNASKED_CHARS:
        return len(text)
    ended = max((found.end() for found in _ENDS.finditer(text)), default=0)
    if len(text) - ended <= _MAX_HELD_CHARS:
        return ended
    last = max((found.end() for found in _CLAUSES.finditer(text, ended)), default=ended)
    return len(text) if len(text) - last > _MAX_HELD_CHARS else last


def _says(clause: str, kind: ChangeKind) -> bool:
    patterns = [each[kind] for each in (_PERFECT, _PASSIVE, _ELSEWHERE) if kind in each]
    found = next((found for pattern in patterns if (found := pattern.search(clause))), None)
    return found is not None and not _is_denied(clause, found)


def _volunteers(clause: str, kind: ChangeKind, occasion: Occasion) -> bool:
    """Return whether the clause begins with a change of the person's things, or of what their message was about."""
    if kind is _R:
        return _says(clause, kind) and not _EARLIER.search(clause)
    lead = _LEAD.match(clause)
    start = lead.end() if lead else 0
    if _ELSEWHERE[kind].search(clause):
        return True
    found = _PERFECT[kind].search(clause)
    if found is None or found.start() > start or _is_denied(clause, found) or _EARLIER.search(clause):
        return False
    rest = clause[found.end() :]
    return bool(_OURS.match(rest)) or not set(folded_words(rest)[:_MAX_OBJECT_WORDS]).isdisjoint(occasion.about)


def _is_denied(clause: str, found: re.Match[str]) -> bool:
    return bool(_NOT.search(clause[: found.end()]) or _NOTHING.search(clause))


def _clauses(text: str) -> list[str]:
    """Return the clauses of the text that have a word, in lower case, without punctuation before them."""
    pieces = _CLAUSES.split(text.replace("’", "'").replace("*", "").lower())
    return [re.sub(r"^\W+", "", " ".join(piece.split())) for piece in pieces if any(map(str.isalpha, piece))]
