"""Networks: tensors in, tensors out; one file per network. Importing this package imports torch."""

from askalike.learning.networks._beam import BeamSearchOptions, beam_search
from askalike.learning.networks._network import Batch, Network, PartVectors, TokenTrace, WordVectorNetwork
from askalike.learning.networks._two_towers import TwoTowerNetwork, flatten_sentences

__all__ = [
    "Batch", "BeamSearchOptions", "Network", "PartVectors", "TokenTrace", "TwoTowerNetwork", "WordVectorNetwork",
    "beam_search", "flatten_sentences",
]  # fmt: skip
