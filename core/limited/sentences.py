"""What the limited mind says, in every language.

Knows the words. Does not know when they are said. The first line of a question is also how the mind knows its own
question again in the next turn, so no two questions start alike.
"""

from __future__ import annotations

from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES

INTRO: Localized = {
    PT: "(Modo limitado, sem modelo de linguagem: guardo, acho, mudo e apago o que você me contar. "
    "Para conversar de verdade, ponha no `.env` `MODEL=` e uma chave ou o endereço do Ollama.)",
    EN: "(Limited mode, without a language model: I keep, find, change and delete what you tell me. "
    "For real conversation, put `MODEL=` and a key or Ollama's address into `.env`.)",
    ES: "(Modo limitado, sin modelo de lenguaje: guardo, encuentro, cambio y borro lo que me cuentes. "
    "Para conversar de verdad, pon en `.env` `MODEL=` y una clave o la dirección de Ollama.)",
}

# --- questions: the lead is the first line ---------------------------------------------------------------------------

SAVE_OR_SEARCH: Localized = {
    PT: "Não sei se é para guardar ou para procurar.",
    EN: "I cannot tell whether to save that or to look it up.",
    ES: "No sé si es para guardar o para buscar.",
}
SAVE_OR_SEARCH_OPTIONS: Localized = {
    PT: "1. Guardar\n2. Procurar nas suas memórias\n3. Nenhum dos dois",
    EN: "1. Save it\n2. Look in your memories\n3. Neither",
    ES: "1. Guardar\n2. Buscar en tus memorias\n3. Ninguna de las dos",
}
SAVE_WHAT: Localized = {
    PT: "O que devo guardar?",
    EN: "What should I save?",
    ES: "¿Qué debo guardar?",
}
DELETE_WHAT: Localized = {
    PT: "O que devo apagar? Diga do que se trata.",
    EN: "What should I delete? Tell me what it is about.",
    ES: "¿Qué debo borrar? Dime de qué se trata.",
}
UPDATE_WHICH: Localized = {
    PT: "O que devo mudar? Responda com o número.",
    EN: "Which should I change? Answer with the number.",
    ES: "¿Cuál cambio? Responde con el número.",
}
NEITHER_SAVE_NEW: Localized = {
    PT: "Nenhuma: guarde como nova memória",
    EN: "None: save it as a new memory",
    ES: "Ninguna: guárdalo como memoria nueva",
}
NEW_VALUE: Localized = {
    PT: "E qual é o valor novo?",
    EN: "And what is the new value?",
    ES: "¿Y cuál es el valor nuevo?",
}
NOT_FOUND: Localized = {
    PT: "Não achei “{subject}” nas suas memórias. Se me disser, eu guardo.",
    EN: "I found no “{subject}” in your memories. Tell me and I will save it.",
    ES: "No encontré “{subject}” en tus memorias. Si me lo dices, lo guardo.",
}

# --- reports ---------------------------------------------------------------------------------------------------------

FOUND_ONE: Localized = {
    PT: "Procurei {queries} e achei 1 memória.",
    EN: "I looked for {queries} and found 1 memory.",
    ES: "Busqué {queries} y encontré 1 memoria.",
}
FOUND_MANY: Localized = {
    PT: "Procurei {queries} e achei {count} memórias.",
    EN: "I looked for {queries} and found {count} memories.",
    ES: "Busqué {queries} y encontré {count} memorias.",
}
FOUND_NOTHING: Localized = {
    PT: "Procurei {queries} e não achei nada.",
    EN: "I looked for {queries} and found nothing.",
    ES: "Busqué {queries} y no encontré nada.",
}
LOOKED_AT_ALL: Localized = {
    PT: "Olhei tudo o que guardo de você ({count}).",
    EN: "I looked at all that I keep of yours ({count}).",
    ES: "Miré todo lo que guardo de ti ({count}).",
}
SAVED_NOTHING: Localized = {
    PT: "Não guardei nada de novo: isso já estava na sua memória.",
    EN: "I saved nothing new: that was in your memory already.",
    ES: "No guardé nada nuevo: eso ya estaba en tu memoria.",
}
UPDATED_NOTHING: Localized = {PT: "Não mudei nada.", EN: "I changed nothing.", ES: "No cambié nada."}
DELETED_NOTHING: Localized = {PT: "Não apaguei nada.", EN: "I deleted nothing.", ES: "No borré nada."}
FAILED: Localized = {
    PT: "Não consegui fazer isso agora. Tente de novo daqui a pouco.",
    EN: "I could not do that just now. Please try again in a little while.",
    ES: "No pude hacer eso ahora. Inténtalo de nuevo en un rato.",
}

# --- endings ---------------------------------------------------------------------------------------------------------

