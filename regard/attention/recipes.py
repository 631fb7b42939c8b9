"""Names for a whole attention: those of its parts, and `RECIPES`, which name several settings at once.

`attention: sparse` in a config is `attention: {weighting: sparsemax}`. A name changes what it stands for and nothing
else: with `attention: hard` the score and the heads of a file stay as they are. A name of recurrent attention stands
for one head where no setting gives another number: `attention: bahdanau` is `{score: additive, num_heads: 1}`.
"""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from regard.aliases import Alias, alias, aliases_of, bare, close
from regard.attention.scores import SCORES
from regard.attention.spans import SPANS
from regard.attention.weightings import WEIGHTINGS
from regard.config import NumberOfName
from regard.errors import ConfigError
from regard.registry import Registry

_TABLES: Mapping[str, Registry[Any]] = {"score": SCORES, "span": SPANS, "weighting": WEIGHTINGS}
EVERY = "regard list attention shows every name"
WITHOUT = "a recurrent decoder does without attention by model.decoder.source_context=final"

_ALL_KEYS = {"span": "everywhere", "weighting": "softmax"}
_HEADS = {"score": "scaled_dot", "num_heads": 8}


class AttentionRecipe(NamedTuple):
    """Settings of an attention. `note`: the meaning taken for an ambiguous name, or ""."""

    settings: Mapping[str, Any]
    note: str


class Recipes:
    """Every name of an attention → its settings.

    `place` and `others` describe names of other things; they are set where all tables are known.
    """

    def __init__(self, combinations: Sequence[Alias]) -> None:
        self.combinations = combinations
        self.place: Callable[[str], tuple[str, str] | None] | None = None  # a name → what it is, what to write
        self.others: Sequence[str] = ()
        self.index()

    def index(self) -> None:
        """Find all names, again after parts were added to the tables."""
        self.named = dict(self._named())
        self._index = {bare(name): recipe for name, recipe in self.named.items()}

    def _named(self) -> Iterator[tuple[str, AttentionRecipe]]:
        for one in self.combinations:
            yield from ((name, AttentionRecipe(one.settings, one.note)) for name in one.names)
        for kind, table in _TABLES.items():
            yield from ((row, AttentionRecipe({kind: row}, "")) for row in table)
            for row, one in [(name, one) for name in table for one in aliases_of(table[name])]:
                choice = {"name": row, **one.settings} if one.settings else row
                heads = {} if one.num_heads is None else {"num_heads": NumberOfName(one.num_heads)}
                yield from ((name, AttentionRecipe({kind: choice, **heads}, one.note)) for name in one.names)

    def aliases(self) -> dict[str, Mapping[str, Any]]:
        """Every name as papers write it → the settings."""
        return {name: recipe.settings for name, recipe in sorted(self.named.items())}

    def find(self, name: str) -> AttentionRecipe | None:
        """Return the settings of a name in any spelling; None: unknown."""
        return self._index.get(bare(name))

    def resolve(self, name: str) -> Mapping[str, Any]:
        """Return the settings that a name stands for. Warns where the literature gives it two meanings.

        Raises ConfigError for an unknown name, and for one of something else: it says what that is.
        """
        recipe = self.find(name)
        if not bare(name):
            raise ConfigError("", f"'{name}' names nothing", WITHOUT)
        if recipe is None:
            place = self.place(name) if self.place else None
            if place is not None:
                raise ConfigError("", f"'{name}' is {place[0]}", place[1])
            hint = self._joined(re.split(r"[\s,;+&/]+", str(name))) or close(name, (*self.others, *self.named))
            raise ConfigError("", f"there is no '{name}'", hint or EVERY)
        if recipe.note:
            warnings.warn(f"attention '{name}' is taken as {recipe.note}", stacklevel=2)
        return recipe.settings

    def instead(self, value: Any) -> str:
        """Return the advice for a value that is neither a name nor a group of settings."""
        if value is None:
            return WITHOUT
        if isinstance(value, list | tuple) and value and all(isinstance(name, str) for name in value):
            return self._joined(value) or "one name, or a group: {name: luong, span: local_predictive}"
        return "for example bahdanau, or {score: additive, span: window}"

    def _joined(self, names: Sequence[str]) -> str:
        """Return the settings that join several names, or why they conflict; "" where a name is unknown."""
        found = [recipe.settings for recipe in map(self.find, names) if recipe is not None]
        if len(names) < 2 or len(found) < len(names):
            return ""
        more: dict[str, Any] = {}
        for settings in found[1:]:
            before = {**found[0], **more}
            twice = {name for name, value in settings.items() if before.get(name, value) != value}
            if twice:
                return f"more than one of them says {' and '.join(sorted(twice))}"
            more |= {name: value for name, value in settings.items() if name not in before}
        return f"together: {as_yaml({'name': names[0], **more})}"


def as_yaml(value: Any) -> str:
    """Return a value as one line of a YAML config."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {as_yaml(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(as_yaml, value)) + "]"
    return {True: "true", False: "false", None: "null"}[value] if isinstance(value, bool | None) else str(value)


RECIPES = Recipes(
    (
        alias("soft, global_soft, 软, 全局, 全局软", _ALL_KEYS),
        alias("global", _ALL_KEYS, "all keys, as in Luong et al. 2015 (others mean one vector for a whole text)"),
        alias("dynamic, 动态", _ALL_KEYS, "soft attention, computed for each query (others mean dynamic convolutions)"),
        alias("vanilla", _ALL_KEYS, "soft attention (others mean the additive score of Bahdanau et al. 2015)"),
        alias("multihead, multi_head, transformer, vaswani, encoder_decoder, 多头, 编码器解码器", _HEADS),
        alias("gate, gated, 门控", {"gate": True}),
        alias("double, 双重", {"gate": True}, "the gate of Xu et al. 2015 (its penalty: penalties: doubly_stochastic)"),
        alias("single_head, single_layer, 单头, 单层", {"num_heads": 1}),
    )
)
