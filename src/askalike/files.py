"""What is on the disk, and stays there when the power fails."""

import os
from pathlib import Path


def fsync_path(path: Path) -> None:
    """Makes a file's bytes, or a directory's entries, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def fsync_folder(folder: Path) -> None:
    """Makes a folder durable, with the files in it."""
    for path in folder.iterdir():
        fsync_path(path)
    fsync_path(folder)
