"""Bilingual dictionaries from word vectors of two languages. One file a row."""

from regard.registry import Registry
from regard.statistical.dictionaries.adversarial import Adversarial
from regard.statistical.dictionaries.known_pairs import IdenticalWords
from regard.statistical.dictionaries.method import DictionaryMethod
from regard.statistical.dictionaries.similarity import SimilaritySelfLearning

DICTIONARY_METHODS: Registry[DictionaryMethod] = Registry(
    "dictionary_method",
    {
        "adversarial": Adversarial,
        "identical": IdenticalWords,
        "similarity": SimilaritySelfLearning,
    },
)
