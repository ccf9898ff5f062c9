"""Names for what reads texts, such as a network: the contract of features, vocabularies, n-grams and subwords.

Features are a class in the group `askalike.features`.
"""

from askalike.text.features import RESERVED, UNKNOWN, FeatureRows, RaggedArray, Text, TextFeatures
from askalike.text.features.hashed_ngrams import HashedNgramFeatures
from askalike.text.features.words import WordFeatures, WordSettings
from askalike.text.subwords import Bpe, find_packaged_vectors

__all__ = [
    "RESERVED",
    "UNKNOWN",
    "Bpe",
    "FeatureRows",
    "HashedNgramFeatures",
    "RaggedArray",
    "Text",
    "TextFeatures",
    "WordFeatures",
    "WordSettings",
    "find_packaged_vectors",
]
