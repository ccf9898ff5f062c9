"""Networks: tensors in, tensors out. Importing this package imports torch.

A network derives from `Network`, or from `WordVectorNetwork` if it reads word vectors. All that its file needs is here.
"""

from askalike.plugin.features import RESERVED
from askalike.plugin.training import IntegerList, Metric
from askalike_learning.networks._network import (
    WEIGHTS_FILE,
    Batch,
    BeamSearchOptions,
    Network,
    PartVectors,
    WordVectorNetwork,
    WordVectorSettings,
    make_embedding,
)

__all__ = [
    "RESERVED", "WEIGHTS_FILE", "Batch", "BeamSearchOptions", "IntegerList", "Metric", "Network", "PartVectors",
    "WordVectorNetwork", "WordVectorSettings", "make_embedding",
]  # fmt: skip
