"""ONNX and ONNX Runtime, for what the layers here do not run. Importing it without them raises SettingsError."""

from collections.abc import Mapping
from typing import Any

from askalike.core.errors import InputError, SettingsError

try:
    import onnx
    import onnxruntime
except ModuleNotFoundError as missing:
    raise SettingsError(f"{missing.name} is not installed: pip install 'askalike[onnx]'") from None

__all__ = ["onnx", "open_session"]

FATAL = 4
"""Minimum severity of ONNX Runtime's messages on stderr; other problems are raised."""


def open_session(graph: bytes | str, entries: Mapping[str, str] | None = None) -> Any:
    """Open a graph, or its file, for one thread. Raises InputError if ONNX Runtime cannot run it.

    entries: the session's configuration.
    """
    options = onnxruntime.SessionOptions()
    for name, value in (entries or {}).items():
        options.add_session_config_entry(name, value)
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = FATAL
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime raises nothing more specific
        problem = " ".join(str(error).split())
        raise InputError(f"ONNX Runtime cannot run this model ({problem}); try --set precision=32") from None
