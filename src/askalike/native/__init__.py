"""Compiled kernels and their cache. Only here are numba and llvmlite known."""
