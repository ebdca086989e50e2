"""Every sentence of the limited mode, in every language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from core.dialogue import Task
from core.text.catalogue import text
from core.types import Localized

INTRO: Final = text("limited.intro")
SAVE_WHAT: Final = text("limited.save_what")
DELETE_WHAT: Final = text("limited.delete_what")
SAVED_NOTHING: Final = text("limited.saved_nothing")
UPDATED_NOTHING: Final = text("limited.updated_nothing")
DELETED_NOTHING: Final = text("limited.deleted_nothing")
NOTHING_TO_CHANGE: Final = text("limited.nothing_to_change")
NOTHING_TO_DELETE: Final = text("limited.nothing_to_delete")
NOTHING_AT_ALL: Final = text("limited.nothing_at_all")
FAILED: Final = text("limited.failed")
ONE_AT_A_TIME: Final = text("limited.one_at_a_time")
HERE_IT_IS: Final = text("limited.here_it_is")
BEFORE: Final = text("limited.before")
NEAREST: Final = text("limited.nearest")
OTHER_SUBJECT: Final = text("limited.other_subject")
NOTHING_BEFORE: Final = text("limited.nothing_before")
NOT_FOUND: Final = text("limited.not_found")
PAGE: Final = text("files.page")
SAYS: Final = text("files.says")
YOU_SAID: Final = text("past.you_said")
ALL_I_KNOW: Final = text("limited.all_i_know")
MORE_IN_LIST: Final = text("limited.more_in_list")
NOTHING_TODAY: Final = text("limited.nothing_today")
KNOW_NOTHING: Final = text("limited.know_nothing")
WORLD: Final = text("limited.world")
NOT_YOUR_WORDS: Final = text("limited.not_your_words")
SWITCHED_OFF: Final = text("outcomes.switched_off")
CLOCK: Final = text("limited.clock")
WEEKDAYS: Final = text("limited.weekdays")

TALK: Final[Mapping[str, Localized]] = {
    "greeting": text("limited.talk.greeting"),
    "how": text("limited.talk.how"),
    "thanks": text("limited.talk.thanks"),
    "bye": text("limited.talk.bye"),
    "thanks_bye": text("limited.talk.thanks_bye"),
    "sad": text("limited.talk.sad"),
    "grief": text("limited.talk.grief"),
    "cry": text("limited.talk.cry"),
    "glad": text("limited.talk.glad"),
    "praise": text("limited.talk.praise"),
    "insult": text("limited.talk.insult"),
    "joke": text("limited.talk.joke"),
    "birthday": text("limited.talk.birthday"),
    "ack": text("limited.talk.ack"),
    "yes": text("limited.talk.yes"),
    "cancel": text("limited.talk.cancel"),
    "private": text("limited.talk.private"),
    "leave": text("limited.talk.leave"),
    "if": text("limited.talk.if"),
    "chat": text("limited.talk.chat"),
    "work": text("limited.talk.work"),
}
ABOUT: Final[Mapping[str, Localized]] = {
    "who": text("limited.about.who"),
    "data": text("limited.about.data"),
    "erase": text("limited.about.erase"),
}
"""What is answered to small talk, and to questions about the bot."""

MEDIA: Final = text("limited.about.media")
HEARING: Final = {True: text("limited.about.heard"), False: text("limited.about.unheard")}
SEEING: Final = {True: text("limited.about.words"), False: text("limited.about.unseen")}
"""What becomes of recordings and pictures, by whether they are heard, and their words read, here."""

CAN_DO: Final = text("help.intro")
SEE_ALL: Final = text("help.wishes.memories")
EXAMPLES: Final[Mapping[Task, Localized]] = {
    Task.SAVE_DRAFTS: text("help.wishes.remember"),
    Task.SEARCH_QUERIES: text("help.wishes.recall"),
    Task.UPDATE_DRAFTS: text("help.wishes.forget"),
    Task.DELETE_IDS: text("help.wishes.forget"),
}
"""What to say for each kind of action: the lines of /help."""
