"""Sample sentences by which the vectors of an embedder are normalized.

The same twenty subjects are said in each language, in the forms that memories take: a question, a key phrase, a
statement.
"""

from __future__ import annotations

from typing import Final

PORTUGUESE: Final = (
    "Onde fica a farmácia mais próxima?",
    "telefone do escritório",
    "A reunião foi adiada para quinta-feira.",
    "Quanto custa a passagem de ônibus?",
    "cor favorita",
    "O vizinho comprou uma bicicleta nova.",
    "Quem vai buscar as crianças na escola?",
    "lista de compras do mercado",
    "Gosto de caminhar na praia de manhã.",
    "Qual é o nome do professor de história?",
    "endereço da tia",
    "A geladeira quebrou no domingo.",
    "Que horas começa o jogo?",
    "presente de Natal para o avô",
    "O relatório precisa ser entregue em julho.",
    "Como se faz arroz?",
    "exame de sangue",
    "Guardei os documentos na gaveta azul.",
    "Você pode me contar uma história?",
    "número da conta do banco",
)
ENGLISH: Final = (
    "Where is the nearest pharmacy?",
    "office phone",
    "The meeting was moved to Thursday.",
    "How much is a bus ticket?",
    "favourite colour",
    "The neighbour bought a new bicycle.",
    "Who picks the children up from school?",
    "grocery shopping list",
    "I like to walk on the beach in the morning.",
    "What is the name of the history teacher?",
    "aunt's address",
    "The fridge broke down on Sunday.",
    "What time does the game start?",
    "Christmas present for grandpa",
    "The report has to be handed in by July.",
    "How do you cook rice?",
    "blood test",
    "I put the papers in the blue drawer.",
    "Can you tell me a story?",
    "bank account number",
)
SPANISH: Final = (
    "¿Dónde está la farmacia más cercana?",
    "teléfono de la oficina",
    "La reunión se aplazó al jueves.",
    "¿Cuánto cuesta el billete de autobús?",
    "color favorito",
    "El vecino compró una bicicleta nueva.",
    "¿Quién recoge a los niños del colegio?",
    "lista de la compra",
    "Me gusta caminar por la playa por la mañana.",
    "¿Cómo se llama el profesor de historia?",
    "dirección de la tía",
    "La nevera se estropeó el domingo.",
    "¿A qué hora empieza el partido?",
    "regalo de Navidad para el abuelo",
    "El informe se entrega en julio.",
    "¿Cómo se hace el arroz?",
    "análisis de sangre",
    "Guardé los papeles en el cajón azul.",
    "¿Puedes contarme una historia?",
    "número de cuenta del banco",
)
LANGUAGES: Final = (PORTUGUESE, ENGLISH, SPANISH)
"""One tuple a language, the same subject in the same place of each."""
