"""Machine code of Python functions: numba translates them, LLVM turns them into an object file, llvmlite loads it.

See `compiled` for what such a function may do.
"""

import ctypes
import gc
import logging
import os
import types
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, update_wrapper
from typing import Any, NamedTuple

import numpy as np

from askalike.native.llvm import WORD_BYTES, LLVMFunction, as_intrinsic, make_pointer, read_word

log = logging.getLogger(__name__)
REPLACED = "_library_class", "_add_module", "set_env"
"""What numba's code generator does without while it only translates."""
DATA_AT = object.__basicsize__
"""Offset in bytes of the data pointer in an array object (NumPy's PyArrayObject)."""
LENGTHS_AT = DATA_AT + 2 * WORD_BYTES
"""Offset in bytes of the pointer to the shape; the number of dimensions is between the two."""


class ArrayType(NamedTuple):
    """The type of an array's numbers, and its number of dimensions."""

    dtype: np.dtype[Any]
    dimensions: int


def entry_name(function: types.FunctionType) -> str:
    """Return the function's name in an object file."""
    return f"askalike_{function.__name__}"


def reachable(function: types.FunctionType) -> Iterator[types.FunctionType]:
    """Yield the function, and all inlined functions that it calls."""
    seen = set()
    waiting = [function]
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            yield one
            values = (one.__globals__.get(name) for name in one.__code__.co_names)
            waiting += [_as_python(value) for value in values if hasattr(value, "numba_options")]


def describe_code(function: types.FunctionType) -> bytes:
    """Return everything that determines a function's machine code, except its parameters and the functions it calls."""
    code = function.__code__
    options = function.__dict__.get("numba_options")
    known = {name: function.__globals__.get(name) for name in _used_names(code)}
    constants = {name: value for name, value in known.items() if isinstance(value, (int, float, tuple, np.generic))}
    constants |= {name: value.tolist() for name, value in known.items() if isinstance(value, np.ndarray)}
    written = [_describe_writer(value.write) for value in known.values() if isinstance(value, LLVMFunction)]
    return repr([function.__name__, options, *_describe_bytecode(code), constants, *written]).encode()


def _describe_writer(write: Any) -> list[bytes]:
    """Return a description of a function that emits LLVM IR, and of all functions of its package that it uses."""
    package = write.__module__.partition(".")[0]
    seen: list[Any] = []
    waiting = [write]
    while waiting:
        one = waiting.pop()
        if str(getattr(one, "__module__", "")).partition(".")[0] == package and one not in seen:
            seen.append(one)
            if isinstance(one, type):
                waiting += vars(one).values()
            elif isinstance(one, types.FunctionType):
                waiting += [one.__globals__.get(name) for name in _used_names(one.__code__)]
    return [describe_code(one) for one in seen if isinstance(one, types.FunctionType)]


def _used_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _used_names(constant)


def _describe_bytecode(code: types.CodeType) -> list[Any]:
    constants = [_describe_bytecode(c) if isinstance(c, types.CodeType) else c for c in code.co_consts]
    return [code.co_code.hex(), constants, code.co_names, code.co_varnames]


def _as_python(value: Any) -> Any:
    """Return the Python function behind a compiled or an inlined function."""
    return getattr(value, "function", value)


def compile_machine_code(function: types.FunctionType, parameters: Sequence[Any], returns: Any) -> bytes:
    """Return an object file that contains the function under its entry name.

    Raises TypeError if LLVM cannot remove the code that numba adds for functions that allocate or raise.
    """
    machine = _target_machine(3)
    # If reference counts are left after the faster translation, the function is translated as numba usually does.
    for translating in _translated_only, nullcontext:
        module = _translate_module(function, parameters, returns, translating())
        _optimise(module, machine)
        if not any(item.name.startswith("NRT_") for item in module.functions):
            return bytes(machine.emit_object(module))
        log.info("%s: reference counts are left; compiling as numba usually does", function.__name__)
    raise TypeError(f"{function.__name__} allocates memory, which compiled functions must not")


