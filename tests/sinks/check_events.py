"""Checks event files with TensorBoard.

Usage: check_events.py golden FOLDER | check_events.py check FOLDER

    python3 -m venv venv
    venv/bin/pip install tensorboard==2.21.0 'setuptools<81' pillow numpy
    TALLY_EVENTS=/tmp/events bazel-bin/tests/sinks/sinks_test \\
        --gtest_filter='*ARestartDoublesNoStep'
    venv/bin/python tests/sinks/check_events.py check /tmp/events

`golden` writes events.golden, curves.golden and shown.golden to tests/sinks/data, what
TensorBoard's own classes write for the results of TensorBoardSinkTest. `check` reads a folder
of a MetricLogger with EventAccumulator and with the server's two loaders; scalars
must be those of log.jsonl, each step once, images those that their head says, and
the text of each step that of the server's text plugin.
Where there are curves and bands, the server must show them.
"""

import io
import json
import pathlib
import struct
import subprocess
import sys
import time
import urllib.parse
import urllib.request
import zlib

import numpy
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto import (
    event_pb2,
    summary_pb2,
    tensor_pb2,
    tensor_shape_pb2,
    types_pb2,
)
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.pr_curve import plugin_data_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

TIME = 1700000000.25


def write_events(path, step, events):
    """After those that begin every file."""
    start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
    events = [
        event_pb2.Event(wall_time=TIME, file_version="brain.Event:2"),
        event_pb2.Event(wall_time=TIME, step=step, session_log=start),
        *events,
    ]
    with open(path, "wb") as file:
        writer = RecordWriter(file)
        for event in events:
            writer.write(event.SerializeToString())
        writer.flush()


def histogram(tag, numbers):
    limits = numbers.min() + (numbers.max() - numbers.min()) / 30 * numpy.arange(1, 31)
    limits[-1] = numbers.max()
    counts = numpy.bincount(numpy.searchsorted(limits, numbers), minlength=30)
    content = summary_pb2.HistogramProto(
        min=numbers.min(),
        max=numbers.max(),
        num=len(numbers),
        sum=numbers.sum(),
        sum_squares=(numbers**2).sum(),
        bucket_limit=limits,
        bucket=counts,
    )
    return summary_pb2.Summary.Value(tag=tag, histo=content)


def golden(path):
    value = summary_pb2.Summary.Value
    values = [
        value(tag="accuracy", simple_value=0.75),
        value(tag="zero", simple_value=0),
        value(tag="f1/cat", simple_value=0.5),
        value(tag="f1/dog", simple_value=float("inf")),
    ]
    values.append(histogram("scores", numpy.arange(100.0) - 20))
    summary = summary_pb2.Summary(value=values)
    write_events(path, 2, [event_pb2.Event(wall_time=TIME + 60, step=3, summary=summary)])


def scalar(tag, number):
    return summary_pb2.Summary.Value(tag=tag, simple_value=number)


def plugin_value(tag, plugin, content, tensor):
    data = summary_pb2.SummaryMetadata.PluginData(plugin_name=plugin, content=content)
    metadata = summary_pb2.SummaryMetadata(plugin_data=data)
    return summary_pb2.Summary.Value(tag=tag, metadata=metadata, tensor=tensor)


def layout(*tags):
    chart = layout_pb2.Chart
    charts = [
        chart(
            title=tag,
            margin=layout_pb2.MarginChartContent(
                series=[layout_pb2.MarginChartContent.Series(value=tag, lower=low, upper=high)]
            ),
        )
        for tag, low, high in tags
    ]
    category = layout_pb2.Category(title="intervals", chart=charts)
    tensor = tensor_pb2.TensorProto(
        dtype=types_pb2.DT_STRING,
        tensor_shape=tensor_shape_pb2.TensorShapeProto(),
        string_val=[layout_pb2.Layout(category=[category]).SerializeToString()],
    )
    return plugin_value("custom_scalars__config__", "custom_scalars", b"", tensor)


