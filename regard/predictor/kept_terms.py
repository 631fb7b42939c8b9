"""Terms and prefixes that answers to lines keep, and warnings about them: --glossary and --prefix."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from regard.data.readers.lines import chunks_of_lines
from regard.documents.glossary import Glossary, with_stored_terms
from regard.errors import ConfigError, DataError
from regard.memory import SegmentMemory
from regard.packed import open_packed
from regard.predictor.predictor import Predictor
from regard.results import Prediction, TermUse

LineAnswer = Callable[[list[str], int], list[Prediction]]  # of lines, so many others before them
Warn = Callable[[str], None]


class KeptTerms:
    """Terms and prefixes, and how many of the terms were found and used."""

    def __init__(self, file: Path | None, prefix: Path | None, warn: Warn) -> None:
        """Read the files of a glossary and of prefixes. Raises DataError for one that cannot be read."""
        self.glossary = None if file is None else Glossary.read(file)
        self.file, self.prefix, self.warn = file, prefix, warn
        self.prefixes = None if prefix is None else _lines(prefix, warn)
        self.found, self.unused = 0, 0

    def check(self, predictor: Predictor) -> None:
        """Read the glossary in the languages of a model, which a TBX file may have among others.

        Raises DataError for terms that are too long, ConfigError for a model that translates nothing.
        """
        if self.glossary is None and self.prefix is None:
            return
        option = "--prefix" if self.glossary is None else "--glossary"
        predictor.task.texts.check_terms(option)
        method = predictor.setup.context.term_method(predictor.setup.settings.terms)
        if self.prefix is not None or method != "annotations":
            predictor.setup.abilities.check("terms", option)
        if self.glossary is not None and method != "constraints":
            required = ", and required in the output" * (method == "both")
            self.warn(f"--glossary: terms are annotated in the source{required} (decoding.terms={method})")
        if self.glossary is not None and self.file is not None:
            self.glossary = type(self.glossary).read(self.file, predictor.setup.languages)
            entries = self.glossary.entries
            if all(one.targets == (one.source,) for one in entries) and any(" " in one.source for one in entries):
                self.warn(f"{self.file}: no line has a translation, so its terms are copied: is a tab missing?")
            predictor.encoder.term_phrases.check([self.glossary])

    def answer(self, predict: Callable[..., list[Prediction]]) -> LineAnswer:
        """Return predictions of lines with their terms and prefixes; `before` lines came earlier."""

        def answer(texts: list[str], before: int) -> list[Prediction]:
            given: dict[str, Any] = {} if self.glossary is None else {"glossary": self.glossary}
            if self.prefixes is not None:
                given["prefixes"] = some = self.prefixes[before : before + len(texts)]
                if len(some) < len(texts):
                    problem = f"there is no prefix for it: '{self.prefix}' has {len(self.prefixes):,} lines"
                    raise DataError("input", problem, line=len(some) + 1, hint="one for each, if an empty one")
            return self._with_stored(predict(texts, **given))

        return answer

    def counted(self, answers: Iterator[list[Prediction]]) -> Iterator[list[Prediction]]:
        """The same predictions, whose terms are counted."""
        for some in answers:
            self._note(some)
            yield some

    def translated(
        self, predictor: Predictor, path: Path, memory: SegmentMemory | None
    ) -> tuple[bytes, list[Prediction]]:
        """A document, its terms counted. Raises ConfigError where there are prefixes."""
        if self.prefix is not None:
            raise ConfigError(
                "--prefix", f"is for lines, and {path.name} is translated as a whole", "--raw reads lines"
            )
        given: dict[str, Any] = {} if self.glossary is None else {"glossary": self.glossary}
        data, predictions = predictor.translate_file(path.read_bytes(), path.suffix, memory=memory, **given)
        predictions = self._with_stored(predictions)
        self._note(predictions)
        return data, predictions

    def close(self) -> None:
        """Warn of the terms that were not used."""
        if self.unused:
            self.warn(f"{self.unused:,} of the {self.found:,} terms that were found are not used")

    def _with_stored(self, predictions: list[Prediction]) -> list[Prediction]:
        return predictions if self.glossary is None else with_stored_terms(predictions, self.glossary)

    def _note(self, predictions: Sequence[Prediction]) -> None:
        for one in predictions:
            for part in getattr(one, "parts", [one]):
                uses: list[TermUse] = getattr(getattr(part, "terms", None), "uses", [])
                self.found += len(uses)
                self.unused += sum(not use.used for use in uses)


def _lines(path: Path, warn: Warn) -> list[str]:
    """The lines of a file of texts. Raises DataError for one that cannot be read, or is not UTF-8."""
    try:
        with open_packed(path) as stream:
            return [line for some in chunks_of_lines(stream, str(path), warn) for line in some]
    except OSError as error:
        hint = "name a file with a line for each text: what its answer begins with, or nothing"
        raise DataError(path, f"these prefixes cannot be read: {error.strerror or error}", hint=hint) from error
