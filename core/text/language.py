"""Detect the language of a text: one of the bot's, surely another one, or unknown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from core.locales import head
from core.text.unicode import fold
from core.types import Locale

_HEAD_CHARS: Final = 2000
"""The beginning of a text is enough."""

_WORDS = re.compile(r"[a-z']+")

# Frequent words, folded (no accents), of languages that the bot does not speak: words that several languages share are
# ignored, so that these do not count for the bot's languages.
_UNSPOKEN: Final[Mapping[str, str]] = {
    "de": """
        der die das den dem des ein eine einen einem einer und oder aber ich du er sie es wir ihr mich mir dich dir uns
        euch mein meine meinen meinem meiner dein deine sein seine nicht kein keine ist sind war waren bin bist hat habe
        haben hatte wird werden kann kannst konnen muss soll will mochte was wer wie wo wann warum welche welcher
        welches mit von zu zum zur fur auf in im an am aus bei nach uber unter vor durch um dass wenn weil als auch noch
        nur schon sehr mehr hier dort heute morgen gestern jetzt bitte danke hallo guten tag abend ja nein passwort
        heisst heisse wohne merke merk vergiss erklare schreib sag mach gib hast weiss geht alles wieder immer""",
    "fr": """
        le la les un une des du de et ou mais je tu il elle nous vous ils elles me te se mon ma mes ton ta tes son sa
        ses notre votre leur leurs ne pas plus est sont suis es etait ont ai as avons avez avoir etre fait faire qui que
        quoi quel quelle quels quelles quand comment pourquoi combien avec pour dans sur sous par sans chez en au aux ce
        cet cette ces ca c'est j'ai d'un qu'est l'ai n'est si oui non merci bonjour bonsoir salut s'il s'appelle
        m'appelle aujourd'hui demain hier maintenant tres bien aussi toujours jamais rien tout tous mot passe chien
        chat explique ecris dis souviens retiens oublie veux peux dois sais habite""",
    "it": """
        il lo la i gli le un uno una di a da in con su per tra fra e o ma io tu lui lei noi voi loro mi ti si ci vi mio
        mia miei mie tuo tua suo sua nostro non e' sono sei siamo siete ho hai ha abbiamo hanno era che chi cosa quale
        quali quando dove come perche quanto quanta del della dello dei delle degli dal dalla al alla ai alle nel nella
        nei sul sulla questo questa quello quella anche ancora molto piu qui li oggi domani ieri adesso ora grazie ciao
        buongiorno buonasera prego chiama chiamo abito ricorda ricordati salva dimmi scrivi spiega puoi voglio vorrei
        sai fatto fare essere avere gatto cane tutto bene sempre""",
    "nl": """
        de het een en maar ik jij je hij zij ze wij we jullie mij jou hem haar ons hun mijn jouw zijn niet geen is
        ben bent was waren heb hebt heeft had hebben wordt worden kan kun kunt moet wil zal wat wie waar wanneer waarom
        hoe welke met van voor op in aan uit bij naar over onder door om dat dit deze die als ook nog al heel meer hier
        daar vandaag morgen gisteren nu alsjeblieft dank bedankt hallo goedemorgen ja nee wachtwoord heet woon onthoud
        vergeet schrijf leg""",
    "pl": """
        i a ale lub nie tak jest sa byl byla bylo jestem jestes ja ty on ona ono my wy oni moj moja moje twoj twoja jego
        jej mnie mi ciebie ci sie co kto gdzie kiedy jak dlaczego ile ktory ktora z ze do od na po w we przez dla bez
        o przy ten ta to te ci tego tej tym juz jeszcze tylko bardzo dzis jutro wczoraj teraz prosze dzien dobry czesc
        haslo nazywa mieszkam zapamietaj mam masz""",
    "sv": """
        jag du han hon vi ni de jeg hun dere mig dig min mitt mina mine din ditt och og eller men inte ikke ej ar er var
        har hade havde kan ska skal vil vill vad hva hvad vem hvem var hvor hur hvordan nar varfor hvorfor med av fra
        til till pa i om for som det den detta dette en ett et nu na idag tack takk tak hej hei losenord passord heter
        hedder bor kom ihag husk""",
    "fi": """
        mina sina han me te he on ovat oli olen olet ei en et ja tai mutta mika mita kuka missa milloin miten miksi
        minun sinun taman tama tuo se ne etta kun jos myos viela nyt tanaan huomenna kiitos hei moi salasana nimeni
        asun muista""",
    "cs": """
        ja ty on ona my vy oni muj moje tvuj tvoje jeho jeji je jsem jsi jsou byl byla nebo ale ne ano co kdo kde kdy
        jak proc kolik ktery ktera se si s z ze do od na po v ve pro bez pri ten ta to uz jeste jen velmi dnes zitra
        vcera ted prosim dekuji ahoj heslo jmenuje bydlim pamatuj""",
    "tr": """
        ben sen o biz siz onlar benim senin onun bir ve veya ama degil var yok ne kim nerede nasil neden kac hangi bu su
        icin ile gibi cok daha simdi bugun yarin dun evet hayir lutfen tesekkurler merhaba sifre adim misin mi""",
    "ro": """
        eu tu el ea noi voi ei ele meu mea mei mele tau sau si sau dar nu da este sunt esti era am ai are avem au ce
        cine unde cand cum cat care cu de la din pe in pentru fara prin un o al ale acest aceasta mai foarte azi maine
        ieri acum multumesc buna salut parola numeste locuiesc tine minte""",
    "ca": """
        jo tu ell ella nosaltres el la els les un una i o pero es son soc estic amb per de del dels a al als en que qui
        quan on com quant quina quin meu meva teu seva no si molt mes aquest aquesta avui dema ahir ara gracies hola bon
        dia contrasenya dic visc recorda""",
    "id": """
        saya aku kamu anda dia kami kita mereka ini itu dan atau tapi tidak bukan ya apa siapa mana kapan bagaimana
        kenapa berapa yang di ke dari untuk dengan pada adalah ada akan sudah belum bisa sangat hari besok kemarin
        sekarang tolong terima kasih halo kata sandi nama tinggal ingat""",
    "hu": """
        en te o mi ti az egy es vagy de nem igen van vannak volt vagyok mi ki hol mikor hogyan miert mennyi melyik
        ez hogy ha mert is meg mar csak nagyon ma holnap tegnap most kerem koszonom szia jelszo hivnak lakom""",
}
_NEAR: Final = frozenset({"de", "fr", "it", "nl"})
_SPOKEN: Final = frozenset(locale.value for locale in Locale)
_OTHER_LETTERS: Final = "èëìîïòùûœäöüßåøæœăđğışțţąęłśźżčďěňřšťůžőűơư"
"""Letters of neither Portuguese nor English nor Spanish."""

_LATIN_ENDS: Final = "\u024f"


@cache
def _markers() -> Mapping[str, frozenset[str]]:
    """Map each language to its own words; those of the bot's languages are in the heads of their files."""
    ours = {locale.value: head(locale).get("words", _UNSPOKEN.get(locale.code, "")) for locale in Locale}
    others = {code: words for code, words in _UNSPOKEN.items() if code not in {locale.code for locale in Locale}}
    lists = {name: frozenset(fold(words).split()) for name, words in (ours | others).items()}
    near = {*ours, *_NEAR}
    counts = Counter(word for words in lists.values() for word in words)
    near_counts = Counter(word for name, words in lists.items() if name in near for word in words)
    # A word shared with a distant language counts: the words around it tell them apart.
    return {
        name: frozenset(word for word in words if (near_counts if name in near else counts)[word] == 1)
        for name, words in lists.items()
    }


