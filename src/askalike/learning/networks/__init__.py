"""Networks: tensors in, tensors out. Importing this package imports torch.

A network derives from `Network`, or from `WordVectorNetwork` if it reads word vectors. All that its file needs is here.
"""

from askalike.core.config import IntegerList
from askalike.core.types import RESERVED, Metric
from askalike.learning.networks._network import (
    Batch,
    BeamSearchOptions,
    Network,
    PartVectors,
    TokenTrace,
    WordVectorNetwork,
    WordVectorSettings,
    make_embedding,
)

__all__ = [
    "RESERVED", "Batch", "BeamSearchOptions", "IntegerList", "Metric", "Network", "PartVectors", "TokenTrace",
    "WordVectorNetwork", "WordVectorSettings", "make_embedding",
]  # fmt: skip
