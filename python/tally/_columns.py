"""Columns of pandas, polars and Arrow, and arrays of NumPy, without a copy where there can be none."""

import ctypes
import sys
from typing import NamedTuple

import torch
from torch import Tensor

from tally._library import classes


class Coded(NamedTuple):
    """A column of values by their places in a list, as a dictionary has it."""

    codes: Tensor
    #: Texts or numbers, of which some may be equal or not occur; or None for nulls.
    values: list

    def plain(self):
        """A list of texts, or a tensor of numbers; an empty list has no type."""
        if not self.values or not all(isinstance(value, (int, float)) for value in self.values):
            return [self.values[code] for code in self.codes.tolist()]
        has_fractions = any(isinstance(value, float) for value in self.values)
        numbers = torch.tensor(self.values, dtype=torch.float64 if has_fractions else None)
        return numbers.index_select(0, self.codes.long())


def column_of(value, keep_nulls=False):
    """The Tensor or Coded of a column; None for what is none of these.

    ValueError for nulls, unless they are to be kept as None.
    """
    if isinstance(value, Tensor):
        return value
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return _of_array(value, numpy)
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(value, (pandas.Series, pandas.Index)):
        return _finished(*_of_series(value, numpy), keep_nulls)
    if hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__"):
        return _finished(*_of_arrow(value), keep_nulls)
    return None


def _finished(column, nulls, keep_nulls):
    """The column, whose rows in `nulls`, if there are any, are None or an error."""
    if nulls is None or not bool(nulls.any()):
        return column
    if not keep_nulls:
        raise ValueError(
            f"expected no nulls, got {int(nulls.sum())} in {nulls.numel()} rows, the first in row "
            f"{int(nulls.nonzero()[0, 0])}: drop these rows of all inputs, or fill them"
        )
    if isinstance(column, Tensor):
        column = _coded(column.masked_fill(nulls, 0))
    codes = column.codes.long().masked_fill(nulls, len(column.values))
    return Coded(codes, [*column.values, None])


def _coded(numbers):
    if numbers.is_floating_point():
        raise TypeError(
            "expected keys of integers, texts or None, got fractions: put them into bins first"
        )
    values, codes = numbers.unique(return_inverse=True)
    return Coded(codes, values.tolist())


# NumPy and pandas.


def _of_array(array, numpy):
    kind = array.dtype.kind
    if kind == "S":
        raise TypeError("expected texts as str, got bytes: decode them first")
    if kind == "U" and array.ndim == 1 and array.dtype.itemsize:
        rows = numpy.ascontiguousarray(array)
        codes, firsts = classes.Functions.distinct_rows(
            memory(rows.ctypes.data, rows.nbytes, rows).reshape(-1, array.dtype.itemsize)
        )
        return Coded(codes, rows[firsts.numpy()].tolist())
    if kind in "UTO":
        return None
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if any(stride < 0 for stride in array.strides):
        array = array.copy()
    if array.flags.writeable:
        return torch.from_numpy(array)
    # PyTorch warns of memory that is read-only, to which nothing writes here.
    dtype = torch.from_numpy(numpy.empty(0, array.dtype)).dtype
    array = numpy.ascontiguousarray(array)
    return memory(array.ctypes.data, array.nbytes, array, dtype).reshape(array.shape)


def _of_series(series, numpy):
    """The column and its nulls, of which there may be none."""
    dtype = series.dtype
    array = series.array
    if isinstance(dtype, numpy.dtype) and dtype.kind in "iufb":
        return _of_array(series.to_numpy(), numpy), None
    if hasattr(array, "categories"):
        codes = _of_array(numpy.asarray(array.codes), numpy)
        return Coded(codes, array.categories.tolist()), codes < 0
    nulls = torch.from_numpy(numpy.array(series.isna()))
    numbers = getattr(dtype, "numpy_dtype", None)
    if numbers is not None and numbers.kind in "iufb":
        filled = array.fillna(0) if bool(nulls.any()) else array
        return _of_array(numpy.asarray(filled, dtype=numbers), numpy), nulls
    if getattr(dtype, "kind", "O") in "Mm":
        raise TypeError(f"expected numbers, bool or texts, got a series of {dtype}")
    places = {}
    rows = [
        places.setdefault(None if is_null else value, len(places))
        for value, is_null in zip(series.tolist(), nulls.tolist())
    ]
    return Coded(torch.tensor(rows, dtype=torch.int64), list(places)), nulls


