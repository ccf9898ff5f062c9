"""Compiled functions: equal to Python, strict about their arguments, and loaded without the compiler."""

import gc
import importlib.util
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from askalike import Archive, Question
from askalike.native import machine_code
from askalike.native.compiled import (
    CACHE_VARIABLE,
    OFF_SWITCH,
    CompiledFunction,
    Matrix,
    RunLengthArray,
    compiled,
    elementwise,
    find_modules,
    inlined,
    prechecked,
    store_code,
)
from askalike.native.llvm import LLVMFunction, Memory, count_ones, mark_reaching, read_four, trailing_zeros
from askalike.search.encoder_installation import adopt_encoder


class Row(NamedTuple):
    values: NDArray[np.float32]
    factor: int


@inlined()
def _grow(value: float) -> float:
    return math.log(value + 1.0)


@compiled()
def weigh(row: Row, table: Matrix[np.int8], negative: bool, out: NDArray[np.float64]) -> int:
    for i in range(len(table)):
        out[i] = 0.0
        for j in range(len(row.values)):
            out[i] += _grow(row.values[j]) * table[i, j] * row.factor
        if negative:
            out[i] = -out[i]
    return len(table)


@elementwise
def share(part: float, whole: float) -> float:
    """A formula."""
    return math.sqrt(part) / whole if whole else 0.0


@elementwise
def grow(value: float) -> float:
    """Another formula, whose loop has the same byte code."""
    return value + 1.0


@elementwise
def shift(part: float, whole: float, more: float, less: float) -> float:
    """A formula of which two arguments may be repeated."""
    return part / whole + more - less


@compiled()
def count_bits(numbers: Matrix[np.uint64], counts: NDArray[np.int64]) -> None:
    for i in range(len(numbers)):
        for j in range(numbers.shape[1]):
            counts[i] += np.int64(count_ones(numbers[i, j]))


@compiled()
def find_reaching(numbers: NDArray[np.int32], first: int, least: int, found: NDArray[np.int64]) -> int:
    reaching, n = mark_reaching(numbers, first, np.int32(least)), 0
    while reaching:
        found[n] = trailing_zeros(reaching)
        reaching &= reaching - np.uint64(1)
        n += 1
    return n


@compiled()
def join_fours(numbers: NDArray[np.uint16], joined: NDArray[np.uint64]) -> None:
    for i in range(len(joined)):
        joined[i] = read_four(numbers, i)


ROW = Row(np.array([0.5, 2.0, 7.0], np.float32), 3)
TABLE = np.array([[1, -2, 3], [0, 5, -6]], np.int8)


def test_bits_are_counted_as_python_counts_them() -> None:
    numbers = np.random.default_rng(0).integers(0, 2**64, (5, 40), np.uint64)
    numbers[0, :3] = 0, 2**64 - 1, 2**63
    ours, pythons = np.zeros((2, 5), np.int64)
    count_bits(numbers, ours)
    count_bits.function(numbers, pythons)
    assert ours.tolist() == pythons.tolist() == [sum(map(int.bit_count, row)) for row in numbers.tolist()]


def test_numbers_are_found_as_by_python() -> None:
    numbers = np.random.default_rng(0).integers(-9, 9, 70, np.int32)
    expected = np.flatnonzero(numbers[5:69] >= 4).tolist()
    for function in find_reaching, find_reaching.function:
        found = np.empty(64, np.int64)
        assert found[: function(numbers, 5, 4, found)].tolist() == expected
        assert function(numbers, 5, 10, found) == 0


def test_four_numbers_are_joined_as_by_python() -> None:
    numbers = np.array([1, 65_535, 3, 4, 32_768, 6], np.uint16)
    expected = [sum(n << 16 * at for at, n in enumerate(numbers.tolist()[i : i + 4])) for i in range(3)]
    for function in join_fours, join_fours.function:
        joined = np.empty(3, np.uint64)
        function(numbers, joined)
        assert joined.tolist() == expected


def test_result_is_that_of_python() -> None:
    ours, pythons = np.empty(2), np.empty(2)
    assert weigh(ROW, TABLE, True, ours) == 2
    assert weigh.function(ROW, TABLE, True, pythons) == 2
    assert ours == pytest.approx(pythons, rel=1e-12)


