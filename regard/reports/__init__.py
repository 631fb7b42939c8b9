"""What is told of finished models: scores with signatures, comparisons with p-values."""

from regard.reports.evaluation import Evaluation, System, evaluate

__all__ = ["Evaluation", "System", "evaluate"]
