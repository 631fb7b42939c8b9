"""How a run's own training pairs translate each word: learnt once, and kept in its folder."""

from collections.abc import Callable, Container, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from regard.config import Choice, staged
from regard.data.manifest import place_file
from regard.errors import ConfigError
from regard.evaluation.alignments import Link
from regard.explain.adequacy import ADEQUACIES
from regard.explain.adequacy.lexicon import TRANSLATIONS_FILE, LexiconAdequacy, folded_words
from regard.results import Prediction, as_line
from regard.runs.assembly import check_translates
from regard.runs.run import Run
from regard.runs.texts import dev_examples, training_readers
from regard.statistical import ALIGNERS
from regard.statistical.aligner import fit_both
from regard.statistical.bitext import Bitext
from regard.statistical.symmetrisation import SYMMETRISATIONS
from regard.statistical.translations import Translations, pseudo_target
from regard.text.words import cut_words

MOST_PAIRS = 200_000
AMBIGUOUS = 0.1  # of the frequent source words, those of the highest translation entropy
ALIGNER, SYMMETRISATION = "hmm", "grow-diag-final-and"


class Learnt(NamedTuple):
    """Translations of words, and what a check by them says of given translations; NaN without a dev part."""

    translations: Translations
    pairs: int  # it was learnt from
    told: float  # share of the words of the dev part's sources that are told of


def learn_translations(
    run: Run, *, pseudo: Path | None = None, say: Callable[[str], None] = lambda line: None
) -> Learnt:
    """Count what each source word is linked to in the training pairs of a run, and keep the counts in its folder.

    `pseudo` is a table of these pairs to write, with a pseudo-token for each translation of an ambiguous word.
    Raises ConfigError for a run that does not translate, or between several languages, DataError where its training
    texts are gone.
    """
    experiment = run.experiment
    check_translates(run.columns, ADEQUACIES.place)
    if experiment.data.routes:
        problem = "names more pairs of languages, and words are counted in one"
        raise ConfigError("data.routes", problem, "train a run of that pair, or link words with regard align")
    examples = (example.texts for reader in training_readers(experiment).values() for example in reader)
    pairs = [(one["source"], one["target"]) for one in islice(examples, MOST_PAIRS)]
    say(f"linking the words of {len(pairs):,} pairs")
    texts = [(words(source), words(target)) for source, target in pairs]
    bitext = Bitext.of(texts)
    links = fit_both(bitext, ALIGNERS.build(Choice(ALIGNER))).links(bitext, SYMMETRISATIONS[SYMMETRISATION])
    translations = Translations.of(texts, links)
    if pseudo is not None:
        _write_pseudo(pseudo, pairs, links, {*translations.ambiguous(AMBIGUOUS)})
    new = staged(run.path / TRANSLATIONS_FILE)
    translations.write(new)
    place_file(new, run.path / TRANSLATIONS_FILE)
    given = dev_examples(experiment, run.task(), say)
    if given is None:
        return Learnt(translations, len(pairs), float("nan"))
    check = LexiconAdequacy(run.path)
    answers = [Prediction(source, target, 0.0) for source, target in zip(given["source"], given["target"], strict=True)]
    found = sum(len(check.uncovered(one)) for one in answers)
    return Learnt(translations, len(pairs), found / max(1, sum(len(words(one.source)) for one in answers)))


def _write_pseudo(
    path: Path, pairs: Sequence[tuple[str, str]], links: Sequence[list[Link]], ambiguous: Container[str]
) -> None:
    """Write lines of source, tab, target, in which signs, spaces and capitals stay."""
    with path.open("w", encoding="utf-8") as file:
        for (source, target), row in zip(pairs, links, strict=True):
            pieces = [piece for piece in cut_words(target) if piece.strip()]
            text = "".join(pseudo_target(words(source), pieces, row, ambiguous)).strip()
            file.write(as_line((source, text)) + "\n")


def words(text: str) -> list[str]:
    """Return the words and signs of a text, in lower case."""
    return [word for word, _ in folded_words(text)]
