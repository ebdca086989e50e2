"""Messages as language models read them: text, time, attachments, quotes, and what was said before.

The same message gives the same text in every call, so that providers can cache it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Final

from core.enclosures import Attachment, Quote, QuoteKind, Speaker
from core.files.passages import FoundPassage
from core.files.port import ReadFile
from core.history.withholding import Knowledge, Lookup, known, withheld_of
from core.stores import HistoryStore, Quoted
from core.text.marks import not_cited, quoted
from core.text.pointing import asks_to_show
from core.text.unicode import flat, one_line
from core.text.words import FUNCTION_WORDS, folded_words
from core.types import MemoryItem, Message, MessageRole, Modal, Span, UserKey

WITHHELD: Final = "<withheld>"
FAILED: Final = "<failed>"
"""What stands for our apology: models repeat one that they read among their own words."""

_SPEAKERS: Final = {Speaker.BOT: "you", Speaker.SELF: "the person", Speaker.OTHER: "somebody else"}
_KINDS: Final = {
    QuoteKind.REPLY: "the message replies to",
    QuoteKind.EARLIER: "which replied to",
    QuoteKind.FORWARD: "the person forwarded",
}
_UNREAD: Final = """\
(The platform does not show you this message. If the person asks about it, say in one sentence that you cannot read it \
here and ask for its words; never guess them.)"""


def rendered(message: Message, zone: tzinfo) -> str:
    """Return a message with its marks. Only this package and `core/answering/prompting.py` write marks."""
    if message.modal is Modal.MEMORY:
        return f"<memory>{quoted(message.text)}</memory>"
    if is_withheld(message):
        return WITHHELD
    if message.error:
        return FAILED
    if message.role is not MessageRole.USER:
        return quoted(message.text)
    said_at = [f"<said-at {message.at.astimezone(zone):%a %Y-%m-%d %H:%M}>"] if message.at is not None else []
    return "\n".join((quoted(message.text), *enclosed(message), *said_at)).strip()


def enclosed(message: Message) -> list[str]:
    """Return a block for the attachments of a message, and one for each quote."""
    return [*_attached(message.attachments), *(_quote(quote) for quote in message.quotes)]


def past_words(quoted_message: Quoted, zone: tzinfo) -> str:
    """Return the block of a past message, after what was said just before it if a search needed that, too.

    Each stands on a line that begins with who said it, so that nothing in it passes for another line.
    """
    message, before = quoted_message.message, quoted_message.before
    day = f' when="{message.at.astimezone(zone):%Y-%m-%d}"' if message.at is not None else ""
    lines = [_line(each) for each in (before, message) if each is not None]
    inside = "\n".join(("", *lines, "")) if before is not None else lines[0]
    return f"<said{day}>{inside}</said>"


def _line(message: Message) -> str:
    who = _SPEAKERS[Speaker.SELF if message.role is MessageRole.USER else Speaker.BOT]
    return f"{who}: {quoted(not_cited(' '.join(message.text.split())))}"


def speaker_mark(name: str) -> str:
    """Return the mark that names who speaks in a room."""
    return f"<speaker: {_name(name)}, in a room where others read along>"


def is_withheld(message: Message) -> bool:
    """Return whether nothing of a message may be shown but that it was said."""
    return message.content == "" and not message.attachments and not message.quotes


def _attached(attachments: tuple[Attachment, ...]) -> list[str]:
    if not attachments:
        return []
    named = (f"{one.kind.value} {_name(one.name)}".strip() for one in attachments)
    return [f"<attached>{', '.join(named)}</attached>"]


def file_blocks(files: Sequence[ReadFile], found: Sequence[FoundPassage], max_chars: int) -> list[str]:
    """Return a `<file name= page=>` block for each page of the files that were read, as far as they fit.

    Of what does not fit the passages that were found are shown, in their order. What could not be read says so.
    """
    blocks = [_unread(each) for each in files if each.problem is not None]
    pages = [(at, number, page) for at, each in enumerate(files) for number, page in enumerate(each.pages, 1) if page]
    if sum(len(page) for _, _, page in pages) <= max_chars:
        return [*blocks, *(_file_block(files[at], number, page) for at, number, page in pages)]
    kept: list[FoundPassage] = []
    for each in found:
        max_chars -= len(each.passage.text)
        if max_chars < 0:
            break
        kept.append(each)
    kept.sort(key=lambda each: (each.file, each.passage.page))
    shown = [_file_block(files[each.file], each.passage.page, each.passage.text) for each in kept]
    blocks += [
        _file_block(files[at], number, f"{page[:max_chars].rstrip()}…") for at, number, page in pages[:1] if not kept
    ]
    return [*blocks, _LONG, *shown]


_LONG: Final = "(The files are too long to be shown whole: these are the parts that the message may be about.)"


def _file_block(file: ReadFile, page: int, text: str) -> str:
    count = len(file.pages)
    place = f' page="{page} of {count}"' if count > 1 else ""
    return f'<file name="{_name(file.attachment.name)}"{place}>\n{quoted(not_cited(text))}\n</file>'


def _unread(file: ReadFile) -> str:
    why = "" if file.problem is None else file.problem.value
    return f'<file name="{_name(file.attachment.name)}">(not read to its end: {why})</file>'


def _quote(quote: Quote) -> str:
    text = quoted(quote.text) or ("" if quote.attachments else _UNREAD)
    lines = [*([text] if text else []), *_attached(quote.attachments)]
    if quote.excerpt and quote.excerpt != quote.text:
        lines.append(f"The person marked this part: {quoted(quote.excerpt)}")
    body = "\n".join(lines)
    return f"<quote: {_KINDS[quote.kind]}, said by {_who(quote)}>\n{body}\n</quote>"


def room_mark(*, together: bool) -> str:
    """Return the mark before what was said in a room; where people talk `together`, it says so."""
    return "<room: one conversation of all who speak here with you>" if together else "<room>"


def said_in_room(message: Message) -> Quote:
    """Return what somebody else asked in the room, or what answered it, as a quote."""
    is_asked = message.role is MessageRole.USER
    speaker, name = (Speaker.OTHER, message.speaker) if is_asked else (Speaker.BOT, "")
    return Quote(QuoteKind.ROOM, message.text, speaker, name, "", message.attachments)


def room_line(quote: Quote, at: datetime | None = None) -> str:
    """Return what was said in the room on one line that begins with who said it, so that nothing passes for another.

    `at` is when, if that is known.
    """
    text = quoted(not_cited(" ".join(quote.text.split())))
    who = _who(quote) if at is None else f"{_who(quote)} at {at:%Y-%m-%d %H:%M}"
    return " ".join((f"{who}:", *([text] if text else []), *_attached(quote.attachments)))


def _who(quote: Quote) -> str:
    return " ".join(filter(None, (_SPEAKERS[quote.speaker], quote.name and f"({_name(quote.name)})")))


def _name(name: str) -> str:
    """Return a name that cannot end the mark around it."""
    return quoted(name).replace("<", "‹").replace(">", "›")


# Past messages as quotes, beside memories: what was said before about what is asked now.
#
# Full text alone finds them, so only strong evidence counts: words of greeting and of asking are none, and a question
# is no answer. The constants were chosen on tests/data/quotes_tuning.json.

MAX_QUOTES: Final = 3
STRONG: Final = 0.55
"""The score from which on a past message is shown to a model."""

_FOUND: Final = 16
_BOT_WEIGHT: Final = 0.6
"""What an answer of ours counts of what it would count if the person had said it."""

_REPLY_WEIGHT: Final = 0.9
"""What a reply that tells more than the message before it counts of what that message would."""

_MAX_CHARS: Final = 300
_MAX_BEFORE_CHARS: Final = 120
_LEAD_CHARS: Final = 80
"""Of a long message, how much is shown before the first word that was asked for."""

_ASKS: Final = frozenset(
    """
    qual quais quem quando onde aonde como quanto quanta quantos quantas cade lembra
    what which who whom whose when where why how remember
    cual cuales quien quienes donde adonde cuando cuanto cuanta cuantos cuantas recuerdas
    """.split()
)
_NO_SUBJECT: Final = frozenset(
    """
    oi ola ta estas bom boa bons boas dia tarde noite tudo bem obrigado obrigada valeu beijo abraco hoje agora haha
    kkk legal deixa faz fazer falar falei falou fala disse dizer dito contei contou contar mencionei nome chama
    chamava mesmo hi hello hey good morning afternoon evening night thanks thank ok okay lol today now fine please
    tell told said say says mention mentioned talk talked name called think help give write explain hola buenos
    buenas dias tardes noches gracias vale jaja ahora dime dije dijiste dijo decir conte contaste nombre llama
    llamaba mismo ayuda ayudame escribe cuentame
    """.split()
)
"""Words of a message that do not name what it is about."""

_QUESTION: Final = re.compile(r"[^.!\n…]*[?？؟]\W*")
"""A text that is one question and nothing else."""

_WISH_WORDS: Final = 6
"""A longer message that asks to be shown something tells something, too."""

_EMPTY: Final = FUNCTION_WORDS | _NO_SUBJECT


@dataclass(frozen=True, slots=True)
class PastWords:
    """What was said before: the quotes, the best first, cut to a length, and the memories that they tell of."""

    quotes: tuple[Quoted, ...] = ()
    items: tuple[MemoryItem, ...] = ()


NOTHING: Final = PastWords()


def asks(text: str) -> bool:
    """Return whether a message may ask for what was said: it has a question mark, or a word that asks."""
    return "?" in text or not _ASKS.isdisjoint(folded_words(text))


async def find_quotes(
    store: HistoryStore,
    users: Sequence[UserKey],
    queries: Iterable[str],
    *,
    lookup: Lookup,
    room: str = "",
    said: Span | None = None,
    skip: Collection[int] = (),
    beside: Collection[str] = (),
) -> PastWords:
    """Return up to MAX_QUOTES past messages of these accounts that say more about one of the queries.

    `room`, `said` and `skip` are those of `HistoryStore.search`. What is withheld from models is left out, and what
    tells of the memories `beside`, which are shown anyway.
    """
    best: dict[int, Quoted] = {}
    telling = ([word for word in folded_words(query) if word not in _EMPTY] for query in queries)
    asked = list({frozenset(each): each for each in telling if each}.values())
    if not asked:
        return NOTHING
    lists = await store.search(users, [*map(" ".join, asked)], limit=_FOUND, room=room, said=said, skip=skip)
    for words, found in zip(asked, lists, strict=True):
        for each in _judged(found, frozenset(words)):
            known_before = best.get(each.message.id)
            if known_before is None or known_before.score < each.score:
                best[each.message.id] = each
    if not best:
        return NOTHING
    messages = [message for each in best.values() for message in (each.message, each.before) if message is not None]
    knowledge = await known(store, messages, lookup)
    shown = [each for each in best.values() if _may_be_shown(each, knowledge, beside)]
    quotes = sorted(shown, key=lambda each: (-each.score, -each.message.id))[:MAX_QUOTES]
    told = {told.memory_id for each in quotes for i in _ids(each) for told in knowledge.told.get(i, ())}
    return PastWords(tuple(quotes), tuple(item for item in knowledge.items.values() if item.id in told))


def _judged(found: Sequence[Quoted], words: Collection[str]) -> Iterator[Quoted]:
    """Yield the messages that hold strong evidence and tell more than the words, cut to a length, with their scores.

    The reply to a question takes the question's place.
    """
    scores = {each.message.id: each.score for each in found}
    for each in found:
        score = each.score * (1 if each.message.role is MessageRole.USER else _BOT_WEIGHT)
        before = each.before
        if before is not None and _answers(each.message, before):
            score = max(score, _REPLY_WEIGHT * scores.get(before.id, 0))
        tells = set(folded_words(each.message.text)).difference(words, _EMPTY)
        if score >= STRONG and tells and not _is_question(each.message):
            cut = before and replace(before, content=one_line(before.text, _MAX_BEFORE_CHARS))
            yield replace(each, message=_excerpt(each.message, words), before=cut, score=score)


def _answers(message: Message, before: Message) -> bool:
    """Return whether a message replies to a question, or tells more than what it replies to, as our answers may."""
    if message.role is before.role:
        return False
    is_longer = message.role is MessageRole.ASSISTANT and len(before.text) < len(message.text)
    return is_longer or _is_question(before)


def _is_question(message: Message) -> bool:
    """Return whether a message only asks: a question, or to be shown something."""
    is_wish = len(message.text.split()) <= _WISH_WORDS and asks_to_show(message.text)
    return is_wish or _QUESTION.fullmatch(message.text) is not None


def _excerpt(message: Message, words: Collection[str]) -> Message:
    """Return the message with so much of its text as is shown: from just before the first of the words on."""
    text = " ".join(message.text.split())
    if len(text) > _MAX_CHARS:
        folded = flat(text)
        start = min((at for word in words if (at := folded.find(word)) > 0), default=0) - _LEAD_CHARS
        text = text if start <= 0 else "…" + text[start:].partition(" ")[2]
    return replace(message, content=one_line(text, _MAX_CHARS))


def _may_be_shown(quoted: Quoted, knowledge: Knowledge, beside: Collection[str]) -> bool:
    """Return whether models may read it, and it tells nothing that is shown anyway."""
    withheld = withheld_of(quoted.thread)
    messages = [message for message in (quoted.message, quoted.before) if message is not None]
    if any(withheld.hides(message) or knowledge.is_stale(message) for message in messages):
        return False
    return all(told.memory_id not in beside for told in knowledge.told.get(quoted.message.id, ()))


def _ids(quoted: Quoted) -> list[int]:
    return [message.id for message in (quoted.message, quoted.before) if message is not None]
