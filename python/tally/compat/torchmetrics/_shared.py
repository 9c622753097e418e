"""States of drop-in metrics on their way: to other ranks, metrics, devices and files."""

import torchmetrics
from torchmetrics.utilities.exceptions import TorchMetricsUserError

from tally.compat.torchmetrics import _their_states
from tally.compat.torchmetrics._as_theirs import TheirStates
from tally.compat.torchmetrics._states import STATE
from tally.compat.torchmetrics._subclasses import AddedStates

# What is made anew for a copy.
_OWN = ("_update_signature", "_theirs")


class Shared(AddedStates, TheirStates):
    """What is accumulated, shared with others as TorchMetrics shares it."""

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
        if type(incoming_state) is self._real:
            self._go_on_with({}, "merge_state")
            self._reduce_states(incoming_state.metric_state)
            self._update_count += incoming_state._update_count
            return
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
        if STATE not in incoming_state:
            self._go_on_with({}, "merge_state")
            self._reduce_states(incoming_state)
            return
        self._merge_added(incoming_state, self._update_count)
        own = self._tally.clone()
        self._tally._set_state(incoming_state[STATE])
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

    def _apply(self, fn, exclude_state=""):
        dtype = self._dtype
        this = torchmetrics.Metric._apply(self, fn, exclude_state=[STATE])
        if not self._dtype_convert and not _their_states.take_dtype(self, this._dtype):
            this.__dict__["_dtype"] = dtype
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
        self.__dict__["_reductions"] = {STATE: self._merged, **state["_reductions"]}
        self._sign()
