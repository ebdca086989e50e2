"""The effect of setting a reminder: the words by which people ask for it, and models claim or promise it."""

from __future__ import annotations

import re
from typing import Final

from core.dialogue import Effect
from core.text.assertions import POLITE
from core.text.catalogue import forms, text

_ASKED: Final = re.compile(
    POLITE + r"(?:(?:remind|ping|alert|notify) me(?! (?:who|what|where|why|how|which|of (?:my|the|what))\b)|"
    r"(?:lembr(?:a|e|ar)|recuerda|recorda)(?:-me|me| me)?\b(?! que\b)[^.!?;:\n]{0,40}? "
    r"(?:de |pra |para |a )?\w+(?:ar|er|ir|or)\b|(?:recuerdame|acuerdame) (?:de )?\w+(?:ar|er|ir)(?:l[aoe]s?)?\b|"
    r"(?:avis[ae](?:-me|me| me)?)\b|(?:set|create|add|make) (?:me )?(?:a|an|another) (?:\w+ )?(?:reminder|alarm)|"
    r"(?:cri[ae]|marc\w+|coloc\w+|agend\w+|bot[ae]) (?:pra mim )?(?:um|outro) (?:lembrete|aviso|alarme)|"
    r"(?:pon(?:me)?|crea(?:me)?|program[ae](?:me)?) (?:un|otro) (?:recordatorio|aviso|alarma))"
)
_CLAIMED: Final = re.compile(
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
_THINGS: Final = re.compile(r"[^.!?;,\n]{0,40}\b(?:lembrete|aviso|alarme|reminder|alarm|recordatorio|alarma)s?\b")

REMINDER_SET: Final = Effect(
    "set as reminder",
    _ASKED,
    _CLAIMED,
    _THINGS,
    nothing=text("outcomes.nothing.reminder"),
    hint=text("outcomes.hints.reminder"),
    not_done=forms("outcomes.not_done.reminder"),
)
