"""Tables of Parquet and Arrow, written as text for the program ``tally``."""

import os


class TableError(Exception):
    """What is wrong with a file, in one line."""


def table_kind(path):
    """"Parquet", "Arrow" or "Arrow stream"; None for what is no such file."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        start = file.read(6)
    if start[:4] == b"PAR1":
        return "Parquet"
    if start == b"ARROW1":
        return "Arrow"
    is_stream = start[:4] == b"\xff\xff\xff\xff" and path.endswith((".arrow", ".arrows"))
    return "Arrow stream" if is_stream else None


def write_csv(path, kind, out):
    """Writes the table, and returns remarks on it.

    Numbers keep their values, and nulls are empty fields. A column of lists of one length becomes one for each place,
    ``probs.0`` and so on, and one of structs one for each field, ``user.name``.
    """
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError as error:
        raise TableError(
            f"{path}: expected pyarrow to read a file of {kind.split()[0]} with, and it cannot "
            f"be imported ({error}): pip install pyarrow, or save the table as CSV"
        ) from None
    try:
        return _Table(path, kind, pyarrow).write(out)
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).strip().split("\n", 1)[0]
        raise TableError(
            f"{path}: expected a file of {kind.split()[0]} that pyarrow can read: {reason}"
        ) from None


class _Table:
    def __init__(self, path, kind, pyarrow):
        self._path, self._kind, self._pyarrow = path, kind, pyarrow
        self._remarks = []

    def write(self, out):
        pyarrow = self._pyarrow
        columns = []
        for field in self._schema():
            def of_batch(batch, name=field.name):
                return batch.column(name)

            columns += self._flattened(field, of_batch, field.name)
        if not columns:
            raise TableError(
                f"{self._path}: expected columns of numbers or texts, got "
                + ("; ".join(self._remarks) or "none")
            )
        schema = pyarrow.schema([(name, kind) for name, kind, _ in columns])
        with pyarrow.csv.CSVWriter(out, schema) as writer:
            for batch in self._batches():
                arrays = [take(batch).cast(kind) for _, kind, take in columns]
                writer.write_batch(pyarrow.RecordBatch.from_arrays(arrays, schema=schema))
        return [f"{self._path}: {remark}" for remark in self._remarks]

    def _schema(self):
        if self._kind == "Parquet":
            with self._pyarrow.parquet.ParquetFile(self._path) as file:
                return file.schema_arrow
        with self._pyarrow.memory_map(self._path) as memory:
            return self._opened(memory).schema

    def _opened(self, memory):
        ipc = self._pyarrow.ipc
        return ipc.open_file(memory) if self._kind == "Arrow" else ipc.open_stream(memory)

    def _batches(self, column=None):
        """Of all columns, or at least of one."""
        if self._kind == "Parquet":
            # A name with a dot could be that of a field.
            columns = None if column is None or "." in column else [column]
            with self._pyarrow.parquet.ParquetFile(self._path) as file:
                yield from file.iter_batches(columns=columns)
            return
        with self._pyarrow.memory_map(self._path) as memory:
            reader = self._opened(memory)
            if self._kind == "Arrow":
                yield from map(reader.get_batch, range(reader.num_record_batches))
            else:
                yield from reader

    def _flattened(self, field, take, column):
        """(name, type, function of a batch) of the columns that a field becomes.

        `take` gives its array of a batch, and `column` is the one that it belongs to.
        """
        pyarrow, name, kind = self._pyarrow, field.name, field.type
        types, compute = pyarrow.types, pyarrow.compute
        if isinstance(kind, pyarrow.BaseExtensionType):
            inner = pyarrow.field(name, kind.storage_type)
            yield from self._flattened(inner, lambda batch: take(batch).storage, column)
        elif types.is_dictionary(kind):
            inner = pyarrow.field(name, kind.value_type)
            yield from self._flattened(
                inner, lambda batch: take(batch).dictionary_decode(), column
            )
        elif types.is_struct(kind):
            for i in range(kind.num_fields):
                inner = pyarrow.field(f"{name}.{kind.field(i).name}", kind.field(i).type)
                yield from self._flattened(
                    inner, lambda batch, i=i: compute.struct_field(take(batch), [i]), column
                )
        elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
            lengths = self._lengths(take, column)
            if len(lengths) > 1:
                self._leave_out(name, f"it has lists of {min(lengths)} and of {max(lengths)}")
                return
            for i in range(*lengths):
                inner = pyarrow.field(f"{name}.{i}", kind.value_type)
                yield from self._flattened(
                    inner, lambda batch, i=i: compute.list_element(take(batch), i), column
                )
        elif types.is_floating(kind):
            # The digits that tell a float32 from its neighbors are another float64's.
            yield name, pyarrow.float64(), take
        elif types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
            yield name, pyarrow.string(), take
        elif types.is_integer(kind) or types.is_boolean(kind) or types.is_temporal(kind) or (
            types.is_decimal(kind) or types.is_null(kind)
        ):
            yield name, kind, take
        else:
            self._leave_out(name, f"it is of Arrow's type {kind}")

    def _lengths(self, take, column):
        compute = self._pyarrow.compute
        found = set()
        for batch in self._batches(column):
            found.update(compute.min_max(compute.list_value_length(take(batch))).as_py().values())
        return (found - {None}) or {0}

    def _leave_out(self, name, reason):
        self._remarks.append(f"column '{name}' is skipped: {reason}")
