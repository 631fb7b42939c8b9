"""Advice for few pairs: phrases translate better than a network there."""

from itertools import islice
from shlex import quote

from regard.experiment.complete_settings import learnt_examples
from regard.experiment.settings import Experiment

FEW = (1_000, 10_000)  # pairs, between which phrases were measured to be ahead
_GAIN = "6 to 9 BLEU"  # docs/results/translation-techniques.md, F12
_PAGE = "docs/how-to/few-pairs.md"


def phrases_advice(experiment: Experiment) -> str:
    """Return a line on what phrases would gain, with the command; "" where that is not known."""
    if experiment.task.name != "translation" or experiment.init is not None or experiment.data.routes:
        return ""
    pairs = sum(1 for _ in islice(learnt_examples(experiment), FEW[1] + 1))
    if not FEW[0] <= pairs <= FEW[1]:
        return ""
    return f"of {pairs:,} pairs phrases make a better translator, by {_GAIN} ({_PAGE}): {_command(experiment)}"


def _command(experiment: Experiment) -> str:
    """The command that trains phrases on the same texts."""
    words = ["regard train"]
    for part, option in (("train", ""), ("dev", "dev-")):
        choice = experiment.reader(part)
        files = {} if choice is None else choice.settings.get("files")
        if files:
            words += [f"--{option}{column} {quote(str(file))}" for column, file in files.items()]
        elif choice is not None and "file" in choice.settings:
            file = str(choice.settings["file"])
            words.append(quote(file) if part == "train" else f"data.{part}={quote(file)}")
    return " ".join([*words, "task=phrases"])