@pytest.mark.parametrize(
    "table",
    [TABLE.astype(np.int16), TABLE[0], np.asfortranarray(TABLE), TABLE[:, ::2]],
    ids=["type", "1d", "F", "step"],
)
def test_array_of_another_type_is_refused(table: NDArray[np.int8]) -> None:
    with pytest.raises(TypeError, match="expected 2 dimension"):
        weigh(ROW, table, True, np.empty(2))


def test_formula_takes_numbers_and_arrays_that_broadcast() -> None:
    result = share(np.array([[4], [9]]), np.array([2.0, 3.0, 0.0]))
    assert result == pytest.approx(np.array([[1.0, 2 / 3, 0.0], [1.5, 1.0, 0.0]]))
    assert share(4, 2) == 1.0


def test_formula_reads_repeated_values_as_an_array() -> None:
    part, whole, ends = np.arange(1.0, 6.0), np.array([2.0, 2.0, 4.0, 4.0, 4.0]), np.array([2, 2, 5])
    repeated = RunLengthArray(np.array([3.0, 9.0, 7.0]), ends)
    expanded = np.array([3.0, 3.0, 7.0, 7.0, 7.0])
    expected = [p / w + e - 1.0 for p, w, e in zip(part, whole, expanded, strict=True)]
    assert shift(part, whole, repeated, 1.0).tolist() == shift(part, whole, expanded, 1.0).tolist() == expected
    assert shift(part, 2.0, repeated, 1.0).tolist() == shift(part, 2.0, expanded, 1.0).tolist()  # not one a row
    assert shift(part, whole, repeated, part).tolist() == shift(part, whole, expanded, part).tolist()
    assert (np.log(repeated) + 2 * repeated).tolist() == (np.log(expanded) + 2 * expanded).tolist()
    assert (repeated + part).tolist() == (expanded + part).tolist()


def test_code_loads_without_numba_and_recompiles_when_damaged(tmp_path: Path) -> None:
    script = """if True:
        import sys
        sys.path.insert(0, sys.argv[1])
        import numpy as np
        import test_compiled
        assert test_compiled.share(9.0, 2.0) == 1.5
        print("numba" in sys.modules)
    """

    def run() -> str:
        command = [sys.executable, "-c", script, str(Path(__file__).parent)]
        done = subprocess.run(
            command, env={**os.environ, CACHE_VARIABLE: str(tmp_path)}, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    assert [run(), run()] == ["True", "False"]
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    assert [run(), run()] == ["True", "False"]


def test_code_is_stored_ahead_of_the_first_call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "code"))
    one = CompiledFunction(weigh.function)
    assert one.store()
    assert one.is_cached
    monkeypatch.setattr(one, "_compile", lambda: pytest.fail("it is there already"))
    assert one.store()
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "code" / os.listdir(tmp_path / "code")[0]))
    assert not CompiledFunction(weigh.function).store()


def test_compiled_modules_are_found_by_their_source() -> None:
    found = set(find_modules())
    imported = {function.function.__module__ for function in CompiledFunction.made}
    assert {"askalike.index.lexical.query_batch", "askalike.similarities.bm25"} <= found
    assert {name for name in imported if name.startswith("askalike.")} <= found
    assert "askalike.native.compiled" not in found


def test_module_with_missing_packages_has_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "askalike.similarities.bm25", None)
    assert store_code("askalike.similarities.bm25") == (0, 0)


MODULE = """
import numpy as np
from numpy.typing import NDArray
from askalike.native.compiled import compiled

FACTOR = 2

@compiled()
def scale(values: NDArray[np.float64]) -> None:
    for i in range(len(values)):
        values[i] *= FACTOR
"""


def test_running_process_keeps_its_code_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function is loaded when it is first called; another process may have compiled the new version by then."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "code"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # both versions are written within a second
    path = tmp_path / "changing.py"

    def scale_by_newest(factor: int) -> tuple[CompiledFunction[..., None], NDArray[np.float64]]:
        path.write_text(MODULE.replace("FACTOR = 2", f"FACTOR = {factor}"))
        spec = importlib.util.spec_from_file_location("changing", path)
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        sys.modules["changing"] = module
        spec.loader.exec_module(module)
        return module.scale, np.ones(1)

    old, values = scale_by_newest(2)
    new, others = scale_by_newest(3)
    new(others)
    old(values)
    assert [*values, *others] == [2, 3]


