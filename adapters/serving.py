"""Listen with a small HTTP server."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from core.errors import ConfigError

_PATIENCE_S = 5.0


@asynccontextmanager
async def listening(
    app: web.Application, host: str, port: int, *, setting: str, tls: ssl.SSLContext | None = None
) -> AsyncIterator[None]:
    """Answer requests at that address while the context is entered; leaving it waits 5 s for those under way.

    Raises:
        ConfigError: it cannot be listened on; `setting` is what named the port.
    """
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_PATIENCE_S)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port, ssl_context=tls).start()
        except OSError as error:
            raise ConfigError(setting, f"cannot listen on {host}:{port} ({error.strerror}); choose another") from None
        yield
    finally:
        await runner.cleanup()
