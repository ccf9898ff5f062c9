"""Files of machine code, and of a model that compiled code follows: only what nobody else could have written is read.

A file, and the folder that it is in, must belong to this user or to root, and others must not be able to write it. The
folder next to a function's source may also belong to whoever owns the source, whose code runs anyway.
"""

import hashlib
import os
import secrets
import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import BinaryIO, NamedTuple

DIGEST_BYTES = 32
INTACT_SUFFIX = ".intact"
ROOT = 0


class CodeFolder(NamedTuple):
    """A folder of machine code, and the users whose code is run from it. mode: of new files."""

    path: Path
    owners: Collection[int]
    mode: int = 0o600

    @classmethod
    def beside(cls, source: Path) -> "CodeFolder":
        """Return the folder next to a source file. Others may read it, like the byte code there."""
        return cls(source.parent / "__pycache__", {os.geteuid(), ROOT, os.stat(source).st_uid}, 0o644)

    @classmethod
    def own(cls, path: Path) -> "CodeFolder":
        """Return a folder of this user's own."""
        return cls(path, {os.geteuid(), ROOT})

    def read(self, name: str) -> bytes | None:
        """Return the code in a file; None if it is missing, damaged, or somebody else could have written it."""
        with suppress(OSError), self._opened_file(name) as file:
            content = file.read()
            if hashlib.sha256(content[DIGEST_BYTES:]).digest() == content[:DIGEST_BYTES]:
                return content[DIGEST_BYTES:]
        return None

    def map(self, name: str) -> memoryview | None:
        """Return the content of a large file, mapped into memory; None as `read`.

        Its checksum is compared once, and again after any change of the file: another file says which one was intact.
        """
        with suppress(OSError, ValueError), self._opened_file(name) as file:
            found = os.fstat(file.fileno())
            identity = f"{found.st_dev} {found.st_ino} {found.st_size} {found.st_ctime_ns}".encode()
            mapped = memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))
            content = mapped[DIGEST_BYTES:]
            if self.read(f"{name}{INTACT_SUFFIX}") == identity:
                return content
            if hashlib.sha256(content).digest() == mapped[:DIGEST_BYTES]:
                self.write(f"{name}{INTACT_SUFFIX}", identity)
                return content
        return None

    def write(self, name: str, code: bytes) -> bool:
        """Write a file; return False if that is impossible, or somebody else can write the folder."""
        with suppress(OSError):
            self.path.mkdir(mode=0o755 if self.mode & 0o044 else 0o700, parents=True, exist_ok=True)
            with self._opened() as folder:
                partial = f"{name}.{secrets.token_hex(8)}"
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
                try:
                    with open(os.open(partial, flags, self.mode, dir_fd=folder), "wb") as file:
                        file.write(hashlib.sha256(code).digest() + code)
                    os.replace(partial, name, src_dir_fd=folder, dst_dir_fd=folder)
                finally:
                    with suppress(FileNotFoundError):
                        os.unlink(partial, dir_fd=folder)
                return True
        return False

    @contextmanager
    def _opened_file(self, name: str) -> Iterator[BinaryIO]:
        """Yield an open file. Raises OSError if it is missing, or somebody else could have written it."""
        with self._opened() as folder:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
            with open(descriptor, "rb") as file:
                if not self._is_trusted(os.fstat(descriptor), stat.S_ISREG):
                    raise PermissionError(f"{self.path / name}: others can write it")
                yield file

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """Yield a descriptor of the folder. Raises OSError if it is missing, or somebody else can write it."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if not self._is_trusted(os.fstat(descriptor), stat.S_ISDIR):
                raise PermissionError(f"{self.path}: others can write it")
            yield descriptor
        finally:
            os.close(descriptor)

    def _is_trusted(self, found: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
        is_private = not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        return is_kind(found.st_mode) and found.st_uid in self.owners and is_private