TIMES = 3


def _multiply(builder: Any, number: Any) -> Any:
    return builder.mul(number, number.type(TIMES))


def _write_multiple(builder: Any, number: Any, table: Memory) -> None:
    """Write: the multiple of a number, into the second row of a table."""
    place = builder.ptrtoint(table.address, table.step.type)
    second = builder.inttoptr(builder.add(place, table.step), table.address.type)
    builder.store(_multiply(builder, number), second)


write_multiple = LLVMFunction(_write_multiple)


@compiled()
def write_multiples(numbers: NDArray[np.int64], table: Matrix[np.int64]) -> None:
    for i in range(len(numbers)):
        write_multiple(numbers[i], table[:, i:])


def test_function_is_written_in_llvm() -> None:
    table = np.zeros((2, 4), np.int64)
    write_multiples(np.array([5, 7]), table)
    assert table.tolist() == [[0, 0, 0, 0], [15, 21, 0, 0]]
    with pytest.raises(NotImplementedError):
        write_multiples.function(np.array([5, 7]), table)


def test_machine_code_depends_on_what_writers_use(monkeypatch: pytest.MonkeyPatch) -> None:
    before = machine_code.describe_code(write_multiples.function)
    assert before == machine_code.describe_code(write_multiples.function)
    monkeypatch.setattr(sys.modules[__name__], "TIMES", 4)
    assert machine_code.describe_code(write_multiples.function) != before


def test_numba_compiles_for_others_as_before() -> None:
    numba = pytest.importorskip("numba")
    machine_code.compile_machine_code(weigh.function, weigh._parameters, int)
    assert numba.njit(_grow)(math.e - 1.0) == pytest.approx(1.0)
    assert gc.isenabled()


def test_code_equals_that_of_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, other = np.empty(2), np.empty(2)
    weigh(ROW, TABLE, True, ours)
    monkeypatch.setattr(machine_code, "_translated_only", nullcontext)
    one = CompiledFunction(weigh.function)
    monkeypatch.setattr(one, "_read", lambda: None)
    monkeypatch.setattr(CompiledFunction, "_folders", ())
    one(ROW, TABLE, True, other)
    assert ours.tolist() == other.tolist()


def test_numba_compiles_where_memory_cannot_be_taken_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    binding = pytest.importorskip("llvmlite.binding")
    optimise, modules = machine_code._optimise, []

    def optimise_and_leave_something(module: Any, machine: Any) -> None:
        optimise(module, machine)
        modules.append(module)
        if len(modules) == 1:
            module.link_in(binding.parse_assembly("define void @NRT_Free() {\n  ret void\n}"), preserve=True)

    monkeypatch.setattr(machine_code, "_optimise", optimise_and_leave_something)
    assert machine_code.compile_machine_code(weigh.function, weigh._parameters, int)
    assert len(modules) == 2


def test_prechecked_tuple_is_the_same_argument() -> None:
    ours, again = np.empty(2), np.empty(2)
    row = prechecked(ROW)
    assert isinstance(row, Row)
    assert row.values is ROW.values
    assert weigh(row, TABLE, False, ours) == weigh(ROW, TABLE, False, again)
    assert ours.tolist() == again.tolist()


@pytest.mark.long
def test_with_the_off_switch_numba_compiles_and_caches(tmp_path: Path) -> None:
    script = """if True:
        import sys
        sys.path.insert(0, sys.argv[1])
        import numpy as np
        import test_compiled as t
        out = np.empty(2)
        row = t.prechecked(t.ROW)
        assert t.weigh(row, t.TABLE, np.bool_(True), out) == 2
        expected = np.empty(2)
        t.weigh.function(t.ROW, t.TABLE, True, expected)
        assert np.allclose(out, expected, rtol=1e-12)
        assert (t.share(9.0, 2.0), t.grow(2.0)) == (1.5, 3.0)
        counts = np.zeros(1, np.int64)
        t.count_bits(np.full((1, 2), 7, np.uint64), counts)
        assert counts.tolist() == [6]
        try:
            t.weigh(row, t.TABLE.astype(np.int16), True, out)
        except TypeError as error:
            print(error)
    """
    settings = {OFF_SWITCH: "numba", CACHE_VARIABLE: str(tmp_path)}
    command = [sys.executable, "-c", script, str(Path(__file__).parent)]
    for _ in range(2):
        done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=True)
        assert "expected 2 dimension" in done.stdout
    files = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {".nbi", ".nbc"}


