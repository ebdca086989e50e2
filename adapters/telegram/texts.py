"""Sentences that only Telegram needs, in every language. Knows what is said, not when."""

from __future__ import annotations

from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES

STOP: Localized = {PT: "⏹ Parar", EN: "⏹ Stop", ES: "⏹ Detener"}

NOT_YOURS: Localized = {
    PT: "Só quem perguntou pode parar esta resposta.",
    EN: "Only who asked can stop this answer.",
    ES: "Solo quien preguntó puede detener esta respuesta.",
}

JOINED: Localized = {
    PT: "Oi! Eu respondo quando alguém me menciona (@{name}), responde a uma mensagem minha ou usa um comando.",
    EN: "Hi! I answer when somebody mentions me (@{name}), replies to a message of mine or uses a command.",
    ES: "¡Hola! Respondo cuando alguien me menciona (@{name}), responde a un mensaje mío o usa un comando.",
}

PRIVACY_MODE: Localized = {
    PT: (
        "Uma ressalva: meu modo de privacidade está ligado, e assim o Telegram não me entrega menções neste grupo. "
        "Para eu vê-las, torne-me administrador, ou desligue o modo no BotFather (/setprivacy) e me adicione de novo."
    ),
    EN: (
        "One caveat: my privacy mode is on, and so Telegram does not hand me mentions in this group. For me to see "
        "them, make me an administrator, or turn the mode off in BotFather (/setprivacy) and add me again."
    ),
    ES: (
        "Una salvedad: mi modo de privacidad está activado, y así Telegram no me entrega menciones en este grupo. Para "
        "que las vea, hazme administrador, o desactiva el modo en BotFather (/setprivacy) y agrégame de nuevo."
    ),
}
