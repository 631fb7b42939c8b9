"""The cost of attention mechanisms: time and memory over lengths."""
