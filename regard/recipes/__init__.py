"""Several steps in a row: what a person would type one after the other."""
