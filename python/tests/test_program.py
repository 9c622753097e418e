"""``python -m tally``: the program, which also reads tables of Parquet and Arrow."""

import csv
import decimal
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tally
import tally.__main__ as program
import torch
from tally._tables import TableError, table_kind, write_csv

pytestmark = pytest.mark.timeout(180)

EXECUTABLE = pathlib.Path(tally.__file__).with_name("tally")
METRICS = "BinaryAccuracy; BinaryAUROC"
COLUMNS = "preds=score,target=label"

torch.manual_seed(0)
SCORE = torch.rand(200)
LABEL = torch.randint(2, (200,))
SITE = [("north", "south", None, "a, \"b\"")[i % 4] for i in range(200)]


def table(rows=slice(None)):
    return pa.table({
        "score": SCORE[rows].numpy(), "label": LABEL[rows].numpy(),
        "site": pa.array(SITE[rows]).dictionary_encode(),
    })


def write_stream(rows, path):
    with pa.ipc.new_stream(path, rows.schema) as file:
        file.write_table(rows, 30)


def write_arrow(rows, path):
    with pa.ipc.new_file(path, rows.schema) as file:
        file.write_table(rows, 30)


WRITERS = {
    "x.parquet": lambda rows, path: pq.write_table(rows, path, row_group_size=30),
    "x.arrow": write_arrow,
    "stream.arrow": write_stream,
    "of another name": pq.write_table,
}


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch, tmp_path):
    """Nothing is left in the folder of temporary files, and signals are as before."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, handlers):
        signal.signal(number, handler)
    assert not any(each.is_dir() for each in (tmp_path / "temporary").iterdir())


@pytest.fixture
def run(capfd):
    """``run(words)`` gives status, output and errors of a command that has tables."""

    def call(*words):
        status = program._on_tables(str(EXECUTABLE), [str(word) for word in words])
        return status, *capfd.readouterr()

    return call


def evaluate(run, *words):
    status, out, err = run(
        "evaluate", "-m", METRICS, "--columns", COLUMNS, "--format", "json", *words
    )
    assert (status, err) == (0, "")
    return json.loads(out)


def values(found):
    return found["metrics"]["BinaryAccuracy"], found["metrics"]["BinaryAUROC"]


def expected(rows=slice(None)):
    return tuple(
        metric(SCORE[rows], LABEL[rows]).item()
        for metric in (tally.BinaryAccuracy(), tally.BinaryAUROC())
    )


@pytest.mark.parametrize("name", WRITERS)
def test_tables_have_the_values_of_their_columns(run, tmp_path, name):
    WRITERS[name](table(), str(tmp_path / name))
    found = evaluate(run, f"--csv={tmp_path / name}")
    assert found["rows"] == 200
    assert values(found) == expected()


def test_sets_of_tables(run, tmp_path):
    pq.write_table(table(slice(0, 50)), tmp_path / "a.parquet")
    pq.write_table(table(slice(50, 120)), tmp_path / "b.parquet")
    write_arrow(table(slice(120, 200)), str(tmp_path / "c.arrow"))
    found = evaluate(
        run, "--set", f"a={tmp_path / 'a.parquet'}",
        f"--set=bc={tmp_path / 'b.parquet'}", tmp_path / "c.arrow", "--interval", "0.9",
    )
    assert found["rows"] == 200
    for name, rows in ("a", slice(0, 50)), ("bc", slice(50, 200)):
        of_set = tuple(
            found["metrics"][f"{name}/{metric}"] for metric in ("BinaryAccuracy", "BinaryAUROC")
        )
        assert of_set == expected(rows)
        assert f"{name}/BinaryAUROC" in found["intervals"]


def test_slices_and_intervals_of_tables(run, tmp_path):
    pq.write_table(table(), tmp_path / "x.parquet")
    status, out, err = run(
        "evaluate", "-m", METRICS, "--csv", tmp_path / "x.parquet", "--columns", COLUMNS,
        "--by", "site", "--interval", "0.9", "--ids", "label", "--format", "json", "--quiet",
        "--groups", "site",
    )
    assert status == 2 and "--ids" in err
    found = evaluate(run, "--csv", tmp_path / "x.parquet", "--by", "site", "--quiet")
    sliced = tally.SlicedMetric(tally.BinaryAccuracy())
    sliced.update(SITE, SCORE, LABEL)
    assert [
        (tuple(each["key"].values()), each["rows"], each["metrics"]["BinaryAccuracy"])
        for each in found["slices"]
    ] == [(each.key, each.rows, each.results.item()) for each in sliced.compute()]


def test_parts_of_any_kind_are_gathered_in_order(run, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    pq.write_table(table(slice(0, 50)), folder / "0.parquet")
    write_arrow(table(slice(50, 90)), str(folder / "1.arrow"))
    (folder / "2.csv").write_bytes(csv_of(table(slice(90, 200))))
    (folder / "_SUCCESS").touch()
    (folder / ".0.parquet.crc").touch()
    (folder / "_metadata").mkdir()
    for words in ([folder], [folder / "[0-9].*"], [folder / "0.parquet", folder / "[12].*"]):
        assert values(evaluate(run, "--csv", *words)) == expected()
    found = evaluate(run, "--csv", folder / "0.parquet", folder / "2.csv", "--ranks", "2")
    assert values(found) == expected(np.r_[0:50, 90:200])
    status, _, err = run(
        "evaluate", "-m", METRICS, "--csv", folder / "0.parquet", folder / "0.parquet"
    )
    assert status == 2 and "expected each file once" in err


def csv_of(rows):
    out = io.BytesIO()
    pa.csv.write_csv(rows.set_column(2, "site", rows["site"].cast(pa.string())), out)
    return out.getvalue()


def written(rows, tmp_path, kind="parquet"):
    """The lines that become of a table, and what is said of it."""
    path = tmp_path / f"t.{kind}"
    (pq.write_table if kind == "parquet" else write_arrow)(rows, str(path))
    remarks = write_csv(str(path), table_kind(str(path)), str(tmp_path / "t.csv"))
    with open(tmp_path / "t.csv", newline="", encoding="utf-8") as file:
        return list(csv.reader(file)), [each.removeprefix(f"{path}: ") for each in remarks]


def column(values, tmp_path, type=None, kind="parquet"):
    lines, remarks = written(pa.table({"x": pa.array(values, type)}), tmp_path, kind)
    assert lines[0] == ["x"] and remarks == []
    return [line[0] if line else "" for line in lines[1:]]


@pytest.mark.parametrize("type", [pa.float16(), pa.float32(), pa.float64()])
def test_fractions_keep_their_values(tmp_path, type):
    numbers = torch.rand(100).numpy().astype(type.to_pandas_dtype())
    found = column([*numbers, float("nan"), None, float("inf")], tmp_path, type, "arrow")
    assert [float(each) for each in found[:100]] == numbers.tolist()
    assert found[100:] == ["nan", "", "inf"]


def test_other_values_are_their_texts(tmp_path):
    assert column([2**63 - 1, None], tmp_path) == [str(2**63 - 1), ""]
    assert column([2**64 - 1], tmp_path, pa.uint64()) == [str(2**64 - 1)]
    assert column([True, False], tmp_path) == ["true", "false"]
    assert column([decimal.Decimal("1.50")], tmp_path) == ["1.50"]
    assert column(['a, "b"\n', "Köln"], tmp_path) == ['a, "b"\n', "Köln"]
    assert column(["a", "b"], tmp_path, pa.large_string()) == ["a", "b"]
    assert column(["a", "b"], tmp_path, pa.string_view(), "arrow") == ["a", "b"]
    assert column([0], tmp_path, pa.date32()) == ["1970-01-01"]
    assert column(pa.array(["b", "a", "b"]).dictionary_encode(), tmp_path) == ["b", "a", "b"]


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_lists_and_structs_become_columns(tmp_path, kind):
    rows = pa.table({
        "probs": pa.array([[0.25, 0.75], None, [0.5, 0.5]]),
        "logits": pa.FixedSizeListArray.from_arrays(pa.array(range(6)), 2),
        "user": pa.array([{"name": "a", "at": [1]}, {"name": "b", "at": [2]}, None]),
        "a.b": pa.array([[1], [2], [3]]),
    })
    lines, remarks = written(rows, tmp_path, kind)
    assert lines[0] == [
        "probs.0", "probs.1", "logits.0", "logits.1", "user.name", "user.at.0", "a.b.0"
    ]
    assert lines[1] == ["0.25", "0.75", "0", "1", "a", "1", "1"]
    assert lines[2] == ["", "", "2", "3", "b", "2", "2"]
    assert lines[3] == ["0.5", "0.5", "4", "5", "", "", "3"]
    assert remarks == []


def test_what_cannot_be_read_is_left_out_and_said(tmp_path):
    rows = pa.table({
        "x": [1.0, 2.0], "uneven": [[1], [1, 2]], "bytes": [b"a", b"b"], "none": [[], []],
    })
    lines, remarks = written(rows, tmp_path)
    assert lines == [["x"], ["1"], ["2"]]
    assert remarks == [
        "column 'uneven' is skipped: it has lists of 1 and of 2",
        "column 'bytes' is skipped: it is of Arrow's type binary",
    ]
    with pytest.raises(TableError, match="expected columns of numbers or texts, got column 'b' is"):
        written(pa.table({"b": [b"a"]}), tmp_path)


def test_remarks_are_said_unless_they_are_unwanted(run, tmp_path):
    rows = table().append_column("bytes", pa.array([b"a"] * 200))
    pq.write_table(rows, tmp_path / "x.parquet")
    words = ["evaluate", "-m", METRICS, "--columns", COLUMNS, "--csv", tmp_path / "x.parquet"]
    status, out, err = run(*words)
    assert status == 0
    remark = "column 'bytes' is skipped: it is of Arrow's type binary"
    assert err == f"tally: {tmp_path}/x.parquet: {remark}\n"
    assert run(*words, "--quiet") == (0, out, "")


def refused(run, *words):
    status, out, err = run("evaluate", "-m", METRICS, *words)
    assert (status, out) == (2, "")
    assert err.startswith("tally: ") and err.count("\n") == 1
    return err


def test_errors_of_tables(run, tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1 and so on")
    message = f"{path}: expected a file of Parquet that pyarrow can read: "
    assert message in refused(run, "--csv", path)
    arrow = tmp_path / "x.arrow"
    arrow.write_bytes(b"ARROW1 and so on")
    assert f"{arrow}: expected a file of Arrow that pyarrow can read: " in refused(
        run, "--csv", arrow
    )
    pq.write_table(table(), path)
    for words in (["--delimiter", ";"], ["--decimal=comma"], ["--encoding", "utf-16"]):
        name = words[0].partition("=")[0]
        assert f"{name}: expected text, got {path}, which is a table of Parquet" in refused(
            run, "--csv", path, *words
        )
    before = path.read_bytes()
    for words in (["-o", path], [f"--output={path}"], ["--replicates", path]):
        assert "expected another file to write to, got an input" in refused(
            run, "--csv", path, *words
        )
    assert path.read_bytes() == before
    assert "x.parquet: no column 'scores'; did you mean 'score'?" in refused(
        run, "--csv", path, "--columns", "preds=scores,target=label"
    )


def test_missing_values_are_named_with_file_and_line(run, tmp_path):
    rows = table().set_column(0, "score", pa.array([0.5, None, float("nan")] + [0.5] * 197))
    pq.write_table(rows, tmp_path / "x.parquet")
    words = ["--csv", tmp_path / "x.parquet", "--columns", COLUMNS]
    assert "x.parquet, line 3: column 'score'" in refused(run, *words)
    found = evaluate(run, *words[:2], "--missing", "skip", "--quiet")
    assert found["rows"] == 198


def test_it_says_where_there_is_no_pyarrow(run, tmp_path, monkeypatch):
    pq.write_table(table(), tmp_path / "x.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    message = f"{tmp_path}/x.parquet: expected pyarrow to read a file of Parquet with, and it "
    said = refused(run, "--csv", tmp_path / "x.parquet")
    assert message in said and "pip install pyarrow, or save the table as CSV" in said


def take_signals():
    """Signals that what runs the tests ignores, such as nohup, end the program."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def started(*words, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "tally", *map(str, words)], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=take_signals, **options,
    )


