"""Sentences that people read and that no single file owns, in every language.

Knows what is said. Does not know when. An action's own sentences stand in the action's file.
"""

from __future__ import annotations

from core import errors
from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES

FAILURES: dict[type[errors.BotError], Localized] = {
    errors.EmptyInput: {
        PT: "Essa mensagem é curta demais para mim. Pode escrever um pouco mais?",
        EN: "That message is too short for me. Could you write a little more?",
        ES: "Ese mensaje es demasiado corto para mí. ¿Puedes escribir un poco más?",
    },
    errors.InputTooLong: {
        PT: "Essa mensagem é longa demais para mim (o limite é de {max_chars} caracteres). Pode mandar em partes?",
        EN: "That message is too long for me (the limit is {max_chars} characters). Could you send it in parts?",
        ES: "Ese mensaje es demasiado largo para mí (el límite es de {max_chars} caracteres). ¿Lo envías por partes?",
    },
    errors.ThreadTaken: {
        PT: "Esse identificador já é de outra conversa. Escolha outro.",
        EN: "That id already belongs to another conversation. Choose a different one.",
        ES: "Ese identificador ya es de otra conversación. Elige otro.",
    },
    errors.ProviderBusy: {
        PT: "O modelo de linguagem está ocupado agora. Nada se perdeu; tente de novo em um minuto.",
        EN: "The language model is busy right now. Nothing was lost; please try again in a minute.",
        ES: "El modelo de lenguaje está ocupado ahora. No se perdió nada; inténtalo de nuevo en un minuto.",
    },
    errors.ProviderDown: {
        PT: "Não consegui falar com o modelo de linguagem. Nada se perdeu; tente de novo daqui a pouco.",
        EN: "I could not reach the language model. Nothing was lost; please try again in a little while.",
        ES: "No pude comunicarme con el modelo de lenguaje. No se perdió nada; inténtalo de nuevo en un rato.",
    },
    errors.EmptyReply: {
        PT: "O modelo de linguagem não respondeu nada. Pode perguntar de novo?",
        EN: "The language model answered nothing. Could you ask again?",
        ES: "El modelo de lenguaje no respondió nada. ¿Puedes preguntar de nuevo?",
    },
    errors.WindowTooSmall: {
        PT: "O modelo deste bot é pequeno demais até para as instruções dele. Quem cuida do bot precisa escolher um "
        "modelo com mais contexto.",
        EN: "This bot's model is too small even for its own instructions. Its owner has to choose one with a larger "
        "context.",
        ES: "El modelo de este bot es demasiado pequeño incluso para sus instrucciones. Su responsable debe elegir uno "
        "con más contexto.",
    },
    errors.ProviderRefused: {
        PT: "O modelo de linguagem recusou este pedido.",
        EN: "The language model declined this request.",
        ES: "El modelo de lenguaje rechazó esta petición.",
    },
    errors.KeyRejected: {
        PT: "O modelo de linguagem não aceitou a chave deste bot. Quem cuida dele precisa corrigi-la.",
        EN: "The language model did not accept this bot's key. Its owner has to mend it.",
        ES: "El modelo de lenguaje no aceptó la clave de este bot. Su responsable debe corregirla.",
    },
    errors.ContextTooLong: {
        PT: "A conversa ficou grande demais para o modelo. Use /reset para começar outra; suas memórias ficam.",
        EN: "The conversation outgrew the model. Use /reset to start another; your memories stay.",
        ES: "La conversación es demasiado larga para el modelo. Usa /reset para empezar otra; tus memorias se quedan.",
    },
    errors.StreamCut: {
        PT: "(A resposta foi interrompida no meio.)",
        EN: "(The answer was cut off in the middle.)",
        ES: "(La respuesta se cortó a la mitad.)",
    },
    errors.BadReply: {
        PT: "O modelo respondeu de um jeito que não entendi. Nada foi alterado.",
        EN: "The model answered in a way I could not understand. Nothing was changed.",
        ES: "El modelo respondió de una forma que no entendí. No se cambió nada.",
    },
    errors.StorageError: {
        PT: "Não consegui gravar agora. Nada foi alterado; tente de novo daqui a pouco.",
        EN: "I could not write to disk just now. Nothing was changed; please try again in a little while.",
        ES: "No pude guardar ahora. No se cambió nada; inténtalo de nuevo en un rato.",
    },
    errors.Damaged: {
        PT: "Minha memória está danificada no disco, e não posso responder com ela. Avisei quem cuida de mim; tentar "
        "de novo agora não adianta.",
        EN: "My memory is damaged on the disk, and I cannot answer with it. My owner has been told; trying again now "
        "will not help.",
        ES: "Mi memoria está dañada en el disco, y no puedo responder con ella. Avisé a mi dueño; intentarlo de nuevo "
        "ahora no sirve.",
    },
    errors.DiskFull: {
        PT: "O disco onde guardo tudo está cheio. Nada foi gravado; avisei quem cuida de mim. Tente mais tarde.",
        EN: "The disk where I keep everything is full. Nothing was saved; my owner has been told. Try again later.",
        ES: "El disco donde guardo todo está lleno. No se guardó nada; avisé a mi dueño. Inténtalo de nuevo más tarde.",
    },
    errors.TurnTimeout: {
        PT: "Demorei demais nesta resposta e parei. Pode perguntar de novo?",
        EN: "I took too long over this answer and stopped. Could you ask again?",
        ES: "Tardé demasiado en esta respuesta y paré. ¿Puedes preguntar de nuevo?",
    },
    errors.TurnStopped: {PT: "Parei.", EN: "Stopped.", ES: "Me detuve."},
    errors.BotError: {
        PT: "Algo deu errado do meu lado. Nada se perdeu; pode tentar de novo?",
        EN: "Something went wrong on my side. Nothing was lost; could you try again?",
        ES: "Algo salió mal de mi lado. No se perdió nada; ¿puedes intentarlo de nuevo?",
    },
}

