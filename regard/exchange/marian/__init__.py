"""Models of Marian: OPUS-MT's originals, and the students of Firefox Translations."""