def ended(process):
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def test_what_has_no_tables_is_left_to_the_program(tmp_path):
    (tmp_path / "x.csv").write_text("score,label\n0.9,1\n0.2,0\n", encoding="ascii")
    processes = [
        started("--version"), started("list", "wer"), started("evaluate", "--metrc", "x"),
        started("evaluate", "-m", METRICS, "--csv", tmp_path / "x.csv", "--columns", COLUMNS),
        started("evaluate", "-m", METRICS, "--csv", tmp_path / "none.parquet"), started(),
    ]
    version, words, unknown, values, absent, help_text = map(ended, processes)
    assert version[0] == 0 and version[1].startswith(f"tally {tally.__version__} (LibTorch ")
    assert words[0] == 0 and "WordErrorRate" in words[1]
    assert unknown[0] == 2 and unknown[2].startswith("tally: ") and "'--metrc'" in unknown[2]
    assert values == (0, "BinaryAccuracy  1\nBinaryAUROC     1\n", "")
    assert absent[0] == 2 and "none.parquet" in absent[2]
    assert help_text[0] == 2 and "see --help" in help_text[2]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_end_the_program_and_leave_no_file(tmp_path, number):
    pq.write_table(table(), tmp_path / "x.parquet")
    config, temporary = tmp_path / "config.json", tmp_path / "temporary"
    os.mkfifo(config)
    process = started(
        "evaluate", "--config", config, "--csv", tmp_path / "x.parquet",
        env={**os.environ, "TMPDIR": str(temporary)}, start_new_session=True,
    )
    # Open for as long as it is, the program waits for what it says.
    writer = None
    while writer is None:
        assert process.poll() is None
        try:
            writer = os.open(config, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # as yet nobody reads
            time.sleep(0.05)
    assert any(each.is_dir() for each in temporary.iterdir())
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    status, out, err = ended(process)
    os.close(writer)
    assert (status, out) == (128 + number, "")
    assert err.splitlines()[-1] == f"tally: ended by signal {number:d} ({signal.strsignal(number)})"


def test_signals_while_a_table_is_written(run, tmp_path, monkeypatch):
    pq.write_table(table(), tmp_path / "x.parquet")

    def interrupted(*_):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(9)

    monkeypatch.setattr(program, "write_csv", interrupted)
    status, _, err = run("evaluate", "--csv", tmp_path / "x.parquet")
    assert (status, err) == (143, "tally: ended by signal 15 (Terminated)\n")


@pytest.mark.parametrize("make", [
    tally.BinaryAccuracy, lambda: tally.SlicedMetric(tally.BinaryAccuracy()),
    lambda: tally.SliceComparison(tally.BinaryAccuracy()),
    lambda: tally.IntervalMetric(tally.BinaryAccuracy()),
])
def test_states_in_files_are_merged_once(tmp_path, make):
    for part in range(3):
        metric = make()
        inputs = [SCORE[part::3], LABEL[part::3]]
        if isinstance(metric, tally.SliceComparison):
            inputs.insert(0, torch.arange(part, 200, 3))
        if isinstance(metric, (tally.SlicedMetric, tally.SliceComparison)):
            inputs.insert(0, SITE[part::3])
        metric.update(*inputs)
        metric.save(tmp_path / f"{part}.tally", part=(part, 3))

    def merged(out, *names):
        files = [tmp_path / f"{name}.tally" for name in names]
        return ended(started("merge", *files, "-o", tmp_path / f"{out}.tally"))[0]

    assert merged("two", "0", "1") == 2
    assert merged("all", "0", "2", "1") == 0
    assert merged("twice", "all", "1") == 2
    metric.load(tmp_path / "all.tally")
    assert metric.update_count == 3
