"""Index of all names: rows of all tables, their aliases, names of whole attentions, and related terms."""

import warnings
from collections.abc import Container, Iterator, Mapping
from functools import partial
from inspect import Parameter
from typing import Any, NamedTuple

from regard.aliases import aliases_of, bare, close
from regard.attention.recipes import RECIPES, as_yaml
from regard.errors import nearest
from regard.experiment.docstrings import formula
from regard.experiment.tables import IN_PYTHON, PARTS, SOCKET_KINDS

_Settings = Mapping[str, Any]

NO_POSITIONS = ("none", "no", "off", "false")
FAMILIES = ({"attention", "encoder", "decoder"}, {"task", "model", "reader"})  # kinds that share names of one thing
_SHARED = """
aan alignedquestion alignedquestionembedding attention average bahdanau bidirectionalsru bytenet convolutional cosine
coverage decomposable diagonal dilated endtoendmemory endtoendmemorynetwork feedforward ffn gpt hierarchical keyvalue
language length lengthratio lexicon linear luong memn2n memorynetwork multistep neuralturingmachine ngram none ntm
parallel phrase positionencoding recurrent rnnsearch sru stack stackrnn subbatch textcnn uniform vanilla word
"""
SHARED = frozenset(_SHARED.split())  # names of parts of several kinds; `KINDS` has the usual kind first
_USUAL = ["pooling", "penalty", "objective", "position", "embedder", "head", "cell", "decoder", "layer", "encoder"]
# A name with several meanings means the first kind.
KINDS = tuple(dict.fromkeys((*SOCKET_KINDS, *_USUAL, *PARTS)))


class RelatedName(NamedTuple):
    """Names of things other than a mechanism. `about` completes the sentence "'self' is …"."""

    names: tuple[str, ...]
    about: str
    use: str


def _related(names: str, about: str, use: str) -> RelatedName:
    return RelatedName(tuple(names.split(", ")), about, use)


_ITSELF = "a text that attends to itself"
_USE = "set model.self_attention, which the transformer encoder and decoder use"
PLACES = (
    _related("self, 自, 自我", f"{_ITSELF} (others mean one learned query over a text: pooling 'attention')", _USE),
    _related(
        "internal, 内部",
        f"{_ITSELF} (others mean one learned query over it, pooling 'attention', or several, pooling 'structured')",
        _USE,
    ),
    _related(
        "intra, intra_decoder",
        _ITSELF,
        "set model.self_attention, or let a recurrent network attend to its own states: cell lstmn",
    ),
    _related("self_multi_head, 多头自", f"{_ITSELF} with several heads", "set model.self_attention=multihead"),
    _related(
        "cross, inter, external, source_target, 交叉, 外部",
        "the attention of a decoder to its source, with any score, span and weighting",
        "this is model.attention itself: name a mechanism, such as bahdanau or multihead",
    ),
    _related(
        "back_translation, 回译, 反向翻译",
        "target-language text with its machine translation as the source, as additional training pairs",
        "regard train --source FILE --target FILE --text-target FILE --run FOLDER",
    ),
    _related(
        "multi_task, multi_task_learning, 多任务学习",
        "one network that learns several losses at once",
        "objective=with_language_model for a label and its text, or model.name=one_to_many for several languages",
    ),
)


class Meaning(NamedTuple):
    """Meaning of a name: a row with settings, or (kind "attention") settings of an attention."""

    kind: str  # as in PARTS, or "attention"
    part: str  # the name of the row
    settings: _Settings
    note: str  # chosen meaning of a name with two meanings, or ""

    @property
    def socket(self) -> _Settings | None:
        """Settings of an attention that it stands for; None: it is not part of one."""
        if self.kind == "attention":
            return self.settings
        return {self.kind: self.choice} if self.kind in SOCKET_KINDS else None

    @property
    def choice(self) -> Any:
        """The row in the form of a config."""
        known = PARTS[self.kind].settings(self.part)
        needed = [name for name, setting in known.items() if setting.default is Parameter.empty]
        given = {"file": "FILE"} if self.kind == "reader" else {name: name.upper() for name in needed}
        return {"name": self.part, **given, **self.settings} if given or self.settings else self.part

    @property
    def article(self) -> str:
        """Its kind in a sentence: "a pooling"."""
        return f"{'an' if self.kind[0] in 'aeiou' else 'a'} {self.kind.replace('_', ' ')}"

    @property
    def about(self) -> str:
        """Complete the sentence "'structured' is …"."""
        return f"{self.article}: {self.note or formula(PARTS[self.kind][self.part]).rstrip('.')}"

    def use(self, kind: str = "") -> str:
        """Return the setting that selects it, also where a part of another kind was requested."""
        if self.kind == "attention":
            return f"model.attention={as_yaml(self.settings)}"
        part: Any = PARTS[self.kind][self.part]
        if self.kind in IN_PYTHON:
            return f"in Python: {part.__module__}.{part.__name__}"
        if self.kind in SOCKET_KINDS and kind in SOCKET_KINDS:
            return f"{self.kind}: {as_yaml(self.choice)}"
        table = PARTS[self.kind]
        place = f"model.{table.place}" if self.kind in SOCKET_KINDS else table.place
        side = "encoder" if kind == "encoder" else "decoder"
        return table.within.format(place=place, side=side, part=as_yaml(self.choice))


