"""tally.progress says how far compute() has come."""

import pytest
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
    with pytest.raises(TypeError, match="expected a function, got int"):
        tally.progress(3)
    with pytest.raises(ValueError, match="expected a pause from 0 to 86400 seconds, got -1"):
        tally.progress(print, pause=-1)
