"""Metrics of Tally in the clothes of TorchMetrics' classes."""

import abc
import contextlib
import inspect
import warnings

import torch
import torchmetrics
from torch import Tensor
from torch.nn.modules.module import _global_forward_hooks, _global_forward_pre_hooks
from torchmetrics.utilities.exceptions import TorchMetricsUserError
from torchmetrics.utilities.prints import rank_zero_warn

import tally
from tally._inputs import tensor_of
from tally.compat.torchmetrics import _corrections, _table, _undefined
from tally.compat.torchmetrics._fitting import known_options, told_options, without_self
from tally.compat.torchmetrics._states import STATE as _STATE
from tally.compat.torchmetrics._states import OwnStates
from tally.compat.torchmetrics._subclasses import AddedStates, in_place_of

# What is made anew for a copy.
_OWN = ("_update_signature",)


# What _reading is as long as no batch has been taken as probabilities.
_NOT_YET = (None, "logits")


def _squeezed(value):
    """As TorchMetrics has it: one element has no dimension."""
    if isinstance(value, Tensor):
        return value.squeeze() if value.ndim and value.numel() == 1 else value
    if isinstance(value, dict):
        return {name: _squeezed(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_squeezed, value))
    return value


def _arguments(real, args, kwargs):
    """What the constructor is given and what it takes in their places, by name."""
    bound = inspect.signature(real.__init__).bind(None, *args, **kwargs)
    bound.apply_defaults()
    given = dict(bound.arguments)
    for name in ("self", "args"):
        given.pop(name, None)
    return given | given.pop("kwargs", {})  # some are for the constructor of a base


