"""Files with data for a browser: texts, numbers and arrays, compressed, as scripts."""

import base64
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 8
"""Arrays begin at multiples of this, as the browser's typed arrays require."""


def write_data(folder: Path, name: str, values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write `NAME.js`, which hands values and arrays to the search: compressed by gzip, as base64.

    A browser loads scripts, unlike other files, also from a folder that no server serves (`file://`).
    Uncompressed these are the length of the JSON text (4 bytes), the text, then the arrays, little-endian. The text's
    field `arrays` has the type, the first byte and the length of each array.
    """
    places: dict[str, tuple[str, int, int]] = {}
    header = json.dumps({**values, "arrays": places}, ensure_ascii=False)
    while True:  # the places are part of the text, whose length they depend on
        start = _align(4 + len(header.encode()))
        for key, array in arrays.items():
            places[key] = array.dtype.name, start, len(array)
            start = _align(start + array.nbytes)
        if header == (header := json.dumps({**values, "arrays": places}, ensure_ascii=False)):
            break
    content = bytearray(start)
    text = header.encode()
    content[:4] = len(text).to_bytes(4, "little")
    content[4 : 4 + len(text)] = text
    for key, array in arrays.items():
        at = places[key][1]
        content[at : at + array.nbytes] = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
    packed = base64.b64encode(gzip.compress(bytes(content), 9, mtime=0)).decode()
    (folder / f"{name}.js").write_text(f'askalikeSite.receive("{name}","{packed}")\n', encoding="ascii")


def _align(position: int) -> int:
    return -(-position // ALIGNMENT) * ALIGNMENT
