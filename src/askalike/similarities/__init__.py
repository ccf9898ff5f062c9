"""Term-weighting formulas, one per file: the score of one term in one document, as Lucene 9 computes it."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from askalike.core.arrays import Floats
from askalike.core.config import Settings
from askalike.core.hits import Collection


class Similarity(Settings):
    """A term-weighting formula. Scores are ≥ 0; they increase with the frequency and decrease with the length."""

    GRIDS: ClassVar[Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]] = {}
    """Setting → the values to try when tuning, default first; several such grids if settings exclude each other."""

    @abstractmethod
    def score(self, tf: ArrayLike, length: ArrayLike, df: ArrayLike, ttf: ArrayLike, collection: Collection) -> Floats:
        """Return the score of one term in one document, for arrays that broadcast together.

        tf: the term's frequency in the document. length: the document's number of tokens. df: the number of documents
        that contain the term. ttf: the term's frequency in the whole collection.
        """
