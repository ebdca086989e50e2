"""Sentences that only Telegram needs, in every language. Knows what is said, not when."""

from __future__ import annotations

from core.text.catalogue import text

STOP = text("telegram.stop")
NOT_YOURS = text("telegram.not_yours")
JOINED = text("telegram.joined")
PRIVACY_MODE = text("telegram.privacy_mode")
