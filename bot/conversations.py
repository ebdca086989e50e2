"""Conversation memory put together: store, tokenizer, what models teach of tokens, summaries in the background."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace

from bot.model_settings import LIMITED
from bot.settings import Settings
from core.history.conversation import Conversations
from core.history.reports import ReportingModel
from core.history.summary import Summaries, Summarizer
from core.history.tokens import TOKENIZERS, Calibration, tokenizer_of
from core.llm import Models
from core.ports import Clock
from core.prompts import SYSTEM
from core.stores import HistoryStore
from core.tokenizer import Tokenizer

_CLAUDE_RATIO = 1.3  # Source: Anthropic's migration notes: about 30 % more tokens than the tokenizers before


async def build_conversations(
    settings: Settings, store: HistoryStore, models: Models, clock: Clock, stack: AsyncExitStack, *, dry: bool
) -> tuple[Conversations, Models]:
    """Return the conversations, and the models with an ear for what they report of tokens.

    Without a language model nothing is summarised: the mind without one does not read prose. What is summarised in the
    background is broken off by `stack`, and begun again by the next answer. A `dry` bot summarises nothing.
    """
    limits, tokenizer = settings.history_limits(), build_tokenizer(settings, models.chat.name, stack)
    calibration = Calibration({"anthropic": _CLAUDE_RATIO})
    summaries = None
    if not dry and not models.summary.name.startswith(f"{LIMITED}:"):
        summarizer = Summarizer(store, models.summary, tokenizer, clock, limits)
        summaries = await stack.enter_async_context(Summaries(summarizer, clock))
    conversations = Conversations(
        store,
        clock,
        limits,
        tokenizer=tokenizer,
        summaries=summaries,
        system=SYSTEM,
        ratio=lambda: calibration.ratio(models.chat.name),
    )
    return conversations, replace(models, chat=ReportingModel(models.chat, calibration))


def build_tokenizer(settings: Settings, model: str, stack: AsyncExitStack) -> Tokenizer:
    """Return what counts messages for a model, named `provider:model`."""
    provider, _, name = model.partition(":")
    if settings.tokenizer == "provider" and provider == "anthropic":
        from core.providers.anthropic_tokens import AnthropicTokenizer

        counter = AnthropicTokenizer(settings.key(provider) or "none", settings.address(provider), name)
        stack.callback(counter.close)
        return counter
    chosen = TOKENIZERS.get(settings.tokenizer)
    return tokenizer_of(model) if chosen is None else chosen()
