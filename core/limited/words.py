"""Words: how they are compared, which of them say nothing, and which mean the same in the three languages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from core.text.unicode import flat
from core.types import Locale

WORD = re.compile(r"[^\W_](?:[\w'’@.+#*/-]*[\w#*+])?")


@dataclass(frozen=True, slots=True, eq=False)
class Concept:
    """A thing: its name in each language, and every other word for it."""

    names: Mapping[Locale, str]
    words: frozenset[str]


def words(text: str) -> list[str]:
    """Return the words of a text as written."""
    return WORD.findall(text)


_CONCEPTS = """
senha/password/contraseña: senhas passwords contrasena contrasenas clave pw passcode
wifi/wifi/wifi: wi-fi internet wireless
aniversário/birthday/cumpleaños: niver nascimento nasci nasceu born bday birthdays naci aniversarios
nome/name/nombre: chamo chama called llamo llama llaman nomes names
endereço/address/dirección: moro mora morar morava morei live lives lived living vivia reside resido vivo vive
telefone/phone/teléfono: celular cellphone mobile movil whatsapp zap tel telephone fone
email/email/correo: e-mail mail
trabalho/work/trabajo: trabalha trabalhava trabajaba emprego profissao works job working trabaja empleo
    occupation employer
médico/doctor/médico: medica doctora medicos doctors
dentista/dentist/dentista:
consulta/appointment/cita: appointments
reunião/meeting/reunión: meetings reunioes
alergia/allergy/alergia: alergico alergica allergic allergies alergias
mãe/mother/madre: mamae mom mum mama moms mums
pai/father/padre: papai dad dads papa
esposa/wife/esposa: mulher wife's mujer
marido/husband/marido: esposo
filho/son/hijo: son's
filha/daughter/hija: daughter's
filhos/children/hijos: kids crianças
irmão/brother/hermano:
irmã/sister/hermana:
avó/grandmother/abuela: vo vovo grandma
namorado/boyfriend/novio:
namorada/girlfriend/novia:
chefe/boss/jefe: jefa patrao manager
cachorro/dog/perro: cao cadela dogs cachorra dog's perra
gato/cat/gato: gata cats gatos gatas
carro/car/coche: auto
placa/plate/matrícula: plates
cor/color/color: colour
comida/food/comida: eat eats eating comer come comidas
idade/age/edad: anos
favorito/favorite/favorito: favorita favourite preferido preferida
código/code/código: codigos codes
chave/key/llave: chaves keys llaves
conta/account/cuenta:
banco/bank/banco:
cartão/card/tarjeta:
sapato/shoe/zapato: shoes calca calco calzo sapatos
voo/flight/vuelo: flights
viagem/trip/viaje: travel
passaporte/passport/pasaporte:
estacionamento/parking/aparcamiento: estacionei parked park parking vaga
remédio/medicine/medicina: remedios medication pill pills medicamento pastilla
escola/school/colegio: escuela
casamento/wedding/boda:
aluguel/rent/alquiler:
encanador/plumber/fontanero: plumber's plomero
dívida/debt/deuda: devo deve owe owes debo debe debt
porta/door/puerta: portao porton portal gate
alarme/alarm/alarma:
número/number/número: numeros numbers
"""


def _read(table: str) -> dict[str, Concept]:
    concepts: dict[str, Concept] = {}
    for line in table.strip().replace("\n ", " ").splitlines():
        head, _, rest = line.partition(":")
        told = dict(zip((Locale.PT, Locale.EN, Locale.ES), head.split("/"), strict=True))
        names = {locale: told.get(locale, told[Locale.EN]) for locale in Locale}
        concept = Concept(names, frozenset(flat(word) for word in (*names.values(), *rest.split())))
        for word in concept.words:
            concepts.setdefault(word, concept)
    return concepts


_BY_WORD = _read(_CONCEPTS)

_KINDS = frozenset(
    "senha aniversario nome endereco telefone email consulta reuniao favorito codigo conta numero placa idade".split()
)
_SIBLINGS = """
mãe, pai, esposa, marido, filho, filha, irmão, irmã, avó, avô abuelo grandfather grandpa grandad, namorado, namorada,
chefe, sogra suegra mother-in-law, sogro suegro father-in-law, cunhado cuñado brother-in-law,
cunhada cuñada sister-in-law, tio tío uncle, tia tía aunt auntie, primo prima cousin, neto nieto grandson,
neta nieta granddaughter, amigo amiga friend, vizinho vizinha vecino vecina neighbour neighbor

