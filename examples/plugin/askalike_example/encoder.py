"""Texts as the sets of their letter trigrams: what two texts share, without any training."""

import re
import zlib
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

import askalike

COLUMNS = 1 << 20
"""Trigrams are hashed to a number of columns at which hardly two share one."""


class TrigramEncoder(askalike.Encoder):
    """Vectors with a 1 for each trigram of `#word#`; their cosine is high for texts with similar spelling."""

    @classmethod
    def from_settings(cls, values: Mapping[str, Any]) -> Self:
        """Return the encoder, which has no settings. Raises SettingsError."""
        askalike.validate_settings(askalike.Settings, values, "trigrams")
        return cls()

    @property
    def fingerprint(self) -> str:
        """Nothing is learned, so the vectors depend on nothing."""
        return "letter trigrams"

    def encode_queries(self, texts: Sequence[askalike.Question | askalike.Answer]) -> askalike.Vectors:
        """Return one sparse row for each text, (texts, COLUMNS)."""
        rows = [_trigrams(f"{getattr(text, 'title', '')} {text.body}") for text in texts]
        ends = list(accumulate(map(len, rows), initial=0))
        columns = [column for row in rows for column in row]
        values = csr_array((np.ones(len(columns), np.float32), columns, ends), (len(rows), COLUMNS))
        return askalike.Vectors((askalike.VectorPart(values),))


def _trigrams(text: str) -> list[int]:
    words = [f"#{word}#" for word in re.findall(r"\w+", text.lower())]
    return sorted({zlib.crc32(word[i : i + 3].encode()) % COLUMNS for word in words for i in range(len(word) - 2)})
