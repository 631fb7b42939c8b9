"""Texts → predictions, for the command line, evaluation and pages."""

import copy
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from regard.data.examples import ColumnTexts
from regard.decoding import Answering, BeamSearch, Feature, Search
from regard.documents.files import file_document
from regard.documents.glossary import Glossary
from regard.errors import DataError, RegardError
from regard.experiment import DecodingSettings
from regard.explain.adequacy import Adequacy
from regard.explain.adequacy.adequacy import checked
from regard.explain.translation_faults import FaultFinder
from regard.memory import SegmentMemory, SentenceMatches, reused
from regard.models import Model
from regard.ops.kernels.packing import caches_of
from regard.ops.modules import count_parameters
from regard.predictor.batches import TextEncoder
from regard.predictor.confidence import calibrated, decided, with_alternatives
from regard.predictor.explainer import Explainer
from regard.predictor.predictions import Predictions
from regard.predictor.reranking import Ranking
from regard.predictor.setup import Setup
from regard.predictor.source_context import (
    PredictionRequest,
    forced_predictions,
    plain_predictions,
    predictions_with_terms,
)
from regard.predictor.terminology import of_places
from regard.predictor.whole_texts import known_pair, of_matches, recalled_sentences, translated
from regard.registry import Choice
from regard.results import Prediction, WordRelevance
from regard.runs import Run
from regard.statistical.calibration import Calibrations
from regard.tasks import Examples, Outcome, Task
from regard.tasks.example_texts import Ids
from regard.tasks.examples import as_rows
from regard.tasks.task import outcome_of
from regard.text.clean import clean
from regard.text.windows import with_windows

X = TypeVar("X", str, str | Mapping[str, str])

_DEFAULTS = DecodingSettings()


