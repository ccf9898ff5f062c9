"""Pre-trained models run with torch, and the devices that it finds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askalike import SettingsError


class TorchModel:
    """A pre-trained model run with torch. half: whether in bf16."""

    def __init__(self, folder: Path, device: str, half: bool) -> None:
        model = load_sentence_transformer(folder, device)
        self._model = model.bfloat16() if half else model

    def encode(self, texts: Sequence[str], batch: int = 256) -> NDArray[np.float32]:
        """Return the vectors of texts, (texts, dim). batch: number of texts, of similar length, encoded together.

        Raises SettingsError if the device's memory does not suffice.
        """
        import torch

        options = {"batch_size": batch, "show_progress_bar": False, "convert_to_tensor": True}
        try:
            vectors = self._model.encode(list(texts), **options)
        except torch.OutOfMemoryError:
            raise SettingsError(f"batch={batch}: too many texts at a time for the device's memory; lower it") from None
        return np.asarray(vectors.float().cpu(), np.float32).reshape(len(texts), -1)


class CudaModel(TorchModel):
    """A pre-trained model on an NVIDIA GPU; see DeviceModel of `askalike.plugin.models`."""

    def __init__(self, folder: Path, half: bool) -> None:
        require_device("cuda", "device")
        super().__init__(folder, "cuda", half)


def load_sentence_transformer(folder: Path, device: str | None) -> Any:
    """Load the sentence-transformers model in a folder, in 32 bits whatever its file has, without a progress bar.

    Raises SettingsError if sentence-transformers is not installed.
    """
    try:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging
    except ImportError:
        advice = "pip install 'askalike-learning[pretrained]'"
        raise SettingsError(f"sentence-transformers is not installed: {advice}") from None
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return SentenceTransformer(str(folder), device=device, local_files_only=True).float()


def require_device(device: str, setting: str, count: int = 1) -> None:
    """Raise SettingsError unless torch finds `count` devices of this kind: `cpu`, `cuda` or `mps`.

    setting: its name, for the message.
    """
    if device == "cpu":
        return
    import torch

    if device == "cuda":
        kind = "NVIDIA GPU"
        found = torch.cuda.device_count() if torch.cuda.is_available() else 0
    else:
        kind = "Apple GPU"
        found = int(torch.backends.mps.is_available())
    if not found:
        advice = f"use {setting}=cpu, or install the GPU's driver and a torch that supports it"
        raise SettingsError(f"{setting}={device}: torch {torch.__version__} finds no {kind}; {advice}")
    if found < count:
        raise SettingsError(f"{count} devices with {setting}={device}: torch finds {found} {kind}; use devices={found}")
