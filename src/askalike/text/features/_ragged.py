"""Rows of whole numbers of different lengths, kept end to end."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Self

import numpy as np
from numpy.typing import NDArray

from askalike.text.features._features import FeatureArrays


@dataclass(frozen=True, slots=True)
class RaggedArray:
    """Row n is `values[starts[n] : starts[n + 1]]`."""

    values: NDArray[np.int32]
    starts: NDArray[np.int64]

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[int]]) -> Self:
        """From lists of numbers."""
        kept = list(rows)
        starts = np.zeros(len(kept) + 1, np.int64)
        np.cumsum([len(row) for row in kept], out=starts[1:])
        return cls(np.fromiter(chain.from_iterable(kept), np.int32, int(starts[-1])), starts)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each row."""
        return np.diff(self.starts)

    def batch(self, indices: NDArray[np.int64]) -> FeatureArrays:
        """ids int64 (batch, tokens), 0 after a row's end; mask bool (batch, tokens), True = real token."""
        lengths = self.starts[indices + 1] - self.starts[indices]
        mask = np.arange(max(int(lengths.max(initial=0)), 1)) < lengths[:, None]
        ids = np.zeros(mask.shape, np.int64)
        ids[mask] = self.values[_concatenate_ranges(self.starts[indices], lengths)]
        return {"ids": ids, "mask": mask}


def _concatenate_ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """starts[0], starts[0] + 1, … lengths[0] numbers of them, then the same of starts[1], …"""
    firsts = np.cumsum(lengths) - lengths
    return np.repeat(starts - firsts, lengths) + np.arange(int(lengths.sum()))
