"""Byte-pair encoding (Sennrich et al. 2016) of single words, by the vocabulary and merges of a tokenizer.json.

Words are looked up after their first coming, so that this need not be fast. Vocabularies of the Llama kind, where a
word's first piece begins with "▁" and no piece reaches over the end of a word, give the same pieces as their own
tokenizer does; a word of more than LONGEST characters is cut.
"""

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from askalike.errors import InputError

WORD_START = "▁"
MAX_PIECE_INPUT = 64


class Bpe:
    """Word → ids of its pieces. ranks: pairs that are joined, those of lower rank first."""

    def __init__(self, vocabulary: Mapping[str, int], ranks: Mapping[tuple[str, str], int]) -> None:
        self._piece_ids = vocabulary
        self._ranks = ranks

    @classmethod
    def from_file(cls, path: Path) -> "Bpe":
        """Of a tokenizer.json. Raises InputError where it is of another kind."""
        try:
            model = json.loads(path.read_text(encoding="utf-8"))["model"]
            if model["type"] != "BPE" or not model.get("byte_fallback"):
                raise ValueError(f"a {model['type']} tokenizer; expected BPE with bytes for unknown characters")
            return cls(model["vocab"], {_parse_merge(merge): rank for rank, merge in enumerate(model["merges"])})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: not a tokenizer that can be read ({error})") from None

    def __len__(self) -> int:
        return len(self._piece_ids)

    @property
    def pieces(self) -> list[str]:
        """The pieces by their ids."""
        return sorted(self._piece_ids, key=self._piece_ids.__getitem__)

    def encode(self, word: str) -> list[int]:
        """The ids of a word's pieces."""
        parts = [word[i : i + MAX_PIECE_INPUT] for i in range(0, len(word), MAX_PIECE_INPUT)]
        return [
            self._piece_ids[piece]
            for n, part in enumerate(parts)
            for piece in self._merge_pieces(part if n else WORD_START + part)
        ]

    def _merge_pieces(self, word: str) -> list[str]:
        pieces = [piece for character in word for piece in self._split_character(character)]
        while len(pieces) > 1:
            ranked = [self._ranks.get(pair, len(self._ranks)) for pair in pairwise(pieces)]
            at = min(range(len(ranked)), key=ranked.__getitem__)
            if ranked[at] == len(self._ranks):
                break
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
        return pieces

    def _split_character(self, character: str) -> list[str]:
        if character in self._piece_ids:
            return [character]
        return [name for byte in character.encode(errors="replace") if (name := f"<0x{byte:02X}>") in self._piece_ids]


def _parse_merge(merge: Any) -> tuple[str, str]:
    left, right = merge.split(" ") if isinstance(merge, str) else merge
    return left, right
