"""Names for compiled kernels: the decorators that compile a function for this machine once, and keep it on the disk."""

from askalike.native.compiled import Matrix, compiled, inlined

__all__ = ["Matrix", "compiled", "inlined"]
