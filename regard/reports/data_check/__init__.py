"""A check of parallel text: faults of pairs ranked, a page, a clean copy."""

from regard.reports.data_check.check_data import (
    DataCheck,
    PairFault,
    check_data,
    clean_report,
    faults_report,
    mended_report,
    read_corrections,
    read_numbered_pairs,
    read_text_pairs,
)
from regard.reports.data_check.page import data_check_page

__all__ = [
    "DataCheck",
    "PairFault",
    "check_data",
    "clean_report",
    "data_check_page",
    "faults_report",
    "mended_report",
    "read_corrections",
    "read_numbered_pairs",
    "read_text_pairs",
]
