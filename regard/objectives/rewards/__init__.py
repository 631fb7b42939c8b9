"""Rewards of written targets beside that of a metric. One file a row, each built with (context,)."""

from regard.objectives.rewards.coherence import CoherenceReward
from regard.objectives.rewards.reward import REWARDS_PLACE, Reward
from regard.registry import Registry

REWARDS: Registry[Reward] = Registry(
    REWARDS_PLACE, {"coherence": CoherenceReward}, within="objective={{name: minimum_risk, rewards: {part}}}"
)
