"""Detection of a text's language, and the stemmer of each language."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from askalike.core.files import replace_folder, user_cache

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

LANGUAGES: Final[Mapping[str, str | None]] = {
    "ar": "arabic", "bg": None, "ca": "catalan", "cs": None, "da": "danish", "de": "german", "el": "greek",
    "en": "english", "es": "spanish", "eu": "basque", "fa": None, "fi": "finnish", "fr": "french", "ga": "irish",
    "he": None, "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "ja": None,
    "ko": None, "lt": "lithuanian", "ne": "nepali", "nl": "dutch", "no": "norwegian", "pl": None, "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil", "th": None, "tr": "turkish",
    "uk": None, "vi": None, "zh": None,
}  # fmt: skip
"""ISO 639-1 code → Snowball stemmer, None if there is none (words are not stemmed; zh, ja, ko become bigrams)."""

MIN_PROBABILITY: Final = 0.6
"""Minimum probability, among the candidate languages, that counts as certain."""

_LETTER = re.compile(r"[^\W\d_]")
_HAN = "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_KANA = "[\u3041-\u30ff\uff66-\uff9d]"
_HANGUL = "[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]"
_MAX_CHARACTERS = 1000
"""Maximum number of characters examined, which suffices for any question."""
_LABELS_FILE = "classes.json"
_ARRAYS = ("ptc", "pc", "nextmove", "row", "output")
"""The arrays of the model, by their names in py3langid's `load_model`."""


def detect_language(text: str, candidates: Sequence[str] | None = None) -> str | None:
    """Return the ISO 639-1 code of the language of plain `text`; None if it is uncertain or there are no letters.

    candidates: the languages to choose from (by default all of LANGUAGES). Chinese, Japanese and Korean are recognised
    by their script, the others by py3langid's byte n-grams; unpacking its model takes a fraction of a second, once per
    machine. The language of a few words is often uncertain: pass as much text as possible, or fewer candidates.
    """
    text = text[:_MAX_CHARACTERS]
    letters = len(_LETTER.findall(text))
    if not letters:
        return None
    languages = tuple(LANGUAGES) if candidates is None else tuple(candidates)
    code = _detect_by_script(text, letters) or _detect_by_ngrams(text, languages)
    return code if code in languages else None


def _detect_by_script(text: str, letters: int) -> str | None:
    """Return zh, ja or ko if at least a third of the letters are in its script: there may be many Latin names."""
    if text.isascii():
        return None
    han, kana, hangul = (len(re.findall(script, text)) for script in (_HAN, _KANA, _HANGUL))
    if 3 * (han + kana + hangul) < letters:
        return None
    if hangul > han + kana:
        return "ko"
    return "ja" if 10 * kana > han else "zh"


@lru_cache(maxsize=1024)  # a search needs the language of the same words several times
def _detect_by_ngrams(text: str, languages: tuple[str, ...]) -> str | None:
    ranked = _load_identifier().rank(text)
    eligible = [(probability, code) for code, probability in ranked if code in languages]
    probability, code = max(eligible, default=(0.0, None))
    certain = probability >= MIN_PROBABILITY * sum(p for p, _ in eligible) and probability >= ranked[0][1] / 2
    return code if certain else None


@cache
def _load_identifier() -> "LanguageIdentifier":
    """Return the identifier with its model memory-mapped from the cache, which is faster than unpacking it each time.

    It is unpacked once per machine; if the cache is not writable, the model is read from py3langid's package.
    """
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
        for name, values in zip(_ARRAYS, (ptc, pc, nextmove, row, np.array(output, np.int32)), strict=True):
            np.save(partial / f"{name}.npy", np.asarray(values), allow_pickle=False)
        (partial / _LABELS_FILE).write_text(json.dumps(labels), encoding="utf-8")


def _open(folder: Path) -> "LanguageIdentifier":
    from py3langid.langid import LanguageIdentifier

    arrays: Mapping[str, NDArray[Any]] = {
        name: np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)) for name in _ARRAYS
    }
    labels = json.loads((folder / _LABELS_FILE).read_text(encoding="utf-8"))
    moves, output = arrays["nextmove"].data, arrays["output"].data  # views whose items are Python numbers
    rows = arrays["row"].tolist()
    return LanguageIdentifier(arrays["ptc"], arrays["pc"], labels, moves, output, norm_probs=True, tk_row=rows)
