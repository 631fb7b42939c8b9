"""Trained models behind an HTTP API and a page. The server needs no torch: each model has a process of its own."""
