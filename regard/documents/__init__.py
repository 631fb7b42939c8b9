"""Splits texts, pages and files into sentences, and puts their translations back with all markup kept."""
