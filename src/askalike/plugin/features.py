"""Names for what reads texts, such as a network: the contract of features, vocabularies, n-grams and subwords.

Features are a class in the group `askalike.features`.
"""

from askalike.core.arrays import Array, Floats32, Ints
from askalike.text.features import RESERVED, UNKNOWN, FeatureRows, RaggedArray, Text, TextFeatures
from askalike.text.features.hashed_ngrams import HashedNgramFeatures
from askalike.text.features.words import WordFeatures, WordSettings
from askalike.text.subwords import Bpe, find_packaged_vectors

__all__ = [
    "RESERVED",
    "UNKNOWN",
    "Array",
    "Bpe",
    "FeatureRows",
    "Floats32",
    "HashedNgramFeatures",
    "Ints",
    "RaggedArray",
    "Text",
    "TextFeatures",
    "WordFeatures",
    "WordSettings",
    "find_packaged_vectors",
]