@cache
def _letters() -> Mapping[str, re.Pattern[str]]:
    """Map each language to its own letters, if any, and "another" to letters of none of the bot's languages."""
    own = {locale.value: re.compile(f"[{letters}]") for locale in Locale if (letters := head(locale).get("letters"))}
    others = "".join(char for char in _OTHER_LETTERS if not any(pattern.match(char) for pattern in own.values()))
    return own | {"another": re.compile(f"[{others}]")}


def detect(text: str) -> Locale | None:
    """Return the text's language if it surely is one of the bot's."""
    found = _language(text)
    return Locale(found) if found in _SPOKEN else None


def spoken(text: str) -> Locale | None:
    """Return the language of our own sentences for a text: English for other languages, None if unknown."""
    found = _language(text)
    return Locale(found) if found in _SPOKEN else Locale.EN if found else None


def from_tag(tag: str) -> Locale | None:
    """Return the locale of a platform's tag or a LANG value (`pt-br`, `es_MX.UTF-8`); None for other languages."""
    whole = re.split(r"[.@]", tag.strip().lower().replace("_", "-"), maxsplit=1)[0]
    exact = (locale for locale in Locale if locale.value.lower() == whole)
    return next(exact, {locale.code: locale for locale in reversed(Locale)}.get(_primary(tag)))


def spoken_tag(tag: str) -> Locale | None:
    """Return the language of our own sentences for a tag: English for other languages, None for an empty one."""
    return from_tag(tag) or (Locale.EN if _primary(tag) not in {"", "c", "posix"} else None)


def choose(text: str, tag: str, earlier: Iterable[str] = ()) -> Locale:
    """Return the language of our own sentences.

    It is that of the message, else of earlier messages (newest first), else of the tag, else Portuguese (decision 3).
    """
    for said in (text, *earlier):
        if (locale := spoken(said)) is not None:
            return locale
    return spoken_tag(tag) or Locale.PT


def _primary(tag: str) -> str:
    return re.split(r"[-_.@]", tag.strip().lower(), maxsplit=1)[0]


def _language(text: str) -> str:
    """Return the language's key in `_markers`, "another" if it surely is none of the bot's, "" if unknown."""
    text = text[:_HEAD_CHARS].lower()
    letters = [char for char in text if char.isalpha()]
    foreign = sum(char > _LATIN_ENDS and not "\u1e00" <= char <= "\u1eff" for char in letters)
    written = {name: len(own.findall(text)) for name, own in _letters().items()}
    if foreign * 2 > len(letters):
        most = _best(written, written)
        return most if written[most] * 2 > foreign else "another"
    told = Counter(_WORDS.findall(fold(text)))
    markers = _markers()
    scores = {name: sum(told[word] for word in told if word in own) for name, own in markers.items()}
    for name, count in written.items():
        scores[name] = scores.get(name, 0) + 2 * count
    scores["another"] += sum("\u1ea0" <= char <= "\u1ef9" for char in letters)  # Vietnamese
    ours, others = _best(scores, _SPOKEN), _best(scores, markers.keys() - _SPOKEN)
    if scores[others] + scores["another"] > scores[ours]:
        return others if scores[others] else "another"
    second = max(score for name, score in scores.items() if name != ours)
    return ours if scores[ours] > second else ""


def _best(scores: Mapping[str, int], among: Iterable[str]) -> str:
    return max(among, key=lambda name: scores[name])