@pytest.mark.long
def test_without_machine_code_hits_are_the_same(tmp_path: Path) -> None:
    titles = "How do I renew a book?", "Which fee is due for a lost card?", "May dogs come in?", "Is there wireless?"
    with Archive.create(tmp_path / "desk") as archive:
        archive.upsert(Question(str(n), title, language="en") for n, title in enumerate(titles))
        adopt_encoder(archive, "minilm_l6")
    script = """if True:
        import sys
        import askalike
        with askalike.load(sys.argv[1]) as desk:
            for text in "my dog", "internet", "i lost my card", "Hello! Can I keep a book for longer? Thanks":
                print([(hit.id, hit.grade) for hit in desk.search(text, k=4, min_similarity=0)])
    """
    found = []
    for name, settings in (("plain", {OFF_SWITCH: "numba", "NUMBA_DISABLE_JIT": "1"}), ("compiled", {})):
        desk = shutil.copytree(tmp_path / "desk", tmp_path / name)
        command = [sys.executable, "-c", script, str(desk)]
        found.append(subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=True))
    assert found[0].stdout == found[1].stdout
    assert "('2', " in found[1].stdout


def compile_into(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[CompiledFunction[..., Any], Path]:
    """Return a function that is not loaded yet, and the file with its code."""
    monkeypatch.setenv(CACHE_VARIABLE, str(folder))
    CompiledFunction(weigh.function)(ROW, TABLE, False, np.empty(2))
    [file] = folder.iterdir()
    return CompiledFunction(weigh.function), file


def make_writable_by_others(file: Path) -> None:
    file.chmod(0o666)


def make_folder_writable_by_others(file: Path) -> None:
    file.parent.chmod(0o1777)


def give_to_another_user(file: Path) -> None:
    os.chown(file, 65534, -1)


def give_folder_to_another_user(file: Path) -> None:
    os.chown(file.parent, 65534, -1)


def make_link(file: Path) -> None:
    file.rename(file.parent.parent / "elsewhere")
    file.symlink_to(file.parent.parent / "elsewhere")


@pytest.mark.parametrize(
    "plant",
    [
        make_writable_by_others, make_folder_writable_by_others, give_to_another_user, give_folder_to_another_user,
        make_link,
    ],
)  # fmt: skip
def test_foreign_code_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Callable[[Path], None]
) -> None:
    one, file = compile_into(tmp_path / "cache", monkeypatch)
    assert one.is_cached
    if plant in (give_to_another_user, give_folder_to_another_user) and os.geteuid():
        pytest.skip("needs root to give a file away")
    plant(file)
    assert not one.is_cached
    one(ROW, TABLE, False, np.empty(2))  # compiled again


def test_code_files_are_private_and_follow_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mask = os.umask(0)
    try:
        _, file = compile_into(tmp_path / "cache", monkeypatch)
    finally:
        os.umask(mask)
    assert [path.stat().st_mode & 0o777 for path in (file.parent, file)] == [0o700, 0o600]


def test_without_a_home_code_is_beside_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    monkeypatch.setattr("askalike.native.compiled.user_cache", fail)
    [folder] = CompiledFunction(weigh.function)._folders
    assert folder.path == Path(__file__).parent / "__pycache__"


def test_another_numba_is_told_once_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setattr(machine_code, "REPLACED", ("no_such_method",))
    machine_code._tell_of_slow_compiling.cache_clear()
    for function in weigh, count_bits:
        assert CompiledFunction(function.function).store()
    assert [record.message.partition(":")[2] for record in caplog.records] == [
        " compiling takes longer; see docs/design.md"
    ]


def test_code_for_another_processor_has_another_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    for name, features in (("haswell", "+avx2"), ("x86-64", "+sse2")):
        monkeypatch.setenv("NUMBA_CPU_NAME", name)
        monkeypatch.setenv("NUMBA_CPU_FEATURES", features)
        machine_code.host_processor.cache_clear()
        assert CompiledFunction(count_bits.function).store()
    machine_code.host_processor.cache_clear()
    assert len({path.name for path in tmp_path.iterdir()}) == 2
