"""The mind without a language model: what answers when no model is configured."""

from core.mind.limited import LimitedMind

__all__ = ["LimitedMind"]
