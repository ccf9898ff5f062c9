"""Names for trained encoders, beside `askalike.Encoder`: a model's folder, its card, and what explains its scores.

Also transformers from a folder's weights, without torch, and the decorators that compile a function for this machine
once, and keep it on the disk.

An encoder is a class in the group `askalike.encoders`, one that runs pre-trained models on a device in
`askalike.devices`.
"""

from askalike.core.files import folder_errors, replace_file, replace_folder, tensor_errors
from askalike.core.model_folders import LearnedLabels, find_model
from askalike.encoders import (
    MODEL_FILE,
    AnswerGenerator,
    open_encoder,
    read_model_file,
)
from askalike.encoders.pretrained import MODEL_FOLDER, DeviceModel
from askalike.encoders.static import StaticEncoder, save_static_vectors
from askalike.encoders.transformer.architectures import Transformer
from askalike.encoders.transformer.compiled_layers import BuiltLayers
from askalike.encoders.transformer.model import batches_of_equal_length, read_text_limits
from askalike.encoders.transformer.modules import read_json
from askalike.encoders.transformer.weights import Bits, map_tensors, to_float32
from askalike.learning.models import (
    CARD_FILE,
    describe_licence,
    describe_name,
    format_toml,
    partial_folder,
    write_text_model,
)
from askalike.native.compiled import Matrix, compiled, inlined
from askalike.text.subwords import open_tokenizer

__all__ = [
    "CARD_FILE",
    "MODEL_FILE",
    "MODEL_FOLDER",
    "AnswerGenerator",
    "Bits",
    "BuiltLayers",
    "DeviceModel",
    "LearnedLabels",
    "Matrix",
    "StaticEncoder",
    "Transformer",
    "batches_of_equal_length",
    "compiled",
    "describe_licence",
    "describe_name",
    "find_model",
    "folder_errors",
    "format_toml",
    "inlined",
    "map_tensors",
    "open_encoder",
    "open_tokenizer",
    "partial_folder",
    "read_json",
    "read_model_file",
    "read_text_limits",
    "replace_file",
    "replace_folder",
    "save_static_vectors",
    "tensor_errors",
    "to_float32",
    "write_text_model",
]
