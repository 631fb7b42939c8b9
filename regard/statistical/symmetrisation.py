"""Two alignments of one sentence pair, one for each direction, made into one: https://aclanthology.org/N03-1017."""

from collections.abc import Callable, Collection, Mapping
from functools import partial

from regard.evaluation.alignments import Link

Links = Collection[Link]
Symmetrisation = Callable[[Links, Links], list[Link]]
_Wanted = Callable[[tuple[bool, bool]], bool]

_NEAR = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def forward(links: Links, reverse_links: Links) -> list[Link]:
    """Return the links of the model of the target given the source: each target word has one at most."""
    return sorted(links)


def reversed_links(links: Links, reverse_links: Links) -> list[Link]:
    """Return the links of the model of the source given the target: each source word has one at most."""
    return sorted(reverse_links)


def intersection(links: Links, reverse_links: Links) -> list[Link]:
    """Return what both have."""
    return sorted(set(links) & set(reverse_links))


def union(links: Links, reverse_links: Links) -> list[Link]:
    """Return what either has."""
    return sorted({*links, *reverse_links})


def grow_diag(links: Links, reverse_links: Links) -> list[Link]:
    """Return the intersection, and links of the union that touch it, also at corners, and link a word without links."""
    return sorted(_grown(links, reverse_links))


def grow_diag_final(links: Links, reverse_links: Links, condition: _Wanted = any) -> list[Link]:
    """Return `grow_diag`, and all links by which any of the two words, or all of them, get their first."""
    grown = _grown(links, reverse_links)
    for one in (links, reverse_links):
        sources, targets = {source for source, _ in grown}, {target for _, target in grown}
        for source, target in sorted(one):
            if condition((source not in sources, target not in targets)):
                grown.add((source, target))
                sources.add(source)
                targets.add(target)
    return sorted(grown)


grow_diag_final_and: Symmetrisation = partial(grow_diag_final, condition=all)


def _grown(links: Links, reverse_links: Links) -> set[Link]:
    """Visit links once: one that is refused, since both its words have links, will never be taken."""
    either = {*links, *reverse_links}
    queue = intersection(links, reverse_links)
    grown = set(queue)
    sources, targets = {source for source, _ in queue}, {target for _, target in queue}
    for source, target in queue:
        for down, right in _NEAR:
            one = (source + down, target + right)
            if one in either and one not in grown and not (one[0] in sources and one[1] in targets):
                grown.add(one)
                queue.append(one)
                sources.add(one[0])
                targets.add(one[1])
    return grown


SYMMETRISATIONS: Mapping[str, Symmetrisation] = {
    "forward": forward,
    "reverse": reversed_links,
    "intersection": intersection,
    "union": union,
    "grow-diag": grow_diag,
    "grow-diag-final": grow_diag_final,
    "grow-diag-final-and": grow_diag_final_and,
}
