"""The terminal as a platform, and the example to copy for the next one.

A platform is two things: a `Channel` to write into (`channel.py`, `pipe.py`) and a `run` that turns what people write
into `Incoming` and hands it to the `Door` (`listener.py`, `person.py`). The rest here is how a terminal is drawn.
"""

from adapters.console.listener import run
from adapters.console.person import conversation

__all__ = ["conversation", "run"]
