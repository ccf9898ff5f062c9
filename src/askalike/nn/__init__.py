"""Networks: tensors in, tensors out; one file per network. Importing this package imports torch."""

from askalike.nn._beam import BeamSearchOptions, beam_search
from askalike.nn._network import Batch, Network, PartVectors, TokenTrace, WordVectorNetwork
from askalike.nn._two_towers import TwoTowerNetwork, flatten_sentences

__all__ = [
    "Batch", "BeamSearchOptions", "Network", "PartVectors", "TokenTrace", "TwoTowerNetwork", "WordVectorNetwork",
    "beam_search", "flatten_sentences",
]  # fmt: skip
