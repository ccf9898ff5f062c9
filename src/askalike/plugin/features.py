"""Names for what reads texts, such as a network: the contract of features, vocabularies, n-grams and subwords.

Features are a class in the group `askalike.features`.
"""

from askalike.core.arrays import Array as Array, Floats32 as Floats32, Ints as Ints
from askalike.core.files import write_atomically as write_atomically
from askalike.core.iteration import chunks as chunks
from askalike.core.model_folders import find_model as find_model
from askalike.text.analyzer import Analyzer as Analyzer, AnalyzerSettings as AnalyzerSettings
from askalike.text.clean import CodeRule as CodeRule, plain_fields as plain_fields, plain_text as plain_text
from askalike.text.features import (
    RESERVED as RESERVED,
    FeatureArrays as FeatureArrays,
    RaggedArray as RaggedArray,
    Text as Text,
)
from askalike.text.features.hashed_ngrams import HashedNgramFeatures as HashedNgramFeatures
from askalike.text.passages import split_sentences as split_sentences
from askalike.text.subwords import (
    Bpe as Bpe,
    find_packaged_vectors as find_packaged_vectors,
    open_tokenizer as open_tokenizer,
)
from askalike.text.words import Tokenizer as Tokenizer, hash_word as hash_word
