"""Report on finished models: figures with intervals, comparisons, confidence, heads, explanations. One function each.

Those of a run take its Predictor and return a Report; `evaluate` and `compare_configs` return all figures, as systems
may be files, and configs that are not trained yet.
"""
