"""Columns of data frames and of Arrow: read as they come."""

import mmap
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import tally
import torch

torch.manual_seed(0)
PREDS = torch.rand(60)
TARGET = torch.randint(2, (60,))
NAMES = [["north", "south", "a name of more than twelve bytes"][i % 3] for i in range(60)]


def chunked(values, **options):
    return pa.chunked_array([values[:7], values[7:7], values[7:40], values[40:]], **options)


def numbers_as(values):
    """One column of numbers, as libraries have it."""
    array = values.numpy()
    read_only = array.copy()
    read_only.flags.writeable = False
    sliced = pa.array(np.concatenate([array[:5], array]))[5:]
    return {
        "numpy": array,
        "read-only": read_only,
        "reversed": array[::-1].copy()[::-1],
        "strided": np.repeat(read_only, 2)[::2],
        "big-endian": array.astype(array.dtype.newbyteorder(">")),
        "series": pd.Series(array),
        "index": pd.Index(array),
        "nullable": pd.Series(array).convert_dtypes(),
        "pandas of arrow": pd.Series(array).convert_dtypes(dtype_backend="pyarrow"),
        "polars": pl.Series(array),
        "polars in parts": pl.concat([pl.Series(array[:9]), pl.Series(array[9:])], rechunk=False),
        "arrow": pa.array(array),
        "arrow, sliced": sliced,
        "arrow in parts": chunked(array),
        "dictionary": pa.array(array).dictionary_encode(),
        "dictionaries": chunked(array).dictionary_encode(),
    }


def texts_as(values):
    """One column of texts, where None may be missing, as libraries have it."""
    arrow = pa.array([*values[:3], *values])[3:]
    columns = {
        "list": list(values),
        "objects": pd.Series(values, dtype=object),
        "string": pd.Series(values, dtype="string"),
        "category": pd.Series(values).astype("category"),
        "polars": pl.Series(values),
        "categorical": pl.Series(values, dtype=pl.Categorical),
        "enum": pl.Series(values, dtype=pl.Enum(sorted({*filter(None, values)}))),
        "arrow": arrow,
        "large": arrow.cast(pa.large_string()),
        "views": arrow.cast(pa.string_view()),
        "in parts": chunked(arrow),
        "dictionary": arrow.dictionary_encode(),
        "dictionaries": chunked(arrow).dictionary_encode(),
        "null in a dictionary": arrow.dictionary_encode(null_encoding="encode"),
    }
    if None not in values:
        columns["numpy"] = np.array(values)
    return columns


@pytest.mark.parametrize("form", numbers_as(PREDS))
def test_numbers_are_those_of_the_column(form):
    metric = tally.BinaryAUROC()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metric.update(numbers_as(PREDS)[form], numbers_as(TARGET)[form])
    assert metric.compute() == tally.BinaryAUROC()(PREDS, TARGET)


@pytest.mark.parametrize("target", [
    pa.array(TARGET.bool().numpy()), pa.array([True, *TARGET.bool().tolist()])[1:],
    pl.Series(TARGET.bool().numpy()), pd.Series(TARGET.bool().numpy(), dtype="boolean"),
    chunked(pa.array(TARGET.bool().tolist())),
])
def test_bits_are_bools(target):
    assert tally.BinaryAccuracy()(PREDS, target) == tally.BinaryAccuracy()(PREDS, TARGET)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "float32", "float64"])
def test_every_width_is_read(dtype):
    column = pa.array(TARGET.numpy().astype(dtype))
    assert tally.MeanMetric()(column) == TARGET.double().mean()


@pytest.mark.parametrize("form", texts_as(NAMES))
def test_texts_are_those_of_the_column(form):
    metric = tally.CramersV()
    other = [name[:2] for name in NAMES]
    expected = tally.CramersV()(NAMES, other)
    assert metric(texts_as(NAMES)[form], other) == expected
    errors = tally.WordErrorRate()
    assert errors(texts_as(NAMES)[form], NAMES) == 0


@pytest.mark.parametrize("form", texts_as([None, *NAMES[1:]]))
def test_nulls_of_keys_are_a_slice(form):
    names = [None, *NAMES[1:]]
    expected = tally.SlicedMetric(tally.BinaryAccuracy())
    expected.update(names, PREDS, TARGET)
    metric = tally.SlicedMetric(tally.BinaryAccuracy())
    metric.update(texts_as(names)[form], PREDS, TARGET)
    assert metric.compute() == expected.compute()
    assert [each.rows for each in metric.compute() if each.key == (None,)] == [1]


@pytest.mark.parametrize("form", numbers_as(TARGET))
def test_integers_are_keys(form):
    expected = tally.SlicedMetric(tally.MeanMetric())
    expected.update(TARGET.tolist(), PREDS)
    metric = tally.SlicedMetric(tally.MeanMetric())
    metric.update(numbers_as(TARGET)[form], PREDS)
    assert metric.compute() == expected.compute()


