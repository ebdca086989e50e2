"""Tell what a message asks for: a thing itself, what is said elsewhere, or what was true before.

"Show me my card", "guarda isso", "what did she mean?", "my old address".
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from core.text.unicode import flat, fold
from core.text.words import FUNCTION_WORDS, expressions, folded_words

_MAX_CHARS: Final = 120
_POINTING: Final = frozenset(
    """
    aqui favor pf pfv pls please msg mensagem texto link audio coisa info informacao tudo tambem agora acima cima
    resposta pergunta mesmo ontem hoje conversa papo
    disse falou escreveu mandou quis queria dizer significa significava decidimos decidiram combinamos combinaram
    guarda guarde guardar anota anote anotar lembra lembre lembrar salva salve salvar registra registre memoriza
    memorize esquece esqueca esquecas resume resuma resumir resumo faz faca pode podes traduz traduza traduzir traducao
    explica explique explicar entendi entendeu acha achou opina disso disto daquilo nisso desse deste dessa desta
    message thing text above all everything reply answer question chat conversation said say says saying wrote sent
    meant mean means decided agreed remember save keep note store forget don dont do write down memorize memorise
    summarise summarize summary sum up recap tl dr tldr translate translation explain think understand make take give
    esto eso aquello mensaje cosa todo dijo dijeron escribio mando quiso queria decir significa decidimos acordamos
    recuerda recuerdalo guardalo guardala anotalo apuntalo apunta anotame olvides resumelo resumeme resumen resumir haz
    puedes traduce traducelo traducir traduccion explicalo explicame entendiste piensas opinas ahora tambien respuesta
    pregunta acuerdate
    """.split()
)
"""Words beside FUNCTION_WORDS that name nothing to keep and nothing to look up, folded; in all languages at once."""

_NEEDS_A_MODEL: Final = re.compile(
    r"\W*(?:(?:por favor|pf|please|pls|hey|oi|ola|hola|me|voce pode|pode|podes|puedes|can you|could you|faz|faca|haz|"
    r"give me|da-me|me da|dame|make|um|uma|un|una|a|the)\W+)*"
    r"(?:resum(?:e|a|ir|en|elo|ela|eme)|(?<=um )resumo|summari[sz]e|summary|recap|sum (?:it|this|that) up|tl\W?dr|"
    r"tradu(?:z|za|zir|ce|celo|cir|cao|ccion)|translat(?:e|ion))\b"
    r"(?:\W*$|\W+(?:\w+\W+){0,2}?(?:isso|isto|ess[ae]|est[ae]|esto|eso|tudo|todo|this|that|it|what|o que|lo que|"
    r"conversa|papo|conversacion|chat|discussion|conversation|talk|thread)\b)"
)
"""A request for work on words that stand elsewhere: "resume o que decidimos", "translate this into English"."""

_PICTURE: Final = (
    r"(?:foto\w*|photos?|picture|pics?|images?|imagem|imagen|screenshots?|print|videos?|audio|recording|gravacao|"
    r"grabacion|localizacao|ubicacion)\b"
)
_THING: Final = (
    rf"(?:{_PICTURE}|(?:receipt|recibo|comprovante|comprobante|bill|conta|cuenta|factura|invoice|nota|card|cartao|"
    r"carteir\w+|tarjeta|carnet?|contra(?:ct|to)|document\w*|doc|file|arquivo|archivo|pdf|letter|carta|tickets?|"
    r"boleto|menu|cardapio|recipe|receita|receta|report|place|spot|lugar|sitio|location|pin|contact\w*|contato|one)\b)"
)
_KEEP: Final = (
    r"\b(?:remember|save|keep|store|file|archive|note|guard[ae]r?(?:me)?|salv[ae]r?|arquiv[ae]r?|archiv[ae]r?|lembr[ae]|"
    r"recuerd[ae]|recorda|anot[ae]r?|apunt[ae])\b"
)
_TIME: Final = (
    r"(?:week|month|year|morning|afternoon|evening|night|spring|summer|autumn|fall|winter|time|christmas|\w+days?\b|"
    r"semana|mes\b|ano\b|noite|noche|tarde|manha|manana|vez\b|fim\b|fin\b|finde|verao|verano|inverno|invierno|natal\b|"
    r"navidad|segunda|terca|quarta|quinta|sexta|sabado|domingo|feriado|lunes|martes|miercoles|jueves|viernes)"
)
_AFTER: Final = r"(?:\W*$|\s*[,.!:;?]|\s+(?:as|for|under|with|too|please|pls|plz|abeg|somewhere)\b)"
_NOUN_ENDS: Final = (
    r"(?=\W*$|\s*[,.!:;?]|\s+(?:as|of|for|from|with|and|is|was|i|we|you|he|she|they|my|in|on|to|please|pls|too)\b)"
)
"""What follows "that receipt", and not "that location scouting starts"."""

_SENT: Final = re.compile(
    rf"\b(?:this|these|[dn]?ess[ea]s?|[dn]?este|[dn]?isso|[dn]?isto|esto|eso)\b(?!\s+{_TIME})"
    rf"|\b(?:that|those)\s+{_THING}{_NOUN_ENDS}|\b[dn]?est(?:as?|es)\s+{_THING}"
    rf"|\b[dn]?esta\s+(?:é|e|es|aqui)\b"
    rf"|(?:^\W*(?:(?:and|so|ok|hey|look)\W+)*|{_KEEP}\s+)that(?:['’]?s|\s+(?:is|was))\b"
    rf"|{_KEEP}\s+(?:that|those|it|ela|ele){_AFTER}"
    r"|\b(?:guarda|anota|apunta|archiva|recuerda|recorda|salva)(?:me)?-?l[oa]s?\b"
    r"|(?<!\bpor )(?<!\baround )\b(?:here|aqui|aca)\b(?!\s+(?:in|at|on|em|en|n[oa]s?|de)\b)"
    rf"|(?:^\W*|\b(?:in|on|of|remember|lembra)\s+)(?:the|a|la)\s+{_PICTURE}|\b(?:[dn]a|(?:de|en)\s+la)\s+{_PICTURE}"
    rf"|\b(?:save|keep|store|archive|guard[ae]r?|salv[ae]r?|arquiv[ae]r?|archiv[ae]r?)\s+(?:the|[ao]|el|la)\s+{_THING}"
)
"""Words, folded, for what was just sent: pronouns that stand for it, a demonstrative with a thing, "here". None are
the conjunction of "remember that …", the verb of "está na gaveta", and what names a time: "essa semana"."""


def points_at_sent(text: str) -> bool:
    """Return whether words that were said right after a thing was sent mean that thing."""
    return _SENT.search(flat(text)) is not None


def points_only(text: str) -> bool:
    """Return whether a message says nothing by itself, so that it is about what it replies to or forwards."""
    words = folded_words(text[:_MAX_CHARS])
    return bool(words) and len(text) <= _MAX_CHARS and _POINTING.union(FUNCTION_WORDS).issuperset(words)


def asks_for_work(text: str) -> bool:
    """Return whether a message asks to sum up or to translate words that stand elsewhere, which takes a model."""
    return _NEEDS_A_MODEL.match(fold(text[:_MAX_CHARS])) is not None


_SHOW: Final = re.compile(
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

_MAX_SHOWING_CHARS: Final = 200


def asks_to_show(text: str) -> bool:
    """Return whether a message asks for the thing itself ("cadê o contrato?"), and not for what is known of it."""
    return any(_SHOW.match(clause) for clause in re.split(r"[?!.;\n]", flat(text[:_MAX_SHOWING_CHARS])))


@cache
def _past() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(expressions(__package__, 'past.txt').values())})")


def asks_past(text: str) -> bool:
    """Return whether a text asks for what was true before: "my old address", "onde eu morava?"."""
    return _past().search(flat(text)) is not None
