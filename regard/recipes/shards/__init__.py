"""Bulk prediction: files are cut into shards, several processes answer them, and the answers are joined in order."""
