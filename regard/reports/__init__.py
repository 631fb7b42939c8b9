"""What is told of finished models: scores with signatures, comparisons with p-values, costs over lengths."""

from regard.reports.compare.comparing import compare_configs
from regard.reports.compare.plan import Budget
from regard.reports.compare.summary import Compared
from regard.reports.compare.wanted import Wanted
from regard.reports.evaluation import Evaluation, System, evaluate
from regard.reports.texts import TextEvaluation, evaluate_texts, know_texts

__all__ = [
    "Budget", "Compared", "Evaluation", "System", "TextEvaluation", "Wanted", "compare_configs", "evaluate",
    "evaluate_texts", "know_texts",
]  # fmt: skip
