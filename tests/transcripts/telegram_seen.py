"""What people saw of a Telegram scenario, line by line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tests.fakes.telegram_people import Json
from tests.fakes.telegram_server import TelegramServer
from tests.fakes.telegram_wire import Call
from tests.fakes.telegram_writing import Upload
from tests.transcripts.phone import telegram_html
from tests.transcripts.transcript import Line

CHATS: Mapping[int, str] = {7: "Ana", 8: "Bia", -1001: "grupo", -1002: "grupo"}
"""What chats are called, by their number."""


def seen(server: TelegramServer, chats: Mapping[int, str] = CHATS) -> list[Line]:
    """What people saw, from what the server was asked; what the bot alone saw stands in brackets."""
    lines = [
        Line(at_s, chats[chat_id], who, f"#{number}", re.sub(r"/start \S+", "/start CODE", text))
        for at_s, chat_id, who, number, text in server.said
    ]
    for call in server.calls:
        if call.method == "answercallbackquery" and call.params.get("text"):
            lines.append(Line(call.at_s, "grupo", "Elefante", "notice", call.params["text"]))
        if call.code not in {200, 400, 429} or "chat_id" not in call.params or call.method == "getchatmember":
            continue
        reply = call.params.get("reply_parameters")
        mark = {
            "sendmessage": f"#{call.message_id}" + (f" ↩{reply.get('message_id', '')}" if reply else ""),
            "editmessagetext": f"#{call.params.get('message_id')} ✎",
            "editmessagereplymarkup": f"#{call.params.get('message_id')} ✎",
            "senddocument": f"#{call.message_id} 📎",
            "sendphoto": f"#{call.message_id} 🖼",
            "sendmessagedraft": "draft",
            "sendchataction": "typing",
            "deletemessage": f"#{call.params.get('message_id')} ✗",
            "setmessagereaction": f"#{call.params.get('message_id')} 👀",
        }[call.method]
        if "ephemeral_message_parameters" in call.params:
            mark = f"unseen ↩{reply['ephemeral_message_id']}" if reply else "unseen"
        text = _shown(call) if call.code == 200 else f"[refused: {call.refusal}]"
        rows = call.params.get("reply_markup", {}).get("inline_keyboard", []) if call.code == 200 else []
        labels = [[button["text"] for button in row] for row in rows]
        entities = call.params.get("entities") or call.params.get("caption_entities") or ()
        rich = telegram_html(call.text or str(call.params.get("caption", "")), entities)
        lines.append(Line(call.at_s, chats[call.chat_id], "Elefante", mark, text, rich, labels))
        lines += [Line(call.at_s, chats[call.chat_id], "", "", _row(row)) for row in rows]
    return lines


def _shown(call: Call) -> str:
    """The file's name, and the text; of an edit that changes only what is below it, that it stays."""
    if call.method == "editmessagereplymarkup":
        return "[the same text; what is below it]"
    file = call.params.get("document") or call.params.get("photo")
    name = f"({file.name}) " if isinstance(file, Upload) else ""
    return f"{name}{call.params.get('caption', '') or call.text}"


def _row(row: Sequence[Json]) -> str:
    return " ".join(f"[{button['text']}]" for button in row)