class DropIn(AddedStates):
    """In front of a class of TorchMetrics: its constructor, Tally's work."""

    _real = None
    _tally_class = None
    _signature = None
    _prepare = None
    _construct = None

    # What reset() leaves, as a metric of Tally.
    _kept = None

    # Whether update() and compute() are Tally's, and no subclass has its own.
    _is_whole = True

    # Whether values that are undefined are TorchMetrics' of the states that it would have.
    _has_states = False

    # Whether it is one of counts, of which there may be none.
    _is_count = False

    # Whether one element of a result has no dimension.
    _squeezes = True

    # Whether it is on the list of corrections.
    _is_corrected = False

    # Whether scores beyond [0, 1] are taken for logits, and how batches since the last
    # reset() have been read: None, "probabilities", "logits" or "both".
    _guesses = False
    _reading = None

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        in_place_of(cls)
        if "__init__" in cls.__dict__:
            cls.__signature__ = without_self(cls.__init__)
        cls._is_whole = cls.update is DropIn.update and cls.compute is DropIn.compute

    def __init__(self, *args, **kwargs):
        # TorchMetrics' own checks, in its words.
        if self._construct is None:
            super().__init__(*args, **kwargs)
        else:
            self._construct(*args, **kwargs)
        fields = self.__dict__
        # TorchMetrics' wrappers of them: what is bound to one object is no other's.
        del fields["update"], fields["compute"]
        if self.dist_sync_fn is not None:
            raise ValueError(
                "dist_sync_fn: Tally syncs in one collective of its own; give process_group"
            )
        for name in self._defaults:
            delattr(self, name)
        given = _arguments(self._real, args, kwargs)
        fields["_given"] = (args, kwargs)
        fields["_tally_options"] = self._options_of(given)
        fields["_has_own_thresholds"] = isinstance(given.get("thresholds"), (list, Tensor))
        fields["_persistent"] = {_STATE: False}
        fields["_reductions"] = {_STATE: self._merged}
        fields["_may_ignore_all"] = self._is_count and self.ignore_index is not None
        self._make()
        self._sign()
        fields["_defaults"] = OwnStates({_STATE: self._tally._held.serialize()})

    def _sign(self):
        """What collections take keywords by."""
        update = type(self).update
        signature = self._signature if update is DropIn.update else without_self(update)
        self.__dict__["_update_signature"] = signature

    def _options_of(self, given):
        """Of TorchMetrics' arguments, what Tally's class is told."""
        names = {name: name for name in known_options(self._real)} | told_options(self._real)
        given = {names[name]: value for name, value in given.items() if name in names}
        name = self._real.__name__
        options = _table.OPTIONS.get(name, lambda options: options)(given)
        looked_after = _table.LOOKED_AFTER.get(name, ())
        return {k: v for k, v in options.items() if k not in looked_after}

    def _make(self):
        # Checking costs nothing here, and logits are found by it.
        of_ranks = {
            "dist_sync_on_step": self.dist_sync_on_step,
            "sync_on_compute": self.sync_on_compute,
            "process_group": self.process_group,
            "compute_with_cache": False,
        }
        make = _table.MADE.get(self._real.__name__)
        if make is None:
            metric = self._tally_class(**self._tally_options, **of_ranks)
        else:
            metric = make(self, self._tally_options, of_ranks)
        metric.set_dtype(self._dtype)
        if self._device != metric.device:
            metric.to(self._device)
        self.__dict__["_tally"] = metric

    # TorchMetrics wraps them with what Tally does itself.

    def _wrap_update(self, update):
        return update

    def _wrap_compute(self, compute):
        return compute

    # ---- accumulating

    def update(self, *args, **kwargs):
        """As TorchMetrics' update()."""
        fields = self.__dict__
        fields["_computed"] = None
        fields["_update_count"] += 1
        if not kwargs and self._prepare is None and len(args) in (1, 2):
            try:
                held = self._tally._held
                (held.update2 if len(args) == 2 else held.update1)(*args)
            except (ValueError, TypeError, IndexError, RuntimeError):
                pass  # with more care, or with TorchMetrics' words
            else:
                if self._guesses and fields.get("_reading") in _NOT_YET:
                    self._note_scores(args[0])
                return None
        return self._carefully(self._tally.update, args, kwargs)

    @torch.jit.unused
    def forward(self, *args, **kwargs):
        """As TorchMetrics' forward()."""
        if not self._is_whole:
            return super().forward(*args, **kwargs)
        fields = self.__dict__
        if fields["_is_synced"]:
            raise TorchMetricsUserError(
                "The Metric shouldn't be synced when performing ``forward``. "
                "HINT: Did you forget to call ``unsync`` ?."
            )
        fields["_computed"] = None
        value = None
        if (
            not kwargs
            and self._prepare is None
            and len(args) in (1, 2)
            and not fields["dist_sync_on_step"]
        ):
            try:
                held = self._tally._held
                value = (held.forward2 if len(args) == 2 else held.forward1)(*args)
            except (ValueError, TypeError, IndexError, RuntimeError):
                pass
            else:
                if self._guesses and fields.get("_reading") in _NOT_YET:
                    self._note_scores(args[0])
        if value is None:
            value = self._carefully(self._tally.forward, args, kwargs)
        fields["_update_count"] += 1
        value = self._given_out(value)
        if self._has_states or (fields["_may_ignore_all"] and _undefined.has_nan(value)):
            value = _undefined.value_of_batch(self, value, args, kwargs)
        fields["_forward_cache"] = value
        return value

    def __call__(self, *args, **kwargs):
        """forward(), with the hooks that there are."""
        fields = self.__dict__
        if (
            fields["_forward_hooks"] or fields["_forward_pre_hooks"]
            or _global_forward_hooks or _global_forward_pre_hooks
        ):
            return super().__call__(*args, **kwargs)
        return self.forward(*args, **kwargs)

    def _carefully(self, call, args, kwargs):
        given = inputs = self._in_order(args, kwargs)
        if self._prepare is not None:
            inputs = type(self)._prepare(self, inputs)
        try:
            value = call(*inputs)
            self._note_scores(given[0], inputs[0])
            return value
        except (ValueError, TypeError, IndexError, RuntimeError) as error:
            repaired = self._repaired(inputs)
            if repaired is not None:
                try:
                    value = getattr(self._tally, call.__name__)(*repaired)
                    self._note_scores(given[0], repaired[0])
                    return value
                except (ValueError, TypeError, IndexError, RuntimeError):
                    pass
            self._raise_as_torchmetrics(args, kwargs)
            raise _table.as_torchmetrics(self._real.__name__, error) from None

    def _note_scores(self, given, taken=None):
        """Warns once if some batches' scores were taken as they are, and others not."""
        if not self._guesses or not isinstance(given, Tensor) or not given.is_floating_point():
            return
        self._note_reading("probabilities" if taken is None or taken is given else "logits")

    def _note_reading(self, reading):
        before = self.__dict__.get("_reading")
        if reading is None or before in (reading, "both"):
            return
        self.__dict__["_reading"] = reading if before is None else "both"
        if before is not None and _corrections.warns():
            warnings.warn(
                f"{self._real.__name__}: batches with a score outside [0, 1] were put through a "
                "sigmoid or softmax, others were taken as probabilities, as TorchMetrics does: "
                "the value depends on how rows are batched. Give probabilities, or logits, "
                "throughout: tally's own metrics take logits with input='logits'",
                _corrections.TallyCorrectionWarning,
                stacklevel=_corrections.level_of_program(),
            )

    def _in_order(self, args, kwargs):
        args = self._signature.bind(*args, **kwargs).args
        kinds = [each["kind"] for each in tally._METRICS[self._real.__name__]["inputs"]]
        return [
            each if each is None or kind.startswith(("text", "tokens", "ragged")) else tensor_of(each)
            for each, kind in zip(args, kinds)
        ]

    def _repaired(self, inputs):
        """Inputs in a form that Tally takes, if TorchMetrics does; else None."""
        name = self._real.__name__
        if name in _table.OUTPUTS_BY_SHAPE and inputs[0].ndim == 2 and not self._update_count > 1:
            self._tally_options = {**self._tally_options, "num_outputs": inputs[0].shape[1]}
            self._make()
            return inputs
        if name in _table.LISTS_OF_ONE and isinstance(inputs[0], str):
            return [inputs[0], [inputs[1]]]
        if name in _table.FLATTENING and self.num_outputs == 1:
            return [each.flatten() for each in inputs]
        if name in _table.SHORTENED and all(each.ndim for each in inputs):
            frames = min(map(len, inputs))
            return [each[:frames] for each in inputs]
        if ".classification" in self._real.__module__:
            return _table.as_probabilities(name, inputs)
        return None

    def _raise_as_torchmetrics(self, args, kwargs):
        """Raises what TorchMetrics would for these inputs, if anything."""
        if self._construct is not None:
            return
        init_args, init_kwargs = self._given
        scratch = self._real(*init_args, **init_kwargs)
        scratch.update(*args, **kwargs)

    def compute(self):
        """As TorchMetrics' compute()."""
        fields = self.__dict__
        if not fields["_update_count"]:
            rank_zero_warn(
                f"The ``compute`` method of metric {self.__class__.__name__}"
                " was called before the ``update`` method which may lead to errors,"
                " as metric states have not yet been updated.",
                UserWarning,
            )
        if fields["_computed"] is not None:
            return fields["_computed"]
        syncs = self._to_sync and not self._is_synced and self._is_distributed()
        if self._is_corrected:
            _corrections.warn_of(self)
        if self._has_states:
            with self._synced(syncs):
                value = self._value(None if syncs else False)
                value = _undefined.value_of_states(self, value)
        else:
            value = self._value(syncs)
            if self._is_count and _undefined.has_nan(value):
                with self._synced(syncs):
                    value = _undefined.value_of_counts(self, value)
        if self.compute_with_cache:
            fields["_computed"] = value
        return value

    @contextlib.contextmanager
    def _synced(self, syncs):
        """All ranks' states, as compute() has them."""
        if syncs:
            self._tally.sync()
        try:
            yield
        finally:
            if syncs:
                self._tally.unsync()

    def _value(self, syncs):
        """Tally's value; `syncs` is None if states are all ranks' already."""
        options = self._tally._options
        if syncs is not None and not self._is_synced and syncs != options["sync_on_compute"]:
            options["sync_on_compute"] = syncs
            self._tally._held.set_options()
        try:
            return self._given_out(self._tally.compute())
        except ValueError as error:
            raise _table.as_torchmetrics(self._real.__name__, error) from None

    def _is_distributed(self):
        available = self.distributed_available_fn
        return bool(available()) if callable(available) else False

    def _given_out(self, value):
        value = self._result(value)
        return _squeezed(value) if self._squeezes else value

    def value_of_function(self):
        """As compute(), in the form in which TorchMetrics' function gives it."""
        self.__dict__["_squeezes"] = False
        return self.compute()

    def _result(self, value):
        return _table.parts(self, value)

    def reset(self):
        """As TorchMetrics' reset()."""
        fields = self.__dict__
        fields["_update_count"] = 0
        fields["_forward_cache"] = None
        fields["_computed"] = None
        fields["_cache"] = None
        fields["_is_synced"] = False
        fields["_reading"] = None
        if "_tally" in fields:
            self._tally.reset()
            if self._kept is not None:
                self._tally.merge_state(self._kept)
            if len(fields["_defaults"]) > 1:
                self._reset_added()

    # ---- ranks

    def sync(
        self, dist_sync_fn=None, process_group=None, should_sync=True, distributed_available=None
    ):
        """As TorchMetrics' sync()."""
        if self._is_synced and should_sync:
            raise TorchMetricsUserError("The Metric has already been synced.")
        if distributed_available is None:
            distributed_available = self.distributed_available_fn
        is_distributed = distributed_available() if callable(distributed_available) else None
        if not should_sync or not is_distributed:
            return
        if process_group is not None:
            self._tally._options["process_group"] = process_group
            self._tally._held.set_options()
        self._tally.sync()
        try:
            self.__dict__["_cache"] = self._sync_added(dist_sync_fn, process_group)
        except BaseException:
            self._tally.unsync()
            raise
        self.__dict__["_is_synced"] = True

    def unsync(self, should_unsync=True):
        """As TorchMetrics' unsync()."""
        if not should_unsync:
            return
        if not self._is_synced:
            raise TorchMetricsUserError("The Metric has already been un-synced.")
        if self._cache is None:
            raise TorchMetricsUserError(
                "The internal cache should exist to unsync the Metric."
            )
        self._tally.unsync()
        for name, state in self._cache.items():
            setattr(self, name, state)
        self.__dict__["_cache"] = None
        self.__dict__["_is_synced"] = False

    def merge_state(self, incoming_state):
        """As TorchMetrics' merge_state(), of every metric."""
        if isinstance(incoming_state, dict):
            self._reduce_states(incoming_state)
            return
        if not isinstance(incoming_state, torchmetrics.Metric):
            raise ValueError(
                "Expected incoming state to be a dict or an instance of Metric but got "
                f"{type(incoming_state)}"
            )
        if type(incoming_state) is not type(self):
            raise ValueError(
                f"Expected incoming state to be an instance of {self.__class__.__name__} but "
                f"got {type(incoming_state)}"
            )
        count = self._update_count + incoming_state._update_count
        self._merge_added(vars(incoming_state), count)
        self._tally.merge_state(incoming_state._tally)
        self._note_reading(incoming_state._reading)
        self.__dict__["_computed"] = None
        self.__dict__["_update_count"] = count

    def _reduce_states(self, incoming_state):
        self._merge_added(incoming_state, self._update_count)
        own = self._tally.clone()
        self._tally._set_state(incoming_state[_STATE])
        self._tally.merge_state(own)
        self.__dict__["_computed"] = None

    def _merged(self, states):
        """How TorchMetrics reduces the states of ranks: as one of bytes."""
        merged, *others = [self._tally.clone() for _ in range(len(states))]
        for metric, state in zip([merged, *others], states):
            metric._set_state(state)
        merged.merge_state(others)
        return merged._held.serialize()

    # ---- states

    @property
    def tally_state(self):
        """What is accumulated, as a tensor of bytes."""
        return self._tally._held.serialize()

    @tally_state.setter
    def tally_state(self, state):
        self._tally._set_state(state)
        self.__dict__["_update_count"] = self._tally.update_count
        self.__dict__["_computed"] = None

    def set_dtype(self, dst_type):
        """As TorchMetrics' set_dtype(); states keep their precision."""
        super().set_dtype(dst_type)
        return self

    def _apply(self, fn, exclude_state=""):
        this = torchmetrics.Metric._apply(self, fn, exclude_state=[_STATE])
        if this._dtype.is_floating_point:
            this._tally.set_dtype(this._dtype)
        for metric in (this._tally, this._kept):
            if metric is not None and this._device != metric.device:
                metric.to(this._device)
        return this

    def __getstate__(self):
        state = {k: v for k, v in self.__dict__.items() if k not in _OWN}
        return state | {"_reductions": self._added(self._reductions)}

    def __setstate__(self, state):
        if "_tally" not in state:  # of TorchMetrics' class, kept before install()
            self.__class__ = type(self)._real
            self.__setstate__(state)
            return
        self.__dict__.update(state)
        self.__dict__["_reductions"] = {_STATE: self._merged, **state["_reductions"]}
        self._sign()

    def __hash__(self):
        return hash((self.__class__.__name__, id(self)))


