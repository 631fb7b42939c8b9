"""A check of parallel text: faults of pairs ranked, a page, a clean copy."""
