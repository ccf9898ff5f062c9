"""An immutable part of an index: postings of some documents, as arrays that are mapped into memory, not read."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Segment:
    """Documents by rising number, and for each term the documents that hold it. D documents, V terms, P postings.

    A posting's code stands for a pair (frequency, length): what scores are made of, and nothing that ages with the
    collection's statistics. Frequencies and lengths are in units of 1/scale where fields have weights.
    """

    numbers: Array
    """int64 (D): the number of the question (or answer) that each document belongs to."""
    phrasings: Array
    """uint16 (D): 0 for the question's own text, n for its n-th rephrasing."""
    lengths: Array
    """int32 (D): how many tokens each document has."""
    term_bytes: Array
    term_offsets: Array
    """The sorted dictionary (terms.py)."""
    starts: Array
    """int64 (V + 1): where each term's postings begin."""
    blocks: Array
    places: Array
    """uint16 (P): positions in `numbers`, rising within a term, as a block of 65,536 and a place in it: a search reads
    the places alone."""
    codes: Array
    """uint16 (P)."""
    code_tf: Array
    code_length: Array
    """int32 (C): what each code stands for; the length as the similarity sees it (rounded, or exact)."""
    df: Array
    ttf: Array
    """int64 (V): documents with the term, and its occurrences, in the questions' own texts."""
    peak_starts: Array
    peaks: Array
    """Per term, the codes that no other of its codes beats in both frequency and shortness: its highest scores."""
    bitmap_of: Array
    """int32 (V): the row of a long list in the bitmaps, −1 for a short one."""
    bitmaps: Array
    """uint64 (B, ⌈D/64⌉): the documents of a long list as bits."""
    ranks: Array
    """int32 (B, ⌈D/64⌉): how many of the list's documents come before each word of its bitmap."""

    @property
    def question_count(self) -> int:
        """How many of the documents are questions' own texts."""
        return int(np.count_nonzero(self.phrasings == 0))

    @property
    def docs(self) -> Array:
        """int32 (P): the positions in `numbers`, whole."""
        return self.decode_docs(0, len(self.places))

    def decode_docs(self, first: int, last: int) -> Array:
        """int32: the positions in `numbers` of the postings first:last."""
        return self.blocks[first:last].astype(np.int32) << 16 | self.places[first:last]

    @property
    def token_count(self) -> int:
        """The tokens of the questions' own texts."""
        return int(self.lengths[self.phrasings == 0].sum(dtype=np.int64))

    def save(self, path: Path) -> None:
        """Writes the arrays into a new directory; the commit that names it brings them down to the disk."""
        path.mkdir(parents=True)
        for field in fields(self):
            np.save(path / f"{field.name}.npy", getattr(self, field.name), allow_pickle=False)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Maps the arrays into memory."""
        return cls(**{f.name: _map_array(path / f"{f.name}.npy") for f in fields(cls)})


def _map_array(path: Path) -> Array:
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    return np.asarray(array)  # a plain view of the mapping: numba and indexing are faster without the subclass
