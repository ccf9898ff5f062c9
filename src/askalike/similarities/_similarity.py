"""What every similarity is: settings, and one formula over a term's and the collection's statistics."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askalike.config import Settings
from askalike.types import Collection

Floats = NDArray[np.float64]


class Similarity(Settings):
    """A term-weighting formula. Every score is ≥ 0, rises with the frequency and falls with the length."""

    GRIDS: ClassVar[Sequence[Mapping[str, Sequence[Any]]]] = ({},)
    """What tuning tries: the values of each setting, the default first; several grids where settings depend."""

    @abstractmethod
    def score(self, tf: ArrayLike, length: ArrayLike, df: ArrayLike, ttf: ArrayLike, collection: Collection) -> Floats:
        """The score of one term in one document, for arrays that broadcast together.

        tf: frequency of the term in the document. length: the document's length. df: documents that hold the term.
        ttf: the term's frequency in the whole collection.
        """


def float64_signature(parameter_count: int) -> list[Any]:
    """The compiled signature of a formula: that many float64 in, one out."""
    return [f"float64({', '.join(['float64'] * parameter_count)})"]
