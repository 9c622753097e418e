"""Collections of metrics."""

from collections.abc import Iterable, Mapping

from tally._accumulator import Accumulator
from tally._held import METRIC_OPTIONS, STATE_OPTIONS, Held
from tally._kinds import of_kind
from tally._library import classes
from tally._metric import Metric
from tally._options import bind, signature_of

_SIGNATURE = signature_of(
    [{"name": "metrics", "is_required": True}],
    {"prefix": "", "postfix": "", **{
        name: default for name, default in METRIC_OPTIONS.items() if name not in STATE_OPTIONS
    }},
)


def _members(metrics, before=""):
    """Names and metrics, those of collections inside as "name.member"."""
    if isinstance(metrics, Metric):
        metrics = [metrics]
    if isinstance(metrics, MetricCollection):
        metrics = dict(metrics.items())
    if isinstance(metrics, str) or not isinstance(metrics, Iterable):
        raise TypeError(
            "MetricCollection: option 'metrics': expected a dict or a list of metrics, got "
            f"{metrics!r:.80}"
        )
    if not isinstance(metrics, Mapping):
        metrics = list(metrics)
        names = [type(metric).__name__ for metric in metrics]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(
                    f"expected one metric of each class, got {name} twice: give names by a dict"
                )
        metrics = dict(zip(names, metrics))
    for name, metric in metrics.items():
        if not isinstance(name, str):
            raise TypeError(f"expected a text as the name of a metric, got {name!r}")
        if isinstance(metric, Metric):
            yield before + name, metric
        elif isinstance(metric, (MetricCollection, Mapping)):
            yield from _members(metric, f"{before}{name}.")
        else:
            raise TypeError(f"'{name}': expected a tally.Metric, got {metric!r:.80}")


def _refusal(call, name):
    """What a call of a member says that would change it alone."""

    def refuse(*inputs, **named):
        raise RuntimeError(
            f"expected collection.{call}(...), got collection[{name!r}].{call}(...), which "
            f"would change a copy; collection[{name!r}].clone() is a metric of its own"
        )

    return refuse


class MetricCollection(Accumulator):
    """Metrics over the same inputs, accumulated, synced and computed together.

    Metrics that accumulate the same share one state, which is updated once, and all
    states are synced at once. Results are a dict in the order of the metrics. Metrics
    are copied: those given stay as they are. Sync options belong to the
    collection, not to its metrics.

    Args:
        metrics: A dict of names and metrics or collections, or a list of metrics, which
            go by the names of their classes.
        prefix, postfix: Put before and behind each name in results.
    """

    __signature__ = _SIGNATURE

    def __init__(self, *args, **kwargs):
        super().__init__()
        given = bind("MetricCollection", _SIGNATURE, args, kwargs)
        options = {k: given.pop(k, default) for k, default in METRIC_OPTIONS.items()}
        members = [(name, metric.clone()) for name, metric in _members(given["metrics"])]
        around = [
            of_kind(f"MetricCollection: option '{name}'", given.get(name) or "", str)
            for name in ("prefix", "postfix")
        ]
        recipe = members, *around
        self._hold(Held.made(MetricCollection, recipe, options))
        for _, metric in members:
            for name, kind in metric._declared.items():
                self._declared.setdefault(name, kind)

    @staticmethod
    def _make(recipe, options):
        metrics, prefix, postfix = recipe
        held = classes.MetricCollection(prefix, postfix)
        for name, metric in metrics:
            held.add(name, metric._lend())
        return held

    @property
    def _metrics(self):
        return self._held.recipe[0]

    def __getitem__(self, name):
        """A member as it is now, to be read: ``update`` and ``reset`` are the collection's."""
        for known, metric in self._metrics:
            if known == name:
                copy = metric.clone()
                copy._hold(metric._held.with_object(self._held.extract(name)))
                copy._held.device = self.device
                for call in ("update", "forward", "reset"):
                    copy.__dict__[call] = _refusal(call, name)
                return copy
        raise KeyError(f"unknown metric '{name}'; expected one of {', '.join(self)}")

    def __len__(self):
        return len(self._metrics)

    def __iter__(self):
        return iter(name for name, _ in self._metrics)

    def __contains__(self, name):
        return name in list(self)

    def keys(self):
        """The members' names, without prefix and postfix."""
        return list(self)

    def items(self):
        """Names and copies of the members."""
        return [(name, self[name]) for name in self]

    def values(self):
        """Copies of the members."""
        return [self[name] for name in self]

    @property
    def compute_groups(self):
        """The names of the members that share a state, group by group."""
        return dict(enumerate(self._held.groups()))

    def clone(self, prefix=None, postfix=None):
        """A copy with the same state, optionally with other names in its results."""
        copy = super().clone()
        if (prefix, postfix) != (None, None):
            members, own_prefix, own_postfix = copy._held.recipe
            prefix = own_prefix if prefix is None else prefix
            postfix = own_postfix if postfix is None else postfix
            copy._held.recipe = members, prefix, postfix
            copy._held.rename(prefix, postfix)
        return copy
