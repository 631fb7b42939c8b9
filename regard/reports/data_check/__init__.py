"""A check of parallel text: faults of pairs ranked, a page, a clean copy."""

from regard.reports.data_check.check_data import (
    check_data,
    clean_report,
    data_check_page,
    faults_report,
    mended_report,
    read_corrections,
    read_numbered_pairs,
    read_text_pairs,
)

__all__ = [
    "check_data",
    "clean_report",
    "data_check_page",
    "faults_report",
    "mended_report",
    "read_corrections",
    "read_numbered_pairs",
    "read_text_pairs",
]
