"""Which pieces of a translation stay when the fewest edits make another one of it."""

from itertools import product

import pytest

from regard.answers.text import unedited


@pytest.mark.parametrize(
    ("ids", "reference", "kept"),
    [
        ([5, 6, 7], [5, 6, 7], [True, True, True]),
        ([5, 9, 7], [5, 6, 7], [True, False, True]),
        ([5, 9, 6, 7], [5, 6, 7], [True, False, True, True]),
        ([6, 7], [5, 6, 7], [True, True]),
        ([5, 6], [6, 5], [False, True]),
        ([5, 6], [], [False, False]),
        ([], [5], []),
    ],
)
def test_by_hand(ids, reference, kept):
    if (ids, reference) == ([5, 6], [6, 5]):
        assert sum(unedited(ids, reference)) == 1  # one of both, by two edits as well as none by two
    else:
        assert unedited(ids, reference) == kept


def ways(ids, reference):
    """All ways: (edits, ids that stay)."""
    if not ids or not reference:
        yield len(ids) + len(reference), 0
        return
    for edits, stay in ways(ids[1:], reference[1:]):
        same = ids[0] == reference[0]
        yield edits + (not same), stay + same
    for edits, stay in ways(ids[1:], reference):
        yield edits + 1, stay
    for edits, stay in ways(ids, reference[1:]):
        yield edits + 1, stay


def test_as_many_stay_as_in_any_way_with_the_fewest_edits():
    """Of all texts of up to three of two ids."""
    texts = [list(one) for length in range(4) for one in product((5, 6), repeat=length)]
    for ids, reference in product(texts, repeat=2):
        fewest = min(edits for edits, _ in ways(ids, reference))
        most = max(stay for edits, stay in ways(ids, reference) if edits == fewest)
        kept = unedited(ids, reference)
        stays = [one for one, stay in zip(ids, kept, strict=True) if stay]
        rest = iter(reference)
        assert sum(kept) == most
        assert all(one in rest for one in stays)  # in the order of the reference