def curve(tag):
    thresholds = numpy.arange(201) / 200
    precision = numpy.where(thresholds <= 0.25, 0.5, 1)
    recall = numpy.select([thresholds <= 0.25, thresholds <= 0.75], [1, 0.5], 0)
    tp = 1e6 * recall
    rows = [tp, tp * (1 - precision) / precision, 0 * tp, 1e6 - tp, precision, recall]
    dims = [tensor_shape_pb2.TensorShapeProto.Dim(size=size) for size in (6, 201)]
    tensor = tensor_pb2.TensorProto(
        dtype=types_pb2.DT_FLOAT,
        tensor_shape=tensor_shape_pb2.TensorShapeProto(dim=dims),
        tensor_content=numpy.array(rows, dtype=numpy.float32).tobytes(),
    )
    content = plugin_data_pb2.PrCurvePluginData(num_thresholds=201).SerializeToString()
    return plugin_value(tag, "pr_curves", content, tensor)


def golden_curves(path):
    accuracy = ("accuracy", "accuracy.low", "accuracy.high")
    f1 = [(f"f1/{name}", f"f1.low/{name}", f"f1.high/{name}") for name in ("cat", "dog")]
    first = [scalar(tag, number) for tag, number in zip(accuracy, (0.75, 0.5, 0.875))]
    numbers = [[0.5, 0.25], [0.25, 0.125], [0.75, 0.5]]
    others = [
        scalar(f1[element][bound], numbers[bound][element])
        for bound in range(3)
        for element in range(2)
    ]
    steps = [
        (1, [layout(accuracy)]),
        (1, [*first, curve("pr")]),
        (2, [layout(accuracy, *f1)]),
        (2, others),
        (3, others),
    ]
    write_events(
        path,
        0,
        [
            event_pb2.Event(
                wall_time=TIME + 60 * step, step=step, summary=summary_pb2.Summary(value=values)
            )
            for step, values in steps
        ],
    )


def png(color, rows):
    """Of rows of bytes, without compression."""

    def chunk(kind, content):
        checked = kind + content
        return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))

    channels = {0: 1, 2: 3, 6: 4}[color]
    head = struct.pack(">IIBBBBB", len(rows[0]) // channels, len(rows), 8, color, 0, 0, 0)
    lines = b"".join(b"\0" + bytes(row) for row in rows)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(lines, 0))
        + chunk(b"IEND", b"")
    )


def image(tag, colorspace, color, rows):
    content = summary_pb2.Summary.Image(
        height=len(rows),
        width=len(rows[0]) // colorspace,
        colorspace=colorspace,
        encoded_image_string=png(color, rows),
    )
    return summary_pb2.Summary.Value(tag=tag, image=content)


def text(tag, words):
    dim = tensor_shape_pb2.TensorShapeProto.Dim(size=1)
    tensor = tensor_pb2.TensorProto(
        dtype=types_pb2.DT_STRING,
        tensor_shape=tensor_shape_pb2.TensorShapeProto(dim=[dim]),
        string_val=[words.encode()],
    )
    return plugin_value(tag, "text", b"", tensor)


def golden_shown(path):
    values = [
        (1, image("gray", 1, 0, [[0, 255, 128]])),
        (1, image("rgb", 3, 2, [[255, 0, 0], [0, 255, 0]])),
        (1, image("rgba", 4, 6, [[255, 0, 0, 255], [0, 255, 0, 128]])),
        (1, text("said", "**cat**, süß")),
        (2, histogram("weights", numpy.arange(100.0) - 20)),
    ]
    write_events(
        path,
        0,
        [
            event_pb2.Event(
                wall_time=TIME + 60 * step, step=step, summary=summary_pb2.Summary(value=[value])
            )
            for step, value in values
        ],
    )


def logged(folder):
    """The scalars of log.jsonl, as {tag: {step: value}}."""
    scalars = {}
    for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        for name, value in entry.get("results", {}).items():
            if isinstance(value, list) and not isinstance(value[0], list) and len(value) <= 32:
                for i, element in enumerate(value):
                    scalars.setdefault(f"{name}/{i}", {})[entry["step"]] = float(element)
            elif not isinstance(value, list):
                scalars.setdefault(name, {})[entry["step"]] = float(value)
    return scalars


def compare(reader, tag, steps, values, wanted):
    steps, values = list(steps), list(values)
    ok = steps == sorted(wanted) and all(
        numpy.float32(wanted[s]) == numpy.float32(v) or (wanted[s] != wanted[s] and v != v)
        for s, v in zip(steps, values)
    )
    print(f"{reader:12} {tag:14} steps {steps}: {'ok' if ok else f'FAILED, expected {wanted}'}")
    return ok


