"""Reports on finished models: figures with intervals, comparisons, confidence, heads, explanations. One function each.

All but `evaluate` and `compare_configs` return a Report; those of a run take its Predictor.
"""

from regard.reports.attended_words import attended_words_report
from regard.reports.compare.compare import Request, compare_configs
from regard.reports.compare.plan import Budget
from regard.reports.compare.summary import Compared
from regard.reports.confidence import calibrate_run, uncalibrated
from regard.reports.confidence_view import confidence_report
from regard.reports.diagnosis import diagnosis_report
from regard.reports.doctor import doctor_report
from regard.reports.evaluation import evaluate
from regard.reports.evaluation_report import Evaluation, System
from regard.reports.explanations import grades_report
from regard.reports.heads_view import heads_report
from regard.reports.neighbourhood import nearest_report, neighbours_report

__all__ = [
    "Budget", "Compared", "Evaluation", "Request", "System", "attended_words_report", "calibrate_run",
    "compare_configs", "confidence_report", "diagnosis_report", "doctor_report", "evaluate", "grades_report",
    "heads_report", "nearest_report", "neighbours_report", "uncalibrated",
]  # fmt: skip
