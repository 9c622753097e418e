"""Metrics of Tally in the clothes of TorchMetrics' classes."""

import abc
import contextlib

import torch
from torch import Tensor
from torch.nn.modules.module import _global_forward_hooks, _global_forward_pre_hooks
from torchmetrics.utilities.exceptions import TorchMetricsUserError
from torchmetrics.utilities.prints import rank_zero_warn

import tally
from tally._words import REFUSED
from tally.compat.torchmetrics import _corrections, _results, _table, _undefined
from tally.compat.torchmetrics._fitting import (
    arguments_of,
    known_options,
    takes,
    told_options,
    without_self,
)
from tally.compat.torchmetrics._inputs import NOT_YET, TakesInputs
from tally.compat.torchmetrics._names import DROP_INS, here
from tally.compat.torchmetrics._shared import Shared
from tally.compat.torchmetrics._signed import is_same, signed_as
from tally.compat.torchmetrics._states import STATE as _STATE
from tally.compat.torchmetrics._states import OwnStates
from tally.compat.torchmetrics._subclasses import in_place_of


def _squeezed(value):
    """As TorchMetrics has it: one element has no dimension."""
    if isinstance(value, Tensor):
        return value.squeeze() if value.ndim and value.numel() == 1 else value
    if isinstance(value, dict):
        return {name: _squeezed(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_squeezed, value))
    return value


class DropIn(TakesInputs, Shared):
    """In front of a class of TorchMetrics: its constructor, Tally's work."""

    _real = None
    _tally_class = None
    _construct = None

    # What reset() leaves, as a metric of Tally.
    _kept = None

    # Whether update() and compute() are Tally's, and no subclass has its own.
    _is_whole = True

    # Whether a number is given out as it is.
    _gives_numbers = True

    # When values are TorchMetrics' of the states that it would have, and whether those of
    # single batches may be.
    _asked = _undefined.NEVER
    _looks_at_batches = False

    # How many rows a batch needs to have a value; with fewer TorchMetrics raises.
    _least = 0

    # Whether one element of a result has no dimension.
    _squeezes = True

    # Whether its options lead to corrections.
    _is_corrected = False

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        in_place_of(cls)
        if "__init__" in cls.__dict__:
            cls.__signature__ = without_self(cls.__init__)
        cls._gives_numbers = cls._result is DropIn._result
        cls._is_whole = is_same(cls.update, DropIn.update) and is_same(cls.compute, DropIn.compute)

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
        their_defaults = dict(self._defaults)
        given = arguments_of(self._real, args, kwargs)
        fields["_given"] = (args, kwargs)
        fields["_tally_options"] = self._options_of(given)
        fields["_has_own_thresholds"] = isinstance(given.get("thresholds"), (list, Tensor))
        fields["_persistent"] = {_STATE: False}
        fields["_reductions"] = {_STATE: self._merged}
        fields["_direct"] = _table.direct(self)
        fields["_is_corrected"] = bool(_corrections.of(self))
        fields["_asked"] = _undefined.when(self)
        fields["_looks_at_batches"] = _undefined.may_lack_in_batches(self)
        self._make()
        self._sign()
        fields["_defaults"] = OwnStates({_STATE: self._tally._held.serialize()})
        fields["_their_defaults"] = their_defaults

    def _sign(self):
        """What collections take keywords by."""
        update = type(self).update
        is_mine = is_same(update, DropIn.update)
        signature = self._signature if is_mine else without_self(update)
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
        if not kwargs and len(args) in fields["_direct"]:
            try:
                held = self._tally._held
                (held.update2 if len(args) == 2 else held.update1)(*args)
            except REFUSED:
                pass  # with more care, or with TorchMetrics' words
            else:
                if self._guesses and fields.get("_reading") in NOT_YET:
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
        if self._least and not fields["dist_sync_on_step"]:
            _undefined.check_batch(self, args, kwargs)
        fields["_computed"] = None
        value = None
        if (
            not kwargs
            and len(args) in fields["_direct"]
            and not fields["dist_sync_on_step"]
        ):
            try:
                held = self._tally._held
                value = (held.forward2 if len(args) == 2 else held.forward1)(*args)
            except REFUSED:
                pass
            else:
                if self._guesses and fields.get("_reading") in NOT_YET:
                    self._note_scores(args[0])
        if value is None:
            value = self._carefully(self._tally.forward, args, kwargs)
        fields["_update_count"] += 1
        if not self._gives_numbers or type(value) is not Tensor or value.ndim:
            value = self._given_out(value)
        if self._looks_at_batches and (
            self._asked != _undefined.IF_UNDEFINED or _undefined.is_undefined(value)
        ):
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
        if self._asked > _undefined.IF_UNDEFINED:
            with self._synced(syncs):
                value = self._value(None if syncs else False)
                value = _undefined.value_of_states(self, value)
        else:
            value = self._value(syncs)
            if self._asked and _undefined.is_undefined(value):
                with self._synced(syncs):
                    value = _undefined.value_of_states(self, value)
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
            raise _results.as_torchmetrics(self._real.__name__, error) from None

    def _is_distributed(self):
        available = self.distributed_available_fn
        return bool(available()) if callable(available) else False

    def _given_out(self, value):
        value = self._result(value)
        return _squeezed(value) if self._squeezes else value

    def value_of_function(self, inputs):
        """Of these inputs alone, in the form in which TorchMetrics' function gives it."""
        held = self._tally._held
        if (
            self._asked <= _undefined.IF_UNDEFINED and not self._is_corrected
            and len(inputs) in self._direct
        ):
            try:
                forward = held.forward2 if len(inputs) == 2 else held.forward1
                value = self._result(forward(*inputs))
                if not self._asked or not _undefined.is_undefined(value):
                    return value
            except REFUSED:
                pass  # as update() has it
            finally:
                held.reset()
        try:
            self.update(*inputs)
            self.__dict__["_squeezes"] = False
            return self.compute()
        finally:
            self.reset()

    def _result(self, value):
        return _results.parts(self, value)

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


def drop_in(real):
    """The class that takes the place of one of TorchMetrics'."""
    name = real.__name__
    fields = {
        "__module__": here(real),
        "__doc__": real.__doc__,
        "__jit_unused_properties__": [*real.__jit_unused_properties__, _STATE],
        "_real": real,
        "_tally_class": getattr(tally, name),
        "_signature": without_self(real.update),
        "_prepare": _table.PREPARED.get(name),
        "_construct": _table.CONSTRUCTED.get(name),
        "_guesses": ".classification" in real.__module__,
        "__signature__": without_self(real.__init__),
        "_least": _undefined.LEAST_ROWS.get(name, 0),
        **_table.METHODS.get(name, {}),
    }
    if name in _results.RESULTS:
        fields["_result"] = _results.RESULTS[name]
    mine = DROP_INS[real] = _Chosen(name, (DropIn, real), fields)
    for method in ("__init__", "update", "compute"):
        setattr(mine, method, signed_as(getattr(DropIn, method), getattr(real, method)))
    return mine
