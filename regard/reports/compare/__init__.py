"""Several configs on one data set with several seeds: which is better, and how surely."""
