"""What somebody says aloud is written down, shown, and then their message; where nothing listens, that is said."""

from __future__ import annotations

import io
import wave
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bot import program
from bot.models import chains
from bot.models.chains import build_transcriber
from bot.settings.models import EMBEDDED, ModelName
from bot.settings.settings import load
from core.enclosures import Attachment, AttachmentKind
from core.errors import BadReply, ConfigError, ProviderDown, ProviderError
from core.files.port import Content, Heard, Transcriber
from core.files.reading import WhisperTranscriber
from core.providers.openai import OpenAIEndpoint, OpenAITranscriber
from core.text.words import folded_words
from tests.fakes.clock import FakeClock
from tests.fakes.http_server import Answer, LoopbackServer, failure
from tests.fakes.sending import sending

VOICE = Attachment(AttachmentKind.VOICE, media_type="audio/ogg", handle="test:voice", duration_s=3.0)


_PIECE_TAKES_S = 2.0
LANGUAGES = {"en": "Listening", "pt-br": "Ouvindo", "es": "Escuchando"}


@dataclass(slots=True)
class Scribe(Transcriber):
    """Writes down what a test says; keeps in which languages it was asked."""

    text: str = ""
    fails: bool = False
    name: str = "scribe:1"
    asked: list[tuple[bytes, str, str]] = field(default_factory=list)
    pieces_s: Sequence[float] = ()
    """After how many seconds of the recording it tells how far it came; a piece takes two seconds."""

    tells: bool = True
    clock: FakeClock = field(default_factory=FakeClock)

    async def transcribe(self, content: Content, media_type: str, language: str, heard: Heard | None = None) -> str:
        self.asked.append((content if isinstance(content, bytes) else content.read(), media_type, language))
        if self.fails:
            raise ProviderDown("silent")
        for at_s in self.pieces_s:
            await self.clock.advance(_PIECE_TAKES_S)
            if heard is not None and self.tells:
                await heard(at_s, self.pieces_s[-1])
        return self.text

    async def close(self) -> None:
        """Do nothing."""


async def test_what_is_said_aloud_is_shown_and_answered_like_a_text(tmp_path: Path) -> None:
    scribe = Scribe("remember that the gate code is 4471")
    async with sending(tmp_path, transcriber=scribe) as chat:
        chat.sent["test:voice"] = b"OggS"
        answer = await chat.say("", VOICE, lang="pt-br")
        assert answer.startswith("🎙 “remember that the gate code is 4471”\n")
        assert "“the gate code is 4471”" in answer
        assert scribe.asked == [(b"OggS", "audio/ogg", "pt-br")]
        assert [item.attachments for item in await chat.kept()] == [()]
        scribe.text = "what is the gate code?"
        assert "4471" in (await chat.say("", VOICE)).partition("\n")[2]


@pytest.mark.parametrize("lang", LANGUAGES)
async def test_of_a_recording_of_minutes_the_status_tells_how_far_it_is_heard_now_and_then(
    tmp_path: Path, lang: str
) -> None:
    scribe = Scribe("hello", pieces_s=range(10, 201, 10))
    async with sending(tmp_path, transcriber=scribe) as chat:
        assert isinstance(chat.house.clock, FakeClock)
        scribe.clock = chat.house.clock
        chat.sent["test:voice"] = b"OggS"
        await chat.say("", replace(VOICE, duration_s=200.0), lang=lang)
        shown = [text for text in chat.statuses if text.startswith("🎙")]
        assert shown[0].startswith(f"🎙 {LANGUAGES[lang]} (3:20 ")
        assert [text.split("(")[1].split()[0] for text in shown[1:]] == ["0:30", "1:00", "1:30", "2:00", "2:30", "3:00"]
        assert all(text.endswith("3:20)...") for text in shown[1:])
        scribe.pieces_s = range(1, 40)
        await chat.say("", VOICE, lang=lang)
        assert not any("(" in text for text in chat.statuses)


