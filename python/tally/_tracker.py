"""Metrics over the steps of a run."""

from collections.abc import Mapping
from typing import NamedTuple

from tally._collection import MetricCollection
from tally._copies import Copyable
from tally._inputs import encode
from tally._library import classes
from tally._metric import Metric
from tally._ranks import over_ranks
from tally._words import call


class Best(NamedTuple):
    """The best value of a result, and its step."""

    value: float
    step: int
    #: Of the step; empty without one.
    label: str


class MetricTracker(Copyable):
    """A metric or collection over the steps (such as epochs) of a run.

        tracker = tally.MetricTracker(tally.MulticlassAccuracy(num_classes=10))
        for epoch in range(100):
            tracker.increment(f"epoch {epoch}")
            for batch in validation:
                tracker.update(model(batch.x), batch.y)
            if tracker.improved():
                torch.save(model.state_dict(), "best.pt")
            if tracker.should_stop(patience=5):
                break
        value, step, label = tracker.best_metric()

    Each step has a state of its own, and the values of all are kept: once computed, the
    value of a finished step over all ranks takes the place of its state. What computes is a
    call of all ranks. The metrics are copied and must have accumulated nothing. Labels are
    saved, and must be the same on all ranks.

    Args:
        metrics: A metric, a collection, or a dict of metrics by name.
        maximize: Whether the largest value is the best; of a collection a dict by member.
            By default as the metrics say.
    """

    def __init__(self, metrics, maximize=None):
        is_single = isinstance(metrics, Metric)
        if not isinstance(metrics, MetricCollection):
            metrics = MetricCollection(metrics)
        if maximize is None:
            maximize = {}
        elif isinstance(maximize, bool) and is_single:
            maximize = dict.fromkeys(metrics, maximize)
        elif not isinstance(maximize, Mapping):
            expected = "True or False" if is_single else "a dict by member of a collection"
            raise TypeError(
                f"MetricTracker: option 'maximize': expected {expected}, got {maximize!r:.80}"
            )
        self._rebuild(metrics.clone(), dict(maximize), is_single)

    def _parts(self):
        return self._metrics, self._maximize, self._is_single

    def _rebuild(self, metrics, maximize, is_single):
        self._metrics, self._maximize, self._is_single = metrics, maximize, is_single
        self._held = call(classes.MetricTracker, metrics._lend(), maximize, is_single)
        self._declared = metrics._declared

    def increment(self, label=""):
        """Starts the next step; ``label`` is a text, or a number such as the iteration's."""
        self._held.increment(str(label))

    @property
    def n_steps(self):
        """The number of steps so far."""
        return self._held.n_steps()

    @property
    def labels(self):
        """The labels of all steps."""
        return self._held.labels()

    def update(self, *inputs, **named):
        """Accumulates one batch of the current step; if it raises, nothing has changed."""
        call(self._held.update, *encode(inputs, named, self._declared))

    def forward(self, *inputs, **named):
        """update() and the value of this rank's batch."""
        return self._value(call(self._held.forward, *encode(inputs, named, self._declared)))

    __call__ = forward

    def compute(self):
        """The value of the current step: a tensor, or a dict if there are several results."""
        return self._value(over_ranks(self._held.compute))

    def compute_all(self):
        """The values of all steps, stacked along a new first dimension."""
        return self._value(over_ranks(self._held.compute_all))

    def best_metric(self, result=""):
        """The best value of a result, or of the only one, as a ``tally.Best``.

        The first of equal ones; NaN only if there is nothing else.
        """
        return Best(*over_ranks(self._held.best_metric, result))

    def improved(self, result="", *, min_delta=0.0):
        """Whether the current step is better than all before it by more than ``min_delta``.

        The first is; NaN never is. All ranks get the answer of rank 0.
        """
        return over_ranks(self._held.improved, result, float(min_delta))

    def should_stop(self, patience, result="", *, min_delta=0.0):
        """Whether none of the last ``patience`` steps improved the result."""
        return over_ranks(self._held.should_stop, patience, result, float(min_delta))

    def reset(self):
        """Empties the current step."""
        self._held.reset()

    def reset_all(self):
        """Removes all steps."""
        self._held.reset_all()

    def _value(self, results):
        results = dict(results)
        return next(iter(results.values())) if self._is_single and len(results) == 1 else results
