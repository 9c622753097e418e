"""States as values: made in one process, carried as bytes, merged in another."""

import inspect
from collections.abc import Iterable

import torch

from tally._classes import CLASSES
from tally._collection import MetricCollection
from tally._comparison import ModelComparison
from tally._errors import check_status
from tally._held import METRIC_OPTIONS, STATE_OPTIONS
from tally._intervals import IntervalMetric
from tally._library import functions
from tally._metric import CompositionalMetric
from tally._sets import NamedSets
from tally._slice_comparison import SliceComparison
from tally._slices import SlicedMetric
from tally._stateful import Stateful, state_tensor
from tally._tracker import MetricTracker

_AROUND = {each.__name__: each for each in (IntervalMetric, ModelComparison, SliceComparison)}


def from_bytes(state, into=None):
    """The object whose ``to_bytes()`` these are, with what it accumulated.

        accuracy = tally.from_bytes(state)

    Any metric of the library, wrappers and arithmetic included, collections, slices,
    intervals and comparisons. Options for ranks (``sync_on_compute``, ``process_group``, ...)
    are the defaults, and the state is on the CPU. Functions of Python are not in bytes:
    feature extractors, tokenizers; make such an object, and give it as ``into``, which is
    filled and returned.

    Raises ``ValueError`` for bytes that are truncated, damaged, of a newer version, or of
    another metric; then nothing has changed. Bytes are not authenticated: whoever can change
    them can change values, but not run code.
    """
    if into is not None:
        if not isinstance(into, Stateful):
            raise TypeError(f"into: expected an object of tally, got a {type(into).__name__}")
        into.deserialize(state)
        return into
    tensor = state_tensor(state)
    status, spec = functions.spec_of_bytes(tensor)
    check_status(status)
    made = _made(spec)
    made._set_state(tensor)
    return made


def merge(states):
    """One object with what all of these accumulated: bytes, or objects of one class.

        whole = tally.merge(part.to_bytes() for part in parts)

    They are merged in the order given, that of ranks: counts and rows are those of one
    process to the last bit, sums of floating-point numbers to 1e-12. The objects stay as
    they are.
    Raises ``ValueError`` for none, and for states of other metrics or options, by their
    place.
    """
    texts = (bytes, bytearray, memoryview, str)
    if isinstance(states, texts) or not isinstance(states, Iterable):
        raise TypeError(f"merge: expected a list of states, got {type(states).__name__}")
    whole = None
    for place, state in enumerate(states):
        try:
            part = state if isinstance(state, Stateful) else from_bytes(state)
            if whole is None:
                whole = part.clone() if part is state else part
            else:
                _check_same(whole, part)
                whole.merge_state(part)
        except (TypeError, ValueError) as error:
            raise type(error)(f"state {place}: {error}") from None
    if whole is None:
        raise ValueError("expected states to merge, got none")
    return whole


def _check_same(whole, part):
    """That values of both are of the same metrics; merge_state compares classes and states."""
    if type(whole) is not type(part):
        return
    expected, got = whole._held.spec(), part._held.spec()
    if got != expected:
        raise ValueError(f"expected a state of {expected}, got one of {got}")


def _made(spec):
    """An empty object of the class of Python that goes by the name of the text."""
    name, options = functions.parse_spec(spec)
    options = dict(options)
    if name == "MetricCollection":
        return MetricCollection(dict(_members(options)), **options)
    if name == "SlicedMetric":
        members = _members(options)
        keys = functions.keys_of_text(options.pop("keys", "[]"))
        sliced = SlicedMetric.__new__(SlicedMetric)
        sliced._rebuild(members, (keys, int(options["max_slices"]), int(options["largest"])))
        return sliced
    if name == "NamedSets":
        return _sets(options)
    if name == "MetricTracker":
        return _tracker(options)
    if name in _AROUND:
        cls = _AROUND[name]
        defaults = inspect.signature(cls).parameters
        metric = _metric(options.pop("metric"))
        return cls(metric, **{
            key: _value(text, defaults[key].default) for key, text in options.items()
        })
    return _metric(spec)


def _sets(options):
    sets = NamedSets.__new__(NamedSets)
    sets._rebuild(
        functions.list_of_text(options["sets"]), _members(options),
        [float(weight) for weight in functions.list_of_text(options["weights"])],
    )
    return sets


def _tracker(options):
    is_single = "metric" in options
    metrics = MetricCollection(_metric(options["metric"])) if is_single else _made(options["metrics"])
    told = functions.items_of_text(options["maximize"]) if "maximize" in options else []
    tracker = MetricTracker.__new__(MetricTracker)
    tracker._rebuild(metrics, {key: text == "true" for key, text in told}, is_single)
    return tracker


def _members(options):
    """Names and metrics of ``metric=...`` or ``metrics={...}``, which are taken out."""
    if "metric" in options:
        return [("", _metric(options.pop("metric")))]
    items = functions.items_of_text(options.pop("metrics")) if "metrics" in options else []
    return [(name, _metric(text)) for name, text in items]


def _metric(text):
    name, options = functions.parse_spec(text)
    told = dict(METRIC_OPTIONS)
    for key, default in STATE_OPTIONS.items():
        if key in options:
            told[key] = _value(options[key], default)
    cls = CLASSES.get(name, CompositionalMetric)
    metric = cls.__new__(cls)
    torch.nn.Module.__init__(metric)
    metric._start(text, told)
    return metric


def _value(text, default):
    if isinstance(default, bool):
        return text == "true"
    return type(default)(text)
