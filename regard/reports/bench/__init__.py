"""The cost of attention mechanisms: time and memory over lengths."""

from regard.reports.bench.bench import Workload, bench, bench_report, mechanisms_of

__all__ = ["Workload", "bench", "bench_report", "mechanisms_of"]
