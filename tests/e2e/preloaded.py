"""Import what the command imports, and read the embedder's model, for all processes forked from this one."""

from __future__ import annotations

import gc

import core.providers.anthropic
import core.providers.openai
import core.storage.faiss_index  # noqa: F401
from core.providers.usem3 import _encoder

_encoder()(["elefante"])
gc.freeze()  # what all share is written by no collection
