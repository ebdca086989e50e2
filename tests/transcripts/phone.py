"""Scenarios as pictures: what stands on a person's phone in the end, drawn like Telegram and Discord draw it.

Edits of a message are folded, unless somebody pressed something in between. Screenshots need Chromium.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from html import escape
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from PIL import Image
from telegram import Chat, Message, MessageEntity

from tests import browser
from tests.fakes.clock import START
from tests.transcripts.transcript import FOLDER, Line, Scenario

PICTURED = {
    "telegram": ("memory", "buttons", "buttons-group"),
    "discord": ("memory", "cards", "room"),
}
"""The scenarios of each platform that are drawn."""

BOT = "Elefante"
CSS = (Path(__file__).parent / "phone.css").read_text("utf-8")
WIDTH_PX = 390
_COLOURS = 64  # as many as are seen
_MARKDOWN = MarkdownIt("commonmark", {"breaks": True, "html": False}).enable("strikethrough")


def telegram_html(text: str, entities: Iterable[Any] = ()) -> str:
    """A text with its entities as Telegram's clients show it, by the library's own reading of them."""
    known = [MessageEntity.de_json(dict(one), None) for one in entities]
    day = datetime(2026, 3, 14, tzinfo=UTC)
    return Message(1, day, Chat(1, "private"), text=text, entities=known).text_html if text else ""


def discord_html(content: str, embeds: Sequence[str] = ()) -> str:
    """Discord's Markdown, and below it the embeds."""
    shown = _markdown(content) + "".join(f'<div class="embed">{_markdown(one)}</div>' for one in embeds)
    return re.sub(r"\|\|(.+?)\|\|", r'<span class="spoiler">\1</span>', shown, flags=re.DOTALL)


def _markdown(text: str) -> str:
    named = re.sub(r"<@!?\d+>", "@…", text)
    shown = re.sub(r"(?m)^-# (.*)$", r"SUBTEXT\1ENDTEXT", named)
    html: str = _MARKDOWN.render(shown)
    return html.replace("SUBTEXT", '<span class="subtext">').replace("ENDTEXT", "</span>")


@dataclass
class Item:
    """A message as it stands, or a note (`who` is "") of what somebody did."""

    who: str
    html: str
    at_s: float
    rows: Sequence[Sequence[str]] = ()
    reply: str = ""
    only: str = ""
    is_draft: bool = False
    is_edited: bool = False
    reactions: list[str] = field(default_factory=list)


def items(lines: Sequence[Line]) -> list[Item]:
    """What stands in one chat in the end, from all that happened there, in order."""
    found: list[Item] = []
    newest: dict[str, Item] = {}  # how each message stands now
    doer = ""
    for line in lines:
        number = next((part for part in line.mark.split() if part.startswith("#")), "")
        old, is_bots = newest.get(number), line.who == BOT
        if not line.who or line.mark == "typing":
            continue
        if not is_bots and (not number or re.fullmatch(r"\[.*\]", line.text)):  # a press, a choice, a command
            doer = line.who
            found.append(Item("", f"{line.who}: {escape(line.text.strip('[]'))}", line.at_s))
        elif line.mark == "notice" or not line.mark.strip(" 🔒"):  # for a moment, or a form
            found.append(Item("", f"{line.who}: {escape(line.text)}", line.at_s))
        elif "✗" in line.mark:
            if old in found:
                found.remove(old)
        elif "👀" in line.mark:
            if old is not None:
                old.reactions.append("👀")
        else:
            reply = next((part[1:] for part in line.mark.split() if part.startswith("↩")), "")
            answered = newest.get(f"#{reply}")
            doer = doer if is_bots else line.who
            item = Item(
                line.who,
                line.html or escape(line.text),
                line.at_s,
                line.rows,
                f"{answered.who}: {_plain(answered.html)}" if answered else "",
                doer if "🔒" in line.mark or "unseen" in line.mark else "",
                line.mark == "draft",
            )
            if old is not None and found[-1] is old:
                found.pop()
            item.is_edited = "✎" in line.mark or line.text.startswith("(edited)")
            item.reply, item.reactions = item.reply or (old.reply if old else ""), old.reactions if old else []
            newest[number] = item
            found.append(item)
    return found


