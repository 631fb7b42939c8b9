"""Training: one trainer for every model and objective, whose resumed runs equal uninterrupted ones bit for bit."""