class _Chosen(abc.ABCMeta):
    """Makes TorchMetrics' own object where Tally's class does not take the arguments."""

    def __call__(cls, *args, **kwargs):
        real = cls._real
        if cls.__bases__ == (DropIn, real) and not takes(real, args, kwargs):
            return real(*args, **kwargs)
        return super().__call__(*args, **kwargs)

    def __instancecheck__(cls, instance):
        return super().__instancecheck__(instance) or (
            cls.__bases__ == (DropIn, cls._real) and isinstance(instance, cls._real)
        )


def takes(real, args, kwargs):
    """Whether Tally's class takes a constructor's arguments."""
    name = real.__name__
    try:
        given = _arguments(real, args, kwargs)
    except TypeError:
        return True  # and says so
    return (
        not _corrections.is_off(name)
        and given.get("dist_sync_fn") is None
        and not (name.startswith("Multiclass") and given.get("num_classes") is None)
        and (name not in _table.ONLY_WITH or _table.ONLY_WITH[name](**given))
    )


def drop_in(real):
    """The class that takes the place of one of TorchMetrics'."""
    name = real.__name__
    fields = {
        "__module__": real.__module__.replace("torchmetrics", "tally.compat.torchmetrics", 1),
        "__doc__": real.__doc__,
        "__jit_unused_properties__": [*real.__jit_unused_properties__, _STATE],
        "_real": real,
        "_tally_class": getattr(tally, name),
        "_signature": without_self(real.update),
        "_prepare": _table.PREPARED.get(name),
        "_construct": _table.CONSTRUCTED.get(name),
        "_guesses": ".classification" in real.__module__,
        "__signature__": without_self(real.__init__),
        "_is_corrected": name in _corrections.CORRECTIONS,
        "_is_count": name in _undefined.COUNTS,
        "_has_states": name in _undefined.CLASSES,
        **_table.METHODS.get(name, {}),
    }
    if name in _table.RESULTS:
        fields["_result"] = _table.RESULTS[name]
    return _Chosen(name, (DropIn, real), fields)
