"""What subclasses of drop-in metrics add: states, and an update and compute of their own."""

import functools
import inspect

import torch
import torchmetrics
from torch import Tensor
from torchmetrics.utilities.distributed import gather_all_tensors

from tally.compat.torchmetrics._states import STATE

_Metric = torchmetrics.Metric


def _around_update(method):
    """What TorchMetrics does around the update of a class."""

    @functools.wraps(method)
    def update(self, *args, **kwargs):
        if inspect.getattr_static(type(self), "update") is not update:
            return method(self, *args, **kwargs)  # of a class below this one
        count = self._update_count + 1
        self._computed = None
        with torch.set_grad_enabled(self._enable_grad):
            method(self, *args, **kwargs)
        self._update_count = count
        if self.compute_on_cpu:
            self._move_list_states_to_cpu()

    return update


def _around_compute(method):
    """The same of its compute: over ranks, and kept."""

    @functools.wraps(method)
    def compute(self, *args, **kwargs):
        call = functools.partial(method, self)
        if inspect.getattr_static(type(self), "compute") is compute:
            call = _Metric._wrap_compute(self, functools.update_wrapper(call, method))
        return call(*args, **kwargs)

    return compute


def in_place_of(cls):
    """Wraps the methods that a subclass has, once for all objects: those stay picklable."""
    for name, wrap in (("update", _around_update), ("compute", _around_compute)):
        if inspect.isfunction(cls.__dict__.get(name)):
            setattr(cls, name, wrap(cls.__dict__[name]))


class AddedStates:
    """States by add_state(), beside the one that is Tally's: as TorchMetrics has them."""

    def _added(self, by_name):
        return {name: each for name, each in by_name.items() if name != STATE}

    def _with_added(self, method, *args, **kwargs):
        """Calls a method of TorchMetrics that goes by the names of states."""
        fields = self.__dict__
        kept = {name: fields[name] for name in ("_defaults", "_reductions")}
        try:
            fields.update({name: self._added(each) for name, each in kept.items()})
            return method(self, *args, **kwargs)
        finally:
            fields.update(kept)

    def _reset_added(self):
        for name, default in self._added(self._defaults).items():
            current = getattr(self, name)
            if isinstance(default, Tensor):
                setattr(self, name, default.detach().clone().to(current.device))
            else:
                setattr(self, name, [])

    def _sync_added(self, dist_sync_fn, process_group):
        """Puts those of all ranks in their places; what was there before."""
        if len(self._defaults) == 1:
            return {}
        before = self._with_added(_Metric._copy_state_dict)
        gather = dist_sync_fn or gather_all_tensors
        self._with_added(_Metric._sync_dist, gather, process_group=process_group)
        return before

    def _merge_added(self, states, count):
        """Adds to those of this metric; `count` updates are in both together."""
        if len(self._defaults) == 1:
            return
        own, self._update_count = self._update_count, count
        try:
            self._with_added(_Metric._reduce_states, states)
        finally:
            self._update_count = own
