"""Penalties on where a model looks. One file a row, each built with nothing but its settings."""

from collections.abc import Sequence

from regard.errors import ConfigError
from regard.objectives.penalties.doubly_stochastic import DoublyStochasticPenalty
from regard.objectives.penalties.guided_alignment import GuidedAlignmentPenalty
from regard.objectives.penalties.overlap import OverlapPenalty
from regard.objectives.penalties.penalty import PENALTIES_PLACE, Penalty
from regard.registry import Choice, Registry

PENALTIES: Registry[Penalty] = Registry(
    PENALTIES_PLACE,
    {
        "doubly_stochastic": DoublyStochasticPenalty,
        "guided_alignment": GuidedAlignmentPenalty,
        "overlap": OverlapPenalty,
    },
)


def build_penalties(choices: Sequence[Choice]) -> dict[str, Penalty]:
    """Each by its name, with a number where one comes again with other settings: overlap, overlap_2 …"""
    penalties: dict[str, Penalty] = {}
    for place, choice in enumerate(choices):
        if choice in choices[:place]:
            raise ConfigError(
                PENALTIES_PLACE, f"'{choice.name}' stands twice and says the same", "once, with its weight"
            )
        before = sum(other.name == choice.name for other in choices[:place])
        penalties[choice.name if not before else f"{choice.name}_{before + 1}"] = PENALTIES.build(choice)
    return penalties
