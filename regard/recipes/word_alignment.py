"""`regard align`: two texts, a model in both directions, one alignment of each sentence pair."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import Progress

from regard.config import PartOf
from regard.config.reading import parse
from regard.data.readers import ParallelReader
from regard.errors import ConfigError, DataError
from regard.evaluation import GoldAlignment, link_rates, read_gold
from regard.evaluation.alignments import Link
from regard.explain.alignment import format_pharaoh
from regard.statistical import ALIGNERS
from regard.statistical.aligner import fit_both
from regard.statistical.alignment_model import AlignmentModel
from regard.statistical.bitext import Bitext, Words, split_words
from regard.statistical.symmetrisation import SYMMETRISATIONS

_Pair = tuple[Words, Words]
_Files = tuple[Path, Path]


class Pairs(NamedTuple):
    """Sentence pairs of two files, and all training pairs."""

    written: list[_Pair]  # in the spelling of the files
    given: Bitext  # the same pairs
    learnt: Bitext  # these and further training pairs


def read_pairs(files: _Files, also: _Files | None = None, *, lowercase: bool = False) -> Pairs:
    """Read two texts, and two further training texts.

    Raises DataError for files that cannot be read or differ in length.
    """
    written = _read(files)
    given, others = _folded(written, lowercase), _folded(_read(also) if also else [], lowercase)
    return Pairs(written, Bitext.of(given), Bitext.of([*given, *others]))


def read_gold_of(path: Path, pairs: Sequence[_Pair]) -> list[GoldAlignment]:
    """Return the gold links of sentence pairs. Raises DataError for a file of other pairs."""
    gold = read_gold(path)
    if len(gold) != len(pairs):
        raise DataError(path, f"has {len(gold):,} lines, but there are {len(pairs):,} sentence pairs")
    for number, (one, (source, target)) in enumerate(zip(gold, pairs, strict=True), start=1):
        beyond = next((link for link in sorted(one.possible) if link[0] >= len(source) or link[1] >= len(target)), None)
        if beyond:
            problem = f"the link {beyond[0] + 1}-{beyond[1] + 1} is beyond {len(source)} and {len(target)} words"
            raise DataError(path, problem, line=number, hint="words are counted from 1, source first")
    return gold


def aligner_of(text: str) -> AlignmentModel[Any]:
    """Return the model of a name, or of a name and settings. Raises ConfigError."""
    value = parse(text, "--model")
    try:
        return ALIGNERS.build(PartOf(ALIGNERS).read(value), place="")
    except ConfigError as error:
        raise error.inside("--model") from None


class Learning(NamedTuple):
    """Training settings of a statistical aligner."""

    iterations: int
    warm_up: int
    alpha: float
    agree: bool
    symmetrise: str


def aligned_links(
    aligner: AlignmentModel[Any], pairs: Pairs, settings: Learning, lexicon_file: Path | None, *, quiet: bool
) -> list[list[Link]]:
    """Return the links of a model trained on the texts; its lexicon is saved in a file, if one is named."""
    iterations, warm_up, alpha, agree, symmetrise = settings
    with _progress((2 - agree) * (warm_up + iterations), quiet) as report:
        both = fit_both(
            pairs.learnt, aligner, iterations=iterations, warm_up=warm_up, alpha=alpha, agree=agree, report=report
        )
    if lexicon_file:
        both.forward.lexicon.write(lexicon_file)
    return both.links(pairs.given, SYMMETRISATIONS[symmetrise])


def rates_line(links: list[list[Link]], gold: list[GoldAlignment]) -> str:
    """Return the agreement of links with manual ones."""
    rates = link_rates(links, gold)
    return f"AER {rates.error_rate:.1%}, precision {rates.precision:.1%}, recall {rates.recall:.1%}"


def pharaoh_lines(links: list[list[Link]]) -> str:
    """Return links as text, one line per sentence pair."""
    return "".join(f"{format_pharaoh(row)}\n" for row in links)


def _read(files: _Files) -> list[_Pair]:
    reader = ParallelReader(("source", "target"), files=dict(zip(("source", "target"), map(str, files), strict=True)))
    return [(split_words(one.texts["source"]), split_words(one.texts["target"])) for one in reader]


def _folded(pairs: list[_Pair], lowercase: bool) -> list[_Pair]:
    if not lowercase:
        return pairs
    return [([word.lower() for word in source], [word.lower() for word in target]) for source, target in pairs]


@contextmanager
def _progress(total: int, quiet: bool) -> Iterator[Callable[[float], None]]:
    """Count iterations on a terminal."""
    with Progress(console=Console(stderr=True), transient=True, disable=quiet) as bar:
        task = bar.add_task("aligning", total=total)

        def report(log_likelihood: float) -> None:
            bar.update(task, advance=1, description=f"aligning, log-likelihood {log_likelihood:,.0f}")

        yield report