async def test_where_the_transcriber_does_not_tell_how_far_it_came_the_length_stands(tmp_path: Path) -> None:
    scribe = Scribe("hello", pieces_s=range(9), tells=False)
    async with sending(tmp_path, transcriber=scribe) as chat:
        assert isinstance(chat.house.clock, FakeClock)
        scribe.clock = chat.house.clock
        chat.sent["test:voice"] = b"OggS"
        await chat.say("", replace(VOICE, duration_s=3725.0))
        assert [text for text in chat.statuses if text.startswith("🎙")] == ["🎙 Listening (62:05 long)..."]


ROUND = Attachment(AttachmentKind.VIDEO_NOTE, media_type="video/mp4", handle="test:round", duration_s=5.0)
VIDEO = Attachment(AttachmentKind.VIDEO, "beach.mp4", "video/mp4", handle="test:video")


async def test_what_is_said_in_a_round_video_is_the_message_and_of_a_video_it_is_what_is_asked_about(
    tmp_path: Path,
) -> None:
    scribe = Scribe("remember that the gate code is 4471")
    async with sending(tmp_path, transcriber=scribe) as chat:
        chat.sent |= {"test:round": b"mp4", "test:video": b"mp4"}
        assert (await chat.say("", ROUND)).startswith("🎙 “remember that the gate code is 4471”\n")
        assert [item.content for item in await chat.kept()] == ["the gate code is 4471"]
        scribe.text = "Welcome to the beach. The ferry back leaves at seven from pier four."
        answer = await chat.say("", VIDEO)
        assert answer.startswith("“beach.mp4” is a video with speech. It begins: “Welcome to the beach.")
        assert "The ferry back leaves at seven" in await chat.say("when does the ferry leave?", VIDEO)
        assert len(await chat.kept()) == 1


@pytest.mark.parametrize("thing", [ROUND, VIDEO, VOICE])
async def test_where_nobody_speaks_that_is_said_and_it_is_kept_under_the_answer(
    tmp_path: Path, thing: Attachment
) -> None:
    async with sending(tmp_path, transcriber=Scribe("")) as chat:
        chat.sent |= {"test:round": b"mp4", "test:video": b"mp4", "test:voice": b"OggS"}
        assert (await chat.say("", thing)).startswith("I listened, and nobody says anything in it.")
        await chat.say("the waves at Ipanema")
        assert [[kept.kind for kept in item.attachments] for item in await chat.kept()] == [[thing.kind]]


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        ("en", "I got the video, but I can neither watch nor hear it yet"),
        ("pt-br", "Recebi o vídeo, mas ainda não consigo ver nem ouvir"),
        ("es", "Recibí el video, pero todavía no puedo verlo ni escucharlo"),
    ],
)
async def test_where_nothing_listens_a_video_is_said_to_be_neither_seen_nor_heard(
    tmp_path: Path, lang: str, said: str
) -> None:
    async with sending(tmp_path) as chat:
        for thing in (ROUND, VIDEO):
            answer = await chat.say("", thing, lang=lang)
            assert answer.startswith(said)
            assert "MODEL_TRANSCRIPTION" in answer
        assert chat.fetched == []


async def test_a_recording_is_kept_if_that_is_asked_for(tmp_path: Path) -> None:
    async with sending(tmp_path, transcriber=Scribe("keep this recording: grandma sings happy birthday")) as chat:
        chat.sent["test:voice"] = b"OggS"
        await chat.say("", VOICE)
        [item] = await chat.kept()
        assert [thing.kind for thing in item.attachments] == [AttachmentKind.VOICE]


