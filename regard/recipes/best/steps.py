"""The table of steps of `regard best`, in the order in which they are tried."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from regard.experiment import RerankSettings
from regard.predictor.reranking import NETWORK, WORDS
from regard.recipes.best.networks import BackTranslated, Distilled, Network, SelfTaught, Taught
from regard.recipes.best.phrases import PhrasesOfBackTranslations, PhrasesOfPairs
from regard.recipes.best.step import BestStep, Family, NoGainError
from regard.recipes.best.workshop import Workshop, copied_run
from regard.recipes.rerank_tuning import tune_weights
from regard.runs import Run

_MEMBERS = 4  # networks that write together, at most
_TUNING = 0.6  # share of the time; the rest goes to the translation of the dev set
_N_BEST = 50  # translations of phrases that are reranked


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
        "reranked": Reranked(),
        "taught": Taught(),
        "back": BackTranslated(),
        "self_taught": SelfTaught(),
        "together": NetworksTogether(),
        "reranked_again": Reranked(),
        "distilled": Distilled(),
    }
)
