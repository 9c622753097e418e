"""tally.progress says how far compute() has come."""

import copy
import io

import pytest
import ranks
import tally
import torch

PREDS = torch.rand(40)
TARGET = torch.randint(2, (40,))


def _metrics():
    metrics = tally.MetricCollection(
        {"accuracy": tally.BinaryAccuracy(), "auroc": tally.BinaryAUROC()}
    )
    metrics.update(PREDS, TARGET)
    return metrics


def test_hears_of_each_metric():
    told = []
    metrics = _metrics()
    with tally.progress(lambda *at: told.append(at), pause=0):
        values = metrics.compute()
    assert told == [("metrics", 1, 2), ("metrics", 2, 2)]
    assert values == _metrics().compute()
    metrics.update(PREDS, TARGET)
    metrics.compute()
    assert len(told) == 2


def test_waits_for_its_pause():
    told = []
    with tally.progress(lambda *at: told.append(at), pause=3600):
        _metrics().compute()
    assert told == []


def test_the_innermost_one_is_told():
    outer, inner = [], []
    with tally.progress(lambda *at: outer.append(at), pause=0):
        with tally.progress(lambda *at: inner.append(at), pause=0):
            _metrics().compute()
        assert (len(outer), len(inner)) == (0, 2)
        _metrics().compute()
    assert (len(outer), len(inner)) == (2, 2)


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_what_it_raises_ends_the_call(error):
    def fail(unit, done, all):
        raise error("stop")

    metrics = _metrics()
    with pytest.raises(error, match="stop"):
        with tally.progress(fail, pause=0):
            metrics.compute()
            raise AssertionError("not ended")
    assert metrics.compute() == _metrics().compute()


def test_refuses_what_it_cannot_call():
    with pytest.raises(TypeError, match="expected a function, got 3"):
        tally.progress(3)
    with pytest.raises(ValueError, match="expected a pause from 0 to 86400 seconds, got -1"):
        tally.progress(print, pause=-1)


class Lines:
    """A line of progress on a file, at times that the test sets."""

    def __init__(self, style, unit="batches"):
        self.now, self.file = 100.0, io.StringIO()
        self.line = tally.Progress(unit, file=self.file, style=style, clock=lambda: self.now)

    def after(self, seconds, done, all):
        """What update() writes so much later."""
        self.now += seconds
        self.file.seek(0)
        self.file.truncate()
        self.line.update(done, all)
        return self.file.getvalue()


def test_a_line_with_values():
    lines = Lines("terminal")
    lines.line.start_outer("epoch", 2, 9)
    lines.line.set("lr", 0.001)
    lines.line.add_mean("loss", torch.tensor(0.5))
    lines.line.add_mean("loss", 0.25)
    assert lines.after(0.5, 1, 40) == ""
    assert lines.after(1.5, 8, 40) == (
        "\r\x1b[Kepoch 2 of 9: 8 of 40 batches (20%), 4.0 batches/s, 8 s left (78 s in all), "
        "lr 0.001, loss 0.375"
    )[:len("\r\x1b[K") + 79]
    lines.file.seek(0)
    lines.line.end()
    assert lines.file.getvalue().startswith("\r\x1b[K")


def test_a_log_has_a_line_every_30_seconds():
    lines = Lines("log", "rows")
    assert lines.after(29, 29, 100) == ""
    assert lines.after(1, 30, 100) == "30 of 100 rows (30%), 1.0 rows/s, 70 s left\n"
    assert lines.after(1, 31, 100) == ""
    lines.line.start("queries")
    lines.line.show_memory()
    assert lines.after(30, 15, 30).startswith("15 of 30 queries (50%), 0.5 queries/s, 30 s left, ")


def test_a_notebook_has_no_codes_of_a_terminal():
    lines = Lines("notebook", "rows")
    assert lines.after(2, 100, 200) == "\r100 of 200 rows (50%), 50 rows/s, 2 s left"
    lines.file.truncate(0)
    with lines.line:
        pass
    assert set(lines.file.getvalue().strip("\0")) == {"\r", " "}


def test_the_style_is_that_of_the_file():
    file = io.StringIO()
    line = tally.Progress(file=file)
    line.update(1, 2)
    assert file.getvalue() == ""
    with pytest.raises(ValueError, match="expected terminal, notebook or log, got tty"):
        tally.Progress(style="tty")
    with pytest.raises(TypeError, match="make one in each process"):
        copy.copy(line)


def _shown(rank, size):
    lines = Lines("log", "rows")
    return lines.after(30, 30, 100)


def test_the_first_rank_writes():
    assert ranks.run(2, _shown) == ["30 of 100 rows (30%), 1.0 rows/s, 70 s left\n", ""]
