"""The contract of the steps of `regard best`: candidates so far in, one more candidate out."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

if TYPE_CHECKING:
    from regard.recipes.best.workshop import Workshop

Family = Literal["phrases", "network", "combination"]
NO_TIME = "too little time was left"  # begins the reasons that more minutes change
SURE_GAIN = 0.05  # p-value below which a gain is taken as one


class StepResult(NamedTuple):
    """Result of a step. Its candidate is the run folder `steps/NAME`."""

    step: str  # name of the row of BEST_STEPS
    family: Family
    seconds: float
    bleu: float  # of the dev set
    rival: str  # step it was compared with: the best of its family, for combinations and the first the best of all
    difference: float  # BLEU, to the rival
    p_value: float  # of that difference, by paired bootstrap resampling
    kept: bool  # True if it gains on the rival or is the first of its family: later steps build on it
    leads: bool  # True if it also gains on the best translator so far, and takes its place
    note: str = ""  # what a reader of the page should know: lines that were translated, weights that were found


class BestStep(ABC):
    """A row of BEST_STEPS: makes one candidate out of the texts and the candidates of the steps before it.

    A step keeps what it has done in files, so that after an end at any moment the same call goes on.
    """

    about: ClassVar[str]  # what it makes, as a line of the page
    family: ClassVar[Family]
    fraction: ClassVar[float]  # of the time, against the fractions of the steps that are still to come
    text: ClassVar[Literal["source", "target"] | None] = None  # language of the further text that it needs

    @abstractmethod
    def make(self, name: str, work: "Workshop", seconds: float) -> str:
        """Make the run `work.run(name)` in about `seconds`; return a note for the page.

        `work` has the candidates so far, trains and translates. Raises NoGainError where something is missing
        or nothing can come of it, Interrupted where the training was asked to end.
        """


class NoGainError(Exception):
    """A step has nothing to begin with, or found that it has nothing to offer; the text says why."""


def step_folder_of(folder: Path, name: str) -> Path:
    """Return the run folder of a step's candidate."""
    return folder / "steps" / name
