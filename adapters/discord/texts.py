"""Sentences that only Discord needs, in every language. Knows what is said, not when."""

from __future__ import annotations

from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES

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

YOUR_TEXT: Localized = {PT: "Seu texto", EN: "Your text", ES: "Tu texto"}

BEGIN_ANEW: Localized = {
    PT: "Escreva por inteiro: não tenho mais à mão o texto de antes.",
    EN: "Write it in full: I no longer have the earlier text at hand.",
    ES: "Escríbelo completo: ya no tengo a mano el texto de antes.",
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

ASIDE: Localized = {
    PT: "a conversa que só você vê aqui, não a do canal",
    EN: "the conversation that only you see here, not the channel's",
    ES: "la conversación que solo tú ves aquí, no la del canal",
}
PERSON: Localized = {PT: "de quem se trata", EN: "who it is about", ES: "de quién se trata"}
FILE: Localized = {PT: "o arquivo", EN: "the file", ES: "el archivo"}

NAMES: dict[str, dict[Locale, str]] = {
    "ask": {PT: "perguntar", ES: "preguntar"},
    "context": {PT: "contexto", ES: "contexto"},
    "export": {PT: "exportar", ES: "exportar"},
    "forget": {PT: "esquecer", ES: "olvidar"},
    "help": {PT: "ajuda", ES: "ayuda"},
    "import": {PT: "importar", ES: "importar"},
    "language": {PT: "idioma", ES: "idioma"},
    "link": {PT: "vincular", ES: "vincular"},
    "memories": {PT: "memórias", ES: "memorias"},
    "memory": {PT: "memória", ES: "memoria"},
    "news": {PT: "novidades", ES: "novedades"},
    "privacy": {PT: "privacidade", ES: "privacidad"},
    "recall": {PT: "procurar", ES: "buscar"},
    "remember": {PT: "lembrar", ES: "recordar"},
    "reset": {PT: "reiniciar", ES: "reiniciar"},
    "retry": {PT: "repetir", ES: "repetir"},
    "stop": {PT: "parar", ES: "detener"},
    "threads": {PT: "conversas", ES: "conversaciones"},
    "undo": {PT: "desfazer", ES: "deshacer"},
    "unlink": {PT: "desvincular", ES: "desvincular"},
    "usage": {PT: "uso", ES: "uso"},
    # --- what stands after /admin, which is called so everywhere
    "admin": {PT: "admin", ES: "admin"},
    "access": {PT: "acesso", ES: "acceso"},
    "actions": {PT: "ações", ES: "acciones"},
    "allow": {PT: "permitir", ES: "permitir"},
    "backup": {PT: "cópia", ES: "copia"},
    "block": {PT: "bloquear", ES: "bloquear"},
    "broadcast": {PT: "avisar", ES: "avisar"},
    "changes": {PT: "mudanças", ES: "cambios"},
    "deny": {PT: "negar", ES: "denegar"},
    "drafts": {PT: "rascunhos", ES: "borradores"},
    "logs": {PT: "erros", ES: "errores"},
    "model": {PT: "modelo", ES: "modelo"},
    "pause": {PT: "pausar", ES: "pausar"},
    "policy": {PT: "contexto-da-sala", ES: "contexto-de-sala"},
    "prompt": {PT: "instruções", ES: "instrucciones"},
    "quota": {PT: "limites", ES: "límites"},
    "resume": {PT: "retomar", ES: "reanudar"},
    "role": {PT: "papel", ES: "rol"},
    "status": {PT: "estado", ES: "estado"},
    "users": {PT: "pessoas", ES: "personas"},
    # --- options
    "file": {PT: "arquivo", ES: "archivo"},
    "message": {PT: "mensagem", ES: "mensaje"},
    "person": {PT: "pessoa", ES: "persona"},
    "private": {PT: "privado", ES: "privado"},
    "text": {PT: "texto", ES: "texto"},
}
"""What commands and their options are called in menus; English is their name everywhere."""
