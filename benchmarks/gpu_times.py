"""What metrics cost on a device: Tally from Python and TorchMetrics, in turns in one process.

Usage: python benchmarks/gpu_times.py [--device cuda] [--rounds 20] [--json]

The fifteen that are used most, with a batch of 256 rows and one of a million: microseconds of
update(), forward() and compute(), median of the rounds, each until the device is done. Values
are compared first. Needs the package with TorchMetrics: pip install torchmetrics==1.9.0
"""

import argparse
import json
import statistics
import time

import torch
import torchmetrics

import tally

TOLERANCE = 1e-4  # TorchMetrics adds up in float32
CLASSES = 10
# Where TorchMetrics computes another thing by default.
OPTIONS_OF_TALLY = {"StructuralSimilarityIndexMeasure": {"border": "reflect"}}


def cases(rows, device):
    """Name, options, inputs of update()."""
    make = torch.Generator().manual_seed(rows)
    scores = torch.rand(rows, generator=make)
    binary = (torch.rand(rows, generator=make) < scores).long()
    logits = torch.randn(rows, CLASSES, generator=make)
    classes = torch.randint(CLASSES, (rows,), generator=make)
    x = torch.randn(rows, generator=make)
    y = x + torch.randn(rows, generator=make)
    queries = torch.arange(rows) // 16
    side = 32 if rows < 1000 else 256
    images = torch.rand(2, 4 if rows < 1000 else 16, 3, side, side, generator=make)
    multiclass = (logits.softmax(1), classes)
    yield "BinaryAccuracy", "classification", {}, (scores, binary)
    yield "BinaryF1Score", "classification", {}, (scores, binary)
    yield "BinaryAUROC", "classification", {}, (scores, binary)
    yield "BinaryAUROC", "classification", {"thresholds": 200}, (scores, binary)
    yield "BinaryAveragePrecision", "classification", {}, (scores, binary)
    yield "MulticlassAccuracy", "classification", {"num_classes": CLASSES}, multiclass
    yield "MulticlassF1Score", "classification", {"num_classes": CLASSES}, multiclass
    yield "MulticlassConfusionMatrix", "classification", {"num_classes": CLASSES}, multiclass
    yield "MulticlassAUROC", "classification", {"num_classes": CLASSES}, multiclass
    yield "MeanSquaredError", "regression", {}, (x, y)
    yield "MeanAbsoluteError", "regression", {}, (x, y)
    yield "PearsonCorrCoef", "regression", {}, (x, y)
    yield "R2Score", "regression", {}, (x, y)
    yield "RetrievalMAP", "retrieval", {}, (scores, binary, queries)
    yield (
        "StructuralSimilarityIndexMeasure",
        "image",
        {"data_range": 1.0},
        tuple(images.unbind()),
    )


def moved(inputs, device):
    return [tensor.to(device) for tensor in inputs]


def timed(call, device):
    begin = time.perf_counter()
    result = call()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return 1e6 * (time.perf_counter() - begin), result


def measure(metrics, inputs, device, rounds):
    """Microseconds by call and metric."""
    times = {call: [[] for _ in metrics] for call in ("update", "forward", "compute")}
    for round_ in range(rounds + 1):
        for i, metric in enumerate(metrics):
            for call in times:
                metric.reset()
                if call == "compute":
                    metric.update(*inputs)
                arguments = () if call == "compute" else inputs
                spent, _ = timed(lambda: getattr(metric, call)(*arguments), device)
                if round_ > 0:  # the first is warm-up
                    times[call][i].append(spent)
    return {call: [statistics.median(each) for each in both] for call, both in times.items()}


def check_values(label, metrics, inputs, device):
    values = []
    for metric in metrics:
        metric.update(*inputs)
        value = metric.compute()
        values.append(value.to(torch.float64).cpu())
        if value.device.type != device.type:
            raise SystemExit(f"{label}: expected a result on {device}, got it on {value.device}")
    if not torch.allclose(*values, rtol=TOLERANCE, atol=TOLERANCE):
        raise SystemExit(f"{label}: Tally has {values[0]}, TorchMetrics {values[1]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--rows", type=int, nargs="+", default=[256, 1_000_000])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    device = torch.device(options.device)
    table = []
    for rows in options.rows:
        for name, domain, arguments, inputs in cases(rows, device):
            inputs = moved(inputs, device)
            metrics = [
                getattr(tally, name)(**arguments, **OPTIONS_OF_TALLY.get(name, {})),
                getattr(getattr(torchmetrics, domain), name)(**arguments).to(device),
            ]
            label = name + "".join(f", {k}={v}" for k, v in arguments.items())
            check_values(label, metrics, inputs, device)
            for call, (own, theirs) in measure(metrics, inputs, device, options.rounds).items():
                table.append((label, rows, call, own, theirs, theirs / own))
    if options.json:
        print(json.dumps(table))
        return
    card = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    print(f"{card}, torch {torch.__version__}, TorchMetrics {torchmetrics.__version__}\n")
    print("| metric | rows | call | Tally us | TorchMetrics us | ratio |\n|---|---|---|---|---|---|")
    for label, rows, call, own, theirs, ratio in table:
        print(f"| {label} | {rows} | {call} | {own:.1f} | {theirs:.1f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
