"""Trained runs behind an HTTP API and a page. What is here needs no torch: each model has a process of its own."""
