"""Sentences that only Discord needs, in every language.."""

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
