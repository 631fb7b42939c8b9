"""Where the time of a training update goes: each product beside the roofline of this machine.

    REGARD_DATA=PATH python benchmarks/roofline.py [--sizes S B] [--updates 5] [--precision bf16] [--json FILE]

The roofline of a product (Williams et al. 2009, https://doi.org/10.1145/1498765.1498785) is the smaller of two speeds:
that of the largest product measured here, and its arithmetic intensity (operations a byte of its factors and result)
times the bandwidth of a copy. One batch is learnt `--updates` times, so that shapes repeat. Times are those of torch's
profiler, by the clock: measure on a quiet machine. Sizes are those of benchmarks/train.py.
"""

import math
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from program import as_line, machine, markdown, save
from torch.profiler import ProfilerActivity, profile
from training_runs import batches_of, training_stream, updater_of
from workload import SIZES, parser_of, prepare

RATE, WARM_UP, REPEATS = 1e-4, 2, 5
SIDE, COPIED = 2_048, 2**24  # of the product that measures the peak; numbers in the copy
LARGEST = 10  # products with a row of their own
PRODUCTS = {"aten::mm": (0, 1), "aten::addmm": (1, 2), "aten::bmm": (0, 1)}  # places of the two factors
LINEAR = "mkldnn::_linear_pointwise"  # oneDNN's product of inputs (…, in) and a weight (out, in)


class Machine(NamedTuple):
    """Speeds that bound a product."""

    operations: float  # a second, of a large product
    bandwidth: float  # bytes a second, read and written

    def bound(self, intensity: float) -> float:
        """Return the operations a second that are possible at an arithmetic intensity."""
        return min(self.operations, intensity * self.bandwidth)


class Product(NamedTuple):
    """A product of two matrices, or of as many pairs of them."""

    rows: int
    inner: int
    columns: int
    pairs: int = 1

    @property
    def operations(self) -> int:
        """Multiplications and additions."""
        return 2 * self.pairs * self.rows * self.inner * self.columns

    def __str__(self) -> str:
        pairs = f"{self.pairs:,} × " if self.pairs > 1 else ""
        return f"{pairs}({self.rows:,} × {self.inner:,}) · ({self.inner:,} × {self.columns:,})"

    def intensity(self, size: int) -> float:
        """Return operations a byte of factors and result, with numbers of `size` bytes."""
        moved = self.rows * self.inner + self.inner * self.columns + self.rows * self.columns
        return self.operations / (size * self.pairs * moved)


class Spent(NamedTuple):
    """What an operation cost."""

    seconds: float
    calls: int


def product_of(name: str, shapes: Sequence[Sequence[int]]) -> Product | None:
    """Return the product that an operation of torch computes; None for any other operation."""
    if name == LINEAR:
        inputs, weight = shapes[:2]
        return Product(math.prod(inputs[:-1]), inputs[-1], weight[0])
    if name not in PRODUCTS:
        return None
    left, right = (shapes[place] for place in PRODUCTS[name])
    return Product(left[-2], left[-1], right[-1], left[0] if len(left) == 3 else 1)


def fastest(call: Callable[[], object]) -> float:
    """Return the least seconds of a few calls, after one to warm up."""
    call()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def measured(dtype: torch.dtype) -> Machine:
    """Return the speeds of this machine with the present number of threads."""
    left, right = (torch.randn(SIDE, SIDE).to(dtype) for _ in range(2))
    source = torch.zeros(COPIED)
    target = torch.empty_like(source)
    operations = Product(SIDE, SIDE, SIDE).operations / fastest(lambda: left @ right)
    return Machine(operations, 2 * source.nbytes / fastest(lambda: target.copy_(source)))


def profiled(size: str, changes: Sequence[str], updates: int, precision: str) -> list[Any]:
    """Return torch's events of updates, by operation and shapes."""
    with tempfile.TemporaryDirectory() as folder:
        run = prepare(Path(folder), [*SIZES[size], *changes])
        training_stream(run)
        updater, _ = updater_of(run, RATE, precision=precision)
        batch = next(batches_of(run))
        for _ in range(WARM_UP):
            updater.update([batch], 1)
        os.environ["KINETO_LOG_LEVEL"] = "99"  # against the profiler's own lines
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True, acc_events=True) as seen:
            for _ in range(updates):
                updater.update([batch], 1)
    return [*seen.key_averages(group_by_input_shape=True)]


def rows_of(events: Sequence[Any], limits: Machine, size: int) -> list[list[str]]:
    """Return a row for each of the largest products, for the others, for all, and for other large operations.

    `size`: bytes of a number.
    """
    spent: dict[Product | str, Spent] = defaultdict(lambda: Spent(0.0, 0))
    for event in events:
        product = product_of(event.key, event.input_shapes)
        key = event.key if product is None or not product.operations else product
        seconds, calls = spent[key]
        spent[key] = Spent(seconds + event.self_cpu_time_total / 1e6, calls + event.count)
    total = sum(one.seconds for one in spent.values())
    ranked = sorted(spent, key=lambda key: -spent[key].seconds)
    products = {key: spent[key] for key in ranked if isinstance(key, Product)}
    rest = {f"`{key}`": spent[key].seconds for key in ranked if isinstance(key, str)}
    shown, small = [*products][:LARGEST], [*rest][LARGEST:]
    groups = {str(one): [one] for one in shown}
    groups |= {"other products": [*products][LARGEST:], "**all products**": [*products]}
    rows = [
        _row(name, {one: products[one] for one in each}, total, limits, size) for name, each in groups.items() if each
    ]
    lines = [
        *((name, rest[name]) for name in rest if name not in small),
        ("everything else", sum(rest[one] for one in small)),
    ]
    return rows + [[name, f"{seconds / total:.1%}", "", "", ""] for name, seconds in lines]


def _row(name: str, products: Mapping[Product, Spent], total: float, limits: Machine, size: int) -> list[str]:
    seconds = sum(one.seconds for one in products.values())
    operations = sum(one.calls * product.operations for product, one in products.items())
    least = sum(
        one.calls * product.operations / limits.bound(product.intensity(size)) for product, one in products.items()
    )
    speeds = (f"{operations / time / 1e9:.0f}" for time in (seconds, least))
    return [name, f"{seconds / total:.1%}", *speeds, f"{least / seconds:.0%}"]


def main() -> None:
    """Print a table for each size."""
    parser = parser_of(__doc__, updates=5)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES), help="of the model (default all)")
    parser.add_argument("--precision", choices=("float32", "bf16"), default="float32")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    limits = measured(torch.bfloat16 if chosen.precision == "bf16" else torch.float32)
    size = 2 if chosen.precision == "bf16" else 4
    found, tables = machine(chosen.threads), {}
    print(as_line(found))
    print(
        f"{limits.operations / 1e9:.0f} Gflop/s in a product of {SIDE:,}, {limits.bandwidth / 1e9:.1f} GB/s in a copy"
    )
    for name in chosen.sizes:
        events = profiled(name, chosen.changes, chosen.updates, chosen.precision)
        cells = ("product or operation", "share of time", "Gflop/s", "roofline, Gflop/s", "reached")
        tables[name] = markdown(cells, rows_of(events, limits, size))
        print(f"\n**{name}**\n\n{tables[name]}")
    save(chosen.json, {**found, "limits": limits._asdict(), "tables": tables})


if __name__ == "__main__":
    main()