# The C data interface of Arrow, https://arrow.apache.org/docs/format/CDataInterface.html.


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.c_void_p),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.c_void_p),
    ("dictionary", ctypes.POINTER(_Array)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]

_NUMBERS = {
    b"c": torch.int8, b"C": torch.uint8, b"s": torch.int16, b"S": torch.uint16,
    b"i": torch.int32, b"I": torch.uint32, b"l": torch.int64, b"L": torch.uint64,
    b"e": torch.float16, b"f": torch.float32, b"g": torch.float64,
}
_TEXT_ENDS = {b"u": torch.int32, b"U": torch.int64}
_VIEWS = b"vu"
_INLINE = 12

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


class _Released:
    """A structure of Arrow that is ours to release."""

    def __init__(self, structure):
        self.structure = structure

    def __del__(self):
        if self.structure.release:
            _Release(self.structure.release)(ctypes.addressof(self.structure))


def memory(address, size, owner, dtype=torch.uint8):
    """A tensor of `size` bytes of memory, which is `owner`'s and stays."""
    if size == 0:
        return torch.empty(0, dtype=dtype)
    lent = (ctypes.c_char * size).from_address(address)
    lent.owner = owner
    return torch.frombuffer(lent, dtype=dtype)


def _buffer(array, place, first, count, dtype, owner):
    """`count` numbers of a buffer from `first` on."""
    width = dtype.itemsize
    address = array.buffers[place] if count else 0
    return memory((address or 0) + first * width, count * width, owner, dtype)


def _bits(array, place, owner):
    begin = array.offset // 8
    end = (array.offset + array.length + 7) // 8
    packed = _buffer(array, place, begin, end - begin, torch.uint8, owner)
    bits = packed.unsqueeze(1).bitwise_right_shift(torch.arange(8, dtype=torch.uint8))
    first = array.offset - 8 * begin
    return bits.bitwise_and_(1).reshape(-1)[first : first + array.length].bool()


def _texts(schema, array, owner):
    """Texts by their codes; those of nulls are any."""
    if schema.format == _VIEWS:
        views = _buffer(array, 1, 16 * array.offset, 16 * array.length, torch.uint8, owner)
        views = views.reshape(-1, 16)
        count = array.n_buffers - 3
        sizes = _buffer(array, array.n_buffers - 1, 0, count, torch.int64, owner).tolist()
        buffers = [
            _buffer(array, 2 + i, 0, size, torch.uint8, owner) for i, size in enumerate(sizes)
        ]
        codes, firsts = classes.Functions.distinct_views(views, buffers)
        begin = array.buffers[1] or 0
        found = [
            (begin + 16 * (array.offset + row) + 4 if length <= _INLINE
             else array.buffers[2 + buffer] + place, length)
            for row, (length, _, buffer, place) in zip(
                firsts.tolist(), views[firsts].view(torch.int32).tolist()
            )
        ]
    else:
        ends = _buffer(array, 1, array.offset, array.length + 1, _TEXT_ENDS[schema.format], owner)
        size = int(ends[-1])
        data = _buffer(array, 2, 0, size, torch.uint8, owner)
        codes, firsts = classes.Functions.distinct_texts(data, ends)
        begins = ends[firsts].tolist()
        found = [
            ((array.buffers[2] or 0) + begin, end - begin)
            for begin, end in zip(begins, ends[firsts + 1].tolist())
        ]
    texts = [ctypes.string_at(address, size) if size else b"" for address, size in found]
    return Coded(codes, [text.decode() for text in texts])


