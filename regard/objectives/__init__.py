"""Objectives: what is minimised. One file a row, built with the model it is for."""

from regard.objectives.likelihood import LikelihoodObjective
from regard.objectives.objective import Objective
from regard.registry import Registry

OBJECTIVES: Registry[Objective] = Registry("objective", {"likelihood": LikelihoodObjective})

__all__ = ["OBJECTIVES", "Objective"]
