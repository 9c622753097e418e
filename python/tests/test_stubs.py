"""The stubs agree with the package, and mypy takes programs by them."""

import pathlib
import re
import subprocess
import sys
import textwrap

import pytest
import tally

PROGRAM = """
    import tally
    import torch
    from tally import losses

    accuracy = tally.MulticlassAccuracy(num_classes=10, average="micro", nan_policy="error")
    accuracy.update(torch.rand(3, 10), torch.tensor([1, 2, 3]))
    value: torch.Tensor = accuracy.compute()
    roc: dict[str, torch.Tensor] = tally.BinaryROC(thresholds=[0.1, 0.5]).compute()
    metrics = tally.MetricCollection({"accuracy": accuracy}, prefix="val/")
    results: dict[str, torch.Tensor] = metrics(torch.rand(3, 10), torch.tensor([1, 2, 3]))
    loss: torch.Tensor = losses.ClipLoss()(value, value, value)
    out: torch.Tensor = losses.LFQ(dim=4)(value).aux_loss
    tally.functional.soft_rank(value).sum()
    plot: tally.plots.Plot = accuracy.plot(labels=["a"])
    by_key = tally.SlicedMetric(accuracy, keys=["a", 3, None])
    by_key.update(["a"], value, value)
    rows: int = by_key.compute()[0].rows
    by_key.merge_state(by_key.clone().to("cpu"))
    keys: list[tuple[int | str | None, ...]] = by_key.keys()
    by_key.save("slices", ranks="one_file")
    method: str = accuracy.interval(level=0.9, method="wilson").method
    models = tally.ModelComparison(accuracy, method="mcnemar")
    models.update(value, value, value, ids=["a"])
    counted: int = models.rows
    with models.sync_context():
        count: int = models.update_count
    images = [{"boxes": value, "labels": value, "scores": value}]
    found: dict[str, torch.Tensor] = tally.MeanAveragePrecision()(images, images)
    with tally.MetricLogger(run="a") as logger:
        logger.add_folder("log")
        logged: dict[str, torch.Tensor] = logger.log(1, metrics)
    f1: tally.CompositionalMetric = 2 * tally.BinaryRecall() / (tally.BinaryRecall() + 1)
    try:
        accuracy.sync()
    except tally.SyncError as error:
        print(error.code is tally.SyncErrorCode.TIMEOUT, error.peers)
"""

WRONG = {
    'tally.MulticlassAccuracy()': "num_classes",
    'tally.MulticlassAccuracy(num_classes="3")': "int",
    'tally.MulticlassAccuracy(3, average="mean")': "Literal",
    'tally.MulticlassAccuracy(3, num_clases=4)': "num_clases",
    'tally.BinaryAccuracy().compute()["a"].foo': "foo",
    'tally.BinaryAcuracy()': "BinaryAcuracy",
}


def mypy(folder, code):
    file = folder / "program.py"
    file.write_text(textwrap.dedent(code))
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / "cache"),
         "--follow-imports=silent", str(file)],
        capture_output=True, text=True, cwd=folder,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("mypy")


def test_a_program_passes(folder):
    result = mypy(folder, PROGRAM)
    assert result.returncode == 0, result.stdout + result.stderr


def test_mistakes_are_found(folder):
    code = "import tally\n" + "\n".join(WRONG) + "\n"
    lines = mypy(folder, code).stdout.splitlines()
    for number, expected in enumerate(WRONG.values(), start=2):
        assert any(
            line.startswith(f"program.py:{number}:") and expected in line for line in lines
        ), (number, lines)


@pytest.mark.parametrize("module", ["", "functional", "losses", "plots"])
def test_stubs_have_all_names(module):
    folder = pathlib.Path(tally.__file__).parent
    text = (folder / f"{module or '__init__'}.pyi").read_text()
    names = (getattr(tally, module) if module else tally).__all__
    for name in names:
        assert re.search(rf"\b{name}\b", text), name
