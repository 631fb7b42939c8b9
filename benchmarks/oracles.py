"""The table of docs/results/attention.md: how far each mechanism is from its oracles, and a config that trains it.

    python benchmarks/oracles.py            (runs the tests of attention, layers and objectives, about two minutes)

An oracle is a loop that follows the formula, torch's own module with the same weights, or an identity of the paper;
numbers are float64 unless a test says otherwise.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ("attention", "contracts", "decoders", "layers", "objectives")
CONFIGS = ("configs/translation/multi30k-{}.yaml", "configs/language/{}.yaml")

# code → what it is, and the name of a config that trains it, or where else it is used
ENTRIES = {
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
    "H03": ("names of the literature: each stands for something", "`attention/names.py`"),
}


def measured() -> dict[str, dict[str, float]]:
    """Entry → how many comparisons its tests made, and the largest deviation."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "deviations.json"
        tests = [str(ROOT / "tests" / name) for name in TESTS]
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--deviations", str(path), *tests]
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


def main() -> None:
    """Prints a line for each mechanism."""
    found = measured()
    missing = [code for code in ENTRIES if code not in found]
    print("| | mechanism | comparisons | largest deviation | trained by, or part |\n|---|---|---|---|---|")
    for code, (name, used) in ENTRIES.items():
        if code in found:
            count, largest = int(found[code]["oracles"]), found[code]["largest"]
            print(f"| {code} | {name} | {count} | {largest:.1e} | {where(used)} |")
    if missing:
        raise SystemExit(f"benchmark: no test tells of {', '.join(missing)}")


if __name__ == "__main__":
    main()