async def test_a_recording_that_cannot_be_made_out_is_said_to_be(tmp_path: Path) -> None:
    async with sending(tmp_path, transcriber=Scribe(fails=True)) as chat:
        chat.sent["test:voice"] = b"OggS"
        assert (await chat.say("", VOICE)).startswith("I could not make out the recording just now.")


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        ("en", "I got the recording, but I cannot listen to recordings yet"),
        ("pt-br", "Recebi o áudio, mas ainda não consigo ouvir"),
        ("es", "Recibí el audio, pero todavía no puedo escucharlo"),
    ],
)
async def test_where_nothing_listens_it_is_said_who_can_change_that_and_it_is_kept_if_asked(
    tmp_path: Path, lang: str, said: str
) -> None:
    async with sending(tmp_path) as chat:
        chat.sent["test:voice"] = b"OggS"
        answer = await chat.say("", VOICE, lang=lang)
        assert answer.startswith(said)
        assert "MODEL_TRANSCRIPTION" in answer
        assert chat.fetched == []
        await chat.say("Grandma singing happy birthday", lang=lang)
        [item] = await chat.kept()
        assert [thing.kind for thing in item.attachments] == [AttachmentKind.VOICE]


async def test_a_server_is_sent_the_recording_with_its_language() -> None:
    server = LoopbackServer()
    server.answers = [Answer(body=b'{"text": " bom dia "}')]
    async with server.running():
        leaf = OpenAITranscriber(OpenAIEndpoint("key", f"{server.url}/v1", max_retries=0), "whisper-1")
        assert await leaf.transcribe(b"OggS-bytes", "audio/ogg; codecs=opus", "pt-BR") == "bom dia"
        await leaf.close()
    [asked] = server.asked
    assert asked.path == "/v1/audio/transcriptions"
    for part in (
        b'name="model"\r\n\r\nwhisper-1',
        b'name="language"\r\n\r\npt\r\n',
        b'filename="recording.ogg"',
        b"OggS-bytes",
    ):
        assert part in asked.raw


@pytest.mark.parametrize(
    ("answer", "error"),
    [(failure(500, {"error": {"message": "x"}}), ProviderError), (Answer(body=b'{"words": []}'), BadReply)],
)
async def test_what_a_server_fails_with_is_an_error_of_a_provider(answer: Answer, error: type[Exception]) -> None:
    server = LoopbackServer()
    server.answers = [answer]
    async with server.running():
        leaf = OpenAITranscriber(OpenAIEndpoint("key", f"{server.url}/v1", max_retries=0), "whisper-1")
        with pytest.raises(error):
            await leaf.transcribe(b"OggS", "", "")
        await leaf.close()


def test_the_setting_names_a_model_of_a_server_that_can() -> None:
    assert build_transcriber(load(storage_url="memory:")) is None
    named = build_transcriber(load(storage_url="memory:", model_transcription="openai:whisper-1", openai_api_key="k"))
    assert named is not None
    assert named.name == "openai:whisper-1"
    assert load(storage_url="memory:", model_transcription="embedded").transcription() == ModelName(EMBEDDED)
    for wrong in ("anthropic:claude-haiku-5-5", "limited", "openai:whisper-1"):
        with pytest.raises(ConfigError):
            load(storage_url="memory:", model_transcription=wrong)


def test_the_embedded_one_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load(storage_url="memory:", model_transcription="embedded")
    monkeypatch.setattr(chains, "is_installed", lambda extra: extra == program.VOICE)
    assert isinstance(build_transcriber(settings), WhisperTranscriber)
    monkeypatch.setattr(chains, "is_installed", lambda _: False)
    with pytest.raises(ConfigError, match="elefante\\[voice\\]"):
        build_transcriber(settings)


async def test_without_its_packages_the_process_ends_and_that_is_an_error_of_a_provider() -> None:
    if program.is_installed(program.VOICE):
        pytest.skip("the extra voice is installed")
    scribe = WhisperTranscriber()
    with pytest.raises(ProviderDown, match="whisper:base ended"):
        await scribe.transcribe(b"OggS", "audio/ogg", "pt-BR")
    assert scribe.process_id is None
    await scribe.close()


