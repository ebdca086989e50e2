"""Say what came with a message, and answer from the text of documents: nothing is composed, passages are quoted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from core.enclosures import AttachmentKind, pointed_words
from core.files.passages import answers, title
from core.files.port import LOST, Problem, ReadFile
from core.limited.frames import kept_from
from core.limited.recall import quoted_passage
from core.limited.scene import Scene
from core.text.assertions import asks_to_save
from core.text.catalogue import counted, forms, text
from core.text.markdown import quoted
from core.text.pointing import points_only
from core.text.unicode import flat
from core.types import Locale, Localized

MAX_QUOTED: Final = 3
"""How many passages are quoted as an answer."""

_MAX_TITLE_CHARS: Final = 120
_MAX_FIRST_CHARS: Final = 90
_LIMIT_MB: Final = 20

_POINTING: Final = re.compile(
    r"\b(?:d?ess[ea]s?|(?:de )?est[ea]s?|d?aquel[ea]s?|this|that|these|those|dis)(?!['’])\b[\s,:]*", re.IGNORECASE
)
"""What stands before the name of a thing that is there: "esse comprovante", "this contract"."""

_KEEPS: Final = re.compile(
    r"(?<!nao )(?<!no )(?<!not )(?<!dont )(?<!don't )\b(?:"
    r"guard(?:a|e|ar|em|es)|salv(?:a|e|ar)|anot(?:a|e|ar)|arquiv(?:a|e|ar)|lembr(?:a|e|ar)|memoriz(?:a|e|ar)|"
    r"guard(?:alo|ala|ame|amelo|amela|alos|alas)|archiv(?:a|e|es|ar|alo|ala)|recuerd(?:a|e|es|alo|ala)|acuerdate|"
    r"apunt(?:a|e|es|alo|ala)|remember|save|keep|store|stash|archive|file (?:this|that|it)|ha?ng on to|hold on to|"
    r"put (?:this|that|it) away)\b|\b(?:don'?t|do not) (?:lose|forget)\b|\bnao (?:perd(?:e|a|er)|esquec\w+)\b|"
    r"\bno (?:(?:lo|la|me lo|me la) )?(?:pierdas|olvides)\b"
)
"""Words, folded, that ask to keep what came along; without it they are said of many things."""

_ASKS: Final = re.compile(r"\W*(?:do you|did|does|where|when|who|what|how|onde|quando|quem|como|donde|cuando|quien)\b")
_HEAD_CHARS: Final = 60

_POLITE: Final = re.compile(
    r"(?:[\s,]+(?:pls|plz|please|por favor|porfa(?:vor)?|pfv?|pra mim|para mim|for me|a[ií]|abeg|thanks|obrigad[oa]|"
    r"gracias|pra depois|for later))+\s*$",
    re.IGNORECASE,
)
_COPY: Final = re.compile(r"^(?:(?:an?|uma?|una|the) )?(?:copy|copia|cópia) (?:of|de|d[oa])\s+", re.IGNORECASE)

_IS: Final = re.compile(r"^(?:is|it['’]s|are|é|eh|es|son|são)\s+", re.IGNORECASE)

_KINDS: Final = {
    "application/pdf": "pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "word",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "sheet",
    "application/vnd.ms-excel": "sheet",
    "text/csv": "table",
    "application/json": "json",
    "text/html": "page",
    "text/calendar": "calendar",
    "text/vcard": "card",
}


def own(scene: Scene) -> Sequence[ReadFile]:
    """Return what came with the message itself, else what it replies to or forwards brought."""
    files = scene.context.files
    return [each for each in files if not each.is_quoted] or files


def asks_to_keep(scene: Scene) -> bool:
    """Return whether the message asks to keep what came along."""
    if not scene.context.files:
        return False
    said = scene.message.rstrip("?! .")
    head = flat(said[:_HEAD_CHARS])
    is_asked = _KEEPS.search(head) is not None and _ASKS.match(head) is None
    return is_asked or kept_from(said) is not None or asks_to_save(said)


def named(scene: Scene) -> str:
    """Return the words under which to keep what came along: the person's, and a document's title; "" for none."""
    message = scene.message.rstrip("?! .")
    start = kept_from(message)
    said = "" if start is None else message[start:].strip()
    if not said and (found := _POINTING.search(message)):
        said = message[found.end() :]
    elif found := _POINTING.match(said):
        said = said[found.end() :]
    said = _IS.sub("", _COPY.sub("", _POLITE.sub("", said.strip(" .!?")).strip()))
    said = "" if points_only(said) or not any(map(str.isalnum, said)) or said.lower() in _NOTHING else said
    said = said or pointed_words(scene.context.quotes)
    titles = (_called(each) for each in own(scene))
    return ": ".join(filter(None, (said, "; ".join(dict.fromkeys(filter(None, titles))))))


def _called(file: ReadFile) -> str:
    """Return what a thing calls itself: a document's first line, or its name; a place's and a contact's name."""
    if file.has_text:
        return title(file.pages, _MAX_TITLE_CHARS) or file.attachment.name
    is_named = file.attachment.kind in {AttachmentKind.LOCATION, AttachmentKind.CONTACT, AttachmentKind.POLL}
    return file.attachment.name if is_named or file.attachment.kind is AttachmentKind.FILE else ""


_NOTHING: Final = frozenset(
    {"one", "file", "arquivo", "archivo", "isso", "this", "esto", "it", "aí", "ai", "away", "abeg"}
)
"""What tells nothing of a thing."""


