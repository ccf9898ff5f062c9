"""The model of py3langid, unpacked once per machine and then memory-mapped, which is much faster."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from askalike.core.files import replace_folder, user_cache

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

LABELS_FILE = "classes.json"
ARRAYS = ("ptc", "pc", "nextmove", "row", "output")
"""The arrays of the model, by their names in py3langid's `load_model`."""


def load_identifier() -> "LanguageIdentifier":
    """Return the language identifier, from the cache, or from py3langid's package if the cache is not writable."""
    from py3langid.langid import MODEL_DIR, MODEL_FILE, LanguageIdentifier

    packed = MODEL_DIR / MODEL_FILE
    stat = packed.stat()
    with suppress(OSError, RuntimeError, ValueError):  # no home, no space, another process unpacking, a damaged file
        folder = user_cache() / f"py3langid-{stat.st_size}-{stat.st_mtime_ns}"
        if not folder.exists():
            _unpack(packed, folder)
        return _open(folder)
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _unpack(packed: Path, folder: Path) -> None:
    from py3langid.modelio import load_model

    ptc, pc, labels, nextmove, row, output = load_model(packed)
    with replace_folder(folder) as partial:
        for name, values in zip(ARRAYS, (ptc, pc, nextmove, row, np.array(output, np.int32)), strict=True):
            np.save(partial / f"{name}.npy", np.asarray(values), allow_pickle=False)
        (partial / LABELS_FILE).write_text(json.dumps(labels), encoding="utf-8")


def _open(folder: Path) -> "LanguageIdentifier":
    from py3langid.langid import LanguageIdentifier

    arrays: Mapping[str, NDArray[Any]] = {
        name: np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)) for name in ARRAYS
    }
    labels = json.loads((folder / LABELS_FILE).read_text(encoding="utf-8"))
    moves, output = arrays["nextmove"].data, arrays["output"].data  # views whose items are Python numbers
    rows = arrays["row"].tolist()
    return LanguageIdentifier(arrays["ptc"], arrays["pc"], labels, moves, output, norm_probs=True, tk_row=rows)
