"""Hides torch, and what cannot be imported without it, where the variable WITHOUT_TORCH is set."""

import os
import sys
from typing import Any

HIDDEN = ("torch", "lightning_fabric", "sentence_transformers")

if os.environ.get("WITHOUT_TORCH"):
    modules: dict[str, Any] = sys.modules
    modules |= dict.fromkeys(HIDDEN)
