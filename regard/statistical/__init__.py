"""What is counted rather than learned by gradient: word alignments, lexicons, phrase tables."""
