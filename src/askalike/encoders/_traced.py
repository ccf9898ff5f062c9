"""What of a text makes its vectors, for encoders in which each number is some stretch of the text's."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class VectorContributions:
    """One part of a text's vectors, as a sum: at `columns` are added `values`, by the words of number `words`; (n,).

    `side`: so many words on either side have a part in that. `weight`: the part's, in a score of cosines.
    """

    columns: NDArray[np.int64]
    values: NDArray[np.float32]
    words: NDArray[np.int64]
    context: int
    weight: float


@dataclass(frozen=True, slots=True)
class TracedText:
    """A plain text, where its words stand in it, and what makes the parts of its vectors."""

    text: str
    spans: Sequence[tuple[int, int]]
    parts: tuple[VectorContributions, ...]

    def context_span(self, word: int, context: int) -> tuple[int, int]:
        """Where a word and those beside it stand."""
        last = min(word + context, len(self.spans) - 1)
        return self.spans[max(word - context, 0)][0], self.spans[last][1]
