"""Glossaries of requests are kept, and no stranger can fill the memory with them."""

import asyncio

from regard.serve.glossaries import KEPT_CHARACTERS, Glossaries


def test_texts_without_terms_are_not_kept_without_end():
    async def case():
        glossaries = Glossaries(50_000, 50)
        for size in range(10):
            await glossaries.read("\n" * (KEPT_CHARACTERS // 4 + size), ("en", "de"))
        await glossaries.read("dog\tHund", ("en", "de"))
        return sum(len(text) for text, _ in glossaries._kept), [len(one) for one in glossaries._kept.values()][-1]

    characters, terms = asyncio.run(case())
    assert (characters <= KEPT_CHARACTERS, terms) == (True, 1)
