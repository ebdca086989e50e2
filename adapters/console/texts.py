"""What the terminal itself says, in every language. Knows no answer of the bot's."""

from __future__ import annotations

from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES

GREETING: Localized = {
    PT: "🐘 Elefante: guardo o que você pede e encontro depois.\n/help mostra como; /quit ou Ctrl-D sai.",
    EN: "🐘 Elefante: I keep what you ask me to, and find it later.\n/help shows how; /quit or Ctrl-D leaves.",
    ES: "🐘 Elefante: guardo lo que me pides y lo encuentro después.\n/help muestra cómo; /quit o Ctrl-D sale.",
}
HOW_TO_LEAVE: Localized = {
    PT: "Para sair: /quit ou Ctrl-D. Ctrl-C interrompe uma resposta.",
    EN: "To leave: /quit or Ctrl-D. Ctrl-C stops an answer.",
    ES: "Para salir: /quit o Ctrl-D. Ctrl-C detiene una respuesta.",
}
