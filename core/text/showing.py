"""Tell messages that ask for a thing itself: "show me my vaccination card", "cadê o contrato?", "¿dónde estacioné?"."""

from __future__ import annotations

import re
from typing import Final

from core.text.unicode import flat

_ASKED: Final = re.compile(
    r"^\W*(?:(?:e|and|y|oi|ola|hola|hey|hi|por favor|pfv?|porfa|please|pls|agora|now|ahora|entao|so|"
    r"(?:voce |vc )?(?:pode|poderia|consegue|da pra)|can you|could you|would you|"
    r"puedes|podrias|podes|quero|queria|preciso(?: de)?|i (?:want|need)(?: to)?|let me|quiero|necesito|me|"
    r"elefante)\W+)*(?:"
    r"mostra\w*|mostr[ae]\w*|mand[ae]\w*|envi[ae]\w*|exib[ae]\w*|abr[ae]\w*|reenvi[ae]\w*|cade|kd|onde|aonde|ver|"
    r"traz\w*|pass[ae]\w*|devolv[ae]\w*|baixar?|toca\w*|"
    r"show|send|bring|open|see|play|pull up|get|give|find|resend|where(?:'s|s)?|view|look at|forward|"
    r"muestr\w*|ensen[ae]\w*|reproduc\w*|pon(?:me)?|mand[ae]\w*|pas[ae]\w*|donde|busca\w*|trae\w*|dame|abr[ei]\w*"
    r")\b"
)
"""Verbs by which people ask to be shown something, and words that ask where it is, folded."""

_MAX_CHARS: Final = 200


def asks_to_show(text: str) -> bool:
    """Return whether a message asks for the thing itself, rather than for what is known of it."""
    return any(_ASKED.match(clause) for clause in re.split(r"[?!.;\n]", flat(text[:_MAX_CHARS])))
