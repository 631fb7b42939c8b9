"""Objectives: what is minimised. One file a row, built with its Context."""

from regard.objectives.class_weighted import ClassWeightedObjective
from regard.objectives.counted import CountedObjective
from regard.objectives.likelihood import LikelihoodObjective
from regard.objectives.objective import Context, Objective
from regard.objectives.penalised import PenalisedObjective
from regard.objectives.penalties import PENALTIES, build_penalties
from regard.objectives.reinforce import ReinforceObjective
from regard.objectives.sub_batch import SubBatchObjective, check_norms
from regard.objectives.with_language_model import WithLanguageModelObjective
from regard.registry import Registry

OBJECTIVES: Registry[Objective] = Registry(
    "objective",
    {
        "class_weighted": ClassWeightedObjective,
        "counted": CountedObjective,
        "likelihood": LikelihoodObjective,
        "reinforce": ReinforceObjective,
        "sub_batch": SubBatchObjective,
        "with_language_model": WithLanguageModelObjective,
    },
)

__all__ = ["OBJECTIVES", "PENALTIES", "Context", "Objective", "PenalisedObjective", "build_penalties", "check_norms"]
