"""Functions compiled to machine code once per machine, and then loaded without the compiler; see docs/design.md.

Numba translates a function, LLVM turns it into an object file, and later processes load that file with llvmlite alone,
since importing numba takes longer than most searches. A compiled function's parameters are annotated with the types
that the machine code expects: int, float, bool, `NDArray[np.int32]` (one dimension), `Matrix[np.float32]` (two), or a
NamedTuple of these. Arrays are contiguous (C order) and of exactly that type. The function allocates nothing and raises
nothing: it writes its results into arrays passed to it. Functions that it calls are marked as `inlined`. Both depend
only on their arguments: module constants become part of the machine code.
"""

import ctypes
import hashlib
import importlib
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property, update_wrapper
from pathlib import Path
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    NamedTuple,
    ParamSpec,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from numpy.typing import NDArray

from askalike.core.arrays import Array, Floats, Ints
from askalike.core.files import user_cache
from askalike.native.code_files import CodeFolder
from askalike.native.machine_code import (
    ArrayType,
    check_array_layout,
    compile_machine_code,
    compile_with_numba,
    describe_code,
    entry_name,
    host_processor,
    load_machine_code,
    reachable,
)

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
ReturnT = TypeVar("ReturnT")
TupleT = TypeVar("TupleT", bound=tuple[Any, ...])
P = ParamSpec("P")
ScalarT = TypeVar("ScalarT", bound=np.generic)
Matrix = Annotated[NDArray[ScalarT], 2]
"""A two-dimensional array."""

CACHE_VARIABLE = "NUMBA_CACHE_DIR"
"""Environment variable for the folder of compiled code; by default next to the source or in the user's cache."""
FORMAT = 3
"""The version of the file format."""
OFF_SWITCH = "ASKALIKE_NATIVE_CACHE"
"""Environment variable: with the value `numba`, numba's own `cache=True` is used instead of files of machine code."""
PACKAGE = Path(__file__).parents[1]
DECORATORS = "@compiled", "@elementwise"
_C_TYPES: Mapping[Any, Any] = {int: ctypes.c_int64, float: ctypes.c_double, bool: ctypes.c_bool, type(None): None}
_lock = threading.RLock()
EXPONENT_GAP = np.float32(2.0**112)
"""Factor for the different exponent biases of float32 and float16."""


def inlined(*, fastmath: bool = False) -> Callable[[FunctionT], FunctionT]:
    """Mark a function that is compiled into the compiled functions that call it; from Python, it runs as Python."""

    def mark(function: FunctionT) -> FunctionT:
        function.__dict__["numba_options"] = {"fastmath": fastmath}
        return function

    return mark


def compiled(*, fastmath: bool = False) -> "Callable[[Callable[P, ReturnT]], CompiledFunction[P, ReturnT]]":
    """Compile a function to machine code, which is loaded or compiled on the first call.

    Calling it raises TypeError for arrays of types other than those it was compiled for.
    """

    def make(function: Callable[P, ReturnT]) -> CompiledFunction[P, ReturnT]:
        return CompiledFunction(inlined(fastmath=fastmath)(function))

    return make


class RunLengthArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of runs of equal elements, of which an `elementwise` formula computes what it can once for each run.

    values: (n). ends: int64 (n), the end of each one's elements. A formula of one's own, in numpy, may use it like any
    other array: it is what numpy calls a custom array container. BM25 of new terms takes a quarter of the time.
    """

    def __init__(self, values: Floats, ends: Ints) -> None:
        self.values, self.ends = values, ends

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.repeat(self.values, np.diff(self.ends, prepend=0)).astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a function of numpy to the array."""
        expanded = (np.asarray(one) if isinstance(one, RunLengthArray) else one for one in inputs)
        return getattr(ufunc, method)(*expanded, **options)


