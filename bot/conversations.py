"""Build conversation memory from the settings: tokenizer, calibration, summaries in the background."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from importlib import metadata

from bot.models.hot import MODE_OF
from bot.settings.models import LIMITED
from bot.settings.settings import Settings
from core.history.conversation import Conversations, PlaceSettingsOf
from core.history.summary import Summaries, Summarizer
from core.history.tokens import TOKENIZERS, Calibration, tokenizer_of
from core.history.withholding import MemoriesOf
from core.models import Models
from core.ports import Clock, Tokenizer
from core.prompts import SYSTEM
from core.stores import HistoryStore

_CLAUDE_RATIO = 1.3  # Source: Anthropic's migration notes: about 30 % more tokens than the tokenizers before


@dataclass(frozen=True, slots=True)
class Heard:
    """What conversations ask while they run: the models in place, their token counts, decisions of a place.

    `known` returns the memories that a person has now.
    """

    models: Models
    calibration: Calibration
    place_settings: PlaceSettingsOf
    known: MemoriesOf


def new_calibration() -> Calibration:
    """Return a calibration of token counts, with the ratio that is known for Claude."""
    return Calibration({"anthropic": _CLAUDE_RATIO})


async def build_conversations(
    settings: Settings, store: HistoryStore, heard: Heard, clock: Clock, stack: AsyncExitStack, *, dry: bool
) -> Conversations:
    """Build the conversations.

    Nothing is summarised in limited mode, nor by a `dry` bot. `stack` breaks off a summary in the background; the next
    answer begins it again.
    """
    models, calibration = heard.models, heard.calibration
    limits, tokenizer = settings.history_limits(), build_tokenizer(settings, models.chat.name, stack)
    own = {name: tokens for name, mode in MODE_OF.items() if (tokens := settings.context_tokens_of(mode))}
    limits = replace(limits, context_tokens=own)
    summaries = None
    if not dry:
        summarizer = Summarizer(
            store,
            models.summary,
            tokenizer,
            clock,
            limits,
            window=lambda: calibration.window(models.summary.name),
            zone=settings.zone(),
            lookup=heard.known,
        )
        summaries = Summaries(summarizer, clock, able=lambda: not models.summary.name.startswith(f"{LIMITED}:"))
        await stack.enter_async_context(summaries)
    return Conversations(
        store,
        clock,
        limits,
        tokenizer=tokenizer,
        summaries=summaries,
        system=SYSTEM,
        ratio=lambda: calibration.ratio(models.chat.name),
        window=lambda mode: calibration.window(getattr(models, mode).name),
        place_settings=heard.place_settings,
        version=metadata.version("elefante"),
        zone=settings.zone(),
    )


def build_tokenizer(settings: Settings, model: str, stack: AsyncExitStack) -> Tokenizer:
    """Return the tokenizer that the settings choose for a model, named `provider:model`."""
    provider, _, name = model.partition(":")
    if settings.tokenizer == "provider" and provider == "anthropic":
        from core.providers.anthropic import AnthropicTokenizer

        counter = AnthropicTokenizer(settings.key(provider) or "none", settings.address(provider), name)
        stack.callback(counter.close)
        return counter
    chosen = TOKENIZERS.get(settings.tokenizer)
    return tokenizer_of(model) if chosen is None else chosen()
