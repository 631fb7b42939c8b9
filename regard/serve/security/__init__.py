"""Who may ask, how often, and what an answer may do in a browser."""
