"""C++ that is compiled where it runs, and Python that calls it: packed weights, Transformer steps, likeliest words."""
