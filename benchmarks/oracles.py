"""How far each mechanism, layer and network is from its oracles, and a config that trains it.

    python benchmarks/oracles.py                  (for benchmarks/notes/attention.md)
    python benchmarks/oracles.py architectures    (for benchmarks/notes/layers.md)

An oracle is a loop that follows the formula, torch's own module with the same weights, or an identity of the paper;
numbers are float64 unless a test says otherwise. Each table runs the tests that its entries stand in, a few minutes.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from program import ROOT, markdown, options

CONFIGS = ("configs/translation/multi30k-{}.yaml", "configs/language/{}.yaml", "configs/generation/{}.yaml")


class Table(NamedTuple):
    """What is compared, and by which tests."""

    title: str  # of a row
    tests: Sequence[str]  # folders and files under tests/, and tests in them
    entries: Mapping[str, tuple[str, str]]  # code → what it is, and a config that trains it, or where else it is used


ATTENTION = {
    "A01": ("attention of queries, keys and values", "transformer"),
    "A02": ("dot score", "luong-local"),
    "A03": ("scaled dot score", "transformer"),
    "A04": ("bilinear score", "luong"),
    "A05": ("additive score", "rnnsearch"),
    "A06": ("concat score", "concat"),
    "A07": ("multi-layer perceptron as score", "mlp"),
    "A08": ("cosine score", "cosine"),
    "A09": ("location score; scaled bilinear and normed additive", "location"),
    "A10": ("soft attention to everything", "rnnsearch"),
    "A11": ("hard attention by REINFORCE", "hard"),
    "A12": ("hard attention by Gumbel-softmax", "gumbel"),
    "A13": ("local attention, monotonic", "local-monotonic"),
    "A14": ("local attention, predictive", "luong-local"),
    "A15": ("static attention with a context vector", "context-vector"),
    "A16": ("featurewise attention", "`POOLINGS`"),
    "A17": ("forced-forward and monotonic attention", "forced-forward"),
    "A18": ("coverage", "coverage"),
    "A19": ("key-value and key-value-predict attention", "brown-key-value-predict"),
    "A20": ("structured self-attention and its penalty", "overlap"),
    "A21": ("self-attention", "transformer"),
    "A22": ("multi-head attention", "transformer"),
    "A23": ("masked attention", "transformer"),
    "A24": ("window, dilated and sparse", "window"),
    "A25": ("multi-step attention", "convs2s"),
    "A26": ("hierarchical attention", "`HierarchicalPooling`"),
    "A27": ("feed-forward attention", "`POOLINGS`"),
    "A28": ("doubly stochastic penalty; gate", "doubly-stochastic"),
    "A29": ("aligned question", "`AlignedQuestion`"),
    "A30": ("pooling by a query", "`POOLINGS`"),
    "A31": ("addressing of memories", "addressing"),
    "A32": ("attention of a decoder to an encoder", "transformer"),
    "A33": ("temporal and mutual attention", "temporal"),
    "A34": ("choice of the query, input feeding", "luong"),
    "B18": ("sinusoidal positions", "transformer"),
    "B19": ("learned positions", "learned-positions"),
    "B20": ("relative positions", "relative"),
    "B21": ("complex-order embedding, modulus score", "complex-order"),
    "G07": ("sinusoids shift by a rotation", "transformer"),
    "H01": ("attention for ranking", "`RankingAttention`"),
    "H02": ("kernel view of attention", "`attention/kernel_view.py`"),
    "H03": ("names of the literature: each stands for something", "`attention/recipes.py`"),
}

ARCHITECTURES = {
    "B01": ("simple recurrent network", "elman"),
    "B02": ("gated recurrent unit, reset before and after", "cho"),
    "B03": ("long short-term memory", "luong"),
    "B04": ("both directions, layers upon layers", "gnmt"),
    "B05": ("last, mean and greatest state", "`POOLINGS`"),
    "B06": ("simple recurrent unit, version 1; of one gate (SSRU)", "sru-v1"),
    "B07": ("simple recurrent unit, version 2", "sru"),
    "B08": ("the same as a scan and as a fused kernel", "sru"),
    "B09": ("Transformer with simple recurrent units", "transformer-sru"),
    "B10": ("sliced recurrent network", "`POOLINGS`"),
    "B11": ("convolutions with the best match of each", "`POOLINGS`"),
    "B12": ("masked convolution, dilated too", "brown-glu"),
    "B13": ("centred convolution, dilated too", "bytenet"),
    "B14": ("residual blocks, rectified and multiplicative", "bytenet"),
    "B15": ("sub-batch and cumulative normalisation", "bytenet-v1"),
    "B16": ("bag of character n-grams", "bytenet-v1"),
    "B17": ("gated linear unit, gated convolutions", "brown-glu"),
    "B22": ("position-wise feed-forward network", "transformer"),
    "B23": ("Transformer block", "transformer"),
    "B24": ("what layers cost by length", "`benchmarks/layers.py`"),
    "B25": ("encoders in sequence and in parallel", "parallel"),
    "C01": ("RNN encoder-decoder of Cho et al.", "cho"),
    "C02": ("sequence to sequence of Sutskever et al.", "sutskever"),
    "C03": ("RNNsearch", "rnnsearch"),
    "C04": ("translator of Luong et al.", "luong"),
    "C05": ("GNMT and its attention", "gnmt"),
    "C06": ("text drawn word by word", "brown-next-line"),
    "C07": ("ByteNet", "bytenet"),
    "C08": ("Recurrent ByteNet", "recurrent-bytenet"),
    "C09": ("language model of ByteNet", "brown-bytenet"),
    "C10": ("ConvS2S", "convs2s"),
    "C11": ("Transformer; average attention in its decoder", "transformer"),
    "C12": ("three attentions", "three-attention"),
    "C14": ("greedy search with and without a cache, beam", "transformer"),
    "D16": ("network with a tape of its own states (LSTMN)", "brown-lstmn"),
    "D17": ("key-value-predict and n-gram language models", "brown-key-value-predict"),
    "F04": ("weight norm, scaled gradients, clipping, Nesterov's momentum", "convs2s"),
}

TABLES = {
    "attention": Table("mechanism", ("attention", "decoders", "layers", "objectives"), ATTENTION),
    "architectures": Table(
        "layer or network",
        (
            "contracts/test_language_model_contract.py::test_a_greedy_continuation_is_the_argmax_again_and_again",
            "contracts/test_translator_contract.py::test_writing_into_a_padded_target_equals_writing_word_by_word",
            "decoders",
            "decoding/test_batch_mates.py::test_greedy_is_a_rereading_of_every_prefix",
            "decoding/test_beam_exhaustive.py",
            "decoding/test_sampling.py",
            "encoders",
            "layers",
            "models",
            "objectives/test_sub_batch.py",
            "training/test_nesterov.py",
            "training/test_updater.py",
            "test_benchmarks.py",
        ),
        ARCHITECTURES,
    ),
}


def measured(tests: Sequence[str]) -> dict[str, dict[str, float]]:
    """Entry → how many comparisons its tests made, and the largest deviation."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "deviations.json"
        places = [str(ROOT / "tests" / name) for name in tests]
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--deviations", str(path), *places]
        if subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False).returncode:
            raise SystemExit("benchmark: some tests fail, so there is no table: " + " ".join(command[1:]))
        found: dict[str, dict[str, float]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def where(used: str) -> str:
    """A config by its name, if it is there, or what was said."""
    if used.startswith("`"):
        return used
    path = next((path for each in CONFIGS if (ROOT / (path := each.format(used))).exists()), None)
    if path is None:
        raise SystemExit(f"benchmark: there is no config of {used}")
    return f"[{Path(path).stem}](../../{path})"


def lines(table: Table, found: Mapping[str, Mapping[str, float]]) -> str:
    """Markdown: a line for each entry that was found."""
    rows = [
        [code, name, int(found[code]["oracles"]), f"{found[code]['largest']:.1e}", where(used)]
        for code, (name, used) in table.entries.items()
        if code in found
    ]
    return markdown(["", table.title, "comparisons", "largest deviation", "trained by, or part"], rows)


def main() -> None:
    """Prints one of the tables."""
    parser = options(__doc__)
    parser.add_argument("table", nargs="?", choices=TABLES, default="attention")
    table = TABLES[parser.parse_args().table]
    found = measured(table.tests)
    print(lines(table, found))
    if missing := [code for code in table.entries if code not in found]:
        raise SystemExit(f"benchmark: no test tells of {', '.join(missing)}")


if __name__ == "__main__":
    main()
