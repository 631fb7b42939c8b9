"""regard align"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.emit import say_unless
from regard.cli.files import check_all_writable
from regard.cli.options import Quiet, file_option, integer_option, name_option, number_option
from regard.errors import ConfigError, nearest

if TYPE_CHECKING:
    from regard.evaluation.alignments import GoldAlignment, Link

SourceText = Annotated[
    Path, typer.Argument(metavar="SOURCE", help="Source text, one tokenized sentence a line (.gz too).")
]
TargetText = Annotated[Path, typer.Argument(metavar="TARGET", help="Its translation, line by line.")]
Also = Annotated[
    tuple[Path, Path] | None,
    typer.Option(metavar="SOURCE TARGET", help="Further parallel text to estimate the model on."),
]
ModelOption = Annotated[
    str,
    name_option(
        help="hmm, diagonal (fast_align), ibm2 or ibm1; with settings: {name: hmm, max_jump: 5}; or a run folder."
    ),
]
Reverse = Annotated[Path | None, typer.Option(metavar="RUN", help="Translator of the other direction, beside --model.")]
LinksBy = Annotated[
    str | None,
    name_option(
        "--method",
        help="Alignment method of a translator: attention (its best head), saliency, lrp ... (default: the best of "
        "these three on the dev set)",
    ),
]
SymmetriseMethod = Annotated[
    str, name_option(help="grow-diag-final-and, grow-diag-final, grow-diag, intersection, union, forward or reverse.")
]
Iterations = Annotated[int, integer_option(min=0, help="EM iterations of the model.")]
WarmUp = Annotated[int, integer_option(min=0, help="EM iterations of IBM model 1 before.")]
Alpha = Annotated[
    float, number_option(min=0, help="Dirichlet prior of the lexicon, against links of rare words; 0: none.")
]
Agree = Annotated[bool, typer.Option("--agree/--separate", help="Train both directions jointly, or separately.")]
LowercaseOption = Annotated[bool, typer.Option("--lowercase", help="Ignore case.")]
LinksOutput = Annotated[Path | None, file_option("--output", "-o", help="File of the links. (default: stdout)")]
GoldOption = Annotated[
    Path | None, file_option(help="Gold alignments (3-1 sure, 3p1 possible, from 1): print the alignment error rate.")
]
LexiconFileOption = Annotated[Path | None, file_option("--lexicon", help="Write p(target word | source word).")]
PhrasesOption = Annotated[Path | None, file_option(help="Write a phrase table in the format of Moses (.gz too).")]
Reordering = Annotated[Path | None, file_option(help="Write the lexicalized reordering table.")]


def align_command(  # noqa: PLR0913  an option each
    source: SourceText,
    target: TargetText,
    *,
    also: Also = None,
    model: ModelOption = "hmm",
    reverse: Reverse = None,
    method: LinksBy = None,
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
    quiet: Quiet = False,
) -> None:
    """Align the words of parallel text.

    Prints the links of each sentence pair in a line, source-target, counted from 0.

    regard align train.de train.en > links.txt
    regard align test.en test.de --model runs/en-de --reverse runs/de-en --gold gold.txt
    """
    from regard.recipes import translator_alignment as recipe
    from regard.statistical.bitext import Bitext
    from regard.statistical.phrase_scores import phrase_table

    run = "/" in model or Path(model).is_dir()  # the folder of a run, rather than a name
    tables = {"--lexicon": lexicon_file, "--phrases": phrases, "--reordering": reordering}
    _check(symmetrise, {"--output": output_file, **tables})
    _check_run(run, {"--reverse": reverse, "--method": method}, {"--lexicon": lexicon_file, "--also": also})
    aligner = None if run else recipe.aligner_of(model)
    pairs = recipe.read_pairs((source, target), also, lowercase=lowercase)
    known = recipe.read_gold_of(gold, pairs.written) if gold else None
    if aligner is None:
        links = recipe.translated_links([Path(model), reverse], pairs.written, method, symmetrise, say_unless(quiet))
    else:
        settings = recipe.Learning(iterations, warm_up, alpha, agree, symmetrise)
        links = recipe.aligned_links(aligner, pairs, settings, lexicon_file, quiet=quiet)
    if phrases:
        phrase_table(Bitext.of(pairs.written), links).write(phrases, reordering)
    _tell(links, known, output_file)


def _tell(links: "list[list[Link]]", known: "list[GoldAlignment] | None", output_file: Path | None) -> None:
    """Write or print links; where some are known, print how far these agree with them."""
    from regard.recipes.translator_alignment import pharaoh_lines, rates_line

    if output_file:
        output_file.write_text(pharaoh_lines(links), encoding="utf-8")
    elif not known:
        print(pharaoh_lines(links), end="")
    if known:
        print(rates_line(links, known))


def _check_run(run: bool, of_runs: Mapping[str, Any], of_names: Mapping[str, Any]) -> None:
    """Raises ConfigError for what a translator, or a statistical model, cannot do."""
    for option, value in (of_names if run else of_runs).items():
        if value:
            problem = "is for a model that learns from these texts" if run else "is for a translator"
            raise ConfigError(option, problem, "--model hmm" if run else "--model RUN")


def _check(symmetrise: str, files: Mapping[str, Path | None]) -> None:
    """Raises ConfigError before time is spent for nothing."""
    from regard.statistical.symmetrisation import SYMMETRISATIONS

    if symmetrise not in SYMMETRISATIONS:
        raise ConfigError("--symmetrise", f"there is no '{symmetrise}'", nearest(symmetrise, SYMMETRISATIONS))
    check_all_writable(files)
    if files["--reordering"] and not files["--phrases"]:
        raise ConfigError("--reordering", "needs a phrase table", "add --phrases FILE")