def of_accumulator(folder, scalars):
    reader = EventAccumulator(
        str(folder), size_guidance={"scalars": 0, "images": 0, "histograms": 0}
    )
    reader.Reload()
    for tag, wanted in scalars.items():
        events = reader.Scalars(tag)
        yield compare(
            "accumulator", tag, [e.step for e in events], [e.value for e in events], wanted
        )
    for tag in reader.Tags()["images"]:
        for event in reader.Images(tag):
            image = Image.open(io.BytesIO(event.encoded_image_string))
            image.load()
            yield image.size == (event.width, event.height)
        print(f"{'accumulator':12} {tag:14} {image.size} {image.convert('RGB').getcolors()}")
    for tag in reader.Tags()["histograms"]:
        last = reader.Histograms(tag)[-1].histogram_value
        yield last.num == sum(last.bucket) and last.bucket_limit[-1] == last.max


def of_plugins(base):
    """Curves and bands, where there are any."""

    def answer(path, **query):
        with urllib.request.urlopen(f"{base}{path}?{urllib.parse.urlencode(query)}") as page:
            return json.load(page)

    for run, tags in answer("pr_curves/tags").items():
        for tag in tags:
            entries = answer("pr_curves/pr_curves", run=run, tag=tag)[run]
            ok = all(
                len(entry["precision"]) == len(entry["recall"]) > 1
                and 0 <= min(entry["precision"]) <= max(entry["precision"]) <= 1
                for entry in entries
            )
            print(f"{'pr curves':12} {tag:14} {len(entries)} steps: {'ok' if ok else 'FAILED'}")
            yield ok
    for run, tags in answer("text/tags").items():
        for tag in tags:
            entries = answer("text/text", run=run, tag=tag)
            ok = all(f"<strong>{entry['step']}</strong>" in entry["text"] for entry in entries)
            print(f"{'texts':12} {tag:14} {len(entries)} steps: {'ok' if ok else 'FAILED'}")
            yield ok and len(entries) > 0
    for category in answer("custom_scalars/layout").get("category", []):
        for chart in category["chart"]:
            ok = all(series["lower"] for series in chart["margin"]["series"])
            print(f"{'bands':12} {chart['title']:14} {'ok' if ok else 'FAILED'}")
            yield ok


def of_server(folder, scalars, fast):
    port = 16006 + fast
    server = subprocess.Popen(
        [
            str(pathlib.Path(sys.executable).parent / "tensorboard"),
            f"--logdir={folder}",
            f"--port={port}",
            f"--load_fast={'true' if fast else 'false'}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    base = f"http://localhost:{port}/data/plugin/scalars/"
    try:
        for _ in range(120):
            try:
                with urllib.request.urlopen(base + "tags") as answer:
                    runs = json.load(answer)
                if runs and all(tag in next(iter(runs.values())) for tag in scalars):
                    break
            except OSError:
                pass
            time.sleep(0.5)
        time.sleep(1)
        run = next(iter(runs))
        for tag, wanted in scalars.items():
            query = urllib.parse.urlencode({"run": run, "tag": tag})
            with urllib.request.urlopen(f"{base}scalars?{query}") as answer:
                points = json.load(answer)
            yield compare(
                "fast server" if fast else "server",
                tag,
                [p[1] for p in points],
                [float(p[2]) for p in points],
                wanted,
            )
        yield from of_plugins(f"http://localhost:{port}/data/plugin/")
    finally:
        server.terminate()
        server.wait()


def check(folder):
    scalars = logged(folder)
    results = [
        *of_accumulator(folder, scalars),
        *of_server(folder, scalars, fast=True),
        *of_server(folder, scalars, fast=False),
    ]
    print(f"{sum(results)} of {len(results)} checks passed")
    return all(results)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("golden", "check"):
        sys.exit(__doc__)
    if sys.argv[1] == "golden":
        golden(pathlib.Path(sys.argv[2]) / "events.golden")
        golden_curves(pathlib.Path(sys.argv[2]) / "curves.golden")
        golden_shown(pathlib.Path(sys.argv[2]) / "shown.golden")
    elif not check(pathlib.Path(sys.argv[2])):
        sys.exit(1)
