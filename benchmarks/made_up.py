"""Figures of made-up problems that no metric tells: how far a network counts, and where a caption's words looked.

    python benchmarks/made_up.py counting RUN [--most 40]
    python benchmarks/made_up.py captions RUN [--examples 1000] [--seed 3]

counting: of a^n b^n, n up to `--most`, the n at which the network, shown n times a and one b, writes n - 1 times b more
and then ends: all that is certain of such a line (https://arxiv.org/abs/1503.01007, section 5.1).
captions: of grids that the reader of the run's test part makes with another seed, the captions that are right in every
word, and the words for a colour or a shape that looked most at the cell that they name.
"""

from pathlib import Path

from program import options

import regard
from regard.data.readers import READERS
from regard.data.readers.grids import BETWEEN
from regard.registry import Choice
from regard.results import Explanation, Prediction
from regard.runs import Run
from regard.text.numbers import read_rows


def counts(prediction: Prediction, times: int) -> bool:
    """Return whether a line that has said a so many times, and b once, goes on with what is certain."""
    return prediction.finished and prediction.text.split() == ["b"] * (times - 1)


def looked_right(found: Explanation, grid: str) -> list[bool]:
    """Return for each colour and each shape of a right caption whether it looked most at the cell it names."""
    marked = [place for place, cell in enumerate(read_rows(grid)) if cell[-1]]
    between = BETWEEN.strip()
    words = [word.strip(" ▁") for word in found.target_tokens[:-1]]
    looked = {word: cell for cell, word in found.alignment}
    named = (sum(before == between for before in words[:place]) for place in range(len(words)))
    return [looked.get(place) == marked[cell] for place, cell in enumerate(named) if words[place] != between]


def counting(run: Path, most: int) -> None:
    """Print the n that are right."""
    search = f"decoding.search={{name: greedy, max_extra: {2 * most}}}"  # too much b shows, too
    predictor = regard.load(run, [search])
    lines = [" ".join("a" * times + "b") for times in range(1, most + 1)]
    right = [times for times, one in enumerate(predictor.predict(lines), start=1) if counts(one, times)]
    wrong = sorted({*range(1, most + 1)} - {*right})
    print(f"right at {len(right)} of {most} lengths ({100 * len(right) / most:.1f} %); wrong at n = {wrong or 'none'}")


def captions(run: Path, examples: int, seed: int) -> None:
    """Print both shares."""
    experiment = Run.open(run).experiment
    made = experiment.reader("test")
    if made is None:
        raise SystemExit(f"{run} names no test part")
    asked = Choice(made.name, {**made.settings, "examples": examples, "seed": seed})
    grids = [example.texts for example in READERS.build(asked, tuple(experiment.columns))]
    answers = regard.load(run).predict([grid["source"] for grid in grids], explain=True)
    right = [(one, grid) for one, grid in zip(answers, grids, strict=True) if one.text == grid["target"]]
    looked = [cell for one, grid in right if one.explanation for cell in looked_right(one.explanation, grid["source"])]
    print(f"captions right in every word: {100 * len(right) / examples:.1f} % of {examples}")
    print(f"words of these that looked at the cell they name: {100 * sum(looked) / max(1, len(looked)):.1f} %")


def main() -> None:
    """Print the figures of one run."""
    parser = options(__doc__, most=40, examples=1000, seed=3)
    parser.add_argument("problem", choices=("counting", "captions"))
    parser.add_argument("run", type=Path)
    given = parser.parse_args()
    if given.problem == "counting":
        counting(given.run, given.most)
    else:
        captions(given.run, given.examples, given.seed)


if __name__ == "__main__":
    main()
