"""What a config may say of training."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from regard.config.bounds import Count, NotNegative, Positive, Size
from regard.registry import Choice


@dataclass(frozen=True)
class TrainingSettings:
    """Everything the trainer needs beside a model, an objective and batches."""

    max_updates: Size | None = None  # it ends at whichever limit comes first
    max_epochs: Size | None = None
    max_minutes: NotNegative | None = None  # of training, validation included, over all resumed parts
    max_core_minutes: NotNegative | None = None  # the same in processor time, all threads of the process together
    batch_tokens: Size = 4096  # rows × longest sequence of a batch
    accumulate: Size = 1  # batches per update
    optimizer: Choice = Choice("adam")
    learning_rate: Positive = 0.002  # the schedule's peak
    schedule: Choice = Choice("inverse_sqrt")
    schedules: Mapping[str, Choice] = field(default_factory=dict)  # more numbers to drive: "objective.label_smoothing"
    clip_norm: NotNegative = 1.0  # of the gradient, 0 = off
    validate_every: Size = 500  # updates
    validate_lines: Count = 2000  # of the dev part, the first ones
    patience: Count | None = 10  # validations without a better score before it ends
    metric: str = "bleu"  # that tells better from worse: bleu, chrf, exact_match, perplexity …
    keep_best: Count = 5  # checkpoints by score
    average: Count = 5  # of the best are averaged at the end; 1 = the best itself
    save_every_minutes: NotNegative = 10.0
    seed: Count = 1
    precision: Literal["auto", "float32", "bf16"] = "auto"  # auto: bf16 autocast on a GPU
    compile: bool = False  # torch.compile
    workers: Count = 1  # threads that make batches ahead
    log_every: Size = 25  # updates between lines of metrics.jsonl
