"""What a config may say of training."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple

from regard.config import Doc, Fixed
from regard.config.bounds import Count, NotNegative, Positive, Seed, Share, Size, Threads
from regard.ops.machine import Products
from regard.registry import Choice


@dataclass(frozen=True)
class TurnSettings:
    """What a turn may have of its own; what is not given is that of `training`."""

    optimizer: Annotated[Choice | None, Doc("Optimizer of this turn; null: that of training.")] = None
    learning_rate: Annotated[Positive | None, Doc("Peak of this turn's rate; null: that of training.")] = None
    schedule: Annotated[Choice | None, Doc("Schedule of this turn's rate; null: that of training.")] = None
    clip_norm: Annotated[NotNegative | None, Doc("Longest gradient of this turn; null: that of training.")] = None
    every: Annotated[Size, Doc("Take this turn at every so many-th update.")] = 1


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

    max_updates: Annotated[Size | None, Doc("End after so many updates; the first limit that is reached counts.")] = (
        None
    )
    max_epochs: Annotated[Size | None, Doc("End after reading the training texts so many times.")] = None
    max_minutes: Annotated[
        NotNegative | None, Doc("End after so many minutes, with validation and over all resumptions.")
    ] = None
    max_core_minutes: Annotated[
        NotNegative | None, Doc("The same in processor time, all threads of the process together.")
    ] = None
    batch_tokens: Annotated[
        Size | None,
        Doc("Largest batch, in examples times the pieces of the longest; null: see batch_sentences."),
        Fixed(),
    ] = 4096
    batch_sentences: Annotated[Size | None, Doc("Largest batch in examples, in place of batch_tokens."), Fixed()] = None
    accumulate: Annotated[Size, Doc("Batches whose gradients are summed for one update."), Fixed()] = 1
    optimizer: Annotated[Choice, Doc("How gradients change the weights."), Fixed()] = Choice("adam")
    learning_rate: Annotated[Positive, Doc("Size of a step, at the peak of the schedule.")] = 0.002
    schedule: Annotated[Choice, Doc("How the learning rate changes during training.")] = Choice("inverse_sqrt")
    schedules: Annotated[
        Mapping[str, Choice], Doc("Schedules of other numbers, by name, such as objective.label_smoothing.")
    ] = field(default_factory=dict)
    clip_norm: Annotated[NotNegative, Doc("Longest gradient; a longer one is cut to it. 0: never.")] = 1.0
    weight_decay_of: Annotated[
        Literal["all", "matrices"],
        Doc("What weight decay takes from: all weights, or neither biases nor normalisations."),
        Fixed(),
    ] = "all"
    layer_decay: Annotated[
        Share,
        Doc("Learning rate of a layer, as a share of that of the layer above it; 1: all learn equally fast."),
        Fixed(),
    ] = 1.0
    unfreeze_every: Annotated[
        Count,
        Doc("Updates after which one layer more, from the top down, begins to learn; 0: all do at once."),
        Fixed(),
    ] = 0
    turns: Annotated[Mapping[str, TurnSettings], Doc("What differs for turns of the objective, by their names.")] = (
        field(default_factory=dict)
    )
    validate_every: Annotated[Size, Doc("Updates from one validation on the dev part to the next.")] = 500
    validate_lines: Annotated[Count, Doc("Lines of the dev part that are used, from the first on."), Fixed()] = 2000
    patience: Annotated[
        Count | None, Doc("End after so many validations in a row without a better score; null: never.")
    ] = 10
    metric: Annotated[
        str, Doc("Score that tells better from worse: bleu, chrf, ter, exact_match, perplexity …"), Fixed()
    ] = "bleu"
    keep_best: Annotated[Count, Doc("Checkpoints that are kept, those with the best scores.")] = 5
    average: Annotated[
        Count, Doc("Checkpoints whose weights are averaged at the end, used if that is better; 1: the best one itself.")
    ] = 5
    average_of: Annotated[
        Literal["best", "last"],
        Doc("Which are averaged: those with the best scores, or those of the last validations."),
    ] = "best"
    save_every_minutes: Annotated[NotNegative, Doc("Minutes after which training saves so that it can be resumed.")] = (
        10.0
    )
    seed: Annotated[Seed, Doc("Number that all random draws come from."), Fixed()] = 1
    precision: Annotated[
        Literal["auto", "float32", "bf16"], Doc("Numbers that are computed with; auto: bf16 on a GPU, else float32.")
    ] = "auto"
    products: Annotated[
        Products,
        Doc("What multiplies on a CPU: torch's BLAS, oneDNN, or for each shape what was measured to be faster."),
    ] = "auto"
    threads: Annotated[
        Size | Literal["auto"],
        Doc(
            "Threads that compute on a CPU; auto: as OMP_NUM_THREADS says, else the fewest that are about the fastest."
        ),
    ] = "auto"
    gradient_checkpointing: Annotated[
        bool,
        Doc("Compute the inside of Transformer blocks again for the gradients, in place of keeping it: saves memory."),
    ] = False
    compile: Annotated[bool, Doc("Compile the model by torch.compile first.")] = False
    parallel: Annotated[
        Literal["ddp", "fsdp"], Doc("With several processes: each holds all weights (ddp), or a shard of them (fsdp).")
    ] = "ddp"
    workers: Annotated[Threads, Doc("Threads that make batches ahead.")] = 1
    log_every: Annotated[Size, Doc("Updates from one line of metrics.jsonl to the next.")] = 25

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