def _translate_module(
    function: types.FunctionType, parameters: Sequence[Any], returns: Any, translating: AbstractContextManager[None]
) -> Any:
    """Return the LLVM module of the function and all that it calls, which exports only the function's entry."""
    import numba
    from llvmlite import binding

    signature = _numba_signature(parameters, returns)
    entry = _make_entry(function, parameters)
    with translating:
        translated = numba.cfunc(signature, error_model="numpy")(entry)
    module = binding.parse_assembly(translated.inspect_llvm())
    for item in (*module.functions, *module.global_variables):
        if item.name == translated.native_name:
            item.name = entry_name(function)
        elif not item.is_declaration:
            item.linkage = "internal"
    return module


@contextmanager
def _translated_only() -> Iterator[None]:
    """Make numba translate functions to LLVM IR only, without generating machine code for each and all that it calls.

    They are then optimised once, together, which takes three fifths of the time. No other thread compiles at the same
    time. If numba's internals are different, it compiles as usual, and the log says so.
    """
    from numba.core import codegen, compiler_lock
    from numba.core.registry import cpu_target

    made: Any = cpu_target.target_context.codegen()

    class Library(codegen.JITCodeLibrary):
        def _optimize_functions(self, module: Any) -> None:
            """Run only the passes that make functions small; the others run once they are linked together."""
            module.data_layout = made._data_layout
            passes, builder = made._function_pass_manager(opt=1)
            for function in module.functions:
                passes.run(function, builder)

        def _optimize_final_module(self) -> None:
            """Leave it to `_optimise`."""

        def _finalize_specific(self) -> None:
            """Generate no machine code."""

        def get_pointer_to_function(self, name: str) -> int:
            """Return 0: there is no machine code, but the library is complete."""
            self._ensure_finalized()  # type: ignore[no-untyped-call]
            return 0

    if not all(hasattr(made, name) for name in REPLACED):
        _tell_of_slow_compiling()
        yield
        return
    collects_garbage = gc.isenabled()
    with compiler_lock.global_compiler_lock:
        replacements: tuple[Any, ...] = (Library, lambda module: None, lambda name, env: None)
        made.__dict__.update(zip(REPLACED, replacements, strict=True))
        gc.disable()  # numba makes millions of objects, most of which stay
        try:
            yield
        finally:
            for name in REPLACED:
                del made.__dict__[name]
            gc.freeze()  # the next collection would look at all of them
            if collects_garbage:
                gc.enable()


@cache
def _tell_of_slow_compiling() -> None:
    """Log once that this version of numba lacks what would make compiling faster."""
    import numba

    log.warning("numba %s has other internals: compiling takes longer; see docs/design.md", numba.__version__)


def _optimise(module: Any, machine: Any) -> None:
    """Optimise what numba has translated: first remove its reference counting, then do the rest."""
    from llvmlite import binding

    # Reference counts can be pruned only from simple control flow, before loops are vectorised and unrolled.
    for level in 1, 3:
        options = binding.create_pipeline_tuning_options(level)
        if level == 1:
            options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
        builder = binding.create_pass_builder(machine, options)
        passes = builder.getModulePassManager()
        if level == 1:
            passes.add_loop_rotate_pass()  # loops that are not in this form are not vectorised
            passes.add_instruction_combine_pass()
            passes.add_jump_threading_pass()
        passes.add_refprune_pass()
        passes.run(module, builder)


def _make_entry(function: types.FunctionType, parameters: Sequence[Any]) -> Any:
    """Return a wrapper of the function that takes only numbers: for an array, the address of its object."""
    from numba import carray  # type: ignore[attr-defined]

    scope: dict[str, Any] = {"carray": carray, "function": _translate(function), "word": as_intrinsic(read_word)}
    names: list[str] = []

    def array(kind: ArrayType, address: str) -> str:
        scope[f"pointer_{kind.dtype}"] = make_pointer(kind.dtype)
        data, lengths = (f"word({address}, {at})" for at in (DATA_AT, LENGTHS_AT))
        shape = "".join(f"word({lengths}, {WORD_BYTES * n})," for n in range(kind.dimensions))
        return f"carray(pointer_{kind.dtype}({data}), ({shape}))"

    def expression(kind: Any) -> str:
        if isinstance(kind, tuple) and not isinstance(kind, ArrayType):
            scope[kind[0].__name__] = kind[0]
            return f"{kind[0].__name__}({', '.join(map(expression, kind[1]))})"
        names.append(f"a{len(names)}")
        return array(kind, names[-1]) if isinstance(kind, ArrayType) else names[-1]

    call = f"function({', '.join(map(expression, parameters))})"
    exec(f"def entry({', '.join(names)}):\n    return {call}\n", scope)
    return scope["entry"]