CLAIMED: Localized = {
    PT: "Pronto: este bot agora é seu. Só você é atendido, até que deixe mais alguém entrar. Diga oi, ou veja /help.",
    EN: "Done: this bot is yours now. Only you are answered, until you let others in. Say hi, or see /help.",
    ES: "Listo: este bot ahora es tuyo. Solo te atiende a ti, hasta que dejes entrar a otros. Di hola, o mira /help.",
}

CLAIMED_OPEN: Localized = {
    PT: "Pronto: este bot agora é seu. Todos são atendidos; para mudar isso: /admin access. Diga oi, ou veja /help.",
    EN: "Done: this bot is yours now. Everybody is answered; to change that: /admin access. Say hi, or see /help.",
    ES: "Listo: este bot ahora es tuyo. Atiende a todos; para cambiarlo: /admin access. Di hola, o mira /help.",
}

PRIVATE: Localized = {
    PT: "Este bot é particular e ainda não conhece você. Peça a quem cuida dele para deixar você entrar.",
    EN: "This bot is private and does not know you yet. Ask its owner to let you in.",
    ES: "Este bot es privado y todavía no te conoce. Pide a su dueño que te deje entrar.",
}

LET_IN: Localized = {
    PT: "Boa notícia: agora você pode falar comigo. Do que escreveu antes nada foi guardado; escreva de novo, por "
    "favor. /help mostra como.",
    EN: "Good news: you may talk to me now. Nothing was kept of what you wrote before; please write again. "
    "/help shows how.",
    ES: "Buenas noticias: ya puedes hablar conmigo. De lo que escribiste antes no se guardó nada; escríbelo de nuevo, "
    "por favor. /help muestra cómo.",
}

AWAY: Localized = {
    PT: "Estive fora do ar e só agora vi o que você escreveu. O que ainda valer, mande de novo, por favor.",
    EN: "I was offline and only now see what you wrote. Please send again whatever still matters.",
    ES: "Estuve fuera de línea y recién veo lo que escribiste. Envía de nuevo lo que siga valiendo, por favor.",
}

ONLY_TEXT: Localized = {
    PT: "Ainda não vejo imagens, áudios nem arquivos: só leio texto. Pode escrever o que precisa?",
    EN: "I cannot see pictures, recordings or files yet: I only read text. Could you write what you need?",
    ES: "Todavía no veo imágenes, audios ni archivos: solo leo texto. ¿Puedes escribir lo que necesitas?",
}

NOTHING_SAID: Localized = {
    PT: "Oi! Escreva o que precisa nessa mesma mensagem, ou veja /help.",
    EN: "Hi! Write what you need in that same message, or see /help.",
    ES: "¡Hola! Escribe lo que necesitas en ese mismo mensaje, o mira /help.",
}

DEAD_BUTTON: Localized = {
    PT: "Esse botão já não serve para nada. Veja /help.",
    EN: "That button is of no use any more. See /help.",
    ES: "Ese botón ya no sirve para nada. Mira /help.",
}

BROKE_OFF: Localized = {
    PT: "Depois disso algo deu errado e parei. O que eu já tinha guardado ou mudado vale; veja em /memories.",
    EN: "After that something went wrong and I stopped. What I had saved or changed by then holds; see /memories.",
    ES: "Después algo salió mal y paré. Lo que ya había guardado o cambiado vale; míralo en /memories.",
}
"""Where a turn fails that has written to memory: "nothing was changed" would not be true."""

TRY_AGAIN: Localized = {PT: "Tentar de novo", EN: "Try again", ES: "Intentar de nuevo"}
"""On a button under an apology."""

AGAIN: Localized = {
    PT: "↻ Fui interrompido aqui; retomo.",
    EN: "↻ I was interrupted here; going on.",
    ES: "↻ Me interrumpieron aquí; sigo.",
}

PAUSED: Localized = {
    PT: "O bot está em pausa e não responde a ninguém por enquanto. Esta mensagem não foi guardada; mande-a de novo "
    "mais tarde.",
    EN: "The bot is paused and answers nobody for now. This message was not kept; please send it again later.",
    ES: "El bot está en pausa y por ahora no responde a nadie. Este mensaje no se guardó; envíalo de nuevo más tarde.",
}

LENGTH_STOP: Localized = {
    PT: "(A resposta chegou ao tamanho máximo.)",
    EN: "(The answer reached its maximum length.)",
    ES: "(La respuesta llegó a su longitud máxima.)",
}


def failure_text(error: BaseException, locale: Locale) -> str:
    """Return what the person is told of a failure: the sentence of its nearest class in the tree."""
    for kind in type(error).__mro__:
        if issubclass(kind, errors.BotError) and kind in FAILURES:
            return FAILURES[kind][locale].format_map(vars(error))
    return FAILURES[errors.BotError][locale]


def helps_to_retry(error: BaseException) -> bool:
    """Whether the same words may well be answered a moment later: nothing about them, or about the bot, was wrong."""
    return isinstance(error, errors.ProviderBusy | errors.ProviderDown | errors.StreamCut | errors.TurnTimeout)