def _read(schema, array, owner):
    """The column and its nulls, of which there may be none; no column of a table."""
    form = schema.format
    rows = array.length
    if form == b"+s":
        return None, None
    if form == b"n":
        nothing = Coded(torch.zeros(rows, dtype=torch.int64), [])
        return nothing, torch.ones(rows, dtype=torch.bool)
    nulls = None
    if array.null_count and array.n_buffers and array.buffers[0]:
        nulls = ~_bits(array, 0, owner)
    if schema.dictionary:
        if not rows:
            return _no_texts(), None
        known = _finished(*_read(schema.dictionary[0], array.dictionary[0], owner), True)
        values = known.plain() if isinstance(known, Coded) else known
        values = values.tolist() if isinstance(values, Tensor) else values
        codes = _buffer(array, 1, array.offset, rows, _NUMBERS[form], owner)
        if codes.dtype not in (torch.int32, torch.int64):
            codes = codes.long()
        if None in values:
            absent = torch.tensor([value is None for value in values])[
                codes.long().clamp(0, len(values) - 1)
            ]
            nulls = absent if nulls is None else nulls | absent
        return Coded(codes, values), nulls
    if form in _NUMBERS:
        return _buffer(array, 1, array.offset, rows, _NUMBERS[form], owner), nulls
    if form == b"b":
        return _bits(array, 1, owner), nulls
    if form == _VIEWS or form in _TEXT_ENDS:
        return (_texts(schema, array, owner) if rows else _no_texts()), nulls
    raise TypeError(f"expected numbers, bool or texts, got Arrow's type '{form.decode()}'")


def _no_texts():
    return Coded(torch.empty(0, dtype=torch.int64), [])


def _parts(value):
    """The schema, array and owner of each part of a column."""
    if hasattr(value, "__arrow_c_array__"):
        schema, array = capsules = value.__arrow_c_array__()
        yield (
            _Schema.from_address(_pointer_of(schema, b"arrow_schema")),
            _Array.from_address(_pointer_of(array, b"arrow_array")),
            capsules,
        )
        return
    capsule = value.__arrow_c_stream__()
    stream = _Stream.from_address(_pointer_of(capsule, b"arrow_array_stream"))

    def read(call, structure):
        if call(ctypes.addressof(stream), ctypes.addressof(structure)):
            error = stream.get_last_error(ctypes.addressof(stream)) or b"no reason given"
            raise ValueError(f"expected a column of Arrow, got an error: {error.decode()}")
        return _Released(structure)

    schema = read(stream.get_schema, _Schema())
    count = 0
    while True:
        part = read(stream.get_next, _Array())
        if not part.structure.release:
            break
        count += 1
        yield schema.structure, part.structure, (schema, part)
    if count == 0:
        yield schema.structure, _Array(), schema


def _of_arrow(value):
    """The column and its nulls, of which there may be none; no column of a table."""
    columns, nulls = [], []
    for schema, array, owner in _parts(value):
        column, own = _read(schema, array, owner)
        if column is None:
            return None, None
        columns.append(column)
        nulls.append(own)
    if len(columns) == 1:
        return columns[0], nulls[0]
    nulls = _joined_nulls(nulls, columns)
    if all(isinstance(column, Tensor) for column in columns):
        return torch.cat(columns), nulls
    codes, values = [], []
    for column in columns:
        codes.append(column.codes.long() + len(values))
        values += column.values
    return Coded(torch.cat(codes), values), nulls


def _joined_nulls(nulls, columns):
    if all(own is None for own in nulls):
        return None
    rows = [len(column if isinstance(column, Tensor) else column.codes) for column in columns]
    return torch.cat([
        torch.zeros(count, dtype=torch.bool) if own is None else own
        for own, count in zip(nulls, rows)
    ])
