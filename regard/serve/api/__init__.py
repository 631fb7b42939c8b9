"""What clients may ask: LibreTranslate's questions, and our own under /v1."""
