"""Every table of parts, under the word a person would use for one."""

from collections.abc import Mapping
from inspect import Parameter, cleandoc, formatannotation
from typing import Any, get_args

from regard.attention import SCORES, SPANS, WEIGHTINGS
from regard.config import plain
from regard.config.markers import PartOf
from regard.data.readers import READERS
from regard.decoders import DECODERS
from regard.decoding import SEARCHES
from regard.decoding.features import FEATURES
from regard.encoders import ENCODERS
from regard.evaluation import METRICS
from regard.heads import HEADS
from regard.layers.embedders import EMBEDDERS
from regard.layers.positions import POSITIONS
from regard.layers.recurrent import RECURRENT
from regard.objectives import OBJECTIVES
from regard.registry import Registry, Setting
from regard.text import TOKENIZERS
from regard.training.optimizers import OPTIMIZERS
from regard.training.schedules import SCHEDULES

TABLES: Mapping[str, Registry[Any]] = {
    "tokenizer": TOKENIZERS,
    "reader": READERS,
    "score": SCORES,
    "span": SPANS,
    "weighting": WEIGHTINGS,
    "embedder": EMBEDDERS,
    "position": POSITIONS,
    "cell": RECURRENT,
    "encoder": ENCODERS,
    "decoder": DECODERS,
    "head": HEADS,
    "objective": OBJECTIVES,
    "optimizer": OPTIMIZERS,
    "schedule": SCHEDULES,
    "search": SEARCHES,
    "feature": FEATURES,
    "metric": METRICS,
}


def catalogue() -> dict[str, dict[str, dict[str, Any]]]:
    """kind → name → {"about", "settings": {setting: {"type", "default" unless it must be given}}}."""
    return {kind: {name: _row(table, name) for name in sorted(table)} for kind, table in TABLES.items()}


def _row(table: Registry[Any], name: str) -> dict[str, Any]:
    about = _sentence(cleandoc(table[name].__doc__ or ""))
    return {"about": about, "settings": {key: _about(setting) for key, setting in table.settings(name).items()}}


def _sentence(text: str) -> str:
    """The first line, and where it breaks off inside a sentence the rest of that."""
    said, *rest = text.partition("\n\n")[0].splitlines() or [""]
    for line in rest:
        if said.endswith("."):
            break
        start, end, _ = line.partition(". ")
        said += f" {start}{end.strip()}"
    return said


def _about(setting: Setting) -> dict[str, Any]:
    part = next((one for one in get_args(setting.annotation) if isinstance(one, PartOf)), None)
    named = formatannotation(setting.annotation).replace("typing.", "").replace("collections.abc.", "")
    kind = {"type": f"a {part.table.place}" if part else named}
    return kind if setting.default is Parameter.empty else {**kind, "default": plain(setting.default)}
