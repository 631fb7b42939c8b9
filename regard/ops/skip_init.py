"""Building modules without random initial values, which a checkpoint replaces anyway."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

_DRAWS = frozenset({nn.init.uniform_, nn.init.normal_, nn.init.kaiming_uniform_, Tensor.uniform_, Tensor.normal_})


class skip_init(TorchFunctionMode):  # noqa: N801  used as a context manager, as `torch.no_grad` is
    """Leave tensors as they are inside, instead of filling them with random numbers.

    >>> with skip_init():
    ...     model = nn.Linear(512, 512)
    >>> model.load_state_dict(weights)

    Filling 20 million numbers takes a tenth of a second. Every parameter must be loaded before it is used.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        given = kwargs or {}
        if func in _DRAWS:
            return given["tensor"] if "tensor" in given else args[0]
        return func(*args, **given)