def compile_with_numba(function: types.FunctionType) -> Any:
    """Return the function as numba compiles it on the first call, and keeps it in its own cache.

    With NUMBA_DISABLE_JIT it is not compiled at all, and its integers wrap as those of machine code do.
    """
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return np.errstate(all="ignore")(function)
    import numba

    options = function.__dict__["numba_options"]
    return numba.njit(cache=True, error_model="numpy", **options)(_translate(function).py_func)


def _translate(function: types.FunctionType) -> Any:
    """Return the numba version of the function, with those of all functions that it calls."""
    import numba

    left_out: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "no_rewrites": True}
    options: Any = {"_nrt": False, "error_model": "numpy", **left_out}
    scopes: dict[int, dict[str, Any]] = {}
    translated: dict[Any, Any] = {}
    for one in reachable(function):
        scope = scopes.setdefault(id(one.__globals__), dict(one.__globals__))
        copied = update_wrapper(types.FunctionType(one.__code__, scope, one.__name__), one)
        translated[one] = numba.njit(**options, **one.__dict__["numba_options"])(copied)
    for scope in scopes.values():
        for name, value in scope.items():
            if hasattr(value, "numba_options") and _as_python(value) in translated:
                scope[name] = translated[_as_python(value)]
            elif isinstance(value, LLVMFunction):
                scope[name] = as_intrinsic(value)
    return translated[function]


def _numba_signature(parameters: Sequence[Any], returns: Any) -> Any:
    from numba import types as numba_types

    known: Any = numba_types
    scalars = {int: known.int64, float: known.float64, bool: known.boolean, type(None): known.void}

    def flat(kind: Any) -> Iterator[Any]:
        if isinstance(kind, ArrayType):
            yield known.int64
        elif isinstance(kind, tuple):
            for field in kind[1]:
                yield from flat(field)
        else:
            yield scalars[kind]

    return scalars[returns](*(one for kind in parameters for one in flat(kind)))


@cache
def host_processor() -> tuple[str, str, str]:
    """Return the system, the processor and its features that code is compiled for, by their LLVM names.

    Numba's variables NUMBA_CPU_NAME and NUMBA_CPU_FEATURES name another processor than this machine's.
    """
    from llvmlite import binding

    # Part of each file's name: code for AVX-512 would end the process on a processor without it.
    name = os.environ.get("NUMBA_CPU_NAME") or binding.get_host_cpu_name()
    features = os.environ.get("NUMBA_CPU_FEATURES") or binding.get_host_cpu_features().flatten()
    return binding.get_process_triple(), name, features


def _target_machine(level: int) -> Any:
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_default_triple()
    _, cpu, features = host_processor()
    return target.create_target_machine(cpu, features, level, "default", "jitdefault", jit=True)


@cache
def check_array_layout() -> None:
    """Raise RuntimeError if array objects do not have the memory layout that the machine code expects."""

    def words(address: int, count: int) -> list[int]:
        return list((ctypes.c_int64 * count).from_address(address))

    sample = np.zeros((4, 3), np.int8)[1:]
    data, _, lengths = words(id(sample) + DATA_AT, 3)
    if data != sample.__array_interface__["data"][0] or words(lengths, 2) != [3, 3]:
        raise RuntimeError(f"compiled functions cannot read the arrays of numpy {np.__version__}; install another one")


_engines: list[Any] = []
"""Keeps the machine code loaded for the lifetime of the process."""


def load_machine_code(code: bytes, name: str) -> int:
    """Load an object file and return the address of a function in it."""
    from llvmlite import binding

    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), _target_machine(0))
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    return int(engine.get_function_address(name))
