"""Sentences that only Discord needs, in every language. Knows what is said, not when."""

from __future__ import annotations

from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES

ONLY_TEXT: Localized = {
    PT: "Ainda não vejo imagens, áudios nem arquivos: só leio texto. Pode escrever o que precisa?",
    EN: "I cannot see pictures, recordings or files yet: I only read text. Could you write what you need?",
    ES: "Todavía no veo imágenes, audios ni archivos: solo leo texto. ¿Puedes escribir lo que necesitas?",
}

NOTHING_SAID: Localized = {
    PT: "Oi! Escreva o que precisa junto com a menção, ou use /help.",
    EN: "Hi! Write what you need next to my name, or use /help.",
    ES: "¡Hola! Escribe lo que necesitas junto a la mención, o usa /help.",
}

AWAY: Localized = {
    PT: "Estive fora do ar e só agora vi o que você escreveu. O que ainda valer, mande de novo, por favor.",
    EN: "I was offline and only now see what you wrote. Please send again whatever still matters.",
    ES: "Estuve fuera de línea y recién veo lo que escribiste. Envía de nuevo lo que siga valiendo, por favor.",
}

NOT_HERE: Localized = {
    PT: "Neste canal eu não respondo. Fale comigo em outro canal ou por mensagem direta.",
    EN: "I do not answer in this channel. Talk to me in another one, or by direct message.",
    ES: "En este canal no respondo. Háblame en otro, o por mensaje directo.",
}

NOT_YOURS: Localized = {
    PT: "Só quem fez a pergunta pode parar esta resposta.",
    EN: "Only who asked can stop this answer.",
    ES: "Solo quien preguntó puede detener esta respuesta.",
}

STOPPING: Localized = {PT: "Parando.", EN: "Stopping.", ES: "Deteniendo."}

ASK: Localized = {
    PT: "fala comigo: pergunte, ou peça para lembrar de algo",
    EN: "talk to me: ask, or tell me to remember something",
    ES: "habla conmigo: pregunta, o pide que recuerde algo",
}
MESSAGE: Localized = {PT: "o que você quer dizer", EN: "what you want to say", ES: "lo que quieres decir"}
IN_PRIVATE: Localized = {
    PT: "só você vê a resposta",
    EN: "only you see the answer",
    ES: "solo tú ves la respuesta",
}

NAMES: dict[str, dict[Locale, str]] = {
    "ask": {PT: "perguntar", ES: "preguntar"},
    "help": {PT: "ajuda", ES: "ayuda"},
    "memories": {PT: "memórias", ES: "memorias"},
    "memory": {PT: "memória", ES: "memoria"},
    "language": {PT: "idioma", ES: "idioma"},
    "reset": {PT: "reiniciar", ES: "reiniciar"},
    "stop": {PT: "parar", ES: "detener"},
    "message": {PT: "mensagem", ES: "mensaje"},
    "private": {PT: "privado", ES: "privado"},
    "text": {PT: "texto", ES: "texto"},
}
"""What commands and their options are called in menus; English is their name everywhere."""
