"""The advice of `regard train` to train by `regard best` instead, with a command that has time for phrases."""

from itertools import islice
from shlex import quote

from regard.experiment import Experiment
from regard.experiment.complete_settings import learnt_examples
from regard.recipes.best.program import BEST_MINUTES, phrase_minutes

PHRASES_LEAD = (1_000, 10_000)  # numbers of pairs between which phrases were better: translation-techniques.md


def phrases_advice(experiment: Experiment) -> str:
    """Return a line on the gain of phrases and a network together, with the command; "" where none is known."""
    if experiment.task.name != "translation" or experiment.init is not None or experiment.data.routes:
        return ""
    pairs = sum(1 for _ in islice(learnt_examples(experiment), PHRASES_LEAD[1] + 1))
    if not PHRASES_LEAD[0] <= pairs <= PHRASES_LEAD[1]:
        return ""
    why = "phrases and a network together make a better translator (docs/how-to/few-pairs.md)"
    return f"of {pairs:,} pairs {why}: {advised_command(experiment)}"


def advised_command(experiment: Experiment) -> str:
    """Return the command that trains the best translator on the same texts.

    Its minutes are those of the training, and at least the measured minutes in which phrases have time.
    """
    words = ["regard best"]
    for part, option in (("train", ""), ("dev", "dev-")):
        choice = experiment.reader(part)
        files = {} if choice is None else choice.settings.get("files")
        if files:
            words += [f"--{option}{column} {quote(str(file))}" for column, file in files.items()]
        elif choice is not None and part == "train" and "file" in choice.settings:
            words.append(quote(str(choice.settings["file"])))
    minutes = 60 if experiment.training.max_minutes is None else round(experiment.training.max_minutes)
    return " ".join([*words, f"--minutes {max(BEST_MINUTES, phrase_minutes(experiment), minutes)}"])
