"""Objectives: what is minimised. One file a row, built with its Context."""

from regard.objectives.adversarial_stability import AdversarialStabilityObjective
from regard.objectives.class_weighted import ClassWeightedObjective
from regard.objectives.counted import CountedObjective
from regard.objectives.cycle_gan import CycleGanObjective
from regard.objectives.denoising_back_translation import DenoisingBackTranslationObjective
from regard.objectives.likelihood import LikelihoodObjective
from regard.objectives.minimum_risk import MinimumRiskObjective
from regard.objectives.objective import OBJECTIVE_PLACE, Context, Objective
from regard.objectives.penalised import PenalisedObjective
from regard.objectives.penalties import PENALTIES, build_penalties
from regard.objectives.posterior_regularisation import PosteriorRegularisationObjective
from regard.objectives.r_drop import RDropObjective
from regard.objectives.reinforce import ReinforceObjective
from regard.objectives.self_critical import SelfCriticalObjective
from regard.objectives.sequence_distillation import SequenceDistillationObjective
from regard.objectives.sub_batch import SubBatchObjective
from regard.objectives.with_language_model import WithLanguageModelObjective
from regard.objectives.word_distillation import WordDistillationObjective
from regard.registry import Registry

OBJECTIVES: Registry[Objective] = Registry(
    OBJECTIVE_PLACE,
    {
        "adversarial_stability": AdversarialStabilityObjective,
        "class_weighted": ClassWeightedObjective,
        "counted": CountedObjective,
        "cycle_gan": CycleGanObjective,
        "denoising_back_translation": DenoisingBackTranslationObjective,
        "likelihood": LikelihoodObjective,
        "minimum_risk": MinimumRiskObjective,
        "posterior_regularisation": PosteriorRegularisationObjective,
        "r_drop": RDropObjective,
        "reinforce": ReinforceObjective,
        "self_critical": SelfCriticalObjective,
        "sequence_distillation": SequenceDistillationObjective,
        "sub_batch": SubBatchObjective,
        "with_language_model": WithLanguageModelObjective,
        "word_distillation": WordDistillationObjective,
    },
)

__all__ = ["OBJECTIVES", "PENALTIES", "Context", "Objective", "PenalisedObjective", "build_penalties"]
