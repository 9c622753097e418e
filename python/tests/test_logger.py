"""Results to files."""

import copy
import csv
import json
import os
import pickle

import numpy as np
import pytest
import ranks
import tally
import torch

PREDS = torch.tensor([0.1, 0.8, 0.6, 0.3])
TARGET = torch.tensor([0, 1, 0, 1])


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_run(tmp_path):
    metrics = tally.MetricCollection({"accuracy": tally.BinaryAccuracy()}, prefix="val/")
    metrics.update(PREDS, TARGET)
    with tally.MetricLogger(run="digits", command="python digits.py") as logger:
        assert logger.add_json_lines(tmp_path / "log.jsonl")
        assert logger.add_csv(tmp_path / "log.csv")
        assert logger.add_tensorboard(tmp_path / "events", labels=["a", "b"])
        assert logger.log(1, metrics) == {"val/accuracy": 0.5}
        roc = tally.BinaryROC()
        roc.update(PREDS, TARGET)
        assert set(logger.log(1, roc)) == {"BinaryROC.fpr", "BinaryROC.tpr", "BinaryROC.thresholds"}
        assert logger.log(1, roc, "roc")["roc.fpr"].ndim == 1
        logger.write(2, {"loss": 0.25, "f1": {"a": torch.tensor(0.5), "b": 1}})
        assert logger.status is None
    head, *steps = lines_of(tmp_path / "log.jsonl")
    assert head["run"] == "digits" and head["command"] == "python digits.py"
    assert steps[0]["results"] == {"val/accuracy": 0.5}
    assert steps[-1]["step"] == 2
    assert steps[-1]["results"] == {"loss": 0.25, "f1.a": 0.5, "f1.b": 1}
    with open(tmp_path / "log.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {"step": "2", "metric": "loss", "value": "0.25"}.items() <= rows[-3].items()
    assert len(os.listdir(tmp_path / "events")) == 1


def test_a_folder_and_a_run_that_goes_on(tmp_path):
    for first in (0, 2):
        with tally.MetricLogger(first_step=first) as logger:
            assert logger.add_folder(tmp_path / "log")
            for step in range(first, 4):
                logger.write(step, {"loss": float(first)})
    steps = [each for each in lines_of(tmp_path / "log" / "log.jsonl") if "step" in each]
    assert [(each["step"], each["results"]["loss"]) for each in steps] == [
        (0, 0), (1, 0), (2, 2), (3, 2)
    ]


def test_the_terminal(capfd):
    with tally.MetricLogger() as logger:
        logger.add_table()
        logger.write(1, {"loss": 0.25})
    assert "loss" in capfd.readouterr().err


def test_what_cannot_be_written_stops_nothing_else(tmp_path):
    (tmp_path / "other.txt").write_text("no log\n")
    logger = tally.MetricLogger()
    assert not logger.add_json_lines(tmp_path / "other.txt")
    assert logger.add_json_lines(tmp_path / "log.jsonl")
    assert "other.txt" in logger.status
    logger.write(1, {"loss": 1})
    with pytest.raises(ValueError, match="other.txt"):
        logger.finish()
    assert (tmp_path / "other.txt").read_text() == "no log\n"
    assert len(lines_of(tmp_path / "log.jsonl")) == 2


def test_bad_calls_write_nothing(tmp_path):
    logger = tally.MetricLogger()
    logger.add_json_lines(tmp_path / "log.jsonl")
    logger.write(3, {"loss": 1})
    with pytest.raises(ValueError, match="step"):
        logger.write(2, {"loss": 1})
    with pytest.raises(ValueError, match="loss"):
        logger.write(3, {"loss": 1})
    with pytest.raises(TypeError, match="dict"):
        logger.write(4, 0.5)
    with pytest.raises(TypeError, match="object"):
        logger.write(4, {"loss": object()})
    with pytest.raises(TypeError, match="tally.Metric"):
        logger.log(4, {"loss": 1})
    with pytest.raises(ValueError, match="write|first"):
        logger.add_csv(tmp_path / "late.csv")
    logger.finish()
    assert len(lines_of(tmp_path / "log.jsonl")) == 2
    assert not (tmp_path / "late.csv").exists()


def test_an_error_in_the_block_is_the_one_that_is_seen(tmp_path):
    (tmp_path / "other.txt").write_text("no log\n")
    with pytest.raises(KeyError, match="mine"):
        with tally.MetricLogger() as logger:
            logger.add_json_lines(tmp_path / "other.txt")
            raise KeyError("mine")


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, pickle.dumps])
def test_open_files_have_no_copies(copied, tmp_path):
    with tally.MetricLogger() as logger:
        logger.add_json_lines(tmp_path / "log.jsonl")
        with pytest.raises(TypeError, match="MetricLogger cannot be copied or pickled"):
            copied(logger)


def of_rank(rank, world, folder):
    metrics = tally.MetricCollection([tally.MeanMetric()])
    metrics.update(float(rank))
    path = os.path.join(folder, "log.jsonl")
    with tally.MetricLogger() as logger:
        logger.add_json_lines(path)
        value = logger.log(1, metrics)
    return value


def test_rank_0_writes_for_all(tmp_path):
    values = ranks.run(3, of_rank, str(tmp_path))
    assert values == [{"MeanMetric": 1}] * 3
    assert [each["results"] for each in lines_of(tmp_path / "log.jsonl")[1:]] == [
        {"MeanMetric": 1}
    ]


def test_images_texts_and_distributions(tmp_path):
    with tally.MetricLogger() as logger:
        assert logger.add_folder(tmp_path)
        logger.write_image(1, "sample", torch.full((3, 2, 5), 0.5))
        logger.write_image(1, "gray", np.zeros((1, 2, 2), dtype=np.uint8))
        logger.write_text(1, "said", "**cat**")
        logger.write_histogram(1, "weights", torch.nn.Linear(3, 4).weight)
        with pytest.raises(ValueError, match=r"expected \[1, H, W\]"):
            logger.write_image(2, "x", torch.zeros(4, 4))
        with pytest.raises(ValueError, match="got it twice"):
            logger.write_text(1, "said", "")
    (events,) = [path for path in tmp_path.iterdir() if "tfevents" in path.name]
    written = events.read_bytes()
    assert all(name in written for name in (b"sample", b"gray", b"**cat**", b"weights"))
    assert written.count(b"IHDR") == 2
    assert len(lines_of(tmp_path / "log.jsonl")) == 1
