"""Names for trained encoders, next to `askalike.Encoder`: a model's folder, its card, and what explains its scores.

Also transformers from a folder's weights, without torch, and the decorators that compile a function for this machine
once, and keep it on the disk.

An encoder is a class in the group `askalike.encoders`, one that runs pre-trained models on a device in
`askalike.devices`.
"""

from askalike.core.files import (
    folder_errors as folder_errors,
    replace_file as replace_file,
    replace_folder as replace_folder,
    tensor_errors as tensor_errors,
)
from askalike.core.model_folders import LearnedLabels as LearnedLabels, find_model as find_model
from askalike.encoders import (
    MODEL_FILE as MODEL_FILE,
    AnswerGenerator as AnswerGenerator,
    open_encoder as open_encoder,
    read_model_file as read_model_file,
)
from askalike.encoders.pretrained import MODEL_FOLDER as MODEL_FOLDER, DeviceModel as DeviceModel
from askalike.encoders.static import StaticEncoder as StaticEncoder, save_static_vectors as save_static_vectors
from askalike.encoders.transformer.architectures import Transformer as Transformer
from askalike.encoders.transformer.compiled_layers import BuiltLayers as BuiltLayers
from askalike.encoders.transformer.model import (
    batches_of_equal_length as batches_of_equal_length,
    read_text_limits as read_text_limits,
)
from askalike.encoders.transformer.modules import read_json as read_json
from askalike.encoders.transformer.weights import Bits as Bits, map_tensors as map_tensors, to_float32 as to_float32
from askalike.learning.models import (
    CARD_FILE as CARD_FILE,
    describe_licence as describe_licence,
    describe_name as describe_name,
    format_toml as format_toml,
    partial_folder as partial_folder,
    write_text_model as write_text_model,
)
from askalike.native.compiled import Matrix as Matrix, compiled as compiled, inlined as inlined
from askalike.text.subwords import open_tokenizer as open_tokenizer