@pytest.mark.parametrize("keys", [
    pa.array([3, None, 3, 0]), pl.Series([3, None, 3, 0]), pd.Series([3, None, 3, 0], dtype="Int64"),
    chunked(pa.array([3, None, 3, 0])), pa.array([3, None, 3, 0]).dictionary_encode(),
])
def test_integers_may_be_missing_as_keys(keys):
    metric = tally.SlicedMetric(tally.MeanMetric())
    metric.update(keys, [1.0, 2.0, 3.0, 4.0])
    assert [(each.key[0], each.rows) for each in metric.compute()] == [(None, 1), (0, 1), (3, 2)]


@pytest.mark.parametrize("column", [
    pa.array([1.0, None, 0.5]), chunked(pa.array([1.0, None, 0.5])), pl.Series([1.0, None, 0.5]),
    pd.Series([1.0, None, 0.5], dtype="Float64"), pa.array([1.0, None, 0.5]).dictionary_encode(),
    pd.Series([1.0, None, 0.5]).astype("category"),
])
def test_nulls_of_inputs_are_named_and_counted(column):
    metric = tally.MeanSquaredError()
    message = r"input 'preds': expected no nulls, got 1 in 3 rows, the first in row 1"
    with pytest.raises(ValueError, match=message):
        metric.update(column, [0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match=message):
        metric.update(target=[0.0, 0.0, 0.0], preds=column)
    metric.update([1.0], [0.0])
    assert metric.compute() == 1


def test_nulls_of_texts_and_ids_are_errors():
    with pytest.raises(ValueError, match="input 'target': expected no nulls, got 2 in 3 rows"):
        tally.WordErrorRate().update(["a", "b", "c"], pa.array(["a", None, None]))
    interval = tally.IntervalMetric(tally.MeanMetric())
    with pytest.raises(ValueError, match="ids: expected no nulls, got 1 in 2 rows"):
        interval.update([1.0, 2.0], ids=pl.Series(["a", None]))


def test_nan_is_no_null():
    metric = tally.MeanMetric(nan_policy="ignore")
    metric.update(pa.array([1.0, float("nan"), 3.0]))
    metric.update(pd.Series([1.0, np.nan, 3.0]))
    assert metric.compute() == 2


def test_ids_and_groups_are_columns():
    ids = [f"row {i}" for i in range(60)]
    expected = tally.IntervalMetric(tally.BinaryAUROC(), seed=1)
    expected.update(PREDS, TARGET, ids=ids)
    for column in texts_as(ids).values():
        interval = tally.IntervalMetric(tally.BinaryAUROC(), seed=1)
        interval.update(PREDS, TARGET, ids=column)
        assert interval.compute().low == expected.compute().low


def test_types_that_are_no_numbers_are_named():
    times = pa.array([1, 2], type=pa.timestamp("s"))
    with pytest.raises(TypeError, match="expected numbers, bool or texts, got Arrow's type 'tss:'"):
        tally.MeanMetric().update(times)
    with pytest.raises(TypeError, match="got a series of datetime64"):
        tally.MeanMetric().update(pd.Series(pd.to_datetime(["2020-01-01"])))
    with pytest.raises(TypeError, match="fractions"):
        tally.SlicedMetric(tally.MeanMetric()).update(pa.array([0.5, None]), [1.0, 2.0])


def test_empty_columns_have_no_rows():
    for column in (
        pa.array([], pa.float32()), pa.chunked_array([], pa.float32()),
        pl.Series([], dtype=pl.Float32), pd.Series([], dtype="float32"),
    ):
        metric = tally.MeanSquaredError()
        metric.update(column, column)
        metric.update([1.0], [0.0])
        assert metric.compute() == 1
    for column in (pa.array([], pa.string()), pa.chunked_array([], pa.string_view()),
                   pa.array([], pa.string()).dictionary_encode(), pl.Series([], dtype=pl.String)):
        metric = tally.SlicedMetric(tally.MeanMetric())
        metric.update(column, torch.empty(0))
        assert metric.compute() == []


def test_tables_are_read_as_arrays():
    frame = {"a": [0.1, 0.9], "b": [0.9, 0.1]}
    for table in (pd.DataFrame(frame), pl.DataFrame(frame)):
        assert tally.MulticlassAccuracy(num_classes=2)(table, [1, 0]) == 1


def test_memory_is_shared_and_outlives_its_owner():
    from tally._columns import column_of

    values = np.arange(1000, dtype=np.float32)
    values.flags.writeable = False
    for column in (values, pa.array(values), pa.chunked_array([values]), pl.Series(values)):
        tensor = column_of(column)
        del column
        assert tensor.equal(torch.arange(1000.0))
    assert column_of(values).data_ptr() == values.ctypes.data
    arrow = pa.array(values)
    assert column_of(arrow).data_ptr() == arrow.buffers()[1].address
    with mmap.mmap(-1, 4096) as memory:
        memory.write(values.tobytes())
        mapped = np.frombuffer(memory, np.float32, 1000)
        metric = tally.MeanMetric()
        metric.update(mapped)
        del mapped
        assert metric.compute() == values.mean()
