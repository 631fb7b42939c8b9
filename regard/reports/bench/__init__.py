"""The cost of attention mechanisms: time and memory over lengths."""

from regard.reports.bench.bench import Workload, bench
from regard.reports.bench.mechanisms import mechanisms_of
from regard.reports.bench.report import bench_report

__all__ = ["Workload", "bench", "bench_report", "mechanisms_of"]