def answer(scene: Scene) -> str:
    """Return the passages of the documents that answer the message, each with its page; "" if none does."""
    found = answers(scene.context.passages, MAX_QUOTED)
    names = [each.attachment.name for each in scene.context.files]
    several = len({each.file for each in found}) > 1
    lines = []
    for each in found:
        lead = f"{quoted(names[each.file])}, " if several and names[each.file] else ""
        lines.append(f"{lead}{quoted_passage(each.passage, scene.locale)}")
    return "\n".join(lines)


def nothing(scene: Scene) -> str:
    """Return that the documents say nothing about what was asked; "" if there are none."""
    names = [_name(each, scene.locale) for each in scene.context.files if each.has_text]
    return NOTHING[scene.locale].format(name=", ".join(names)) if names else ""


def has_own_text(scene: Scene) -> bool:
    """Return whether there is text in which an answer could be looked for."""
    return any(each.has_text for each in scene.context.files)


def told(scene: Scene) -> str:
    """Return a sentence on each thing that came along, and what can be done with it."""
    sentences = (_sentence(scene, each) for each in own(scene))
    return "\n".join(dict.fromkeys(each[:1].upper() + each[1:] for each in sentences))


def needs_name(scene: Scene) -> bool:
    """Return whether nothing that came along tells by itself what it is, so that the person is asked."""
    return bool(own(scene)) and all(
        not each.has_text and each.problem not in LOST and each.attachment.kind in _NEEDS_NAME for each in own(scene)
    )


def _sentence(scene: Scene, file: ReadFile) -> str:
    locale, name = scene.locale, _name(file, scene.locale)
    if file.problem is not None and not file.has_text:
        return PROBLEMS[file.problem][locale].format(name=name, limit=_LIMIT_MB)
    if file.has_text:
        first = quoted(title(file.pages, _MAX_FIRST_CHARS).rstrip("."), None)
        what = KINDS[_kind_of(file)][locale]
        parts = [counted(DOCUMENT, locale, len(file.pages), name=name, what=what), BEGINS[locale].format(first=first)]
        return " ".join((*parts, TOO_LONG[locale] if file.problem else ASK[locale]))
    sentence = THINGS.get(file.attachment.kind, THINGS[AttachmentKind.OTHER])[locale].format(name=name)
    if file.attachment.kind not in _NEEDS_NAME or scene.message.rstrip().endswith("?"):
        return sentence
    return f"{sentence} {(KEEP_WITH_WORDS if scene.message else TELL_WHAT)[locale]}"


def _kind_of(file: ReadFile) -> str:
    """Return which of KINDS a file is that has text."""
    if file.attachment.kind in {AttachmentKind.VOICE, AttachmentKind.AUDIO}:
        return "recording"
    if file.attachment.kind in {AttachmentKind.VIDEO, AttachmentKind.VIDEO_NOTE}:
        return "video"
    return "picture" if file.is_picture else _KINDS.get(file.attachment.media_type, "text")


def _name(file: ReadFile, locale: Locale) -> str:
    name = file.attachment.name
    is_bare = file.attachment.kind in {AttachmentKind.LOCATION, AttachmentKind.CONTACT, AttachmentKind.STICKER}
    return (name if is_bare else quoted(name)) if name else THE_FILE[locale]


NOTHING = text("files.nothing")
DOCUMENT = forms("files.document")
BEGINS = text("files.begins")
ASK = text("files.ask")
TOO_LONG = text("files.too_long")
THE_FILE = text("files.the_file")
TELL_WHAT = text("files.tell_what")
KEEP_WITH_WORDS = text("files.keep_with_words")
WHAT_IS_IT = text("files.what_is_it")
KINDS: Final = {
    "pdf": text("files.kinds.pdf"),
    "word": text("files.kinds.word"),
    "sheet": text("files.kinds.sheet"),
    "table": text("files.kinds.table"),
    "json": text("files.kinds.json"),
    "page": text("files.kinds.page"),
    "calendar": text("files.kinds.calendar"),
    "card": text("files.kinds.card"),
    "text": text("files.kinds.text"),
    "recording": text("files.kinds.recording"),
    "video": text("files.kinds.video"),
    "picture": text("files.kinds.picture"),
}
PROBLEMS: Final[dict[Problem, Localized]] = {
    Problem.UNKNOWN: text("files.problems.unknown"),
    Problem.EMPTY: text("files.problems.empty"),
    Problem.ENCRYPTED: text("files.problems.encrypted"),
    Problem.SCANNED: text("files.problems.scanned"),
    Problem.BROKEN: text("files.problems.broken"),
    Problem.TOO_LARGE: text("files.problems.too_large"),
    Problem.NOT_TAKEN: text("files.problems.not_taken"),
    Problem.HEIC: text("files.problems.heic"),
    Problem.SILENT: text("files.problems.silent"),
    Problem.UNHEARD: text("files.problems.unheard"),
    Problem.GONE: text("files.problems.gone"),
}
THINGS: Final[dict[AttachmentKind, Localized]] = {
    AttachmentKind.PHOTO: text("files.things.photo"),
    AttachmentKind.FILE: text("files.things.photo"),
    AttachmentKind.VOICE: text("files.things.voice"),
    AttachmentKind.AUDIO: text("files.things.voice"),
    AttachmentKind.VIDEO: text("files.things.video"),
    AttachmentKind.VIDEO_NOTE: text("files.things.video"),
    AttachmentKind.STICKER: text("files.things.sticker"),
    AttachmentKind.LOCATION: text("files.things.location"),
    AttachmentKind.CONTACT: text("files.things.contact"),
    AttachmentKind.POLL: text("files.things.poll"),
    AttachmentKind.OTHER: text("files.things.something"),
}
_NEEDS_NAME: Final = frozenset(THINGS) - {AttachmentKind.STICKER, AttachmentKind.CONTACT, AttachmentKind.POLL}