AFTER_SAVE: Localized = {
    PT: "Pronto! Quando precisar, é só perguntar.",
    EN: "Done! Just ask when you need it.",
    ES: "¡Listo! Cuando lo necesites, solo pregunta.",
}
NO_REMINDERS: Localized = {
    PT: "Está guardado, mas eu não mando avisos na hora: pergunte quando precisar.",
    EN: "It is saved, but I do not send reminders: ask me when you need it.",
    ES: "Está guardado, pero no envío avisos: pregúntame cuando lo necesites.",
}
SAVED_AS_NEW: Localized = {
    PT: "Não achei nada para mudar, então guardei como memória nova.",
    EN: "I found nothing to change, so I saved it as a new memory.",
    ES: "No encontré nada que cambiar, así que lo guardé como memoria nueva.",
}
AFTER_UPDATE: Localized = {
    PT: "Pronto, está atualizado.",
    EN: "Done, it is up to date.",
    ES: "Listo, está actualizado.",
}
DELETE_APART: Localized = {
    PT: "Para apagar, peça em uma mensagem só disso.",
    EN: "To delete something, ask for that in a message of its own.",
    ES: "Para borrar algo, pídelo en un mensaje aparte.",
}
HERE_IT_IS: Localized = {PT: "Você me contou:", EN: "You told me:", ES: "Me contaste:"}
NEAREST: Localized = {
    PT: "O mais próximo que você me contou:",
    EN: "The nearest that you told me:",
    ES: "Lo más cercano que me contaste:",
}
RELATED: Localized = {
    PT: "Sobre “{subject}”, você me contou:",
    EN: "About “{subject}”, you told me:",
    ES: "Sobre “{subject}”, me contaste:",
}
ALL_I_KNOW: Localized = {PT: "O que você já me contou:", EN: "What you have told me:", ES: "Lo que me has contado:"}
MORE_IN_LIST: Localized = {
    PT: "A lista inteira está em /memories.",
    EN: "The whole list is at /memories.",
    ES: "La lista entera está en /memories.",
}
KNOW_NOTHING: Localized = {
    PT: "Ainda não guardo nada seu. Conte algo, por exemplo: “lembre que meu aniversário é 3 de maio”.",
    EN: "I keep nothing of yours yet. Tell me something, for example: “remember that my birthday is 3 May”.",
    ES: "Todavía no guardo nada tuyo. Cuéntame algo, por ejemplo: “recuerda que mi cumpleaños es el 3 de mayo”.",
}
NOTHING_AT_ALL: Localized = {
    PT: "Não guardo nada seu, então não há o que apagar.",
    EN: "I keep nothing of yours, so there is nothing to delete.",
    ES: "No guardo nada tuyo, así que no hay nada que borrar.",
}
NOTHING_TO_DELETE: Localized = {
    PT: "Não achei nada sobre “{subject}”, então não há o que apagar.",
    EN: "I found nothing about “{subject}”, so there is nothing to delete.",
    ES: "No encontré nada sobre “{subject}”, así que no hay nada que borrar.",
}
NOTHING_TO_UPDATE: Localized = {
    PT: "Não achei nada sobre “{subject}” para mudar.",
    EN: "I found nothing about “{subject}” to change.",
    ES: "No encontré nada sobre “{subject}” que cambiar.",
}
NOTHING_CHANGES: Localized = {
    PT: "Isso não muda nada no que tenho guardado:",
    EN: "That changes nothing in what I keep:",
    ES: "Eso no cambia nada de lo que tengo guardado:",
}
NO_MODEL: Localized = {
    PT: "Isso eu não sei fazer: não tenho um modelo de linguagem. Dá para ligar um no `.env`: uma chave, "
    "o Ollama ou qualquer endereço compatível com OpenAI, e `MODEL=`.",
    EN: "I cannot do that: I have no language model. One can be connected in `.env`: a key, Ollama or any "
    "OpenAI-compatible address, and `MODEL=`.",
    ES: "Eso no lo sé hacer: no tengo un modelo de lenguaje. Se puede conectar uno en `.env`: una clave, Ollama o "
    "cualquier dirección compatible con OpenAI, y `MODEL=`.",
}
NOT_IN_MEMORY: Localized = {
    PT: "Não achei isso nas suas memórias.",
    EN: "I did not find that in your memories.",
    ES: "No encontré eso en tus memorias.",
}
NO_GENERAL: Localized = {
    PT: "(Perguntas gerais precisam de um modelo de linguagem, que eu não tenho.)",
    EN: "(General questions need a language model, which I do not have.)",
    ES: "(Las preguntas generales necesitan un modelo de lenguaje, que no tengo.)",
}
UNSEEN: Localized = {
    PT: "Ainda não vejo imagens nem abro arquivos, áudios ou vídeos: do que você mandou, só li o texto.",
    EN: "I cannot see pictures or open files, recordings or videos yet: of what you sent I only read the text.",
    ES: "Todavía no veo imágenes ni abro archivos, audios o videos: de lo que enviaste solo leí el texto.",
}
NOT_YOUR_WORDS: Localized = {
    PT: "(O que outra pessoa escreveu eu não guardo por conta própria. Conte com as suas palavras, por exemplo: "
    "“lembre que a festa é na sexta”.)",
    EN: "(What somebody else wrote I do not keep on my own. Tell me in your own words, for example: “remember that the "
    "party is on Friday”.)",
    ES: "(Lo que escribió otra persona no lo guardo por mi cuenta. Cuéntamelo con tus palabras, por ejemplo: “recuerda "
    "que la fiesta es el viernes”.)",
}
SWITCHED_OFF: Localized = {
    PT: "Isso está desligado neste bot, então não fiz nada.",
    EN: "That is switched off in this bot, so I did nothing.",
    ES: "Eso está desactivado en este bot, así que no hice nada.",
}
CLOCK: Localized = {PT: "Agora é {now}.", EN: "It is {now}.", ES: "Ahora es {now}."}
WEEKDAYS: Localized = {
    PT: "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo",
    EN: "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    ES: "lunes martes miércoles jueves viernes sábado domingo",
}
GREETING: Localized = {
    PT: "Oi! Conte o que quer que eu guarde, ou pergunte pelo que já me contou.",
    EN: "Hi! Tell me what to keep, or ask for what you have told me.",
    ES: "¡Hola! Dime qué quieres que guarde, o pregunta por lo que ya me contaste.",
}
THANKS: Localized = {PT: "De nada!", EN: "You're welcome!", ES: "¡De nada!"}
BYE: Localized = {
    PT: "Até mais! O que você me contou fica guardado.",
    EN: "Bye! What you told me stays safe.",
    ES: "¡Hasta luego! Lo que me contaste queda guardado.",
}
HOW: Localized = {
    PT: "Tudo certo por aqui! O que posso guardar ou procurar?",
    EN: "All well here! What can I keep or look up?",
    ES: "¡Todo bien por aquí! ¿Qué guardo o busco?",
}
ACK: Localized = {PT: "Certo.", EN: "All right.", ES: "De acuerdo."}
CANCEL: Localized = {
    PT: "Tudo bem, deixo como está.",
    EN: "All right, I leave it as it is.",
    ES: "Está bien, lo dejo como está.",
}
KEEP_OUT: Localized = {
    PT: "Certo, não guardei nada disso.",
    EN: "All right, I saved none of that.",
    ES: "De acuerdo, no guardé nada de eso.",
}
LEAVE: Localized = {
    PT: "Certo, não apaguei nada.",
    EN: "All right, I deleted nothing.",
    ES: "De acuerdo, no borré nada.",
}
UNCLEAR: Localized = {
    PT: "Não entendi. Conte algo para eu guardar, ou pergunte por algo que já me contou.",
    EN: "I did not understand. Tell me something to keep, or ask for something you told me.",
    ES: "No entendí. Cuéntame algo para guardar, o pregunta por algo que ya me contaste.",
}
CHAT: Localized = {
    PT: "Entendi. Não guardei isso; se quiser que eu guarde, comece com “lembre que”.",
    EN: "I see. I did not save that; if you want me to, start with “remember that”.",
    ES: "Entiendo. No guardé eso; si quieres que lo guarde, empieza con “recuerda que”.",
}
WHAT_IF: Localized = {
    PT: "Se acontecer, me conte e eu guardo. Por enquanto não guardei nem mudei nada.",
    EN: "If it happens, tell me and I will keep it. For now I saved and changed nothing.",
    ES: "Si pasa, cuéntamelo y lo guardo. Por ahora no guardé ni cambié nada.",
}
ABOUT: Localized = {
    PT: "Sou o Elefante: nunca esqueço o que você me pede para lembrar.\n"
    "- Para guardar: “lembre que a senha do wifi é banana”\n- Para achar: “qual é a senha do wifi?”\n"
    "- Para mudar: “a senha do wifi agora é manga”\n- Para apagar: “apague a senha do wifi”\n"
    "- Para ver tudo: “o que você sabe sobre mim?”",
    EN: "I am Elefante: I never forget what you ask me to remember.\n"
    "- To save: “remember that the wifi password is banana”\n- To find: “what is the wifi password?”\n"
    "- To change: “the wifi password is now mango”\n- To delete: “delete the wifi password”\n"
    "- To see it all: “what do you know about me?”",
    ES: "Soy Elefante: nunca olvido lo que me pides recordar.\n"
    "- Para guardar: “recuerda que la clave del wifi es banana”\n- Para encontrar: “¿cuál es la clave del wifi?”\n"
    "- Para cambiar: “la clave del wifi ahora es mango”\n- Para borrar: “borra la clave del wifi”\n"
    "- Para ver todo: “¿qué sabes de mí?”",
}