def _every_name() -> Iterator[tuple[str, Meaning]]:
    """Yield every name as papers write it, and its meaning."""
    for one in RECIPES.combinations:
        yield from ((name, Meaning("attention", "", one.settings, one.note)) for name in one.names)
    for kind in KINDS:
        for row in PARTS[kind]:
            every = aliases_of(PARTS[kind][row])
            yield row, Meaning(kind, row, {}, next((one.note for one in every if row in one.names), ""))
            for one in every:
                yield from ((name, Meaning(kind, row, one.settings, one.note)) for name in one.names if name != row)


NAMES: list[tuple[str, Meaning]] = []  # every name as papers write it, with its meaning
AMBIGUOUS: dict[str, str] = {}  # names with several meanings → the chosen one
_INDEX: dict[str, list[Meaning]] = {}


def index_names() -> None:
    """Find all names, again after parts were added to the tables."""
    NAMES[:] = _every_name()
    _INDEX.clear()
    for name, meaning in NAMES:
        _INDEX.setdefault(bare(name), []).append(meaning)
    AMBIGUOUS.clear()
    AMBIGUOUS.update({name: meaning.note for name, meaning in NAMES if meaning.note})
    RECIPES.others = [*(name for place in PLACES for name in place.names), *(name for name, _ in NAMES)]


def clashes(index: Mapping[str, list[Meaning]]) -> list[str]:
    """Return errors for names with parts of several kinds that are not in SHARED: a new part may have taken one."""
    found = []
    for name, meanings in index.items():
        kinds = {one.kind for one in meanings}
        if len(kinds) > 1 and name not in SHARED and not any(kinds <= family for family in FAMILIES):
            parts = " and ".join(dict.fromkeys(f"{one.article} '{one.part}'" for one in meanings))
            found.append(f"the name '{name}' means {parts}: rename the new part, or add it to SHARED in {__name__}")
    return found


index_names()
for _clash in clashes(_INDEX):
    warnings.warn(_clash, stacklevel=1)
_PLACES = {bare(name): place for place in PLACES for name in place.names}


def look_up(name: str) -> list[Meaning]:
    """Return all meanings of a name, the most usual first."""
    return list(_INDEX.get(bare(name), ()))


def look_up_place(name: str) -> RelatedName | None:
    """Return the meaning of a name that is not a mechanism."""
    return _PLACES.get(bare(name))


def place_of(name: str) -> tuple[str, str] | None:
    """Return the meaning of a name that is not an attention, and its setting; None: unknown."""
    place, known = look_up_place(name), look_up(name)
    if place is not None:
        return place.about, place.use
    return (known[0].about, known[0].use()) if known else None


def advise(kind: str, name: str) -> str:
    """Return a hint for a name that this kind of row does not have, or ""."""
    if kind == "position" and bare(name) in NO_POSITIONS:
        return "a model without positions has model.position=null"
    place, known = look_up_place(name), look_up(name)
    if place is not None:
        return f"it is {place.about}: {place.use}"
    if not known:
        shown = f"regard list {kind} shows all of them" if kind in SOCKET_KINDS else ""
        return close(name, [*PARTS[kind], *PARTS[kind].aliases()]) or shown
    return _meant(kind, known[0])


def _meant(kind: str, one: Meaning) -> str:
    """Return a hint where a row of this kind is requested, and the name has another meaning."""
    if one.socket is not None and kind == "position":
        return f"it belongs to the attention: model.self_attention={as_yaml(one.socket)}"
    if one.kind == "attention":
        return f"it means {as_yaml(one.settings)}, so it is a name of the attention itself"
    if one.kind in PARTS and one.kind != kind and PARTS[one.kind].place == PARTS[kind].place:
        return f"it is {one.article}, for another model; {nearest('', PARTS[kind])}"
    return f"it is {one.about if one.note and one.socket is None else one.article}: {one.use(kind)}"


def names_of(kind: str, row: str) -> list[str]:
    """Return other names of a row, with those of whole attentions that select it."""
    recipes = [name for one in RECIPES.combinations if one.settings.get(kind) == row for name in one.names]
    return recipes + [name for name, one in PARTS[kind].aliases().items() if one.name == row]


def others(listed: Container[str]) -> list[RelatedName]:
    """Return names that are not mechanisms, and those of rows whose kind is not in `listed`."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, one in NAMES:
        if one.kind in PARTS and one.kind not in listed and look_up(name)[0] == one and name != one.part:
            groups.setdefault((one.about, one.use()), []).append(name)
    return [*PLACES, *(RelatedName(tuple(sorted(names, key=len)), *said) for said, names in groups.items())]


for _kind, _table in PARTS.items():
    _table.advice = partial(advise, _kind)
RECIPES.place = place_of
