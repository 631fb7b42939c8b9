"""regard doctor: what the machine does fast, and what is chosen for it."""

from typing import Any

import torch

from regard.ops.kernels.transformer import compiled_transformer
from regard.ops.machine import best_threads, onednn_kinds
from regard.ops.processor import processor
from regard.ops.timings import PRODUCT_KINDS, kept_timings, timings, timings_file
from regard.reports.report import Report

_NAMES = {"avx2": "AVX2", "avx512": "AVX-512", "int8": "int8 (VNNI)", "bfloat16": "bfloat16", "amx": "AMX"}
NO_COMPILER = "none that works (CXX, or c++; or the cache cannot be written): answers take twice as long"
_BACKENDS = ("torch", "onednn", "bfloat16")


def doctor_report(*, again: bool) -> Report:
    """Report the measured speed of the machine; a true argument measures it again."""
    found = _found(again=again)
    return Report([], found, "\n".join(_lines(found)))


def _found(*, again: bool) -> dict[str, Any]:
    measured, known, threads = timings(again=again), processor(), torch.get_num_threads()
    onednn_kinds.cache_clear()
    return {
        "processor": {"vendor": known.vendor, "model": known.model, **known.features},
        "torch": torch.__version__,
        "compiled": compiled_transformer() is not None,
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "threads": {"all": threads, "best": best_threads(measured, threads), "ms": dict(measured.threads)},
        "products": {
            kind: {"shape": shape, "by": "onednn" if kind in onednn_kinds(threads) else "torch", "ms": ms}
            for kind, shape in PRODUCT_KINDS.items()
            if (ms := measured.products.get(threads, {}).get(kind)) is not None
        },
        "kept": str(timings_file()) if kept_timings() else None,
    }


def _lines(found: dict[str, Any]) -> list[str]:
    known, threads = found["processor"], found["threads"]
    has = ", ".join(name for key, name in _NAMES.items() if known[key])
    lacks = ", ".join(name for key, name in _NAMES.items() if not known[key])
    took = ", ".join(f"{count}: {ms:.2f} ms" for count, ms in threads["ms"].items())
    return [
        f"processor  {known['model']} ({known['vendor']})",
        f"  has      {has or 'none of those below'}",
        f"  has not  {lacks or '-'}",
        f"torch      {found['torch']}, GPU: {found['gpu'] or 'none'}",
        f"compiler   {'found: Transformers answer by compiled code' if found['compiled'] else NO_COMPILER}",
        f"threads    {threads['best']} of {threads['all']} are worth it ({took})",
        "products   ms of torch's BLAS, oneDNN, bfloat16 · backend of float32",
        *(
            f"  {kind:<10} {' x '.join(map(str, one['shape'])):<18}{_times(one['ms'])} · {one['by']}"
            for kind, one in found["products"].items()
        ),
        f"kept in    {found['kept'] or 'no file: the cache folder cannot be written'}",
    ]


def _times(ms: dict[str, float]) -> str:
    return "".join(f"{ms[backend]:9.3f}" if backend in ms else "        -" for backend in _BACKENDS)
