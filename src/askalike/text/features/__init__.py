"""Features: texts as token ids for networks, one file per kind. A network specifies the kind that it reads."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from askalike.core.arrays import Ints, Ints32
from askalike.core.records import Answer, Question

RESERVED: Final = 2
"""Token ids below this are reserved: 0 for padding, 1 for the unknown word."""
Text = Question | Answer
FeatureArrays = Mapping[str, NDArray[np.generic]]
"""A network's input arrays for a batch, by name; the first axis of each is the batch."""


@dataclass(frozen=True, slots=True)
class RaggedArray:
    """Concatenated rows of token ids of different lengths: row n is `values[starts[n] : starts[n + 1]]`."""

    values: Ints32
    starts: Ints

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[int]]) -> Self:
        """Return lists of ids as rows."""
        lists = list(rows)
        starts = np.zeros(len(lists) + 1, np.int64)
        np.cumsum([len(row) for row in lists], out=starts[1:])
        return cls(np.fromiter(chain.from_iterable(lists), np.int32, int(starts[-1])), starts)

    @property
    def lengths(self) -> Ints:
        """The length of each row."""
        return np.diff(self.starts)

    def batch(self, indices: Ints) -> FeatureArrays:
        """Return ids int64 (batch, tokens), 0 after a row's end, and mask bool (batch, tokens), True = real token."""
        starts = self.starts[indices]
        lengths = self.starts[indices + 1] - starts
        places = np.arange(max(int(lengths.max(initial=0)), 1))
        mask = places < lengths[:, None]
        ids = np.zeros(mask.shape, np.int64)
        ids[mask] = self.values[(starts[:, None] + places)[mask]]
        return {"ids": ids, "mask": mask}
