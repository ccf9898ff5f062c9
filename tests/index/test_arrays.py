"""Arrays in one file: what is written is read, by other programs too, and what is damaged is noticed."""

import numpy as np
import pytest

from askalike.index.files import (
    ALIGNMENT,
    ARRAYS_FILE,
    NUMBER_TYPES,
    create_arrays,
    open_arrays,
    release_pages,
    write_arrays,
)

SHAPES = [(0,), (3,), (0, 5), (2, 3), (1, 1)]


@pytest.fixture
def arrays():
    random = np.random.default_rng(0)
    kinds = [(number_type, shape) for number_type in NUMBER_TYPES.values() for shape in SHAPES]
    return {f"{n}.é": random.integers(0, 2, shape).astype(kind) for n, (kind, shape) in enumerate(kinds)}


def write_at_once(folder, arrays):
    write_arrays(folder, arrays)


def fill(folder, arrays):
    created = create_arrays(folder, {name: (array.dtype, array.shape) for name, array in arrays.items()})
    for name, array in arrays.items():
        created[name][...] = array


@pytest.mark.parametrize("write", [write_at_once, fill])
def test_what_is_written_is_read(tmp_path, arrays, write):
    write(tmp_path, arrays)
    opened = open_arrays(tmp_path)
    assert opened.keys() == arrays.keys()
    for name, array in arrays.items():
        assert opened[name].dtype == array.dtype
        assert opened[name].flags.aligned
        assert not opened[name].flags.writeable
        np.testing.assert_array_equal(opened[name], array)


def test_a_transposed_array_is_written_by_its_rows(tmp_path):
    array = np.arange(6).reshape(2, 3).T
    write_arrays(tmp_path, {"a": array})
    np.testing.assert_array_equal(open_arrays(tmp_path)["a"], array)


def test_rows_that_fill_cache_lines_begin_with_one(tmp_path):
    arrays = {"a": np.zeros(5, np.int64), "b": np.zeros((3, 64), np.int8), "c": np.zeros((5, 32), np.float16)}
    write_arrays(tmp_path, arrays)
    opened = open_arrays(tmp_path)
    assert opened["b"].ctypes.data % ALIGNMENT == opened["c"].ctypes.data % ALIGNMENT == 0


def test_written_arrays_stay_when_pages_are_released(tmp_path):
    kinds = {"a": (np.dtype(np.int64), (5_000,)), "b": (np.dtype(np.float32), (100, 7))}
    created = create_arrays(tmp_path, kinds)
    created["a"][:], created["b"][:] = np.arange(5_000), 2.5
    release_pages([*created.values(), np.arange(3)])
    for arrays in (created, open_arrays(tmp_path)):
        np.testing.assert_array_equal(arrays["a"], np.arange(5_000))
        assert (arrays["b"] == 2.5).all()


def test_other_programs_read_the_file(tmp_path, arrays):
    safetensors = pytest.importorskip("safetensors.numpy")
    write_arrays(tmp_path, arrays)
    np.testing.assert_equal(safetensors.load_file(tmp_path / ARRAYS_FILE), arrays)