def elementwise(formula: Callable[..., float]) -> Callable[..., Floats]:
    """Vectorise a formula of floats: it then takes float64 arrays that broadcast together.

    The arguments after the second may be RunLengthArray, all with the same ends: what depends on them alone is then
    computed once for each of their values. The loop is generated for the formula's number of parameters, as
    `NamedTuple` generates its methods: numba compiles no call with a variable number.
    """
    function = cast(types.FunctionType, inlined()(formula))
    names = [f"a{n}" for n in range(_parameter_count(function))]
    items = ", ".join([*(f"{name}[i]" for name in names[:2]), *(f"b{name}" for name in names[2:])])
    source = "\n".join((
        f"def loop(out: Row, ends: Ends, {', '.join(f'{name}: Row' for name in names)}) -> None:",
        "    start = 0",
        "    for row in range(len(ends)):",
        *(f"        b{name} = {name}[row]" for name in names[2:]),
        "        for i in range(start, ends[row]):",
        f"            out[i] = formula({items})",
        "        start = ends[row]",
    ))  # fmt: skip
    scope: dict[str, Any] = {"Row": NDArray[np.float64], "Ends": NDArray[np.int64], "formula": function}
    scope["__file__"] = function.__globals__["__file__"]
    # numba's own cache tells functions apart by the file and the qualified name, as their byte code is the same.
    exec(compile(source, scope["__file__"], "exec"), scope)
    loop = cast(types.FunctionType, scope["loop"])
    loop.__name__, loop.__qualname__, loop.__module__ = function.__name__, function.__qualname__, function.__module__
    native = CompiledFunction(inlined()(loop))

    def apply(*arguments: Any) -> Floats:
        if RunLengthArray in map(type, arguments):
            ends = next(one.ends for one in arguments if isinstance(one, RunLengthArray))
            varying, fixed = arguments[:2], arguments[2:]
            are_elements = all(isinstance(one, np.ndarray) and one.shape == (ends[-1],) for one in varying)
            if are_elements and not any(isinstance(one, np.ndarray) for one in fixed):
                rows = (
                    one.values if isinstance(one, RunLengthArray) else np.full(len(ends), one, float) for one in fixed
                )
                native(out := np.empty(ends[-1]), ends, *varying, *rows)
                return out
            arguments = tuple(np.asarray(one) if isinstance(one, RunLengthArray) else one for one in arguments)
        shapes = {argument.shape for argument in arguments if isinstance(argument, np.ndarray) and argument.ndim}
        if len(shapes) != 1:  # otherwise as usual; broadcast_arrays takes longer than the formula
            arguments = np.broadcast_arrays(*arguments)
            shapes = {arguments[0].shape}
        [shape] = shapes
        out, columns = np.empty(shape), np.empty((len(arguments), *shape))
        for n, argument in enumerate(arguments):
            columns[n, ...] = argument
        native(out.reshape(-1), np.arange(1, out.size + 1), *columns.reshape(len(arguments), -1))
        return out

    return update_wrapper(apply, formula)


class CompiledFunction(Generic[P, ReturnT]):
    """A function compiled to machine code; see `compiled`."""

    made: ClassVar[list[Any]] = []
    """All compiled functions of the modules that were imported."""

    def __init__(self, function: Callable[P, ReturnT]) -> None:
        update_wrapper(self, function)
        self.made.append(self)
        self.function = cast(types.FunctionType, function)
        """The Python function."""
        self._native: Any = None
        self._read_numbers: Callable[..., Sequence[Any]]

    def __call__(self, *arguments: P.args, **_: P.kwargs) -> ReturnT:
        if self._native is None:
            self._load()
        return cast(ReturnT, self._native(*self._read_numbers(*arguments)))

    @property
    def is_cached(self) -> bool:
        """Whether the machine code exists already, so that the first call need not compile."""
        return os.environ.get(OFF_SWITCH) == "numba" or self._read() is not None

    def store(self) -> bool:
        """Compile the function unless its machine code exists; return whether that was written or exists."""
        return self.is_cached or bool(self._compile() and self._read())

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.function, include_extras=True)

    @cached_property
    def _parameters(self) -> tuple[Any, ...]:
        hints = self._hints
        names = self.function.__code__.co_varnames[: _parameter_count(self.function)]
        return tuple(_parameter_type(hints[name]) for name in names)

    @cached_property
    def _file_name(self) -> str:
        """The file name for exactly this code: another version may be installed while this one is running."""
        digest = hashlib.sha256(f"{FORMAT} {sys.implementation.cache_tag} {self._parameters}".encode())
        for function in reachable(self.function):
            digest.update(describe_code(function))
        digest.update(" ".join(host_processor()).encode())
        module = self.function.__module__.removeprefix("askalike.")
        return f"{module}.{self.function.__name__}-{digest.hexdigest()[:16]}.machine"

    @cached_property
    def _folders(self) -> Sequence[CodeFolder]:
        """The folders that machine code may be in, the preferred one first."""
        if chosen := os.environ.get(CACHE_VARIABLE):
            return (CodeFolder.own(Path(chosen)),)
        folders = []
        with suppress(OSError):  # a source that is not a file
            folders.append(CodeFolder.beside(Path(self.function.__globals__["__file__"])))
        with suppress(RuntimeError):  # a user without a home directory
            folders.append(CodeFolder.own(user_cache() / "machine-code"))
        return folders

    def _load(self) -> None:
        with _lock:
            if self._native is None and os.environ.get(OFF_SWITCH) == "numba":
                check = _number_reader(self._parameters)
                self._read_numbers = lambda *arguments: arguments if check(*arguments) else ()
                self._native = compile_with_numba(self.function)
            elif self._native is None:
                check_array_layout()
                code = self._read() or self._compile()
                c_types = [kind for parameter in self._parameters for kind in _c_types(parameter)]
                prototype = ctypes.CFUNCTYPE(_C_TYPES[self._hints["return"]], *c_types)
                self._read_numbers = _number_reader(self._parameters)
                self._native = prototype(load_machine_code(code, entry_name(self.function)))

    def _read(self) -> bytes | None:
        return next(filter(None, (folder.read(self._file_name) for folder in self._folders)), None)

    def _compile(self) -> bytes:
        code = compile_machine_code(self.function, self._parameters, self._hints["return"])
        any(folder.write(self._file_name, code) for folder in self._folders)  # the first that can be written
        return code


