"""Settings of training."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple

from regard.config import Doc, Fixed
from regard.config.bounds import Count, NotNegative, Positive, Ratio, Seed, Size, Threads
from regard.ops.machine import Products
from regard.registry import Choice

LIMITS = (
    "max_updates",
    "max_epochs",
    "max_minutes",
    "max_core_minutes",
)  # setting one of them removes the defaults of the others


@dataclass(frozen=True)
class TurnSettings:
    """Settings of one turn; others are those of `training`."""

    optimizer: Annotated[Choice | None, Doc("Optimizer of this turn; null: that of training.")] = None
    learning_rate: Annotated[Positive | None, Doc("Peak learning rate of this turn; null: that of training.")] = None
    schedule: Annotated[Choice | None, Doc("Schedule of this turn; null: that of training.")] = None
    clip_norm: Annotated[NotNegative | None, Doc("Maximum gradient norm of this turn; null: that of training.")] = None
    every: Annotated[Size, Doc("Run this turn every N updates.")] = 1


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

    max_updates: Annotated[
        Size | None, Doc("Maximum number of updates; training stops at the first limit reached.")
    ] = None
    max_epochs: Annotated[Size | None, Doc("Maximum number of epochs.")] = None
    max_minutes: Annotated[
        NotNegative | None,
        Doc("Maximum training time, in minutes, from the first update on, over all resumptions, validations included."),
    ] = None
    max_core_minutes: Annotated[
        NotNegative | None, Doc("Maximum processor time, in minutes, over all threads and resumptions.")
    ] = None
    batch_tokens: Annotated[
        Size | None,
        Doc("Batch size, in examples times the pieces of the longest; null: see batch_sentences."),
        Fixed(),
    ] = 4096
    batch_sentences: Annotated[Size | None, Doc("Batch size in examples, instead of batch_tokens."), Fixed()] = None
    accumulate: Annotated[Size, Doc("Gradient accumulation: batches per update."), Fixed()] = 1
    optimizer: Annotated[Choice, Doc("Optimizer."), Fixed()] = Choice("adam")
    learning_rate: Annotated[Positive, Doc("Peak learning rate.")] = 0.002
    schedule: Annotated[Choice, Doc("Learning rate schedule.")] = Choice("inverse_sqrt")
    schedules: Annotated[
        Mapping[str, Choice], Doc("Schedules of other settings, by name, such as objective.label_smoothing.")
    ] = field(default_factory=dict)
    clip_norm: Annotated[NotNegative, Doc("Maximum gradient norm (gradient clipping); 0 disables it.")] = 1.0
    weight_decay_of: Annotated[
        Literal["all", "matrices"],
        Doc("Weights that decay: all, or only matrices (no biases, no normalisation)."),
        Fixed(),
    ] = "all"
    trained: Annotated[
        Literal["all", "biases"],
        Doc("Weights that are trained: all, or biases alone (BitFit)."),
        Fixed(),
    ] = "all"
    layer_decay: Annotated[
        Ratio,
        Doc("Layer-wise learning rate decay: factor per layer, from the top down; 1: off."),
        Fixed(),
    ] = 1.0
    unfreeze_every: Annotated[
        Count,
        Doc("Gradual unfreezing: updates before the next lower layer is trained; 0: all at once."),
        Fixed(),
    ] = 0
    turns: Annotated[Mapping[str, TurnSettings], Doc("Overrides for turns of the objective, by name.")] = field(
        default_factory=dict
    )
    validate_every: Annotated[Size, Doc("Validation interval, in updates.")] = 500
    validate_lines: Annotated[
        Count, Doc("Maximum number of dev lines used in validation, from the first."), Fixed()
    ] = 2000
    patience: Annotated[Count | None, Doc("Early stopping: validations in a row without improvement; null: off.")] = 10
    metric: Annotated[
        str, Doc("Metric that selects checkpoints: bleu, chrf, ter, exact_match, perplexity …"), Fixed()
    ] = "bleu"
    keep_best: Annotated[Count, Doc("Number of best checkpoints to keep.")] = 5
    average: Annotated[
        Count, Doc("Checkpoint averaging: number of checkpoints, used if better than the best one; 1: off.")
    ] = 5
    average_of: Annotated[
        Literal["best", "last"],
        Doc("Checkpoints to average: the best ones, or the last ones."),
    ] = "best"
    start_means: Annotated[
        Count,
        Doc("Number of means of the start and the averaged checkpoints to try at the end of fine-tuning (WiSE-FT)."),
    ] = 0
    save_every_minutes: Annotated[NotNegative, Doc("Interval between saves of the training state, in minutes.")] = 10.0
    seed: Annotated[Seed, Doc("Random seed."), Fixed()] = 1
    precision: Annotated[
        Literal["auto", "float32", "bf16"], Doc("Floating-point precision; auto: bf16 on a GPU, else float32.")
    ] = "auto"
    quantization: Annotated[
        Literal["none", "int8"],
        Doc("Quantization-aware training: int8 rounds weight matrices as decoding.precision=int8 does."),
    ] = "none"
    products: Annotated[
        Products,
        Doc("Matrix-multiplication backend on a CPU: torch's BLAS, oneDNN, or the faster one measured per shape."),
    ] = "auto"
    threads: Annotated[
        Size | Literal["auto"],
        Doc("Number of CPU threads; auto: OMP_NUM_THREADS, else the fewest that are about the fastest."),
    ] = "auto"
    gradient_checkpointing: Annotated[
        bool,
        Doc("Gradient checkpointing in Transformer blocks: recompute activations to save memory."),
    ] = False
    compile: Annotated[bool, Doc("Compile the model with torch.compile.")] = False
    parallel: Annotated[
        Literal["ddp", "fsdp"], Doc("Distributed training: replicate the weights (ddp) or shard them (fsdp).")
    ] = "ddp"
    workers: Annotated[Threads, Doc("Number of data loader threads.")] = 1
    log_every: Annotated[Size, Doc("Logging interval of metrics.jsonl, in updates.")] = 25

    @property
    def batch_size(self) -> str:
        """Return the largest batch in words: "4,096 tokens"."""
        limits = ((self.batch_tokens, "tokens"), (self.batch_sentences, "sentences"))
        return " and ".join(f"{limit:,} {unit}" for limit, unit in limits if limit is not None)

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
