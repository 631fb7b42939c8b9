"""What is told of finished models: scores with signatures, comparisons with p-values, costs over lengths."""

from regard.reports.compare.comparing import compare_configs
from regard.reports.compare.plan import Budget
from regard.reports.compare.summary import Compared
from regard.reports.compare.wanted import Wanted
from regard.reports.evaluation import Evaluation, System, evaluate

__all__ = [
    "Budget", "Compared", "Evaluation", "System", "Wanted", "compare_configs", "evaluate",
]  # fmt: skip
