"""Recognise how people frame what they want: "remember that …", "delete …", "what is …", in every language at once.

The words are data (frames.toml). Only the start of a text is read, which shows what it is for.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from string import digits
from typing import Any, Final

from core.text.unicode import flat

HEAD_CHARS: Final = 400
_TAIL_CHARS: Final = 120
_MAX_SMALL_CHARS: Final = 80
_GAP: Final = r"[\s,;:!.…–—-]*"
_DOUBLED: Final = re.compile(r"(\w)\1+")


@cache
def _data() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(resources.files("core").joinpath("limited/frames.toml").read_text("utf-8"))


@cache
def _words(name: str) -> str:
    """Return the pattern of a frame in all languages."""
    return "|".join([table[name] for tag, table in _data().items() if tag != "talk"])


_THAT: Final = r"(?:that|que|q)\b"
_CLAUSE: Final = (
    r"[^\w\s]|\b(?:e(?: tambem)?|and(?: also)?|y(?: tambien)?|so|then|entao|asi que|pode|podes|puedes|podrias|can|"
    r"could|(?:you|u) (?:can|could|may)(?: now)?|(?:voce|vc) pode)"
)
"""What stands before a verb of deleting that begins no sentence."""


_TAG: Final = r"\s(?=\w+ (?:ai|pra mim|para mim)\W*$)"
"""What stands before a request to keep that ends a text without a sign: "a placa é OSX guarda ai"."""


_NOT_ASKED: Final = "".join(
    f"(?<!{before} )"
    for each in (
        "gonna|going to|will|'ll|have|had|never|not|can't|cant|don't|dont|cannot|couldn't|trying to",
        "vao|vai|vou|nao",
        "van a|va a|voy a|no|no me|no lo|no la",
    )
    for before in each.split("|")
)
"""What stands before a word of deleting that tells what somebody does, or does not."""


@cache
def pattern(name: str) -> re.Pattern[str]:
    """Return the compiled pattern of a frame; it matches text that `flat` folded."""
    words = rf"(?:{_words(name)})"
    before = rf"^[\s¿¡]*(?>(?:{_words('before')})(?!\w){_GAP})*"  # atomic: languages share words
    shapes = {
        "before": before,
        "keep": rf"{words}(?![\w-])",
        "inside": rf"(?:\s*[,]?\s*{words}(?!\w))*(?:\s+{_THAT})?\s*",
        "what": rf"{words}(?!\w)[^\S\n]*(?:[:;,–—-]|(?=\n)|$)",
        "kept": rf"(?:^|[,.;:!?…\n–—-]\s*|{_TAG})(?:(?:e|and|y|por favor|please) )?{words}{_GAP}$",
        "remove": rf"(?:{before}|(?:{_CLAUSE})\s+(?:ja |ya |please |pls |por favor |porfa |pf )?){words}(?!\w)",
        "rids": rf"{_NOT_ASKED}\b{words}(?!\w)",
        "correct": rf"{before}{words}(?!\w)[\s,:.!]",
        "list": rf"{before}{words}{_GAP}[?]*{_GAP}$",
        "all": rf"{words}{_GAP}$",
        "repaid": rf"{before}{words}{_GAP}$",
        "is": rf"(?<=\w)(?:\s*:|\s+{words})\s",
        "since": rf"{before}{words}{_GAP}[?]*{_GAP}$",
        "pointed": rf"(?:(?:com|con|with|de) )?(?:{words}(?!\w))?(?>{_GAP}(?:{_words('after')})(?!\w))*{_GAP}$",
    }
    begins = (
        rf"{before}{words}"
        if name in {"asks", "leave", "private", "if", "intends", "while", "slips"}
        else rf"\b{words}(?!\w)"
    )
    return re.compile(shapes.get(name, begins))


def has(name: str, text: str) -> bool:
    """Return whether a frame is in the start of a text."""
    return pattern(name).search(flat(text[:HEAD_CHARS])) is not None


def opened(text: str) -> int:
    """Return where a text begins behind greetings and polite words; 0 if it is nothing but these."""
    match = pattern("before").match(flat(text[:HEAD_CHARS]))
    end = match.end() if match else 0
    return end if text[end:].strip() else 0


def kept_from(text: str) -> int | None:
    """Return where the words to keep begin, behind "remember that"; None if the text does not ask to keep them."""
    head = flat(text[:HEAD_CHARS])
    asked = pattern("keep").match(head, opened(text))
    if asked is None:
        return None
    end = asked.end()
    while (more := _AFTER_KEEP.match(head, end)) and more.end() > end:
        end = more.end()
    end = inside.end() if (inside := pattern("inside").match(head, end)) else end
    what = pattern("what").match(head, end)
    end = what.end() if what else end
    return end + len(text[end:]) - len(text[end:].lstrip(" \t\n,:;–—-"))


_AFTER_KEEP: Final = re.compile(r"\s*(?:[:;–—-]|,)\s*")


def clause_from(text: str) -> int | None:
    """Return where the clause to keep begins, behind "remember that"; None where the words to keep are no clause."""
    start = kept_from(text)
    is_clause = start is not None and _AFTER_THAT.search(flat(text[:HEAD_CHARS])[:start])
    return start if is_clause else None


_AFTER_THAT: Final = re.compile(rf"\b{_THAT}\W*$")


def kept_until(text: str) -> int | None:
    """Return where a closing "don't forget that" begins; None if the text does not end so."""
    start = max(len(text) - _TAIL_CHARS, 0)
    match = pattern("kept").search(flat(text[start:]))
    return start + match.start() if match else None


def removed(text: str) -> tuple[int, int] | None:
    """Return where the words of deleting stand, if a clause of the text begins with them."""
    head = flat(text[:HEAD_CHARS])
    found = list(pattern("remove").finditer(head))
    return found[-1].span() if found else None


def begins(name: str, text: str) -> bool:
    """Return whether a text begins with words of a frame, behind greetings and polite words."""
    return begun(name, text) > 0


def begun(name: str, text: str) -> int:
    """Return where words of a frame end by which a text begins, behind greetings and polite words; 0 if it does not."""
    match = _beginning(name).match(flat(text[:HEAD_CHARS]))
    return match.end() if match else 0


@cache
def _beginning(name: str) -> re.Pattern[str]:
    return re.compile(rf"{pattern('before').pattern}(?:{_words(name)})(?!\w)")


def rids(text: str) -> tuple[int, int] | None:
    """Return where a text has, anywhere, a word by which people may ask to delete something; None if it has none.

    So they do by saying that they bought what is on a list.
    """
    head = flat(text[:HEAD_CHARS])
    found = pattern("rids").search(head) or pattern("bought").search(head)
    return found.span() if found else None


def talk(text: str) -> str:
    """Return which small talk a text is, if it is nothing else; of several ("hi, how are you?"), mostly the last."""
    if len(text) > _MAX_SMALL_CHARS:
        return ""
    bare = flat(text)
    return _talk_in(bare) or _talk_in(_DOUBLED.sub(r"\1", bare))  # "bom diaaa"


def asks_clock(text: str) -> bool:
    """Return whether a text asks for the day or the hour: "and what time is it?", "me diz que dia é hoje"."""
    if len(text) > _MAX_SMALL_CHARS:
        return False
    said = flat(text)
    start = begun("tells", text) or opened(text)
    return _talk_in(said[start:]) == "clock"


def _talk_in(text: str) -> str:
    """Return the small talk that a text is wholly made of; "" if it has anything else."""
    said: list[str] = []
    at = 0
    while at < len(text):
        if gap := _LINK.match(text, at):
            at = gap.end()
            continue
        found = ((match.end(), name) for name in _SMALL if (match := _talk(name).match(text, at)))
        end, name = max(found, default=(at, ""))
        filler = _FILLER.match(text, at) if said else None
        if end == at and filler is None:
            return ""
        if end > at or filler is None:
            said.append(name)
            at = end
        else:
            at = filler.end()
    return _outcome(said)


def _outcome(said: Sequence[str]) -> str:
    """Return what is answered to kinds of small talk in one message: the last, but for thanks and a good night."""
    *before, last = said or [""]
    if last == "night":  # alone or among greetings a greeting, behind anything else a good-bye
        last = "bye" if set(before) - {"greeting", "night", "how"} else "greeting"
    if last == "ack" and before[-1:] == ["greeting"]:  # "eae, blz"
        return "greeting"
    if "thanks" in before and last in {"bye", "greeting", "ack"}:
        return "thanks_bye" if last == "bye" else "thanks"
    return last


def mood(text: str) -> str:
    """Return which feeling, praise, insult, wish for a joke or birthday wish small talk has anywhere; "" for none."""
    said = flat(text[:HEAD_CHARS])
    return next((name for name in _MOODS if _talk(name).search(said)), "")


def courtesy(text: str) -> str:
    """Return which thanks, good-bye or greeting stands somewhere in a text, thanks first; "" for none."""
    said = flat(text[:HEAD_CHARS])
    found = [name for name in ("thanks", "bye", "greeting", "how") if _talk(name).search(said)]
    return _outcome(sorted(found[:2], key="bye".__eq__))


@cache
def _talk(name: str) -> re.Pattern[str]:
    """Return the pattern of a table of talk: small talk to its last letter, a question about the bot anywhere."""
    words = "|".join([f"(?:{each})" for each in _data()["talk"][name]])
    return re.compile(rf"(?<!\w)(?<!\bnao )(?<!\bnot )(?<!\bno )(?:{words})(?!\w)" if name in _SMALL else words)


_MOODS: Final = ("joke", "birthday", "insult", "praise", "grief", "sad", "cry", "glad")
_SMALL: Final = ("greeting", "night", "how", "thanks", "bye", "ack", "cancel", "clock", *_MOODS)
_READERS: Final = re.compile(
    r"(?:quem|who|quien(?:es)?)\b.{0,20}\b(?:le|ler|ve|ver|sees?|reads?|lee|leer|leen) "
    r"(?:this|here|isso|isto|aqui|esto|eso|aca|(?:my|meus?|minhas?|mis?|what|o que|lo que) .{1,30})$"
)
"""Of who reads what is said here: "who can read this?"."""

_LINK: Final = re.compile(r"[^\w]+")
_FILLER: Final = re.compile(
    r"(?:elefante|parce|bot|love|dear|darling|hun|boss|flor|amor|lind[oa]|crack|geni[oa]|mij[oa]|compa|"
    r"meu (?:filho|amor|bem)|su merced|sir|ma'?am|madam|jare|senor(?:a|ita)?|senhor(?:a)?|patron(?:a)?|"
    r"hein|hj|amig[oa]|querid[oa]|mano|cara|mate|bro|bud|man|viu|mesmo|demais|muito|mto|there|"
    r"mijit[oa]|mulher|menin[oa]|my guy|legend|pet|"
    r"again|de novo|e|and|y|meu|(?:pra|com) (?:voce|vc)|contigo|por (?:tudo|enquanto|ahora)|for (?:now|that|"
    r"everything)|pela ajuda|por la ayuda|so|then|entao|hoje|today|hoy|ai|por ai|tambem|too)(?!\w)"
)
"""Words that go with small talk."""


def asks_whole(text: str) -> str:
    """Return which question about the bot a text is, and nothing else: "erase", "today", "data", "who"; "" for none."""
    said = flat(text[:HEAD_CHARS]).strip(" \t\n¿?!.,")
    whole = next((name for name in ("erase", "today", "likes") if _talk(name).fullmatch(said)), "")
    return (
        "who" if whole == "likes" else whole or ("data" if text.rstrip().endswith("?") and _READERS.match(said) else "")
    )


def about(text: str) -> str:
    """Return what a question about the bot is about: "data", "media", "who", or "" for what it can do."""
    said = flat(text[:HEAD_CHARS])
    return next((name for name in ("data", "media", "who") if _talk(name).search(said)), "")


def without_change(text: str) -> str:
    """Return a text without the words that only say that something is otherwise, folded."""
    bare = flat(text)
    if found := pattern("correct").match(bare):
        bare = bare[found.end() :]
    return pattern("change").sub(" ", bare)


def told_of(text: str) -> str:
    """Return what a text says something of: "the wifi password" of "the wifi password is tulip"; "" if it asks."""
    if text.endswith("?") or has("asks", text):
        return ""
    start = opened(text)
    said = pattern("is").search(flat(text[:HEAD_CHARS]), start)
    return text[start : said.start()] if said and text[said.end() :].strip() else ""


def ordered(text: str, frame: str = "orders") -> tuple[str, str] | None:
    """Return what a text asks to change (for the frame "told": says to be changed), and the value that it then has.

    None if it does not.
    """
    start = opened(text)
    head = flat(text[:HEAD_CHARS])
    for tag, table in _data().items():
        if tag != "talk" and (match := re.compile(table[frame]).match(head, start)):
            (begin, end), value = match.span("what"), match.start("value")
            return text[begin:end], text[value:].rstrip(" .!,;")
    return None


def stands_for(text: str) -> tuple[str, int]:
    """Return "she", "he" or "it" if a text begins with a word for who or what was named last, and where that ends.

    ("", 0) if it does not.
    """
    match = re.compile(rf"{pattern('before').pattern}(?:{_it()})\b").match(flat(text[:HEAD_CHARS]))
    found = [name for name, said in match.groupdict().items() if said] if match else []
    who = found[0].rstrip(digits) if found else "it" if match else ""
    return who, match.end() if match else 0


@cache
def _it() -> str:
    """Return the pattern of the words that stand for somebody, each group of a name once."""
    words = [table["it"] for tag, table in _data().items() if tag != "talk"]
    return "|".join(re.sub(r"\?P<(\w+)>", rf"?P<\g<1>{at}>", each) for at, each in enumerate(words))


def begins_change(text: str) -> bool:
    """Return whether a text begins as an order to change what it names, or to put it on a list or take it off."""
    start, head = opened(text), flat(text[:HEAD_CHARS])
    tables = [table for tag, table in _data().items() if tag != "talk"]
    named = (("orders", "what"), ("adds", "add"), ("drops", "drop"))
    found = ((re.compile(table[name]).match(head, start), what) for table in tables for name, what in named)
    return any(match is not None and match[what] for match, what in found)


def listed(text: str) -> tuple[str, str, bool] | None:
    """Return the thing to put on a list (True) or to take off it (False), and the list's name; None for no such wish.

    Of "take it off the list", the thing is "".
    """
    start = opened(text)
    head = flat(text[:HEAD_CHARS])
    for tag, table in _data().items():
        if tag == "talk":
            continue
        for name, item, target in (("adds", "add", "to"), ("drops", "drop", "of")):
            if match := re.compile(table[name]).search(head, start):
                begin, end = match.span(item)
                return text[max(begin, 0) : max(end, 0)], text[match.start(target) : match.end(target)], name == "adds"
    return None
