"""Three readings of queries and keys, for m lists of n places and k results with d features each. No parameters."""

from torch import Tensor


def places_by_places(queries: Tensor, keys: Tensor) -> Tensor:
    """Q Kᵀ: queries (m · d, n), keys (n, n), how place follows place → (m · d, n)."""
    _need(keys.shape[0] == keys.shape[1] == queries.shape[1], "(m·d, n) and (n, n)", queries, keys)
    return queries @ keys.T


def results_by_places(queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """W = softmax(Q Kᵀ), W K: queries (m · d, k), keys (n, k), a place's view of results → (m · d, k), W (m · d, n)."""
    _need(keys.shape[1] == queries.shape[1], "(m·d, k) and (n, k)", queries, keys)
    weights = (queries @ keys.T).softmax(dim=-1)
    return weights @ keys, weights


def places_by_results(queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """The same with n and k exchanged: queries (m · d, n), keys (k, n) → (m · d, n), W (m · d, k)."""
    _need(keys.shape[1] == queries.shape[1], "(m·d, n) and (k, n)", queries, keys)
    return results_by_places(queries, keys)


def _need(fits: bool, wanted: str, queries: Tensor, keys: Tensor) -> None:
    if not fits:
        raise ValueError(f"queries {tuple(queries.shape)} and keys {tuple(keys.shape)} are not {wanted}")
