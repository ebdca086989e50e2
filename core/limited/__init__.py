"""Answer without a language model, when none is configured: one more implementation of the model port."""

from core.limited.mind import LimitedMind

__all__ = ["LimitedMind"]