@pytest.mark.skipif(not program.is_installed(program.VOICE), reason="the extra voice is not installed")
async def test_silence_has_no_words_and_what_is_no_recording_is_an_error() -> None:
    scribe = WhisperTranscriber()
    assert await scribe.transcribe(silence(), "audio/wav", "pt-BR") == ""
    assert await scribe.transcribe(silence(), "audio/wav", "") == ""
    with pytest.raises(BadReply, match="cannot decode"):
        await scribe.transcribe(b"OggS, and nothing else", "audio/ogg", "xx")
    assert scribe.process_id is not None
    await scribe.close()


SPEECH = (Path(__file__).parents[1] / "data" / "senses" / "speech.ogg").read_bytes()
"""Eleven seconds of the inaugural address of 20 January 1961, in the public domain, as a voice note: OGG/Opus."""

_SAID = "And so, my fellow Americans: ask not what your country can do for you, ask what you can do for your country."


@pytest.mark.skipif(not program.is_installed(program.VOICE), reason="the extra voice is not installed")
@pytest.mark.parametrize("language", ["en-GB", ""])
async def test_a_voice_note_in_opus_is_written_down_by_the_real_model(language: str) -> None:
    scribe, told = WhisperTranscriber(), list[tuple[float, float]]()

    async def heard(at_s: float, of_s: float) -> None:
        told.append((at_s, of_s))

    said = await scribe.transcribe(SPEECH, "audio/ogg", language, heard)
    await scribe.close()
    assert folded_words(said) == folded_words(_SAID)
    assert [round(of_s) for _, of_s in told] == [11] * len(told)
    assert 9 < told[-1][0] <= 11.1


@pytest.mark.skipif(not program.is_installed(program.VOICE), reason="the extra voice is not installed")
async def test_a_round_video_is_heard_and_one_without_sound_has_no_words() -> None:
    scribe = WhisperTranscriber()
    assert folded_words(await scribe.transcribe(film(SPEECH), "video/mp4", "en")) == folded_words(_SAID)
    assert await scribe.transcribe(film(), "video/mp4", "en") == ""
    await scribe.close()


def film(sound: bytes = b"") -> bytes:
    """Return a video of a second, H.264 and AAC in MP4 as Telegram's round ones, with that sound."""
    import av

    out = io.BytesIO()
    with av.open(out, "w", "mp4") as made:
        pictures = made.add_stream("h264", 5)
        pictures.width = pictures.height = 240
        voice = made.add_stream("aac", 16_000) if sound else None
        for _ in range(5):
            made.mux(pictures.encode(av.VideoFrame(240, 240, "yuv420p")))
        made.mux(pictures.encode(None))
        if voice is not None:
            with av.open(io.BytesIO(sound)) as said:
                resampler = av.AudioResampler("fltp", "mono", 16_000)
                for frame in said.decode(audio=0):
                    for piece in resampler.resample(frame):
                        made.mux(voice.encode(piece))
            made.mux(voice.encode(None))
    return out.getvalue()


def silence(seconds: int = 2) -> bytes:
    """Return a recording in which nobody speaks."""
    out = io.BytesIO()
    with wave.open(out, "wb") as recording:
        recording.setparams((1, 2, 16_000, 0, "NONE", ""))
        recording.writeframes(bytes(2 * 16_000 * seconds))
    return out.getvalue()


@pytest.mark.parametrize(
    ("question", "lang", "deaf", "hearing"),
    [
        ("can you hear voice messages?", "en", "I cannot listen to recordings yet", "Recordings I listen to"),
        ("você ouve áudio?", "pt-br", "Ainda não consigo ouvir áudios", "Áudio eu ouço"),
        ("¿puedes escuchar audios?", "es", "Todavía no puedo escuchar audios", "Los audios los escucho"),
    ],
)
async def test_whether_it_hears_is_told_as_it_is_here(
    tmp_path: Path, question: str, lang: str, deaf: str, hearing: str
) -> None:
    for name, scribe, told in (("without", None, deaf), ("with", Scribe("hello"), hearing)):
        async with sending(tmp_path / name, transcriber=scribe) as chat:
            answer = await chat.say(question, lang=lang)
            assert told in answer
            assert (deaf if scribe else hearing) not in answer
