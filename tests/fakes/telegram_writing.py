"""What a bot may write in a Telegram of a test, and what becomes of it: the strict half of the server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.ports import Clock
from tests.fakes.telegram_people import BOT, BOT_ID, Chat, Json, People, Post
from tests.fakes.telegram_wire import Limits, Refused, checked, checked_keyboard

MAX_UPLOAD_BYTES = 50_000_000
MAX_DOWNLOAD_BYTES = 20_000_000
QUERY_LIVES_S = 15.0
DELETABLE_S = 48 * 3600.0
_PICTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF")


@dataclass(frozen=True)
class Upload:
    """A file that was sent: what it is called, and what is in it."""

    name: str
    content: bytes


class Writing(People):
    """Methods that put something into a chat, or read a file of one."""

    def __init__(self, clock: Clock, limits: Limits | None = None) -> None:
        super().__init__(clock)
        self.clock = clock
        self.limits = limits
        self.knows_ephemeral = True  # a server of Bot API 10.3; an older one leaves the parameter unread
        self.offered: dict[str, list[Json]] = {}  # results of inline queries
        self.drafts: dict[int, tuple[float, str]] = {}
        self.files: dict[str, bytes] = {}  # what people sent, by file_id
        self.kinds: dict[str, str] = {}  # of those
        self.uploaded = 0  # bytes that the bot sent
        self.hides: set[str] = set()  # what getFile does not tell
        self.notifier: list[tuple[str, str]] = []  # what clients showed after a press: who pressed, what

    def draft(self, chat_id: int) -> str | None:
        """The preview that a person sees now."""
        until_s, text = self.drafts.get(chat_id, (0.0, ""))
        return text if until_s > self.clock.monotonic() else None

    def _do_sendchataction(self, params: Json) -> bool:
        self._writable(params)
        return True

    def _do_setmessagereaction(self, params: Json) -> bool:
        chat = self._chat(params)
        post = chat.posts.get(int(params["message_id"]))
        if post is None:
            raise Refused(400, "Bad Request: message to react not found")
        reactions = [one["emoji"] for one in json.loads(params["reaction"])] if "reaction" in params else []
        if not {*reactions} <= {*chat.reactions}:
            raise Refused(400, "Bad Request: REACTION_INVALID")
        post.reaction = "".join(reactions)
        return True

    def _do_sendmessage(self, params: Json) -> Json:
        chat = self._writable(params)
        text, entities = checked(params)
        if "ephemeral_message_parameters" in params and self.knows_ephemeral:
            return self._whispered(chat, params, text, entities)
        return self._posted(chat, params, text, entities)

    def _whispered(self, chat: Chat, params: Json, text: str, entities: list[Json]) -> Json:
        """Write what one person sees. Source: core.telegram.org/bots/api#ephemeral-messages-and-commands."""
        to, reply = params["ephemeral_message_parameters"], params.get("reply_parameters", {})
        answered = chat.whispers.get(reply.get("ephemeral_message_id", 0))
        if chat.type == "private" or to["receiver_user_id"] not in self.seen:
            raise Refused(400, "Bad Request: USER_ID_INVALID")
        in_time = answered is not None and self.clock.monotonic() - answered.at_s <= QUERY_LIVES_S
        if not chat.administered and not (answered is not None and answered.by == to["receiver_user_id"] and in_time):
            raise Refused(400, "Bad Request: BOT_NOT_ADMIN")
        if reply and answered is None:
            raise Refused(400, "Bad Request: MESSAGE_NOT_COMMAND")
        number = self.next_ephemeral()
        post = Post(number, BOT_ID, text, entities, at_s=self.clock.monotonic(), to=to["receiver_user_id"])
        post.buttons = checked_keyboard(params)
        chat.whispers[number] = post
        return self.whispered(chat, post, BOT, {"id": post.to, "is_bot": False, "first_name": "Ana"})

    def _do_editephemeralmessagetext(self, params: Json) -> bool:
        _, post = self._whisper(params, "edit")
        text, entities = checked(params)
        if len(text) > 1024:  # github.com/tdlib/telegram-bot-api/issues/881
            raise Refused(400, "Bad Request: MEDIA_CAPTION_TOO_LONG")
        post.text, post.entities, post.buttons = text, entities, checked_keyboard(params)
        return True

    def _do_deleteephemeralmessage(self, params: Json) -> bool:
        chat, post = self._whisper(params, "delete")
        del chat.whispers[post.id]
        return True

    def _whisper(self, params: Json, what: str) -> tuple[Chat, Post]:
        if not self.knows_ephemeral:
            raise Refused(404, "Not Found")
        chat = self._writable(params)
        post = chat.whispers.get(int(params["ephemeral_message_id"]))
        if post is None or post.by != BOT_ID or post.to != int(params["receiver_user_id"]):
            raise Refused(400, f"Bad Request: message to {what} not found")
        return chat, post

    def _do_answerinlinequery(self, params: Json) -> bool:
        if self.inline.pop(params["inline_query_id"], None) is None:
            raise Refused(400, "Bad Request: query is too old and response timeout expired or query ID is invalid")
        results = params["results"]
        if len(results) > 50:
            raise Refused(400, "Bad Request: RESULTS_TOO_MUCH")
        if len({result["id"] for result in results}) < len(results):
            raise Refused(400, "Bad Request: RESULT_ID_DUPLICATE")
        for result in results:
            if not 1 <= len(result["id"].encode()) <= 64:
                raise Refused(400, "Bad Request: RESULT_ID_INVALID")
            if not result["title"]:
                raise Refused(400, "Bad Request: ARTICLE_TITLE_EMPTY")
            checked({"text": result["input_message_content"]["message_text"]})
        self.offered[params["inline_query_id"]] = results
        return True

    def _do_senddocument(self, params: Json) -> Json:
        return self._file(params, "document")

    def _do_sendphoto(self, params: Json) -> Json:
        return self._file(params, "photo")

    def _do_sendvoice(self, params: Json) -> Json:
        return self._file(params, "voice")

    def _do_sendaudio(self, params: Json) -> Json:
        return self._file(params, "audio")

    def _do_sendvideo(self, params: Json) -> Json:
        return self._file(params, "video")

    def _do_sendanimation(self, params: Json) -> Json:
        return self._file(params, "animation")

    def _do_sendvideonote(self, params: Json) -> Json:
        return self._file(params, "video_note")

    def _do_sendsticker(self, params: Json) -> Json:
        return self._file(params, "sticker")

    def _do_sendlocation(self, params: Json) -> Json:
        return self._posted(self._writable(params), params, f"📍 {params['latitude']},{params['longitude']}", [])

    def _do_sendvenue(self, params: Json) -> Json:
        if not params["title"] or not params["address"]:
            raise Refused(400, "Bad Request: VENUE_TITLE_EMPTY")
        told = f"📍 {params['title']} · {params['address']} · {params['latitude']},{params['longitude']}"
        return self._posted(self._writable(params), params, told, [])

    def _do_sendcontact(self, params: Json) -> Json:
        if not params["phone_number"] or not params["first_name"]:
            raise Refused(400, "Bad Request: PHONE_NUMBER_INVALID")
        told = f"👤 {params['first_name']} · {params['phone_number']}"
        return self._posted(self._writable(params), params, told, [])

    def _do_sendmediagroup(self, params: Json) -> list[Json]:
        media = params["media"]
        if not 2 <= len(media) <= 10 or "reply_markup" in params:
            raise Refused(400, "Bad Request: wrong number of media")
        kinds = {"photo" if each["type"] == "video" else each["type"] for each in media}
        if len(kinds) > 1:
            raise Refused(400, "Bad Request: DOCUMENT album can't be mixed with other media types")
        common = {name: value for name, value in params.items() if name != "media"}
        files = [self._upload({**params, each["type"]: each["media"]}, each["type"]) for each in media]
        return [
            self._file({**common, **each, "upload": file}, each["type"])
            for each, file in zip(media, files, strict=True)
        ]

    def _file(self, params: Json, kind: str) -> Json:
        chat = self._writable(params)
        upload = params.get("upload") or self._upload(params, kind)
        if not upload.content:
            raise Refused(400, "Bad Request: file must be non-empty")
        if len(upload.content) > MAX_UPLOAD_BYTES:
            raise Refused(413, "Request Entity Too Large")
        told = {"text": params.get("caption", ""), "entities": params.get("caption_entities", [])}
        assert kind not in {"sticker", "video_note"} or not told["text"], "there is no caption there"
        text, entities = checked(told, most=1024, empty=True)
        return self._posted(chat, params, text, entities, upload)

    def _upload(self, params: Json, kind: str) -> Upload:
        """What is sent: bytes, or what the server has by an id of that kind."""
        given = params[kind]
        if isinstance(given, str) and given.startswith("attach://"):
            given = params[given.removeprefix("attach://")]
        if isinstance(given, str):
            if given not in self.files:
                raise Refused(400, "Bad Request: wrong file identifier/HTTP URL specified")
            if self.kinds.get(given, kind) != kind:
                raise Refused(400, f"Bad Request: can't use file of type {self.kinds[given]} as {kind}")
            return Upload(given, self.files[given])
        assert isinstance(given, Upload)
        if kind == "photo" and not given.content.startswith(_PICTURES):
            raise Refused(400, "Bad Request: IMAGE_PROCESS_FAILED")
        self.uploaded += len(given.content)
        return given

    def _posted(self, chat: Chat, params: Json, text: str, entities: list[Json], file: Upload | None = None) -> Json:
        buttons = checked_keyboard(params)
        reply = params.get("reply_parameters", {})
        if reply and reply["message_id"] not in chat.posts and not reply.get("allow_sending_without_reply"):
            raise Refused(400, "Bad Request: message to be replied not found")
        thread = params.get("message_thread_id")
        message = self.message(chat, BOT, text, thread=int(thread) if thread else None)
        post = Post(
            message["message_id"], BOT_ID, text, entities, reply.get("message_id"), thread, self.clock.monotonic()
        )
        post.buttons, post.file = buttons, file
        chat.posts[post.id] = post
        self.drafts.pop(chat.id, None)
        return message | {"entities": entities}

    def _do_editmessagetext(self, params: Json) -> Json:
        text, entities = checked(params)
        return self._edited(params, text, entities)

    def _do_editmessagereplymarkup(self, params: Json) -> Json:
        return self._edited(params)

    def _edited(self, params: Json, text: str | None = None, entities: list[Json] | None = None) -> Json:
        """Replace what is given; no markup in the request takes it off."""
        chat = self._writable(params)
        buttons = checked_keyboard(params)
        post = chat.posts.get(int(params["message_id"]))
        if post is None:
            raise Refused(400, "Bad Request: message to edit not found")
        if post.by != BOT_ID:
            raise Refused(400, "Bad Request: message can't be edited")
        if post.file is not None and text is not None:
            raise Refused(400, "Bad Request: there is no text in the message to edit")
        text, entities = (post.text, post.entities) if text is None else (text, entities or [])
        if (post.text, post.entities, post.buttons) == (text, entities, buttons):
            raise Refused(
                400,
                "Bad Request: message is not modified: specified new message content and reply markup are exactly the "
                "same as a current content and reply markup of the message",
            )
        post.text, post.entities, post.buttons = text, entities, buttons
        return self.shown(chat, post)

    def _do_deletemessage(self, params: Json) -> bool:
        chat = self._writable(params)
        post = chat.posts.get(int(params["message_id"]))
        if post is None:
            raise Refused(400, "Bad Request: message to delete not found")
        if self.clock.monotonic() - post.at_s > DELETABLE_S:
            raise Refused(400, "Bad Request: message can't be deleted for everyone")
        assert post.by == BOT_ID, "a bot deletes nothing of anybody else's"
        del chat.posts[post.id]
        return True

    def _do_sendmessagedraft(self, params: Json) -> bool:
        chat = self._writable(params)
        if chat.type != "private":
            raise Refused(400, "Bad Request: TEXTDRAFT_PEER_INVALID")
        text, _ = checked(params | {"text": params.get("text") or "…"})
        self.drafts[chat.id] = (self.clock.monotonic() + 30.0, text)
        return True

    def _do_answercallbackquery(self, params: Json) -> bool:
        query = self.queries.pop(params["callback_query_id"], None)
        if query is None or query[0] + QUERY_LIVES_S < self.clock.monotonic():
            raise Refused(400, "Bad Request: query is too old and response timeout expired or query ID is invalid")
        if params.get("text"):
            self.notifier.append((query[1], params["text"]))
        return True

    def _do_getfile(self, params: Json) -> Json:
        content = self.files.get(params["file_id"])
        if content is None:
            raise Refused(400, "Bad Request: invalid file_id")
        if len(content) > MAX_DOWNLOAD_BYTES:
            raise Refused(400, "Bad Request: file is too big")
        told = {
            "file_id": params["file_id"], "file_unique_id": "u", "file_size": len(content),
            "file_path": f"documents/{params['file_id']}",
        }  # fmt: skip
        return {key: value for key, value in told.items() if key not in self.hides}  # both are optional

    def _chat(self, params: Mapping[str, Any]) -> Chat:
        chat_id = int(params["chat_id"])
        if chat_id not in self.chats:
            if chat_id in self.seen:
                raise Refused(403, "Forbidden: bot can't initiate conversation with a user")
            raise Refused(400, "Bad Request: chat not found")
        chat = self.chats[chat_id]
        if chat.moved_to is not None:
            raise Refused(
                400, "Bad Request: group chat was upgraded to a supergroup chat", migrate_to_chat_id=chat.moved_to
            )
        if chat.refusal:
            raise Refused(int(chat.refusal[:3]), chat.refusal[5:])
        return chat

    def _writable(self, params: Mapping[str, Any]) -> Chat:
        chat, chat_id, now_s = self._chat(params), int(params["chat_id"]), self.clock.monotonic()
        wait_s = max(chat.flooded_until_s - now_s, self.limits.wait_s(chat_id, now_s) if self.limits else 0.0)
        if wait_s > 0:
            retry_after = -int(-wait_s // 1)
            raise Refused(429, f"Too Many Requests: retry after {retry_after}", retry_after=retry_after)
        return chat
