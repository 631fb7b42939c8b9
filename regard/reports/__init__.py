"""What is told of finished models: scores with signatures, comparisons with p-values, costs over lengths."""

from regard.reports.compare.compare import Request, compare_configs
from regard.reports.compare.plan import Budget
from regard.reports.compare.summary import Compared
from regard.reports.evaluation import evaluate
from regard.reports.evaluation_report import Evaluation, System

__all__ = [
    "Budget", "Compared", "Evaluation", "Request", "System", "compare_configs", "evaluate",
]  # fmt: skip
