"""What commands steer. Knows the parts that a command may touch besides its turn. Does not know any command."""

from __future__ import annotations

from dataclasses import dataclass

from core.access import Access


@dataclass(slots=True)
class Desk:
    """The parts of a running bot that people steer by commands."""

    access: Access
