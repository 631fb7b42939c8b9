"""Models in processes of their own, behind queues. This package needs neither HTTP nor torch.

Only `worker`, `answering` and `model_card` need torch; they run in a model's process.
"""
