"""Send alarms to where ALERT_URL points: a webhook, or e-mail. It works without any chat platform."""

from __future__ import annotations

import asyncio
import logging
import smtplib
import ssl
from collections.abc import Awaitable, Callable
from email.message import EmailMessage
from http import HTTPStatus
from typing import Final
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

TIMEOUT_S: Final = 20.0
_MAX_SUBJECT_CHARS: Final = 100

_log = logging.getLogger(__name__)


def problem(url: str) -> str:
    """Return what is wrong with an address, as advice; "" if nothing."""
    advice = "write https://…, or smtps://user:password@host:465/?to=you@example.com"
    try:
        parts = urlsplit(url.strip())
        is_mail = parts.scheme in {"smtp", "smtps"}
        _ = parts.port
    except ValueError:
        return advice
    if parts.scheme not in {"http", "https"} and not is_mail:
        return advice
    if not parts.hostname or (is_mail and "@" not in _query(parts, "to")):
        return advice
    return ""


def poster(url: str) -> Callable[[str], Awaitable[bool]]:
    """Return the function that sends a text to the address once and tells whether it was taken."""
    parts = urlsplit(url.strip())
    send = _mail if parts.scheme in {"smtp", "smtps"} else _webhook

    async def post(text: str) -> bool:
        try:
            await send(parts, text)
        except (OSError, TimeoutError, ValueError, smtplib.SMTPException) as error:
            _log.warning("ALERT_URL took no alarm", extra={"error": type(error).__name__})  # the rest may hold secrets
            return False
        return True

    return post


async def _webhook(parts: SplitResult, text: str) -> None:
    import aiohttp  # loaded by the first alarm, not by the start

    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=True) as session,
            session.post(parts.geturl(), json={"text": text}, allow_redirects=False) as answer,
        ):
            status = answer.status
    except aiohttp.ClientError as error:
        raise OSError(type(error).__name__) from None
    if status >= HTTPStatus.MULTIPLE_CHOICES:
        raise ValueError(status)


async def _mail(parts: SplitResult, text: str) -> None:
    await asyncio.to_thread(_send_mail, parts, text)


def _send_mail(parts: SplitResult, text: str) -> None:
    """Send an e-mail. A password is sent over TLS only; without one, smtp:// is a relay that asks for none."""
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    to = _query(parts, "to")
    message = EmailMessage()
    message["Subject"] = f"Elefante: {text.strip().splitlines()[0][:_MAX_SUBJECT_CHARS]}"
    message["From"] = _query(parts, "from") or (user if "@" in user else to.partition(",")[0])
    message["To"] = to
    message.set_content(text)
    context = ssl.create_default_context()
    host, port = parts.hostname or "", parts.port or 0
    if parts.scheme == "smtps":
        server: smtplib.SMTP = smtplib.SMTP_SSL(host, port, timeout=TIMEOUT_S, context=context)
    else:
        server = smtplib.SMTP(host, port, timeout=TIMEOUT_S)
    with server:
        if user:
            if parts.scheme == "smtp":
                server.starttls(context=context)
            server.login(user, password)
        server.send_message(message)


def _query(parts: SplitResult, name: str) -> str:
    return ",".join(parse_qs(parts.query).get(name, ()))
