"""The encoders of an archive: a retrained model takes the place of the one before."""

import gc
import os
import weakref
from pathlib import Path

import numpy as np
import pytest

from askalike import encoders
from askalike.encoders import Encoder, open_encoder
from askalike.service.served_archive import ArchiveEncoders


def train(folder: Path, seed: int) -> None:
    """Write a model of words; it is as old as the seed says."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    vectors = np.random.default_rng(seed).standard_normal((50, 8)).astype(np.float32)
    save_file({"vectors": vectors, "weights": np.ones(50, np.float32)}, folder / "static.safetensors")
    (folder / "model.toml").write_text('encoder = "static"\n[static]\nwords = 50\n', encoding="utf-8")
    os.utime(folder / "model.toml", (seed, seed))


def test_retrained_model_replaces_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("safetensors")
    opened: list[weakref.ref[Encoder]] = []

    def open_and_watch(folder: Path) -> Encoder:
        encoder = open_encoder(folder)
        opened.append(weakref.ref(encoder))
        return encoder

    monkeypatch.setattr(encoders, "open_encoder", open_and_watch)
    archive_encoders, vectors = ArchiveEncoders(tmp_path), []
    for seed in (1, 2, 3):
        train(tmp_path / "models" / "mine", seed)
        vectors += [archive_encoders.encode("mine", ["lost card"], "query", None) for _ in range(2)]
        gc.collect()
        assert [encoder() is not None for encoder in opened] == [False] * (seed - 1) + [True]
    assert all(np.array_equal(a, b) for a, b in zip(vectors[::2], vectors[1::2], strict=True))
    assert not np.array_equal(vectors[0], vectors[2])