def _plain(html: str) -> str:
    text = re.sub(r"<[^>]+>", " ", html).strip()
    return f"{text[:40]}…" if len(text) > 40 else text


def phone(name: str, chat: str, about: str, lines: Sequence[Line], *, me: str = "", since: datetime = START) -> str:
    """One phone: that of `me`, or else of the first person who is in the chat; `since` is when the scenario begins."""
    me = me or next((line.who for line in lines if line.who not in {"", BOT}), "")
    shown = "\n".join(_drawn(item, me, since) for item in items(lines))
    kind, title = ("private", BOT) if chat == me else ("room", chat)
    head = f"<header>{title}<small>{escape(about)}</small></header>"
    return f'<section class="phone {kind}" id="{name}-{chat}">\n{head}\n{shown}\n</section>'


def _drawn(item: Item, me: str, since: datetime) -> str:
    if not item.who:
        return f'<div class="note"><span>{item.html}</span></div>'
    kinds = ["item", *["mine"] * (item.who == me), *["draft"] * item.is_draft, *["hidden"] * bool(item.only)]
    at = (since + timedelta(seconds=item.at_s)).strftime("%H:%M:%S")
    rows = "".join(f"<div>{''.join(map(_button, row))}</div>" for row in item.rows)
    reactions = "".join(f'<span class="reaction">{one}</span>' for one in item.reactions)
    parts = (
        f'<div class="{" ".join(kinds)}" data-initial="{item.who[0]}"><div class="body"><div class="bubble">',
        f'<div class="name">{item.who}</div>',
        f'<div class="reply">{item.reply}</div>' * bool(item.reply),
        f'<div class="text">{item.html} <time>{"edited " * item.is_edited}{at}</time></div>',
        f'<div class="only">👁 Only {item.only} can see this</div>' * bool(item.only),
        f"<div>{reactions}</div>" * bool(reactions),
        "</div>",
        f'<div class="buttons">{rows}</div>' * bool(rows),
        "</div></div>",
    )
    return "".join(parts)


def _button(label: str) -> str:
    return f'<span class="menu">{escape(label)}</span>' if label.startswith("▾") else f"<span>{escape(label)}</span>"


def phones(platform: str, scenario: Scenario, lines: Sequence[Line]) -> list[str]:
    """A phone for every chat of a scenario, if it is one that is drawn."""
    if scenario.name not in PICTURED[platform]:
        return []
    by_chat = groupby(sorted(lines, key=lambda line: line.chat), key=lambda line: line.chat)
    return [phone(scenario.name, chat, scenario.title, list(each)) for chat, each in by_chat]


def page(platform: str, drawn: Sequence[str]) -> str:
    """The HTML page of a platform."""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{platform.title()}</title>\n'
        f'<style>\n{CSS}</style>\n<body class="{platform}">\n' + "\n".join(drawn) + "\n</body>\n</html>\n"
    )


async def screenshots(platform: str) -> list[Path]:
    """Draw each phone of the page that lies in docs as a PNG beside it; none without Chromium."""
    if browser.program() is None:
        return []
    made = []
    html = FOLDER / f"{platform}.html"
    async with browser.browsing() as page:
        await page.open(html.as_uri(), 2 * WIDTH_PX, WIDTH_PX, scale=2.0)
        for name in re.findall(r'<section class="phone \w+" id="([^"]+)"', html.read_text("utf-8")):
            picture = FOLDER / f"{platform}-{name}.png"
            drawn = Image.open(BytesIO(await page.picture(f"[id='{name}']"))).convert("RGB")
            drawn.quantize(_COLOURS).save(picture, optimize=True)
            made.append(picture)
    return made
