"""How an experiment's files are called."""

import re


def file_name(label: str) -> str:
    """A system's label as one word that every file system takes: `LM-JM (tuned)` → `LM-JM-tuned`."""
    return re.sub(r"[^\w.+-]+", "-", label).strip("-.") or "system"


def cell_name(label: str, seed: int | None) -> str:
    """What the files of one system's run with one seed are called, without their ending; None: it has no chance."""
    return file_name(label) if seed is None else f"{file_name(label)}-seed{seed}"
