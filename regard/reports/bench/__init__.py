"""Time and memory of mechanisms over lengths."""
