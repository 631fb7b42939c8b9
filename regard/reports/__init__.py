"""Report on finished models: figures with intervals, comparisons, confidence, heads, explanations. One function each.

Those of a run take its Predictor and return a Report; `evaluate` and `compare_configs` return all figures, as systems
may be files, and configs that are not trained yet.
"""

from regard.reports.attended_words import attended_words_report
from regard.reports.compare.compare import REPORT_PAGE, Request, compare_configs
from regard.reports.compare.measure import gold_links
from regard.reports.compare.plan import Budget
from regard.reports.compare.tables import comparison_markdown, comparison_report
from regard.reports.compare.train import failed_runs
from regard.reports.confidence import calibrate_run, uncalibrated
from regard.reports.confidence_view import confidence_report
from regard.reports.diagnosis import diagnosis_report
from regard.reports.dictionary import (
    dictionary_method,
    dictionary_report,
    learn_dictionary,
    precision_report,
    read_word_pairs,
    write_mapped,
)
from regard.reports.doctor import doctor_report
from regard.reports.evaluation import evaluate
from regard.reports.evaluation_report import Evaluation
from regard.reports.explanation_report import check_layer, explained_report, methods_of, sorted_words
from regard.reports.explanations import grades_report
from regard.reports.heads import heads_report
from regard.reports.neighbourhood import nearest_report, neighbours_report

__all__ = [
    "REPORT_PAGE", "Budget", "Evaluation", "Request", "attended_words_report", "calibrate_run", "check_layer",
    "compare_configs", "comparison_markdown", "comparison_report", "confidence_report", "diagnosis_report",
    "dictionary_method", "dictionary_report", "doctor_report", "evaluate", "explained_report", "failed_runs",
    "gold_links", "grades_report", "heads_report", "learn_dictionary", "methods_of", "nearest_report",
    "neighbours_report", "precision_report", "read_word_pairs", "sorted_words", "uncalibrated", "write_mapped",
]  # fmt: skip
