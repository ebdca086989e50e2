"""The mind without a language model: what answers when no model is configured."""

from core.limited.limited import LimitedMind

__all__ = ["LimitedMind"]
