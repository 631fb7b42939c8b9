"""From scores to a list, and what it costs that a list is not the ideal one.

ListMLE: https://doi.org/10.1145/1390156.1390306
"""

import torch
from torch import Tensor


def order(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """scores (..., place, result), mask (..., result) → (..., place): the result at each place, -1 where none is left.

    Each place in turn takes the best that is left; of equals the first.
    """
    left = torch.ones_like(scores[..., 0, :], dtype=torch.bool)
    left = left if mask is None else left & mask
    taken = []
    for row in scores.unbind(dim=-2) if scores.shape[-1] else ():
        best = row.masked_fill(~left, float("-inf")).argmax(dim=-1, keepdim=True)
        taken.append(torch.where(left.any(dim=-1, keepdim=True), best, -1))
        left = left.scatter(-1, best, False)
    return torch.cat(taken, dim=-1) if taken else scores.new_full(scores.shape[:-1], -1, dtype=torch.long)


def order_loss(scores: Tensor, ideal: Tensor, mask: Tensor | None = None) -> Tensor:
    """-sum_p log softmax_j(scores_pj) at the ideal result, over the results that no place before p took.

    scores (..., place, result), ideal (..., place) as `order` gives it, mask (..., result) → (...). If all places score
    alike this is ListMLE.
    """
    here = ideal.unsqueeze(-1) == torch.arange(scores.shape[-1], device=scores.device)  # (..., place, result)
    before = here.cumsum(dim=-2) - here.long() > 0
    hidden = before if mask is None else before | ~mask.unsqueeze(-2)
    filled = ideal >= 0  # an empty place costs nothing; hidden all along, its sum would be log 0
    normaliser = scores.masked_fill(hidden & filled.unsqueeze(-1), float("-inf")).logsumexp(dim=-1)
    chosen = scores.gather(-1, ideal.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return torch.where(filled, normaliser - chosen, 0.0).sum(dim=-1)
