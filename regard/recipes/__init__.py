"""Recipes: commands of several steps."""
