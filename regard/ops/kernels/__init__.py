"""Compiled code without gradients: when it may run, weights packed as it reads them, and what it computes."""