class StoredCode(NamedTuple):
    """The functions of a module with machine code, and those whose code could not be written."""

    stored: int
    refused: int


def find_modules() -> Iterator[str]:
    """Yield the modules that have compiled functions. Their source says so: importing all would take seconds."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if any(line.startswith(DECORATORS) for line in path.read_text(encoding="utf-8").splitlines()):
            yield ".".join((PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts))


def store_code(module: str) -> StoredCode:
    """Compile a module's functions that have no machine code yet; none if it needs a package that is not installed."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError:
        return StoredCode(0, 0)
    stored = [function.store() for function in CompiledFunction.made if function.function.__module__ == module]
    return StoredCode(sum(stored), len(stored) - sum(stored))


def _parameter_count(function: types.FunctionType) -> int:
    return function.__code__.co_argcount


@cache
def _parameter_type(hint: Any) -> Any:
    """Return int, float or bool, an ArrayType, or a NamedTuple's class with the types of its fields."""
    if hint in _C_TYPES:
        return hint
    if hasattr(hint, "_fields"):
        fields = get_type_hints(hint, include_extras=True)
        return hint, tuple(_parameter_type(fields[name]) for name in hint._fields)
    array, *dimensions = get_args(hint) if get_origin(hint) is Annotated else (hint, 1)
    element = get_args(array)[-1]  # the element's type; before numpy 2.5, a dtype of it
    return ArrayType(np.dtype(get_args(element)[0] if get_args(element) else element), *dimensions)


def prechecked(value: TupleT) -> TupleT:
    """Return the same NamedTuple with its arrays checked, for a tuple that is passed repeatedly."""
    copy = _prechecked_class(type(value))(*value)
    copy.checked_numbers = _number_reader(_parameter_type(type(value))[1])(*value)
    return cast(TupleT, copy)


@cache
def _prechecked_class(base: type[Any]) -> type[Any]:
    return type(base.__name__, (base,), {"checked_numbers": ()})


@cache
def _number_reader(kinds: Sequence[Any]) -> Callable[..., Sequence[Any]]:
    """Return a function that converts values of these types to numbers: an array becomes its object's address.

    It raises TypeError for an array of another type. Its code is generated for the types, as it runs on every call.
    """
    scope: dict[str, Any] = {"refuse": _refuse_other_type}
    checks, numbers = [], []
    for n, kind in enumerate(kinds):
        if isinstance(kind, ArrayType):
            scope |= {f"kind{n}": kind, f"dtype{n}": kind.dtype}
            is_other = f"v{n}.dtype is not dtype{n} or v{n}.ndim != {kind.dimensions} or not v{n}.flags.c_contiguous"
            checks.append(f"    if {is_other}:\n        refuse(v{n}, kind{n})\n")
            numbers.append(f"id(v{n})")
        elif isinstance(kind, tuple):
            scope[f"read{n}"] = _number_reader(kind[1])
            numbers.append(f"*(getattr(v{n}, 'checked_numbers', None) or read{n}(*v{n}))")
        else:
            numbers.append(f"v{n}")
    names = ", ".join(f"v{n}" for n in range(len(kinds)))
    exec(f"def read({names}):\n{''.join(checks)}    return ({', '.join(numbers)},)\n", scope)
    return cast(Callable[..., Sequence[Any]], scope["read"])


def _refuse_other_type(array: Array, kind: ArrayType) -> None:
    if array.dtype != kind.dtype or array.ndim != kind.dimensions or not array.flags.c_contiguous:
        expected = f"{kind.dimensions} dimension(s) of {kind.dtype} in a row"
        raise TypeError(f"an array of {array.ndim} dimension(s) of {array.dtype}; expected {expected}")


def _c_types(kind: Any) -> list[Any]:
    if isinstance(kind, ArrayType):
        return [ctypes.c_int64]
    return [t for field in kind[1] for t in _c_types(field)] if isinstance(kind, tuple) else [_C_TYPES[kind]]


@inlined()
def widen(half: int) -> np.float32:
    """Return the value of the 16 bits of a finite float16: as the bits of a float32, scaled by EXPONENT_GAP."""
    bits = np.uint32(half)
    moved = ((bits & np.uint32(0x7FFF)) << np.uint32(13)) | ((bits & np.uint32(0x8000)) << np.uint32(16))
    return np.uint32(moved).view(np.float32) * EXPONENT_GAP
