"""Names for what reads texts, such as a network: the contract of features, vocabularies, n-grams and subwords.

Features are a class in the group `askalike.features`.
"""

from askalike.core.arrays import Array, Floats32, Ints
from askalike.core.iteration import chunks
from askalike.core.model_folders import find_model
from askalike.text.analyzer import Analyzer
from askalike.text.clean import plain_fields, plain_text
from askalike.text.features import (
    RESERVED,
    UNKNOWN,
    FeatureArrays,
    FeatureRows,
    RaggedArray,
    Text,
    TextFeatures,
    TextSettings,
    Vocabulary,
    make_analyzer,
)
from askalike.text.features.hashed_ngrams import HashedNgramFeatures
from askalike.text.passages import split_sentences
from askalike.text.subwords import Bpe, find_packaged_vectors, open_tokenizer
from askalike.text.words import Tokenizer, hash_word

__all__ = [
    "RESERVED",
    "UNKNOWN",
    "Analyzer",
    "Array",
    "Bpe",
    "FeatureArrays",
    "FeatureRows",
    "Floats32",
    "HashedNgramFeatures",
    "Ints",
    "RaggedArray",
    "Text",
    "TextFeatures",
    "TextSettings",
    "Tokenizer",
    "Vocabulary",
    "chunks",
    "find_model",
    "find_packaged_vectors",
    "hash_word",
    "make_analyzer",
    "open_tokenizer",
    "plain_fields",
    "plain_text",
    "split_sentences",
]
