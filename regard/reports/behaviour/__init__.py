"""Behaviour tests: `regard check`."""
