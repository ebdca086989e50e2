"""Sentences that only Discord needs, in every language."""

from __future__ import annotations

from core.text.catalogue import text

NOT_HERE = text("discord.not_here")
YOUR_TEXT = text("discord.your_text")
BEGIN_ANEW = text("discord.begin_anew")
STOPPING = text("discord.stopping")
ASK = text("discord.ask")
MESSAGE = text("discord.message")
IN_PRIVATE = text("discord.in_private")
ASIDE = text("discord.aside")
REMEMBER_THIS = text("discord.context.remember")
ASK_ABOUT_THIS = text("discord.context.ask")
ALLOW = text("discord.context.allow")
BLOCK = text("discord.context.block")
WHY = text("discord.context.why")
LIMITS = text("discord.context.limits")
YOUR_QUESTION = text("discord.your_question")
NO_LONGER_KEPT = text("discord.no_longer_kept")
OLD_MENU = text("discord.old_menu")
FAILED = text("failures.bot_error")
NO_INTENT = text("pointing.no_intent")
