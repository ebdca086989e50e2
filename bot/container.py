"""Tell whether this process runs in a container, and what restarts the bot: its engine there, else the service."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_MARKS: Final = (Path("/.dockerenv"), Path("/run/.containerenv"))
"""Files that Docker and Podman put into each container."""

_KUBERNETES: Final = "KUBERNETES_SERVICE_HOST"


def in_container() -> bool:
    """Tell whether this process runs in a container of Docker, Podman or Kubernetes."""
    return _KUBERNETES in os.environ or any(mark.exists() for mark in _MARKS)


def restart_command() -> str:
    """Return the command that starts the bot anew with the settings as they are now."""
    if _KUBERNETES in os.environ:
        return "kubectl rollout restart deployment/elefante"
    return "docker compose up -d" if in_container() else "elefante service restart"
