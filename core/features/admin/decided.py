"""What holds where somebody writes: what was decided for that place, or else for the bot.

Knows in what order choices count. Does not know who makes them, nor what they change.
"""

from __future__ import annotations

from core.features.admin.decisions import OFF, DecisionKind, Decisions
from core.history.conversation import PlaceSettings, PlaceSettingsOf
from core.types import ChatKey, room_name


async def decided(decisions: Decisions, matter: DecisionKind, chat: ChatKey) -> str:
    """Return what is decided of that matter for a place, or, where nothing is, for the bot; "" if nothing is."""
    values = await decisions.values(matter)
    return values.get(room_name(chat)) or values.get("", "")


def place_settings_by(decisions: Decisions) -> PlaceSettingsOf:
    """Return what tells how the bot is to be in a place: it reads anew each time, so that a decision holds at once."""

    async def place_settings(chat: ChatKey) -> PlaceSettings:
        persona = await decided(decisions, DecisionKind.PROMPT, chat)
        return PlaceSettings(await decided(decisions, DecisionKind.POLICY, chat), "" if persona == OFF else persona)

    return place_settings
