"""The stubs agree with the package, and mypy and pyright take programs by them."""

import pathlib
import pkgutil
import re
import subprocess
import sys
import textwrap

import pytest
import tally
import torchmetrics

import tally.compat.torchmetrics as drop_in

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

DROP_IN_PROGRAM = """
    import tally.compat.torchmetrics as torchmetrics
    import torch
    from tally.compat.torchmetrics import MetricCollection
    from tally.compat.torchmetrics.classification.accuracy import MulticlassAccuracy
    from tally.compat.torchmetrics.detection.mean_ap import MeanAveragePrecision
    from tally.compat.torchmetrics.functional.classification import accuracy
    from tally.compat.torchmetrics.functional.classification.auroc import binary_auroc
    from tally.compat.torchmetrics.functional.text import bleu_score
    from tally.compat.torchmetrics.text.rouge import ROUGEScore
    from tally.compat.torchmetrics.utilities.data import dim_zero_cat
    from tally.compat.torchmetrics.wrappers.abstract import WrapperMetric

    scores, labels = torch.rand(3), torch.tensor([1, 0, 1])
    metric: MulticlassAccuracy = torchmetrics.classification.MulticlassAccuracy(num_classes=3)
    metrics = MetricCollection([metric, MeanAveragePrecision(), ROUGEScore()])
    value: torch.Tensor = accuracy(scores, labels, task="binary") + binary_auroc(scores, labels)
    value += torchmetrics.functional.classification.accuracy(scores, labels, task="binary")
    value += bleu_score(["a"], [["a"]]) + torchmetrics.utilities.data.dim_zero_cat([value])
    reason: str = torchmetrics.corrections(warn=False, off="R2Score")["RetrievalMAP"].reason
    which: str = torchmetrics.conventions("tally") + torchmetrics.__version__
    torchmetrics.install()
"""

DROP_IN_WRONG = {
    'torchmetrics.conventions("nobody")': "nobody",
    'torchmetrics.functional.classification.acuracy': "acuracy",
    'torchmetrics.text.rouge.ROUGEScore(3)': "bool",
    'torchmetrics.classification.BinaryAUROC(thresholds="many")': "thresholds",
}


def program(folder, code):
    file = folder / "program.py"
    file.write_text(textwrap.dedent(code))
    return str(file)


def run(folder, *command):
    return subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, cwd=folder
    )


def mypy(folder, code):
    return run(
        folder, "mypy", "--strict", "--cache-dir", str(folder / "cache"),
        "--follow-imports=silent", program(folder, code),
    )


def pyright(folder, code):
    return run(folder, "pyright", "--pythonpath", sys.executable, program(folder, code))


def has_pyright():
    """It fetches itself when it is called first."""
    return run(None, "pyright", "--version").returncode == 0


CHECKERS = [
    mypy,
    pytest.param(
        pyright, marks=pytest.mark.skipif(not has_pyright(), reason="pyright does not run here")
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("mypy")


@pytest.mark.parametrize("checker", CHECKERS)
@pytest.mark.parametrize("code", [PROGRAM, DROP_IN_PROGRAM], ids=["native", "drop_in"])
def test_a_program_passes(folder, checker, code):
    result = checker(folder, code)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("checker", CHECKERS)
@pytest.mark.parametrize(
    ("imports", "wrong"),
    [("import tally", WRONG), ("import tally.compat.torchmetrics as torchmetrics", DROP_IN_WRONG)],
    ids=["native", "drop_in"],
)
def test_mistakes_are_found(folder, checker, imports, wrong):
    lines = checker(folder, imports + "\n" + "\n".join(wrong) + "\n").stdout.splitlines()
    for number, expected in enumerate(wrong.values(), start=2):
        # pyright explains an error in lines below it.
        starts = [i for i, line in enumerate(lines) if f"program.py:{number}:" in line]
        assert any(expected in " ".join(lines[i : i + 4]) for i in starts), (number, lines)


def test_all_modules_of_the_drop_in_have_stubs():
    """Those in torchmetrics_modules.txt."""
    folder = pathlib.Path(drop_in.__file__).parent
    modules = pkgutil.walk_packages(torchmetrics.__path__, "torchmetrics.")
    names = [each.name.split(".")[1:] for each in modules if "._" not in each.name]
    found = {
        file.relative_to(folder).with_suffix("").parts for file in folder.rglob("*.pyi")
    }
    expected = {(*name, "__init__") if (*name, "__init__") in found else (*name,) for name in names}
    assert found == expected | {("__init__",)}


def test_stubs_have_the_names_of_the_drop_in():
    text = (pathlib.Path(drop_in.__file__).parent / "__init__.pyi").read_text()
    for name in vars(drop_in).keys() - vars(torchmetrics).keys():
        assert name.startswith("_") or re.search(rf"\b{name}\b", text), name


@pytest.mark.parametrize("module", ["", "functional", "losses", "plots"])
def test_stubs_have_all_names(module):
    folder = pathlib.Path(tally.__file__).parent
    text = (folder / f"{module or '__init__'}.pyi").read_text()
    names = (getattr(tally, module) if module else tally).__all__
    for name in names:
        assert re.search(rf"\b{name}\b", text), name
