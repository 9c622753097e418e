"""Which slices are worse than the rest."""

from typing import NamedTuple

from tally._accumulator import check_metric
from tally._copies import Copyable
from tally._inputs import encode
from tally._kinds import checked
from tally._library import classes
from tally._ranks import over_ranks
from tally._rows import encode_ids
from tally._slices import decode_key, encode_keys, key_words
from tally._words import call


class ComparedSlice(NamedTuple):
    """A slice, compared with all other rows."""

    #: A value for each column: an integer, a text, or None where rows have none.
    key: tuple
    #: Over all ranks.
    rows: int
    #: Groups, queries, or else rows.
    units: int
    value: float
    #: The ends of the value's own interval; NaN where there is none.
    value_low: float
    value_high: float
    #: The value of all other rows.
    rest: float
    #: value - rest.
    difference: float
    #: The ends of the difference's interval; NaN where there is none.
    low: float
    high: float
    standard_error: float
    #: Infinity for proportions of rows, whose test is exact.
    degrees_of_freedom: float
    #: The difference in standard deviations of a row's influence.
    effect: float
    #: The probability of such a difference between equal slices, two-sided.
    p_value: float
    #: The same, adjusted for the number of slices by Benjamini and Hochberg.
    q_value: float
    #: What has to be known of it: "few_units", "small_class", "no_variation", ...
    flags: tuple

    @property
    def name(self):
        """The key as text: "north, 3", "(missing)"."""
        return key_words(self.key)

    def __str__(self):
        """"north: -0.25 [-0.31, -0.18], q = 1.3e-06"."""
        text = f"{self.name}: {self.difference:.4g} [{self.low:.4g}, {self.high:.4g}]"
        flags = f" ({', '.join(self.flags)})" if self.flags else ""
        return f"{text}, q = {self.q_value:.2g}{flags}"


class SliceComparison(Copyable):
    """Which slices are worse than the rest: a metric for each against all other rows.

        by_hospital = tally.SliceComparison(tally.BinaryRecall(), grouped=True)
        by_hospital.update(hospitals, patients, preds, target)   # a key and an id for each row
        for each in by_hospital.compute():                       # the worst first
            print(each)                                # north: -0.25 [-0.31, -0.18], q = 1.3e-06

    The worst of many slices looks bad even if all are equal. They are ordered by the end of
    the difference's interval that is closer to no difference, and tested together. What
    cannot be said has no interval, NaN as q, comes last, and says why in its ``flags``. The
    metric is copied and must have accumulated nothing. ``compute()`` is a call of all ranks.

    Args:
        metric: A metric whose result is one number, for which higher or lower is better.
        min_rows: Slices with fewer rows that decide the value (the positives of a recall,
            the smaller class of an AUROC, the queries of a retrieval metric), or whose
            complement has fewer, are not compared.
        largest: The number of slices to compare: those with the most rows.
        max_slices: More slices than this are an error.
        level: Of the intervals, in (0, 1).
        grouped: Rows with the same id belong together, such as those of a patient.
            Without, an id that repeats is an error.
    """

    @checked
    def __init__(
        self, metric, *, min_rows=30, largest=200, max_slices=10_000, level=0.95, grouped=False
    ):
        check_metric("SliceComparison", metric)
        self._rebuild(metric, (min_rows, largest, max_slices, level, grouped))

    def _parts(self):
        return self._metric, self._options

    def _rebuild(self, metric, options):
        self._options = options
        self._held = call(classes.SliceComparison, metric._lend(), *options)
        self._metric = metric.clone()
        self._declared = metric._declared

    @property
    def unit(self):
        """What counts as one unit: "row", "group", or "query" for retrieval metrics."""
        return self._held.unit()

    def update(self, keys, ids, *inputs, **named):
        """Accumulates one batch; if it raises, nothing has changed.

        ``keys`` as in ``SlicedMetric``. ``ids`` has one for each row, an integer or a text:
        the same in every run and on every rank, as its number in the data set, or its group;
        None for retrieval metrics, whose input says it.
        """
        encoded = encode(inputs, named, self._declared)
        call(self._held.update, *encode_keys(keys), *encode_ids(ids), *encoded)

    def forward(self, *inputs, **named):
        """Not supported: use a separate object for the slices of one batch."""
        raise TypeError("SliceComparison has no forward(): call update(...), then compute()")

    __call__ = forward

    def compute(self):
        """The slices over all ranks, the worst first, as a list of ``tally.ComparedSlice``."""
        slices = over_ranks(self._held.compute)
        return [
            ComparedSlice(decode_key(kinds, texts), rows, units, *numbers, tuple(flags))
            for kinds, texts, rows, units, numbers, flags in slices
        ]
