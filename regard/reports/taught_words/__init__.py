"""The training pairs that taught a word of a translation."""
