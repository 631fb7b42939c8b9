"""Private doors of libraries, all in one place: each has a test that fails when a new version closes it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:  # every library is imported where it is used, so that `regard --help` loads none
    from torch import Tensor, nn

    Product = Callable[[Tensor, Tensor, Tensor | None], Tensor]


def onednn_linear() -> "Product | None":
    """Return oneDNN's product inputs Wᵀ + b, which `torch.compile` calls too; None in a torch built without it."""
    import torch

    found = getattr(torch.ops.mkldnn, "_linear_pointwise", None) if torch.backends.mkldnn.is_available() else None
    if found is None:
        return None
    product = cast(Any, found)
    return lambda inputs, weight, bias: product(inputs, weight, bias, "none", [], "")


def functorch_is_active() -> bool:
    """Return whether a transform of `torch.func` is running: inside, no tensor can be written to in place."""
    import torch

    return bool(torch._C._are_functorch_transforms_active())


def multiply_all(tensors: "Sequence[Tensor]", factor: float) -> None:
    """Multiply tensors in place, all in one call."""
    import torch

    torch._foreach_mul_(list(tensors), factor)


def coalesced(gradient: "Tensor") -> "Tensor":
    """Return a sparse gradient with each row once, in rising order.

    Of one that autograd has passed on, torch forgets that it is so already; sorting it again takes longer than to look.
    """
    import torch

    rows = gradient._indices()
    if bool((rows[0, 1:] > rows[0, :-1]).all()):
        return torch.sparse_coo_tensor(
            rows, gradient._values(), gradient.shape, is_coalesced=True, check_invariants=False
        )
    return gradient.coalesce()


def uncompiled(model: "nn.Module") -> "nn.Module":
    """Return the module inside a compiled one, or the module itself."""
    return getattr(model, "_orig_mod", model)


def usage_error() -> type[Exception]:
    """Return the class of every misuse of a command line, which typer does not name."""
    import typer

    return typer.BadParameter.__mro__[1]


def http_protocol() -> type[Any]:
    """Return uvicorn's HTTP protocol, whose subclass sees the bytes of a request as they come."""
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    return HttpToolsProtocol
