"""Names for trained encoders, beside `askalike.Encoder`: a model's folder, its card, and what explains its scores.

An encoder is a class in the group `askalike.encoders`, one that runs pre-trained models on a device in
`askalike.devices`.
"""

from askalike.core.files import folder_errors, replace_file, replace_folder, tensor_errors
from askalike.core.model_folders import LearnedLabels, find_model
from askalike.encoders import (
    MODEL_FILE,
    AnswerGenerator,
    TracedText,
    VectorContributions,
    open_encoder,
    read_model_file,
)
from askalike.encoders.pretrained import MODEL_FOLDER, DeviceModel
from askalike.encoders.static import StaticEncoder, save_static_vectors
from askalike.learning.models import (
    CARD_FILE,
    describe_licence,
    describe_name,
    format_toml,
    partial_folder,
    write_text_model,
)

__all__ = [
    "CARD_FILE",
    "MODEL_FILE",
    "MODEL_FOLDER",
    "AnswerGenerator",
    "DeviceModel",
    "LearnedLabels",
    "StaticEncoder",
    "TracedText",
    "VectorContributions",
    "describe_licence",
    "describe_name",
    "find_model",
    "folder_errors",
    "format_toml",
    "open_encoder",
    "partial_folder",
    "read_model_file",
    "replace_file",
    "replace_folder",
    "save_static_vectors",
    "tensor_errors",
    "write_text_model",
]