cachorro, gato, cavalo caballo horse, pássaro pájaro bird, coelho conejo rabbit

carro, moto motorbike motorcycle, bicicleta bici bike bicycle, caminhonete camioneta van truck

casa home house flat apartment apartamento apto apê piso, trabalho escritório office oficina laburo, escola,
praia beach playa, sítio chácara cottage cabin cabaña, hotel

médico gp, dentista, veterinário veterinaria vet, psicólogo psicóloga psychologist therapist
"""
"""Groups of things of which one is not the other; words of one meaning stand together."""

_SILENT = frozenset(
    """
    a o as os um uma uns umas de do da dos das d e é em no na nos nas num numa ao aos à para pra pro pras pros
        por pelo pela     com sem que q se eu tu ele ela eles elas nos voce vc voces ce me mim te ti lhe meu minha
    meus minhas seu sua seus
    suas nosso nossa nossos nossas esse essa isso este esta isto aquele aquela aquilo ja nao n sim mais muito mesmo ai
        aqui la ali     ser sou são sao foi era eram estar estou esta estao ta to tem tenho tinha ter ha eh tudo
    algo alguma
    algum alguem coisa     coisas sobre pf favor
    the an of to in on at for with from by and or is are was were be been am do does did has have had i i'm i've my me
        mine you your yours he she it its it's his her hers we our us they them their this that these those there
    not no yes stuff thing things cosas
    please about any some anything something all everything s
    el la los las un una unos unas del al y es son fue era en con por para sin mi mis tu tus su sus nuestro nuestra yo
    usted ella ellos se le lo les esto eso aquello ya no si mas muy hay esta estan todo algo alguna alguno cosa sobre
    """.split()
)
_ASKING = frozenset(
    """
    qual quais quem quando onde aonde quanto quanta quantos quantas como porque porquê oq cade diz diga fala fale fala
    falei falou disse contei contou mostra mostre mostrar passa passe manda mande procura procure procurar
        busca busque buscar     encontra ache veja ver lembra lembro lembrar recordo sabe saber sabes sei esqueci
    preciso precisava quero queria
    gostaria pode poderia consultar anotado anotada anotei guardado guardada guardei guardou salvo salva salvei
    registro dizer responde ai mesmo será sera horas hora que dia data ficou fica era foi tenho
    what what's whats time called which who who's whose when when's where where's how how's why tell show
        find give look up search lookup remember remind recall forgot know need want can can't cant cannot could
    would again said say told tell
    mention mentioned got notes note did let saved stored
    cual cuales quien quienes cuando donde cuanto cuanta cuantos cuantas como dime di muestra muestrame dame pasame
    busca buscame recuerda recuerdas recuerdo acuerdo olvide necesito quiero sabes tienes puedes dije dijo conte
    """.split()
)


def silent(word: str) -> bool:
    """Return whether a word says nothing about the subject."""
    return flat(word) in _SILENT


def stem(word: str) -> str:
    """Return the word without plural and gender endings; for a known concept, its Portuguese name."""
    bare = flat(word).removesuffix("'s")
    concept = _BY_WORD.get(bare)
    if concept is not None:
        return flat(concept.names[Locale.PT])
    bare = bare.removesuffix("s") if len(bare) > 3 else bare  # noqa: PLR2004 - "gas" and "bus" keep theirs
    return bare[:-1] if len(bare) > 4 and bare[-1] in "aoe" else bare  # noqa: PLR2004 - nor is "casa" a "cas"


_GROUPS = [
    [[stem(word) for word in member.split()] for member in group.replace("\n", " ").split(",")]
    for group in _SIBLINGS.strip().split("\n\n")
]
_SENSES = {name: member[0] for group in _GROUPS for member in group for name in member}
_SIBLINGS_OF = {member[0]: frozenset(each[0] for each in group) for group in _GROUPS for member in group}


def senses(text: str) -> frozenset[str]:
    """Return the stems of all but silent words, where some words of one meaning, like "office" and "work", have one."""
    return frozenset(sense(word) for word in words(text) if not silent(word))


def sense(word: str) -> str:
    """Return the stem of a word, or that of a word of the same meaning."""
    return _SENSES.get(stem(word), stem(word))


def siblings(found: Iterable[str]) -> frozenset[str]:
    """Return the senses of all that is of a group with one of these: of a mother, a father and all of the family."""
    return frozenset[str]().union(*(_SIBLINGS_OF.get(each, ()) for each in found))


def relatives(found: Iterable[str]) -> frozenset[str]:
    """Return those of the senses that are people of a family."""
    return _SIBLINGS_OF[sense("mãe")].intersection(found)


def asks(word: str) -> bool:
    """Return whether a word only asks."""
    return flat(word) in _ASKING


def is_kind(name: str) -> bool:
    """Return whether a stem only says what kind of thing is meant (a password, a birthday), not which one."""
    return name in _KINDS


def stems(text: str, *, asking: bool = False) -> frozenset[str]:
    """Return the stems of all but silent words; with `asking`, also without question words."""
    said = (word for word in words(text) if not silent(word))
    return frozenset(stem(word) for word in said if not (asking and asks(word)))


def concepts(text: str) -> tuple[Concept, ...]:
    """Return the concepts that a text names, in order, each once."""
    found = (_BY_WORD.get(flat(word).removesuffix("'s")) for word in words(text))
    return tuple(dict.fromkeys(concept for concept in found if concept is not None))


def named(phrase: str, locale: Locale) -> str:
    """Return the phrase; for a single word like "live", the name of its concept: "address"."""
    concept = _BY_WORD.get(flat(phrase).removesuffix("'s"))
    own = concept is None or flat(phrase) in {flat(name) for name in concept.names.values()}
    return phrase if concept is None or own else concept.names[locale]


def translated(text: str, locale: Locale) -> str:
    """Return all but the silent words of a text, known concepts by their name in `locale`."""
    kept = [word for word in words(text) if not silent(word)]
    named = (_BY_WORD.get(flat(word).removesuffix("'s")) for word in kept)
    result = [concept.names[locale] if concept else word for word, concept in zip(kept, named, strict=True)]
    return " ".join(result)


def subject(text: str, *, asking: bool = False, max_words: int = 8) -> str:
    """Return the phrase that a text is about: without silent words at its ends and, of a question, words of asking."""
    spans = [(match.start(), match.end(), match.group()) for match in WORD.finditer(text)]
    noise = [silent(word) or (asking and asks(word)) for _, _, word in spans]
    kept = [index for index, quiet in enumerate(noise) if not quiet]
    if not kept:
        return ""
    inside = range(kept[0], min(kept[-1] + 1, kept[0] + max_words))
    said = [spans[i][2] for i in inside if not (asking and noise[i] and flat(spans[i][2]) not in _JOINTS)]
    return " ".join(_trimmed(said))


_JOINTS = frozenset("de do da dos das of del para pra pro em no na in with com con for".split())


def _trimmed(said: list[str]) -> Iterable[str]:
    """Return the words without prepositions that have lost what they join."""
    while said and flat(said[-1]) in _JOINTS:
        said = said[:-1]
    return (
        word for i, word in enumerate(said) if flat(word) not in _JOINTS or (i and flat(said[i - 1]) not in _JOINTS)
    )
