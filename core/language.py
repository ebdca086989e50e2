"""Which language a text is in, among those we speak. Pure; knows no message, no person and no platform."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from core.types import Locale
from core.unicode import fold

_WORDS = re.compile(r"[a-z']+")

# Function words, folded (no accents). One that several languages share tells nothing, and is left out below.
_PT = """
nao voce voces eu meu minha meus minhas sou estou qual quais quem quando onde quanto quanta porque pra para com um uma
umas uns dos das nos nas ele ela eles elas isso isto aquilo lembre lembra lembrar guarde salve anote apague esqueca
esquece obrigado obrigada oi ola bom dia boa tarde noite tchau senha chama chamo sim foi o os em na da sao tem tenho
quero mudou agora ja mais tambem muito esta estao fica moro trabalho aniversario que e do no ao aos pelo pela num numa
vc vcs eh ta tb pq mae pai amanha hoje ontem preciso anota me se to esse essa ai tou bota poe deixa
"""
_EN = """
the is are was were my your his her its our their i you he she we they what which who when where how much many why do
does did don't not please remember forget save delete remove update change thanks thank hello hi hey bye yes and of to
in on at for with from have has had it this that these those birthday password i'm it's what's can could would should
will am be been tell know about there no
"""
_ES = """
yo tu usted ustedes mi mis soy estoy cual cuales quien cuando donde cuanto cuanta por el la los las una unos unas del
al ella ellos ellas esto eso aquello recuerda recuerde guarde borra borre olvida olvide gracias hola buenos buenas
dias tardes noches adios contrasena llama llamo si fue son tiene tengo quiero cambio ahora ya mas tambien muy esta
estan vivo trabajo cumpleanos es y con en que me se hoy ayer manana pero porque anota no
"""
_LISTS = {Locale.PT: _PT.split(), Locale.EN: _EN.split(), Locale.ES: _ES.split()}
_COUNTS = Counter(word for words in _LISTS.values() for word in words)
_MARKERS = {locale: frozenset(word for word in words if _COUNTS[word] == 1) for locale, words in _LISTS.items()}


def detect(text: str) -> Locale | None:
    """Return the text's language, or None where its words do not tell one from the others."""
    words = _WORDS.findall(fold(text))
    scores = {locale: sum(word in markers for word in words) for locale, markers in _MARKERS.items()}
    # Letters that only one of the two Iberian languages writes.
    lowered = text.lower()
    scores[Locale.PT] += sum(lowered.count(c) for c in "ãõç")
    scores[Locale.ES] += sum(lowered.count(c) for c in "ñ¿¡")
    best, second = sorted(scores.items(), key=lambda item: item[1], reverse=True)[:2]
    return best[0] if best[1] > second[1] else None


def from_tag(tag: str) -> Locale | None:
    """Return the locale of a platform's tag or of a LANG value: `pt-br`, `es_MX.UTF-8`; None for other languages."""
    primary = re.split(r"[-_.@]", tag.strip().lower(), maxsplit=1)[0]
    return {"pt": Locale.PT, "en": Locale.EN, "es": Locale.ES}.get(primary)


def choose(text: str, tag: str, earlier: Iterable[str] = ()) -> Locale:
    """Return the language to answer in.

    That of the message, else the platform's, else that of earlier messages, newest first, else Portuguese (decision 3).
    """
    for locale in (detect(text), from_tag(tag), *(detect(said) for said in earlier)):
        if locale is not None:
            return locale
    return Locale.PT
