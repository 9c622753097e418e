"""Drop-in metrics with the attributes, dictionaries and checkpoints of TorchMetrics'."""

import copy

import torch
import torchmetrics

from tally.compat.torchmetrics import _their_states
from tally.compat.torchmetrics._states import STATE

_Metric = torchmetrics.Metric


def _equal(mine, given):
    """Whether a state is the one that is given."""
    if isinstance(mine, list):
        mine = torch.cat(mine) if mine else torch.empty(0)
        given = torch.cat(list(given)) if len(given) else torch.empty(0)
    return mine.shape == given.shape and torch.equal(mine.cpu(), given.detach().cpu())


class TheirStates:
    """States by TorchMetrics' names, computed from Tally's when they are asked for.

    A metric that is given such states, by assignment, a checkpoint of TorchMetrics' or
    merge_state, goes on as TorchMetrics' own object: Tally's states say more.
    """

    # TorchMetrics' defaults, by name.
    _their_defaults = {}

    def _states_of_torchmetrics(self):
        """All of them; None where Tally's do not say what they are."""
        name = self._real.__name__
        if not _their_states.has_states(name):
            return None
        found = _their_states.states_of(self)
        if found is None:
            return None
        return {
            name: found[name] if name in found else copy.deepcopy(default)
            for name, default in self._their_defaults.items()
        }

    def __getattr__(self, name):
        fields = self.__dict__
        if name not in fields.get("_their_defaults", ()) or "_tally" not in fields:
            return super().__getattr__(name)
        states = self._states_of_torchmetrics()
        if states is None:
            raise AttributeError(
                f"{type(self).__name__}.{name}: {_their_states.why_not_known(self)}"
            )
        return states[name]

    def __setattr__(self, name, value):
        if name in self.__dict__.get("_their_defaults", ()) and "_tally" in self.__dict__:
            self._go_on_with({name: value}, f"set {name}")
            return
        super().__setattr__(name, value)

    @property
    def metric_state(self):
        """As TorchMetrics' metric_state."""
        states = self._states_of_torchmetrics()
        own = {STATE: self.tally_state} if states is None else states
        return own | {name: getattr(self, name) for name in self._added(self._defaults)}

    def _go_on_with(self, states, what):
        """Becomes TorchMetrics' own object, with these states and what there is of others."""
        if type(self).__bases__[-1] is not self._real:
            raise TypeError(
                f"{what}: {type(self).__name__} is a subclass of a drop-in class, whose states "
                "are Tally's; derive it from TorchMetrics' own class"
            )
        known = self._states_of_torchmetrics() if self._update_count else {}
        if known is None and not states.keys() >= self._their_defaults.keys():
            raise TypeError(
                f"{what} of {type(self).__name__}: {_their_states.why_not_known(self)}"
            )
        args, kwargs = self._given
        own = self._real(*args, **kwargs)
        if self._dtype != own._dtype:
            own.set_dtype(self._dtype)
        own = own.to(self._device)
        for name, state in {**(known or {}), **states}.items():
            setattr(own, name, state)
        fields = self.__dict__
        for name in own._persistent:
            own._persistent[name] = fields["_persistent"][STATE]
        kept = {name: fields[name] for name in fields.keys() & vars(torch.nn.Module()).keys()}
        kept["_update_count"] = fields["_update_count"]
        fields.clear()
        object.__setattr__(self, "__class__", type(own))
        self.__setstate__(own.__getstate__() | kept)

    # ---- dictionaries

    def state_dict(self, destination=None, prefix="", keep_vars=False):
        """As TorchMetrics' state_dict(); Tally's state goes with it as metadata."""
        states = self._states_of_torchmetrics() if self._persistent[STATE] else None
        if states is None:
            return _Metric.state_dict(self, destination, prefix, keep_vars)
        destination = self._with_added(_Metric.state_dict, destination, prefix, keep_vars)
        destination.update({prefix + name: copy.deepcopy(each) for name, each in states.items()})
        if hasattr(destination, "_metadata"):
            destination._metadata.setdefault(prefix[:-1], {})[STATE] = self.tally_state
        return destination

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *others):
        given = {
            name: state_dict.pop(prefix + name)
            for name in self._their_defaults if prefix + name in state_dict
        }
        _Metric._load_from_state_dict(self, state_dict, prefix, local_metadata, *others)
        if not given:
            return
        kept = local_metadata.get(STATE)
        if kept is not None and given.keys() == self._their_defaults.keys():
            before = self.tally_state
            self.tally_state = kept
            states = self._states_of_torchmetrics()
            if all(_equal(each, given[name]) for name, each in states.items()):
                return
            self.tally_state = before
        self._go_on_with(given, "load_state_dict")
