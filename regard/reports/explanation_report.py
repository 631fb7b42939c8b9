"""regard explain: answers with their explanations, beside those of another run; as lines, a page and plots."""

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from rich.console import Console

from regard.answers import show
from regard.answers.terminal import beside_lines
from regard.config import parse_changes
from regard.documents.glossary import Glossary
from regard.errors import ConfigError
from regard.experiment import OPEN
from regard.explain import page, png_of, svg_of, to_json
from regard.explain.relevance import method_of
from regard.memory import TranslationMemory
from regard.predictor import Predictor
from regard.predictor.predictions import Predictions
from regard.predictor.whole_texts import recalled_sentences
from regard.registry import Choice
from regard.reports.report import Report
from regard.reports.taught_words import taught_words
from regard.results import Prediction
from regard.runs.texts import Say


def explained_report(
    predictor: Predictor,
    texts: Sequence[str],
    methods: Sequence[Choice],
    *,
    layer: str | None = None,
    steps: bool = False,
    beside: Predictor | None = None,
    taught: str | None = None,
    glossary: Path | None = None,
    memory: Path | None = None,
    say: Say = lambda line: None,
) -> Report:
    """Report answers with their attention, or with relevance by methods, of which the first is plotted.

    `layer`: explain its states in place of answers; `steps`: add the steps of the search; `taught`: add the training
    pairs of a word of the translations, or of all words ("*"); `glossary`: terms to keep; `memory`: a translation
    memory whose similar segments a model reads as context, if it was trained so.
    Its figures are the page (.html) and the plot of the first answer (.svg, .png). Raises ConfigError without a
    search, and for a run `beside` of another task.
    """
    predictions: Sequence[Prediction] = _predicted(predictor, texts, glossary, memory, say, explain=not methods)
    explainer = predictor.explainer
    if layer is not None:
        predictions = explainer.with_state_relevance(predictions, methods[0], layer)
    elif methods:
        predictions = explainer.with_reasons(explainer.with_relevance(predictions, methods[0]), methods[1:])
    if steps:
        predictions = explainer.with_search_tree(predictions)
        if not any(one.search_tree() for one in predictions):
            raise ConfigError("--steps", "there is no search: nothing was written, or only copied", "leave it out")
    others = {} if beside is None else _beside(predictor, beside, predictions, methods)
    name = predictor.run.path.name
    values = to_json(predictions, model=name if others else "", beside=others)
    shown = _shown(predictions, name, others)
    if taught is not None:
        evidence = taught_words(predictor.run, predictions, taught, say)
        for one, words in zip(values["predictions"], evidence.words, strict=True):
            one["taught"] = evidence.plain(words)
            shown = "\n".join([shown, *evidence.lines(words, taught.lower())])

    def figure(ending: str) -> bytes:
        if ending == ".html":
            graded = {**values, "grades": predictor.run.measurements.grades()}
            return page(graded, title=f"Regard: {name}").encode()
        return _picture(predictions[0], ending)

    return Report([], values, shown, figure)


def _predicted(
    predictor: Predictor, texts: Sequence[str], glossary: Path | None, memory: Path | None, say: Say, *, explain: bool
) -> Predictions:
    """Return predictions, with a glossary and similar segments of a memory. Raises ConfigError where none is read."""
    terms, matches = None, None
    if glossary is not None:
        terms = Glossary.read(glossary, predictor.setup.languages)
    if memory is not None:
        context = predictor.setup.context
        if not context.reads_memory:
            problem = "is for a model trained with data.source_augmentations=fuzzy_matches"
            hint = "for another one: decoding.features='[{name: nearest_segments, memory: FILE}]'"
            raise ConfigError("--memory", problem, hint)
        with closing(TranslationMemory(memory)) as opened:
            opened.check_languages(predictor.setup.languages, "--memory")
            matches = recalled_sentences(opened, texts, context)
        for found in matches:
            if found and found[0].exact:
                reused = f"--memory has '{found[0].source:.60}', which regard predict reuses"
                say(f"{reused}; this explains the model's own translation")
    predictions = predictor.predict(texts, explain=explain, glossary=terms, matches=matches)
    explained = [one.explanation for one in predictions if one.explanation is not None]
    if explained and not any(one.maps or one.links for one in explained):
        say("this model has no attention: --method integrated_gradients weighs its words (regard list relevance)")
    return predictions


def _shown(predictions: Sequence[Prediction], name: str, others: Mapping[str, Sequence[Prediction]]) -> str:
    """Return the answers, each with those beside it, in the colours of the terminal."""
    console = Console()
    with console.capture() as capture:
        for place, one in enumerate(predictions):
            show([one], console)
            if others:
                beside = {other: several[place] for other, several in others.items()}
                console.out(*beside_lines({name: one, **beside}), sep="\n", highlight=False)
    return capture.get().removesuffix("\n")


def _picture(first: Prediction, ending: str) -> bytes:
    """Return the plot of an answer; empty without an explanation."""
    if (found := first.explanation) is None:
        return b""
    title = "Attention" if found.link.weights else "Attention to the words before"
    if ending == ".svg":
        return svg_of(found, title=title, source=first.source).encode()
    return png_of(found, title=title, source=first.source)


def check_layer(layer: str | None, methods: Sequence[Choice], *, steps: bool, taught: str | None = None) -> None:
    """Raise ConfigError where the states of a layer cannot be explained."""
    if layer is not None and taught is not None:
        raise ConfigError("--taught", "is for words of a translation, and --of explains none", "leave one out")
    if layer is not None and len(methods) != 1:
        raise ConfigError("--of", "needs one method", "--method lrp")
    if layer is not None and steps:
        raise ConfigError("--steps", "shows the search for an answer, and --of has no search", "leave one out")


def _beside(
    first: Predictor, second: Predictor, predictions: Sequence[Prediction], methods: Sequence[Choice]
) -> dict[str, Sequence[Prediction]]:
    """Return the same answers as explained by another run, by its name. Raises ConfigError for another task."""
    run, other = first.run.path, second.run.path
    kinds = [(one.task.spec.translated, *one.task.columns, one.setup.languages) for one in (first, second)]
    if kinds[0] != kinds[1] or second.task.spec.translated is None:
        raise ConfigError("--beside", f"{other} does not translate as {run} does", "a translator of the same languages")
    explained = second.explainer.with_own_explanations(predictions, methods)
    return {other.name if other.name != run.name else str(other): explained}


def sorted_words(words: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Return texts, changes to the run, and settings of a method; whatever is neither of these is a text."""
    change, setting = re.compile(rf"({'|'.join(OPEN)})(\.\w+)*="), re.compile(r"method\.\w+=")
    changes, settings = ([word for word in words if kind.match(word)] for kind in (change, setting))
    return [word for word in words if word not in (*changes, *settings)], changes, settings


def methods_of(names: Sequence[str], settings: Sequence[str]) -> list[Choice]:
    """Return methods by their names; one alone may have settings. Raises ConfigError for what is none."""
    if len(names) != 1 and settings:
        raise ConfigError(settings[0].partition("=")[0], "is a setting of one method", "--method NAME, once")
    changed = parse_changes(settings).get("method", {})
    return [Choice(known.name, {**known.settings, **changed}) for known in map(method_of, names)]