class Predictor:
    """A model and its task, ready to answer.

    >>> predictor = regard.load("runs/en-de")
    >>> for prediction in predictor.predict(["Good morning!"]):
    ...     print(prediction.text, prediction.score)
    """

    def __init__(
        self,
        model: Model,
        task: Task,
        engine: Answering,
        *,
        run: Run | None = None,
        settings: DecodingSettings = _DEFAULTS,
        search: Search | None = None,
        features: Sequence[Feature] = (),
        adequacy: Adequacy | None = None,
        calibration: Calibrations | None = None,
        ranking: Ranking | None = None,
        fault_finder: FaultFinder | None = None,
        languages: tuple[str | None, str | None] = (None, None),
    ) -> None:
        """Put a model (in evaluation mode from here on), its task and an engine together; `Setup` has the rest.

        `run` is the folder that the model comes from, `search` the search of the run.
        """
        self._run, self._model, self._task = run, model.eval(), task
        self._setup = Setup(
            engine,
            partial(task.engine, model),
            settings,
            search or BeamSearch(),
            tuple(features),
            adequacy,
            calibration,
            ranking,
            fault_finder,
            languages,
        )
        limits = [settings.max_source, model.max_source, engine.max_source]
        longest = min(one for one in limits if one is not None)
        self._encoder = TextEncoder(model, task, max_source=longest, batch_tokens=settings.batch_tokens)

    @property
    def run(self) -> Run:
        """The opened run: settings, vocabularies, measurements. Raises RegardError for a model without a run folder.

        >>> predictor.run.experiment.model
        """
        if self._run is None:
            raise RegardError("predictor.run: this model comes from no run folder; regard.load opens one")
        return self._run

    @property
    def model(self) -> Model:
        """The network, a `torch.nn.Module` in evaluation mode.

        >>> sum(one.numel() for one in predictor.model.parameters())
        """
        return self._model

    @property
    def task(self) -> Task:
        """The task: columns with their vocabularies, batches, measures.

        >>> len(predictor.task.vocabularies["target"])  # pieces
        """
        return self._task

    @property
    def setup(self) -> Setup:
        """Engine, search, limits, calibration and languages.

        >>> predictor.setup.languages
        ('en', 'de')
        """
        return self._setup

    @property
    def encoder(self) -> TextEncoder:
        """Texts → ids of pieces and batches of them.

        >>> (ids,) = predictor.encoder.encode([{"source": "Good morning!"}])  # {"source": [412, 87, 9]}
        """
        return self._encoder

    @property
    def explainer(self) -> Explainer:
        """Attention, relevance, alignments and recorded searches of predictions.

        >>> (one,) = predictor.explainer.with_relevance(predictor.predict(["Good morning!"]), "lrp")
        """
        return Explainer(self)

    def __repr__(self) -> str:
        sizes = " → ".join(f"{len(one):,}" for one in dict.fromkeys(self.task.vocabularies.values()))
        count = count_parameters(self.model)
        return f"Predictor({sizes} pieces, {count / 1e6:.1f} M parameters)"

    def copy(self) -> "Predictor":
        """Return a predictor for another thread: the same weights in other modules, so that hooks stay apart.

        >>> workers = [predictor, predictor.copy()]
        """
        weights = (*self.model.parameters(), *self.model.buffers(), *caches_of(self.model))
        setup = self.setup
        kept = (*weights, self.task, self._run, setup.adequacy, setup.ranking, setup.fault_finder, *setup.features)
        shared: dict[int, Any] = {id(one): one for one in kept}
        return copy.deepcopy(self, shared)

    def predict(
        self,
        texts: Iterable[str | ColumnTexts],
        *,
        explain: bool = False,
        search: Search | None = None,
        safeguards: bool = True,
        glossary: Glossary | Sequence[Glossary] | None = None,
        prefixes: Sequence[str] | None = None,
        matches: SentenceMatches | None = None,
        encoded: Sequence[Ids] | None = None,
    ) -> Predictions:
        """Return one prediction per text, in order; each text is read as one sentence.

        >>> (found,) = predictor.predict(["Good morning!"])
        >>> found.text, found.score  # nats

        Texts are batched by length; the answer to one does not depend on the others.

        Args:
            texts: Sentences; examples by column where the task reads several. A translator answers nothing with
                nothing; a language model begins a text.
            explain: Record the attention weights; each prediction gets an `explanation`.
            search: In place of the run's search.
            safeguards: Copy texts in a script that training never saw, remove loops, report omitted words; a `warning`
                says so.
            glossary: Terms to keep by decoding.terms, one glossary for all texts or one for each; `terms` of a
                prediction reports which were found and used.
            prefixes: The first words of each answer.
            matches: Segments of a translation memory that are like each text, read as context by a model that was
                trained with data.source_augmentations=fuzzy_matches; others ignore them.
            encoded: Ids of the texts, where they are known.

        Raises:
            TooLongError: A text has more than `encoder.max_source` pieces.
            DataError: A text lacks a column, or terms and prefixes do not fit.
            TypeError: Something is not a text.
        """
        examples = self.encoder.examples(_listed(texts, "predict([text])"))
        self.encoder.check(examples)
        request, setup = PredictionRequest(examples, search, safeguards, matches, encoded), self.setup
        if glossary is None and prefixes is None:
            found = plain_predictions(self.encoder, setup, request)
        else:
            found = predictions_with_terms(self.encoder, setup, request, glossary, prefixes)
        found = calibrated(self.task, decided(self.task, found, setup.threshold), setup.calibration)
        found = with_alternatives(self.task, found, (search or setup.search).n_best)
        found = checked(found, setup.adequacy if safeguards else None, self.explainer.with_alignments)
        return self.explainer.with_attention(found) if explain else Predictions(found)

    def translate(
        self,
        texts: Iterable[str],
        *,
        search: Search | None = None,
        glossary: Glossary | Sequence[Glossary] | None = None,
        prefixes: Sequence[str] | None = None,
        memory: SegmentMemory | None = None,
    ) -> Predictions:
        """Return one prediction per text of any length: its sentences are predicted and put together again.

        >>> (found,) = predictor.translate(["Good morning! See https://example.org/a_b."])

        Line ends, addresses, numbers and emoji stay as they are. Where the task answers a text as a whole, this is
        `predict`.

        Args:
            texts: Texts of one or more sentences.
            search: In place of the run's search.
            glossary: As of `predict`.
            prefixes: One for each text, of its first sentence.
            memory: A TranslationMemory: it answers the texts and sentences that it has.

        Returns:
            A `DocumentPrediction` for each text of several sentences.

        Raises:
            TooLongError: A sentence is too long; the error has the number of its text.
            DataError: There are both prefixes and a memory.
            TypeError: An item is not a text.
        """
        read = _listed(texts, "translate([text])")
        if any(not isinstance(text, str) for text in read):
            raise TypeError("translate takes texts; predict takes examples by column")
        return translated(self, read, search=search, glossary=glossary, prefixes=prefixes, memory=memory)

    def translate_file(
        self,
        data: bytes,
        suffix: str,
        *,
        search: Search | None = None,
        glossary: Glossary | Sequence[Glossary] | None = None,
        memory: SegmentMemory | None = None,
    ) -> tuple[bytes, list[Prediction]]:
        """Return the file with its sentences translated, and their predictions; layout, markup and code stay.

        >>> data, predictions = predictor.translate_file(Path("letter.docx").read_bytes(), ".docx")

        Args:
            data: The bytes of the file.
            suffix: Its kind, one of `regard.documents.files.SUFFIXES`: ".docx", ".xlf" …
            search: In place of the run's search.
            glossary, memory: As of `translate`.

        Raises:
            FileError: Another kind, a broken file, or one that names other languages.
            TooLarge: More than 20,000 sentences.
            DataError: The task reads no source and target.
        """
        languages = self.setup.languages
        if self.task.texts.document("", languages[0]) is None:
            raise DataError("file", "this model translates no files", hint="give it texts")
        document = file_document(data, suffix, language=languages[0], target=languages[1])
        for note in document.notes:
            warnings.warn(note, stacklevel=2)
        lines = with_windows(document.texts, self.task.texts.window)
        matches = recalled_sentences(memory, document.originals, self.setup.context)

        def answers(left: list[int]) -> Sequence[Prediction]:
            given = [lines[one] for one in left]
            some = of_places(glossary, left)
            return self.predict(given, search=search, glossary=some, matches=of_matches(matches, left))

        found = reused(document.texts, matches, answers)
        if document.explain:
            found = list(self.explainer.with_alignments(found))
        found = document.checked(found)
        return document.rebuild(found, known_pair(languages)), found

    def score(
        self,
        sources: Iterable[str],
        targets: Iterable[str],
        *,
        matches: SentenceMatches | None = None,
        encoded: Sequence[Ids] | None = None,
    ) -> Predictions:
        """Return the log-probability of each given target, by forced decoding, in nats.

        >>> (found,) = predictor.score(["Good morning!"], ["Guten Morgen!"])
        >>> found.score, found.log_probs  # of the whole, and of each piece with the end

        Args:
            sources: Texts, or lines of several columns with tabs between them. May be empty for a language model.
            targets: As many; for a language model the continuation.
            matches: As of `predict`.
            encoded: Ids of the texts with their targets, where they are known.

        Raises:
            DataError: The counts differ.
            TooLongError: A source has more than `encoder.max_source` pieces.
            TypeError: An item is not a text.
        """
        self._setup.abilities.check("scores", "score")
        read, wanted = (_listed(some, "score([source], [target])") for some in (sources, targets))
        if encoded is None:
            self.encoder.encode(self.encoder.examples(read))
        if len(read) != len(wanted):
            raise DataError("target", f"{len(wanted):,} texts, but the source has {len(read):,}")
        pairs = zip(read, wanted, strict=True)
        examples = [self.task.texts.scored(clean(source), target) for source, target in pairs]
        request = PredictionRequest(examples, None, False, matches, encoded)
        found = forced_predictions(self.encoder, self.setup, request)
        return Predictions(calibrated(self.task, found, self.setup.calibration))

    def explain(
        self, texts: Iterable[str | ColumnTexts], *, method: str | Choice = "lrp", search: Search | None = None
    ) -> list[WordRelevance]:
        """Return the relevance of each input word for each word of the answer.

        >>> (found,) = predictor.explain(["Good morning!"], method="integrated_gradients")
        >>> found.array("source").values  # (item, token), labelled by found.items and found.tokens["source"]

        Args:
            texts: As of `predict`.
            method: A row of RELEVANCES, with its settings as a `Choice`.
            search: In place of the run's search.

        Raises:
            ConfigError: The method or its setting is unknown.
            RegardError: The method cannot explain this model.
        """
        return self.explainer.relevance(self.predict(texts, search=search), method)


def answers_and_losses(predictor: Predictor, examples: Examples) -> Outcome:
    """Return answers and losses of examples by column, for measures; each is computed on first use."""
    setup, task = predictor.setup, predictor.task
    computed = outcome_of(task, predictor.model, setup.engine, examples, setup.settings.batch_tokens)
    given = as_rows({name: examples[name] for name in task.inputs})
    return Outcome(examples, lambda: predictor.predict(given, safeguards=False), lambda: computed.losses)


def _listed(texts: Iterable[X], example: str) -> list[X]:
    """Return a list of texts. Raises TypeError for one text, and for items that are not texts."""
    one = isinstance(texts, str)
    listed = [] if one else list(texts)
    strange = [type(item).__name__ for item in listed if not isinstance(item, str | Mapping)]
    if one or strange:
        given = "one text" if one else f"items of type {strange[0]}"
        raise TypeError(f"a list of texts is needed, not {given}; one text: {example}")
    return listed
