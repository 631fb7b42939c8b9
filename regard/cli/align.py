"""regard align"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from regard.cli.files import check_writable
from regard.errors import ConfigError, nearest

if TYPE_CHECKING:
    from regard.evaluation.alignments import GoldAlignment, Link
    from regard.predictor import Predictor
    from regard.recipes.word_alignment import Pairs
    from regard.statistical.alignment_model import AlignmentModel

SourceText = Annotated[
    Path, typer.Argument(metavar="SOURCE", help="Text, a sentence a line, words parted by spaces (.gz too).")
]
TargetText = Annotated[Path, typer.Argument(metavar="TARGET", help="Its translation, line by line.")]
Also = Annotated[tuple[Path, Path] | None, typer.Option(metavar="SOURCE TARGET", help="Further texts to learn from.")]
ModelOption = Annotated[
    str,
    typer.Option(
        metavar="NAME|RUN",
        help="hmm, diagonal (fast_align), ibm2, ibm1; {name: hmm, null_share: 0.2}; or a trained translator.",
    ),
]
Reverse = Annotated[
    Path | None, typer.Option(metavar="RUN", help="A translator into the other direction, beside that of --model.")
]
LinkMethod = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="METHOD",
        help="What links the words of a translator: attention (its best head), saliency, lrp … (default: the best of "
        "these three on the run's dev part)",
    ),
]
SymmetriseMethod = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="grow-diag-final-and, grow-diag-final, grow-diag, intersection, union, forward, reverse.",
    ),
]
Iterations = Annotated[int, typer.Option(min=0, metavar="N", help="EM iterations of the model.")]
WarmUp = Annotated[int, typer.Option(min=0, metavar="N", help="EM iterations of IBM model 1 before them.")]
Alpha = Annotated[
    float,
    typer.Option(min=0, metavar="X", help="Dirichlet prior of the lexicon, against links of rare words; 0: none."),
]
Agree = Annotated[bool, typer.Option("--agree/--separate", help="Have both directions learn from each other, or not.")]
LowercaseOption = Annotated[bool, typer.Option("--lowercase", help="Words that differ in case alone are one word.")]
LinksOutput = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where links go. (default: stdout)")
]
GoldOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Links made by hand (3-1 sure, 3p1 possible, from 1): print the error."),
]
LexiconFileOption = Annotated[
    Path | None, typer.Option("--lexicon", metavar="FILE", help="Write p(target word | source word).")
]
PhrasesOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write a phrase table as Moses reads it (.gz too).")
]
Reordering = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the reordering table of the phrases.")]
QuietProgress = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]


def align_command(  # noqa: PLR0913  an option each
    source: SourceText,
    target: TargetText,
    *,
    also: Also = None,
    model: ModelOption = "hmm",
    reverse: Reverse = None,
    by: LinkMethod = None,
    symmetrise: SymmetriseMethod = "grow-diag-final-and",
    iterations: Iterations = 5,
    warm_up: WarmUp = 5,
    alpha: Alpha = 0.0,
    agree: Agree = True,
    lowercase: LowercaseOption = False,
    output_file: LinksOutput = None,
    gold: GoldOption = None,
    lexicon_file: LexiconFileOption = None,
    phrases: PhrasesOption = None,
    reordering: Reordering = None,
    quiet: QuietProgress = False,
) -> None:
    """Link the words of two texts that translate each other: a line of links each, source-target, from 0.

    regard align train.de train.en > links.txt

    regard align test.en test.de --model runs/en-de --reverse runs/de-en > links.txt

    With --gold the alignment error rate is printed in place of the links.
    """
    from regard.recipes.word_alignment import read_gold_of, read_pairs
    from regard.statistical.bitext import Bitext
    from regard.statistical.phrase_scores import phrase_table

    run, tables = _run(model), {"--lexicon": lexicon_file, "--phrases": phrases, "--reordering": reordering}
    _check(symmetrise, {"--output": output_file, **tables})
    _check_run(run, {"--reverse": reverse, "--by": by}, {"--lexicon": lexicon_file, "--also": also})
    aligner = None if run else _aligner(model)
    pairs = read_pairs((source, target), also, lowercase=lowercase)
    known = read_gold_of(gold, pairs.written) if gold else None
    if aligner is None:
        links = _translated_links([Path(model), reverse], pairs, by, symmetrise, quiet=quiet)
    else:
        settings = _Settings(iterations, warm_up, alpha, agree, symmetrise)
        links = _learnt_links(aligner, pairs, settings, lexicon_file, quiet=quiet)
    if phrases:
        phrase_table(Bitext.of(pairs.written), links).write(phrases, reordering)
    _tell(links, known, output_file)


def _tell(links: "list[list[Link]]", known: "list[GoldAlignment] | None", output_file: Path | None) -> None:
    """Write or print links; where some are known, print how far these agree with them."""
    if output_file:
        output_file.write_text(_lines(links), encoding="utf-8")
    elif not known:
        print(_lines(links), end="")
    if known:
        _print_rates(links, known)


class _Settings(NamedTuple):
    """How a statistical aligner learns."""

    iterations: int
    warm_up: int
    alpha: float
    agree: bool
    symmetrise: str


def _learnt_links(
    aligner: "AlignmentModel[Any]", pairs: "Pairs", settings: _Settings, lexicon_file: Path | None, *, quiet: bool
) -> "list[list[Link]]":
    """Links of a model that learns from the texts, whose lexicon may be kept."""
    from regard.statistical.aligner import fit_both
    from regard.statistical.symmetrisation import SYMMETRISATIONS

    iterations, warm_up, alpha, agree, symmetrise = settings
    with _progress((2 - agree) * (warm_up + iterations), quiet) as told:
        both = fit_both(
            pairs.learnt, aligner, iterations=iterations, warm_up=warm_up, alpha=alpha, agree=agree, told=told
        )
    if lexicon_file:
        both.forward.lexicon.write(lexicon_file)
    return both.links(pairs.given, SYMMETRISATIONS[symmetrise])


def _translated_links(
    runs: "list[Path | None]", pairs: "Pairs", by: str | None, symmetrise: str, *, quiet: bool
) -> "list[list[Link]]":
    """Links of a translator, or of one for each direction, made into one."""
    from regard.recipes.translator_alignment import SpannedText, chosen_way, translator_links, turned
    from regard.statistical.symmetrisation import SYMMETRISATIONS

    def told(line: str) -> None:
        if not quiet:
            print(line, file=sys.stderr)

    spanned = [(SpannedText.of_words(source), SpannedText.of_words(target)) for source, target in pairs.written]
    directions: list[list[list[Link]]] = []
    named = zip(("--model", "--reverse"), runs, strict=True)
    predictors = [None if run is None else _translator(run, option) for option, run in named]
    _check_directions(predictors)
    turned_texts = [(target, source) for source, target in spanned]
    for run, predictor, given in zip(runs, predictors, (spanned, turned_texts), strict=True):
        if run is not None and predictor is not None:
            way = chosen_way(predictor, by, told)
            told(f"{run}: {way}")
            directions.append(translator_links(predictor, given, way))
    forward, *others = directions
    method = SYMMETRISATIONS[symmetrise]
    return [method(*both) for both in zip(forward, turned(others[0]), strict=True)] if others else forward


def _translator(run: Path, option: str) -> "Predictor":
    """Raises ConfigError for a run that does something else."""
    from regard.predictor import load

    predictor = load(run)
    if predictor.task.translated is None:
        raise ConfigError(option, f"{run} does not translate", "the folder of a translator")
    return predictor


def _check_directions(predictors: "Sequence[Predictor | None]") -> None:
    """Raises ConfigError for a second translator that does not translate back."""
    pairs = [predictor.languages for predictor in predictors if predictor is not None]
    if len(pairs) > 1 and None not in (*pairs[0], *pairs[1]) and pairs[1] != pairs[0][::-1]:
        (source, target), (other, another) = pairs
        raise ConfigError("--reverse", f"translates {other} → {another}", f"a run that translates {target} → {source}")


def _run(model: str) -> bool:
    """Whether a model is the folder of a run, rather than a name."""
    return "/" in model or Path(model).is_dir()


def _check_run(run: bool, of_runs: Mapping[str, Any], of_names: Mapping[str, Any]) -> None:
    """Raises ConfigError for what a translator, or a statistical model, cannot do."""
    for option, value in (of_names if run else of_runs).items():
        if value:
            problem = "is for a model that learns from these texts" if run else "is for a translator"
            raise ConfigError(option, problem, "--model hmm" if run else "--model RUN")


def _print_rates(links: "list[list[Link]]", gold: "list[GoldAlignment]") -> None:
    from regard.evaluation import link_rates

    rates = link_rates(links, gold)
    print(f"AER {rates.error_rate:.1%}, precision {rates.precision:.1%}, recall {rates.recall:.1%}")


def _lines(links: "list[list[Link]]") -> str:
    from regard.explain.alignment import format_pharaoh

    return "".join(f"{format_pharaoh(row)}\n" for row in links)


def _check(symmetrise: str, files: Mapping[str, Path | None]) -> None:
    """Raises ConfigError before time is spent for nothing."""
    from regard.statistical.symmetrisation import SYMMETRISATIONS

    if symmetrise not in SYMMETRISATIONS:
        raise ConfigError("--symmetrise", f"there is no '{symmetrise}'", nearest(symmetrise, SYMMETRISATIONS))
    for option, path in files.items():
        check_writable(path, option)
    if files["--reordering"] and not files["--phrases"]:
        raise ConfigError("--reordering", "is that of a phrase table", "give a file with --phrases, too")


def _aligner(text: str) -> "AlignmentModel[Any]":
    """The model of a name, or of a name and settings."""
    from regard.config import PartOf
    from regard.config.reading import parse
    from regard.statistical import ALIGNERS

    value = parse(text, "--model")
    try:
        return ALIGNERS.build(PartOf(ALIGNERS).read(value), place="")
    except ConfigError as error:
        raise error.inside("--model") from None


@contextmanager
def _progress(total: int, quiet: bool) -> Iterator[Callable[[float], None]]:
    """Count iterations on a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, disable=quiet) as bar:
        task = bar.add_task("aligning", total=total)

        def told(log_likelihood: float) -> None:
            bar.update(task, advance=1, description=f"aligning, log-likelihood {log_likelihood:,.0f}")

        yield told
