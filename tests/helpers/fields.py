"""How far stacks of convolutions see."""


def receptive_field(kernel: int, dilations: list[int]) -> int:
    """1 + sum over the layers of (kernel - 1) · dilation: how many inputs an output of a stack sees, itself too."""
    return 1 + sum((kernel - 1) * dilation for dilation in dilations)
