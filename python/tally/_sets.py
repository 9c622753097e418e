"""Metrics of several named data sets."""

from tally._copies import Copyable
from tally._inputs import encode
from tally._kinds import list_of
from tally._library import classes
from tally._metric import Metric
from tally._ranks import over_ranks
from tally._slices import add_members, members_of
from tally._words import call


def _name_of(set):
    # As the constructor takes names: a year is one, too.
    if isinstance(set, (str, int)):
        return str(set)
    raise TypeError(f"NamedSets: expected the name of a set first, got a {type(set).__name__}")


class NamedSets(Copyable):
    """Metrics of several named data sets, and their means.

        sets = tally.NamedSets(["clean", "noisy"], tally.MulticlassAccuracy(num_classes=10))
        for name, loader in loaders.items():
            for batch in loader:
                sets.update(name, model(batch.x), batch.y)
        values = sets.compute()
        values["noisy/MulticlassAccuracy"], values["mean/MulticlassAccuracy"]

    ``compute()`` returns "set/metric" of every set, and of results that are one floating-point
    number "mean/metric", in which every set counts alike, and "weighted_mean/metric", in
    which each counts by its weight. A set without rows has no value: the mean is NaN. All
    states are synced at once, by a call of all ranks. Metrics are copied, as in a
    collection; those whose value depends on the batches that rows come in are rejected.

    Args:
        sets: The names of all sets, in the order of the results.
        metrics: A metric, a collection, or a dict of metrics by name.
        weights: Of the sets in the weighted mean; a list, or a dict by set. None: the rows
            of each set over all ranks.
    """

    def __init__(self, sets, metrics, *, weights=None):
        names = [str(name) for name in list_of("NamedSets: option 'sets'", sets, "names")]
        members = members_of(metrics, "NamedSets")
        if isinstance(weights, dict):
            if set(weights) != set(names):
                raise ValueError(
                    f"weights: expected one for each of {', '.join(names)}, got "
                    f"{', '.join(map(str, weights)) or 'none'}"
                )
            weights = [weights[name] for name in names]
        if weights is not None:
            weights = list_of("NamedSets: option 'weights'", weights, "numbers", float)
        members = [(name or type(metric).__name__, metric) for name, metric in members]
        self._rebuild(names, members, weights or [])

    def _parts(self):
        return self._sets, self._members, self._weights

    def _rebuild(self, sets, members, weights):
        self._sets, self._weights = sets, weights
        self._held = call(classes.NamedSets, sets, weights)
        self._declared = add_members(self._held, members)
        self._members = [(name, metric.clone()) for name, metric in members]

    @property
    def sets(self):
        """The names of the sets."""
        return list(self._sets)

    def forward(self, *inputs, **named):
        """There is none: the values of a batch are those of an object of its own."""
        raise TypeError("NamedSets has no forward(): call update(...), then compute()")

    __call__ = forward

    def update(self, set, *inputs, **named):
        """Accumulates one batch of a set; if it raises, nothing has changed."""
        call(self._held.update, _name_of(set), *encode(inputs, named, self._declared))

    def compute(self):
        """The values of all sets over all ranks, and their means, as a dict."""
        return dict(over_ranks(self._held.compute))

    def rows(self, set):
        """The rows of a set: of this rank, or while synced of all."""
        return self._held.rows(_name_of(set))
