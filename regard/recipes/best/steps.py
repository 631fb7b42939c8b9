"""The table of steps of `regard best`, in the order in which they are tried."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import ClassVar

from regard.evaluation.metric import corpus_of
from regard.experiment import ConsensusSettings, RerankSettings
from regard.predictor import load
from regard.predictor.consensus import best_of, translations_of
from regard.predictor.reranking import NETWORK, WORDS
from regard.recipes.best.networks import TWIN_STEP, BackTranslated, Distilled, Network, SelfTaught, Taught, Twin
from regard.recipes.best.phrases import PhrasesOfBackTranslations, PhrasesOfPairs
from regard.recipes.best.step import NO_TIME, BestStep, Family, NoGainError
from regard.recipes.best.workshop import CHUNK, Workshop, copied_run
from regard.recipes.rerank_tuning import tune_weights
from regard.runs import Run

_MEMBERS = 4  # networks that write together, at most
_TUNING = 0.6  # share of the time; the rest goes to the translation of the dev set
_N_BEST = 50  # translations of phrases that are reranked
_CANDIDATES, _AGREEING = 20, 400  # translations of each translator; dev sentences by which the weight is chosen
_WEIGHTS = (0.25, 0.5, 1.0, 2.0)  # of the candidates of phrases, beside 1 for the network


class NetworksTogether(BestStep):
    """The mean of the log-probabilities of the networks so far, which share a vocabulary."""

    about = "networks so far, writing together"
    family: ClassVar[Family] = "network"
    fraction = 0.03

    def make(self, name: str, work: Workshop, seconds: float) -> str:
        first, *others = _members(work)
        if not others:
            raise NoGainError("there is one network alone")
        copied_run(first, work.run(name), replace(Run.open(first).experiment.decoding, ensemble=tuple(others)))
        return ", ".join(one.name for one in (first, *others))


class Reranked(BestStep):
    """The n best translations of phrases, reranked by the best network, with weights that make most of both."""

    about = "phrases whose best translations the network reranks"
    family: ClassVar[Family] = "combination"
    fraction = 0.06

    def make(self, name: str, work: Workshop, seconds: float) -> str:
        phrases, network = work.needed("phrases"), work.needed("network")
        before = [place for place, one in enumerate(work.results) if one.family == "combination"]
        if before and not any(one.kept for one in work.results[before[-1] + 1 :]):
            raise NoGainError("nothing is better since the last combination")
        named, minutes = [f"decoding.rerank.run={network}"], _TUNING * seconds / 60
        found = tune_weights(phrases, named, n_best=_N_BEST, minutes=minutes, say=work.say)
        if found.path is None:
            raise NoGainError(f"no weight of {network.name} makes {phrases.name} better")
        rerank = RerankSettings(network, found.weights[NETWORK], found.weights[WORDS], _N_BEST)
        copied_run(phrases, work.run(name), replace(Run.open(phrases).experiment.decoding, rerank=rerank))
        return f"{phrases.name} reranked by {network.name}, weight {rerank.weight:.3f}"


class Agreed(BestStep):
    """The translation that the n best of the best network and of phrases agree on most (minimum Bayes risk)."""

    about = "translations that network and phrases agree on most"
    family: ClassVar[Family] = "combination"
    fraction = 0.05

    def make(self, name: str, work: Workshop, seconds: float) -> str:
        network, phrases = work.needed("network"), work.needed("phrases")
        sources, references = work.sources[:_AGREEING], work.references[:_AGREEING]
        began, metric = monotonic(), work.metric
        end = began + _TUNING * seconds
        translators = [translations_of(load(run), _CANDIDATES) for run in (network, phrases)]
        lists = list[Sequence[Sequence[str]]]()  # of each sentence, the candidates of both
        while (count := len(lists)) < len(sources) and (not count or monotonic() < end):
            some = sources[count : count + CHUNK]
            lists += zip(*(translations(some, None) for translations in translators), strict=True)
        if (monotonic() - began) * len(work.sources) / len(lists) > work.seconds_left:
            raise NoGainError(NO_TIME)  # to translate the dev set
        bleu = dict[float, float]()
        for weight in _WEIGHTS:
            texts = [next(iter(best_of(some, [1.0, weight], 1))) for some in lists]
            statistics = metric.statistics(corpus_of(texts, references[: len(texts)]))
            bleu[weight] = metric.value(statistics.sum(axis=0))
        weight = max(bleu, key=bleu.__getitem__)
        consensus = ConsensusSettings((phrases,), weight, _CANDIDATES)
        copied_run(network, work.run(name), replace(Run.open(network).experiment.decoding, consensus=consensus))
        return f"{network.name} and {phrases.name}, weight {weight:g}"


def _members(work: Workshop) -> list[Path]:
    """The best networks of one model each, the best first. Raises NoGainError where there is none."""
    work.needed("network")
    found = [one for one in work.results if one.family == "network" and not work.is_joined(work.run(one.step))]
    return [work.run(one.step) for one in sorted(found, key=lambda one: -one.bleu)[:_MEMBERS]]


BEST_STEPS: Mapping[str, BestStep] = MappingProxyType(
    {
        "phrases": PhrasesOfPairs(),
        "phrases_of_back": PhrasesOfBackTranslations(),
        "network": Network(),
        TWIN_STEP: Twin(),
        "reranked": Reranked(),
        "taught": Taught(),
        "back": BackTranslated(),
        "self_taught": SelfTaught(),
        "together": NetworksTogether(),
        "reranked_again": Reranked(),
        "agreed": Agreed(),
        "distilled": Distilled(),
    }
)
