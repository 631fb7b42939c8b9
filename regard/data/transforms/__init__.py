"""Transforms: batch → batch, random by (seed, epoch, line). One file a row."""

from collections.abc import Iterable

from regard.data.streams import PlannedStream
from regard.data.transforms.noise import Noise
from regard.data.transforms.transform import LineSeeds, Transform, Transformed
from regard.registry import Choice, Registry

TRANSFORMS: Registry[Transform] = Registry("data.transforms", {"noise": Noise})


def transformed(stream: PlannedStream, choices: Iterable[Choice], seed: int) -> PlannedStream:
    """Return the stream with all chosen transforms, applied in order."""
    for stage, choice in enumerate(choices):
        stream = Transformed(stream, TRANSFORMS.build(choice), seed=seed, stage=stage)
    return stream


__all__ = ["TRANSFORMS", "LineSeeds", "Transform", "transformed"]
