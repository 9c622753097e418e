"""What intervals and comparisons share: rows, which may have ids."""

from torch import Tensor

from tally._accumulator import check_metric
from tally._copies import Copyable
from tally._inputs import encode, is_texts, listed, tensor_of
from tally._ranks import over_ranks
from tally._words import call


def encode_ids(ids):
    """Ids as a tensor and as texts, one of which is None, or both without ids."""
    if ids is None or isinstance(ids, Tensor):
        return ids, None
    try:
        ids = listed(ids)
    except ValueError as error:
        raise ValueError(f"ids: {error}") from None
    if not hasattr(ids, "__array__") and not hasattr(ids, "__dlpack__"):
        ids = list(ids)
    return (None, ids) if is_texts(ids) and ids else (tensor_of(ids), None)


class RowMetric(Copyable):
    """Holds an object made of a metric, its ``_class``, and options in its order."""

    _class = None

    def __init__(self, metric, *options):
        check_metric(type(self).__name__, metric)
        self._rebuild(metric, options)

    def _parts(self):
        return self._metric, self._options

    def _rebuild(self, metric, options):
        self._options = options
        self._held = call(self._class, metric._lend(), *options)
        self._metric = metric.clone()
        self._declared = self._inputs_of(metric._declared)

    def _inputs_of(self, declared):
        """The kinds of inputs by name, given the metric's."""
        return declared

    @property
    def method(self):
        """The method in use, never "auto"."""
        return self._held.method()

    @property
    def uses_ids(self):
        """Whether ids of rows matter; if so, they are required with several ranks."""
        return self._held.uses_ids()

    @property
    def rows(self):
        """The number of rows so far: of this rank or, while synced, of all ranks."""
        return self._held.rows()

    def update(self, *inputs, ids=None, **named):
        """Accumulates one batch; if it raises, nothing has changed.

        ``ids`` has one for each row, an integer or a text: the same in every run and on
        every rank, as its number in the data set. By default rows are numbered.
        """
        call(self._held.update, *encode_ids(ids), *encode(inputs, named, self._declared))

    def forward(self, *inputs, **named):
        """Not supported: use a separate object for the interval of one batch."""
        raise TypeError(
            f"{type(self).__name__} has no forward(): call update(...), then compute()"
        )

    __call__ = forward

    def _compute(self, make):
        """What `make` makes of each part, or a dict of them if there are several."""
        found = over_ranks(self._held.compute)
        parts = {name: make(*part) for name, *part in found}
        return parts[""] if list(parts) == [""] else parts
