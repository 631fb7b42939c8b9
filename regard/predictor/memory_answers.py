"""A translation memory beside a model, with a report on what it answered: --memory."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from regard.memory import MATCHES, THRESHOLD, Recall, SegmentMemory, TranslationMemory
from regard.predictor.kept_terms import LineAnswer, Warn
from regard.predictor.predictor import Predictor
from regard.results import DocumentPrediction, Prediction, TextPrediction


class MemoryAnswers:
    """A memory of which equal sentences are answered, and a count of them. It keeps the sentence before each.

    A segment that was stored in the same context comes first, then the newest.
    """

    def __init__(self, file: Path | None, say: Warn) -> None:
        """Open a memory; None: none. `say` prints the report. Raises DataError for a file that is not a memory."""
        self._memory = None if file is None else TranslationMemory(file)
        self._say, self._before = say, ""
        self._counts, self._read = Counter[str](), ""

    @property
    def memory(self) -> SegmentMemory | None:
        """This object as the memory of a predictor; None: there is none."""
        return None if self._memory is None else self

    def check(self, predictor: Predictor) -> None:
        """Raise ConfigError for a model that does not translate, and for one of other languages."""
        if self._memory is None:
            return
        predictor.task.texts.check_terms("--memory")
        self._memory.check_languages(predictor.setup.languages, "--memory")
        self._read = ", read as context" * predictor.setup.context.reads_memory

    def begin(self, before: str) -> None:
        """Begin to answer texts that follow the sentence `before`; "": none."""
        self._before = before

    def recall(
        self, text: str, sentences: Sequence[str], *, before: str = "", threshold: int = THRESHOLD, limit: int = MATCHES
    ) -> Recall:
        """Return the matches of a text, and count them."""
        if self._memory is None:
            return Recall(whole=False, matches=[[] for _ in sentences])
        before = before or self._before
        found = self._memory.recall(text, sentences, before=before, threshold=threshold, limit=limit)
        self._before = next((one for one in reversed(sentences) if one.strip()), self._before)
        exact = sum(bool(one) and one[0].exact for one in found.matches)
        counted = {"sentences": len(found.matches), "exact": exact, "similar": sum(map(bool, found.matches)) - exact}
        self._counts += Counter(counted)
        return found

    def answer(self, answer: LineAnswer) -> LineAnswer:
        """Return the same predictions; lines that raise an error are not counted, since they are answered again."""

        def counted(texts: list[str], before: int) -> list[Prediction]:
            state = self._before, self._counts.copy()
            try:
                return answer(texts, before)
            except BaseException:
                self._before, self._counts = state
                raise

        return counted

    def list_matches(self, predictions: Sequence[Prediction]) -> None:
        """Report the most similar segment of each sentence."""
        for prediction in predictions:
            sentences = prediction.parts if isinstance(prediction, DocumentPrediction) else [prediction]
            for match in chain.from_iterable(one.memory[:1] for one in sentences if isinstance(one, TextPrediction)):
                self._say(f"memory: {match.percent} %: {match.source} → {match.target}")

    def close(self) -> None:
        """Report how many sentences the memory answered."""
        if self._memory is not None:
            count, exact, similar = (self._counts[name] for name in ("sentences", "exact", "similar"))
            self._say(f"memory: {exact:,} of {count:,} sentences reused, {similar:,} with similar segments{self._read}")
