"""What a config may say of training."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from regard.config.bounds import Count, NotNegative, Positive, Size
from regard.registry import Choice


@dataclass(frozen=True)
class TurnSettings:
    """What a turn may have of its own; what is not given is that of `training`."""

    optimizer: Choice | None = None
    learning_rate: Positive | None = None
    schedule: Choice | None = None
    clip_norm: NotNegative | None = None
    every: Size = 1  # the turn is taken at every so many-th update


class TurnValues(NamedTuple):
    """The settings of a turn, complete."""

    optimizer: Choice
    learning_rate: float
    schedule: Choice
    clip_norm: float
    every: int


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
    turns: Mapping[str, TurnSettings] = field(default_factory=dict)  # of the objective's turns, what differs
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
    parallel: Literal["ddp", "fsdp"] = "ddp"  # with several processes: each has all weights, or a shard of them
    workers: Count = 1  # threads that make batches ahead
    log_every: Size = 25  # updates between lines of metrics.jsonl

    def turn(self, name: str) -> TurnValues:
        """Return the settings of a turn."""
        own = self.turns.get(name, TurnSettings())
        return TurnValues(
            own.optimizer or self.optimizer,
            self.learning_rate if own.learning_rate is None else own.learning_rate,
            own.schedule or self.schedule,
            self.clip_norm if own.clip_norm is None else own.clip_norm,
            own.every,
        )
