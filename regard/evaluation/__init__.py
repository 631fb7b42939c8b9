"""Figures for whole corpora, with significance; plain values in, plain values out. One line a metric."""

from regard.evaluation.accuracy import Accuracy
from regard.evaluation.agreement import Kappa, Matthews
from regard.evaluation.alignments import read_gold
from regard.evaluation.binary_f1 import BinaryF1
from regard.evaluation.bleu import Bleu
from regard.evaluation.brier import Brier
from regard.evaluation.calibration_error import CalibrationError
from regard.evaluation.chrf import Chrf
from regard.evaluation.correlation import MeanAbsoluteError, MeanSquaredError, PearsonCorrelation, SpearmanCorrelation
from regard.evaluation.exact_match import ExactMatch
from regard.evaluation.f1 import F1, LabelsF1
from regard.evaluation.label_sets import HammingLoss, SubsetAccuracy
from regard.evaluation.log_loss import LogLoss
from regard.evaluation.metric import Metric, Score
from regard.evaluation.place_accuracy import CharacterAccuracy, WordAccuracy
from regard.evaluation.ranking import MeanAveragePrecision, MeanReciprocalRank
from regard.evaluation.rates import LengthRatio, RepetitionRate, UntranslatedRate
from regard.evaluation.relation_f1 import RelationF1
from regard.evaluation.roc_auc import RocAuc
from regard.evaluation.sentence_bleu import SentenceBleu
from regard.evaluation.significance import Interval, interval_of, paired_bootstrap
from regard.evaluation.span_f1 import SpanF1
from regard.evaluation.squad_exact_match import SquadExactMatch
from regard.evaluation.tag_accuracy import TagAccuracy
from regard.evaluation.ter import Ter
from regard.evaluation.within_tolerance import WithinTolerance
from regard.evaluation.word_f1 import WordF1
from regard.evaluation.wrong_bits import WrongBits
from regard.registry import Registry

METRICS: Registry[Metric] = Registry(
    "evaluation.metrics",
    {
        "accuracy": Accuracy,
        "binary_f1": BinaryF1,
        "bleu": Bleu,
        "sentence_bleu": SentenceBleu,
        "brier": Brier,
        "calibration_error": CalibrationError,
        "character_accuracy": CharacterAccuracy,
        "chrf": Chrf,
        "exact_match": ExactMatch,
        "f1": F1,
        "hamming_loss": HammingLoss,
        "kappa": Kappa,
        "labels_f1": LabelsF1,
        "length_ratio": LengthRatio,
        "log_loss": LogLoss,
        "map": MeanAveragePrecision,
        "matthews": Matthews,
        "mean_absolute_error": MeanAbsoluteError,
        "mean_squared_error": MeanSquaredError,
        "pearson": PearsonCorrelation,
        "spearman": SpearmanCorrelation,
        "subset_accuracy": SubsetAccuracy,
        "mrr": MeanReciprocalRank,
        "relation_f1": RelationF1,
        "repetition_rate": RepetitionRate,
        "roc_auc": RocAuc,
        "span_f1": SpanF1,
        "squad_exact_match": SquadExactMatch,
        "tag_accuracy": TagAccuracy,
        "ter": Ter,
        "untranslated_rate": UntranslatedRate,
        "within_tolerance": WithinTolerance,
        "word_accuracy": WordAccuracy,
        "word_f1": WordF1,
        "wrong_bits": WrongBits,
    },
)

__all__ = ["METRICS", "Interval", "Metric", "Score", "interval_of", "paired_bootstrap", "read_gold"]
