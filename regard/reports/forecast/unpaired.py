"""Measure of two texts without pairs: distance of their word spaces, shared strings, perplexity.

Word vectors are singular vectors of positive pointwise mutual information (Levy and Goldberg 2014): seconds, where a
training would take minutes.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import exp, fsum
from typing import NamedTuple

import torch
from torch import Tensor

from regard.errors import DataError, PartError
from regard.registry import Choice
from regard.statistical.dictionaries import DICTIONARY_METHODS
from regard.statistical.dictionaries.method import Space
from regard.statistical.dictionaries.spaces import centred_units, matches, mean_csls
from regard.statistical.kneser_ney import kneser_ney
from regard.statistical.ngram_model import NgramModel
from regard.text.words import cut_words

FEWEST_LINES = 200  # of each language
_VECTOR_WORDS, _VECTOR_DIM, _WINDOW = 2_000, 50, 3  # most frequent words, and words on each side that count
_GRAPH_WORDS, _GRAPH_NEIGHBOURS = 500, 10
_WEIGHT_SHARE = 0.9  # of the sum of eigenvalues: those that count (section 3.2 of the paper)
_COMPARED_WORDS = 2_000  # most frequent words whose spelling is compared
_READ_LINES = 20_000  # of each text, at most
_HELD_LINES = 200  # that perplexities are measured on
_ORDER = 3
_IDENTICAL = Choice("identical")


class TextsFacts(NamedTuple):
    """Measure of two texts of which no line is known to translate another."""

    lines: int  # of the shorter text
    shared_strings: float  # share of the most frequent source words that the target has, spelt alike
    eigenvector_distance: float
    mean_csls: float  # of the dictionary that words spelt alike start; 0: there were none
    perplexity_ratio: float  # of word-by-word translations, as a multiple of that of held-out target lines

    def features(self) -> list[float]:
        """Return the features of the relation to the BLEU of word-by-word translation."""
        return [1.0, self.shared_strings, self.eigenvector_distance / 100, self.mean_csls]


def eigenvector_distance(source: Tensor, target: Tensor, neighbours: int = _GRAPH_NEIGHBOURS) -> float:
    """Return Σ (λ - λ')² over the largest eigenvalues of the Laplacians of two nearest-neighbour graphs.

    Rows are unit vectors (word, dim), as many in each. As many eigenvalues count as make up 90 % of the sum in the
    graph that needs fewer. 0: the graphs have one spectrum (section 3.2 of https://aclanthology.org/P18-1072).
    """
    one, other = (laplacian_spectrum(neighbour_graph(each, neighbours)) for each in (source, target))
    return spectral_distance(one, other)


def neighbour_graph(vectors: Tensor, neighbours: int) -> Tensor:
    """Return the adjacency matrix (word, word) in which a word and each of its nearest words by cosine are linked."""
    cosines = vectors @ vectors.T
    cosines.fill_diagonal_(-2.0)
    near = cosines.topk(min(neighbours, len(vectors) - 1), dim=1).indices
    graph = torch.zeros_like(cosines, dtype=torch.float64).scatter_(1, near, 1.0)
    return torch.maximum(graph, graph.T)


def laplacian_spectrum(graph: Tensor) -> Tensor:
    """Return the eigenvalues of D - A, the largest first."""
    return torch.linalg.eigvalsh(torch.diag(graph.sum(dim=1)) - graph).flip(0)


def spectral_distance(one: Tensor, other: Tensor) -> float:
    """Return the sum of squared differences of the eigenvalues that count."""
    needed = [int((spectrum.cumsum(0) < _WEIGHT_SHARE * spectrum.sum() - 1e-9).sum()) + 1 for spectrum in (one, other)]
    count = min(*needed, len(one), len(other))
    return float((one[:count] - other[:count]).square().sum())


def texts_facts(source: Sequence[str], target: Sequence[str]) -> TextsFacts:
    """Return the measures of two texts, a sentence a line. Raises DataError for too few lines."""
    one, other = ([cut_words(line) for line in text[:_READ_LINES] if line.strip()] for text in (source, target))
    lines = min(len(one), len(other))
    if lines < FEWEST_LINES:
        problem = f"{lines:,} lines of one language are too few for a forecast; {FEWEST_LINES} are needed"
        raise DataError("text", problem, hint="give more text")
    left, right = word_space(one), word_space(other)
    count = min(_GRAPH_WORDS, len(left.words), len(right.words))
    distance = eigenvector_distance(centred_units(left.head(count)), centred_units(right.head(count)))
    dictionary, csls = identical_dictionary(left, right)
    return TextsFacts(lines, shared_strings(one, other), distance, csls, _perplexity_ratio(one, other, dictionary))


def word_space(sentences: Sequence[Sequence[str]]) -> Space:
    """Return vectors of the most frequent words, the most frequent first."""
    counts = Counter(word for sentence in sentences for word in sentence)
    words = [word for word, _ in counts.most_common(_VECTOR_WORDS)]
    rows = {word: row for row, word in enumerate(words)}
    ids = [[rows.get(word, -1) for word in sentence] for sentence in sentences]
    flat = torch.tensor([one for line in ids for one in (*line, *[-1] * _WINDOW)])
    joint = torch.zeros(len(words) ** 2)
    for step in range(1, _WINDOW + 1):
        left, right = flat[:-step], flat[step:]
        known = (left >= 0) & (right >= 0)
        joint += torch.bincount(left[known] * len(words) + right[known], minlength=len(joint))
    table = joint.view(len(words), len(words))
    table = table + table.T
    smoothed = table.sum(dim=0) ** 0.75
    expected = table.sum(dim=1, keepdim=True) * (smoothed / smoothed.sum())
    positive = (table / expected.clamp(min=1e-9)).log().clamp(min=0.0)
    generator_state = torch.random.get_rng_state()
    torch.manual_seed(1)
    left, values, _ = torch.svd_lowrank(positive, q=min(_VECTOR_DIM, len(words)), niter=4)
    torch.random.set_rng_state(generator_state)
    return Space(words, centred_units(left * values.sqrt()))


def identical_dictionary(source: Space, target: Space) -> tuple[Mapping[str, str], float]:
    """Return the best translation of each word by words spelt alike, and the mean CSLS; none where nothing is alike."""
    width = min(source.vectors.shape[1], target.vectors.shape[1])
    one, other = (Space(each.words, each.vectors[:, :width]) for each in (source, target))
    try:
        maps = DICTIONARY_METHODS.build(_IDENTICAL).fit(one, other, torch.Generator().manual_seed(1))
    except PartError:
        return {}, 0.0
    mapped, others = maps.apply(one.vectors, other.vectors)
    places = matches(mapped, others).places[:, 0].tolist()
    return dict(zip(source.words, (target.words[one] for one in places), strict=True)), mean_csls(mapped, others)


def shared_strings(source: Sequence[Sequence[str]], target: Sequence[Sequence[str]]) -> float:
    """Return the share of the most frequent source words, signs left out, that the target has in the same spelling."""
    counts = Counter(word for sentence in source for word in sentence if word.strip().isalnum())
    known = {word for sentence in target for word in sentence}
    words = [word for word, _ in counts.most_common(_COMPARED_WORDS)]
    return sum(word in known for word in words) / max(1, len(words))


def perplexity(language: NgramModel, sentences: Sequence[Sequence[str]]) -> float:
    """Return the perplexity of sentences, ends included."""
    losses = [-fsum(language.log_probs_of(one)) for one in sentences]
    return exp(fsum(losses) / sum(len(one) + 1 for one in sentences))


def domain_overlap(text: Sequence[str], side: Sequence[str]) -> float:
    """Return the perplexity of one side of the pairs, held out, by text of that language, as a multiple of its own.

    1: the text is of the domain of the pairs. Both models count as many lines. Raises DataError for too few lines.
    """
    own, other = ([cut_words(line) for line in lines[:_READ_LINES] if line.strip()] for lines in (side, text))
    held, own = own[:_HELD_LINES], own[_HELD_LINES:]
    count = min(len(own), len(other))
    if count < FEWEST_LINES:
        problem = f"{len(own) + len(held):,} pairs and {len(other):,} lines are too few"
        raise DataError(
            "text", problem, hint=f"give {FEWEST_LINES + _HELD_LINES} pairs and {FEWEST_LINES} lines at least"
        )
    return perplexity(kneser_ney(other[:count], _ORDER), held) / perplexity(kneser_ney(own[:count], _ORDER), held)


def _perplexity_ratio(
    source: Sequence[Sequence[str]], target: Sequence[Sequence[str]], dictionary: Mapping[str, str]
) -> float:
    held, counted = target[-_HELD_LINES // 2 :], target[: -_HELD_LINES // 2]
    language = kneser_ney(counted, _ORDER)
    translated = [[dictionary.get(word, word) for word in line] for line in source[: len(held)]]
    return perplexity(language, translated) / perplexity(language, held)
