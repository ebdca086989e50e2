"""Every sentence of the limited mode, in every language."""

from __future__ import annotations

from core.text.catalogue import text

INTRO = text("limited.intro")

# --- questions -------------------------------------------------------------------------------------------------------

SAVE_OR_SEARCH = text("limited.save_or_search")
SAVE_OR_SEARCH_OPTIONS = text("limited.save_or_search_options")
SAVE_WHAT = text("limited.save_what")
DELETE_WHAT = text("limited.delete_what")
UPDATE_WHICH = text("limited.update_which")
NEITHER_SAVE_NEW = text("limited.neither_save_new")
NEW_VALUE = text("limited.new_value")
NOT_FOUND = text("limited.not_found")

# --- reports ---------------------------------------------------------------------------------------------------------

SAVED_NOTHING = text("limited.saved_nothing")
UPDATED_NOTHING = text("limited.updated_nothing")
DELETED_NOTHING = text("limited.deleted_nothing")
FAILED = text("limited.failed")

# --- endings ---------------------------------------------------------------------------------------------------------

SAVED_AS_NEW = text("limited.saved_as_new")
DELETE_APART = text("limited.delete_apart")
HERE_IT_IS = text("limited.here_it_is")
NEAREST = text("limited.nearest")
OTHER_SUBJECT = text("limited.other_subject")
YOU_SAID = text("past.you_said")
ALL_I_KNOW = text("limited.all_i_know")
MORE_IN_LIST = text("limited.more_in_list")
KNOW_NOTHING = text("limited.know_nothing")
NOTHING_AT_ALL = text("limited.nothing_at_all")
NOTHING_TO_DELETE = text("limited.nothing_to_delete")
NOTHING_TO_UPDATE = text("limited.nothing_to_update")
NOTHING_CHANGES = text("limited.nothing_changes")
NO_MODEL = text("limited.no_model")
NOT_IN_MEMORY = text("limited.not_in_memory")
NO_GENERAL = text("limited.no_general")
UNSEEN = text("limited.unseen")
NOT_YOUR_WORDS = text("limited.not_your_words")
SWITCHED_OFF = text("limited.switched_off")
CLOCK = text("limited.clock")
WEEKDAYS = text("limited.weekdays")
GREETING = text("limited.greeting")
THANKS = text("limited.thanks")
BYE = text("limited.bye")
HOW = text("limited.how")
ACK = text("limited.ack")
CANCEL = text("limited.cancel")
KEEP_OUT = text("limited.keep_out")
LEAVE = text("limited.leave")
UNCLEAR = text("limited.unclear")
CHAT = text("limited.chat")
WHAT_IF = text("limited.what_if")
ABOUT = text("limited.about")
